//! First touches, on all CPUs at once.
//!
//! Between two things that others can see, threads that populate memory do nothing but hits
//! and first touches served from their CPU's own stock, and their turns change after every
//! one of them. A first touch is seen by nobody until the CPU's LRU batch is full
//! (`memory/fast_faults.rs`). So the threads of all CPUs that run one thread alone form a team
//! here. Their turns are those of the run loop, to the nanosecond, and each turn executes
//! what `run_thread` would; but a turn costs little more than finding out whose it is. Frames
//! are settled when a batch is full, at the very fault that fills it, or when the team
//! breaks up: at the first thing that is neither a hit nor such a first touch, at an event,
//! or when a CPU outside of the team is next.

use crate::base::id::{AsId, CpuId, GROUP_PAGES, GroupId, IndexVec, PageIdx, ThreadId};
use crate::base::time::{SimDuration, SimTime};
use crate::machine::Machine;
use crate::machine::cpu::order::key_of;
use crate::machine::cpu::thread::{Entity, Thread};
use crate::machine::hits::{fitting, hit, hit_run};
use crate::machine::watch::latency::RecordClock;
use crate::memory::trace::FaultKind;
use crate::memory::{FastFaults, MOST_PENDING, PendingFault};
use crate::policy::ArrivalKind;
use crate::virt::pages::{Group, pte};
use crate::virt::space::{Spaces, VmaKind};
use crate::workload::{Op, RegionId, VmaFlags};

/// More CPUs than this make no team: finding the earliest is a look at each.
const MOST_CPUS: usize = 16;

/// A region that a thread accesses.
#[derive(Clone, Copy)]
struct Known {
    /// No region has the number of none.
    region: u32,
    start: u32,
    pages: u32,
    /// First touches of its pages are all alike.
    touchable: bool,
}

const UNKNOWN: Known = Known { region: u32::MAX, start: 0, pages: 0, touchable: false };

/// First touches that a team has to have taken for another one to follow at once. After one
/// that took less, so many are taken alone before the next.
const WORTH_A_TEAM: u64 = 4;
const PAUSE: u32 = 16;

/// A thread that runs alone on its CPU, and what it has done since the team was formed.
pub(in crate::machine) struct Member {
    tid: ThreadId,
    cpu: CpuId,
    begin: u64,
    /// The thread's own, as long as the team exists.
    ops: Vec<Op>,
    next: usize,
    done: u32,
    touched: u64,
    records: u64,
    record_clock: RecordClock,
    faults: u64,
    /// First touches that wait to be settled, and how many may.
    pending: [PendingFault; MOST_PENDING],
    nr: usize,
    room: usize,
    known: [Known; 2],
}

/// How a turn ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// It is perhaps another's.
    Turn,
    /// First touches are to be settled.
    Full,
    /// Accesses were recorded, as page numbers so far.
    Recorded,
    /// Something else is to be done now.
    Other,
}

/// What a turn looks at.
struct Columns<'a> {
    threads: &'a IndexVec<ThreadId, Thread>,
    spaces: &'a Spaces,
    hot: &'a mut [u8],
    entry: &'a [u32],
    groups: &'a IndexVec<GroupId, Group>,
    t_hit: u64,
    /// What a first touch takes, with the access.
    t_fault: u64,
    due: u64,
    run_ahead: u64,
    /// Where accesses are recorded, if they are.
    recorded: Option<&'a mut Vec<u32>>,
}

/// The members' turns: a clock and a place in the team each, the earliest first, and of
/// equals that of the lower place. A ring, since most threads do the same: who had a turn
/// is the last again.
struct Turns {
    keys: [u64; MOST_CPUS],
    head: usize,
    nr: usize,
}

const PLACE_BITS: u32 = 4;

/// Clocks behind this do not fit beside a place; nobody computes for so long in a team.
const TEAM_END: SimTime = SimTime(1 << 59);
const LONG: SimDuration = SimDuration(1 << 50);

impl Turns {
    #[inline(always)]
    fn nth(&mut self, n: usize) -> &mut u64 {
        &mut self.keys[(self.head + n) % MOST_CPUS]
    }

    /// Whose turn it is, his clock, and the next one's.
    #[inline(always)]
    fn first(&mut self) -> (usize, u64, u64) {
        let (first, second) = (*self.nth(0), *self.nth(1));
        let next = if self.nr == 1 { u64::MAX } else { second >> PLACE_BITS };
        (first as usize % MOST_CPUS, first >> PLACE_BITS, next)
    }

