//! Witnesses of what MGLRU takes over from classic LRU: each says first what is expected, and why.

use super::witness::{KSWAPD, V, both, near_refault, steps};
use crate::harness::memory::small_machine;
use crate::harness::{self, Policy, Steps};
use mmsim_core::base::id::{MemcgId, NodeId};
use mmsim_core::base::vmstat::VmEvent;
use mmsim_lru::MglruConfig;
use mmsim_lru::classic::formulas::{CostState, cost612};
use mmsim_lru::index::{ANON, FILE, PerType};
use mmsim_lru::mglru::rates::by_cost;
use mmsim_lru::settings::Settings as _;

/// With three generations left: 200 pages are old and none is young, so there are inactive ones
/// enough. Once 300 young ones stand beside them, there are not.
#[test]
fn the_active_ratio_wants_a_generation_when_few_are_inactive() {
    let wanted = |young: u32| {
        both(V, &[], "aging-rule", ["gens-only", "ratio"], |mut r| {
            (0..200).for_each(|i| r.touch('A', i, true));
            r.age(true);
            r.age(true);
            (200..200 + young).for_each(|i| r.touch('A', i, true));
            steps(&mut r, 2);
            let [anon, _, before] = r.lru.seqs(NodeId(0), MemcgId(0));
            assert_eq!(before - anon, 2);
            r.shrink(KSWAPD, 11);
            r.lru.seqs(NodeId(0), MemcgId(0))[2] - before
        })
    };
    assert_eq!(wanted(0), [1, 0]);
    assert_eq!(wanted(300), [1, 1]);
}

/// A page of a file comes back after fewer evictions than there are active pages: it would have
/// fitted in their place, and starts in the youngest generation.
#[test]
fn the_distance_of_5_9_activates() {
    let [off, on] = both(V, &[], "refault-distance", ["off", "v5.9"], near_refault);
    assert_ne!(off.0, Some(off.1));
    assert_eq!(on.0, Some(on.1));
}

/// Where nothing has cost anything, both types weigh as much as they have pages. Reading back from
/// swap makes anonymous memory dear, and then files go although there are fewer.
#[test]
fn the_balance_of_costs_takes_the_cheaper_type() {
    let pages = PerType::new([400, 300]);
    let mut cost = CostState::default();
    assert_eq!(by_cost(&cost, pages, 100), ANON);
    cost.add(ANON, cost612(30, 0), 1 << 20);
    assert_eq!(by_cost(&cost, pages, 100), FILE);
    assert_eq!(by_cost(&cost, PerType::new([900, 300]), 100), ANON);
}

/// 240 anonymous pages stand beside a stream through a file, and nothing comes back. Refault rates
/// know nothing then. But each anonymous page has to be written, which costs, and files are dropped
/// for nothing: by costs anonymous memory is spared soon.
#[test]
fn the_balance_of_costs_spares_what_has_to_be_written() {
    let s = Steps::with_file(900).map(0, 300).write(0, 0..240).read_file(0..900);
    let [rates, costs] = ["all-tiers", "cost-6.12"].map(|value| {
        let mut c = MglruConfig::V6_12;
        c.set("type-rule", value).unwrap();
        let machine = small_machine(300, 1200, 5);
        harness::run(&machine, Policy::Mglru(c), std::slice::from_ref(&s)).n(VmEvent::PgScanAnon)
    });
    assert!(costs + 100 < rates, "{costs} {rates}");
}
