//! Policies of cache_ext: modules for every scenario, and classes in Python with the same verbs.
//!
//! A class has the hooks as methods, and the lists of `mmsim_ext::lists`, so it decides by the rules
//! that a module has. Its folios have the flags of the moment in which a hook sees them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mmsim::base::id::{Idx as _, MemcgId, ThreadId};
use mmsim::base::rng::Rng;
use mmsim::memory::Memory;
use mmsim::phys::frames::{FolioId, flag};
use mmsim::policy::chooser::{
    ChooserOptions, ChooserThread, ChooserValue, Choosers, EvictAsk, FileChooser, FileFolioEvent,
    FileFolioRecord, MOST_OFFERED, Uncovered, matches,
};
use mmsim::{Registry, RunOptions, registry};
use mmsim_ext::World as _;
use mmsim_ext::lists::{End, Ended, Lists, Moves, ROOM, Refusal, Slot, Verdict};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::policy::{Inside, Raised, raise};
use crate::values::kind;

/// The registry of every scenario in Python: policies of cache_ext may be modules.
pub(crate) fn with_modules() -> Registry {
    registry().with_choosers(mmsim_ext::modules())
}

/// Options of runs side by side.
pub(crate) fn options(jobs: Option<usize>, check: bool) -> RunOptions {
    RunOptions::default().with_jobs(jobs).with_check(check).with_registry(with_modules())
}

/// The registry with policies of cache_ext in Python besides: a dict of names and classes.
pub(crate) fn with_classes(
    of: Registry,
    classes: Option<&Bound<'_, PyDict>>,
    raised: &Raised,
    inside: &Inside,
) -> PyResult<Registry> {
    let Some(given) = classes else { return Ok(of) };
    let base = given.py().get_type::<CacheExt>();
    let mut classes = BTreeMap::new();
    for (name, class) in given.iter() {
        let is_policy = class
            .cast::<pyo3::types::PyType>()
            .is_ok_and(|class| class.is_subclass(&base).unwrap_or(false));
        if !is_policy {
            let what = "cache_ext: policies are subclasses of mmsim.CacheExt, not";
            return Err(PyTypeError::new_err(format!("{what} {}", kind(&class))));
        }
        classes.insert(name.extract::<String>()?, class.unbind());
    }
    let all = Classes { classes, raised: Arc::clone(raised), inside: inside.clone() };
    Ok(of.with_choosers(Arc::new(all)))
}

/// Classes by the names that scenarios call them; other names are files of modules.
struct Classes {
    classes: BTreeMap<String, Py<PyAny>>,
    raised: Raised,
    inside: Inside,
}

impl std::fmt::Debug for Classes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.classes.keys()).finish()
    }
}

impl Choosers for Classes {
    fn check(&self, name: &str, file: &Path) -> Result<(), String> {
        match self.classes.contains_key(name) || file.is_file() {
            true => Ok(()),
            false => {
                let known: Vec<&str> = self.classes.keys().map(String::as_str).collect();
                let known = known.join(", ");
                Err(format!(
                    "there is neither a class nor a file `{name}`; `cache_ext` has {known}"
                ))
            }
        }
    }

    fn create(
        &self,
        name: &str,
        file: &Path,
        options: &ChooserOptions,
    ) -> Result<Box<dyn FileChooser>, String> {
        let Some(class) = self.classes.get(name) else {
            self.check(name, file)?;
            return mmsim_ext::modules().create(name, file, options);
        };
        for (key, none) in
            [("maps", options.maps.is_empty()), ("on-event", options.on_event.is_empty())]
        {
            if !none {
                return Err(format!("`{key}`: the class `{name}` has none, leave it out"));
            }
        }
        let made = self.inside.call(|py| {
            let object = class.call0(py)?;
            for (key, value) in &options.set {
                if !object.bind(py).hasattr(key.as_str())? {
                    let what = format!("`set`: the class has no attribute `{key}`");
                    return Err(PyValueError::new_err(what));
                }
                match value {
                    ChooserValue::Number(n) => object.setattr(py, key.as_str(), *n)?,
                    ChooserValue::Text(text) => object.setattr(py, key.as_str(), text)?,
                }
            }
            let state = Arc::clone(&object.bind(py).cast::<CacheExt>()?.get().0);
            Ok((object, state))
        });
        let (object, state) = made.map_err(|e| format!("`{name}`: {e}"))?;
        {
            let mut state = locked(&state);
            state.rng = Rng::for_purpose(options.seed, &format!("cache-ext/{}", options.group));
            state.options = options.clone();
        }
        let (raised, inside) = (Arc::clone(&self.raised), self.inside.clone());
        Ok(Box::new(InPython { name: name.to_string(), object, state, raised, inside }))
    }
}

