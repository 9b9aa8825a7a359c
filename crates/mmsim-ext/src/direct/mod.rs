//! The direct interface: policies in C, Zig or Rust that are compiled to WebAssembly without BPF.
//!
//! A module exports the hooks that it has, by their names, and imports the verbs from `mmsim`. Folios
//! are small numbers, inodes numbers, and nothing lies in the memory of the module but its own variables:
//! no headers of a kernel, no maps, no debug information. A loop over a list is a loop.
//!
//! The host leaves out what no module of this kind needs: folios of files that are not watched are not
//! told, and a hook that is not there is not called. Flags of a folio are those of the moment in which
//! `evict_folios` or `admit_folio` asks for them, and in other hooks those of the last time it was
//! shown.

mod host;

use mmsim::base::id::{Idx, MemcgId, PageIdx, ThreadId};
use mmsim::base::rng::Rng;
use mmsim::memory::Memory;
use mmsim::phys::frames::FolioId;
use mmsim::policy::chooser::{
    AdmitAsk, ChooserOptions, ChooserValue, EvictAsk, FileChooser, FileFolioEvent, FileFolioRecord,
    Uncovered, matches,
};
use mmsim_score::engine::why;
use wasmi::{Func, ResumableCall, Store, Val};

use crate::bpf::mirror::kernel_flags;
use crate::bpf::{HOOK_FUEL, INIT_FUEL, MOST_MEMORY};
use crate::hooks::{
    ACCESSED, ADDED, ADMIT, Calls, EVICT, EVICTED, HOOKS, INIT, calls, refused, task,
};
use crate::module::Module;
use crate::module::shape::SET;
use crate::world::{FileFacts, World};
use host::{Ask, Host};

/// The flag by which a folio that comes shows that it is not read yet: bit 0, `PG_locked`.
const LOCKED: u64 = 1;
/// `PG_uptodate` and `PG_lru`.
const READ_AND_LISTED: u64 = 1 << 3 | 1 << 5;
/// Folios whose flags are looked up together, along a list.
const SEEN_TOGETHER: usize = 32;

/// A policy of the direct interface in one run.
pub(crate) struct Direct {
    name: String,
    options: ChooserOptions,
    store: Store<Host>,
    /// By hook.
    hooks: [Option<Func>; HOOKS.len()],
    calls: [Calls; HOOKS.len()],
    stopped: Option<String>,
    /// By file: the policy is for it.
    watched: Vec<Option<bool>>,
    acting: Option<Option<ThreadId>>,
}

impl Direct {
    /// Sets a module up for a run, and calls its settings.
    ///
    /// # Errors
    ///
    /// The options name what the module does not have, or it needs too much memory.
    pub(crate) fn new(module: &Module, options: &ChooserOptions) -> Result<Direct, mmsim::Error> {
        let refused = |what: String| refused(module.name(), &what);
        if let Some((name, _)) = options.maps.first() {
            return Err(refused(format!("`maps.{name}`: the direct interface has no maps")));
        }
        if let Some((name, _)) = options.on_event.first() {
            return Err(refused(format!("`on-event.{name}`: the direct interface has no rings")));
        }
        let random = Rng::for_purpose(options.seed, &format!("cache-ext/{}", options.group));
        let mut store = Store::new(module.engine(), Host::new(random, options));
        store.limiter(|host| &mut host.limits);
        let fuel = HOOK_FUEL + MOST_MEMORY as u64;
        let stopped = |e: wasmi::Error| refused(why(&e, fuel));
        store.set_fuel(fuel).map_err(stopped)?;
        let linker = host::linker(module.engine()).map_err(|e| refused(e.to_string()))?;
        let made = linker.instantiate_and_start(&mut store, module.inner()).map_err(stopped)?;
        store.data_mut().memory = made.get_memory(&store, "memory");
        let hooks = HOOKS.map(|hook| made.get_func(&store, hook));
        for (name, value) in &options.set {
            let at = format!("set.{name}");
            let Some(set) = made.get_func(&store, &format!("{}{name}", SET)) else {
                let known: Vec<&str> = module.settings().collect();
                let known = if known.is_empty() { "none".to_string() } else { known.join(", ") };
                let error = refused(format!("`{at}`: it exports no function `set_{name}`"));
                return Err(error.help(format!("its settings: {known}")));
            };
            let ChooserValue::Number(number) = value else {
                return Err(refused(format!("`{at}`: the direct interface takes numbers alone")));
            };
            store.set_fuel(HOOK_FUEL).map_err(stopped)?;
            set.call(&mut store, &[Val::I64(*number)], &mut [])
                .map_err(|e| refused(format!("`set_{name}` {}", why(&e, HOOK_FUEL))))?;
        }
        Ok(Direct {
            name: module.name().to_string(),
            options: options.clone(),
            store,
            hooks,
            calls: [Calls::default(); HOOKS.len()],
            stopped: None,
            watched: Vec::new(),
            acting: None,
        })
    }

