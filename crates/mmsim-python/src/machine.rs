//! One run that goes on step by step.

use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::Duration;

use mmsim::base::time::{SimDuration, SimTime};
use mmsim::base::vmstat::VmEvent;
use mmsim::error::Error;
use mmsim::live::Live;
use mmsim::report::proc::memory_stat;
use mmsim::scenario;
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyString};

use crate::errors::{calm, input, of_run};
use crate::report::Report;
use crate::values::{duration, kind, option, seconds, whole};

/// Simulated time between two looks at signals.
const CHUNK: SimDuration = SimDuration::from_millis(20);

/// A machine that goes on step by step.
#[pyclass(frozen, module = "mmsim")]
pub(crate) struct Machine {
    /// None when its report was made.
    live: Mutex<Option<Live>>,
}

impl Machine {
    pub(crate) fn new(live: Live) -> Machine {
        Machine { live: Mutex::new(Some(live)) }
    }

    /// The machine. Another thread that has it leaves the interpreter free meanwhile.
    fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Option<Live>>> {
        // Who waits with the interpreter in hand would keep it from who has the machine.
        let live = loop {
            match self.live.try_lock() {
                Ok(live) => break live,
                Err(TryLockError::Poisoned(live)) => break live.into_inner(),
                Err(TryLockError::WouldBlock) => {
                    py.detach(|| std::thread::sleep(Duration::from_millis(1)));
                }
            }
        };
        match live.is_some() {
            true => Ok(live),
            false => Err(PyRuntimeError::new_err("the run is over: its report was made")),
        }
    }

    fn with<T>(&self, py: Python<'_>, look: impl FnOnce(&mut Live) -> T) -> PyResult<T> {
        let mut live = self.lock(py)?;
        calm(|| Ok(look(live.as_mut().expect("the lock was checked"))))
    }

    /// Goes on, in parts between which signals are heard.
    fn go_on(&self, py: Python<'_>, until: SimTime) -> PyResult<bool> {
        loop {
            let mut live = self.lock(py)?;
            let live = live.as_mut().expect("the lock was checked");
            let part = until.min(live.now() + CHUNK);
            let more = calm(|| py.detach(|| live.go_on(part)).map_err(of_run))?;
            py.check_signals()?;
            if !more || part == until || live.now() >= until {
                return Ok(more);
            }
        }
    }
}

#[pymethods]
impl Machine {
    /// Seconds of simulated time at which it stands.
    #[getter]
    fn now(&self, py: Python<'_>) -> PyResult<f64> {
        self.with(py, |live| seconds(live.now()))
    }

    /// The same in nanoseconds.
    #[getter]
    fn now_ns(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |live| live.now().0)
    }

    /// True if all its work is done.
    #[getter]
    fn ended(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |live| live.ended())
    }

    /// Goes on to an instant, or to the end. True: there is more to do.
    fn run_until(&self, py: Python<'_>, time: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.go_on(py, SimTime(duration(time)?.0))
    }

    /// Goes on for so long. True: there is more to do.
    fn step(&self, py: Python<'_>, time: &Bound<'_, PyAny>) -> PyResult<bool> {
        let now = self.with(py, |live| live.now())?;
        self.go_on(py, now + duration(time)?)
    }

    /// Counters since the start, by the names of /proc/vmstat.
    #[getter]
    fn vmstat<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (vmstat, _) = self.with(py, Live::counters)?;
        let not_kept = self.with(py, |live| live.machine().not_kept().collect::<Vec<_>>())?;
        let dict = PyDict::new(py);
        for &event in VmEvent::ALL.iter().filter(|e| !not_kept.contains(e)) {
            dict.set_item(event.name(), vmstat[event])?;
        }
        Ok(dict)
    }

    /// Gauges as they are now, as series have them.
    #[getter]
    fn gauges<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (_, gauges) = self.with(py, Live::counters)?;
        let dict = PyDict::new(py);
        gauges.iter().try_for_each(|(name, value)| dict.set_item(name, value))?;
        Ok(dict)
    }

    /// `memory.stat` of a group, by its path: sizes in bytes, and events.
    fn memory_stat<'py>(&self, py: Python<'py>, group: &str) -> PyResult<Bound<'py, PyDict>> {
        let text = self.with(py, |live| {
            let snapshot = live.snapshot();
            let of = snapshot.groups.iter().find(|g| g.name == group);
            of.map(|g| memory_stat(g, &snapshot.not_counted))
        })?;
        let Some(text) = text else {
            let known = self.with(py, |live| {
                let groups = live.spec().machine.memcgs.iter();
                groups.map(|g| g.name.clone()).collect::<Vec<_>>()
            })?;
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            return Err(input(Error::unknown_word("memory.stat: unknown group", group, &known)));
        };
        let dict = PyDict::new(py);
        for (name, value) in text.lines().filter_map(|line| line.split_once(' ')) {
            dict.set_item(name, value.parse::<u64>().unwrap_or_default())?;
        }
        Ok(dict)
    }

    /// Writes a sysctl: `m.set("vm.swappiness", 10)`.
    fn set(&self, py: Python<'_>, key: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let path = if key.starts_with("vm.") { format!("machine.{key}") } else { key.to_string() };
        let value = option(value)?;
        self.with(py, |live| live.set(&path, &value))?.map_err(input)
    }

    /// Starts a process that writes a size to `memory.reclaim` of a group.
    fn reclaim(&self, py: Python<'_>, group: &str, size: &Bound<'_, PyAny>) -> PyResult<()> {
        let pages = if size.is_instance_of::<PyString>() {
            let text: String = size.extract()?;
            let size = scenario::pages(&text);
            size.map_err(|e| input(Error::of_option(format!("memory.reclaim: {e}"))))?
        } else if size.is_instance_of::<PyInt>() && !size.is_instance_of::<PyBool>() {
            whole(size, "size", 0..=u64::MAX)?.div_ceil(4096)
        } else {
            let what = "a size is a str, as in \"16MiB\", or bytes, not";
            return Err(PyTypeError::new_err(format!("{what} {}", kind(size))));
        };
        let pages = u32::try_from(pages)
            .map_err(|_| PyValueError::new_err("memory.reclaim: less than 16 TiB"))?;
        self.with(py, |live| live.reclaim(group, pages))?.map_err(input)
    }

    /// Goes on to the end; gives the report of the run. The machine answers no query then.
    fn report(&self, py: Python<'_>) -> PyResult<Report> {
        self.go_on(py, SimTime::NEVER)?;
        let live = self.lock(py)?.take().expect("the lock was checked");
        let report = calm(|| py.detach(|| live.finish()).map_err(of_run))?;
        Ok(Report::new(report, Vec::new(), None))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |live| {
            let (label, at) = (live.spec().label(), seconds(live.now()));
            let more = if live.ended() { ", ended" } else { "" };
            format!("<mmsim.Machine of {label} at {at:.6} s{more}>")
        })
    }
}