/// The world of a policy: lists, folios, and the moment.
struct State {
    lists: Lists,
    /// By slot.
    folios: Vec<Option<(FolioId, Py<Folio>)>>,
    slots: BTreeMap<FolioId, Slot>,
    free: Vec<Slot>,
    /// Offers of the call under way.
    offers: Vec<Slot>,
    /// Folios that the call under way asks for; 0: none asks.
    wanted: u64,
    now_ns: u64,
    thread: Option<ThreadId>,
    options: ChooserOptions,
    rng: Rng,
    callbacks: u64,
}

type Shared = Arc<Mutex<State>>;

fn locked(state: &Shared) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    fn folio(&self, py: Python<'_>, slot: Slot) -> Option<Py<Folio>> {
        let folio = self.folios.get(slot.0 as usize)?.as_ref()?;
        Some(folio.1.clone_ref(py))
    }

    /// The thread of the moment; none: one of the kernel.
    fn acting(&self) -> Option<&ChooserThread> {
        self.options.threads.get(self.thread?.index())
    }

    fn leave(&mut self, folio: FolioId) {
        let Some(slot) = self.slots.remove(&folio) else { return };
        self.lists.clear(slot);
        if let Some((_, folio)) = self.folios[slot.0 as usize].take() {
            folio.get().slot.store(Slot::NONE.0, Ordering::Relaxed);
        }
        self.free.push(slot);
    }

    fn enter(&mut self, py: Python<'_>, mem: &Memory, r: &FileFolioRecord) -> PyResult<Slot> {
        let facts = mem.file(r.page);
        let watch = &self.options.watch;
        let watched = watch.is_empty() || watch.iter().any(|w| matches(w, facts.name));
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => {
                self.folios.push(None);
                Slot(self.folios.len() as u32 - 1)
            }
        };
        let folio = Folio {
            slot: AtomicU32::new(slot.0),
            flags: AtomicU32::new(r.flags),
            index: facts.index,
            inode: u64::from(facts.file.0) + 1,
            file: facts.name.to_string(),
            watched,
        };
        self.folios[slot.0 as usize] = Some((r.folio, Py::new(py, folio)?));
        self.slots.insert(r.folio, slot);
        self.lists.fill(slot);
        Ok(slot)
    }

    /// The folio of a record, with its flags.
    fn shown(&mut self, py: Python<'_>, mem: &Memory, r: &FileFolioRecord) -> PyResult<Py<Folio>> {
        (self.now_ns, self.thread) = (r.at.0, r.thread);
        let added = r.what == FileFolioEvent::Added;
        if added {
            // The frame's last folio was migrated away: it has left without a word.
            self.leave(r.folio);
        }
        let slot = match self.slots.get(&r.folio) {
            Some(&slot) => slot,
            None => self.enter(py, mem, r)?,
        };
        let flags = if added { r.flags & !flag::LRU | flag::LOCKED } else { r.flags };
        let folio = self.folio(py, slot).expect("it was entered");
        folio.get().flags.store(flags, Ordering::Relaxed);
        Ok(folio)
    }
}

/// A folio of the page cache.
#[pyclass(frozen, module = "mmsim")]
pub(crate) struct Folio {
    /// [`Slot::NONE`] when it is gone.
    slot: AtomicU32,
    flags: AtomicU32,
    /// The number of its page in the file.
    #[pyo3(get)]
    index: u32,
    #[pyo3(get)]
    inode: u64,
    #[pyo3(get)]
    file: String,
    #[pyo3(get)]
    watched: bool,
}