    /// Calls `init`.
    pub(crate) fn begin(&mut self, world: &dyn World) -> Result<(), Uncovered> {
        let said = self.hook(world, INIT, &[], true, None)?;
        match (&self.stopped, said) {
            (Some(why), _) => Err(Uncovered(why.clone())),
            (None, 0) => Ok(()),
            (None, n) => {
                let name = &self.name;
                Err(Uncovered(format!("`{name}`: `init` returns {n}, so it is not attached")))
            }
        }
    }

    /// Tells the hooks what happened to a folio.
    pub(crate) fn hear(
        &mut self,
        world: &dyn World,
        record: &FileFolioRecord,
    ) -> Result<(), Uncovered> {
        if self.stopped.is_some() {
            return Ok(());
        }
        let (hook, added) = match record.what {
            FileFolioEvent::Added => (ADDED, true),
            FileFolioEvent::Accessed => (ACCESSED, false),
            FileFolioEvent::Evicted => (EVICTED, false),
        };
        let host = self.store.data_mut();
        let mut known = host.slot_of(record.folio);
        if let Some(stale) = known.filter(|_| added) {
            // The frame's last folio was migrated away: it has left without a word.
            host.leave(stale);
            known = None;
        }
        let slot = match known {
            Some(slot) => slot,
            // The folio belongs to a file that is not watched, or left before the policy knew of it.
            None if record.what == FileFolioEvent::Evicted => return Ok(()),
            None => {
                let facts = world.file(record.page);
                if !self.watches(&facts) {
                    return Ok(());
                }
                self.store.data_mut().enter(record.folio, &facts)
            }
        };
        let flags = kernel_flags(record.flags);
        let flags = if added { flags & !READ_AND_LISTED | LOCKED } else { flags };
        self.store.data_mut().show(slot, flags);
        if self.hooks[hook].is_some() {
            self.act(record.at.0, record.thread);
            let given = [Val::I32(slot.0 as i32)];
            self.hook(world, hook, &given, false, Some(record.page))?;
        }
        if record.what == FileFolioEvent::Evicted {
            self.store.data_mut().leave(slot);
        }
        Ok(())
    }

    /// Asks `evict_folios` for folios.
    pub(crate) fn offer(
        &mut self,
        world: &dyn World,
        ask: &EvictAsk,
        offered: &mut Vec<FolioId>,
    ) -> Result<(), Uncovered> {
        if self.stopped.is_some() || self.hooks[EVICT].is_none() {
            return Ok(());
        }
        self.act(ask.now.0, ask.thread);
        self.store.data_mut().begin_offers();
        self.hook(world, EVICT, &[Val::I32(ask.wanted as i32)], false, None)?;
        let host = self.store.data_mut();
        let offers = host.end_offers();
        if self.stopped.is_none() {
            offered.extend(offers.iter().map(|slot| host.folio_in(*slot)));
        }
        Ok(())
    }

    /// Asks `admit_folio` whether the pages of a read may come into the cache.
    pub(crate) fn admits(&mut self, world: &dyn World, ask: &AdmitAsk) -> Result<bool, Uncovered> {
        let page = world.page(ask.file, ask.first);
        let facts = world.file(page);
        if self.stopped.is_some() || !self.watches(&facts) {
            return Ok(true);
        }
        self.act(ask.now.0, Some(ask.thread));
        let given =
            [Val::I64(facts.ino() as i64), Val::I32(ask.first as i32), Val::I32(ask.count as i32)];
        let said = self.hook(world, ADMIT, &given, true, Some(page))?;
        Ok(said != 0 || self.stopped.is_some())
    }

    /// True if the policy is for a file.
    fn watches(&mut self, facts: &FileFacts<'_>) -> bool {
        let patterns = &self.options.watch;
        if patterns.is_empty() {
            return true;
        }
        let file = facts.file.index();
        if self.watched.len() <= file {
            self.watched.resize(file + 1, None);
        }
        *self.watched[file]
            .get_or_insert_with(|| patterns.iter().any(|pattern| matches(pattern, facts.name)))
    }

