//! The functions that a module may import: kfuncs of cache_ext and helpers of BPF, by name.
//!
//! Pointers and 64-bit numbers are `i64`, `int`, `bool` and `u32` are `i32`. A function that is not
//! here links all the same, and ends the run when it is called.

use wasmi::errors::LinkerError;
use wasmi::{Caller, Error, ExternType, Linker};

use crate::bpf::access::{Halt, bytes, put};
use crate::bpf::host::{Ask, Host, map_at, split, value_of};
use crate::bpf::maps::{Kind, errno};
use crate::bpf::mirror::{MOST_RING, at};
use crate::bpf::print;
use crate::lists::{End, Refusal, Slot};
use crate::module::{FROM, Module};

type C<'a> = Caller<'a, Host>;

/// Functions of the host, and the names of imports that it does not have.
pub(crate) fn linker(module: &Module) -> Result<(Linker<Host>, Vec<String>), LinkerError> {
    let mut all = Linker::<Host>::new(module.engine());
    lists(&mut all)?;
    maps(&mut all)?;
    lines(&mut all)?;
    rings(&mut all)?;
    facts(&mut all)?;
    memory(&mut all)?;
    let mut uncovered = Vec::new();
    for import in module.inner().imports() {
        let ExternType::Func(kind) = import.ty() else { continue };
        let name = import.name().to_string();
        let line = module.line_of_call(&name).map_or(String::new(), |line| format!(" ({line})"));
        let halt = Halt::Uncovered(format!("calls `{name}`{line}, which mmsim does not have"));
        // It fails for names that are defined.
        let undefined =
            all.func_new(FROM, &name, kind.clone(), move |_, _, _| Err(halt.clone().into()));
        if undefined.is_ok() {
            uncovered.push(name);
        }
    }
    Ok((all, uncovered))
}

/// The result of a verb: a number, or the end of the run if a kernel would hang.
fn answer(verb: &str, result: Result<(), Refusal>) -> Result<i32, Error> {
    match result {
        Ok(()) => Ok(0),
        Err(Refusal::Locked) => Err(locked(verb).into()),
        Err(refusal) => Ok(refusal.code()),
    }
}

/// A verb in a callback of an iteration.
pub(crate) fn locked(verb: &str) -> Halt {
    Halt::Uncovered(format!(
        "calls `bpf_cache_ext_{verb}` in the callback of an iteration, where a kernel would wait for \
         its own lock"
    ))
}

fn slot(host: &Host, folio: i64) -> Slot {
    host.mirror.slot_at(folio as u64)
}

fn lists(all: &mut Linker<Host>) -> Result<(), LinkerError> {
    fn add(c: &mut C<'_>, verb: &str, list: i64, folio: i64, end: End) -> Result<i32, Error> {
        let host = c.data_mut();
        let slot = slot(host, folio);
        answer(verb, host.lists.add(list as u64, slot, end))
    }
    all.func_wrap(FROM, "bpf_cache_ext_ds_registry_new_list", |mut c: C<'_>, _group: i64| {
        c.data_mut().lists.new_list().unwrap_or(0) as i64
    })?;
    all.func_wrap(FROM, "bpf_cache_ext_list_add", |mut c: C<'_>, list: i64, folio: i64| {
        add(&mut c, "list_add", list, folio, End::Head)
    })?;
    all.func_wrap(FROM, "bpf_cache_ext_list_add_tail", |mut c: C<'_>, list: i64, folio: i64| {
        add(&mut c, "list_add_tail", list, folio, End::Tail)
    })?;
    let moved = |mut c: C<'_>, list: i64, folio: i64, tail: i32| {
        let host = c.data_mut();
        let slot = slot(host, folio);
        let end = if tail != 0 { End::Tail } else { End::Head };
        answer("list_move", host.lists.move_to(list as u64, slot, end))
    };
    all.func_wrap(FROM, "bpf_cache_ext_list_move", moved)?;
    all.func_wrap(FROM, "bpf_cache_ext_list_del", |mut c: C<'_>, folio: i64| {
        let host = c.data_mut();
        let slot = slot(host, folio);
        answer("list_del", host.lists.delete(slot))
    })?;
    let iterate = |_group: i64, list: i64, visit: i64, ctx: i64| -> Result<i32, Error> {
        Err(Ask::Iterate(list as u64, visit as u64, 0, ctx as u64).into())
    };
    all.func_wrap(FROM, "bpf_cache_ext_list_iterate", iterate)?;
    let extended = |_group: i64, list: i64, visit: i64, opts: i64, ctx: i64| match opts {
        0 => Ok(-1i32),
        _ => Err(Error::from(Ask::Iterate(list as u64, visit as u64, opts as u64, ctx as u64))),
    };
    all.func_wrap(FROM, "bpf_cache_ext_list_iterate_extended", extended)?;
    let sample = |_group: i64, list: i64, score: i64, opts: i64, ctx: i64| -> Result<i32, Error> {
        Err(Ask::Sample(list as u64, score as u64, opts as u64, ctx as u64).into())
    };
    all.func_wrap(FROM, "bpf_cache_ext_list_sample", sample)?;
    Ok(())
}

