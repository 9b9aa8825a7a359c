//! A module as the policy of a group: what happens to file folios goes to its hooks, in order, and what
//! `evict_folios` offers comes back.
//!
//! A module that goes wrong as no program of BPF could, by a trap or without fuel, is detached for the
//! rest of the run: its stack may be half unwound. Reclaim goes on without it. One that needs what
//! mmsim does not have, or that would hang a kernel, ends the run.

mod contents;
mod modules;
mod setup;

use mmsim::Error;
use mmsim::base::id::{MemcgId, PAGE_SIZE, PageIdx, ThreadId};
use mmsim::base::rng::Rng;
use mmsim::memory::Memory;
use mmsim::phys::frames::{FolioId, flag};
use mmsim::policy::chooser::{
    AdmitAsk, ChooserOptions, EvictAsk, FileChooser, FileFolioEvent, FileFolioRecord, MOST_OFFERED,
    Uncovered,
};

use crate::bpf::access::Halt;
use crate::bpf::instance::{Callee, Instance, Look};
use crate::bpf::mirror::{MOST_RING, PAGE, at, kernel_flags};
use crate::bpf::{HOOK_FUEL, INIT_FUEL};
use crate::direct::Direct;
use crate::hooks::{
    ACCESSED, ADDED, ADMIT, Calls, EVICT, EVICTED, HOOKS, INIT, calls, refused, task,
};
use crate::lists::Slot;
use crate::module::{Interface, Module};
use crate::world::{FileFacts, World};

pub use contents::{Contents, MapContents, contents};
pub use modules::{Modules, is_score, modules};

/// The map that loaders of the artefact fill with the inodes that a policy is for.
const WATCHED: &str = "inode_watchlist";

/// A policy of a group in one run.
pub struct Policy {
    module: Module,
    options: ChooserOptions,
    instance: Instance,
    calls: [Calls; HOOKS.len()],
    stopped: Option<String>,
    /// Offers that were no folio of the group.
    no_folio: u64,
    /// Programs for entries of ring buffers, by the address of the buffer.
    programs: Vec<(u64, Callee)>,
    /// Thread of the last event; none before the first.
    acting: Option<Option<ThreadId>>,
}

impl std::fmt::Debug for Policy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Policy({}, {:?})", self.module.name(), self.calls)
    }
}

impl Policy {
    /// Sets a module up for a run, with the globals and maps of the options. `init` is called by
    /// [`Policy::begin`].
    ///
    /// # Errors
    ///
    /// The options name what the module does not have, it needs too much memory, or it has the direct
    /// interface, for which [`chooser`] is.
    pub fn new(module: &Module, options: &ChooserOptions) -> Result<Policy, Error> {
        if module.interface() != Interface::CacheExt {
            return Err(refused(module.name(), "it is of the direct interface, without BPF"));
        }
        // Each group has draws of its own.
        let random = Rng::for_purpose(options.seed, &format!("cache-ext/{}", options.group));
        let instance =
            Instance::new(module, random).map_err(|halt| setup::failed(module, &halt))?;
        let mut policy = Policy {
            module: module.clone(),
            options: options.clone(),
            instance,
            calls: [Calls::default(); HOOKS.len()],
            stopped: None,
            no_folio: 0,
            programs: Vec::new(),
            acting: None,
        };
        policy.set_up()?;
        Ok(policy)
    }

    /// Calls `init`.
    ///
    /// # Errors
    ///
    /// It returns another number than 0, or fails.
    pub fn begin(&mut self, world: &dyn World, memcg: MemcgId) -> Result<(), Uncovered> {
        let group = self.instance.store.data().mirror.single + at::GROUP;
        self.instance.store.data_mut().group = u64::from(memcg.0) + 1;
        self.put(group, u64::from(memcg.0) + 1).map_err(|halt| self.uncovered(&halt, INIT, ""))?;
        let said = self.hook(world, INIT, &[group as i64], None)?;
        match (&self.stopped, said) {
            (Some(why), _) => Err(Uncovered(why.clone())),
            (None, 0) => Ok(()),
            (None, n) => {
                let name = self.module.name();
                Err(Uncovered(format!("`{name}`: `init` returns {n}, so it is not attached")))
            }
        }
    }

    /// Tells the hooks what happened to a folio.
    ///
    /// # Errors
    ///
    /// The run cannot go on.
    pub fn hear(&mut self, world: &dyn World, record: &FileFolioRecord) -> Result<(), Uncovered> {
        if self.stopped.is_some() {
            return Ok(());
        }
        let hook = match record.what {
            FileFolioEvent::Added => ADDED,
            FileFolioEvent::Accessed => ACCESSED,
            FileFolioEvent::Evicted => EVICTED,
        };
        let folio = match self.mirrored(world, record) {
            Ok(folio) => folio,
            Err(halt) => return self.ended(halt, hook, Some((world, record.page))).map(|_| ()),
        };
        self.hook(world, hook, &[folio as i64], Some(record.page))?;
        if record.what == FileFolioEvent::Evicted && self.stopped.is_none() {
            self.forget(world, record);
        }
        Ok(())
    }

