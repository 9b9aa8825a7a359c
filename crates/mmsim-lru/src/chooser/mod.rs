//! Choosers in Rust: FIFO, MRU, LFU by samples, and S3-FIFO.
//!
//! They decide as the policies that cache_ext was published with, with its list verbs as
//! rules: a walk over a list looks at 4,096 folios at most and ends when 32 are offered, however many
//! are asked for, and a sample needs as many folios as it is to compare. Each is a file of its own
//! that reads like its algorithm; [`Queues`] has the lists.
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

/// What names of choosers in Rust begin with.
pub const BUILTIN: &str = "builtin:";

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

/// The chooser in Rust of a name, without [`BUILTIN`].
///
/// # Errors
/// There is none of that name, or an option is not one of its: what was found, and what to write
/// instead.
pub fn builtin(name: &str, given: &ChooserOptions) -> Result<Box<dyn FileChooser>, [String; 2]> {
    let known = builtin_names().collect::<Vec<_>>().join(", ");
    let Some((_, numbers, make)) = ALL.iter().find(|(n, ..)| *n == name) else {
        return Err([format!("there is no `{BUILTIN}{name}`"), format!("one of {known}")]);
    };
    for (key, value) in &given.set {
        let write = match numbers {
            [] => "none: it has nothing to set".to_string(),
            all => format!("one of {}, with a number above 0", all.join(", ")),
        };
        let holds = matches!(value, ChooserValue::Number(1..)) && numbers.contains(&&**key);
        if !holds {
            return Err([format!("`set.{key}` does not fit `{BUILTIN}{name}`"), write]);
        }
    }
    if !given.maps.is_empty() || !given.on_event.is_empty() {
        let found = format!("`{BUILTIN}{name}` has neither maps nor events");
        return Err([found, "`module`, `watch` and `set` alone".to_string()]);
    }
    Ok(make(&Options { given }))
}

/// True if a folio is read and on a list, so that it could go.
fn is_ready(mem: &Memory, folio: FolioId) -> bool {
    mem.frames.bits(folio) & (flag::LRU | flag::LOCKED) == flag::LRU
}

/// True if evicting a folio takes no write.
fn is_clean(mem: &Memory, folio: FolioId) -> bool {
    !mem.frames.has(folio, flag::DIRTY | flag::WRITEBACK)
}