/// Copies a key out of the memory, calls `f` with it, and keeps the room.
fn with_key<R>(
    c: &mut C<'_>,
    map: i64,
    key: i64,
    f: impl FnOnce(&mut crate::bpf::maps::Map, &[u8]) -> R,
) -> Result<R, Halt> {
    let (data, host) = split(c)?;
    let mut room = std::mem::take(&mut host.key);
    let of = map_at(host, map as u64)?;
    room.clear();
    room.extend_from_slice(bytes(data, key as u64, of.of.key)?);
    let result = f(of, &room);
    host.key = room;
    Ok(result)
}

fn lookup(c: &mut C<'_>, map: i64, key: i64) -> Result<i64, Error> {
    match with_key(c, map, key, |map, key| map.find(key))? {
        Some(element) => Ok(value_of(c, map as u64, element)? as i64),
        None => Ok(0),
    }
}

fn update(c: &mut C<'_>, map: i64, key: i64, value: i64, flags: i64) -> Result<i64, Error> {
    let element = match with_key(c, map, key, |map, key| map.element(key, flags as u64))? {
        Ok(element) => element,
        Err(errno) => return Ok(errno),
    };
    let to = value_of(&mut *c, map as u64, element)?;
    let n = map_at(c.data_mut(), map as u64)?.of.value;
    pay(c, n)?;
    let (data, _) = split(c)?;
    bytes(data, value as u64, n)?;
    data.copy_within(value as usize..(value as u64 + n) as usize, to as usize);
    Ok(0)
}

