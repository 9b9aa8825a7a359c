//! Description of an lruvec, and the check of its invariants.

use super::Mglru;
use super::config::Lazyfree;
use super::lruvec::{GenList, PerZone, gen_of, type_of};
use crate::index::{ANON, FILE, Gen, LruType, LruvecId, MAX_NR_GENS, MIN_NR_GENS, PerGen, PerType};
use mmsim_core::memory::Memory;
use mmsim_core::phys::frames::{flag, pages_of};
use mmsim_core::policy::Generation;

impl Mglru {
    /// The generations of an lruvec, oldest first, as `/sys/kernel/debug/lru_gen` has them.
    pub(super) fn generations(&self, mem: &Memory, lv: LruvecId) -> Vec<Generation> {
        let v = &self.lruvecs[lv];
        let oldest = v.min_seq[ANON].min(v.min_seq[FILE]);
        let size = |seq: u64, t: LruType| {
            if seq < v.min_seq[t] { 0 } else { v.size(Gen::from_seq(seq), t) }
        };
        let one = |seq| Generation {
            seq,
            age: mem.acting.now.since(v.birth[Gen::from_seq(seq)].min(mem.acting.now)),
            anon: size(seq, ANON),
            file: size(seq, FILE),
        };
        (oldest..=v.max_seq).map(one).collect()
    }

    /// Panics, naming ids, if an invariant does not hold.
    pub(super) fn audit(&self, mem: &Memory) {
        for (node, of_all) in self.halves.pairs() {
            let mut sum: PerType<[u64; 2]> = PerType::default();
            for lv in self.ids.at(node.0) {
                for t in LruType::ALL {
                    let own = self.lruvecs[lv].halves(t);
                    (0..2).for_each(|i| sum[t][i] += own[i]);
                }
            }
            assert_eq!(*of_all, sum, "inactive and active pages of {node} by type");
        }
        for (lv, v) in self.lruvecs.pairs() {
            let mut sizes: PerGen<PerType<PerZone<u64>>> = PerGen::default();
            for t in LruType::ALL {
                let gens = v.nr_gens(t);
                let (from, to) = (MIN_NR_GENS, MAX_NR_GENS as u64);
                assert!((from..=to).contains(&gens), "{lv}: {gens} generations of type {t:?}");
            }
            if self.config.min_seq_coupling {
                assert!(v.min_seq[ANON] <= v.min_seq[FILE], "{lv}: file lags behind anon");
            }
            for (generation, kinds) in v.lists.pairs() {
                for (kind, zones) in kinds.pairs() {
                    for (zone, &list) in zones.pairs() {
                        for f in mem.lru.lists.iter_from_tail(list) {
                            let bits = mem.frames.bits(f);
                            let t = type_of(bits);
                            let named = gen_of(bits)
                                .unwrap_or_else(|| panic!("{f} is listed and names no generation"));
                            assert!(bits & flag::ACTIVE == 0, "{f} is listed and active");
                            // As posted, what was refused may land among file pages.
                            let own = self.list_kind(mem, f, t);
                            let posted = self.config.lazyfree == Lazyfree::ListV2;
                            let astray = kind == GenList::File && own == GenList::Lazyfree;
                            assert!(
                                own == kind || astray && posted,
                                "{f} is on a list of {kind:?}"
                            );
                            assert_eq!(
                                Self::zone_of(mem, f),
                                zone,
                                "{f} is in another zone's list"
                            );
                            assert_eq!(self.lruvec_of(mem, f), lv, "{f} is of another memcg");
                            let behind = (v.max_seq + MAX_NR_GENS as u64 - u64::from(named.0)) % 4;
                            assert!(
                                behind < v.nr_gens(t)
                                    || kind == GenList::Lazyfree && posted
                                    || t == ANON,
                                "{f} of type {t:?} names {named}, {behind} behind the youngest of \
                                 {}, and is on a list of {generation}",
                                v.nr_gens(t)
                            );
                            sizes[named][t][zone] += pages_of(bits);
                        }
                    }
                }
            }
            assert_eq!(sizes, v.nr_pages, "{lv}: sizes of generations");
        }
    }
}
