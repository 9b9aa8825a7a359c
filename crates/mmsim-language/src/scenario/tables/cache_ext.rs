//! `cache-ext` of a group or of the machine: the chooser of its file folios.

use super::key;
use super::settings::{EVENTS, GLOBALS};
use crate::scenario::keys::{Fallback, KeySpec, Kind, TableSpec};
use crate::scenario::rows::rows;

use Fallback::{Auto, Required};
use Kind::{CountOr, File, Regions, Rows, Texts};

/// The key of a group and of the machine.
pub(super) const CACHE_EXT_KEY: &[KeySpec] = &[key(
    "cache-ext",
    Kind::Table(&CACHE_EXT),
    Auto("none"),
    "policy that chooses file folios ahead of the classic LRU; cache_ext has none for the root",
)];

rows! {
    /// `[machine.memcg.cache-ext]`.
    CACHE_EXT,
    "[machine.memcg.cache-ext]",
    "A policy that chooses file folios of the group ahead of its LRU, as cache_ext does. See docs/cache-ext.md.";
    keys {
        ("module", File, Required,
            "file of the policy, or one of `builtin:fifo`, `builtin:mru`, `builtin:lfu`, `builtin:s3-fifo`")
        ("watch", Texts, Auto("all files"), "names of the files that it is for, with `*` for any text")
        ("set", Rows(&GLOBALS), Auto("its own values"), "values of its globals, by name")
        ("maps", Regions(&CACHE_EXT_MAP), Auto("as it has them"), "its maps, by name")
        ("on-event", Rows(&EVENTS), Auto("none"), "ring buffers, each with the program that its entries run")
    }
}

rows! {
    /// A map of `[machine.memcg.cache-ext]`.
    CACHE_EXT_MAP,
    "[machine.memcg.cache-ext.maps.NAME]",
    "What the loader of a policy does to one of its maps.";
    keys {
        ("entries", CountOr(PAGES_OF_MAX), Auto("as in the module"),
            "its size; `pages of max` is the limit of the group")
        ("threads", Texts, Auto("none"), "tasks and threads whose numbers are its keys")
    }
}

/// The value that stands for `memory.max` of the group.
pub(in crate::scenario) const PAGES_OF_MAX: &str = "pages of max";
