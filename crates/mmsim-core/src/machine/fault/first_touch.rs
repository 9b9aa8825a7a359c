//! First touches, on all CPUs at once.
//!
//! Between two things that others can see, threads that populate memory do nothing but hits and
//! first touches served from their CPU's own stock, and their turns change after every one of them.
//! A first touch becomes visible only when the CPU's LRU batch is full (`memory/fast_faults.rs`).
//! So the threads that all CPUs run form a team here, each up to the end of its slice. Their turns
//! are those of the run loop, to the nanosecond, and each turn executes what `run_thread` would;
//! but a turn costs little more than finding out whose it is. Frames are settled when a batch is
//! full, at the very fault that fills it, or when the team breaks up: at the first thing that is
//! neither a hit nor such a first touch, at an event, or when a CPU outside of the team is next.

use crate::base::id::{AsId, CpuId, GROUP_PAGES, GroupId, IndexVec, PageIdx, ThreadId};
use crate::base::time::{SimDuration, SimTime};
use crate::machine::Machine;
use crate::machine::cpu::order::key_of;
use crate::machine::cpu::thread::Entity;
use crate::machine::hits::fitting;
use crate::machine::walk::{OnMiss, Progress, Resolved, Stop};
use crate::memory::follow::{FirstUses, NoteUses};
use crate::memory::trace::FaultKind;
use crate::memory::{FastFaults, MOST_PENDING, PendingFault};
use crate::policy::ArrivalKind;
use crate::virt::pages::{Group, pte};
use crate::virt::space::{Spaces, VmaKind};
use crate::workload::{RegionId, Run, VmaFlags};

/// More CPUs than this make no team. To put one together is a look at each, and at the latest it
/// breaks up at the end of a page table.
const MOST_CPUS: usize = 64;

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
/// that took less, one is taken alone, and twice as many after each further one, up to the pause.
const WORTH_A_TEAM: u64 = 4;
const PAUSE: u32 = 16;

/// A thread that a CPU runs.
pub(in crate::machine) struct Member {
    tid: ThreadId,
    cpu: CpuId,
    begin: u64,
    /// The end of its slice, if others want its CPU.
    slice: u64,
    /// The thread's own, as long as the team exists.
    progress: Progress,
    /// Its accesses and records when the team was formed.
    before: (u64, u64),
    faults: u64,
    touches: Touches,
}

/// First touches of a member that wait to be settled.
struct Touches {
    space: AsId,
    pending: [PendingFault; MOST_PENDING],
    nr: usize,
    /// Number of faults that may wait.
    room: usize,
    /// The regions that were accessed last.
    known: [Known; 2],
}

/// Who notes a team's accesses.
enum Notes<'a> {
    Nobody,
    /// All of them.
    Recorded(&'a mut Vec<u32>),
    /// The first use of each page in a tick.
    Followed(FirstUses<'a>),
}

impl NoteUses for Notes<'_> {
    #[inline(always)]
    fn uses(&mut self, first: usize, count: u32) {
        match self {
            Notes::Nobody => {}
            Notes::Recorded(sequence) => sequence.uses(first, count),
            Notes::Followed(notes) => notes.uses(first, count),
        }
    }

    #[inline(always)]
    fn came(&mut self, page: usize) {
        match self {
            Notes::Nobody => {}
            Notes::Recorded(sequence) => sequence.came(page),
            Notes::Followed(notes) => notes.came(page),
        }
    }
}

/// Columns of the page table that a team reads.
struct Columns<'a> {
    spaces: &'a Spaces,
    hot: &'a mut [u8],
    entry: &'a [u32],
    groups: &'a IndexVec<GroupId, Group>,
    t_hit: u64,
    /// Time of a first touch, with the access.
    t_fault: u64,
    due: u64,
    run_ahead: u64,
    /// Who notes accesses.
    notes: Notes<'a>,
}

/// The members' turns: a clock and a place in the team each, the earliest first, and of
/// equals that of the lower place. A ring, since most threads do the same: who had a turn
/// is the last again.
struct Turns {
    keys: [u64; MOST_CPUS],
    head: usize,
    nr: usize,
}

const PLACE_BITS: u32 = 6;

