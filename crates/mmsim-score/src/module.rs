//! Score functions in WebAssembly.
//!
//! A module exports `score`, which takes the [`Facts`] as 64-bit integers and returns one. What it
//! could do besides is refused before it runs: there are no imports, no start function, and no
//! instruction that writes a global, a memory or a table. So a call has nothing that an earlier call
//! left, and the same facts have the same score. Memory and tables that are only read are constants.
//! Floating point is that of the deterministic profile of WebAssembly 3.0: every NaN is the same.
//!
//! A call has so much fuel and so deep a stack. What runs out of them, or traps, ends the run with
//! an error that names the call.

use std::path::Path;
use std::sync::Arc;

use mmsim::evaluate::{Author, Meter};
use mmsim::memory::Memory;
use mmsim::policy::ReclaimPolicy;
use mmsim::{Error, ErrorKind};
use wasmi::{Engine, Store, StoreLimits, StoreLimitsBuilder, TypedFunc};
use wasmparser::{Operator, Parser, Payload};

use crate::engine::{Binary, Kind, config, why};
use crate::facts::Facts;
use crate::policy::{Score, Scored, Stopped};

/// Bytes of a module.
pub const MOST_BYTES: usize = 64 << 10;
/// Score functions as files.
const SCORES: Kind = Kind {
    what: "a policy in .wasm or .wat",
    most: MOST_BYTES,
    length: "65536 bytes",
    shorten: "write a smaller function",
};
/// Instructions of a call, as fuel counts them.
pub const MOST_FUEL: u64 = 10_000;
/// Bytes of memory, of which a call can only read.
pub const MOST_MEMORY: usize = 2 << 20;
/// Elements of tables.
pub(crate) const MOST_ELEMENTS: usize = 1 << 10;

/// Types of the facts as parameters of a function.
type Parameters = (i64, i64, i64, i64, i64, i64, i64, i64, i64);

/// A checked module.
#[derive(Clone, Debug)]
pub struct Module {
    name: String,
    engine: Engine,
    module: wasmi::Module,
    /// Digest of its bytes.
    digest: u64,
}

/// The score function of a module in one run.
pub struct Function {
    store: Store<StoreLimits>,
    function: TypedFunc<Parameters, i64>,
    fuel: u64,
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Function({} fuel)", self.fuel)
    }
}

impl Module {
    /// Reads a module: `.wasm`, or with the feature `wat` its text.
    ///
    /// # Errors
    ///
    /// It cannot be read, is no module, or could do more than answer.
    pub fn from_path(path: &Path) -> Result<Module, Error> {
        Module::new(Binary::from_path(path, SCORES)?)
    }

    /// Takes a module, or with the feature `wat` its text. `name` stands for the file in messages.
    ///
    /// # Errors
    ///
    /// As [`Module::from_path`].
    pub fn from_bytes(bytes: &[u8], name: &str) -> Result<Module, Error> {
        Module::new(Binary::from_bytes(bytes, name, SCORES)?)
    }

    fn new(binary: Binary) -> Result<Module, Error> {
        let engine = Engine::new(&config());
        // What it is comes first: what it could do is known of modules alone.
        let module = binary.translated(&engine)?;
        may_do_nothing_else(&binary.bytes, &binary.file)?;
        let Binary { file, name, digest, .. } = binary;
        let checked = Module { name, engine, module, digest };
        checked.function().map_err(|Stopped(why)| {
            let title = format!("`{file}`: {why}");
            Error::new(ErrorKind::Policy, title).help(format!(
                "export `score`, a function of {} i64 ({}) with one i64 as its result",
                Facts::COUNT,
                Facts::NAMES.join(", ")
            ))
        })?;
        Ok(checked)
    }

    /// The function, ready for one run.
    ///
    /// # Errors
    ///
    /// The module has no such function, or asks for too much memory.
    pub fn function(&self) -> Result<Function, Stopped> {
        let limits = StoreLimitsBuilder::new()
            .memory_size(MOST_MEMORY)
            .table_elements(MOST_ELEMENTS)
            .trap_on_grow_failure(true)
            .build();
        let mut store = Store::new(&self.engine, limits);
        store.limiter(|limits| limits);
        let stopped = |e: wasmi::Error| Stopped(e.to_string());
        // Segments of data are copied, which takes fuel.
        store.set_fuel(MOST_FUEL + (MOST_MEMORY as u64)).map_err(stopped)?;
        let instance = wasmi::Instance::new(&mut store, &self.module, &[]).map_err(stopped)?;
        let function = match instance.get_func(&store, "score") {
            None => return Err(Stopped("it exports no function `score`".to_string())),
            Some(f) => f.typed(&store).map_err(|_| {
                let ty = f.ty(&store);
                let (n, to) = (ty.params().len(), ty.results());
                Stopped(format!("`score` takes {n} parameters and gives {to:?}"))
            })?,
        };
        Ok(Function { store, function, fuel: 0 })
    }
}

