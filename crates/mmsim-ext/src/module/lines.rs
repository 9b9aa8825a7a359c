//! Lines of the policy in C that call imports, by the line table of its debug information.
//!
//! Places in that table count from the beginning of the code section.

use std::collections::BTreeMap;

use gimli::{Dwarf, EndianSlice, LittleEndian};
use wasmparser::{Operator, Parser, Payload, TypeRef};

/// By import: the first line that calls it, as `FILE:LINE`. What cannot be read is not there: lines are
/// a courtesy.
pub(crate) fn calls(
    binary: &[u8],
    sections: &BTreeMap<String, Vec<u8>>,
) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let (imports, places) = sites(binary);
    if places.is_empty() {
        return found;
    }
    let rows = rows(sections).unwrap_or_default();
    for (import, place) in places {
        let row = rows.partition_point(|row| row.0 <= place).checked_sub(1);
        let (Some(row), Some(name)) = (row, imports.get(import as usize)) else { continue };
        found.entry(name.clone()).or_insert_with(|| rows[row].1.clone());
    }
    found
}

/// Names of imported functions, and the calls of them: import and place.
fn sites(binary: &[u8]) -> (Vec<String>, Vec<(u32, u64)>) {
    let (mut imports, mut places, mut begin) = (Vec::new(), Vec::new(), 0);
    for payload in Parser::new(0).parse_all(binary).map_while(Result::ok) {
        match payload {
            Payload::ImportSection(section) => {
                let functions = section.into_iter().flatten();
                let functions = functions.filter(|i| matches!(i.ty, TypeRef::Func(_)));
                imports.extend(functions.map(|import| import.name.to_string()));
            }
            Payload::CodeSectionStart { range, .. } => begin = range.start,
            Payload::CodeSectionEntry(body) => {
                let Ok(mut code) = body.get_operators_reader() else { continue };
                while let Ok((operator, at)) = code.read_with_offset() {
                    if let Operator::Call { function_index } = operator
                        && (function_index as usize) < imports.len()
                    {
                        places.push((function_index, (at - begin) as u64));
                    }
                }
            }
            _ => {}
        }
    }
    (imports, places)
}

/// Places of the code with their lines, in order.
fn rows(sections: &BTreeMap<String, Vec<u8>>) -> Result<Vec<(u64, String)>, gimli::Error> {
    let dwarf = Dwarf::load(|id| -> Result<EndianSlice<'_, LittleEndian>, gimli::Error> {
        Ok(EndianSlice::new(sections.get(id.name()).map_or(&[][..], |d| d), LittleEndian))
    })?;
    let mut all = Vec::new();
    let mut headers = dwarf.units();
    while let Some(header) = headers.next()? {
        let unit = dwarf.unit(header)?;
        let Some(program) = unit.line_program.clone() else { continue };
        let mut rows = program.rows();
        while let Some((header, row)) = rows.next_row()? {
            let (Some(line), Some(file)) = (row.line(), row.file(header)) else { continue };
            let file = dwarf.attr_string(&unit, file.path_name())?;
            all.push((row.address(), format!("{}:{line}", file.to_string_lossy())));
        }
    }
    all.sort_by_key(|row| row.0);
    Ok(all)
}
