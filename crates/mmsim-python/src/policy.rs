//! Replacement policies in Python, for teaching: folios come and go in batches, and the class says
//! which to try next.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mmsim::base::id::{Idx as _, ListId};
use mmsim::memory::{Evicting, Memory};
use mmsim::phys::frames::{FolioId, flag};
use mmsim::policy::{
    Arrival, Departure, Inspect, PolicyTraits, ReclaimOutcome, ReclaimPolicy, ReclaimRequest,
};
use mmsim::run::{OwnPolicy, cancel};
use pyo3::exceptions::{PyKeyboardInterrupt, PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::values::kind;

/// Exception that a policy or a daemon raised.
pub(crate) type Raised = Arc<Mutex<Option<PyErr>>>;

/// Which threads are in the code of a policy.
#[derive(Clone, Default)]
pub(crate) struct Inside(Arc<Within>);

#[derive(Default)]
struct Within {
    /// By Python's numbers of them.
    threads: Mutex<BTreeSet<u64>>,
    /// No more of it is called.
    interrupted: AtomicBool,
}

impl Inside {
    fn threads(&self) -> MutexGuard<'_, BTreeSet<u64>> {
        self.0.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls a policy's code on this thread.
    pub(crate) fn call<T>(&self, call: impl FnOnce(Python<'_>) -> PyResult<T>) -> PyResult<T> {
        Python::attach(|py| {
            let thread = py.import("threading")?.call_method0("get_ident")?.extract()?;
            self.threads().insert(thread);
            let answer = call(py);
            self.threads().remove(&thread);
            // It may have caught the exception.
            match self.0.interrupted.load(Ordering::Relaxed) {
                true => Err(PyKeyboardInterrupt::new_err(())),
                false => answer,
            }
        })
    }
}

/// Policies of a run in Python.
#[derive(Default)]
pub(crate) struct Own {
    pub(crate) policies: Vec<OwnPolicy<'static>>,
    pub(crate) inside: Inside,
}

impl Own {
    /// Raises KeyboardInterrupt in all code of policies that runs now: a loop without end never looks
    /// at what else would end its run.
    pub(crate) fn interrupt(&self, py: Python<'_>) -> PyResult<()> {
        self.inside.0.interrupted.store(true, Ordering::Relaxed);
        // A thread that takes the interpreter meanwhile must not find the lock held.
        let threads = self.inside.threads().clone();
        for thread in threads {
            py.import("mmsim._progress")?.call_method1("interrupt", (thread,))?;
        }
        Ok(())
    }
}

/// Policies of a run: classes whose instances are policies. Each run gets instances of its own.
pub(crate) fn own(
    py: Python<'_>,
    classes: Vec<Py<PyAny>>,
    raised: &Raised,
    inside: Inside,
) -> PyResult<Own> {
    let base = py.import("mmsim.policy")?.getattr("Policy")?;
    let mut all = Own { policies: Vec::new(), inside };
    for class in classes {
        let bound = class.bind(py);
        let is_policy = bound
            .cast::<pyo3::types::PyType>()
            .is_ok_and(|class| class.is_subclass(&base).unwrap_or(false));
        if !is_policy {
            let what = "policies are subclasses of mmsim.Policy, not";
            return Err(PyTypeError::new_err(format!("{what} {}", kind(bound))));
        }
        let name: String = bound.getattr("name")?.extract()?;
        let name = match name.is_empty() {
            true => bound.getattr("__name__")?.extract::<String>()?.to_lowercase(),
            false => name,
        };
        let (raised, inside) = (Arc::clone(raised), all.inside.clone());
        all.policies.push(OwnPolicy::new(name, move |mem: &mut Memory, _seed| {
            let nodes = mem.zones.nr_nodes();
            let made =
                inside.call(|py| (0..nodes).map(|_| class.call0(py)).collect::<PyResult<Vec<_>>>());
            let made = made.unwrap_or_else(|e| raise(&raised, e));
            let nodes = made.into_iter().map(|object| (object, mem.lru.lists.create())).collect();
            Box::new(InPython { nodes, raised: Arc::clone(&raised), inside: inside.clone() })
        }));
    }
    Ok(all)
}

/// Keeps an exception for who waits for the runs, and ends this one.
pub(crate) fn raise(raised: &Raised, e: PyErr) -> ! {
    raised.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(e);
    cancel()
}

/// Per node: an instance of the class, and the list that its folios are on. Their order there means
/// nothing.
struct InPython {
    nodes: Vec<(Py<PyAny>, ListId)>,
    raised: Raised,
    inside: Inside,
}

impl InPython {
    fn call<T>(&self, call: impl FnOnce(Python<'_>) -> PyResult<T>) -> T {
        self.inside.call(call).unwrap_or_else(|e| raise(&self.raised, e))
    }

    fn node(&self, mem: &Memory, folio: FolioId) -> usize {
        usize::from(mem.node_of(folio).0)
    }
}

impl ReclaimPolicy for InPython {
    fn folio_arrived(&mut self, mem: &mut Memory, folio: FolioId, how: Arrival) {
        self.folios_arrived(mem, &[(folio, how)]);
    }

    fn folios_arrived(&mut self, mem: &mut Memory, batch: &[(FolioId, Arrival)]) {
        let mut by_node: Vec<Vec<usize>> = vec![Vec::new(); self.nodes.len()];
        for &(folio, _) in batch {
            mem.frames.clear(folio, flag::IN_BATCH);
            mem.references(folio, None); // The fault itself is no use.
            let node = self.node(mem, folio);
            mem.lru_add_head(self.nodes[node].1, folio);
            by_node[node].push(folio.index());
        }
        for ((object, _), folios) in self.nodes.iter().zip(by_node) {
            if !folios.is_empty() {
                self.call(|py| object.call_method1(py, "arrived", (folios,)).map(drop));
            }
        }
    }

    fn folio_departed(&mut self, mem: &mut Memory, folio: FolioId, _why: Departure) {
        let object = &self.nodes[self.node(mem, folio)].0;
        self.call(|py| object.call_method1(py, "departed", (folio.index(),)).map(drop));
        mem.lru_del(folio);
    }

    fn reclaim(&mut self, mem: &mut Memory, req: &ReclaimRequest) -> ReclaimOutcome {
        mem.lru_drain(self);
        let (object, list) = &self.nodes[usize::from(req.node.0)];
        let mut out = ReclaimOutcome::default();
        let most = (mem.node_lru_pages(req.node).iter().sum::<u64>() >> req.priority).max(32);
        let how = Evicting { may_write_file: true, ..Evicting::of(req) };
        while out.scanned < most && out.reclaimed < req.target {
            let wanted = (most - out.scanned).min(req.target - out.reclaimed);
            let folios: Vec<usize> = self.call(|py| {
                let answer = object.call_method1(py, "candidates", (wanted,))?;
                let folios: Vec<usize> = answer.extract(py)?;
                if folios.len() as u64 > wanted {
                    let what = format!("candidates: {} of {wanted} folios", folios.len());
                    return Err(PyValueError::new_err(what));
                }
                Ok(folios)
            });
            if folios.is_empty() {
                break;
            }
            let mut kept = Vec::new();
            for number in folios {
                let folio = FolioId::from_index(number.min(mem.frames.len()));
                let listed = number < mem.frames.len()
                    && mem.frames.bits(folio) & (flag::LRU | flag::IN_BATCH) == flag::LRU;
                if !listed {
                    let what =
                        format!("candidates: folio {number} is not of this policy (any more)");
                    raise(&self.raised, PyValueError::new_err(what));
                }
                mem.isolate(folio, req);
                out.scanned += 1;
                if mem.references(folio, None).count == 0 && mem.evict(folio, how, None).is_ok() {
                    out.reclaimed += 1;
                } else {
                    mem.lru_add_head(*list, folio);
                    kept.push(number);
                }
            }
            if !kept.is_empty() {
                self.call(|py| object.call_method1(py, "kept", (kept,)).map(drop));
            }
        }
        out
    }
}

impl Inspect for InPython {
    fn traits(&self) -> PolicyTraits {
        // Evictions leave no shadows, so refaults are not zero but unknown.
        PolicyTraits { keeps: |event| !event.needs_shadows(), ..PolicyTraits::default() }
    }
}