    /// Asks `evict_folios` for folios.
    ///
    /// # Errors
    ///
    /// The run cannot go on.
    pub fn offer(
        &mut self,
        world: &dyn World,
        ask: &EvictAsk,
        offered: &mut Vec<FolioId>,
    ) -> Result<(), Uncovered> {
        if self.stopped.is_some() || self.instance.hooks[EVICT].is_none() {
            return Ok(());
        }
        let (ctx, group) = {
            let single = self.instance.store.data().mirror.single;
            (single + at::CTX, single + at::GROUP)
        };
        let ready = self.act(ask.now.0, ask.thread);
        if let Err(halt) = ready.and_then(|()| self.instance.ask_for(ask.wanted.into())) {
            return self.ended(halt, EVICT, None).map(|_| ());
        }
        self.hook(world, EVICT, &[ctx as i64, group as i64], None)?;
        if self.stopped.is_some() {
            return Ok(());
        }
        match self.instance.offers() {
            Ok((n, addresses)) => self.take(n, &addresses, offered),
            Err(halt) => self.ended(halt, EVICT, None).map(|_| ())?,
        }
        Ok(())
    }

    /// True if it has the hook that says which reads may fill the cache.
    pub fn has_admission(&self) -> bool {
        self.instance.hooks[ADMIT].is_some()
    }

    /// Asks `admit_folio` whether the pages of a read may come into the cache.
    ///
    /// # Errors
    ///
    /// The run cannot go on.
    pub fn admits(&mut self, world: &dyn World, ask: &AdmitAsk) -> Result<bool, Uncovered> {
        if self.stopped.is_some() {
            return Ok(true);
        }
        let page = world.page(ask.file, ask.first);
        let ready = self.act(ask.now.0, Some(ask.thread));
        let ready = ready.and_then(|()| self.show_read(&world.file(page), ask));
        let ctx = match ready {
            Ok(ctx) => ctx,
            Err(halt) => {
                return self.ended(halt, ADMIT, Some((world, page))).map(|_| true);
            }
        };
        // Its answer is C's: true sends the read past the cache.
        let past = self.hook(world, ADMIT, &[ctx as i64], Some(page))? as u8 != 0;
        Ok(!past || self.stopped.is_some())
    }

    /// Writes the context of an admission, and gives its address.
    fn show_read(&mut self, facts: &FileFacts<'_>, ask: &AdmitAsk) -> Result<u64, Halt> {
        // A file that is new is watched now.
        self.inode(facts)?;
        let ctx = self.instance.store.data().mirror.single + at::READ;
        let bytes = |pages: u32| u64::from(pages) * PAGE_SIZE;
        for (i, word) in [facts.ino(), bytes(ask.first), bytes(ask.count)].into_iter().enumerate() {
            self.put(ctx + 8 * i as u64, word)?;
        }
        Ok(ctx)
    }

    /// Takes what the context offers; more than it has room for are one more than are allowed.
    fn take(&mut self, n: u64, addresses: &[u64], offered: &mut Vec<FolioId>) {
        let host = self.instance.store.data();
        for &address in addresses {
            let slot = host.mirror.slot_at(address);
            match host.lists.holds(slot) {
                true => offered.push(host.mirror.folio_in(slot)),
                false => self.no_folio += 1,
            }
        }
        if n > MOST_OFFERED as u64
            && let Some(&last) = offered.last()
        {
            offered.resize(MOST_OFFERED + 1, last);
        }
    }

    /// Reason for which it was detached.
    pub fn why_stopped(&self) -> Option<&str> {
        self.stopped.as_deref()
    }

    /// Calls of the hooks, in the order of [`HOOKS`].
    pub fn calls(&self) -> [Calls; HOOKS.len()] {
        self.calls
    }

    /// The first lines that it printed, with their times in nanoseconds.
    pub fn lines(&self) -> &[(u64, String)] {
        &self.instance.store.data().prints.lines
    }

    /// The bytes of a global variable, as they are now.
    pub fn global(&self, name: &str) -> Option<&[u8]> {
        let of = self.module.global(name)?;
        let data = self.instance.memory.data(&self.instance.store);
        data.get(of.at as usize..(of.at + of.size) as usize)
    }