impl Folio {
    fn has(&self, bits: u32) -> bool {
        self.flags.load(Ordering::Relaxed) & bits != 0
    }

    fn slot(&self) -> Slot {
        Slot(self.slot.load(Ordering::Relaxed))
    }
}

#[pymethods]
impl Folio {
    #[getter]
    fn dirty(&self) -> bool {
        self.has(flag::DIRTY)
    }

    #[getter]
    fn writeback(&self) -> bool {
        self.has(flag::WRITEBACK)
    }

    /// False while it is being read.
    #[getter]
    fn uptodate(&self) -> bool {
        !self.has(flag::LOCKED)
    }

    /// True if it is on a list of the LRU, so that it can go.
    #[getter]
    fn lru(&self) -> bool {
        self.has(flag::LRU)
    }

    #[getter]
    fn active(&self) -> bool {
        self.has(flag::ACTIVE)
    }

    #[getter]
    fn referenced(&self) -> bool {
        self.has(flag::REFERENCED)
    }

    #[getter]
    fn workingset(&self) -> bool {
        self.has(flag::WORKINGSET)
    }

    fn __repr__(&self) -> String {
        format!("Folio({:?}, {})", self.file, self.index)
    }
}

fn refused(refusal: Refusal) -> PyErr {
    PyValueError::new_err(refusal.to_string())
}

fn end(tail: bool) -> End {
    if tail { End::Tail } else { End::Head }
}

/// A list of a policy.
#[pyclass(frozen, module = "mmsim")]
pub(crate) struct FolioList {
    number: u64,
    state: Shared,
}

impl FolioList {
    /// Where folios go that an iteration passes.
    fn moves(&self, place: Option<&str>, list: Option<&FolioList>) -> PyResult<Moves> {
        let mode = match place {
            None => 0,
            Some("head") => 1,
            Some("tail") => 2,
            Some(other) => {
                let what = format!("\"head\", \"tail\" or None, not {other:?}");
                return Err(PyValueError::new_err(what));
            }
        };
        match list {
            Some(list) if !Arc::ptr_eq(&list.state, &self.state) => {
                Err(PyValueError::new_err("the list is one of another policy"))
            }
            list => Ok(Moves { list: list.map_or(0, |list| list.number), mode }),
        }
    }
}

#[pymethods]
impl FolioList {
    /// Puts a folio that is on no list on this one.
    #[pyo3(signature = (folio, tail=false))]
    fn add(&self, folio: &Folio, tail: bool) -> PyResult<()> {
        locked(&self.state).lists.add(self.number, folio.slot(), end(tail)).map_err(refused)
    }

    /// Puts a folio on this list, wherever it was.
    #[pyo3(name = "move", signature = (folio, tail=false))]
    fn move_to(&self, folio: &Folio, tail: bool) -> PyResult<()> {
        locked(&self.state).lists.move_to(self.number, folio.slot(), end(tail)).map_err(refused)
    }

