//! Who waits for a CPU: a tree of minima.
//!
//! Each that waits has a leaf; an inner node knows the least runtime, deadline and time to be ready
//! of all below it. Coming and going change one path to the root. The search for the first that may
//! run begins at the root and skips all nodes without one, so a choice among thousands costs little
//! more than one among a few. Among equals the first to come is first.
//!
//! The kernel keeps a red-black tree by deadline with the least runtime of each subtree
//! (`pick_eevdf`); here one tree answers for both schedulers.

use std::collections::BTreeMap;

use crate::base::time::SimTime;
use crate::machine::cpu::thread::Entity;

/// The scheduler's record of an entity.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::machine) struct Virtual {
    pub(in crate::machine) runtime: i64,
    pub(in crate::machine) deadline: i64,
    /// Distance to the average when it left; kept while it sleeps.
    pub(in crate::machine) lag: i64,
}

impl Virtual {
    /// With this runtime and deadline.
    #[cfg(test)]
    pub(in crate::machine) fn at(runtime: i64, deadline: i64) -> Self {
        Virtual { runtime, deadline, lag: 0 }
    }
}

/// Who waits, and from when on it may run.
#[derive(Clone, Copy, Debug)]
pub(in crate::machine) struct Queued {
    pub entity: Entity,
    pub v: Virtual,
    /// From when on it may run: a thread whose clock is ahead of this CPU's can wake it.
    pub ready: SimTime,
    /// It went to sleep while ahead of the average, and leaves when it is picked.
    pub delayed: bool,
}

/// Criterion for the first in line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::machine) enum By {
    Runtime,
    Deadline,
}

/// A runtime or deadline, and below it the order of coming and the leaf.
type Key = (i64, u64);

const SLOT_BITS: u32 = 24;
const NEVER: Key = (i64::MAX, u64::MAX);

/// The least of everything below a node.
#[derive(Clone, Copy, Debug)]
struct Least {
    runtime: Key,
    deadline: Key,
    ready: SimTime,
    /// Key of those that are not delayed.
    awake: Key,
    awake_ready: SimTime,
}

impl Least {
    const NOBODY: Least = Least {
        runtime: NEVER,
        deadline: NEVER,
        ready: SimTime::NEVER,
        awake: NEVER,
        awake_ready: SimTime::NEVER,
    };

    fn of(q: &Queued, order: u64) -> Least {
        let runtime = (q.v.runtime, order);
        let (awake, awake_ready) =
            if q.delayed { (NEVER, SimTime::NEVER) } else { (runtime, q.ready) };
        let deadline = (q.v.deadline, order);
        Least { runtime, deadline, ready: q.ready, awake, awake_ready }
    }

    fn min(a: &Least, b: &Least) -> Least {
        Least {
            runtime: a.runtime.min(b.runtime),
            deadline: a.deadline.min(b.deadline),
            ready: a.ready.min(b.ready),
            awake: a.awake.min(b.awake),
            awake_ready: a.awake_ready.min(b.awake_ready),
        }
    }

    fn key(&self, by: By) -> Key {
        match by {
            By::Runtime => self.runtime,
            By::Deadline => self.deadline,
        }
    }
}

/// Those that wait for one CPU.
#[derive(Clone, Debug)]
pub(in crate::machine) struct Line {
    /// Node 1 is the root, the children of `i` are `2 i` and `2 i + 1`; leaves are the second half.
    nodes: Vec<Least>,
    slots: Vec<Option<Queued>>,
    free: Vec<u32>,
    /// Leaves of kernel threads, and of late sleepers.
    daemons: Vec<u32>,
    delayed: BTreeMap<Entity, u32>,
    len: usize,
    /// Σ runtime.
    sum: i128,
    /// Number of entities that have ever come.
    came: u64,
    /// Nodes looked at or changed.
    #[cfg(test)]
    looks: std::cell::Cell<u64>,
}

impl Line {
    /// An empty line.
    pub(in crate::machine) fn new() -> Self {
        Line {
            nodes: vec![Least::NOBODY; 2],
            slots: vec![None],
            free: vec![0],
            daemons: Vec::new(),
            delayed: BTreeMap::new(),
            len: 0,
            sum: 0,
            came: 0,
            #[cfg(test)]
            looks: std::cell::Cell::new(0),
        }
    }

    /// Number of entities that wait, including late sleepers.
    #[inline]
    pub(in crate::machine) fn len(&self) -> usize {
        self.len
    }

    /// True if the line is empty, without late sleepers too.
    #[inline]
    pub(in crate::machine) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// True if only late sleepers wait.
    #[inline]
    pub(in crate::machine) fn all_delayed(&self) -> bool {
        self.len == self.delayed.len()
    }

    /// The sum of all runtimes.
    #[inline]
    pub(in crate::machine) fn sum(&self) -> i128 {
        self.sum
    }