    /// The first one's clock moves on.
    #[inline(always)]
    fn moved(&mut self, place: usize, clock: u64) {
        let key = clock << PLACE_BITS | place as u64;
        self.head = (self.head + 1) % MOST_CPUS;
        let mut n = self.nr - 1;
        while n > 0 && *self.nth(n - 1) > key {
            *self.nth(n) = *self.nth(n - 1);
            n -= 1;
        }
        *self.nth(n) = key;
    }
}

impl Machine {
    /// Lets the threads of all CPUs go on for as long as they do nothing but hits and first
    /// touches. Returns the CPU that has to act now, if that is known: its thread stopped in
    /// its turn.
    pub(in crate::machine) fn first_touches(&mut self, due: SimTime) -> Option<usize> {
        let due = due.min(TEAM_END);
        self.touching = false;
        self.alone_for = PAUSE;
        let sampled = self.watch.sample.is_some();
        if sampled || self.cpus.len() > MOST_CPUS || !self.policy.faults_together() {
            return None;
        }
        let recency = VmaFlags::default().recency(self.mem.ignores_random());
        let (nobody, awake) = ((ThreadId(0), AsId(0)), self.kswapds_awake());
        let run = self.mem.fast_faults(nobody, ArrivalKind::New, recency, awake)?;
        let mut team = std::mem::take(&mut self.team);
        let (mut turns, outside) = self.gather(&run, &mut team);
        let recording = self.still_records();
        let acts = loop {
            if turns.nr == 0 {
                break None;
            }
            let recorded = self.contents.sequence.len();
            let (place, end) = self.play(&mut team, &mut turns, due, outside);
            if end == End::Full {
                self.settle_member(&run, &mut team[place]);
            }
            if recording {
                self.record_hits(recorded);
            }
            match end {
                End::Full | End::Recorded => {}
                End::Other => break Some(team[place].cpu.0.into()),
                End::Turn => break None,
            }
        };
        let (mut faults, t_hit) = (0, self.mem.cost.t_hit);
        let each = self.mem.cost.t_minor_anon + t_hit;
        for n in 0..turns.nr {
            let key = *turns.nth(n);
            let (m, clock) = (&mut team[key as usize % MOST_CPUS], key >> PLACE_BITS);
            self.settle_member(&run, m);
            faults += m.faults;
            let t = &mut self.threads[m.tid];
            t.ops = std::mem::take(&mut m.ops);
            (t.next, t.done) = (m.next, m.done);
            t.accesses += m.touched;
            t.records += m.records;
            self.work_done.0 += m.touched;
            self.work_done.1 += m.records;
            t.record_clock = std::mem::take(&mut m.record_clock);
            let system = SimDuration(m.faults * each.0);
            t.system += system;
            t.user += SimDuration(clock - m.begin) - system;
            let cpu = usize::from(m.cpu.0);
            self.cpus[cpu].clock = SimTime(clock);
            self.cpus[cpu].yield_if_due();
            self.order.changed(cpu, &self.cpus[cpu]);
        }
        self.team = team;
        // Less than a team costs comes from threads that do something else in between.
        self.touching = faults >= WORTH_A_TEAM;
        self.alone_for = if self.touching { 0 } else { PAUSE };
        self.latency[0].add_many(self.mem.cost.t_minor_anon, faults);
        self.note_resident();
        self.took_steps(faults);
        acts
    }

