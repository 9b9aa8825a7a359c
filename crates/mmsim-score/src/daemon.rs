//! Daemons in WebAssembly: programs that watch memory and act.
//!
//! A module exports `tick`, which gets the time in microseconds and the number of the trigger that
//! fired, or -1, and returns when it wants to be called next; below 0: by triggers alone. It exports
//! its memory as `memory`, in which names and paths are; globals and memory keep their values from
//! tick to tick. It may import the functions of [`HOST`] and nothing else, so it has no clock but the
//! machine's and no chance but that of the seed.
//!
//! A request ends the call for a moment: the interpreter stops at the host function, the machine
//! answers, and the call goes on with the answer. A tick has at most [`MOST_FUEL`]; what runs out of
//! it, or traps, ends the run with an error. Fuel takes CPU time of the daemon at a rate that the
//! scenario states; host functions take what reads and acts take.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use mmsim::base::time::SimDuration;
use mmsim::program::{Code, Host, Programs, Request};
use mmsim::{Error, ErrorKind};
use wasmi::errors::HostError;
use wasmi::{
    Caller, Engine, Instance, Linker, Store, StoreLimits, StoreLimitsBuilder, TypedFunc,
    TypedResumableCall, Val,
};

use crate::engine::{Binary, Kind, config, why};
use crate::module::{MOST_BYTES, MOST_ELEMENTS, MOST_MEMORY};

/// Instructions of a tick, as fuel counts them.
pub const MOST_FUEL: u64 = 10_000_000;

/// Daemons as files.
const DAEMONS: Kind = Kind {
    what: "a module of WebAssembly",
    most: MOST_BYTES,
    length: "65536 bytes",
    shorten: "write a smaller program",
};

/// Bytes of a name or of a path that a module hands over.
const MOST_TEXT: usize = 4096;

/// The functions that a module may import from `mmsim`, with their parameters; all return an i64,
/// and -1 where there is no such thing.
pub const HOST: [(&str, &str); 8] = [
    ("read", "target i64, name i32, bytes i32"),
    ("group", "path i32, bytes i32"),
    ("groups", "target i64, i i64"),
    ("processes", "target i64, i i64"),
    ("kill", "target i64, signal i32"),
    ("write", "target i64, file i32, bytes i32, value i64"),
    ("arm_trigger", "target i64, full i32, threshold_us i64, window_us i64"),
    ("random", ""),
];

/// A request on its way out of the interpreter, or why it is none.
#[derive(Clone, Debug)]
struct Asked(Result<Request, String>);

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl HostError for Asked {}

/// The call waits here for an answer of the machine.
fn wait(request: Result<Request, String>) -> Result<i64, wasmi::Error> {
    Err(wasmi::Error::host(Asked(request)))
}

/// A text in the memory of a module.
fn text(caller: &Caller<'_, StoreLimits>, at: i32, bytes: i32) -> Result<String, String> {
    let memory = caller.get_export("memory").and_then(wasmi::Extern::into_memory);
    let Some(memory) = memory else {
        return Err("it exports no `memory`, in which names would be".into());
    };
    let (at, bytes) = (at as u32 as usize, bytes as u32 as usize);
    let found = at.checked_add(bytes).and_then(|end| memory.data(caller).get(at..end));
    match found.map(|found| (found.len() <= MOST_TEXT, std::str::from_utf8(found))) {
        Some((true, Ok(text))) => Ok(text.to_string()),
        Some((false, _)) => Err(format!("a name of {bytes} bytes; at most {MOST_TEXT}")),
        Some((true, Err(_))) => Err(format!("a name at byte {at} that is no UTF-8")),
        None => Err(format!("a name at byte {at} that reaches beyond its memory")),
    }
}

type Own<'a> = Caller<'a, StoreLimits>;

/// The host functions.
fn linker(engine: &Engine) -> Result<Linker<StoreLimits>, wasmi::errors::LinkerError> {
    let mut all = Linker::new(engine);
    all.func_wrap("mmsim", "read", |c: Own<'_>, of: i64, at: i32, bytes: i32| {
        wait(text(&c, at, bytes).map(|name| Request::Read(of, name)))
    })?;
    all.func_wrap("mmsim", "group", |c: Own<'_>, at: i32, bytes: i32| {
        wait(text(&c, at, bytes).map(Request::Group))
    })?;
    all.func_wrap("mmsim", "groups", |of: i64, i: i64| wait(Ok(Request::Groups(of, i))))?;
    all.func_wrap("mmsim", "processes", |of: i64, i: i64| wait(Ok(Request::Processes(of, i))))?;
    all.func_wrap("mmsim", "kill", |of: i64, signal: i32| {
        wait(Ok(Request::Kill(of, signal.into())))
    })?;
    all.func_wrap("mmsim", "write", |c: Own<'_>, of: i64, at: i32, bytes: i32, value: i64| {
        wait(text(&c, at, bytes).map(|file| Request::Write(of, file, value)))
    })?;
    all.func_wrap("mmsim", "arm_trigger", |of: i64, full: i32, threshold: i64, window: i64| {
        wait(Ok(Request::Arm(of, full != 0, threshold, window)))
    })?;
    all.func_wrap("mmsim", "random", || wait(Ok(Request::Random)))?;
    Ok(all)
}

