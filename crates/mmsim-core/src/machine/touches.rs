//! First touches, on all CPUs at once.
//!
//! Between two things that others can see, threads that populate memory do nothing but hits
//! and first touches served from their CPU's own stock, and their turns change after every
//! one of them. A first touch is seen by nobody until the CPU's LRU batch is full
//! (`memory/touching.rs`). So the threads of all CPUs that run one thread alone form a team
//! here. Their turns are those of the run loop, to the nanosecond, and each turn executes
//! what `run_thread` would; but a turn costs little more than finding out whose it is. Frames
//! are settled when a batch is full, at the very fault that fills it, or when the team
//! breaks up: at the first thing that is neither a hit nor such a first touch, at an event,
//! or when a CPU outside of the team is next.

use super::Machine;
use super::order::key_of;
use super::returns::Until;
use super::run::{hit, hit_run};
use super::thread::{Entity, Thread};
use crate::base::id::{CpuId, GROUP_PAGES, GroupId, IndexVec, ThreadId, ZoneId};
use crate::base::time::{SimDuration, SimTime};
use crate::policy::{Arrival, ArrivalKind, ReclaimPolicy};
use crate::virt::pages::{Group, pte};
use crate::virt::space::{Spaces, VmaKind};
use crate::workload::{Op, RegionId, Run, VmaFlags};

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

/// A thread that runs alone on its CPU.
pub(super) struct Member {
    tid: ThreadId,
    cpu: CpuId,
    /// First touches that wait to be settled, and how many may.
    pages: Vec<u32>,
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
    /// Something else is to be done now.
    Other,
}

/// What a turn looks at.
struct Columns<'a> {
    spaces: &'a Spaces,
    hot: &'a mut [u8],
    entry: &'a [u32],
    groups: &'a IndexVec<GroupId, Group>,
    t_hit: u64,
    /// What a first touch takes, with the access.
    t_fault: u64,
}

/// The members' clocks and ranks.
struct Clocks {
    clock: [u64; MOST_CPUS],
    nr: usize,
}

impl Clocks {
    /// The earliest member, its clock, and the earliest clock of the others. Of several
    /// earliest the first.
    #[inline(always)]
    fn first(&self) -> (usize, u64, u64) {
        let (mut first, mut clock, mut other) = (0, self.clock[0], u64::MAX);
        for (i, &c) in self.clock[..self.nr].iter().enumerate().skip(1) {
            if c < clock {
                (first, clock, other) = (i, c, clock);
            } else {
                other = other.min(c);
            }
        }
        (first, clock, other)
    }
}

impl<P: ReclaimPolicy> Machine<P> {
    /// Lets the threads of all CPUs go on for as long as they do nothing but hits and first
    /// touches. Returns the CPU that has to act now, if that is known: its thread stopped in
    /// its turn.
    pub(super) fn touches(&mut self, due: SimTime) -> Option<usize> {
        self.touching = false;
        let watched = self.watch.record_accesses || self.watch.check_every > 0;
        if watched || self.cpus.len() > MOST_CPUS || !self.policy.entries_together() {
            return None;
        }
        let zone = self.mem.touch_zone()?;
        let mut team = std::mem::take(&mut self.team);
        let (mut clocks, outside) = self.gather(zone, &mut team);
        let mut faults = 0;
        let acts = loop {
            let (i, clock, other) = clocks.first();
            if i >= clocks.nr || due.0 <= clock {
                break None;
            }
            let m = &mut team[i];
            if outside <= key_of(m.cpu.0.into(), SimTime(clock), Entity::Thread(m.tid)) {
                break None;
            }
            let until = Until {
                due,
                other: SimTime(other.min((outside >> 64) as u64)),
                slice: SimTime::NEVER,
                run_ahead: self.config.run_ahead,
            };
            let t = &mut self.threads[m.tid];
            let (hot, entry, groups) = self.mem.pages.columns();
            let t_hit = self.mem.cost.t_hit.0;
            let t_fault = self.mem.cost.t_minor_anon.0 + t_hit;
            let spaces = &self.mem.spaces;
            let mut columns = Columns { spaces, hot, entry, groups, t_hit, t_fault };
            match m.turn(t, &mut clocks.clock[i], &until, &mut columns) {
                End::Turn => {}
                End::Full => faults += self.settle_member(zone, m),
                End::Other => break Some(m.cpu.0.into()),
            }
        };
        for (m, &clock) in team[..clocks.nr].iter_mut().zip(&clocks.clock) {
            faults += self.settle_member(zone, m);
            let cpu = usize::from(m.cpu.0);
            self.cpus[cpu].clock = SimTime(clock);
            self.cpus[cpu].yield_if_due();
            self.order.changed(cpu, &self.cpus[cpu]);
        }
        self.team = team;
        self.touching = faults > 0;
        self.steps += faults;
        self.latency[0].add_many(self.mem.cost.t_minor_anon, faults);
        self.note_resident();
        acts
    }