    /// Puts a team together, in the order of equals. Returns its turns, and the place of the
    /// earliest CPU that does not belong to it.
    fn gather(&mut self, run: &FastFaults, team: &mut Vec<Member>) -> (Turns, u128) {
        let mut outside = u128::MAX;
        let mut nr = 0;
        for (i, c) in self.cpus.iter().enumerate() {
            let tid = match c.alone() {
                Some(Entity::Thread(t))
                    if c.clock < TEAM_END && self.threads[t].fault.is_none() =>
                {
                    t
                }
                _ => {
                    outside = outside.min(self.order.key_at(i));
                    continue;
                }
            };
            if team.len() == nr {
                team.push(Member::nobody());
            }
            (team[nr].tid, team[nr].cpu) = (tid, CpuId(i as u16));
            nr += 1;
        }
        if !team[..nr].is_sorted_by_key(|m| m.tid) {
            team[..nr].sort_unstable_by_key(|m| m.tid);
        }
        let mut turns = Turns { keys: [0; MOST_CPUS], head: 0, nr };
        self.touches_left = self.mem.share_left(run);
        self.touches_each = self.touches_left / nr.max(1);
        for (i, m) in team[..nr].iter_mut().enumerate() {
            let t = &mut self.threads[m.tid];
            m.ops = std::mem::take(&mut t.ops);
            m.record_clock = std::mem::take(&mut t.record_clock);
            (m.next, m.done) = (t.next, t.done);
            (m.touched, m.records, m.faults) = (0, 0, 0);
            m.known = [UNKNOWN; 2];
            m.room = self.room_of(run, m.cpu);
            m.begin = self.cpus[usize::from(m.cpu.0)].clock.0;
            turns.keys[i] = m.begin << PLACE_BITS | i as u64;
        }
        turns.keys[..nr].sort_unstable();
        (turns, outside)
    }

    /// Takes turns until something is to be done: by whom, and what. Nobody's turn: nobody's
    /// is before the next event and before the CPUs outside of the team.
    fn play(
        &mut self,
        team: &mut [Member],
        turns: &mut Turns,
        due: SimTime,
        outside: u128,
    ) -> (usize, End) {
        let outside_clock = (outside >> 64) as u64;
        let soon = due.0.min(outside_clock);
        let (hot, entry, groups) = self.mem.pages.columns();
        let t_hit = self.mem.cost.t_hit.0;
        let c = &mut Columns {
            threads: &self.threads,
            spaces: &self.mem.spaces,
            hot,
            entry,
            groups,
            t_hit,
            t_fault: self.mem.cost.t_minor_anon.0 + t_hit,
            due: due.0,
            run_ahead: self.config.run_ahead.0,
            recorded: self.watch.record_accesses.then_some(&mut self.contents.sequence),
        };
        loop {
            let (place, clock, next) = turns.first();
            let m = &mut team[place];
            if clock >= soon {
                let thread = Entity::Thread(m.tid);
                let own = || key_of(m.cpu.0.into(), SimTime(clock), thread);
                if clock >= due.0 || outside < own() {
                    return (place, End::Turn);
                }
            }
            let (end, now) = m.turn(c, clock, next.min(outside_clock));
            turns.moved(place, now);
            if end != End::Turn {
                return (place, end);
            }
            if c.recorded.is_some() {
                return (place, End::Recorded);
            }
        }
    }

    /// Settles a member's first touches.
    fn settle_member(&mut self, run: &FastFaults, m: &mut Member) {
        if m.nr == 0 {
            return;
        }
        let t = &mut self.threads[m.tid];
        t.no_progress = 0;
        let run = run.of(m.tid, t.space);
        self.mem.cpu = m.cpu;
        self.mem.settle_faults(&mut *self.policy, &run, &m.pending[..m.nr]);
        if self.watch.record_accesses {
            m.pending[..m.nr].iter().for_each(|f| self.record_fault(f.page, FaultKind::ZeroFill));
        }
        self.mem.spaces[run.space].counted.faults += m.nr as u64;
        m.faults += m.nr as u64;
        m.nr = 0;
        m.room = self.room_of(&run, m.cpu);
    }

    /// How many first touches a member may take next. What all of them may take before the zone
    /// has given its share is divided beforehand.
    fn room_of(&mut self, run: &FastFaults, cpu: CpuId) -> usize {
        let most = if self.watch.record_accesses { 1 } else { MOST_PENDING };
        let room = self.mem.fault_room(run, cpu).min(most);
        let room = room.min(self.touches_each).min(self.touches_left);
        self.touches_left -= room;
        room
    }
}

impl Member {
    fn nobody() -> Self {
        Member {
            tid: ThreadId(0),
            cpu: CpuId(0),
            begin: 0,
            ops: Vec::new(),
            next: 0,
            done: 0,
            touched: 0,
            records: 0,
            record_clock: RecordClock::default(),
            faults: 0,
            pending: [PendingFault::default(); MOST_PENDING],
            nr: 0,
            room: 0,
            known: [UNKNOWN; 2],
        }
    }

    /// Where a region lies, if it was accessed lately.
    #[inline(always)]
    fn lately(&self, region: RegionId) -> Option<&Known> {
        let number = u32::from(region.0);
        let known = &self.known[usize::from(self.known[0].region != number)];
        (known.region == number).then_some(known)
    }

