//! The reverse map: from a frame to the PTEs that map it.
//!
//! Most folios are mapped once, and one word says where. Folios that are mapped more than
//! once (pages of shared files) have a handle there into a side table of short vectors,
//! in order of mapping.

use crate::base::id::{PageIdx, Pfn};
use crate::phys::frames::{Frames, Mapped};

/// Mappings of one shared folio.
#[derive(Clone, Debug, Default)]
struct Many {
    /// The page of the file.
    file: u32,
    ptes: Vec<u32>,
}

/// The side table for folios that are mapped more than once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rmap {
    many: Vec<Many>,
    free: Vec<u32>,
}

/// The mappings of a folio: either none, one, or a handle to look up one by one.
#[derive(Clone, Copy, Debug)]
pub enum Mappings {
    /// Up to one page.
    Few(Option<PageIdx>),
    /// A number of pages behind a handle.
    Many(u32, u32),
}

impl Rmap {
    /// Adds a mapping of `folio`. `file` is the folio's place in its file, if it has one.
    #[inline]
    pub(crate) fn add(
        &mut self,
        frames: &mut Frames,
        folio: Pfn,
        pte: PageIdx,
        file: Option<PageIdx>,
    ) {
        if frames.mapped(folio) == Mapped::No {
            frames.rmap[folio] = pte.0;
            frames.set_mapped(folio, Mapped::Once);
        } else {
            self.share(frames, folio, pte, file);
        }
    }

    /// Adds a mapping of a folio that is mapped.
    #[inline(never)]
    fn share(&mut self, frames: &mut Frames, folio: Pfn, pte: PageIdx, file: Option<PageIdx>) {
        match frames.mapped(folio) {
            Mapped::No => unreachable!("{folio} is mapped nowhere"),
            Mapped::Once => {
                let first = frames.rmap[folio];
                let entry = Many { file: file.map_or(u32::MAX, |f| f.0), ptes: vec![first, pte.0] };
                let h = match self.free.pop() {
                    Some(h) => {
                        self.many[h as usize] = entry;
                        h
                    }
                    None => {
                        self.many.push(entry);
                        (self.many.len() - 1) as u32
                    }
                };
                frames.rmap[folio] = h;
                frames.set_mapped(folio, Mapped::Many);
            }
            Mapped::Many => self.many[frames.rmap[folio] as usize].ptes.push(pte.0),
        }
    }

    /// Removes a mapping. `file` is where the word points once nothing is mapped.
    ///
    /// # Panics
    /// If the folio is not mapped there.
    #[inline]
    pub(crate) fn remove(
        &mut self,
        frames: &mut Frames,
        folio: Pfn,
        pte: PageIdx,
        file: Option<PageIdx>,
    ) {
        match frames.mapped(folio) {
            Mapped::No => panic!("{folio} is not mapped at {pte}"),
            Mapped::Once => {
                assert_eq!(frames.rmap[folio], pte.0, "{folio} is not mapped at {pte}");
                frames.rmap[folio] = file.map_or(u32::MAX, |f| f.0);
                frames.set_mapped(folio, Mapped::No);
            }
            Mapped::Many => self.unshare(frames, folio, pte),
        }
    }

    /// Removes one of several mappings.
    #[inline(never)]
    fn unshare(&mut self, frames: &mut Frames, folio: Pfn, pte: PageIdx) {
        let h = frames.rmap[folio];
        let m = &mut self.many[h as usize];
        let i = m.ptes.iter().position(|&p| p == pte.0);
        m.ptes.remove(i.unwrap_or_else(|| panic!("{folio} is not mapped at {pte}")));
        if m.ptes.len() == 1 {
            frames.rmap[folio] = m.ptes[0];
            frames.set_mapped(folio, Mapped::Once);
            m.ptes = Vec::new();
            self.free.push(h);
        }
    }

    /// The mappings of a folio, to walk with [`Rmap::nth`].
    #[inline]
    pub(crate) fn of(&self, frames: &Frames, folio: Pfn) -> Mappings {
        match frames.mapped(folio) {
            Mapped::No => Mappings::Few(None),
            Mapped::Once => Mappings::Few(Some(PageIdx(frames.rmap[folio]))),
            Mapped::Many => {
                let h = frames.rmap[folio];
                Mappings::Many(h, self.many[h as usize].ptes.len() as u32)
            }
        }
    }

    /// Number of mappings.
    #[inline]
    pub(crate) fn count(&self, frames: &Frames, folio: Pfn) -> u32 {
        match self.of(frames, folio) {
            Mappings::Few(p) => u32::from(p.is_some()),
            Mappings::Many(_, n) => n,
        }
    }

    /// The i-th mapping, in order of mapping.
    #[inline]
    pub(crate) fn nth(&self, m: Mappings, i: u32) -> Option<PageIdx> {
        match m {
            Mappings::Few(p) => {
                if i == 0 {
                    p
                } else {
                    None
                }
            }
            Mappings::Many(h, n) => {
                (i < n).then(|| PageIdx(self.many[h as usize].ptes[i as usize]))
            }
        }
    }

    /// The place in its file of a folio that is mapped more than once.
    pub(crate) fn file_of_many(&self, frames: &Frames, folio: Pfn) -> PageIdx {
        PageIdx(self.many[frames.rmap[folio] as usize].file)
    }
}