fn maps(all: &mut Linker<Host>) -> Result<(), LinkerError> {
    all.func_wrap(FROM, "bpf_map_lookup_elem", |mut c: C<'_>, map: i64, key: i64| {
        lookup(&mut c, map, key)
    })?;
    let percpu = |mut c: C<'_>, map: i64, key: i64, cpu: i32| match cpu {
        0 => lookup(&mut c, map, key),
        _ => Ok(0),
    };
    all.func_wrap(FROM, "bpf_map_lookup_percpu_elem", percpu)?;
    let updated = |mut c: C<'_>, map: i64, key: i64, value: i64, flags: i64| {
        update(&mut c, map, key, value, flags)
    };
    all.func_wrap(FROM, "bpf_map_update_elem", updated)?;
    all.func_wrap(FROM, "bpf_map_delete_elem", |mut c: C<'_>, map: i64, key: i64| {
        let deleted = with_key(&mut c, map, key, |map, key| map.delete(key))?;
        Ok::<i64, Error>(deleted.err().unwrap_or(0))
    })?;
    let elements = |map: i64, f: i64, ctx: i64, flags: i64| -> Result<i64, Error> {
        match flags {
            0 => Err(Ask::Elements(map as u64, f as u64, ctx as u64).into()),
            _ => Ok(errno::EINVAL),
        }
    };
    all.func_wrap(FROM, "bpf_for_each_map_elem", elements)?;
    let turns = |nr: i32, f: i64, ctx: i64, flags: i64| -> Result<i64, Error> {
        match (flags, nr as u32) {
            (0, nr) if nr <= MOST_TURNS => Err(Ask::Loop(nr, f as u64, ctx as u64).into()),
            (0, _) => Ok(errno::E2BIG),
            _ => Ok(errno::EINVAL),
        }
    };
    all.func_wrap(FROM, "bpf_loop", turns)?;
    let storage = |mut c: C<'_>, map: i64, task: i64, value: i64, flags: i64| {
        task_storage(&mut c, map as u64, task as u64, value as u64, flags)
    };
    all.func_wrap(FROM, "bpf_task_storage_get", storage)?;
    all.func_wrap(FROM, "bpf_task_storage_delete", |mut c: C<'_>, map: i64, task: i64| {
        let (data, host) = split(&mut c)?;
        let pid = bytes(data, task as u64, 4)?;
        let deleted = map_at(host, map as u64)?.delete(pid);
        Ok::<i64, Error>(deleted.err().unwrap_or(0))
    })?;
    Ok(())
}

/// Turns of a `bpf_loop`, as in the kernel.
const MOST_TURNS: u32 = 8 << 20;

/// The value of a task, made if `flags` has `BPF_LOCAL_STORAGE_GET_F_CREATE`.
fn task_storage(c: &mut C<'_>, map: u64, task: u64, value: u64, flags: i64) -> Result<i64, Error> {
    let (data, host) = split(c)?;
    let mut pid = [0; 4];
    pid.copy_from_slice(bytes(data, task, 4)?);
    let of = map_at(host, map)?;
    if of.kind != Kind::TaskStorage {
        return Ok(0);
    }
    let n = of.of.value;
    if let Some(element) = of.find(&pid) {
        return Ok(value_of(c, map, element)? as i64);
    }
    if flags & 1 == 0 {
        return Ok(0);
    }
    let first = match value {
        0 => vec![0; n as usize],
        at => bytes(data, at, n)?.to_vec(),
    };
    let Ok(element) = of.element(&pid, 0) else { return Ok(0) };
    let to = value_of(&mut *c, map, element)?;
    put(split(c)?.0, to, &first)?;
    Ok(to as i64)
}

fn lines(all: &mut Linker<Host>) -> Result<(), LinkerError> {
    let push = |mut c: C<'_>, map: i64, value: i64, flags: i64| -> Result<i64, Error> {
        let (data, host) = split(&mut c)?;
        let of = map_at(host, map as u64)?;
        let value = bytes(data, value as u64, of.of.value)?.to_vec();
        Ok(of.push(value, flags as u64).err().unwrap_or(0))
    };
    all.func_wrap(FROM, "bpf_map_push_elem", push)?;
    fn front(c: &mut C<'_>, map: i64, value: i64, take: bool) -> Result<i64, Error> {
        let (data, host) = split(c)?;
        match map_at(host, map as u64)?.front(take) {
            Ok(found) => {
                put(data, value as u64, &found)?;
                Ok(0)
            }
            Err(errno) => Ok(errno),
        }
    }
    all.func_wrap(FROM, "bpf_map_pop_elem", |mut c: C<'_>, map: i64, value: i64| {
        front(&mut c, map, value, true)
    })?;
    all.func_wrap(FROM, "bpf_map_peek_elem", |mut c: C<'_>, map: i64, value: i64| {
        front(&mut c, map, value, false)
    })?;
    Ok(())
}