    /// Puts a team together, in the order of equals. Returns its clocks, and the place of the
    /// earliest CPU that does not belong to it.
    fn gather(&mut self, zone: ZoneId, team: &mut Vec<Member>) -> (Clocks, u128) {
        let mut clocks = Clocks { clock: [u64::MAX; MOST_CPUS], nr: 0 };
        let mut outside = u128::MAX;
        for (i, c) in self.cpus.iter().enumerate() {
            let cpu = CpuId(i as u16);
            let Some(Entity::Thread(tid)) = c
                .alone()
                .filter(|e| matches!(e, Entity::Thread(t) if self.threads[*t].fault.is_none()))
            else {
                outside = outside.min(self.order.key_at(i));
                continue;
            };
            if team.len() == clocks.nr {
                let pages = Vec::new();
                team.push(Member { tid, cpu, pages, room: 0, known: [UNKNOWN; 2] });
            }
            let m = &mut team[clocks.nr];
            (m.tid, m.cpu, m.known) = (tid, cpu, [UNKNOWN; 2]);
            m.room = self.mem.touch_room(zone, cpu);
            clocks.nr += 1;
        }
        let team = &mut team[..clocks.nr];
        if !team.is_sorted_by_key(|m| m.tid) {
            team.sort_unstable_by_key(|m| m.tid);
        }
        for (clock, m) in clocks.clock.iter_mut().zip(team) {
            *clock = self.cpus[usize::from(m.cpu.0)].clock.0;
        }
        (clocks, outside)
    }

    /// Settles a member's first touches. Returns how many there were.
    fn settle_member(&mut self, zone: ZoneId, m: &mut Member) -> u64 {
        if m.pages.is_empty() {
            return 0;
        }
        let t = &mut self.threads[m.tid];
        t.no_progress = 0;
        let recency = VmaFlags::default().recency(self.mem.ignores_random());
        let how = Arrival { kind: ArrivalKind::New, in_fault: Some(recency), position: 0 };
        self.mem.cpu = m.cpu;
        self.mem.settle_touched(&mut self.policy, zone, t.space, how, &m.pages);
        let n = m.pages.len() as u64;
        m.pages.clear();
        m.room = self.mem.touch_room(zone, m.cpu);
        n
    }
}

impl Member {
    /// Where a region lies.
    #[inline(always)]
    fn find(&mut self, spaces: &Spaces, t: &Thread, region: RegionId) -> Option<Known> {
        let number = u32::from(region.0);
        if self.known[0].region == number {
            return Some(self.known[0]);
        }
        self.known.swap(0, 1);
        if self.known[0].region != number {
            let place = spaces.place(t.space, region)?;
            let anon = matches!(spaces.vma(place.vma).kind, VmaKind::Anon);
            self.known[0] = Known {
                region: number,
                start: place.start.0,
                pages: place.pages,
                touchable: anon && place.flags == VmaFlags::default(),
            };
        }
        Some(self.known[0])
    }

    /// Executes hits and first touches of the thread whose turn it is, as `run_thread` would.
    fn turn(&mut self, t: &mut Thread, clock: &mut u64, until: &Until, c: &mut Columns<'_>) -> End {
        let (due, other) = (until.due.0, until.other.0);
        let (begin, before) = (*clock, self.pages.len());
        let (mut now, mut next, mut done) = (begin, t.next, t.done);
        let (mut touched, mut records) = (0, 0);
        let end = 'turn: loop {
            let start = now;
            let hits_end = until.hits_end(SimTime(start)).0;
            // What is no hit is done only if nobody else is earlier by now.
            let mine = |now: u64| now <= other && now < due || now == start;
            let no_hit = |now| if mine(now) { End::Other } else { End::Turn };
            let (run, known, page): (&Run, Known, usize) = loop {
                let Some(op) = t.ops.get(next) else { break 'turn no_hit(now) };
                if now >= hits_end {
                    break 'turn End::Turn;
                }
                match op {
                    Op::Access(run) => {
                        let Some(known) = self.find(c.spaces, t, run.region) else {
                            break 'turn no_hit(now);
                        };
                        let first = (known.start + run.first + done) as usize;
                        if run.count == 1 {
                            if !hit(&mut c.hot[first], run.write) {
                                break (run, known, first);
                            }
                            (now, next, touched) = (now + c.t_hit, next + 1, touched + 1);
                            continue;
                        }
                        let mut fits = run.count - done;
                        if c.t_hit > 0 {
                            fits = u64::from(fits).min((hits_end - now).div_ceil(c.t_hit)) as u32;
                        }
                        let hits = hit_run(&mut c.hot[first..first + fits as usize], run.write);
                        now += u64::from(hits) * c.t_hit;
                        touched += u64::from(hits);
                        done += hits;
                        if done == run.count {
                            (done, next) = (0, next + 1);
                        } else if hits < fits {
                            break (run, known, first + hits as usize);
                        }
                    }
                    Op::Compute(d) => (now, next) = (now + d.0, next + 1),
                    Op::Records(n) => (records, next) = (records + u64::from(*n), next + 1),
                    _ => break 'turn no_hit(now),
                }
            };
            if !mine(now) {
                break End::Turn;
            }
            let inside = run.first.checked_add(run.count).is_some_and(|end| end <= known.pages);
            let first_touch = c.hot[page] == 0
                && c.entry[page] == 0
                && c.groups[GroupId(page as u32 / GROUP_PAGES)].table.is_some();
            let alike = run.write && known.touchable && inside && self.pages.len() < self.room;
            if !(first_touch && alike) {
                break End::Other;
            }
            c.hot[page] = pte::PRESENT | pte::YOUNG | pte::DIRTY | pte::WRITABLE;
            self.pages.push(page as u32);
            (now, touched, done) = (now + c.t_fault, touched + 1, done + 1);
            if done == run.count {
                (done, next) = (0, next + 1);
            }
            if self.pages.len() == self.room {
                break End::Full;
            }
            if now >= due || now >= other {
                break End::Turn;
            }
        };
        let system = (self.pages.len() - before) as u64 * c.t_fault;
        (t.next, t.done) = (next, done);
        t.accesses += touched;
        t.records += records;
        t.system += SimDuration(system);
        t.user += SimDuration(now - begin - system);
        *clock = now;
        end
    }
}