    /// The least runtime, late sleepers too.
    #[inline]
    pub(in crate::machine) fn least_runtime(&self) -> Option<i64> {
        (self.len > 0).then_some(self.nodes[1].runtime.0)
    }

    /// When the first may run that does not sleep.
    pub(in crate::machine) fn first_ready(&self) -> Option<SimTime> {
        (!self.all_delayed()).then_some(self.nodes[1].awake_ready)
    }

    /// Who is the first by runtime and does not sleep.
    pub(in crate::machine) fn first_awake(&self) -> Option<Entity> {
        (!self.all_delayed()).then(|| self[slot_of(self.nodes[1].awake)].entity)
    }

    /// Who waits if it is one alone that does not sleep.
    pub(in crate::machine) fn only(&self) -> Option<Entity> {
        if self.len == 1 { self.first_awake() } else { None }
    }

    /// The leaf of a late sleeper.
    pub(in crate::machine) fn late(&self, entity: Entity) -> Option<u32> {
        self.delayed.get(&entity).copied()
    }

    /// The leaf of an entity. For rare occasions: it looks at all.
    pub(in crate::machine) fn find(&self, entity: Entity) -> Option<u32> {
        let is = |q: &Option<Queued>| q.is_some_and(|q| q.entity == entity);
        self.slots.iter().position(is).map(|i| i as u32)
    }

    /// Kernel threads that wait.
    pub(in crate::machine) fn daemons(&self) -> impl Iterator<Item = &Queued> {
        self.daemons.iter().map(|&i| &self[i]).filter(|q| !q.delayed)
    }

    /// The first of those that may run by `now` and whose runtime is no more than `most`.
    pub(in crate::machine) fn first(&self, by: By, most: i64, now: SimTime) -> Option<u32> {
        let mut best = NEVER;
        self.search(1, by, most, now, &mut best);
        (best != NEVER).then(|| slot_of(best))
    }

    fn search(&self, node: usize, by: By, most: i64, now: SimTime, best: &mut Key) {
        self.look();
        let least = &self.nodes[node];
        if least.key(by) >= *best || least.runtime.0 > most || least.ready > now {
            return;
        }
        if node >= self.slots.len() {
            *best = least.key(by);
            return;
        }
        let left = 2 * node;
        let second = usize::from(self.nodes[left].key(by) < self.nodes[left + 1].key(by));
        self.search(left + 1 - second, by, most, now, best);
        self.search(left + second, by, most, now, best);
    }

    /// Adds an entity.
    pub(in crate::machine) fn push(&mut self, q: Queued) {
        if self.free.is_empty() {
            self.grow();
        }
        let slot = self.free.pop().expect("as many as there were");
        self.came += 1;
        if q.delayed {
            self.delayed.insert(q.entity, slot);
        }
        if !matches!(q.entity, Entity::Thread(_)) {
            self.daemons.push(slot);
        }
        self.len += 1;
        self.sum += i128::from(q.v.runtime);
        self.slots[slot as usize] = Some(q);
        self.put(slot, Least::of(&q, self.came << SLOT_BITS | u64::from(slot)));
    }

    /// Removes an entity.
    pub(in crate::machine) fn take(&mut self, slot: u32) -> Queued {
        let q = self.slots[slot as usize].take().expect("it waits");
        if q.delayed {
            self.delayed.remove(&q.entity);
        }
        if !matches!(q.entity, Entity::Thread(_)) {
            self.daemons.retain(|&d| d != slot);
        }
        self.len -= 1;
        self.sum -= i128::from(q.v.runtime);
        self.free.push(slot);
        self.put(slot, Least::NOBODY);
        q
    }

    /// A late sleeper wakes, and keeps its place.
    pub(in crate::machine) fn wake(&mut self, slot: u32, ready: SimTime) {
        let order = self.nodes[self.slots.len() + slot as usize].runtime.1;
        let q = self.slots[slot as usize].as_mut().expect("it waits");
        (q.delayed, q.ready) = (false, ready);
        let q = *q;
        self.delayed.remove(&q.entity);
        self.put(slot, Least::of(&q, order));
    }

    /// All go.
    pub(in crate::machine) fn drain(&mut self, mut gone: impl FnMut(Queued)) {
        while let Some(slot) = self.first(By::Runtime, i64::MAX, SimTime::NEVER) {
            gone(self.take(slot));
        }
    }

    fn put(&mut self, slot: u32, least: Least) {
        let mut i = self.slots.len() + slot as usize;
        self.nodes[i] = least;
        while i > 1 {
            i /= 2;
            self.look();
            self.nodes[i] = Least::min(&self.nodes[2 * i], &self.nodes[2 * i + 1]);
        }
    }