fn rings(all: &mut Linker<Host>) -> Result<(), LinkerError> {
    fn submit(host: &mut Host, data: &[u8], ring: u64, at: u64, n: u64) -> Result<i64, Error> {
        map_at(host, ring)?;
        host.counts.ring_entries += 1;
        if host.keeps_entries {
            host.entries.push((ring, bytes(data, at, n)?.to_vec()));
        }
        Ok(0)
    }
    let output = |mut c: C<'_>, ring: i64, at: i64, n: i64, _flags: i64| {
        let (data, host) = split(&mut c)?;
        submit(host, data, ring as u64, at as u64, n as u64)
    };
    all.func_wrap(FROM, "bpf_ringbuf_output", output)?;
    // There is room for one entry: a program submits or discards it before its call ends.
    let reserve = |mut c: C<'_>, ring: i64, n: i64, _flags: i64| -> Result<i64, Error> {
        let host = c.data_mut();
        map_at(host, ring as u64)?;
        if n as u64 > MOST_RING || host.reserved.is_some() {
            return Ok(0);
        }
        host.reserved = Some((ring as u64, n as u64));
        Ok((host.mirror.single + at::RING) as i64)
    };
    all.func_wrap(FROM, "bpf_ringbuf_reserve", reserve)?;
    all.func_wrap(FROM, "bpf_ringbuf_submit", |mut c: C<'_>, at: i64, _flags: i64| {
        let (data, host) = split(&mut c)?;
        let reserved = host.reserved.take();
        let (ring, n) =
            reserved.ok_or_else(|| broken("submits an entry that it did not reserve"))?;
        submit(host, data, ring, at as u64, n).map(|_| ())
    })?;
    all.func_wrap(FROM, "bpf_ringbuf_discard", |mut c: C<'_>, _at: i64, _flags: i64| {
        c.data_mut().reserved = None;
    })?;
    // Available data; all has been read.
    all.func_wrap(FROM, "bpf_ringbuf_query", |_ring: i64, _flags: i64| 0i64)?;
    Ok(())
}

fn broken(what: &str) -> Halt {
    Halt::Broken(what.to_string())
}

fn facts(all: &mut Linker<Host>) -> Result<(), LinkerError> {
    for name in ["bpf_ktime_get_ns", "bpf_ktime_get_boot_ns", "bpf_ktime_get_coarse_ns"] {
        all.func_wrap(FROM, name, |c: C<'_>| c.data().now as i64)?;
    }
    // At 250 a second, as distributions configure it.
    all.func_wrap(FROM, "bpf_jiffies64", |c: C<'_>| (c.data().now / 4_000_000) as i64)?;
    all.func_wrap(FROM, "bpf_get_current_pid_tgid", |c: C<'_>| c.data().pid_tgid as i64)?;
    all.func_wrap(FROM, "bpf_get_current_uid_gid", || 0i64)?;
    all.func_wrap(FROM, "bpf_get_current_cgroup_id", |c: C<'_>| c.data().group as i64)?;
    all.func_wrap(FROM, "bpf_get_current_task_btf", |c: C<'_>| {
        (c.data().mirror.single + at::TASK) as i64
    })?;
    all.func_wrap(FROM, "bpf_get_smp_processor_id", || 0i32)?;
    all.func_wrap(FROM, "bpf_get_current_comm", |mut c: C<'_>, to: i64, n: i32| {
        let (data, host) = split(&mut c)?;
        let mut comm = host.comm;
        let n = (n as u32 as usize).min(comm.len());
        // The last byte is always 0.
        if let Some(last) = n.checked_sub(1) {
            comm[last] = 0;
        }
        put(data, to as u64, &comm[..n])?;
        Ok::<i64, Error>(0)
    })?;
    all.func_wrap(FROM, "bpf_get_prandom_u32", |mut c: C<'_>| {
        (c.data_mut().random.next_u64() >> 32) as i32
    })?;
    for name in ["bpf_rcu_read_lock", "bpf_rcu_read_unlock"] {
        all.func_wrap(FROM, name, || ())?;
    }
    let print = |mut c: C<'_>, format: i64, values: i64, n: i32| -> Result<i64, Error> {
        let (data, host) = split(&mut c)?;
        let (data, now) = (&*data, host.now);
        let value = |i| print::value(data, values as u64, n as u32, i);
        Ok(host.prints.take(data, now, format as u64, value)?)
    };
    all.func_wrap(FROM, "mmsim_printk", print)?;
    Ok(())
}

