//! Which CPU is next: a winner tree over their clocks.
//!
//! Every CPU that has something to run is a leaf: its clock, then what it would run (kernel
//! threads before threads of workloads, these by number), then its number, packed into one
//! word, so that a comparison decides ties as well. An inner node is the smaller of its two
//! children; the root is the next CPU. A change costs one walk to the root, so a thousand
//! CPUs cost ten steps where a search would look at a thousand.
//!
//! While a CPU acts it is out of the tree; the root is then the earliest of the others.

use crate::base::id::{CpuId, Idx as _, ThreadId};
use crate::base::time::SimTime;
use crate::machine::cpu::sched::Cpu;
use crate::machine::cpu::thread::Entity;

/// The rank of the first thread of a workload.
const THREADS: u64 = 1 << 20;

/// An empty leaf.
const NOBODY: u128 = u128::MAX;

/// The order of CPUs.
#[derive(Clone, Debug)]
pub(in crate::machine) struct Order {
    /// Node 1 is the root, the children of `i` are `2 i` and `2 i + 1`.
    nodes: Vec<u128>,
    /// The CPU that acts now.
    acting: Option<CpuId>,
}

/// The place of an idle CPU, or of one that would run something.
#[inline]
fn key(cpu: CpuId, state: &Cpu) -> u128 {
    state.next().map_or(NOBODY, |e| key_of(cpu, state.clock, e))
}

/// The place of a CPU that would run an entity.
#[inline]
pub(in crate::machine) fn key_of(cpu: CpuId, clock: SimTime, entity: Entity) -> u128 {
    let rank = match entity {
        Entity::Kswapd(n) => u64::from(n.0),
        Entity::Kcompactd(n) => (1 << 8) + u64::from(n.0),
        Entity::Flusher(d) => (1 << 9) + u64::from(d.0),
        Entity::Kdamond(k) => (1 << 10) + u64::from(k.0),
        Entity::ZswapWorker => 1 << 11,
        Entity::Thread(t) => THREADS + u64::from(t.0),
    };
    u128::from(clock.0) << 64 | u128::from(rank << 16 | u64::from(cpu.0))
}

impl Order {
    /// Order of `cpus` CPUs, all idle.
    pub(in crate::machine) fn new(cpus: usize) -> Self {
        assert!(cpus <= 1 << 16, "{cpus} CPUs: at most 65536");
        Order { nodes: vec![NOBODY; 2 * cpus.next_power_of_two()], acting: None }
    }
    /// The CPU that acts next, and its clock.
    #[inline]
    pub(in crate::machine) fn first(&self) -> Option<(CpuId, SimTime)> {
        let first = self.nodes[1];
        (first != NOBODY).then_some((CpuId(first as u16), SimTime((first >> 64) as u64)))
    }
    /// The CPU that acts next, the acting one not counted, and the thread that it would run: by their
    /// numbers, if it is not a kernel thread.
    #[inline]
    pub(in crate::machine) fn next_thread(&self) -> Option<(CpuId, ThreadId)> {
        let first = self.nodes[1] as u64;
        let rank = first >> 16;
        let thread = ThreadId(rank.checked_sub(THREADS)? as u32);
        (self.nodes[1] != NOBODY).then_some((CpuId(first as u16), thread))
    }
    /// The earliest clock of a busy CPU, the acting one not counted.
    #[inline]
    pub(in crate::machine) fn earliest(&self) -> SimTime {
        SimTime((self.nodes[1] >> 64) as u64)
    }
    /// True if the acting CPU is earlier than all others, so that it acts next again.
    #[inline]
    pub(in crate::machine) fn is_before_others(&self, cpu: CpuId, state: &Cpu) -> bool {
        key(cpu, state) < self.nodes[1]
    }
    /// The place of a CPU that does not act now: the smaller, the earlier.
    pub(in crate::machine) fn key_at(&self, cpu: CpuId) -> u128 {
        self.nodes[self.nodes.len() / 2 + cpu.index()]
    }
    /// A CPU acts from now on, until it is [`Order::acted`].
    pub(in crate::machine) fn acts(&mut self, cpu: CpuId) {
        self.acting = Some(cpu);
        self.put(cpu, NOBODY);
    }
    /// The acting CPU has done its step.
    pub(in crate::machine) fn acted(&mut self, cpu: CpuId, state: &Cpu) {
        debug_assert_eq!(self.acting, Some(cpu));
        self.acting = None;
        self.put(cpu, key(cpu, state));
    }
    /// The clock of a CPU changed, or what it runs. The order of the acting CPU is not needed.
    pub(in crate::machine) fn changed(&mut self, cpu: CpuId, state: &Cpu) {
        if self.acting != Some(cpu) {
            self.put(cpu, key(cpu, state));
        }
    }
    fn put(&mut self, cpu: CpuId, key: u128) {
        let mut i = self.nodes.len() / 2 + cpu.index();
        self.nodes[i] = key;
        while i > 1 {
            let winner = self.nodes[i].min(self.nodes[i ^ 1]);
            i /= 2;
            self.nodes[i] = winner;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::{IndexVec, NodeId};
    use crate::base::rng::Rng;
    use crate::base::rules::Scheduler;
    use crate::base::time::SimDuration;
    use crate::machine::cpu::sched::Tunables;

    /// Random clocks and entities against a search for the smallest.
    #[test]
    fn the_root_is_what_a_search_finds() {
        let mut rng = Rng::for_purpose(1, "order");
        for cpus in [1usize, 2, 3, 8, 13, 100] {
            let tunables = Tunables::of(Scheduler::Eevdf, 1, SimDuration::from_millis(4));
            let mut all = IndexVec::filled(cpus, Cpu::new(tunables));
            let mut order = Order::new(cpus);
            for _ in 0..2000 {
                let cpu = CpuId::from_index(rng.below(cpus as u64) as usize);
                let c = &mut all[cpu];
                c.clock = SimTime(rng.below(5));
                let current = match rng.below(4) {
                    0 => None,
                    1 => Some(Entity::Kswapd(NodeId::from_index(cpu.index()))),
                    _ => Some(Entity::Thread(ThreadId((cpus - cpu.index()) as u32))),
                };
                c.run(current);
                order.changed(cpu, c);
                let busy = |without: Option<CpuId>| {
                    let ids = all.ids().filter(move |&i| Some(i) != without);
                    ids.filter(|&i| all[i].current().is_some())
                        .min_by_key(|&i| (all[i].clock, all[i].current(), i))
                };
                assert_eq!(order.first(), busy(None).map(|i| (i, all[i].clock)));
                order.acts(cpu);
                let others = busy(Some(cpu)).map_or(SimTime::NEVER, |i| all[i].clock);
                assert_eq!(order.earliest(), others);
                let next = busy(Some(cpu)).and_then(|i| match all[i].current()? {
                    Entity::Thread(t) => Some((i, t)),
                    _ => None,
                });
                assert_eq!(order.next_thread(), next);
                order.acted(cpu, &all[cpu]);
            }
        }
    }
}
