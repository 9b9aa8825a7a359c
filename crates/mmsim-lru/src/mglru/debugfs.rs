//! Aging and eviction by command, settings that are written while a machine runs, and what the policy
//! knows: the kernel's debugging interface.
//!
//! Whoever tests or studies the policy wants single steps, whatever budgets and priorities say.
//!
//! Source: Linux 6.12 mm/vmscan.c (`lru_gen_seq_write`, `run_aging`, `run_eviction`,
//! `min_ttl_ms_store`, `enabled_store`). Left out: a step by command wakes no flusher.

use super::Mglru;
use super::lruvec::{GenList, gen_of};
use super::pass::Budget;
use super::rates::{Period, Rates};
use crate::index::{ANON, Evictable, FILE, Gen, LruType, MAX_NR_GENS, MIN_NR_GENS};
use mmsim_core::base::id::{MemcgId, NodeId};
use mmsim_core::config::ZoneKind;
use mmsim_core::memory::Memory;
use mmsim_core::phys::frames::FolioId;
use mmsim_core::policy::{LruGenWritten, ReclaimOutcome, ReclaimRequest, Reclaimer};
use mmsim_core::workload::LruGen;

/// Bits of `enabled` (`LRU_GEN_MM_WALK`, `LRU_GEN_NONLEAF_YOUNG`).
const MM_WALK: u8 = 2;
const NONLEAF_YOUNG: u8 = 4;

impl Mglru {
    /// A write to a file of `lru_gen`; eviction goes on by a step.
    pub(super) fn written(&mut self, mem: &mut Memory, write: LruGen) -> LruGenWritten {
        match write {
            LruGen::MinTtl(ms) => self.config.min_ttl_ms = ms,
            LruGen::Enabled(caps) => {
                self.config.walk_mmu = caps & MM_WALK != 0;
                self.config.nonleaf_young = caps & NONLEAF_YOUNG != 0;
            }
            LruGen::Age { memcg, node, max_gen, can_swap, force_scan } => {
                let Some(max_gen) = max_gen else { return LruGenWritten::Refused };
                return self.age_by_command(
                    mem,
                    (node, memcg),
                    max_gen.into(),
                    can_swap,
                    force_scan,
                );
            }
            LruGen::Evict { memcg, node, min_gen, swappiness, pages } => {
                let Some(min_gen) = min_gen else { return LruGenWritten::Refused };
                let wanted = pages.map_or(u64::MAX, u64::from);
                let req = by_command(mem, node, swappiness, wanted);
                return self.evict_by_command(mem, memcg, min_gen.into(), &req);
            }
        }
        LruGenWritten::Done
    }

    /// Creates a generation if the youngest is `max_gen`. Another thread may have made a younger
    /// one: then nothing is done.
    fn age_by_command(
        &mut self,
        mem: &mut Memory,
        (node, memcg): (NodeId, MemcgId),
        max_gen: u64,
        can_swap: Option<bool>,
        force: bool,
    ) -> LruGenWritten {
        let lv = self.lruvec_at(node, memcg);
        let can_swap = can_swap.unwrap_or_else(|| {
            self.swappiness(mem, lv, &by_command(mem, node, None, u64::MAX)) > 0
        });
        let v = &self.lruvecs[lv];
        let oldest = v.min_seq[if can_swap { ANON } else { FILE }];
        let full = oldest + MAX_NR_GENS as u64 - 1 <= v.max_seq;
        if max_gen > v.max_seq || max_gen == v.max_seq && full && !force {
            return LruGenWritten::Refused;
        }
        if max_gen == v.max_seq {
            self.run_aging(mem, (node, memcg), can_swap, force);
        }
        LruGenWritten::Done
    }

    /// One step of the eviction of all generations up to `min_gen`.
    fn evict_by_command(
        &mut self,
        mem: &mut Memory,
        memcg: MemcgId,
        min_gen: u64,
        req: &ReclaimRequest,
    ) -> LruGenWritten {
        let lv = self.lruvec_at(req.node, memcg);
        let swappiness = match req.swappiness {
            // As the command says, whether or not there is room in swap.
            Some(given) => given.into(),
            None => self.swappiness(mem, lv, req),
        };
        let types = Evictable::of(swappiness);
        let v = &self.lruvecs[lv];
        if min_gen + MIN_NR_GENS > v.max_seq {
            return LruGenWritten::Refused;
        }
        let oldest = types.types().iter().map(|&t| v.min_seq[t]).min();
        if req.target == 0 || oldest.is_none_or(|oldest| min_gen < oldest) {
            return LruGenWritten::Done;
        }
        let mut pass = self.begin(mem, req, false);
        pass.walks = true;
        let mut out = ReclaimOutcome::default();
        match self.evict_folios(mem, lv, swappiness, u64::MAX, req, &pass, &mut out) {
            0 => LruGenWritten::Done,
            _ => LruGenWritten::Evicted(out.reclaimed),
        }
    }

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
        let mut pass = self.begin(mem, req, matches!(req.by, Reclaimer::Kswapd));
        pass.walks = walks;
        let (all, out) = (u64::MAX, &mut ReclaimOutcome::default());
        self.evict_folios(mem, lv, swappiness, all, req, &pass, out)
    }

    /// Number of pages of a group that a pass at the request's priority may look at. `None`: it
    /// created a generation instead.
    pub fn run_budget(
        &mut self,
        mem: &mut Memory,
        memcg: MemcgId,
        req: &ReclaimRequest,
    ) -> Option<u64> {
        let lv = self.lruvec_at(req.node, memcg);
        let types = Evictable::of(self.swappiness(mem, lv, req));
        let mut pass = self.begin(mem, req, matches!(req.by, Reclaimer::Kswapd));
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
            zones.iter().rev().flat_map(|&l| mem.lru.lists.iter_from_tail(l)).collect();
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

/// Request of a command of eviction to the policy.
fn by_command(mem: &Memory, node: NodeId, swappiness: Option<u8>, target: u64) -> ReclaimRequest {
    let priority = mem.given.first_priority;
    let whole = ReclaimRequest::direct(node, ZoneKind::Movable);
    ReclaimRequest { priority, target, swappiness, ..whole }
}
