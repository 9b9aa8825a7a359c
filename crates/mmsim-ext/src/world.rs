//! The machine as a policy sees it: flags of folios, and files behind pages.

use mmsim::base::id::{FileId, PAGE_SIZE, PageIdx};
use mmsim::memory::Memory;
use mmsim::phys::frames::FolioId;

/// Facts about a page of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileFacts<'a> {
    /// The file.
    pub file: FileId,
    /// The number of the page in the file.
    pub index: u32,
    /// The file's name.
    pub name: &'a str,
    /// The file's size in pages.
    pub pages: u32,
}

impl FileFacts<'_> {
    /// `i_ino` of the file: files are numbered from 1.
    pub(crate) fn ino(&self) -> u64 {
        u64::from(self.file.0) + 1
    }

    /// `i_size` of the file.
    pub(crate) fn bytes(&self) -> u64 {
        u64::from(self.pages) * PAGE_SIZE
    }
}

/// Whoever knows folios and files: [`Memory`], or a test.
pub trait World {
    /// The flags of a folio, as frames have them.
    fn flags(&self, folio: FolioId) -> u32;
    /// The file behind a page of the cache.
    fn file(&self, page: PageIdx) -> FileFacts<'_>;
    /// The page of that number in a file.
    fn page(&self, file: FileId, index: u32) -> PageIdx;
}

impl World for Memory {
    fn flags(&self, folio: FolioId) -> u32 {
        self.frames.bits(folio)
    }

    fn file(&self, page: PageIdx) -> FileFacts<'_> {
        let (file, index) = self.file_at(page);
        let of = &self.cache.files[file];
        FileFacts { file, index, name: &of.name, pages: of.pages }
    }

    fn page(&self, file: FileId, index: u32) -> PageIdx {
        PageIdx(self.cache.files[file].base.0 + index)
    }
}
