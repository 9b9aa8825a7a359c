//! Slots are handed out as the rule for one slot reads.

use super::*;
use crate::backing::device::DeviceConfig;
use crate::base::kernel::Kernel;
use crate::base::rules::KernelRules;
use proptest::prelude::*;

const CPU: CpuId = CpuId(0);

fn swap(slots: u32) -> Swap {
    let zram = DeviceConfig::preset("zram", 1).unwrap();
    let one = SwapConfig::new(slots, zram);
    Swap::new(&[one], &KernelRules::of(Kernel::V6_12), 2, false)
}

/// The rule for one slot as it reads: the next free one of the CPU's cluster, else the
/// first of a free cluster, else of one that has some, else of one that another CPU works on.
fn take_one(swap: &mut Swap, cpu: CpuId) -> Option<u32> {
    if swap.free == 0 {
        return None;
    }
    loop {
        if let Some((c, next)) = swap.areas[0].current[cpu] {
            if let Some(s) = (next..swap.cluster_slots(c).end).find(|&s| swap.state(s) == 0) {
                swap.areas[0].current[cpu] = Some((c, s + 1));
                swap.cluster_used[c as usize] += 1;
                swap.free -= 1;
                swap.areas[0].free -= 1;
                swap.held += 1;
                *swap.state_mut(s) = HELD;
                return Some(s);
            }
            swap.areas[0].current[cpu] = None;
            swap.settle(c);
        }
        let c = match swap.areas[0].free_clusters.pop_front() {
            Some(c) => c,
            None => match swap.pop_nonfull(0) {
                Some(c) => c,
                None => {
                    let free = |&c: &u32| swap.cluster_slots(c).any(|s| swap.state(s) == 0);
                    swap.areas[0].current.iter().flatten().map(|&(c, _)| c).find(free)?
                }
            },
        };
        swap.cluster_state[c as usize] = ClusterState::Current;
        swap.areas[0].current[cpu] = Some((c, swap.cluster_slots(c).start));
    }
}

fn state(s: &Swap) -> impl PartialEq + std::fmt::Debug + use<> {
    let clusters = (s.cluster_used.clone(), s.cluster_state.clone());
    let a = &s.areas[0];
    let queues = (a.free_clusters.clone(), a.nonfull.clone());
    let current: Vec<_> = a.current.iter().copied().collect();
    (s.free, a.free, s.held, clusters, queues, current)
}

/// Devices with these numbers of slots and priorities, under the rules of a kernel.
fn devices(kernel: Kernel, all: &[(u32, Option<u32>)]) -> Swap {
    let zram = DeviceConfig::preset("zram", 1).unwrap();
    let device =
        |&(slots, priority): &_| SwapConfig { priority, ..SwapConfig::new(slots, zram.clone()) };
    let all: Vec<_> = all.iter().map(device).collect();
    Swap::new(&all, &KernelRules::of(kernel), 1, false)
}

/// The devices of the next `n` slots, and of how many each in a row.
fn runs(swap: &mut Swap, n: usize) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for _ in 0..n {
        let slot = swap.alloc(CPU).expect("there is room");
        swap.get(slot);
        let area = swap.area_of(slot.0);
        match runs.last_mut() {
            Some((last, n)) if *last == area => *n += 1,
            _ => runs.push((area, 1)),
        }
    }
    runs
}

fn priorities(swap: &Swap) -> Vec<i32> {
    swap.areas().iter().map(Area::priority).collect()
}

/// Up to 6.18 defaults go down from -2, whatever others have; later all have -1.
#[test]
fn default_priorities() {
    let all = [(600, None), (600, Some(5)), (600, None)];
    assert_eq!(priorities(&devices(Kernel::V6_12, &all)), [-2, 5, -3]);
    assert_eq!(priorities(&devices(Kernel::V6_18, &all)), [-2, 5, -3]);
    assert_eq!(priorities(&devices(Kernel::V7_3, &all)), [-1, 5, -1]);
}

/// The device with the largest priority fills up before the next gives a slot, and gives slots
/// first again when one of its own comes free.
#[test]
fn the_largest_priority_goes_first() {
    for kernel in [Kernel::V6_12, Kernel::V6_18, Kernel::V7_3] {
        let mut s = devices(kernel, &[(600, None), (600, Some(5)), (700, Some(0))]);
        assert_eq!(runs(&mut s, 1900), [(1, 600), (2, 700), (0, 600)], "{kernel:?}");
        let freed = SwapSlot(s.areas()[2].header() + 7);
        s.put(freed, CPU);
        assert_eq!(s.areas().iter().map(Area::used).collect::<Vec<_>>(), [600, 600, 699]);
        assert_eq!(s.alloc(CPU), Some(freed), "{kernel:?}");
    }
}