    /// Where a region lies.
    #[inline(never)]
    fn find(&mut self, c: &Columns<'_>, region: RegionId) -> Option<Known> {
        if let Some(known) = self.lately(region) {
            return Some(*known);
        }
        let place = c.spaces.place(c.threads[self.tid].space, region)?;
        let anon = matches!(c.spaces.vma(place.vma).kind, VmaKind::Anon);
        let found = Known {
            region: region.0.into(),
            start: place.start.0,
            pages: place.pages,
            touchable: anon && place.flags == VmaFlags::default(),
        };
        self.known.swap(0, 1);
        self.known[0] = found;
        Some(found)
    }

    /// Touches a page that is no hit, if that is a first touch like all others, and the operation's
    /// last page within the region lies in it.
    #[inline(always)]
    fn first_touch(
        &mut self,
        c: &mut Columns<'_>,
        known: Known,
        write: bool,
        last: u64,
        page: usize,
        now: u64,
    ) -> bool {
        let empty = c.hot[page] & !pte::TOUCHED == 0
            && c.entry[page] == 0
            && c.groups[GroupId(page as u32 / GROUP_PAGES)].table.is_some();
        let inside = last < u64::from(known.pages);
        let alike = write && known.touchable && inside && self.nr < self.room;
        if empty && alike {
            c.record(page, 1);
            c.hot[page] = pte::PRESENT | pte::ACCESSED | pte::DIRTY | pte::WRITABLE;
            let (page, begin) = (PageIdx(page as u32), SimTime(now));
            self.pending[self.nr % MOST_PENDING] =
                PendingFault { page, write: true, begin, shadow: None };
            self.nr += 1;
            self.touched += 1;
        }
        empty && alike
    }

    /// Executes hits and first touches of the thread whose turn it is, as `run_thread` would,
    /// until it is perhaps another's. Returns how that ends, and when.
    #[inline(always)] // There is one caller, and most turns are short.
    fn turn(&mut self, c: &mut Columns<'_>, clock: u64, other: u64) -> (End, u64) {
        let (mut start, mut now) = (clock, clock);
        loop {
            if let Some(end) = self.pages_one_by_one(c, &mut start, &mut now, other) {
                return (end, now);
            }
            if let Some(end) = self.turn_slow(c, &mut start, &mut now, other) {
                return (end, now);
            }
        }
    }

    /// Nearly always: one page of a region that was accessed lately, of its own or of a copy.
    /// `None`: an operation of another kind is next.
    #[inline(always)]
    fn pages_one_by_one(
        &mut self,
        c: &mut Columns<'_>,
        start: &mut u64,
        now: &mut u64,
        other: u64,
    ) -> Option<End> {
        let ahead = c.ahead(other);
        while let Some(op) = self.ops.get(self.next) {
            let (region, at, write, of) = match op {
                Op::Copy(copy) => {
                    let write = self.done % 2 == 1;
                    let (region, first) =
                        if write { (copy.to, copy.into) } else { (copy.from, copy.first) };
                    (region, first + self.done / 2, write, copy.touches())
                }
                Op::Access(run) if run.count == 1 => (run.region, run.first, run.write, 1),
                _ => return None,
            };
            let known = match self.lately(region) {
                Some(&known) => known,
                None => match self.find(c, region) {
                    Some(known) => known,
                    None => return Some(c.stops(*start, *now, other)),
                },
            };
            if *now >= ahead && *now > *start {
                return Some(End::Turn);
            }
            let page = (known.start + at) as usize;
            if hit(&mut c.hot[page], write) {
                c.record(page, 1);
                self.touched += 1;
                self.did(of, 1);
                *now += c.t_hit;
                continue;
            }
            // What is no hit is done only if nobody else is earlier by now.
            if !c.may_act(*start, *now, other) {
                return Some(End::Turn);
            }
            if !self.first_touch(c, known, write, at.into(), page, *now) {
                return Some(End::Other);
            }
            self.did(of, 1);
            *now += c.t_fault;
            if self.nr == self.room {
                return Some(End::Full);
            }
            if *now >= c.due || *now >= other {
                return Some(End::Turn);
            }
            *start = *now;
        }
        None
    }

