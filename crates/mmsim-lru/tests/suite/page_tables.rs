//! Accessed bits of page tables after a run, and the conditions under which a process counts as
//! used: the base of a policy that walks page tables.

use crate::harness::memory::small_machine;
use crate::harness::{Policy, Steps, policies, run, run_watched};
use mmsim_core::base::digest::Digest;
use mmsim_core::base::id::{AsId, MemcgId};
use mmsim_core::base::time::SimTime;
use mmsim_core::config::MachineConfig;
use mmsim_core::config::cost::CostModel;
use mmsim_core::machine::{Machine, TaskConfig, Watch};
use mmsim_core::memory::Memory;
use mmsim_core::memory::trace::{Observer, TraceEvent};
use mmsim_core::phys::frames::FolioId;
use mmsim_core::policy::{
    Arrival, Departure, Inspect, ReclaimOutcome, ReclaimPolicy, ReclaimRequest,
};
use mmsim_core::virt::pages::{Entry, pte};
use mmsim_core::workload::{Advice, RegionId};
use mmsim_lru::Random;
use std::sync::{Arc, Mutex};

const FRAMES: u32 = 600;

fn machine() -> MachineConfig {
    MachineConfig { cost: CostModel::measured(), ..small_machine(FRAMES, 4000, 0) }
}

/// Regions lie in page tables of their own each: a table that an access went through is accessed,
/// until the table goes, whatever became of the pages; one that the kernel filled in is not.
#[test]
fn accesses_touch_their_page_tables() {
    let steps = Steps::new()
        .each(0..7, |s, region| s.map(region, 40))
        .write(0, 0..1)
        .advise(1, 0..40, Advice::PopulateWrite)
        // Region 2 is never accessed.
        .write(3, 5..30)
        .advise(3, 0..40, Advice::DontNeed)
        .advise(4, 0..40, Advice::PopulateWrite)
        .write(4, 7..8)
        .write(5, 0..40)
        .write(6, 0..40)
        .unmap(6)
        // Everything but what was written last is swapped out.
        .map(7, 1000)
        .write(7, 0..1000);
    let ran = run(&machine(), Policy::Random, &[steps]);
    let mem = &ran.machine.mem;
    let space = mem.virt.spaces.ids().next().unwrap();
    let touched = |region: u16| {
        let vma = mem.virt.spaces.vma(mem.virt.spaces.region(space, RegionId(region))?);
        Some(mem.pmd_young(vma.start.group()))
    };
    let all: Vec<_> = (0..8).map(touched).collect();
    let [yes, no] = [Some(true), Some(false)];
    assert_eq!(all, [yes, no, no, yes, yes, yes, None, yes]);
    let vma = mem.virt.spaces.vma(mem.virt.spaces.region(space, RegionId(5)).unwrap());
    let out =
        |p: u32| matches!(mem.virt.pages.entry(mmsim_core::base::id::PageIdx(p)), Entry::Swap(_));
    assert!((vma.start.0..vma.end().0).any(out), "nothing of region 5 was swapped out");
}

struct Nobody;

impl Observer for Nobody {
    fn event(&mut self, _: SimTime, _: &TraceEvent) {}
}

/// Faults and evictions take fast paths without an observer; they leave the same bits.
#[test]
fn short_ways_leave_the_same_bits() {
    let thrash =
        Steps::new().map(0, 900).map(1, 30).map(2, 700).write(1, 0..30).each(0..6, |s, i| {
            let s = s.write(0, 100 * i..100 * i + 300).write(2, 0..600);
            if i % 2 == 0 { s.advise(2, 10..400, Advice::DontNeed) } else { s }
        });
    for (name, policy, kernel) in policies() {
        let config = MachineConfig { kernel, ..machine() };
        let bits = |watch| {
            let ran = run_watched(&config, policy, &[thrash.clone(), thrash.clone()], watch);
            let mut d = Digest::new();
            ran.machine.mem.digest_walks(&mut d);
            let touched = ran.machine.mem.virt.pages.hot.iter().filter(|&h| h & pte::TOUCHED != 0);
            (d.finish(), touched.count())
        };
        let watched = Watch::default().with_observer(Box::new(Nobody));
        assert_eq!(bits(Watch::default()), bits(watched), "{name}");
    }
}

/// Answers to the question if a CPU turned to a thread since the last call.
#[derive(Default)]
struct Log {
    switched: bool,
    /// Used according to the machine, and according to the events.
    asked: Vec<(bool, bool)>,
}

/// Asks at every step of reclaim whether the process was used.
struct Asking(Random, Arc<Mutex<Log>>);

impl Inspect for Asking {}

impl ReclaimPolicy for Asking {
    fn folio_arrived(&mut self, mem: &mut Memory, folio: FolioId, how: Arrival) {
        self.0.folio_arrived(mem, folio, how);
    }
    fn folio_departed(&mut self, mem: &mut Memory, folio: FolioId, why: Departure) {
        self.0.folio_departed(mem, folio, why);
    }
    fn reclaim(&mut self, mem: &mut Memory, req: &ReclaimRequest) -> ReclaimOutcome {
        let (_, space): (u64, AsId) = mem.mm_list(MemcgId(0)).next().unwrap();
        let used = mem.take_used(space);
        let log = &mut *self.1.lock().unwrap();
        log.asked.push((used, std::mem::take(&mut log.switched)));
        self.0.reclaim(mem, req)
    }
}

struct Listening(Arc<Mutex<Log>>);

impl Observer for Listening {
    fn event(&mut self, _: SimTime, event: &TraceEvent) {
        if let TraceEvent::SchedSwitch { thread: Some(_), .. } = event {
            self.0.lock().unwrap().switched = true;
        }
    }
}

/// A process was used if the CPU turned to it since the question before: between two steps of
/// kswapd without it, it was not.
#[test]
fn a_process_is_used_when_the_cpu_turns_to_it() {
    let log = Arc::new(Mutex::new(Log::default()));
    let script = Steps::new().map(0, 900).each(0..5, |s, _| s.write(0, 0..900)).script();
    let task = TaskConfig::new("thrash", vec![Box::new(script)]);
    let policy = |mem: &mut Memory| -> Box<dyn ReclaimPolicy> {
        Box::new(Asking(Random::new(mem, 1), log.clone()))
    };
    let mut machine = Machine::new(&machine(), vec![task], 1, policy);
    machine.run(Watch::default().with_observer(Box::new(Listening(log.clone()))));
    let asked = &log.lock().unwrap().asked;
    let count = |a| asked.iter().filter(|&&b| a == b).count();
    assert!(count((true, true)) > 10 && count((false, false)) > 10, "{asked:?}");
    assert!(asked.iter().all(|(machine, events)| machine == events), "{asked:?}");
}