/// Equal devices take turns: by 64 slots with a cache, by clusters without.
#[test]
fn equal_priorities_take_turns() {
    let mut cached = devices(Kernel::V6_12, &[(2000, Some(3)), (2000, Some(3))]);
    assert_eq!(runs(&mut cached, 200), [(0, 64), (1, 64), (0, 64), (1, 8)]);
    // The first cluster of a device has its header, and such a cluster goes first.
    let mut clusters = devices(Kernel::V7_3, &[(2047, None), (2047, None)]);
    assert_eq!(runs(&mut clusters, 1600), [(0, 511), (1, 511), (0, 512), (1, 66)]);
    // A rotational device has one cluster for all CPUs, which chooses anew for each slot.
    let hdd = SwapConfig::new(2047, DeviceConfig::preset("hdd", 1).unwrap());
    let mut disks = Swap::new(&[hdd.clone(), hdd], &KernelRules::of(Kernel::V7_3), 1, false);
    assert_eq!(runs(&mut disks, 3), [(0, 1), (1, 1), (0, 1)]);
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
                    batch.per_cpu[cpu].freed.push(s);
                    single.put_back(s);
                }
                batch.flush_freed(cpu);
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
            evicted.push((slot, shadow));
        }
        for some in evicted.chunks(64) {
            let mut slots = [0; 64];
            prop_assert_eq!(short.pick_many(CPU, &mut slots[..some.len()]), some.len());
            let want: Vec<u32> = some.iter().map(|(slot, _)| slot.0).collect();
            prop_assert_eq!(&slots[..some.len()], &want[..]);
            let shadows: Vec<Shadow> = some.iter().map(|e| e.1.unwrap_or(Shadow(0))).collect();
            let leaves = some.iter().rev().fold(0, |all, e| all << 1 | u64::from(e.1.is_some()));
            short.store(&slots[..some.len()], &shadows, leaves);
        }
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

/// Each CPU has a cluster of its own, and whoever comes last gets the slots that are left in those of
/// the others.
#[test]
fn the_last_slots_are_found_in_clusters_of_other_cpus() {
    let mut swap = swap(CLUSTER * 2);
    let mut first = Vec::new();
    swap.take(CpuId(1), 10, &mut first);
    assert_eq!(first, (1..11).collect::<Vec<_>>());
    // Cluster 0 has the header besides, so its slots are 255 and the third cluster has one.
    let mut rest = Vec::new();
    swap.take(CPU, 2 * CLUSTER as usize, &mut rest);
    assert_eq!(rest.len() as u32, 2 * CLUSTER - 10);
    assert_eq!(&rest[..3], [CLUSTER, CLUSTER + 1, CLUSTER + 2]);
    assert_eq!(rest.last(), Some(&(CLUSTER - 1)), "the cluster of the other CPU comes last");
    let mut none = Vec::new();
    swap.take(CpuId(1), 1, &mut none);
    assert_eq!((none, swap.free), (vec![], 0));
    // What comes back goes to whoever asks.
    swap.put_back(5);
    let mut one = Vec::new();
    swap.take(CPU, 3, &mut one);
    assert_eq!(one, [5]);
}

/// Slots that are let go together are slots let go one by one, however many the CPU holds before.
#[test]
fn let_go_together_is_let_go_one_by_one() {
    for (before, n) in [(0, 5), (0, 64), (10, 60), (63, 64), (40, 31)] {
        let (mut single, mut together) = (swap(1000), swap(1000));
        let used = |swap: &mut Swap| -> Vec<SwapSlot> {
            let slots: Vec<_> = (0..before + n).map_while(|_| swap.alloc(CPU)).collect();
            slots.iter().for_each(|&s| swap.get(s));
            slots[..before].iter().for_each(|&s| swap.put_last(s, CPU));
            slots[before..].to_vec()
        };
        let slots = used(&mut single);
        assert_eq!(used(&mut together), slots);
        slots.iter().for_each(|&s| single.put_last(s, CPU));
        let (mut private, _) = together.private_slots();
        assert!(slots.iter().all(|&s| private.take(s) == Some(None)));
        together.let_go(CPU, &slots.iter().map(|s| s.0).collect::<Vec<_>>());
        assert_eq!(state(&together), state(&single), "{n} slots, {before} held");
        let next = |swap: &mut Swap| (0..300).map(|_| swap.alloc(CPU)).collect::<Vec<_>>();
        assert_eq!(next(&mut together), next(&mut single), "{n} slots, {before} held");
    }
}
