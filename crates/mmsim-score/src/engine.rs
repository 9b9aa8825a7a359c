//! The interpreter as all modules of mmsim have it: floating point of the deterministic profile, fuel
//! instead of a clock, a shallow stack, and modules in binary form or as text.

use std::borrow::Cow;
use std::path::Path;

use mmsim::base::digest::Digest;
use mmsim::files::read_at_most;
use mmsim::{Error, ErrorKind};
use wasmi::{CompilationMode, Config, Engine};

/// Functions of a module that are within one another.
pub const MOST_CALLS: usize = 64;
/// Bytes of the locals and operands of a call.
pub const MOST_STACK: usize = 64 << 10;
/// The first bytes of a module in binary form.
const MAGIC: &[u8] = b"\0asm";

/// Reason for which a call has no result, as what a call does. It had `fuel`.
pub fn why(e: &wasmi::Error, fuel: u64) -> String {
    use wasmi::TrapCode::{OutOfFuel, StackOverflow};
    match e.as_trap_code() {
        Some(OutOfFuel) => format!("takes more than {fuel} instructions"),
        Some(StackOverflow) => {
            format!("has calls more than {MOST_CALLS} deep, or over {MOST_STACK} bytes of stack")
        }
        _ => format!("traps: {e}"),
    }
}

/// Settings of the interpreter.
pub fn config() -> Config {
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

/// A kind of modules: what they are called, and how long they can be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kind {
    /// Words for a file of it.
    pub what: &'static str,
    /// Bytes of a module, in binary form and as text.
    pub most: usize,
    /// That length in words.
    pub length: &'static str,
    /// Advice for one that is longer.
    pub shorten: &'static str,
}

/// A module in binary form, before anything is known of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Binary {
    /// The file in messages.
    pub file: String,
    /// The name of its file without the ending.
    pub name: String,
    /// The module.
    pub bytes: Vec<u8>,
    /// The digest of its bytes.
    pub digest: u64,
}

impl Binary {
    /// Reads a module: `.wasm`, or with the feature `wat` its text.
    ///
    /// # Errors
    ///
    /// It cannot be read, is too long, or is neither.
    pub fn from_path(path: &Path, kind: Kind) -> Result<Binary, Error> {
        let file = path.display().to_string();
        let bytes = read_at_most(path, kind.what, kind.most as u64)?;
        Binary::from_bytes(&bytes.ok_or_else(|| too_long(&file, kind))?, &file, kind)
    }

    /// Takes a module, or with the feature `wat` its text. `file` stands for it in messages.
    ///
    /// # Errors
    ///
    /// As [`Binary::from_path`].
    pub fn from_bytes(bytes: &[u8], file: &str, kind: Kind) -> Result<Binary, Error> {
        if bytes.len() > kind.most {
            return Err(too_long(file, kind));
        }
        let binary = binary(bytes, file)?.into_owned();
        if binary.len() > kind.most {
            return Err(too_long(file, kind));
        }
        let name = Path::new(file).file_stem().map(|s| s.to_string_lossy().into_owned());
        let mut digest = Digest::new();
        digest.words(binary.iter().map(|&byte| byte.into()));
        let (name, digest) = (name.unwrap_or_default(), digest.finish());
        Ok(Binary { file: file.to_string(), name, bytes: binary, digest })
    }

    /// Translates the module for the interpreter.
    ///
    /// # Errors
    ///
    /// It is broken, or uses what the interpreter does not have.
    pub fn translated(&self, engine: &Engine) -> Result<wasmi::Module, Error> {
        wasmi::Module::new(engine, &self.bytes[..]).map_err(|e| self.broken(&e))
    }

    /// The error of a module that cannot be run.
    pub fn broken(&self, e: &dyn std::fmt::Display) -> Error {
        let title = format!("`{}` is no module of WebAssembly that can be run: {e}", self.file);
        Error::new(ErrorKind::Policy, title)
    }
}

fn too_long(file: &str, kind: Kind) -> Error {
    let title = format!("`{file}` has more than {}", kind.length);
    Error::new(ErrorKind::Policy, title).help(kind.shorten)
}

/// A module in binary form: `bytes` as they are, or assembled if they are a text.
///
/// # Errors
///
/// They are neither, or this program reads no text.
fn binary<'a>(bytes: &'a [u8], name: &str) -> Result<Cow<'a, [u8]>, Error> {
    Ok(if bytes.starts_with(MAGIC) { bytes.into() } else { assembled(bytes, name)?.into() })
}

/// A module in binary form, from its text.
#[cfg(feature = "wat")]
fn assembled(text: &[u8], name: &str) -> Result<Vec<u8>, Error> {
    match wat::parse_bytes(text) {
        Ok(binary) => Ok(binary.into_owned()),
        Err(e) => Err(of_text(&e, text, name)),
    }
}

#[cfg(not(feature = "wat"))]
fn assembled(_: &[u8], name: &str) -> Result<Vec<u8>, Error> {
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
    if name.ends_with(".c") {
        return Error::new(ErrorKind::Syntax, format!("`{name}` is C, and no module"))
            .help(format!("make one of it by `mmsim policy build {name}`"));
    }
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