/// Clocks behind this do not fit beside a place; no thread computes for so long in a team.
const TEAM_END: SimTime = SimTime(1 << 57);
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
    pub(in crate::machine) fn first_touches(&mut self, due: SimTime) -> Option<CpuId> {
        let due = due.min(TEAM_END);
        self.touches.touching = false;
        self.touches.alone_for = self.touches.pause;
        self.touches.pause = (2 * self.touches.pause).min(PAUSE);
        // Samples look between faults; two that note accesses have to share them.
        let shared = self.mem.telling.uses.on() && self.record.accesses;
        let ordered = self.course.watch.sample.is_some() || shared;
        if ordered
            || self.mem.given.sizes_on
            || self.sched.cpus.len() > MOST_CPUS
            || !self.policies.lru.traits().faults_together
        {
            return None;
        }
        let recency = VmaFlags::default().recency(self.mem.ignores_random());
        let (nobody, awake) = ((ThreadId(0), AsId(0)), self.kswapds_awake());
        let run = self.mem.fast_faults(nobody, ArrivalKind::New, recency, awake)?;
        let mut team = std::mem::take(&mut self.touches.team);
        let (mut turns, outside) = self.gather(&run, &mut team);
        let recording = self.record.still_records();
        let acts = loop {
            if turns.nr == 0 {
                break None;
            }
            let recorded = self.record.contents.sequence.len();
            let (place, end) = self.play(&mut team, &mut turns, due, outside);
            if end == Some(Stop::Full) {
                self.settle_member(&run, &mut team[place]);
            }
            if recording {
                self.record.contents.hits(&self.mem, recorded);
            }
            match end {
                // Accesses were recorded, as page numbers so far.
                Some(Stop::Full | Stop::Bound) => {}
                Some(Stop::Other | Stop::Miss) => break Some(team[place].cpu),
                None => break None,
            }
        };
        let faults = self.leave_team(&run, &mut team, &mut turns, acts);
        self.touches.team = team;
        self.mem.tell_of_uses();
        // Less than a team costs comes from threads that do something else in between.
        self.touches.touching = faults >= WORTH_A_TEAM;
        if self.touches.touching {
            (self.touches.alone_for, self.touches.pause) = (0, 1);
        }
        self.record.faults(&self.mem, false, self.mem.given.cost.t_minor_anon, faults);
        self.took_steps(faults);
        acts
    }

    /// Lets the members go their own ways from where they are; the CPU that `acts` now keeps its
    /// turn. Returns how many faults they took.
    fn leave_team(
        &mut self,
        run: &FastFaults,
        team: &mut [Member],
        turns: &mut Turns,
        acts: Option<CpuId>,
    ) -> u64 {
        let mut faults = 0;
        let each = self.mem.given.cost.t_minor_anon + self.mem.given.cost.t_hit;
        for n in 0..turns.nr {
            let key = *turns.nth(n);
            let (m, clock) = (&mut team[key as usize % MOST_CPUS], key >> PLACE_BITS);
            self.settle_member(run, m);
            faults += m.faults;
            let t = &mut self.work.threads[m.tid];
            t.progress = std::mem::take(&mut m.progress);
            self.work.done.0 += t.progress.accesses - m.before.0;
            self.work.done.1 += t.progress.records - m.before.1;
            let system = SimDuration(m.faults * each.0);
            t.system += system;
            t.user += SimDuration(clock - m.begin) - system;
            let cpu = m.cpu;
            self.sched.cpus[cpu].clock = SimTime(clock);
            if acts != Some(cpu) {
                self.sched.cpus[cpu].yield_if_due();
            }
            self.sched.order.changed(cpu, &self.sched.cpus[cpu]);
        }
        faults
    }

    /// Puts a team together, in the order of equals. Returns its turns, and the place of the
    /// earliest CPU that does not belong to it.
    fn gather(&mut self, run: &FastFaults, team: &mut Vec<Member>) -> (Turns, u128) {
        let mut outside = u128::MAX;
        let mut nr = 0;
        for (cpu, c) in self.sched.cpus.pairs() {
            let slice = c.slice_end();
            let tid = match c.undisturbed() {
                Some(Entity::Thread(t))
                    if c.clock < slice.min(TEAM_END) && self.work.threads[t].fault.is_none() =>
                {
                    t
                }
                _ => {
                    outside = outside.min(self.sched.order.key_at(cpu));
                    continue;
                }
            };
            if team.len() == nr {
                team.push(Member::nobody());
            }
            (team[nr].tid, team[nr].cpu, team[nr].slice) = (tid, cpu, slice.0);
            nr += 1;
        }
        if !team[..nr].is_sorted_by_key(|m| m.tid) {
            team[..nr].sort_unstable_by_key(|m| m.tid);
        }
        let mut turns = Turns { keys: [0; MOST_CPUS], head: 0, nr };
        // The slow path takes the fault that ends a tick: no other thread goes on meanwhile.
        let tick = self.mem.left_of_tick().saturating_sub(1);
        self.touches.left = self.mem.share_left(run).min(tick);
        // Accesses are recorded in their order, and faults of several threads seen in theirs.
        let singly = self.record.accesses || nr > 1 && self.mem.sees_faults();
        let most = if singly { 1 } else { MOST_PENDING };
        self.touches.each = (self.touches.left / nr.max(1)).min(most);
        for (i, m) in team[..nr].iter_mut().enumerate() {
            let t = &mut self.work.threads[m.tid];
            m.progress = std::mem::take(&mut t.progress);
            m.before = (m.progress.accesses, m.progress.records);
            m.faults = 0;
            m.touches.space = t.space;
            m.touches.known = [UNKNOWN; 2];
            m.touches.room = self.room_of(run, m.cpu);
            m.begin = self.sched.cpus[m.cpu].clock.0;
            turns.keys[i] = m.begin << PLACE_BITS | i as u64;
        }
        turns.keys[..nr].sort_unstable();
        (turns, outside)
    }

    /// Takes turns until something is to be done: by whom, and what. `None`: no turn is before the
    /// next event and before the CPUs outside of the team.
    fn play(
        &mut self,
        team: &mut [Member],
        turns: &mut Turns,
        due: SimTime,
        outside: u128,
    ) -> (usize, Option<Stop>) {
        let outside_clock = (outside >> 64) as u64;
        let soon = due.0.min(outside_clock);
        let (hot, entry, groups) = self.mem.virt.pages.columns();
        let pages = hot.len();
        let t_hit = self.mem.given.cost.t_hit.0;
        let c = &mut Columns {
            spaces: &self.mem.virt.spaces,
            hot,
            entry,
            groups,
            t_hit,
            t_fault: self.mem.given.cost.t_minor_anon.0 + t_hit,
            due: due.0,
            run_ahead: self.config.run_ahead.0,
            notes: if self.record.accesses {
                Notes::Recorded(&mut self.record.contents.sequence)
            } else if self.mem.telling.uses.on() {
                Notes::Followed(self.mem.telling.uses.noting(pages))
            } else {
                Notes::Nobody
            },
        };
        loop {
            let (place, clock, next) = turns.first();
            let m = &mut team[place];
            if clock >= soon {
                let thread = Entity::Thread(m.tid);
                let own = || key_of(m.cpu, SimTime(clock), thread);
                if clock >= due.0 || outside < own() {
                    return (place, None);
                }
            }
            if clock >= m.slice {
                return (place, None);
            }
            let (stop, now) = m.turn(c, clock, next.min(outside_clock));
            turns.moved(place, now);
            if stop != Stop::Bound || matches!(c.notes, Notes::Recorded(_)) {
                return (place, Some(stop));
            }
        }
    }

    /// Settles a member's first touches.
    fn settle_member(&mut self, run: &FastFaults, m: &mut Member) {
        let nr = m.touches.nr;
        if nr == 0 {
            return;
        }
        let t = &mut self.work.threads[m.tid];
        t.no_progress = 0;
        let run = run.of(m.tid, t.space);
        let pending = &m.touches.pending[..nr];
        self.mem.acting.cpu = m.cpu;
        self.mem.settle_faults(&mut *self.policies.lru, &run, pending);
        if self.record.accesses {
            let contents = &mut self.record.contents;
            pending.iter().for_each(|f| contents.made(&self.mem, f.page, FaultKind::ZeroFill));
        }
        self.mem.virt.spaces[run.space].counted.faults += nr as u64;
        m.faults += nr as u64;
        m.touches.nr = 0;
        m.touches.room = self.room_of(&run, m.cpu);
    }

    /// Number of first touches that a member may take next. What all of them may take before the
    /// zone has given its share is divided beforehand.
    fn room_of(&mut self, run: &FastFaults, cpu: CpuId) -> usize {
        let room = self.mem.fault_room(run, cpu).min(self.touches.each);
        let room = room.min(self.touches.left);
        self.touches.left -= room;
        room
    }
}

