//! Daemons in Python: a class whose `tick` looks at the machine, and acts.
//!
//! `tick` runs on a thread of its own, and the machine waits for it: each request goes over a channel
//! to the thread of the run, which answers it, one after the other. So a daemon in Python reads and
//! acts by the same function as a module of WebAssembly, and a run is the same each time.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use mmsim::Registry;
use mmsim::base::time::SimDuration;
use mmsim::program::{ABSENT, Code, Host, Programs, Request};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::cache_ext::with_modules;
use crate::policy::{Inside, Raised, raise};
use crate::values::kind;

/// The registry with daemons in Python: a dict of names and classes.
pub(crate) fn registry_of(
    py: Python<'_>,
    daemons: Option<&Bound<'_, PyDict>>,
    raised: &Raised,
    inside: &Inside,
) -> PyResult<Registry> {
    let Some(daemons) = daemons else { return Ok(with_modules()) };
    let base = py.import("mmsim.daemon")?.getattr("Daemon")?;
    let mut classes = BTreeMap::new();
    for (name, class) in daemons.iter() {
        let is_daemon = class
            .cast::<pyo3::types::PyType>()
            .is_ok_and(|class| class.is_subclass(&base).unwrap_or(false));
        if !is_daemon {
            let what = "daemons are subclasses of mmsim.Daemon, not";
            return Err(PyTypeError::new_err(format!("{what} {}", kind(&class))));
        }
        classes.insert(name.extract::<String>()?, class.unbind());
    }
    let all = Classes { classes, raised: Arc::clone(raised), inside: inside.clone() };
    Ok(with_modules().with_programs(Arc::new(all)))
}

/// Classes by the names that scenarios call them.
struct Classes {
    classes: BTreeMap<String, Py<PyAny>>,
    raised: Raised,
    inside: Inside,
}

impl Programs for Classes {
    fn create(&self, name: &str, _: &Path, _: SimDuration) -> Result<Box<dyn Code>, String> {
        let Some(class) = self.classes.get(name) else {
            let known: Vec<&str> = self.classes.keys().map(String::as_str).collect();
            return Err(format!("no daemon `{name}`; `daemons` has {}", known.join(", ")));
        };
        let made = self.inside.call(|py| class.call0(py));
        let object = made.map_err(|e| format!("`{name}`: {e}"))?;
        let (raised, inside) = (Arc::clone(&self.raised), self.inside.clone());
        Ok(Box::new(InPython { object, raised, inside }))
    }
}

/// A message from the thread of `tick` to that of the run.
enum Said {
    Asks(Request, Sender<i64>),
    Done(PyResult<i64>),
}

/// A daemon of a run.
struct InPython {
    object: Py<PyAny>,
    raised: Raised,
    inside: Inside,
}

impl Code for InPython {
    fn tick(&mut self, host: &mut Host<'_>, fired: Option<usize>) -> Result<i64, String> {
        let (ask, asked) = channel();
        let (now_us, object, inside) = (host.now_us(), &self.object, &self.inside);
        let done = std::thread::scope(|scope| {
            let system = System { now_us, ask: ask.clone() };
            scope.spawn(move || {
                let next = inside.call(|py| {
                    let next = object.call_method1(py, "tick", (Py::new(py, system)?, fired))?;
                    match next.is_none(py) {
                        true => Ok(-1),
                        false => next.extract::<i64>(py).map_err(|_| {
                            let found = kind(next.bind(py));
                            let what = "tick returns microseconds as an int, or None, not";
                            PyTypeError::new_err(format!("{what} {found}"))
                        }),
                    }
                });
                // The run that waits has not gone.
                let _ = ask.send(Said::Done(next));
            });
            loop {
                match asked.recv() {
                    Ok(Said::Asks(request, answer)) => {
                        let _ = answer.send(host.answer(&request));
                    }
                    Ok(Said::Done(next)) => break next,
                    Err(_) => break Err(PyRuntimeError::new_err("a tick ended without an answer")),
                }
            }
        });
        Ok(done.unwrap_or_else(|e| raise(&self.raised, e)))
    }
}

/// The machine as a daemon sees it in one tick.
#[pyclass(frozen, module = "mmsim")]
pub(crate) struct System {
    now_us: i64,
    ask: Sender<Said>,
}

