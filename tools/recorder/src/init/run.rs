//! Carries commands out.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use mmsim_recorder::chance::{Law, Rng};
use mmsim_recorder::groups::{self, Group, Groups};
use mmsim_recorder::record::{self, Look, Phase};
use mmsim_recorder::script::{Advice, Command, Door, Drawn};
use mmsim_recorder::vmstat::{self, Vmstat};
use mmsim_recorder::zones;

use crate::child::{self, Child};
use crate::process::{Process, Reply};
use crate::regions::{self, Regions};
use crate::sys::{self, Mapping, PAGE};

/// State that commands leave for later ones.
struct State {
    regions: Regions,
    laws: BTreeMap<usize, Law>,
    rng: Rng,
    ballast: Vec<Mapping>,
    /// Number of zram devices with swap.
    zrams: usize,
    /// Sockets whose memory is held.
    held: Vec<OwnedFd>,
    /// Both ends of each pipe.
    pipes: Vec<[OwnedFd; 2]>,
    child: Option<Child>,
    processes: BTreeMap<usize, Process>,
    /// Paths of groups below the mount, in order of creation.
    paths: Vec<String>,
    groups: Groups,
    last: Vmstat,
    since: Duration,
}

/// Carries all commands out.
pub fn all(commands: &[Command]) -> Result<(), String> {
    let mut state = State {
        regions: Regions::new(),
        laws: BTreeMap::new(),
        rng: Rng::new(0),
        ballast: Vec::new(),
        zrams: 0,
        held: Vec::new(),
        pipes: Vec::new(),
        child: None,
        processes: BTreeMap::new(),
        paths: Vec::new(),
        groups: Groups::new(),
        last: counters()?,
        since: sys::now(),
    };
    // Takes the memory that later snapshots need, before `mlockself` locks it.
    snap("warm", true, &mut state, |_| {})?;
    for (i, command) in commands.iter().enumerate() {
        match command {
            Command::Process { process, group } => {
                let started = joined(commands, group, &mut state);
                let started = started.map_err(|e| format!("{command:?}: {e}"))?;
                state.processes.insert(*process, started);
            }
            Command::On { process, .. } => with(*process, &mut state, |p| p.order(i as u32))?,
            Command::Start { process, .. } => with(*process, &mut state, |p| p.start(i as u32))?,
            Command::Wait => {
                let all: Vec<usize> = state.processes.keys().copied().collect();
                all.into_iter().try_for_each(|p| with(p, &mut state, Process::wait))?;
            }
            _ => one(command, &mut state).map_err(|e| format!("{command:?}: {e}"))?,
        }
    }
    Ok(())
}

/// Starts a process in a group, or in the root.
fn joined(commands: &[Command], group: &str, state: &mut State) -> Result<Process, String> {
    let process = Process::spawn(|i| {
        let (Command::On { process, command } | Command::Start { process, command }) = &commands[i]
        else {
            return false;
        };
        let done = one(command, state);
        if let Err(e) = &done {
            println!("@error process {process}: {command:?}: {e}");
        }
        done.is_ok()
    })?;
    if group != "-" {
        put(&format!("{group}/cgroup.procs"), &process.pid().to_string())?;
    }
    Ok(process)
}

/// Gives a process commands, or waits for it. A process that is killed meanwhile is a result.
fn with(
    process: usize,
    state: &mut State,
    ask: impl FnOnce(&mut Process) -> Reply,
) -> Result<(), String> {
    // One that was killed does nothing more.
    let Some(running) = state.processes.get_mut(&process) else { return Ok(()) };
    match ask(running) {
        Reply::Done => Ok(()),
        Reply::Failed => Err(format!("process {process} failed")),
        Reply::Ended => {
            state.processes.remove(&process);
            println!("@result ended process={process}");
            Ok(())
        }
    }
}

/// Contents of the files of a group; a kernel may lack some of them.
fn group(path: &str) -> Group {
    let mut all = Group::default();
    for file in groups::FILES {
        if let Ok(text) = crate::read(&format!("/cg/{path}/{file}")) {
            all.add(file, &text);
        }
    }
    all
}

