//! A module at work: its memory, its functions, and calls of them.
//!
//! A verb with a callback stops the interpreter, and is answered outside of it (`serve`). So a
//! callback is a call like any other, and whoever drives the module can look at the machine between two
//! of them: flags of a folio are those of the moment in which it is shown.

use mmsim::base::rng::Rng;
use mmsim::phys::frames::FolioId;
use mmsim_score::engine::why;
use wasmi::{Error, Func, Memory, Ref, ResumableCall, Store, Table, Val, ValType};

use crate::bpf::access::{Halt, put, word};
use crate::bpf::host::{Ask, Counts, Host, Out};
use crate::bpf::mirror::{Mirror, PAGE, at};
use crate::bpf::print::Prints;
use crate::bpf::{HOOK_FUEL, MOST_MEMORY, MOST_NESTED, imports, limits};
use crate::hooks::HOOKS;
use crate::lists::Lists;
use crate::module::{Module, PROGRAM, Use};

/// The flags that a folio has at the moment.
pub(crate) type Look<'a> = &'a dyn Fn(FolioId) -> u32;

/// Most parameters of a function that is called.
const MOST_PARAMETERS: usize = 4;

/// A function of the module with its type, at hand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Callee {
    function: Func,
    takes: usize,
    wide: [bool; MOST_PARAMETERS],
    gives: Option<ValType>,
}

/// A module at work.
pub(crate) struct Instance {
    pub store: Store<Host>,
    pub memory: Memory,
    table: Table,
    exports: wasmi::Instance,
    /// Functions by their places in the table, once they were called.
    known: Vec<Option<Callee>>,
    /// By hook.
    pub hooks: [Option<Callee>; HOOKS.len()],
    /// Places of the hooks in the table.
    pub places: Vec<u64>,
    nested: usize,
    /// Instructions that the call may take.
    fuel: u64,
}

impl Instance {
    /// Sets a module up: its memory, its maps, the page of single structures.
    pub(crate) fn new(module: &Module, random: Rng) -> Result<Instance, Halt> {
        let (linker, _) = imports::linker(module).map_err(broken)?;
        let mut store = Store::new(module.engine(), host(random));
        store.limiter(|host| &mut host.limits);
        let fuel = HOOK_FUEL + MOST_MEMORY as u64;
        store.set_fuel(fuel).map_err(broken)?;
        let instance = linker
            .instantiate_and_start(&mut store, module.inner())
            .map_err(|e| halted(&e, fuel))?;
        let memory = instance.get_memory(&store, "memory");
        let table = instance.get_table(&store, crate::module::TABLE);
        let (Some(memory), Some(table)) = (memory, table) else {
            return Err(Halt::Broken("lacks its memory or its table".to_string()));
        };
        store.data_mut().memory = Some(memory);
        let mut made = Instance {
            store,
            memory,
            table,
            exports: instance,
            known: Vec::new(),
            hooks: [None; HOOKS.len()],
            places: Vec::new(),
            nested: 0,
            fuel: 0,
        };
        made.store.data_mut().mirror.single = made.more(PAGE)?;
        made.read_hooks(module)?;
        Ok(made)
    }

    fn read_hooks(&mut self, module: &Module) -> Result<(), Halt> {
        let ops = module.ops();
        let Use::Hooks(members) = &ops.used_as else { return Ok(()) };
        for (name, offset) in members {
            let function = word(self.memory.data(&self.store), ops.at + offset)?;
            let Some(hook) = HOOKS.iter().position(|h| h == name).filter(|_| function != 0) else {
                continue;
            };
            self.hooks[hook] = Some(self.function(function)?);
            self.places.push(function);
        }
        Ok(())
    }

    /// Another `bytes` of memory.
    pub(crate) fn more(&mut self, bytes: u64) -> Result<u64, Halt> {
        crate::bpf::host::more_memory(&mut self.store, self.memory, bytes)
    }

    /// Writes into the memory.
    pub(crate) fn put(&mut self, at: u64, value: &[u8]) -> Result<(), Halt> {
        put(self.memory.data_mut(&mut self.store), at, value)
    }

    /// Writes a word into the memory.
    pub(crate) fn put_word(&mut self, at: u64, value: u64) -> Result<(), Halt> {
        self.put(at, &value.to_le_bytes())
    }

    /// Reads a word of the memory.
    pub(crate) fn word(&self, at: u64) -> Result<u64, Halt> {
        word(self.memory.data(&self.store), at)
    }

    /// Fuel for the next call.
    pub(crate) fn fill(&mut self, fuel: u64) {
        self.fuel = fuel;
        self.store.set_fuel(fuel).expect("the engine counts fuel");
    }

    /// Fuel that the last call took.
    pub(crate) fn used(&self) -> u64 {
        self.fuel.saturating_sub(self.store.get_fuel().expect("the engine counts fuel"))
    }

    /// Takes fuel for work of the host.
    pub(crate) fn pay(&mut self, fuel: u64) -> Result<(), Halt> {
        let left = self.store.get_fuel().map_err(broken)?.checked_sub(fuel);
        self.store.set_fuel(left.ok_or_else(|| out_of_fuel(self.fuel))?).map_err(broken)
    }

    /// The address of the context of an eviction.
    pub(crate) fn ctx(&self) -> u64 {
        self.store.data().mirror.single + at::CTX
    }

