//! Which column is what.
//!
//! | role | |
//! |---|---|
//! | `page` | page number; with `--dense` any text |
//! | `address`, `offset` | in bytes; the page is what `page_size` makes of it |
//! | `sector` | in units of 512 bytes |
//! | `key` | the name of an object, whatever it looks like |
//! | `volume` | what a place is on; two of them are one together |
//! | `op` | read or write; other operations (trim, flush, ..) are left out |
//! | `size` | bytes, which add up if there are two; all pages that they touch |
//! | `sectors` | the same in units of 512 bytes |
//! | `count` | pages |
//! | `repeats` | how often it happens, at once |
//! | `pid` | tells processes apart |
//! | `time` | in the unit of the options, with a fraction if need be |

use super::fields::Delimiter;
use super::values::{number, time};
use crate::trace::error::TraceError;
use crate::trace::import::ImportOptions;
use crate::trace::import::lines::show;

/// Bytes of a sector.
const SECTOR: u64 = 512;

/// Role of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    Skip,
    Place,
    Volume,
    Op,
    Size,
    Repeats,
    Pid,
    Time,
}

/// Meaning of places.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    Page,
    Address,
    Sector,
    Key,
}

impl Place {
    /// Bytes of a unit, if places are in bytes.
    pub(super) fn unit(self) -> Option<u64> {
        match self {
            Place::Page | Place::Key => None,
            Place::Address => Some(1),
            Place::Sector => Some(SECTOR),
        }
    }
}

/// Meaning of extents.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Extent {
    /// Whole pages, or there are none.
    Pages,
    /// Units of this number of bytes.
    Units(u64),
}

/// The columns of an input.
pub(super) struct Columns {
    pub(super) roles: Vec<Role>,
    pub(super) place: Place,
    pub(super) extent: Extent,
    pub(super) delimiter: Delimiter,
    /// The fewest and most fields of a record. It needs those up to the last that has a role.
    pub(super) fields: (usize, usize),
}

/// Names of roles, with what they say about places and extents.
const ROLES: [(&str, Role, Option<Place>, Option<Extent>); 12] = [
    ("page", Role::Place, Some(Place::Page), None),
    ("address", Role::Place, Some(Place::Address), None),
    ("offset", Role::Place, Some(Place::Address), None),
    ("sector", Role::Place, Some(Place::Sector), None),
    ("key", Role::Place, Some(Place::Key), None),
    ("volume", Role::Volume, None, None),
    ("op", Role::Op, None, None),
    ("size", Role::Size, None, Some(Extent::Units(1))),
    ("sectors", Role::Size, None, Some(Extent::Units(SECTOR))),
    ("count", Role::Size, None, Some(Extent::Pages)),
    ("repeats", Role::Repeats, None, None),
    ("pid", Role::Pid, None, None),
];

const TIME: (&str, Role, Option<Place>, Option<Extent>) = ("time", Role::Time, None, None);

fn role_of(name: &str) -> Option<(Role, Option<Place>, Option<Extent>)> {
    let found = ROLES.iter().chain([&TIME]).find(|r| r.0.eq_ignore_ascii_case(name))?;
    Some((found.1, found.2, found.3))
}

/// The names of all roles.
const NAMES: &str =
    "page, address, offset, sector, key, volume, op, size, sectors, count, repeats, pid or time";

impl Columns {
    pub(super) fn has(&self, role: Role) -> bool {
        self.roles.contains(&role)
    }

    pub(super) fn forget(&mut self, role: Role) {
        self.roles.iter_mut().filter(|r| **r == role).for_each(|r| *r = Role::Skip);
    }

    /// The fewest fields of a record: up to the last one that matters.
    pub(super) fn needed(&self) -> usize {
        let last = self.roles.iter().rposition(|&r| r != Role::Skip);
        last.map_or(1, |i| i + 1).max(self.fields.0)
    }

