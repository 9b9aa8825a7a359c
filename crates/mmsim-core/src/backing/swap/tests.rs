//! Slots are handed out as the rule for one slot reads.

use super::*;
use crate::backing::device::DeviceConfig;
use crate::base::kernel::Kernel;
use crate::base::rules::KernelRules;
use proptest::prelude::*;

const CPU: CpuId = CpuId(0);

fn swap(slots: u32) -> Swap {
    let zram = DeviceConfig::preset("zram", 1).unwrap();
    Swap::new(slots, Device::new(zram, &KernelRules::of(Kernel::V6_12)), 2, false)
}

/// The rule for one slot as it reads: the next free one of the CPU's cluster, else the
/// first of a free cluster, else of one that has some.
fn take_one(swap: &mut Swap, cpu: CpuId) -> Option<u32> {
    if swap.free == 0 {
        return None;
    }
    loop {
        if let Some((c, next)) = swap.per_cpu[cpu].cluster {
            if let Some(s) = (next..swap.cluster_slots(c).end).find(|&s| swap.state(s) == 0) {
                swap.per_cpu[cpu].cluster = Some((c, s + 1));
                swap.cluster_used[c as usize] += 1;
                swap.free -= 1;
                swap.held += 1;
                *swap.state_mut(s) = HELD;
                return Some(s);
            }
            swap.per_cpu[cpu].cluster = None;
            swap.settle(c);
        }
        let c = match swap.free_clusters.pop_front() {
            Some(c) => c,
            None => swap.pop_nonfull()?,
        };
        swap.cluster_state[c as usize] = ClusterState::Current;
        swap.per_cpu[cpu].cluster = Some((c, swap.cluster_slots(c).start));
    }
}

fn state(s: &Swap) -> impl PartialEq + std::fmt::Debug + use<> {
    let clusters = (s.cluster_used.clone(), s.cluster_state.clone());
    let queues = (s.free_clusters.clone(), s.nonfull.clone());
    let current: Vec<_> = s.per_cpu.iter().map(|c| c.cluster).collect();
    (s.free, s.held, clusters, queues, current)
}

proptest! {
    /// Many slots at a time are those that one at a time would give.
    #[test]
    fn batches_are_slots_one_by_one(
        steps in prop::collection::vec((any::<bool>(), 0..2u16, 0..150usize), 0..80),
    ) {
        let (mut batch, mut single) = (swap(700), swap(700));
        let mut taken = Vec::new();
        for (frees, cpu, n) in steps {
            let cpu = CpuId(cpu);
            if frees {
                for _ in 0..n.min(taken.len()) {
                    let s = taken.swap_remove(n * 31 % taken.len());
                    batch.put_back(s);
                    single.put_back(s);
                }
            } else {
                let mut got = Vec::new();
                batch.take(cpu, n, &mut got);
                let want: Vec<u32> = (0..n).map_while(|_| take_one(&mut single, cpu)).collect();
                prop_assert_eq!(&got, &want);
                taken.extend(got);
            }
            prop_assert_eq!(state(&batch), state(&single));
        }
    }

    /// The fast path of an eviction leaves what the slow path does.
    #[test]
    fn stored_is_set_got_and_uncached(
        shadows in prop::collection::vec(prop::option::of(any::<u32>()), 1..700),
    ) {
        let (mut short, mut long) = (swap(2000), swap(2000));
        let mut evicted = Vec::new();
        for (i, shadow) in shadows.into_iter().enumerate() {
            let shadow = shadow.map(|s| Shadow(s.into()));
            let slot = long.alloc(CPU).unwrap();
            long.set(slot, Cached::Folio(Pfn(i as u32)));
            long.get(slot);
            long.uncache(slot, shadow, CPU);
            prop_assert_eq!(short.pick(CPU), Some(slot));
            evicted.push((slot, shadow));
        }
        short.store(evicted.iter().copied());
        for (s, shadow) in evicted {
            let what = shadow.map_or(Cached::Nothing, Cached::Shadow);
            prop_assert_eq!((short.count(s), short.cached(s)), (1, what));
            prop_assert_eq!((long.count(s), long.cached(s)), (1, what));
        }
        prop_assert_eq!(
            (short.nodes, short.shadow_nodes, short.cached, short.nr_free()),
            (long.nodes, long.shadow_nodes, long.cached, long.nr_free())
        );
        while let Some(oldest) = long.oldest_node() {
            prop_assert_eq!(short.oldest_node(), Some(oldest));
            short.drop_node(oldest.1);
            long.drop_node(oldest.1);
        }
    }
}