/// Numbers of `/proc/vmstat`, and of zswap in debugfs.
fn counters() -> Result<Vmstat, String> {
    let mut all = vmstat::read(&crate::vmstat()?);
    for (file, name, unit) in record::ZSWAP {
        // A kernel may lack some of them, and all before zswap has a pool.
        let text = crate::read(&format!("/sys/kernel/debug/zswap/{file}"));
        let n = text.ok().and_then(|t| t.trim().parse::<u64>().ok());
        all.extend(n.map(|n| (name.to_string(), n / unit)));
    }
    Ok(all)
}

fn put(path: &str, value: &str) -> Result<(), String> {
    let file = File::options().write(true).open(path);
    file.and_then(|mut f| f.write_all(value.as_bytes())).map_err(|e| format!("{path}: {e}"))
}

/// Swap on the n-th zram, of `bytes` bytes. The module brings the first.
fn zram(n: usize, bytes: u64, priority: Option<u32>) -> Result<(), String> {
    if n > 0 {
        crate::read("/sys/class/zram-control/hot_add")?;
    }
    put(&format!("/sys/block/zram{n}/disksize"), &bytes.to_string())?;
    swapon(&format!("/dev/zram{n}"), bytes / PAGE as u64, priority)
}

/// Swap on a device; the first page is the header.
fn swapon(device: &str, pages: u64, priority: Option<u32>) -> Result<(), String> {
    let mut header = vec![0; PAGE];
    header[1024..1028].copy_from_slice(&1u32.to_le_bytes());
    header[1028..1032].copy_from_slice(&(pages as u32 - 1).to_le_bytes());
    header[4086..].copy_from_slice(b"SWAPSPACE2");
    let file = File::options().write(true).open(device).map_err(|e| format!("{device}: {e}"))?;
    let written = file.write_all_at(&header, 0).and_then(|()| file.sync_all());
    written.map_err(|e| format!("{device}: {e}"))?;
    sys::swapon(device, priority)?;
    // The device may keep nothing (null_blk): while it is open the header is in its page cache.
    std::mem::forget(file);
    Ok(())
}