    /// Expected contents of a field.
    pub(super) fn expected(&self, role: Role) -> &'static str {
        match (role, self.place, self.extent) {
            (Role::Skip, ..) => "anything",
            (Role::Op, ..) => "an operation",
            (Role::Volume, ..) => "a volume",
            (Role::Place, Place::Page, _) => {
                "a page number, decimal or 0x hexadecimal (--dense takes any text)"
            }
            (Role::Place, Place::Address, _) => "an address in bytes, decimal or 0x hexadecimal",
            (Role::Place, Place::Sector, _) => "a sector, decimal or 0x hexadecimal",
            (Role::Place, Place::Key, _) => "a name",
            (Role::Size, _, Extent::Pages) => "a count of pages",
            (Role::Size, _, Extent::Units(1)) => "a size in bytes",
            (Role::Size, ..) => "a number of sectors",
            (Role::Repeats, ..) => "a number of repeats, at most 2^28",
            (Role::Pid, ..) => "a process id below 2^32",
            (Role::Time, ..) => "a time, decimal, below 2^64 ns",
        }
    }

    /// The columns as the first line and the options have them, and whether the line names
    /// them.
    pub(super) fn of_line(
        piece: &[u8],
        at: usize,
        line: u64,
        options: &ImportOptions,
    ) -> Result<(Columns, bool), TraceError> {
        let end = super::end_of_line(piece, at);
        let delimiter = options
            .delimiter
            .or(options.like.map(|l| l.delimiter))
            .unwrap_or_else(|| Delimiter::of_line(&piece[at..end]));
        let texts: Vec<Vec<u8>> =
            delimiter.fields(piece, at, line)?.into_iter().map(|(_, text)| text).collect();
        let names: Vec<String> =
            texts.iter().map(|text| String::from_utf8_lossy(text).into_owned()).collect();
        let layout = options.layout();
        let mut columns = Columns {
            roles: vec![Role::Skip; names.len()],
            place: Place::Page,
            extent: Extent::Pages,
            delimiter,
            fields: layout.map_or((1, usize::MAX), |l| l.fields),
        };
        if let Some(layout) = layout {
            let (least, most) = layout.fields;
            if !(least..=most).contains(&names.len()) {
                let expected = layout.expected_fields();
                let found = format!("{} fields in {}", names.len(), show(piece, at));
                return Err(TraceError::line(line, found, expected));
            }
        }
        let list = options.columns.as_deref().or(options.like.map(|l| l.columns));
        let mut said = Said::default();
        let mut named = true;
        match list {
            None => {
                for (i, name) in names.iter().enumerate() {
                    if let Some(role) = role_of(name) {
                        // Sizes add up, and volumes are one together.
                        if !matches!(role.0, Role::Size | Role::Volume) {
                            there_once(name, &names, line)?;
                        }
                        said.put(&mut columns, i, role);
                    }
                }
            }
            Some(list) => {
                named = columns.listed(list, &names, &mut said, || show(piece, at), line)?;
            }
        }
        columns.check(&said, &names, line, options)?;
        let named = named || columns.is_head(&texts);
        Ok((columns, named))
    }

    /// Takes the roles of `--columns`; returns whether a column has a name.
    fn listed(
        &mut self,
        list: &str,
        names: &[String],
        said: &mut Said,
        shown: impl Fn() -> String,
        line: u64,
    ) -> Result<bool, TraceError> {
        let mut named = false;
        for part in list.split(',') {
            let wrong = |found: String, expected: &str| {
                Err(TraceError::invalid("--columns", found, expected))
            };
            let Some((role, name)) = part.split_once('=') else {
                return wrong(format!("{part:?}"), "ROLE=NAME, as in page=lbn");
            };
            let (role, name) = (role.trim(), name.trim());
            let Some(role) = role_of(role) else {
                return wrong(format!("role {role:?}"), NAMES);
            };
            let (name, optional) = match name.strip_suffix('?') {
                Some(name) => (name, true),
                None => (name, false),
            };
            let number = name.strip_prefix('#').and_then(|n| n.parse::<usize>().ok());
            named |= number.is_none();
            let place = match number {
                Some(n) => n.checked_sub(1).filter(|&i| i < names.len()),
                None => {
                    there_once(name, names, line)?;
                    names.iter().position(|n| n == name)
                }
            };
            let Some(i) = place else {
                if optional {
                    continue;
                }
                let expected = format!("a column {name:?}, as --columns says");
                return Err(TraceError::line(line, shown(), expected));
            };
            if self.roles[i] != Role::Skip {
                return wrong(format!("column {name:?} with two roles"), "one role each");
            }
            said.put(self, i, role);
        }
        Ok(named)
    }

    /// Checks that the roles make sense together.
    fn check(
        &self,
        said: &Said,
        names: &[String],
        line: u64,
        options: &ImportOptions,
    ) -> Result<(), TraceError> {
        let nr = |role: Role| self.roles.iter().filter(|&&r| r == role).count();
        let wrong = |expected: &str| {
            Err(TraceError::line(line, format!("the columns {:?}", names.join(",")), expected))
        };
        if nr(Role::Place) != 1 {
            return wrong(
                "one of page, address, offset, sector and key, as in --columns page=NAME; with --columns \
                 no other column is taken by its name",
            );
        }
        for one in [Role::Op, Role::Pid, Role::Time, Role::Repeats] {
            if nr(one) > 1 {
                return wrong("each role once");
            }
        }
        if said.mixed || (nr(Role::Size) > 1 && self.extent == Extent::Pages) {
            return wrong("size, sectors or count: one of them");
        }
        if nr(Role::Volume) > 0 && self.place == Place::Key {
            return wrong("a volume with a place, or a key alone");
        }
        let unit = options.time_unit_ns.or(options.like.map(|l| l.time_unit_ns));
        if nr(Role::Time) == 1 && unit.is_none() {
            return wrong(
                "the unit of the time: --time-unit ns, us, ms, s or as in 100ns, or none to leave \
                 it out",
            );
        }
        Ok(())
    }

    /// True if a line that need not name columns does: no field that should be a number is.
    fn is_head(&self, texts: &[Vec<u8>]) -> bool {
        let mut numbers = 0;
        for (&role, text) in self.roles.iter().zip(texts) {
            let good = match role {
                Role::Skip | Role::Op | Role::Volume => continue,
                Role::Place if matches!(self.place, Place::Key) => continue,
                Role::Time => time(text, 1).is_some(),
                _ => number(text).is_some(),
            };
            let word = text.first().is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_');
            if good || !word {
                return false;
            }
            numbers += 1;
        }
        // A single one may as well be wrong, or a name.
        numbers > 1
    }
}

/// Checks that a column named by the user is the only one of that name.
fn there_once(name: &str, names: &[String], line: u64) -> Result<(), TraceError> {
    let places = || names.iter().zip(1..).filter(|(n, _)| n.eq_ignore_ascii_case(name));
    let (Some((_, first)), Some((_, second))) = (places().next(), places().nth(1)) else {
        return Ok(());
    };
    let found = format!("two columns {name:?}, #{first} and #{second}");
    Err(TraceError::line(line, found, "one of that name"))
}

/// Statements of the roles so far about extents.
#[derive(Default)]
struct Said {
    extent: Option<Extent>,
    mixed: bool,
}

impl Said {
    fn put(
        &mut self,
        columns: &mut Columns,
        i: usize,
        (role, place, extent): (Role, Option<Place>, Option<Extent>),
    ) {
        columns.roles[i] = role;
        columns.place = place.unwrap_or(columns.place);
        if let Some(extent) = extent {
            self.mixed |= self.extent.is_some_and(|before| before != extent);
            self.extent = Some(extent);
            columns.extent = extent;
        }
    }
}
