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

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use mmsim::base::digest::Digest;
use mmsim::evaluate::{Author, Meter};
use mmsim::files::read_at_most;
use mmsim::memory::Memory;
use mmsim::policy::ReclaimPolicy;
use mmsim::{Error, ErrorKind};
use wasmi::{CompilationMode, Config, Engine, Store, StoreLimits, StoreLimitsBuilder, TypedFunc};
use wasmparser::{Operator, Parser, Payload};

use crate::facts::Facts;
use crate::policy::{Score, Scored, Stopped};

/// Bytes of a module.
pub const MOST_BYTES: usize = 64 << 10;
/// Instructions of a call, as fuel counts them.
pub const MOST_FUEL: u64 = 10_000;
/// Functions of a module that are within one another.
pub const MOST_CALLS: usize = 64;
/// Bytes of the locals and operands of a call.
pub const MOST_STACK: usize = 64 << 10;
/// Bytes of memory, of which a call can only read.
pub const MOST_MEMORY: usize = 2 << 20;
/// The first bytes of a module in binary form.
pub(crate) const MAGIC: &[u8] = b"\0asm";
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
    /// Of its bytes.
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
        let shown = path.display().to_string();
        let bytes = read_at_most(path, "a policy in .wasm or .wat", MOST_BYTES as u64)?;
        let bytes = bytes.ok_or_else(|| too_large(&shown))?;
        Module::from_bytes(&bytes, &shown)
    }

    /// Takes a module, or with the feature `wat` its text. `name` stands for the file in messages.
    ///
    /// # Errors
    ///
    /// As [`Module::from_path`].
    pub fn from_bytes(bytes: &[u8], name: &str) -> Result<Module, Error> {
        if bytes.len() > MOST_BYTES {
            return Err(too_large(name));
        }
        let binary: Cow<'_, [u8]> =
            if bytes.starts_with(MAGIC) { bytes.into() } else { assembled(bytes, name)?.into() };
        if binary.len() > MOST_BYTES {
            return Err(too_large(name));
        }
        let engine = Engine::new(&config());
        // What it is comes first: what it could do is known of modules alone.
        let module = wasmi::Module::new(&engine, &binary[..]).map_err(|e| {
            let title = format!("`{name}` is no module of WebAssembly that can be run: {e}");
            Error::new(ErrorKind::Policy, title)
        })?;
        may_do_nothing_else(&binary, name)?;
        let path = Path::new(name);
        let stem = path.file_stem().map(|s| s.to_string_lossy().into_owned());
        let mut digest = Digest::new();
        digest.words(binary.iter().map(|&byte| byte.into()));
        let (name_of, digest) = (stem.unwrap_or_default(), digest.finish());
        let checked = Module { name: name_of, engine, module, digest };
        checked.function().map_err(|Stopped(why)| {
            let title = format!("`{name}`: {why}");
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
        let stopped = |e: wasmi::Error| Stopped(why(&e));
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
pub(crate) fn too_large(name: &str) -> Error {
    let title = format!("`{name}` has more than {MOST_BYTES} bytes");
    Error::new(ErrorKind::Policy, title).help("write a smaller function")
}

/// Why a call has no result.
fn why(e: &wasmi::Error) -> String {
    use wasmi::TrapCode::{OutOfFuel, StackOverflow};
    match e.as_trap_code() {
        Some(OutOfFuel) => format!("it takes more than {MOST_FUEL} instructions"),
        Some(StackOverflow) => {
            format!("its calls are more than {MOST_CALLS} deep, or need over {MOST_STACK} bytes")
        }
        _ => format!("it traps: {e}"),
    }
}

pub(crate) fn config() -> Config {
    let mut config = Config::default();
    config
        .consume_fuel(true)
        // Else the first call would pay for the translation.
        .compilation_mode(CompilationMode::Eager)
        .set_max_recursion_depth(MOST_CALLS)
        .set_min_stack_height(MOST_STACK / 16)
        .set_max_stack_height(MOST_STACK)
        .wasm_multi_memory(false);
    config
}

/// A module in binary form, from its text.
#[cfg(feature = "wat")]
pub(crate) fn assembled(text: &[u8], name: &str) -> Result<Vec<u8>, Error> {
    match wat::parse_bytes(text) {
        Ok(binary) => Ok(binary.into_owned()),
        Err(e) => Err(of_text(&e, text, name)),
    }
}

#[cfg(not(feature = "wat"))]
pub(crate) fn assembled(_: &[u8], name: &str) -> Result<Vec<u8>, Error> {
    Err(no_parser(name))
}

/// The error of a program that reads no text.
#[cfg(any(test, not(feature = "wat")))]
fn no_parser(name: &str) -> Error {
    let title =
        format!("`{name}` is no module in binary form, and this mmsim reads no text of one");
    Error::new(ErrorKind::Policy, title)
        .help("build mmsim with the feature `wat`, or make a .wasm of the text with wat2wasm")
}

/// An error of a text, at its place.
#[cfg(feature = "wat")]
fn of_text(e: &wat::Error, bytes: &[u8], name: &str) -> Error {
    let said = e.to_string();
    let what = said.lines().next().unwrap_or_default();
    let title = format!("`{name}` is neither a module of WebAssembly nor its text: {what}");
    let error = Error::new(ErrorKind::Syntax, title);
    // `--> <anon>:LINE:COLUMN`
    let place = said.lines().find_map(|l| l.trim().strip_prefix("--> ")).and_then(|place| {
        let mut numbers = place.rsplit(':').map_while(|n| n.parse::<usize>().ok());
        let (column, line) = (numbers.next()?, numbers.next()?);
        let text = std::str::from_utf8(bytes).ok()?;
        let before: usize = text.split_inclusive('\n').take(line - 1).map(str::len).sum();
        Some((text, before + column - 1))
    });
    match place {
        Some((text, at)) => error.at(name, &text.into(), at..at + 1, "here"),
        None => error,
    }
}

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

#[cfg(test)]
mod tests {
    use super::no_parser;

    #[test]
    fn without_the_parser_a_text_has_a_way_out() {
        let said = no_parser("p.wat").to_string();
        assert!(said.contains("`p.wat`") && said.contains("no text"), "{said}");
        let help = format!("{:?}", no_parser("p.wat"));
        assert!(help.contains("feature `wat`") && help.contains("wat2wasm"), "{help}");
    }
}