    /// Sets the time and the thread of an event.
    fn act(&mut self, now: u64, thread: Option<ThreadId>) -> Result<(), Halt> {
        self.instance.store.data_mut().now = now;
        if self.acting == Some(thread) {
            return Ok(());
        }
        self.acting = Some(thread);
        let (tgid, pid, name) = task(&self.options, thread);
        let mut comm = [0; 16];
        let bytes = name.as_bytes();
        let n = bytes.len().min(15);
        comm[..n].copy_from_slice(&bytes[..n]);
        let host = self.instance.store.data_mut();
        (host.pid_tgid, host.comm) = (tgid << 32 | pid, comm);
        let task = host.mirror.single + at::TASK;
        // `prio` and `static_prio` are those of nice 0.
        let words = [pid as u32, tgid as u32, 120, 120, 0];
        let words: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).chain(comm).collect();
        self.instance.put(task, &words)
    }

    fn put(&mut self, at: u64, value: u64) -> Result<(), Halt> {
        self.instance.put_word(at, value)
    }

    /// The address of the folio of a record, whose copy is up to date.
    fn mirrored(&mut self, world: &dyn World, record: &FileFolioRecord) -> Result<u64, Halt> {
        self.act(record.at.0, record.thread)?;
        let added = record.what == FileFolioEvent::Added;
        let host = self.instance.store.data_mut();
        let mut known = host.mirror.slot_of(record.folio);
        if let Some(stale) = known.filter(|_| added) {
            // The frame's last folio was migrated away: it has left without a word.
            host.lists.clear(stale);
            host.mirror.leave(stale);
            known = None;
        }
        let slot = match known {
            Some(slot) => slot,
            None => self.arrived(world, record)?,
        };
        let mut flags = record.flags;
        if added {
            let facts = world.file(record.page);
            self.count(&facts, 1)?;
            flags = flags & !flag::LRU | flag::LOCKED;
        }
        let address = self.instance.store.data().mirror.address(slot);
        self.put(address, kernel_flags(flags))?;
        Ok(address)
    }

    /// Gives a folio a slot, and its file an inode.
    fn arrived(&mut self, world: &dyn World, record: &FileFolioRecord) -> Result<Slot, Halt> {
        if self.instance.store.data().mirror.is_full() {
            let chunk = self.instance.more(PAGE)?;
            self.instance.store.data_mut().mirror.add_chunk(chunk);
        }
        let facts = world.file(record.page);
        let inode = self.inode(&facts)?;
        let host = self.instance.store.data_mut();
        let slot = host.mirror.enter(record.folio);
        host.lists.fill(slot);
        let (address, group) = (host.mirror.address(slot), host.mirror.single + at::GROUP);
        self.put(address + at::MAPPING, inode + at::SPACE)?;
        self.put(address + at::INDEX, facts.index.into())?;
        self.put(address + at::MEMCG, group)?;
        self.put(address + at::NODE, address)?;
        Ok(slot)
    }

    /// The inode of a file; a new one is watched if the options say so.
    fn inode(&mut self, facts: &FileFacts<'_>) -> Result<u64, Halt> {
        if let Some(inode) = self.instance.store.data().mirror.inode(facts.file) {
            return Ok(inode);
        }
        if self.instance.store.data().mirror.lacks_room() {
            let room = self.instance.more(PAGE)?;
            self.instance.store.data_mut().mirror.add_room(room);
        }
        let mirror = &mut self.instance.store.data_mut().mirror;
        let (inode, sb) = (mirror.open(facts.file), mirror.single + at::SUPER);
        self.put(inode, facts.ino())?;
        self.put(inode + at::I_SIZE, facts.bytes())?;
        self.put(inode + at::I_MAPPING, inode + at::SPACE)?;
        self.put(inode + at::I_SB, sb)?;
        // A regular file, rw-r--r--, with one name.
        self.put(inode + at::I_MODE, 1 << (8 * (at::I_NLINK - at::I_MODE)) | 0o100_644)?;
        self.put(inode + at::SPACE, inode)?;
        self.watch(facts)?;
        Ok(inode)
    }

    /// Counts a page of a file into or out of the cache.
    fn count(&mut self, facts: &FileFacts<'_>, by: i64) -> Result<(), Halt> {
        let mirror = &mut self.instance.store.data_mut().mirror;
        let Some(inode) = mirror.inode(facts.file) else { return Ok(()) };
        let n = mirror.count(facts.file, by);
        self.put(inode + at::NRPAGES, n)
    }

    /// An evicted folio leaves its list and its slot.
    fn forget(&mut self, world: &dyn World, record: &FileFolioRecord) {
        let facts = world.file(record.page);
        // The count lies in the memory that the hook had.
        let _ = self.count(&facts, -1);
        let host = self.instance.store.data_mut();
        if let Some(slot) = host.mirror.slot_of(record.folio) {
            host.lists.clear(slot);
            host.mirror.leave(slot);
        }
    }

    /// Calls a hook, if the policy has it.
    fn hook(
        &mut self,
        world: &dyn World,
        hook: usize,
        given: &[i64],
        page: Option<PageIdx>,
    ) -> Result<i64, Uncovered> {
        let Some(callee) = self.instance.hooks[hook] else { return Ok(0) };
        self.calls[hook].calls += 1;
        let fuel = if hook == INIT { INIT_FUEL } else { HOOK_FUEL };
        self.instance.fill(fuel);
        let look = |folio| world.flags(folio);
        let result = self.instance.call(&callee, given, &look);
        self.calls[hook].fuel += self.instance.used();
        match result.and_then(|said| self.entries(&look).map(|()| said)) {
            Ok(said) => Ok(said),
            Err(halt) => self.ended(halt, hook, page.map(|page| (world, page))),
        }
    }

    /// Calls the programs for the entries of the last call. What they submit themselves waits for the
    /// next call.
    fn entries(&mut self, look: Look<'_>) -> Result<(), Halt> {
        if self.instance.store.data().entries.is_empty() {
            return Ok(());
        }
        let at = self.instance.store.data().mirror.single + at::RING;
        for (ring, entry) in std::mem::take(&mut self.instance.store.data_mut().entries) {
            let program = self.programs.iter().find(|p| p.0 == ring).map(|p| p.1);
            let Some(program) = program.filter(|_| entry.len() as u64 <= MOST_RING) else {
                continue;
            };
            self.instance.put(at, &entry)?;
            self.instance.fill(INIT_FUEL);
            self.instance.call(&program, &[at as i64, entry.len() as i64], look)?;
        }
        Ok(())
    }

    /// Detaches the policy, or ends the run.
    fn ended(
        &mut self,
        halt: Halt,
        hook: usize,
        page: Option<(&dyn World, PageIdx)>,
    ) -> Result<i64, Uncovered> {
        let about = page.map_or(String::new(), |(world, page)| {
            let facts = world.file(page);
            format!(", page {} of `{}`", facts.index, facts.name)
        });
        let why = self.uncovered(&halt, hook, &about);
        match halt {
            Halt::Uncovered(_) => Err(why),
            Halt::Broken(_) => {
                self.stopped = Some(why.0);
                Ok(0)
            }
        }
    }

    fn uncovered(&self, halt: &Halt, hook: usize, about: &str) -> Uncovered {
        let (Halt::Uncovered(what) | Halt::Broken(what)) = halt;
        let (name, hook, call) = (self.module.name(), HOOKS[hook], self.calls[hook].calls);
        Uncovered(format!("`{name}`, `{hook}` {what} (call {call}{about})"))
    }
}