    /// The function at a place of the table.
    pub(crate) fn function(&mut self, at: u64) -> Result<Callee, Halt> {
        let i = at as usize;
        if let Some(Some(known)) = self.known.get(i) {
            return Ok(*known);
        }
        let none = || Halt::Broken(format!("has no function at place {at} of its table"));
        let found = match self.table.get(&self.store, at) {
            Some(Ref::Func(f)) => f.val().copied().ok_or_else(none)?,
            _ => return Err(none()),
        };
        let callee = self.callee(found)?;
        if self.known.len() <= i {
            self.known.resize(i + 1, None);
        }
        self.known[i] = Some(callee);
        Ok(callee)
    }

    /// A program that is no hook, by its name.
    pub(crate) fn program(&self, name: &str) -> Result<Callee, Halt> {
        let found = self.exports.get_func(&self.store, &format!("{PROGRAM}{name}"));
        self.callee(found.ok_or_else(|| Halt::Broken(format!("has no program `{name}`")))?)
    }

    /// A function with its type, if it can be called with numbers.
    fn callee(&self, found: Func) -> Result<Callee, Halt> {
        let kind = found.ty(&self.store);
        let takes = kind.params().len();
        let numbers = |kinds: &[ValType]| {
            kinds.iter().all(|kind| matches!(kind, ValType::I32 | ValType::I64))
        };
        let fits = takes <= MOST_PARAMETERS && kind.results().len() <= 1;
        if !fits || !numbers(kind.params()) || !numbers(kind.results()) {
            return Err(Halt::Broken("has a function of an unknown type".to_string()));
        }
        let mut wide = [false; MOST_PARAMETERS];
        for (wide, kind) in wide.iter_mut().zip(kind.params()) {
            *wide = *kind == ValType::I64;
        }
        Ok(Callee { function: found, takes, wide, gives: kind.results().first().copied() })
    }

    /// Calls a function. `given` are as many numbers as it may take.
    pub(crate) fn call(
        &mut self,
        callee: &Callee,
        given: &[i64],
        look: Look<'_>,
    ) -> Result<i64, Halt> {
        if callee.takes > given.len() {
            let (takes, given) = (callee.takes, given.len());
            return Err(Halt::Broken(format!(
                "has a callback with {takes} parameters, where there are {given}"
            )));
        }
        if self.nested == MOST_NESTED {
            return Err(Halt::Broken(format!("nests callbacks more than {MOST_NESTED} deep")));
        }
        let mut values = [const { Val::I64(0) }; MOST_PARAMETERS];
        for (i, value) in values[..callee.takes].iter_mut().enumerate() {
            *value = number(callee.wide[i], given[i]);
        }
        self.nested += 1;
        let result = self.run(callee, &values[..callee.takes], look);
        self.nested -= 1;
        result
    }

    fn run(&mut self, callee: &Callee, values: &[Val], look: Look<'_>) -> Result<i64, Halt> {
        let mut room = [Val::I64(0)];
        let out = &mut room[..usize::from(callee.gives.is_some())];
        let mut state = callee
            .function
            .call_resumable(&mut self.store, values, out)
            .map_err(|e| halted(&e, self.fuel))?;
        loop {
            let paused = match state {
                ResumableCall::Finished => return Ok(out.first().map_or(0, wide)),
                ResumableCall::OutOfFuel(_) => return Err(out_of_fuel(self.fuel)),
                ResumableCall::HostTrap(paused) => paused,
            };
            let ask = match paused.host_error().downcast_ref::<Out>() {
                Some(Out::Ask(ask)) => *ask,
                Some(Out::Halt(halt)) => return Err(halt.clone()),
                None => return Err(halted(paused.host_error(), self.fuel)),
            };
            let answer = self.serve(ask, look)?;
            let narrow = matches!(ask, Ask::Iterate(..) | Ask::Sample(..));
            state = paused
                .resume(&mut self.store, &[number(!narrow, answer)], out)
                .map_err(|e| halted(&e, self.fuel))?;
        }
    }

    /// Calls the callback at a place of the table.
    pub(crate) fn call_back(
        &mut self,
        at: u64,
        given: &[i64],
        look: Look<'_>,
    ) -> Result<i64, Halt> {
        self.store.data_mut().counts.callbacks += 1;
        let callee = self.function(at)?;
        self.call(&callee, given, look)
    }
}

fn host(random: Rng) -> Host {
    Host {
        limits: limits(),
        memory: None,
        lists: Lists::default(),
        mirror: Mirror::default(),
        maps: crate::bpf::maps::Maps::default(),
        random,
        prints: Prints::default(),
        counts: Counts::default(),
        now: 0,
        pid_tgid: 0,
        comm: [0; 16],
        group: 0,
        entries: Vec::new(),
        keeps_entries: false,
        reserved: None,
        key: Vec::new(),
    }
}

fn number(wide: bool, n: i64) -> Val {
    if wide { Val::I64(n) } else { Val::I32(n as i32) }
}

fn wide(value: &Val) -> i64 {
    match value {
        Val::I32(n) => i64::from(*n),
        Val::I64(n) => *n,
        _ => 0,
    }
}

fn out_of_fuel(fuel: u64) -> Halt {
    Halt::Broken(format!("takes more than {fuel} instructions"))
}

fn broken(e: impl std::fmt::Display) -> Halt {
    Halt::Broken(e.to_string())
}

/// End of a call that the interpreter gave up.
fn halted(e: &Error, fuel: u64) -> Halt {
    match e.downcast_ref::<Out>() {
        Some(Out::Halt(halt)) => halt.clone(),
        _ => Halt::Broken(why(e, fuel)),
    }
}
