//! Global variables of a module by its debug information: names, places, maps, hooks.
//!
//! A map of BPF is a variable whose bytes are all 0; its type says what it is. In an object for BPF
//! the loader reads that in BTF, which clang writes for no other target. DWARF has it all: each
//! member of such a type points at an array (`__uint`: its length is the number) or at a value
//! (`__type`). The members of `struct cache_ext_ops` say where the pointers to the hooks are.

use std::borrow::Cow;
use std::collections::BTreeMap;

use gimli::{
    AttributeValue, DebuggingInformationEntry, Dwarf, EndianSlice, LittleEndian, Operation, Unit,
    UnitOffset,
};

type Slice<'a> = EndianSlice<'a, LittleEndian>;
type Entry<'x, 'a> = DebuggingInformationEntry<'x, 'x, Slice<'a>>;

/// Types of the variable with the hooks: that of the artefact, and that of the trees before it.
const OPS: [&str; 2] = ["cache_ext_ops", "page_cache_ext_ops"];

/// Most arrays within arrays, typedefs of typedefs and so on that are followed.
const DEPTH: usize = 32;

/// A map as its variable's type describes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MapType {
    /// The number of its type (`BPF_MAP_TYPE_HASH` is 1).
    pub kind: u64,
    /// `max_entries`.
    pub entries: u64,
    /// Bytes of a key.
    pub key: u64,
    /// Bytes of a value.
    pub value: u64,
    /// `map_flags`.
    pub flags: u64,
}

/// Use of a global variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Use {
    /// A variable of the program.
    Plain,
    /// A map.
    Map(MapType),
    /// The variable with the hooks: their names, and where in it their pointers are.
    Hooks(Vec<(String, u64)>),
}

/// A global variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Global {
    /// Its name; static ones have one, too.
    pub name: String,
    /// Its place in the memory of the module.
    pub at: u64,
    /// Its bytes.
    pub size: u64,
    /// It is an array of characters.
    pub is_text: bool,
    /// Its use.
    pub used_as: Use,
    /// Its line in the policy in C, as `FILE:LINE`.
    pub line: Option<String>,
}

/// Contents of debug information.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Debug {
    /// Global variables.
    pub globals: Vec<Global>,
    /// Variables that the linker left out, since nothing reads them.
    pub gone: Vec<String>,
    /// Functions that other files could call: hooks, and programs that something else attaches.
    pub functions: Vec<String>,
}

/// Reads sections of debug information, by name. None where they are not there or broken.
pub(crate) fn read(sections: &BTreeMap<String, Vec<u8>>) -> Result<Debug, gimli::Error> {
    let dwarf = Dwarf::load(|id| -> Result<Slice<'_>, gimli::Error> {
        Ok(EndianSlice::new(sections.get(id.name()).map_or(&[][..], |d| d), LittleEndian))
    })?;
    let mut found = Debug::default();
    let mut headers = dwarf.units();
    while let Some(header) = headers.next()? {
        let unit = dwarf.unit(header)?;
        let at = Place { dwarf: &dwarf, unit: &unit };
        let mut tree = unit.entries_tree(None)?;
        let mut children = tree.root()?.children();
        while let Some(child) = children.next()? {
            let entry = child.entry();
            match entry.tag() {
                gimli::DW_TAG_variable => match at.variable(entry) {
                    Some(global) => found.globals.push(global),
                    None => found.gone.extend(at.name(entry)),
                },
                gimli::DW_TAG_subprogram if at.is_program(entry) => {
                    found.functions.extend(at.name(entry));
                }
                _ => {}
            }
        }
    }
    Ok(found)
}

/// A compilation unit.
#[derive(Clone, Copy)]
struct Place<'u, 'a> {
    dwarf: &'u Dwarf<Slice<'a>>,
    unit: &'u Unit<Slice<'a>>,
}

impl Place<'_, '_> {
    fn name(self, entry: &Entry<'_, '_>) -> Option<String> {
        let value = entry.attr_value(gimli::DW_AT_name).ok()??;
        let text = self.dwarf.attr_string(self.unit, value).ok()?;
        Some(Cow::into_owned(text.to_string_lossy()))
    }

    fn type_of(self, entry: &Entry<'_, '_>) -> Option<UnitOffset> {
        match entry.attr_value(gimli::DW_AT_type).ok()?? {
            AttributeValue::UnitRef(at) => Some(at),
            _ => None,
        }
    }

    /// The type that a pointer is to.
    fn target(self, of: UnitOffset) -> Option<UnitOffset> {
        self.unit.entry(of).ok().and_then(|entry| self.type_of(&entry))
    }

    fn number(self, entry: &Entry<'_, '_>, what: gimli::DwAt) -> Option<u64> {
        entry.attr(what).ok()??.udata_value()
    }

    /// A function with code that is not static.
    fn is_program(self, entry: &Entry<'_, '_>) -> bool {
        let has = |what| entry.attr_value(what).ok().flatten().is_some();
        has(gimli::DW_AT_external) && has(gimli::DW_AT_low_pc)
    }

    fn address(self, entry: &Entry<'_, '_>) -> Option<u64> {
        let AttributeValue::Exprloc(place) = entry.attr_value(gimli::DW_AT_location).ok()?? else {
            return None;
        };
        let at = match place.operations(self.unit.encoding()).next().ok()?? {
            Operation::Address { address } => address,
            Operation::AddressIndex { index } => self.dwarf.address(self.unit, index).ok()?,
            _ => return None,
        };
        // A variable that nothing reads is gone; its place is -1.
        (at != u64::MAX && at != u64::from(u32::MAX)).then_some(at)
    }