    /// Sets the time and the thread of an event.
    fn act(&mut self, now: u64, thread: Option<ThreadId>) {
        self.store.data_mut().now = now;
        if self.acting != Some(thread) {
            self.acting = Some(thread);
            let (process, thread, _) = task(&self.options, thread);
            let host = self.store.data_mut();
            (host.process, host.thread) = (process as u32, thread as u32);
        }
    }

    /// Calls a hook, if the policy has it.
    fn hook(
        &mut self,
        world: &dyn World,
        hook: usize,
        given: &[Val],
        answers: bool,
        page: Option<PageIdx>,
    ) -> Result<i32, Uncovered> {
        let Some(function) = self.hooks[hook] else { return Ok(0) };
        self.calls[hook].calls += 1;
        let fuel = if hook == INIT { INIT_FUEL } else { HOOK_FUEL };
        self.store.set_fuel(fuel).expect("the engine counts fuel");
        self.store.data_mut().begin_call(matches!(hook, EVICT | ADMIT));
        let mut room = [Val::I32(0)];
        let out = &mut room[..usize::from(answers)];
        let ended = run(&mut self.store, world, function, (given, fuel), out);
        let left = self.store.get_fuel().expect("the engine counts fuel");
        self.calls[hook].fuel += fuel - left;
        if let Err(what) = ended {
            let about = page.map_or(String::new(), |page| {
                let facts = world.file(page);
                format!(", page {} of `{}`", facts.index, facts.name)
            });
            let (name, call) = (&self.name, self.calls[hook].calls);
            let hook = HOOKS[hook];
            self.stopped = Some(format!("`{name}`, `{hook}` {what} (call {call}{about})"));
            return Ok(0);
        }
        match room[0] {
            Val::I32(said) => Ok(said),
            _ => Ok(0),
        }
    }
}

/// Runs a call to its end. Flags that it asks for are looked up outside of the interpreter, with those of
/// the folios behind.
fn run(
    store: &mut Store<Host>,
    world: &dyn World,
    function: Func,
    (given, fuel): (&[Val], u64),
    out: &mut [Val],
) -> Result<(), String> {
    let mut state =
        function.call_resumable(&mut *store, given, out).map_err(|e| host::why(&e, fuel))?;
    loop {
        let paused = match state {
            ResumableCall::Finished => return Ok(()),
            ResumableCall::OutOfFuel(_) => {
                return Err(format!("takes more than {fuel} instructions"));
            }
            ResumableCall::HostTrap(paused) => paused,
        };
        let Some(Ask(slot)) = paused.host_error().downcast_ref::<Ask>().copied() else {
            return Err(host::why(paused.host_error(), fuel));
        };
        let host = store.data_mut();
        let mut next = Some(slot);
        for _ in 0..SEEN_TOGETHER {
            let Some(slot) = next else { break };
            host.show(slot, kernel_flags(world.flags(host.folio_in(slot))));
            next = host.lists.after(slot);
        }
        let flags = Val::I32(host.flags_of(slot) as i32);
        state = paused.resume(&mut *store, &[flags], out).map_err(|e| host::why(&e, fuel))?;
    }
}

impl FileChooser for Direct {
    fn name(&self) -> &str {
        &self.name
    }

    fn attach(&mut self, mem: &Memory, _: MemcgId) -> Result<(), String> {
        self.begin(mem).map_err(|Uncovered(why)| why)
    }

    fn told(&mut self, mem: &Memory, records: &[FileFolioRecord]) -> Result<(), Uncovered> {
        records.iter().try_for_each(|record| self.hear(mem, record))
    }

    fn choose(
        &mut self,
        mem: &Memory,
        ask: &EvictAsk,
        offered: &mut Vec<FolioId>,
    ) -> Result<(), Uncovered> {
        self.offer(mem, ask, offered)
    }

    fn asks_to_admit(&self) -> bool {
        self.hooks[ADMIT].is_some()
    }

    fn admit(&mut self, mem: &Memory, ask: &AdmitAsk) -> Result<bool, Uncovered> {
        self.admits(mem, ask)
    }

    fn stopped(&self) -> Option<&str> {
        self.stopped.as_deref()
    }

    fn tallies(&self) -> Vec<(&'static str, u64)> {
        let host = self.store.data();
        let mut all = calls(&self.calls);
        all.extend([
            ("printk", host.prints.count),
            ("no_folio", host.no_folio),
            ("stopped", self.stopped.is_some().into()),
        ]);
        all
    }
}
