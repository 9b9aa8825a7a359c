//! At most two bits for each folio: how often it was accessed through descriptors beyond the accesses
//! that its flags tell (`LRU_REFS_MASK`).
//!
//! Few machines read the same file pages that often, so the bits exist from the first count on.

use mmsim_core::phys::frames::FolioId;

/// The counters. What a counter says is valid only while the folio's flags say so: whoever sets
/// the flag sets the counter.
#[derive(Clone, Debug, Default)]
pub(super) struct AccessCounts(Vec<u8>);

impl AccessCounts {
    /// A counter.
    #[inline]
    pub(super) fn get(&self, folio: FolioId) -> u32 {
        let byte = self.0.get((folio.0 / 4) as usize).copied().unwrap_or(0);
        u32::from(byte >> (2 * (folio.0 % 4)) & 3)
    }
    /// Sets a counter. One that does not exist yet is 0.
    pub(super) fn set(&mut self, folio: FolioId, n: u32) {
        if let Some(byte) = self.0.get_mut((folio.0 / 4) as usize) {
            let shift = 2 * (folio.0 % 4);
            *byte = *byte & !(3 << shift) | (n as u8) << shift;
        }
    }
    /// Counts one more, up to `most`, on a machine of `nr_frames`.
    pub(super) fn add(&mut self, folio: FolioId, most: u32, nr_frames: usize) {
        self.raise(folio, (self.get(folio) + 1).min(most), nr_frames);
    }
    /// Sets a counter, on a machine of `nr_frames`.
    pub(super) fn raise(&mut self, folio: FolioId, n: u32, nr_frames: usize) {
        if self.0.is_empty() {
            self.0.resize(nr_frames.div_ceil(4), 0);
        }
        self.set(folio, n);
    }
    /// Clears counters.
    pub(super) fn clear_all(&mut self, folios: &[FolioId]) {
        if !self.0.is_empty() {
            folios.iter().for_each(|&f| self.set(f, 0));
        }
    }
}
