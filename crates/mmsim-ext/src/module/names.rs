//! Functions of a module by number: their names, and which of them pointers lead to.

use std::collections::BTreeMap;

use wasmparser::{
    BinaryReaderError, ElementItems, ElementKind, KnownCustom, Name, Operator, Parser, Payload,
};

/// The functions of a module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Functions {
    /// Names by number, as the linker wrote them.
    pub names: BTreeMap<u32, String>,
    /// Numbers by place in the table.
    pub table: BTreeMap<u64, u32>,
}

impl Functions {
    /// The name of the function at a place of the table.
    pub(crate) fn at(&self, place: u64) -> Option<&str> {
        self.table.get(&place).and_then(|number| self.names.get(number)).map(String::as_str)
    }
}

/// Reads names and table of a module.
pub(crate) fn read(binary: &[u8]) -> Result<Functions, BinaryReaderError> {
    let mut found = Functions::default();
    for payload in Parser::new(0).parse_all(binary) {
        match payload? {
            Payload::ElementSection(elements) => {
                for element in elements {
                    let element = element?;
                    let ElementKind::Active { offset_expr, .. } = element.kind else { continue };
                    let first = match offset_expr.get_operators_reader().read()? {
                        Operator::I32Const { value } => u64::from(value as u32),
                        Operator::I64Const { value } => value as u64,
                        _ => continue,
                    };
                    let ElementItems::Functions(functions) = element.items else { continue };
                    for (place, function) in (first..).zip(functions) {
                        found.table.insert(place, function?);
                    }
                }
            }
            Payload::CustomSection(section) => {
                let KnownCustom::Name(names) = section.as_known() else { continue };
                for part in names {
                    // Names are a courtesy: what cannot be read is not there.
                    let Ok(Name::Function(functions)) = part else { continue };
                    let named = functions.into_iter().flatten();
                    found.names.extend(named.map(|n| (n.index, n.name.to_string())));
                }
            }
            _ => {}
        }
    }
    Ok(found)
}
