//! Aging and eviction by command, and what the policy knows: the kernel's debugging interface.
//!
//! Whoever tests or studies the policy wants single steps, whatever budgets and priorities say.
//!
//! Source: Linux 6.12 mm/vmscan.c (`lru_gen_seq_write`, `run_aging`, `run_eviction`).

use super::Mglru;
use super::lruvec::{GenList, gen_of};
use super::pass::Budget;
use super::rates::{Period, Rates};
use crate::index::{Evictable, Gen, LruType};
use mmsim_core::base::id::{MemcgId, NodeId};
use mmsim_core::memory::Memory;
use mmsim_core::phys::frames::FolioId;
use mmsim_core::policy::{ReclaimOutcome, ReclaimRequest, Reclaimer};

impl Mglru {
    /// Creates a generation, with anonymous memory or without; with `force` nothing is skipped
    /// in page tables. False: it could not be.
    pub fn run_aging(
        &mut self,
        mem: &mut Memory,
        (node, memcg): (NodeId, MemcgId),
        can_swap: bool,
        force: bool,
    ) -> bool {
        let lv = self.lruvec_at(node, memcg);
        let types = if can_swap { Evictable::Both } else { Evictable::File };
        self.age(mem, lv, types, force)
    }

    /// One step of eviction from a group. Returns what counts against a budget: 0 if there is
    /// nothing left to do. `walks`: what is found accessed near others is promoted, as by those
    /// who walk page tables, and not activated.
    pub fn run_eviction(
        &mut self,
        mem: &mut Memory,
        memcg: MemcgId,
        req: &ReclaimRequest,
        walks: bool,
    ) -> u64 {
        let lv = self.lruvec_at(req.node, memcg);
        let swappiness = self.swappiness(mem, lv, req);
        let mut pass = self.begin(req, matches!(req.by, Reclaimer::Kswapd));
        pass.walks = walks;
        let (all, out) = (u64::MAX, &mut ReclaimOutcome::default());
        self.evict_folios(mem, lv, swappiness, all, req, &pass, out)
    }

    /// How many pages of a group a pass at the request's priority may look at. `None`: it created a
    /// generation instead.
    pub fn run_budget(
        &mut self,
        mem: &mut Memory,
        memcg: MemcgId,
        req: &ReclaimRequest,
    ) -> Option<u64> {
        let lv = self.lruvec_at(req.node, memcg);
        let types = Evictable::of(self.swappiness(mem, lv, req));
        let mut pass = self.begin(req, matches!(req.by, Reclaimer::Kswapd));
        loop {
            match self.budget(mem, lv, types, req, &mut pass) {
                Budget::Pages(pages) => return Some(pages),
                Budget::Aged => return None,
                Budget::Walked => {}
            }
        }
    }

    /// Oldest and youngest generations: anonymous, file, youngest.
    pub fn seqs(&self, node: NodeId, memcg: MemcgId) -> [u64; 3] {
        let v = &self.lruvecs[self.lruvec_at(node, memcg)];
        let [anon, file] = *v.min_seq.raw();
        [anon, file, v.max_seq]
    }

    /// Folios of the lists of one kind in a generation, in the order of zones. The last one is
    /// scanned first.
    pub fn list(
        &self,
        mem: &Memory,
        (node, memcg): (NodeId, MemcgId),
        seq: u64,
        kind: GenList,
    ) -> Vec<FolioId> {
        let zones = &self.lruvecs[self.lruvec_at(node, memcg)].lists[Gen::from_seq(seq)][kind];
        let mut folios: Vec<_> =
            zones.iter().rev().flat_map(|&l| mem.lists.iter_from_tail(l)).collect();
        folios.reverse();
        folios
    }

    /// The generation that a folio names; none while it is isolated.
    pub fn generation_of(&self, mem: &Memory, folio: FolioId) -> Option<Gen> {
        gen_of(mem.frames.bits(folio))
    }

    /// Accesses through descriptors that a folio has to its credit, 0 to 4.
    pub fn refs_of(&self, mem: &Memory, folio: FolioId) -> u32 {
        self.refs(folio, mem.frames.bits(folio))
    }

    /// Refault rates of a type, and its current period.
    pub fn rates(&self, node: NodeId, memcg: MemcgId, t: LruType) -> (&Rates, &Period) {
        let v = &self.lruvecs[self.lruvec_at(node, memcg)];
        let rates = &v.rates[t];
        (rates, rates.period(v.min_seq[t], self.config.hist_gens.get()))
    }
}