/// Bytes that a unit of fuel copies, as the interpreter charges for its own instructions.
const BYTES_OF_FUEL: u64 = 64;

/// Takes fuel for `n` bytes.
fn pay(c: &mut C<'_>, n: u64) -> Result<(), Error> {
    let left = c.get_fuel()?.checked_sub(n / BYTES_OF_FUEL);
    let left = left.ok_or_else(|| broken("runs out of fuel in a host function"))?;
    c.set_fuel(left)
}

fn memory(all: &mut Linker<Host>) -> Result<(), LinkerError> {
    // Outside of the memory there is nothing: the error of the kernel, and zeros.
    let read = |mut c: C<'_>, to: i64, n: i32, from: i64| -> Result<i64, Error> {
        let n = u64::from(n as u32);
        pay(&mut c, n)?;
        let (data, _) = split(&mut c)?;
        if bytes(data, from as u64, n).is_err() {
            put(data, to as u64, &vec![0; n as usize])?;
            return Ok(errno::EFAULT);
        }
        bytes(data, to as u64, n)?;
        data.copy_within(from as usize..(from as u64 + n) as usize, to as usize);
        Ok(0)
    };
    all.func_wrap(FROM, "bpf_probe_read_kernel", read)?;
    let read_text = |mut c: C<'_>, to: i64, n: i32, from: i64| -> Result<i64, Error> {
        let n = u64::from(n as u32) as usize;
        pay(&mut c, n as u64)?;
        let (data, _) = split(&mut c)?;
        let rest = data.get(from as usize..).unwrap_or_default();
        let mut text: Vec<u8> = rest.iter().take(n).copied().take_while(|b| *b != 0).collect();
        if rest.len() <= text.len() || n == 0 {
            return Ok(errno::EFAULT);
        }
        // A longer text is cut; it ends with a 0 as well.
        text.truncate(n - 1);
        text.push(0);
        put(data, to as u64, &text)?;
        Ok(text.len() as i64)
    };
    all.func_wrap(FROM, "bpf_probe_read_kernel_str", read_text)?;
    // Without a C library, clang calls these for large structures.
    all.func_wrap(FROM, "memset", |mut c: C<'_>, to: i64, byte: i32, n: i64| {
        pay(&mut c, n as u64)?;
        let (data, _) = split(&mut c)?;
        bytes(data, to as u64, n as u64)?;
        data[to as usize..(to as u64 + n as u64) as usize].fill(byte as u8);
        Ok::<i64, Error>(to)
    })?;
    for name in ["memcpy", "memmove"] {
        all.func_wrap(FROM, name, |mut c: C<'_>, to: i64, from: i64, n: i64| {
            pay(&mut c, n as u64)?;
            let (data, _) = split(&mut c)?;
            bytes(data, from as u64, n as u64)?;
            bytes(data, to as u64, n as u64)?;
            data.copy_within(from as usize..(from as u64 + n as u64) as usize, to as usize);
            Ok::<i64, Error>(to)
        })?;
    }
    all.func_wrap(FROM, "memcmp", |mut c: C<'_>, a: i64, b: i64, n: i64| {
        pay(&mut c, n as u64)?;
        let (data, _) = split(&mut c)?;
        let order = bytes(data, a as u64, n as u64)?.cmp(bytes(data, b as u64, n as u64)?);
        Ok::<i32, Error>(order as i32)
    })?;
    Ok(())
}