impl System {
    /// The answer of the machine; `None`: there is no such thing.
    fn answer(&self, py: Python<'_>, request: Request) -> PyResult<Option<i64>> {
        let answer = py.detach(|| {
            let (sender, receiver) = channel();
            self.ask.send(Said::Asks(request, sender)).ok()?;
            receiver.recv().ok()
        });
        match answer {
            Some(answer) => Ok(Some(answer).filter(|n| *n != ABSENT)),
            None => Err(PyRuntimeError::new_err("this tick is over")),
        }
    }

    /// All answers for 0, 1 and so on.
    fn each(&self, py: Python<'_>, of: impl Fn(i64) -> Request) -> PyResult<Vec<i64>> {
        let mut all = Vec::new();
        while let Some(one) = self.answer(py, of(all.len() as i64))? {
            all.push(one);
        }
        Ok(all)
    }
}

#[pymethods]
impl System {
    /// Simulated time in microseconds.
    #[getter]
    fn now_us(&self) -> i64 {
        self.now_us
    }

    /// A figure by its name in expressions of rules: of the machine, of a group, of a process.
    #[pyo3(signature = (name, of=0))]
    fn read(&self, py: Python<'_>, name: String, of: i64) -> PyResult<Option<f64>> {
        let average = [".avg10", ".avg60", ".avg300"].iter().any(|end| name.ends_with(end));
        let found = self.answer(py, Request::Read(of, name))?;
        Ok(found.map(|n| if average { n as f64 / 100.0 } else { n as f64 }))
    }

    /// The number of the group of a path; None: there is none.
    fn group(&self, py: Python<'_>, path: String) -> PyResult<Option<i64>> {
        self.answer(py, Request::Group(path))
    }

    /// Numbers of the groups right below a group.
    #[pyo3(signature = (of=0))]
    fn groups(&self, py: Python<'_>, of: i64) -> PyResult<Vec<i64>> {
        self.each(py, |i| Request::Groups(of, i))
    }

    /// Numbers of the living processes of a group and of those below it.
    #[pyo3(signature = (of=0))]
    fn processes(&self, py: Python<'_>, of: i64) -> PyResult<Vec<i64>> {
        self.each(py, |i| Request::Processes(of, i))
    }

    /// A signal, 15 or 9, to a process or to all of a group; gives the number of processes.
    #[pyo3(signature = (target, signal=9))]
    fn kill(&self, py: Python<'_>, target: i64, signal: i64) -> PyResult<i64> {
        let done = self.answer(py, Request::Kill(target, signal))?;
        done.ok_or_else(|| {
            PyValueError::new_err(format!("kill({target}, {signal}): no such target or signal"))
        })
    }

    /// A write to a file of a group, or to `vm.swappiness` of group 0. None: max.
    fn write(&self, py: Python<'_>, group: i64, file: String, value: Option<i64>) -> PyResult<i64> {
        let what = format!("write({group}, {file:?}): no such file, or not this value");
        let done = self.answer(py, Request::Write(group, file, value.unwrap_or(-1)))?;
        done.ok_or_else(|| PyValueError::new_err(what))
    }

    /// A trigger for the pressure file of a group, which makes `tick` be called; gives its number.
    fn arm_trigger(
        &self,
        py: Python<'_>,
        group: i64,
        full: bool,
        threshold_us: i64,
        window_us: i64,
    ) -> PyResult<i64> {
        let armed = self.answer(py, Request::Arm(group, full, threshold_us, window_us))?;
        let what = "arm_trigger: 0 < threshold <= window <= 10 s, on a group that exists";
        armed.ok_or_else(|| PyValueError::new_err(what))
    }

    /// A random number from 0 to 2**63 - 1, by the seed of the run.
    fn random(&self, py: Python<'_>) -> PyResult<i64> {
        Ok(self.answer(py, Request::Random)?.unwrap_or_default())
    }

    /// Takes CPU time for what the daemon computes, in microseconds.
    fn spend(&self, py: Python<'_>, us: i64) -> PyResult<()> {
        self.answer(py, Request::Spend(us)).map(drop)
    }
}
