//! Which regions are mapped now, and that none of one process overlap.
//!
//! Regions of a table may share addresses as long as they are not mapped at the same
//! time: a program that unmaps and maps again is normal. Reader, writer and replay keep
//! this state beside the records.

use std::collections::BTreeMap;

use super::error::TraceError;
use super::table::{Backing, TraceTable};

/// The mapped regions.
#[derive(Clone, Debug)]
pub(super) struct Mappings {
    mapped: Vec<bool>,
    /// By process: first page to (end, region) of what is mapped.
    ranges: Vec<BTreeMap<u64, (u64, u16)>>,
}

impl Mappings {
    /// The state before the first record.
    pub(super) fn at_start(table: &TraceTable) -> Result<Self, TraceError> {
        let mut all = Mappings {
            mapped: vec![false; table.regions.len()],
            ranges: vec![BTreeMap::new(); table.processes.len()],
        };
        for (i, region) in table.regions.iter().enumerate() {
            if region.at_start {
                all.map(table, i as u16)?;
            }
        }
        Ok(all)
    }

    /// True if a region is mapped (or can be used by descriptor).
    #[inline]
    pub(super) fn has(&self, region: u16) -> bool {
        self.mapped[usize::from(region)]
    }

    /// Maps a region of the table.
    pub(super) fn map(&mut self, table: &TraceTable, region: u16) -> Result<(), TraceError> {
        let r = &table.regions[usize::from(region)];
        let bad = |found: String| {
            TraceError::invalid(
                format!("mapping region {region}"),
                found,
                "addresses that no mapped region of the process has",
            )
        };
        if self.has(region) {
            return Err(bad("the same region mapped already".into()));
        }
        if !matches!(r.backing, Backing::Descriptor { .. }) {
            let end = r.start + u64::from(r.pages);
            let ranges = &mut self.ranges[usize::from(r.process)];
            if let Some((_, &(other_end, other))) = ranges.range(..end).next_back()
                && other_end > r.start
            {
                return Err(bad(format!("an overlap with region {other}")));
            }
            ranges.insert(r.start, (end, region));
        }
        self.mapped[usize::from(region)] = true;
        Ok(())
    }

    /// Unmaps a region of the table.
    pub(super) fn unmap(&mut self, table: &TraceTable, region: u16) -> Result<(), TraceError> {
        let r = &table.regions[usize::from(region)];
        if !self.has(region) || matches!(r.backing, Backing::Descriptor { .. }) {
            return Err(TraceError::invalid(
                format!("unmapping region {region}"),
                "a region that is not mapped",
                "a mapped region",
            ));
        }
        self.ranges[usize::from(r.process)].remove(&r.start);
        self.mapped[usize::from(region)] = false;
        Ok(())
    }
}