impl FileChooser for Policy {
    fn name(&self) -> &str {
        self.module.name()
    }

    fn attach(&mut self, mem: &Memory, memcg: MemcgId) -> Result<(), String> {
        self.begin(mem, memcg).map_err(|Uncovered(why)| why)
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
        self.has_admission()
    }

    fn admit(&mut self, mem: &Memory, ask: &AdmitAsk) -> Result<bool, Uncovered> {
        self.admits(mem, ask)
    }

    fn stopped(&self) -> Option<&str> {
        self.stopped.as_deref()
    }

    fn tallies(&self) -> Vec<(&'static str, u64)> {
        let host = self.instance.store.data();
        let sum = |of: fn(&crate::bpf::maps::Map) -> u64| host.maps.all().map(of).sum();
        let mut all = calls(&self.calls);
        all.extend([
            ("callbacks", host.counts.callbacks),
            ("iterations_too_long", host.counts.too_long),
            ("samples_short", host.counts.short),
            ("map_elements", sum(|map| map.len() as u64)),
            ("map_drops", sum(|map| map.drops)),
            ("map_full", sum(|map| map.full)),
            ("ring_entries", host.counts.ring_entries),
            ("printk", host.prints.count),
            ("no_folio", self.no_folio),
            ("stopped", self.stopped.is_some().into()),
        ]);
        all
    }
}

/// The policy of a module for a run, by the interface that it has.
///
/// # Errors
///
/// The options name what the module does not have, or it needs too much memory.
pub fn chooser(module: &Module, options: &ChooserOptions) -> Result<Box<dyn FileChooser>, Error> {
    match module.interface() {
        Interface::CacheExt => Ok(Box::new(Policy::new(module, options)?)),
        Interface::Direct => Ok(Box::new(Direct::new(module, options)?)),
    }
}