    /// Calls `visit` with a number and a folio, from the head on, until 32 folios are offered.
    #[pyo3(signature = (visit, *, keep=None, keep_on=None, offered=None, offered_on=None))]
    fn iterate(
        &self,
        py: Python<'_>,
        visit: &Bound<'_, PyAny>,
        keep: Option<&str>,
        keep_on: Option<&FolioList>,
        offered: Option<&str>,
        offered_on: Option<&FolioList>,
    ) -> PyResult<&'static str> {
        let moves = [self.moves(keep, keep_on)?, self.moves(offered, offered_on)?];
        let mut walk = {
            let mut state = locked(&self.state);
            let full = state.offers.len();
            state.lists.walk(self.number, moves[0], moves[1], full).map_err(refused)?
        };
        loop {
            let next = {
                let mut state = locked(&self.state);
                let next = walk.next(&mut state.lists);
                state.callbacks += u64::from(next.is_some());
                next.and_then(|(i, slot)| Some((i, slot, state.folio(py, slot)?)))
            };
            let Some((i, slot, folio)) = next else { break };
            let said = visit.call1((i, folio)).and_then(|said| {
                said.extract::<i32>().map_err(|_| {
                    let what = "a visit returns CONTINUE, STOP or OFFER, not";
                    PyTypeError::new_err(format!("{what} {}", kind(&said)))
                })
            });
            let mut state = locked(&self.state);
            let verdict = said.as_ref().map_or(Verdict::Stop, |&said| Verdict::of(said));
            if walk.judge(&mut state.lists, slot, verdict).is_some() {
                state.offers.push(slot);
            }
            said?;
        }
        Ok(match walk.ended(&mut locked(&self.state).lists) {
            Ended::Done => "done",
            Ended::TooLong => "too long",
            Ended::Full => "full",
        })
    }

    /// Scores the first folios, `size` for each that the call wants, and offers the lowest of each
    /// `size`.
    #[pyo3(signature = (score, size=16))]
    fn sample(&self, py: Python<'_>, score: &Bound<'_, PyAny>, size: u32) -> PyResult<()> {
        let mut sample = {
            let mut state = locked(&self.state);
            let wanted = state.wanted;
            let sample = state.lists.sample(self.number, wanted, size.into()).map_err(refused)?;
            state.offers.clear();
            sample
        };
        let mut failed = None;
        loop {
            let next = {
                let mut state = locked(&self.state);
                state.callbacks += u64::from(sample.next().is_some());
                sample.next().and_then(|slot| state.folio(py, slot))
            };
            let Some(folio) = next else { break };
            match score.call1((folio,)).and_then(|worth| worth.extract::<i64>()) {
                Ok(worth) => {
                    let Some((_, slot)) = sample.score(worth) else { continue };
                    let offers = &mut locked(&self.state).offers;
                    if offers.len() == ROOM {
                        break;
                    }
                    offers.push(slot);
                }
                Err(e) => {
                    failed = Some(e);
                    break;
                }
            }
        }
        sample.end(&mut locked(&self.state).lists);
        failed.map_or(Ok(()), Err)
    }
}

/// The base of policies of cache_ext.
#[pyclass(frozen, subclass, module = "mmsim")]
pub(crate) struct CacheExt(Shared);

#[pymethods]
impl CacheExt {
    #[classattr]
    const CONTINUE: i32 = Verdict::Continue as i32;
    #[classattr]
    const STOP: i32 = Verdict::Stop as i32;
    #[classattr]
    const OFFER: i32 = Verdict::Offer as i32;

    #[new]
    fn new() -> CacheExt {
        CacheExt(Arc::new(Mutex::new(State {
            lists: Lists::default(),
            folios: Vec::new(),
            slots: BTreeMap::new(),
            free: Vec::new(),
            offers: Vec::new(),
            wanted: 0,
            now_ns: 0,
            thread: None,
            options: ChooserOptions::default(),
            rng: Rng::for_purpose(0, "cache-ext"),
            callbacks: 0,
        })))
    }

    /// The run begins.
    fn init(&self) {}

    /// A folio came into the page cache, and is about to be read.
    fn folio_added(&self, _folio: &Folio) {}

    /// A system call used a folio, or its accessed bit was found as it was unmapped.
    fn folio_accessed(&self, _folio: &Folio) {}

    /// A folio leaves the page cache.
    fn folio_evicted(&self, _folio: &Folio) {}

    /// The group asks for folios: offers them by the verbs.
    fn evict_folios(&self, _wanted: u32) {}

    /// A new list, one of five at most.
    fn new_list(&self) -> PyResult<FolioList> {
        let number = locked(&self.0).lists.new_list().map_err(refused)?;
        Ok(FolioList { number, state: Arc::clone(&self.0) })
    }

    /// Takes a folio off its list.
    fn delete(&self, folio: &Folio) -> PyResult<()> {
        locked(&self.0).lists.delete(folio.slot()).map_err(refused)
    }