impl Author for Module {
    fn name(&self) -> &str {
        &self.name
    }

    fn create(&self, mem: &mut Memory, meter: Arc<Meter>) -> Box<dyn ReclaimPolicy> {
        match self.function() {
            Ok(function) => Box::new(Scored::new(mem, function, meter)),
            Err(Stopped(why)) => meter.fail(why),
        }
    }

    fn digest(&self) -> Option<u64> {
        Some(self.digest)
    }
}

impl Score for Function {
    fn score(&mut self, facts: &Facts) -> Result<i64, Stopped> {
        let [a, b, c, d, e, f, g, h, i] = facts.values();
        let stopped = |e: wasmi::Error| Stopped(format!("it {}", why(&e, MOST_FUEL)));
        self.store.set_fuel(MOST_FUEL).map_err(stopped)?;
        let score = self.function.call(&mut self.store, (a, b, c, d, e, f, g, h, i));
        self.fuel = MOST_FUEL - self.store.get_fuel().unwrap_or(0).min(MOST_FUEL);
        score.map_err(stopped)
    }

    fn fuel(&self) -> u64 {
        self.fuel
    }
}

/// An error of a module, or of its text, that has more bytes than are read.
/// Refuses what a score function has no need of: whatever another call could tell.
fn may_do_nothing_else(binary: &[u8], name: &str) -> Result<(), Error> {
    let refused = |at: usize, what: String, help: &str| {
        let title = format!("`{name}`, byte {at}: {what}");
        Err(Error::new(ErrorKind::Policy, title).help(help))
    };
    let malformed = |e: wasmparser::BinaryReaderError| {
        Error::new(ErrorKind::Policy, format!("`{name}`, byte {}: {}", e.offset(), e.message()))
    };
    const FACTS: &str = "a score function has its parameters and nothing else";
    let mut function = 0;
    for payload in Parser::new(0).parse_all(binary) {
        match payload.map_err(malformed)? {
            Payload::ImportSection(imports) => {
                if let Some(import) = imports.into_iter_with_offsets().next() {
                    let (at, import) = import.map_err(malformed)?;
                    let what = format!("it imports `{}.{}`", import.module, import.name);
                    return refused(at, what, FACTS);
                }
            }
            Payload::StartSection { range, .. } => {
                let what = "it has a start function".to_string();
                return refused(range.start, what, "leave it out: `score` alone is called");
            }
            Payload::CodeSectionEntry(body) => {
                let operators = body.get_operators_reader().map_err(malformed)?;
                for operator in operators.into_iter_with_offsets() {
                    let (operator, at) = operator.map_err(malformed)?;
                    if let Some(writes) = written(&operator) {
                        let what = format!(
                            "function {function} writes a {writes}, which would outlive the call"
                        );
                        let help = "keep what a call needs in locals; globals, memory and tables \
                                    can be read only";
                        return refused(at, what, help);
                    }
                }
                function += 1;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Description of an instruction that writes anything besides locals and the stack.
fn written(operator: &Operator<'_>) -> Option<&'static str> {
    use Operator::*;
    match operator {
        GlobalSet { .. } => Some("global"),
        I32Store { .. }
        | I64Store { .. }
        | F32Store { .. }
        | F64Store { .. }
        | I32Store8 { .. }
        | I32Store16 { .. }
        | I64Store8 { .. }
        | I64Store16 { .. }
        | I64Store32 { .. }
        | MemoryGrow { .. }
        | MemoryFill { .. }
        | MemoryCopy { .. }
        | MemoryInit { .. }
        | DataDrop { .. } => Some("memory"),
        TableSet { .. }
        | TableGrow { .. }
        | TableFill { .. }
        | TableCopy { .. }
        | TableInit { .. }
        | ElemDrop { .. } => Some("table"),
        _ => None,
    }
}
