//! The form in which a point says where memory was free when it began.

use serde::Deserialize;

/// Where a kernel left memory free when it had booted.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Booted {
    pub(super) zone: Vec<Zone>,
}

#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Zone {
    pub(super) kind: String,
    pub(super) managed: u32,
    pub(super) spanned: u32,
    #[serde(default)]
    pub(super) program: Vec<(u32, u32)>,
    #[serde(default)]
    pub(super) ramfs: Vec<(u32, u32)>,
    #[serde(default)]
    pub(super) unmovable_blocks: Vec<u32>,
    #[serde(default)]
    pub(super) reclaimable_blocks: Vec<u32>,
    #[serde(default)]
    pub(super) free: Vec<List>,
    #[serde(default)]
    pub(super) pcp: Vec<List>,
}

#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct List {
    #[serde(rename = "type")]
    pub(super) migratetype: String,
    pub(super) order: u8,
    pub(super) first: Vec<u32>,
}