    /// True if a folio is on a list of the policy.
    fn listed(&self, folio: &Folio) -> bool {
        locked(&self.0).lists.list_of(folio.slot()).is_some()
    }

    /// Offers a folio.
    fn offer(&self, folio: &Folio) -> PyResult<()> {
        let mut state = locked(&self.0);
        if state.wanted == 0 {
            return Err(PyRuntimeError::new_err("folios are offered in evict_folios only"));
        }
        if !state.lists.holds(folio.slot()) {
            return Err(refused(Refusal::NoFolio));
        }
        // More than there is room for are one more than are allowed.
        if state.offers.len() <= MOST_OFFERED {
            state.offers.push(folio.slot());
        }
        Ok(())
    }

    /// Simulated time in nanoseconds.
    #[getter]
    fn now_ns(&self) -> u64 {
        locked(&self.0).now_ns
    }

    /// The thread that acts; None: one of the kernel.
    #[getter]
    fn thread(&self) -> Option<String> {
        locked(&self.0).acting().map(|thread| thread.name.clone())
    }

    /// The task of that thread.
    #[getter]
    fn task(&self) -> Option<String> {
        locked(&self.0).acting().map(|thread| thread.task.clone())
    }

    /// `memory.max` of the group in pages; None: it has none.
    #[getter]
    fn max_pages(&self) -> Option<u64> {
        locked(&self.0).options.max_pages
    }

    /// A random number from 0 to 2**32 - 1, by the seed of the run.
    fn random(&self) -> u32 {
        (locked(&self.0).rng.next_u64() >> 32) as u32
    }
}

/// A policy of a group in one run.
struct InPython {
    name: String,
    object: Py<PyAny>,
    state: Shared,
    raised: Raised,
    inside: Inside,
}

impl InPython {
    fn or_raise<T>(&self, called: PyResult<T>) -> T {
        called.unwrap_or_else(|e| raise(&self.raised, e))
    }
}

impl FileChooser for InPython {
    fn name(&self) -> &str {
        &self.name
    }

    fn attach(&mut self, _: &Memory, _: MemcgId) -> Result<(), String> {
        let called = self.inside.call(|py| self.object.call_method0(py, "init").map(drop));
        called.map_err(|e| format!("`{}`, `init`: {e}", self.name))
    }

    fn told(&mut self, mem: &Memory, records: &[FileFolioRecord]) -> Result<(), Uncovered> {
        let called = self.inside.call(|py| {
            for r in records {
                let hook = match r.what {
                    FileFolioEvent::Added => "folio_added",
                    FileFolioEvent::Accessed => "folio_accessed",
                    FileFolioEvent::Evicted => "folio_evicted",
                };
                let folio = locked(&self.state).shown(py, mem, r)?;
                self.object.call_method1(py, hook, (folio,))?;
                if r.what == FileFolioEvent::Evicted {
                    locked(&self.state).leave(r.folio);
                }
            }
            Ok(())
        });
        self.or_raise(called);
        Ok(())
    }

    fn choose(
        &mut self,
        mem: &Memory,
        ask: &EvictAsk,
        offered: &mut Vec<FolioId>,
    ) -> Result<(), Uncovered> {
        {
            let mut state = locked(&self.state);
            (state.now_ns, state.thread) = (ask.now.0, ask.thread);
            state.wanted = ask.wanted.into();
            state.offers.clear();
            for (id, folio) in state.folios.iter().flatten() {
                folio.get().flags.store(mem.flags(*id), Ordering::Relaxed);
            }
        }
        let called = self
            .inside
            .call(|py| self.object.call_method1(py, "evict_folios", (ask.wanted,)).map(drop));
        self.or_raise(called);
        let mut state = locked(&self.state);
        state.wanted = 0;
        let id = |slot: &Slot| state.folios[slot.0 as usize].as_ref().map(|folio| folio.0);
        offered.extend(state.offers.iter().filter_map(id));
        Ok(())
    }

    fn tallies(&self) -> Vec<(&'static str, u64)> {
        vec![("callbacks", locked(&self.state).callbacks)]
    }
}