    /// Twice the leaves.
    fn grow(&mut self) {
        let old = self.slots.len();
        assert!(old < 1 << SLOT_BITS, "{old} wait for one CPU");
        let leaves: Vec<Least> = self.nodes.split_off(old);
        self.slots.resize(2 * old, None);
        self.free.extend((old as u32..2 * old as u32).rev());
        self.nodes.clear();
        self.nodes.resize(2 * old, Least::NOBODY);
        self.nodes.extend(leaves);
        self.nodes.resize(4 * old, Least::NOBODY);
        for i in (1..2 * old).rev() {
            self.look();
            self.nodes[i] = Least::min(&self.nodes[2 * i], &self.nodes[2 * i + 1]);
        }
    }

    #[inline]
    fn look(&self) {
        #[cfg(test)]
        self.looks.set(self.looks.get() + 1);
    }

    /// All that wait, in no order.
    #[cfg(test)]
    pub(in crate::machine) fn iter(&self) -> impl Iterator<Item = &Queued> {
        self.slots.iter().flatten()
    }

    /// Number of nodes that were read or changed.
    #[cfg(test)]
    pub(in crate::machine) fn looks(&self) -> u64 {
        self.looks.get()
    }
}

impl std::ops::Index<u32> for Line {
    type Output = Queued;
    fn index(&self, slot: u32) -> &Queued {
        self.slots[slot as usize].as_ref().expect("an entity waits there")
    }
}

/// The leaf of a key.
fn slot_of(key: Key) -> u32 {
    (key.1 & ((1 << SLOT_BITS) - 1)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::{NodeId, ThreadId};
    use crate::base::rng::Rng;

    /// The first of a plain sequence in the order of coming.
    fn naive(all: &[Queued], by: By, most: i64, now: SimTime) -> Option<Entity> {
        let may = all.iter().filter(|q| q.v.runtime <= most && q.ready <= now);
        let key = |q: &Queued| match by {
            By::Runtime => q.v.runtime,
            By::Deadline => q.v.deadline,
        };
        may.min_by_key(|q| key(q)).map(|q| q.entity)
    }

    /// Against a plain sequence, with runtimes, deadlines and times to be ready that are often equal.
    #[test]
    fn it_is_a_sequence_in_the_order_of_coming() {
        let mut rng = Rng::for_purpose(1, "lines");
        for most in [1, 3, 20, 200] {
            let (mut line, mut all) = (Line::new(), Vec::<Queued>::new());
            for id in 0..4_000 {
                let at = rng.below(all.len().max(1) as u64) as usize;
                if all.len() < most && rng.below(3) > 0 {
                    let thread = Entity::Thread(ThreadId(id));
                    let entity = if id < 200 && rng.below(9) == 0 {
                        Entity::Kswapd(NodeId(id as u8))
                    } else {
                        thread
                    };
                    let v = Virtual::at(rng.below(20) as i64 - 10, rng.below(20) as i64 - 5);
                    let ready = SimTime(rng.below(8));
                    let q = Queued { entity, v, ready, delayed: rng.below(4) == 0 };
                    line.push(q);
                    all.push(q);
                } else if rng.below(8) == 0 && all.get(at).is_some_and(|q| q.delayed) {
                    let slot = line.late(all[at].entity).expect("it sleeps late");
                    (all[at].delayed, all[at].ready) = (false, SimTime(3));
                    line.wake(slot, SimTime(3));
                } else if !all.is_empty() {
                    let gone = all.remove(at);
                    let slot = line.find(gone.entity).expect("it waits");
                    assert_eq!(line.take(slot).entity, gone.entity);
                }
                let awake = || all.iter().filter(|q| !q.delayed);
                assert_eq!(line.len(), all.len());
                assert_eq!(line.sum(), all.iter().map(|q| i128::from(q.v.runtime)).sum());
                assert_eq!(line.least_runtime(), all.iter().map(|q| q.v.runtime).min());
                assert_eq!(line.all_delayed(), awake().next().is_none());
                assert_eq!(line.first_ready(), awake().map(|q| q.ready).min());
                let first = awake().min_by_key(|q| q.v.runtime).map(|q| q.entity);
                assert_eq!(line.first_awake(), first);
                assert_eq!(line.only(), first.filter(|_| all.len() == 1));
                let daemons = awake().filter(|q| !matches!(q.entity, Entity::Thread(_)));
                assert!(line.daemons().map(|q| q.entity).eq(daemons.map(|q| q.entity)));
                for by in [By::Runtime, By::Deadline] {
                    for (most, now) in [(i64::MAX, 9), (0, 9), (i64::MAX, 2), (-2, 5)] {
                        let found = line.first(by, most, SimTime(now)).map(|i| line[i].entity);
                        assert_eq!(found, naive(&all, by, most, SimTime(now)));
                    }
                }
            }
            let mut gone = 0;
            line.drain(|_| gone += 1);
            assert_eq!((gone, line.is_empty()), (all.len(), true));
        }
    }
}
