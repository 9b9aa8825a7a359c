//! Places in the file of a module, for messages: the byte at which something is written.

use mmsim::{Error, ErrorKind};
use mmsim_score::engine::Binary;
use wasmparser::{Parser, Payload};

/// An error about a module, at a byte of its file if there is one.
pub(crate) fn refused_at(binary: &Binary, at: Option<usize>, what: &str, help: &str) -> Error {
    let at = at.map_or(String::new(), |at| format!(", byte {at}:"));
    Error::new(ErrorKind::Policy, format!("`{}`{at} {what}", binary.file)).help(help)
}

/// The byte of an import.
pub(crate) fn of_import(binary: &[u8], from: &str, name: &str) -> Option<usize> {
    find(binary, |payload| {
        let Payload::ImportSection(imports) = payload else { return None };
        let mut all = imports.into_iter_with_offsets().flatten();
        all.find(|(_, import)| import.module == from && import.name == name).map(|found| found.0)
    })
}

/// The byte of an export.
pub(crate) fn of_export(binary: &[u8], name: &str) -> Option<usize> {
    find(binary, |payload| {
        let Payload::ExportSection(exports) = payload else { return None };
        let mut all = exports.into_iter_with_offsets().flatten();
        all.find(|(_, export)| export.name == name).map(|found| found.0)
    })
}

/// The byte at which exports begin.
pub(crate) fn of_exports(binary: &[u8]) -> Option<usize> {
    find(binary, |payload| match payload {
        Payload::ExportSection(exports) => Some(exports.range().start),
        _ => None,
    })
}

/// The byte at which memories are written.
pub(crate) fn of_memory(binary: &[u8]) -> Option<usize> {
    find(binary, |payload| match payload {
        Payload::MemorySection(memories) => Some(memories.range().start),
        _ => None,
    })
}

/// The byte at which a section of this name begins.
pub(crate) fn of_section(binary: &[u8], name: &str) -> Option<usize> {
    find(binary, |payload| match payload {
        Payload::CustomSection(section) if section.name() == name => Some(section.data_offset()),
        _ => None,
    })
}

fn find<'a>(binary: &'a [u8], of: impl FnMut(Payload<'a>) -> Option<usize>) -> Option<usize> {
    Parser::new(0).parse_all(binary).map_while(Result::ok).find_map(of)
}