impl Member {
    fn nobody() -> Self {
        Member {
            tid: ThreadId(0),
            cpu: CpuId(0),
            begin: 0,
            slice: 0,
            progress: Progress::default(),
            before: (0, 0),
            faults: 0,
            touches: Touches {
                space: AsId(0),
                pending: [PendingFault::default(); MOST_PENDING],
                nr: 0,
                room: 0,
                known: [UNKNOWN; 2],
            },
        }
    }

    /// Executes hits and first touches of the thread whose turn it is, as `run_thread` would,
    /// until it is perhaps another's ([`Stop::Bound`]). Returns how that ends, and when.
    #[inline(always)] // There is one caller, and most turns are short.
    fn turn(&mut self, c: &mut Columns<'_>, clock: u64, other: u64) -> (Stop, u64) {
        let t_hit = c.t_hit;
        let (touches, slice) = (&mut self.touches, self.slice);
        let mut turn = Turn { touches, c, start: clock, other, slice };
        let (stop, now) = self.progress.walk(&mut turn, t_hit, clock);
        match stop {
            Stop::Other if !turn.may_act(now) => (Stop::Bound, now),
            stop => (stop, now),
        }
    }
}

impl Touches {
    /// Where a region lies.
    #[inline(always)]
    fn find(&mut self, spaces: &Spaces, region: RegionId) -> Option<Known> {
        let number = u32::from(region.0);
        let known = self.known[usize::from(self.known[0].region != number)];
        if known.region == number { Some(known) } else { self.turn_to(spaces, region) }
    }