fn one(command: &Command, state: &mut State) -> Result<(), String> {
    let State { regions, laws, rng, .. } = state;
    match command {
        Command::Write { path, value, may_fail } => {
            let value = state.child.as_ref().map_or_else(|| value.clone(), |c| c.named(value));
            match put(path, &value) {
                Err(_) if *may_fail => {}
                done => done?,
            }
        }
        Command::Zram { bytes, priority } => {
            zram(state.zrams, *bytes, *priority)?;
            state.zrams += 1;
        }
        Command::Swapon { device, pages, priority } => swapon(device, *pages, *priority)?,
        Command::Table { table, ranks, theta } => {
            laws.insert(*table, Law::new(*ranks, *theta));
        }
        Command::MlockSelf => sys::lock_all()?,
        Command::Ballast { free } => state.ballast.extend(regions::ballast(*free)?),
        Command::Seed(seed) => *rng = Rng::new(*seed),
        Command::Anon { region, pages } => {
            regions.insert(*region, Mapping::aligned(*pages)?);
        }
        Command::Mount { kind, device, folder, options } => {
            sys::mount_device(kind, device, folder, options)?;
        }
        Command::Mkdir { path } => {
            std::fs::create_dir(path).map_err(|e| format!("{path}: {e}"))?;
            state.paths.push(path.trim_start_matches("/cg/").into());
        }
        Command::Pin { cpu } => sys::pin(*cpu)?,
        Command::Exec { words } => {
            let child = std::process::Command::new(&words[0]).args(&words[1..]).spawn();
            child.map(drop).map_err(|e| format!("{}: {e}", words[0]))?;
        }
        Command::Join { group } => {
            put(&format!("{group}/cgroup.procs"), &std::process::id().to_string())?;
        }
        Command::Process { .. } | Command::On { .. } | Command::Start { .. } | Command::Wait => {
            return Err("of the first process".into());
        }
        Command::File { region, path, pages, random } => {
            regions.insert(*region, Mapping::of_file(path, *pages, *random)?);
        }
        Command::Shmem { region, name, pages } => {
            regions.insert(*region, Mapping::of_tmpfs(name, *pages)?);
        }
        Command::Unmap { region } => drop(regions.remove(region)),
        Command::Contents { region, bytes } => {
            regions.get_mut(region).ok_or("no such region")?.draws(bytes);
        }
        Command::Fill(p) => {
            let region = &regions[&p.region];
            (p.at..p.at + p.count).for_each(|page| region.fill(page));
        }
        Command::PreadScan(p) => {
            let region = &regions[&p.region];
            (p.at..p.at + p.count).try_for_each(|page| region.pread(page))?;
        }
        Command::Scan { pages: p, write, times } => {
            let region = &regions[&p.region];
            for _ in 0..*times {
                (p.at..p.at + p.count).for_each(|page| access(region, page, *write));
            }
        }
        Command::Zipf { drawn, write_permille } => {
            let (region, law) = (&regions[&drawn.region], &laws[&drawn.table]);
            for _ in 0..drawn.accesses {
                let page = drawn.map.page(law.draw(rng), law.ranks());
                let write = *write_permille > 0 && rng.permille(*write_permille);
                access(region, page, write);
            }
        }
        Command::MixScan { drawn, loop_, permille, door } => {
            let (region, law) = (&regions[&drawn.region], &laws[&drawn.table]);
            let (scanned, end) = (&regions[&loop_.region], loop_.at + loop_.count);
            let mut next = loop_.at;
            for _ in 0..drawn.accesses {
                if rng.permille(*permille) {
                    read(scanned, next, *door)?;
                    next = if next + 1 == end { 0 } else { next + 1 };
                } else {
                    read(region, drawn.map.page(law.draw(rng), law.ranks()), *door)?;
                }
            }
        }
        Command::Mix2 { first, second, second_permille, write_permille } => {
            let of = |d: &Drawn| (&regions[&d.region], &laws[&d.table], d.map);
            let (a, b) = (of(first), of(second));
            for _ in 0..first.accesses {
                if rng.permille(*second_permille) {
                    b.0.read(b.2.page(b.1.draw(rng), b.1.ranks()));
                } else {
                    let page = a.2.page(a.1.draw(rng), a.1.ranks());
                    let write = *write_permille > 0 && rng.permille(*write_permille);
                    access(a.0, page, write);
                }
            }
        }
        Command::Lazy { arena, chunk, lag, reads, begin, times, advice } => {
            let (file, law) = (&regions[&reads.region], &laws[&reads.table]);
            let region = &regions[&arena.region];
            let chunks = (arena.count / chunk) as u64;
            let first_of = |i: u64| (i % chunks) as usize * chunk;
            for i in *begin..begin + times {
                for _ in 0..reads.accesses {
                    file.read(reads.map.page(law.draw(rng), law.ranks()));
                }
                let at = first_of(i);
                (at..at + chunk).for_each(|page| region.write(page));
                if let Some(advice) = advice
                    && i >= *lag
                {
                    region.advise(first_of(i - lag), *chunk, *advice)?;
                }
            }
        }
        Command::Ebizzy { chunks, chunk } => {
            let (region, law) = (&regions[&chunks.region], &laws[&chunks.table]);
            for _ in 0..chunks.accesses {
                let buffer = Mapping::aligned(*chunk)?;
                let first = chunks.map.page(law.draw(rng), law.ranks()) * chunk;
                (first..first + chunk).for_each(|page| region.read(page));
                (0..*chunk).for_each(|page| buffer.fill(page));
            }
        }
        Command::Uncached(p, dontcache) => {
            regions[&p.region].read_uncached(p.at, p.count, *dontcache)?;
        }
        Command::Fadvise(p, advice) => regions[&p.region].fadvise(p.at, p.count, *advice)?,
        Command::Mlock(p, lock) => regions[&p.region].lock_part(p.at, p.count, *lock)?,
        Command::Madvise { pages: p, advice } => {
            regions[&p.region].advise(p.at, p.count, *advice)?;
        }
        Command::Grow { region, max, floor } => {
            let grown = regions::grow(&regions[region], *max, *floor)?;
            println!("@result grow pages={grown}");
        }
        Command::Punch { region, period, keep } => {
            let region = &regions[region];
            for at in (0..region.pages()).step_by(*period) {
                let end = (at + period).min(region.pages());
                let from = (at + keep).min(end);
                region.advise(from, end - from, Advice::Dontneed)?;
            }
        }
        Command::HugePool { pages } => {
            put("/proc/sys/vm/nr_hugepages", &pages.to_string())?;
            println!("@result hugepool got={}", crate::read("/proc/sys/vm/nr_hugepages")?.trim());
        }
        Command::Thp { region, blocks } => {
            let (mapping, got) = regions::thp(*blocks)?;
            regions.insert(*region, mapping);
            println!("@result thp tried={blocks} got={got}");
        }
        Command::Pipes { pages, floor, per } => {
            let (all, held) = regions::pipes(*pages, *floor, *per)?;
            state.pipes.extend(all);
            println!("@result pipes held={held}");
        }
        Command::Drain { pages } => {
            let drained = regions::drain(&state.pipes, *pages)?;
            println!("@result drain pages={drained}");
        }
        Command::Pring { blocks, order, per } => {
            let rings = (0..blocks / per).map(|_| sys::packet_ring(*order, *per));
            let rings: Vec<_> = rings.collect::<Result<_, _>>()?;
            let sockets = rings.iter().flatten().count();
            state.held.extend(rings.into_iter().flatten());
            println!("@result pring sockets={sockets}");
        }
        Command::Spawn { pages, tick_us, ticks, reads } => {
            state.child = Some(Child::spawn(*pages, *tick_us, *ticks, reads)?);
        }
        Command::KillChild => state.child = None,
        Command::ChildRss { label } => {
            println!("{}", child(&mut state.child)?.resident()?.labelled(label));
        }
        Command::DamonRegions { scheme, label } => {
            println!("{}", child(&mut state.child)?.regions(scheme)?.labelled(label));
        }
        Command::Val { label: None, paths } => print!("{}", crate::read(&paths[0])?),
        Command::Val { label: Some(label), paths } => {
            let numbers = paths.iter().map(|p| child::number(p)).collect::<Result<_, _>>()?;
            println!("{}", Look::Numbers(numbers).labelled(label));
        }
        Command::SleepMs(ms) => std::thread::sleep(Duration::from_millis(*ms)),
        Command::Snap { name, zones } => snap(name, *zones, state, |text| print!("{text}"))?,
        Command::Look => {}
    }
    Ok(())
}

