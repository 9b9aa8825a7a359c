//! Choosers in Rust: FIFO, MRU, LFU by samples, and S3-FIFO.
//!
//! They decide as the policies that cache_ext was published with, by the rules of its list verbs. A
//! walk over a list looks at 4,096 folios at most and ends when 32 are offered, however many the
//! kernel wants. A sample needs as many folios as it is to compare. Each is a file of its own that
//! reads like its algorithm; [`Queues`] has the lists.
//!
//! Source: descriptions of the algorithms; S3-FIFO: Yang and others, SOSP '23. The artefact of
//! cache_ext (SOSP '25) for the order of their steps.

mod fifo;
mod lfu;
mod mru;
mod queues;
mod s3_fifo;
mod watched;

pub use fifo::Fifo;
pub use lfu::Lfu;
pub use mru::Mru;
pub use queues::Queues;
pub use s3_fifo::S3Fifo;
use watched::Watched;

use mmsim_core::memory::Memory;
use mmsim_core::phys::frames::{FolioId, flag};
use mmsim_core::policy::chooser::{ChooserOptions, ChooserValue, FileChooser};

/// Beginning of the names of choosers in Rust.
pub const BUILTIN: &str = "builtin:";

/// The largest number that can be set.
const MOST_SET: i64 = u32::MAX as i64;

/// Folios that a walk over a list looks at.
const MOST_WALKED: usize = 4096;

/// Makes a chooser of options that hold for it.
type Make = fn(&Options<'_>) -> Box<dyn FileChooser>;

/// The choosers: name, the numbers that can be set, and the maker.
const ALL: [(&str, &[&str], Make); 4] = [
    ("fifo", &[], |o| Box::new(Fifo::new(o.watched()))),
    ("mru", &[], |o| Box::new(Mru::new(o.watched()))),
    ("lfu", &["sample_size"], |o| {
        let sample = o.number("sample_size").unwrap_or(lfu::SAMPLE);
        Box::new(Lfu::new(o.watched(), sample as usize))
    }),
    ("s3-fifo", &["cache_size"], |o| {
        let size = o.number("cache_size").or(o.given.max_pages).unwrap_or(u64::from(u32::MAX));
        Box::new(S3Fifo::new(o.watched(), size))
    }),
];

struct Options<'a> {
    given: &'a ChooserOptions,
}

impl Options<'_> {
    fn watched(&self) -> Watched {
        Watched::new(&self.given.watch)
    }
    fn number(&self, name: &str) -> Option<u64> {
        self.given.set.iter().find(|(n, _)| n == name).and_then(|(_, v)| match v {
            ChooserValue::Number(n) => u64::try_from(*n).ok(),
            ChooserValue::Text(_) => None,
        })
    }
}

/// Names of the choosers in Rust.
pub fn builtin_names() -> impl Iterator<Item = String> {
    ALL.iter().map(|(name, ..)| format!("{BUILTIN}{name}"))
}

/// An option of the scenario that a chooser in Rust does not take.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadOption {
    /// Its key in `cache-ext`.
    pub key: String,
    /// The mistake.
    pub found: String,
    /// Text to write instead.
    pub write: String,
}

/// The chooser in Rust of a name, without [`BUILTIN`].
///
/// # Errors
/// There is none of that name, or an option is not one of its.
pub fn builtin(name: &str, given: &ChooserOptions) -> Result<Box<dyn FileChooser>, BadOption> {
    let bad = |key: &str, found: String, write: String| {
        Err(BadOption { key: key.to_string(), found, write })
    };
    let Some((_, numbers, make)) = ALL.iter().find(|(n, ..)| *n == name) else {
        let known = builtin_names().collect::<Vec<_>>().join(", ");
        return bad("module", format!("there is no `{BUILTIN}{name}`"), format!("one of {known}"));
    };
    for (key, value) in &given.set {
        let at = format!("set.{key}");
        if !numbers.contains(&&**key) {
            let write = match numbers {
                [] => "nothing there".to_string(),
                all => all.join(", "),
            };
            return bad(&at, format!("`{BUILTIN}{name}` has nothing of this name"), write);
        }
        if !matches!(value, ChooserValue::Number(1..=MOST_SET)) {
            let write = format!("a number from 1 to {MOST_SET}");
            return bad(&at, "it is out of range".to_string(), write);
        }
    }
    let without = [("maps", given.maps.is_empty()), ("on-event", given.on_event.is_empty())];
    match without.into_iter().find(|(_, none)| !none) {
        Some((key, _)) => {
            let write = "`module`, `watch` and `set` alone".to_string();
            bad(key, format!("`{BUILTIN}{name}` has none"), write)
        }
        None => Ok(make(&Options { given })),
    }
}

/// True if a folio is read and on a list, so that it could go.
fn is_ready(mem: &Memory, folio: FolioId) -> bool {
    mem.frames.bits(folio) & (flag::LRU | flag::LOCKED) == flag::LRU
}

/// True if evicting a folio takes no write.
fn is_clean(mem: &Memory, folio: FolioId) -> bool {
    !mem.frames.has(folio, flag::DIRTY | flag::WRITEBACK)
}