    /// Operations that are not of single pages. `None`: one of single pages is next.
    #[inline(never)]
    fn turn_slow(
        &mut self,
        c: &mut Columns<'_>,
        start: &mut u64,
        now: &mut u64,
        other: u64,
    ) -> Option<End> {
        loop {
            let stops = Some(c.stops(*start, *now, other));
            let Some(&op) = self.ops.get(self.next) else { return stops };
            let hits_end = c.ahead(other).max(*start + 1);
            if *now >= hits_end {
                return Some(End::Turn);
            }
            let run = match op {
                Op::Access(run) if run.count != 1 => run,
                Op::Access(_) | Op::Copy(_) => return None,
                Op::Compute(d) if d < LONG => {
                    (*now, self.next) = (*now + d.0, self.next + 1);
                    continue;
                }
                Op::Records(n) => {
                    (self.records, self.next) = (self.records + u64::from(n), self.next + 1);
                    self.record_clock.end(*now, n);
                    continue;
                }
                Op::RecordBegins => {
                    self.record_clock.begin(*now);
                    self.next += 1;
                    continue;
                }
                _ => return stops,
            };
            let Some(known) = self.find(c, run.region) else { return stops };
            let fits = fitting(run.count - self.done, hits_end - *now, c.t_hit);
            let first = (known.start + run.first + self.done) as usize;
            let hits = hit_run(&mut c.hot[first..first + fits as usize], run.write);
            c.record(first, hits);
            *now += u64::from(hits) * c.t_hit;
            self.touched += u64::from(hits);
            self.did(run.count, hits);
            if hits == fits {
                continue;
            }
            if !c.may_act(*start, *now, other) {
                return Some(End::Turn);
            }
            let last = u64::from(run.first) + u64::from(run.count) - 1;
            let mut page = first + hits as usize;
            if !self.first_touch(c, known, run.write, last, page, *now) {
                return Some(End::Other);
            }
            // Where memory is filled, the pages behind it wait for their first touch as well.
            loop {
                self.did(run.count, 1);
                *now += c.t_fault;
                if self.nr == self.room {
                    return Some(End::Full);
                }
                if *now >= c.due || *now >= other {
                    return Some(End::Turn);
                }
                page += 1;
                if self.done == 0 || !self.first_touch(c, known, run.write, last, page, *now) {
                    break;
                }
            }
            *start = *now;
        }
    }

    /// So many pages of the current operation, which has `count`, were touched.
    fn did(&mut self, count: u32, pages: u32) {
        self.done += pages;
        if self.done == count {
            self.done = 0;
            self.next += 1;
        }
    }
}

impl Columns<'_> {
    /// Records accesses to pages in a row.
    #[inline(always)]
    fn record(&mut self, first: usize, count: u32) {
        if let Some(recorded) = &mut self.recorded {
            recorded.extend(first as u32..first as u32 + count);
        }
    }

    /// How a turn ends where something else is next.
    #[inline(always)]
    fn stops(&self, start: u64, now: u64, other: u64) -> End {
        if self.may_act(start, now, other) { End::Other } else { End::Turn }
    }

    /// Before this a hit may begin, and at least one may.
    #[inline(always)]
    fn ahead(&self, other: u64) -> u64 {
        self.due.min(other.saturating_add(self.run_ahead))
    }

    /// Whether a thread that acts since `start` may do what is no hit.
    #[inline(always)]
    fn may_act(&self, start: u64, now: u64, other: u64) -> bool {
        now <= other && now < self.due || now == start
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::Rng;

    /// Against a search for the smallest clock, and of equals the lowest place.
    #[test]
    fn turns_are_those_that_a_search_finds() {
        let mut rng = Rng::for_purpose(1, "turns");
        for nr in 1..=MOST_CPUS {
            let mut clocks = vec![7u64; nr];
            let mut turns = Turns { keys: [0; MOST_CPUS], head: 0, nr };
            for (place, clock) in clocks.iter().enumerate() {
                *turns.nth(place) = clock << PLACE_BITS | place as u64;
            }
            for _ in 0..500 {
                let first = (0..nr).min_by_key(|&i| (clocks[i], i)).unwrap();
                let others = (0..nr).filter(|&i| i != first).map(|i| clocks[i]);
                let next = others.min().unwrap_or(u64::MAX);
                assert_eq!(turns.first(), (first, clocks[first], next));
                clocks[first] += rng.below(4);
                turns.moved(first, clocks[first]);
            }
        }
    }
}
