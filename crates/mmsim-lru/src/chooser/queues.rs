//! Lists of folios, linked by the numbers of their frames. A folio is on one of them at most.

use mmsim_core::base::id::{Idx as _, Pfn};
use mmsim_core::phys::frames::FolioId;

/// No folio.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Link {
    before: u32,
    after: u32,
    /// The list; `NO_LIST`: none.
    list: u8,
}

const NO_LIST: u8 = u8::MAX;
const UNLINKED: Link = Link { before: NONE, after: NONE, list: NO_LIST };

/// Lists of folios, by number.
#[derive(Clone, Debug)]
pub struct Queues {
    links: Vec<Link>,
    /// Head, tail and length of each list.
    lists: Vec<(u32, u32, usize)>,
}

impl Queues {
    /// Some lists without a folio.
    pub fn new(lists: usize) -> Queues {
        Queues { links: Vec::new(), lists: vec![(NONE, NONE, 0); lists] }
    }

    /// Folios of a list.
    pub fn len(&self, list: usize) -> usize {
        self.lists[list].2
    }

    /// True if no list has a folio.
    pub fn is_empty(&self) -> bool {
        self.lists.iter().all(|l| l.2 == 0)
    }

    /// The list that a folio is on.
    pub fn list_of(&self, folio: FolioId) -> Option<usize> {
        let list = self.links.get(folio.index())?.list;
        (list != NO_LIST).then_some(list.into())
    }

    /// The folio at the head of a list.
    pub fn head(&self, list: usize) -> Option<FolioId> {
        some(self.lists[list].0)
    }

    /// The folio behind another one.
    pub fn after(&self, folio: FolioId) -> Option<FolioId> {
        some(self.links[folio.index()].after)
    }

    /// Puts a folio at the head of a list. It leaves the one that it is on.
    pub fn push_head(&mut self, list: usize, folio: FolioId) {
        self.remove(folio);
        self.link(list, folio, NONE, self.lists[list].0);
    }

    /// Puts a folio at the tail of a list. It leaves the one that it is on.
    pub fn push_tail(&mut self, list: usize, folio: FolioId) {
        self.remove(folio);
        self.link(list, folio, self.lists[list].1, NONE);
    }

    fn link(&mut self, list: usize, folio: FolioId, before: u32, after: u32) {
        if self.links.len() <= folio.index() {
            self.links.resize(folio.index() + 1, UNLINKED);
        }
        self.links[folio.index()] = Link { before, after, list: list as u8 };
        let l = &mut self.lists[list];
        match some(before) {
            Some(b) => self.links[b.index()].after = folio.0,
            None => l.0 = folio.0,
        }
        match some(after) {
            Some(a) => self.links[a.index()].before = folio.0,
            None => l.1 = folio.0,
        }
        l.2 += 1;
    }

    /// Takes a folio off its list. False: it is on none.
    pub fn remove(&mut self, folio: FolioId) -> bool {
        let Some(list) = self.list_of(folio) else { return false };
        let Link { before, after, .. } = self.links[folio.index()];
        let l = &mut self.lists[list];
        match some(before) {
            Some(b) => self.links[b.index()].after = after,
            None => l.0 = after,
        }
        match some(after) {
            Some(a) => self.links[a.index()].before = before,
            None => l.1 = before,
        }
        l.2 -= 1;
        self.links[folio.index()] = UNLINKED;
        true
    }
}

fn some(folio: u32) -> Option<FolioId> {
    (folio != NONE).then_some(Pfn(folio))
}