fn child(child: &mut Option<Child>) -> Result<&mut Child, String> {
    child.as_mut().ok_or_else(|| "there is no child".to_string())
}

#[inline]
fn read(region: &Mapping, page: usize, door: Door) -> Result<(), String> {
    match door {
        Door::Mmap => region.read(page),
        Door::Pread => region.pread(page)?,
    }
    Ok(())
}

#[inline]
fn access(region: &Mapping, page: usize, write: bool) {
    if write { region.write(page) } else { region.read(page) }
}

/// Prints what was counted since the last snapshot. Printing is part of no phase.
fn snap(name: &str, with_zones: bool, state: &mut State, out: fn(&str)) -> Result<(), String> {
    let ns = (sys::now() - state.since).as_nanos() as u64;
    let now = counters()?;
    let mut phase = Phase::between(name, ns, &state.last, &now);
    let zoneinfo = if with_zones { crate::read("/proc/zoneinfo")? } else { String::new() };
    phase.zones = zones::parse(&zoneinfo);
    for path in &state.paths {
        let now = group(path);
        let before = state.groups.insert(path.clone(), now.clone()).unwrap_or_default();
        phase.groups.insert(path.clone(), now.since(&before));
    }
    out(&phase.to_string());
    if std::env::var("hold").is_ok_and(|held| held == name) {
        // Nothing moves any more: whoever asked for it looks at the memory of the machine.
        println!("{zoneinfo}@held");
        loop {
            std::hint::spin_loop();
        }
    }
    state.last = now;
    state.since = sys::now();
    Ok(())
}