    fn variable(self, entry: &Entry<'_, '_>) -> Option<Global> {
        let (name, at) = (self.name(entry)?, self.address(entry)?);
        let of = self.strip(self.type_of(entry)?);
        let size = self.size(of, DEPTH);
        let (is_text, used_as) = (self.is_text(of), self.used_as(of));
        let line = self.line(entry);
        Some(Global { name, at, size, is_text, used_as, line })
    }

    /// True for an array of elements of one byte.
    fn is_text(self, of: UnitOffset) -> bool {
        let Ok(entry) = self.unit.entry(of) else { return false };
        let one = || self.type_of(&entry).map_or(0, |to| self.size(self.strip(to), DEPTH));
        entry.tag() == gimli::DW_TAG_array_type && one() == 1
    }

    /// The line at which something is declared.
    fn line(self, entry: &Entry<'_, '_>) -> Option<String> {
        let line = self.number(entry, gimli::DW_AT_decl_line)?;
        let AttributeValue::FileIndex(file) = entry.attr_value(gimli::DW_AT_decl_file).ok()??
        else {
            return None;
        };
        let program = self.unit.line_program.as_ref()?;
        let file = program.header().file(file)?.path_name();
        let file = self.dwarf.attr_string(self.unit, file).ok()?;
        Some(format!("{}:{line}", file.to_string_lossy()))
    }

    fn used_as(self, of: UnitOffset) -> Use {
        let members = self.members(of);
        let name = self.unit.entry(of).ok().and_then(|entry| self.name(&entry));
        match name {
            Some(name) if OPS.contains(&name.as_str()) => {
                Use::Hooks(members.into_iter().map(|(name, at, _)| (name, at)).collect())
            }
            None if members.iter().any(|m| m.0 == "type") => Use::Map(self.map(members)),
            _ => Use::Plain,
        }
    }

    fn map(self, members: Vec<(String, u64, UnitOffset)>) -> MapType {
        let mut map = MapType::default();
        for (name, _, of) in members {
            let Some(to) = self.target(self.strip(of)) else { continue };
            let (field, bytes) = match name.as_str() {
                "type" => (&mut map.kind, false),
                "max_entries" => (&mut map.entries, false),
                "map_flags" => (&mut map.flags, false),
                "key_size" => (&mut map.key, false),
                "value_size" => (&mut map.value, false),
                "key" => (&mut map.key, true),
                "value" => (&mut map.value, true),
                _ => continue,
            };
            *field = match bytes {
                true => self.size(self.strip(to), DEPTH),
                false => self.elements(self.strip(to)),
            };
        }
        map
    }

    /// The type without its names and qualifiers.
    fn strip(self, mut of: UnitOffset) -> UnitOffset {
        for _ in 0..DEPTH {
            let Ok(entry) = self.unit.entry(of) else { break };
            let names = matches!(
                entry.tag(),
                gimli::DW_TAG_typedef | gimli::DW_TAG_const_type | gimli::DW_TAG_volatile_type
            );
            match self.type_of(&entry) {
                Some(to) if names => of = to,
                _ => break,
            }
        }
        of
    }

    /// Name, offset and type of the members of a structure.
    fn members(self, of: UnitOffset) -> Vec<(String, u64, UnitOffset)> {
        let mut all = Vec::new();
        let Ok(mut tree) = self.unit.entries_tree(Some(of)) else { return all };
        let Ok(root) = tree.root() else { return all };
        if root.entry().tag() != gimli::DW_TAG_structure_type {
            return all;
        }
        let mut children = root.children();
        while let Ok(Some(child)) = children.next() {
            let entry = child.entry();
            let at = self.number(entry, gimli::DW_AT_data_member_location).unwrap_or(0);
            if let (Some(name), Some(of)) = (self.name(entry), self.type_of(entry)) {
                all.push((name, at, of));
            }
        }
        all
    }

    /// Elements of an array, of all dimensions.
    fn elements(self, of: UnitOffset) -> u64 {
        let Ok(mut tree) = self.unit.entries_tree(Some(of)) else { return 0 };
        let Ok(root) = tree.root() else { return 0 };
        let mut children = root.children();
        let mut n = 1u64;
        while let Ok(Some(child)) = children.next() {
            let count = self.number(child.entry(), gimli::DW_AT_count);
            let last = self.number(child.entry(), gimli::DW_AT_upper_bound);
            n = n.saturating_mul(count.or(last.map(|n| n.saturating_add(1))).unwrap_or(0));
        }
        n
    }

    fn size(self, of: UnitOffset, depth: usize) -> u64 {
        let Ok(entry) = self.unit.entry(of) else { return 0 };
        match (self.number(&entry, gimli::DW_AT_byte_size), entry.tag()) {
            (Some(n), _) => n,
            (None, gimli::DW_TAG_pointer_type) => 8,
            (None, gimli::DW_TAG_array_type) if depth > 0 => {
                let one = self.type_of(&entry).map_or(0, |to| self.size(self.strip(to), depth - 1));
                self.elements(of).saturating_mul(one)
            }
            _ => 0,
        }
    }
}