    #[inline(never)]
    fn turn_to(&mut self, spaces: &Spaces, region: RegionId) -> Option<Known> {
        let place = spaces.place(self.space, region)?;
        let anon = matches!(spaces.vma(place.vma).kind, VmaKind::Anon);
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
}

/// A member's turn: misses that are first touches, all alike, go into its ledger.
struct Turn<'a, 'b> {
    touches: &'a mut Touches,
    c: &'a mut Columns<'b>,
    /// When it began, or its last first touch ended.
    start: u64,
    /// The earliest other thread's clock.
    other: u64,
    /// The end of its slice.
    slice: u64,
}

impl Turn<'_, '_> {
    /// True if the thread may do now anything but hits.
    #[inline(always)]
    fn may_act(&self, now: u64) -> bool {
        now <= self.other && now < self.c.due || now == self.start
    }

    /// Touches pages of one page table that hold nothing yet, up to the first that does. Returns
    /// how many: at most `most`, and as many as may wait.
    #[inline(always)]
    fn touch(&mut self, page: usize, most: usize, now: u64) -> usize {
        let (c, t) = (&mut *self.c, &mut *self.touches);
        let (group, nth) = (page / GROUP_PAGES as usize, page % GROUP_PAGES as usize);
        if c.groups[GroupId(group as u32)].table.is_none() {
            return 0;
        }
        let most = most.min(GROUP_PAGES as usize - nth);
        let waiting = &mut t.pending[t.nr..t.room];
        let hot = c.hot[page..].iter_mut().zip(&c.entry[page..]).take(most);
        let mut touched = 0;
        for (pending, (hot, &entry)) in waiting.iter_mut().zip(hot) {
            if *hot & !pte::TOUCHED != 0 || entry != 0 {
                break;
            }
            *hot = pte::PRESENT | pte::ACCESSED | pte::DIRTY | pte::WRITABLE;
            let begin = SimTime(now + touched as u64 * c.t_fault);
            let page = PageIdx((page + touched) as u32);
            *pending = PendingFault::new(page, true, begin);
            touched += 1;
        }
        (page..page + touched).for_each(|page| c.notes.came(page));
        t.nr += touched;
        touched
    }
}

impl OnMiss for Turn<'_, '_> {
    const LONGEST: SimDuration = LONG;

    #[inline(always)]
    fn hot(&mut self) -> &mut [u8] {
        self.c.hot
    }

    #[inline(always)]
    fn start_of(&mut self, region: RegionId) -> Option<u32> {
        self.touches.find(self.c.spaces, region).map(|known| known.start)
    }

    #[inline(always)]
    fn hits_end(&self) -> u64 {
        let ahead = self.other.saturating_add(self.c.run_ahead).max(self.start + 1);
        self.c.due.min(ahead).min(self.slice)
    }

    #[inline(always)]
    fn hits(&mut self, first: usize, count: u32) {
        self.c.notes.uses(first, count);
    }

    #[inline(always)]
    fn miss(&mut self, run: &Run, page: usize, left: u32, now: u64) -> Resolved {
        // Anything but a hit is done only if no other thread is earlier by now.
        if !self.may_act(now) {
            return Resolved::not(Stop::Bound, now);
        }
        let (known, end) = (self.touches.known, u64::from(run.first) + u64::from(run.count));
        let known = known[usize::from(known[0].region != u32::from(run.region.0))];
        // A region that ends before the run does is the slow path's.
        if !(run.write && known.touchable && end <= u64::from(known.pages)) {
            return Resolved::not(Stop::Miss, now);
        }
        // Where memory is filled, the pages behind wait for their first touch as well. The last
        // of them begins before it is another's turn.
        let (t_fault, end) = (self.c.t_fault, self.c.due.min(self.other).min(self.slice));
        let fits = fitting(left, end.saturating_sub(now), t_fault).max(1);
        let pages = self.touch(page, fits as usize, now) as u32;
        if pages == 0 {
            return Resolved::not(Stop::Miss, now);
        }
        let now = now + u64::from(pages) * t_fault;
        self.start = now;
        let stop = if self.touches.nr == self.touches.room {
            Some(Stop::Full)
        } else {
            (now >= end).then_some(Stop::Bound)
        };
        Resolved { pages, stop, now }
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
