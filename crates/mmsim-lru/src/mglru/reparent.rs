//! Pages of a removed memory cgroup go to the one above it.
//!
//! Both get as many generations as there can be, without a walk of page tables. Then each generation
//! of the removed cgroup is appended to that of the other, counted from the youngest.
//!
//! Source: Linux 7.3 mm/vmscan.c (`max_lru_gen_memcg`, `lru_gen_reparent_memcg`).

use super::Mglru;
use super::lruvec::{GEN_MASK, GenList, gen_bits, gen_of, type_of};
use crate::index::{Evictable, Gen, LruType, LruvecId, MAX_NR_GENS};
use mmsim_core::base::id::{Idx as _, MemcgId};
use mmsim_core::config::ZoneKind;
use mmsim_core::memory::Memory;
use mmsim_core::phys::frames::{FolioId, pages_of};

impl Mglru {
    /// Appends the generations of a removed cgroup to those of the one above it.
    pub(super) fn append_generations(&mut self, mem: &mut Memory, memcg: MemcgId, heir: MemcgId) {
        for node in self.passes.ids() {
            let [from, to] = [memcg, heir].map(|m| self.lruvec_at(node, m));
            self.fill_generations(mem, from);
            self.fill_generations(mem, to);
            for nth in 0..MAX_NR_GENS as u64 {
                self.append_generation(mem, from, to, nth);
            }
            let list = self.lruvecs[from].unevictable;
            for folio in from_head(mem, list) {
                mem.lru_del(folio);
                mem.lru_add_tail(self.lruvecs[to].unevictable, folio);
            }
        }
        mem.reparent(memcg, heir);
    }

    /// Begins generations until both types have as many as there can be.
    fn fill_generations(&mut self, mem: &mut Memory, lv: LruvecId) {
        let lacks =
            |m: &Self| LruType::ALL.iter().any(|&t| m.lruvecs[lv].nr_gens(t) < MAX_NR_GENS as u64);
        while lacks(self) {
            self.lruvecs[lv].mm.seq += 1;
            self.inc_max_seq(mem, lv, Evictable::Both);
        }
    }

    /// Appends the lists of a generation, the `nth` from the youngest on.
    fn append_generation(&mut self, mem: &mut Memory, from: LruvecId, to: LruvecId, nth: u64) {
        let [own, heirs] = [from, to].map(|lv| Gen::from_seq(self.lruvecs[lv].max_seq - nth));
        for kind in (0..3).map(GenList::from_index) {
            for zone in ZoneKind::ALL {
                let list = self.lruvecs[to].lists[heirs][kind][zone];
                for folio in from_head(mem, self.lruvecs[from].lists[own][kind][zone]) {
                    self.rename(mem, folio, from, to);
                    mem.lru_del(folio);
                    mem.lru_add_tail(list, folio);
                }
            }
        }
    }

    /// A folio names the generation of the other cgroup that is as far from its youngest.
    fn rename(&mut self, mem: &mut Memory, folio: FolioId, from: LruvecId, to: LruvecId) {
        let bits = mem.frames.bits(folio);
        let Some(own) = gen_of(bits) else { return };
        let [youngest, heirs] = [from, to].map(|lv| self.lruvecs[lv].max_seq);
        let gens = MAX_NR_GENS as u64;
        let behind = (youngest % gens + gens - u64::from(own.0)) % gens;
        let named = Gen::from_seq(heirs - behind);
        let (t, zone, pages) = (type_of(bits), Self::zone_of(mem, folio), pages_of(bits));
        self.shrink_gen(from, own, t, zone, pages);
        self.grow_gen(to, named, t, zone, pages);
        mem.frames.change(folio, GEN_MASK, gen_bits(named));
    }
}

/// The folios of a list, from its head on.
fn from_head(mem: &Memory, list: mmsim_core::base::id::ListId) -> Vec<FolioId> {
    let mut folios: Vec<_> = mem.lru.lists.iter_from_tail(list).collect();
    folios.reverse();
    folios
}