/// The program of a daemon in one run.
struct Module {
    name: String,
    store: Store<StoreLimits>,
    tick: TypedFunc<(i64, i64), i64>,
    fuel_time: SimDuration,
}

/// Modules of WebAssembly as programs of daemons: `.wasm`, or with the feature `wat` their text.
#[derive(Clone, Copy, Debug, Default)]
pub struct Modules;

impl Programs for Modules {
    fn create(
        &self,
        _name: &str,
        file: &Path,
        fuel_time: SimDuration,
    ) -> Result<Box<dyn Code>, String> {
        let module = module(file, fuel_time).map_err(|e| e.title().to_string())?;
        Ok(Box::new(module))
    }
}

/// Loader of modules for a registry, always the same one: runs of equal registries can be equal.
pub fn modules() -> Arc<dyn Programs> {
    static ALL: LazyLock<Arc<Modules>> = LazyLock::new(|| Arc::new(Modules));
    let all: Arc<Modules> = Arc::clone(&ALL);
    all
}

fn module(file: &Path, fuel_time: SimDuration) -> Result<Module, Error> {
    let name = file.display().to_string();
    let bad = |what: String| Error::new(ErrorKind::Policy, format!("`{name}`: {what}"));
    let engine = Engine::new(&config());
    let module = Binary::from_path(file, DAEMONS)?.translated(&engine)?;
    for import in module.imports() {
        let known = HOST.iter().any(|(name, _)| *name == import.name());
        if import.module() != "mmsim" || !known {
            let known = HOST.map(|(name, _)| name).join(", ");
            let found = format!("{}.{}", import.module(), import.name());
            return Err(bad(format!("it imports `{found}`; from `mmsim` there are {known}")));
        }
    }
    let limits = StoreLimitsBuilder::new()
        .memory_size(MOST_MEMORY)
        .table_elements(MOST_ELEMENTS)
        .trap_on_grow_failure(true)
        .build();
    let mut store = Store::new(&engine, limits);
    store.limiter(|limits| limits);
    store.set_fuel(MOST_FUEL).map_err(|e| bad(e.to_string()))?;
    let linker = linker(&engine).map_err(|e| bad(e.to_string()))?;
    let instance: Instance = linker
        .instantiate_and_start(&mut store, &module)
        .map_err(|e| bad(format!("{e}; a start function may not ask the machine")))?;
    let signature =
        "`tick`, a function of two i64 (time in microseconds, trigger or -1) with an i64";
    let tick = instance
        .get_func(&store, "tick")
        .and_then(|f| f.typed(&store).ok())
        .ok_or_else(|| bad(format!("it does not export {signature}")))?;
    Ok(Module { name, store, tick, fuel_time })
}

impl Module {
    fn why(&self, e: &wasmi::Error) -> String {
        format!("`{}`: a tick {}", self.name, why(e, MOST_FUEL))
    }

    /// Time of the fuel that was used since it was at `before`; the rest is what is left.
    fn pay(&self, before: &mut u64, host: &mut Host<'_>) {
        let left = self.store.get_fuel().unwrap_or(0);
        let used = before.saturating_sub(left);
        *before = left;
        host.spend(SimDuration(used.saturating_mul(self.fuel_time.0)));
    }
}

impl Code for Module {
    fn tick(&mut self, host: &mut Host<'_>, fired: Option<usize>) -> Result<i64, String> {
        let mut fuel = MOST_FUEL;
        self.store.set_fuel(fuel).map_err(|e| self.why(&e))?;
        let given = (host.now_us(), fired.map_or(-1, |n| n as i64));
        let mut call = self.tick.call_resumable(&mut self.store, given);
        loop {
            self.pay(&mut fuel, host);
            let paused = match call.map_err(|e| self.why(&e))? {
                TypedResumableCall::Finished(next) => return Ok(next),
                TypedResumableCall::HostTrap(paused) => paused,
                TypedResumableCall::OutOfFuel(_) => {
                    let most = format!("takes more than {MOST_FUEL} instructions");
                    return Err(format!("`{}`: a tick {most}", self.name));
                }
            };
            let asked = paused.host_error().downcast_ref::<Asked>().cloned();
            let Some(Asked(asked)) = asked else {
                return Err(self.why(paused.host_error()));
            };
            let request =
                asked.map_err(|what| format!("`{}`: a tick asks for {what}", self.name))?;
            let answer = host.answer(&request);
            call = paused.resume(&mut self.store, &[Val::I64(answer)]);
        }
    }
}
