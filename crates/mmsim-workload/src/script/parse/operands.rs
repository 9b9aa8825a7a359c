//! Operands of commands: files, regions, ranges, tables and draws, each checked against what
//! exists at that point of the list.

use super::Parser;
use crate::sampler::LinearMap;
use crate::script::lines::Words;
use crate::script::{PageRange, RegionKind, ScriptError, TableRef};
use mmsim_core::workload::{FileSlot, FileSpec, RegionId};

impl Parser {
    /// The slot of a file, equal paths being one.
    pub(super) fn file(&mut self, path: &str, pages: u32) -> FileSlot {
        let files = &mut self.script.files;
        let at = files.iter().position(|f| f.name == path).unwrap_or_else(|| {
            files.push(FileSpec::new(path, pages));
            files.len() - 1
        });
        FileSlot(at as u16)
    }

    /// A mapped region.
    pub(super) fn region(&self, w: &mut Words<'_>) -> Result<RegionId, ScriptError> {
        let number: u16 = w.number("the region", 0..=u16::MAX)?;
        if !self.regions.contains_key(&number) {
            let found = number.to_string();
            return Err(w.error(
                &found,
                "a region that is not mapped here; map it with anon, file or shmem",
            ));
        }
        Ok(RegionId(number))
    }

    /// A region, a first page and a count, all within.
    pub(super) fn range(&self, w: &mut Words<'_>) -> Result<PageRange, ScriptError> {
        let region = self.region(w)?;
        let pages = self.regions[&region.0].pages;
        let first = w.number("the first page", 0..=pages - 1)?;
        let count = w.number("the number of pages", 1..=pages - first)?;
        Ok(PageRange { region, first, count })
    }

    /// A table that exists; with its size.
    pub(super) fn table_slot(&self, w: &mut Words<'_>) -> Result<u16, ScriptError> {
        let slot: u16 = w.number("the table", 0..=u16::MAX)?;
        self.tables.get(&slot).copied().ok_or_else(|| {
            w.error(&slot.to_string(), "a table that does not exist here; make it with `table`")
        })
    }

    /// Multiplier and offset of a draw from `table` that reaches pages of `region`.
    pub(super) fn draw(
        &self,
        region: RegionId,
        table: u16,
        w: &mut Words<'_>,
    ) -> Result<TableRef, ScriptError> {
        let (n, pages) = (self.script.tables[table as usize].ranks, self.regions[&region.0].pages);
        if n > pages {
            let found = format!("table of {n}");
            return Err(w.error(&found, format!("more ranks than the {pages} pages of the region")));
        }
        // With both below 2^31 the product with a rank cannot overflow.
        let mul = w.number("the multiplier", 0..=1 << 31)?;
        let add = w.number("the offset", 0..=1 << 31)?;
        Ok(TableRef { table, map: LinearMap { mul, add, n } })
    }

    /// Files of a script are mapped read-only.
    pub(super) fn writable(&self, region: RegionId, w: &Words<'_>) -> Result<(), ScriptError> {
        match self.regions[&region.0].kind {
            RegionKind::Anon | RegionKind::Shmem(_) => Ok(()),
            RegionKind::File { .. } => {
                let found = region.0.to_string();
                Err(w.error(&found, "a file, which is mapped read-only; write an anon region"))
            }
        }
    }

    pub(super) fn file_behind(
        &self,
        region: RegionId,
        w: &Words<'_>,
    ) -> Result<FileSlot, ScriptError> {
        match self.regions[&region.0].kind {
            RegionKind::File { file, .. } | RegionKind::Shmem(file) => Ok(file),
            RegionKind::Anon => {
                let found = region.0.to_string();
                Err(w.error(
                    &found,
                    "anonymous memory, which has no descriptor; write a file region",
                ))
            }
        }
    }
}
