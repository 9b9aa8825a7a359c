//! Accessed bits that are looked for elsewhere than at the end of a list: MGLRU's two ways to find
//! pages in use, for the two lists.
//!
//! A scan of an inactive list asks the pages that it meets, one after the other, by the reverse
//! map. MGLRU asks two more questions. Beside a page that was found accessed its neighbours in the
//! page table are looked at, since who is used together often lies together. And before kswapd's
//! first pass all page tables of processes that ran are walked. Here whoever is found so is judged
//! as if the scan had met it, and stays where it is unless that activates it.
//!
//! The walks are those of MGLRU ([`Memory::walk_table`], [`Memory::look_around`]), without a Bloom
//! filter. An accessed bit of an active page that is found so is gone: the scan of the active list
//! does not find it.

use super::Classic;
use super::config::BitsFound;
use super::scan::decide;
use crate::index::{LruType, LruvecId};
use crate::shrink::Judgement;
use mmsim_core::base::id::PageIdx;
use mmsim_core::memory::{Memory, References, WalkScope};
use mmsim_core::phys::frames::{FolioId, flag};
use mmsim_core::policy::ReclaimRequest;

impl Classic {
    /// Looks at the neighbours of pages that a scan of this lruvec found accessed.
    pub(super) fn look_around(&mut self, mem: &mut Memory, lv: LruvecId, pages: &mut Vec<PageIdx>) {
        let (node, memcg) = (self.node_of(mem, self.scope_of_lruvec(lv)), self.ids.memcg(lv));
        let scope = WalkScope { node, memcg, anon: true, listed: true };
        let mut young = Vec::new();
        for page in pages.drain(..) {
            mem.look_around(page, &scope, &mut young);
        }
        self.found_accessed(mem, &young);
    }

    /// Walks page tables before the first pass of kswapd over a node.
    pub(super) fn walk_tables(&mut self, mem: &mut Memory, req: &ReclaimRequest) {
        if self.config.bits_found != BitsFound::Walk || req.priority != mem.given.first_priority {
            return;
        }
        let (mut tables, mut young) = (Vec::new(), Vec::new());
        for memcg in mem.memcgs.ids() {
            let scope = WalkScope { node: req.node, memcg, anon: true, listed: true };
            let spaces: Vec<_> = mem.mm_list(memcg).map(|(_, space)| space).collect();
            for space in spaces {
                tables.clear();
                mem.walk_tables(space, &scope, &mut tables);
                for &table in &tables {
                    mem.charge(mem.given.cost.t_walk_pmd);
                    mem.walk_table(table, &scope, &mut young);
                }
            }
        }
        self.found_accessed(mem, &young);
    }

    /// Folios whose accessed bits were found set, and cleared.
    fn found_accessed(&mut self, mem: &mut Memory, young: &[FolioId]) {
        for &folio in young {
            let bits = mem.frames.bits(folio);
            if bits & (flag::ACTIVE | flag::UNEVICTABLE | flag::IN_BATCH) != 0 {
                continue;
            }
            let r = References { count: 1, ..References::default() };
            let file = mem.frames.is_file_lru(folio);
            let before = bits & flag::REFERENCED != 0;
            let (judgement, mark) = decide(r, before, file, self.config.anon_ref_rule);
            mem.frames.set(folio, mark);
            if judgement == Judgement::Activate {
                let lv = self.lruvec_of(mem, folio);
                if self.config.age_on_scan_activation {
                    self.advance_age(lv, LruType::of(file), mem.frames.pages(folio));
                }
                self.age_by_scan(lv, mem.frames.pages(folio));
                mem.lru_activate(self, folio);
            }
        }
    }
}
