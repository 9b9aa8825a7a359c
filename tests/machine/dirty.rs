//! Dirty pages of files: limits of groups, who waits, and who is never killed for them.

use crate::support::*;
use mmsim::base::id::ListId;
use mmsim::config::{DirtyLimit, Kernel, MachineConfig};
use mmsim::machine::result::{Outcome, RunResult};
use mmsim::machine::{Machine, TaskConfig, Watch};
use mmsim::memory::{Evicting, Memory};
use mmsim::phys::frames::FolioId;
use mmsim::policy::{
    Arrival, Departure, Inspect, ReclaimOutcome, ReclaimPolicy, ReclaimRequest, Reclaimer,
};
use mmsim::workload::{Op, VmaFlags};

/// Pages a second that the device of these tests writes.
const RATE: f64 = 1024.0;

/// Pages that may be dirty in a group of 200: a fifth, and what a writer dirties between two looks.
const OF_200: u64 = 200 / 5 + 16;

/// Files on a device of 4 MiB/s, and a group of at most 200 pages.
fn slow(kernel: Kernel) -> MachineConfig {
    let mut c = config(kernel, "ssd");
    c.file_device.write_bandwidth = Some(4096 * 1024);
    c.memcgs[0].max = Some(200);
    c
}

/// Completed, at the speed of the device: all that was dirtied but for `unwritten` pages was written.
fn at_the_speed_of_the_device(r: &RunResult, unwritten: u64) {
    assert_eq!(r.outcome, Outcome::Completed);
    let [dirtied, written] = counts(r, ["nr_dirtied", "nr_written"]);
    assert!(dirtied <= written + unwritten, "{dirtied} dirtied, {written} written");
    let at_least = (dirtied - unwritten) as f64 / RATE;
    let took = r.sim_time.as_secs_f64();
    assert!(took >= at_least && took < 1.5 * dirtied as f64 / RATE, "{took} s, {at_least} s");
}

#[test]
fn a_writer_in_a_small_group_is_slowed_down_to_the_device() {
    for kernel in Kernel::ALL {
        let r = run(&slow(kernel), vec![member("t", vec![pwrite(0, FILE_PAGES); 2])]);
        // Before cgroup v2 only the limit itself holds a group's writers.
        let most = if kernel == Kernel::V4_1 { 200 } else { OF_200 };
        at_the_speed_of_the_device(&r, most);
        let dirty = gauge(&r.gauges, "nr_dirty") + gauge(&r.gauges, "nr_writeback");
        assert!(dirty <= most, "{kernel:?}: {dirty}");
    }
}

#[test]
fn memory_high_bounds_dirty_pages_as_memory_max_does() {
    let mut c = slow(Kernel::V6_12);
    (c.memcgs[0].max, c.memcgs[0].high) = (None, Some(200));
    let r = run(&c, vec![member("t", vec![pwrite(0, FILE_PAGES); 2])]);
    at_the_speed_of_the_device(&r, OF_200);
}

#[test]
fn mapped_writes_of_a_group_are_slowed_down_too() {
    let ops = vec![file(0, FILE_PAGES, true, VmaFlags::default()), write(0, 0, FILE_PAGES)];
    let r = run(&slow(Kernel::V6_12), vec![member("t", ops)]);
    assert_eq!(r.outcome, Outcome::Completed);
    assert_eq!(count(&r, "nr_dirtied"), u64::from(FILE_PAGES));
    let dirty = gauge(&r.gauges, "nr_dirty") + gauge(&r.gauges, "nr_writeback");
    assert!(dirty <= OF_200, "{dirty}");
}

/// A writer beside the group is not held to the group's limits.
#[test]
fn others_are_not_slowed_down() {
    let r = run(&slow(Kernel::V6_12), vec![task("t", vec![pwrite(0, 160)])]);
    assert!(r.sim_time.0 < 1_000_000, "{:?}", r.sim_time);
}

/// The least that a policy can be: first in, first out, and no word about what it met.
struct Fifo(ListId);

impl Inspect for Fifo {}

impl ReclaimPolicy for Fifo {
    fn folio_arrived(&mut self, mem: &mut Memory, folio: FolioId, _: Arrival) {
        mem.lru_add_head(self.0, folio);
    }
    fn folio_departed(&mut self, mem: &mut Memory, folio: FolioId, _: Departure) {
        mem.lru_del(folio);
    }
    fn reclaim(&mut self, mem: &mut Memory, req: &ReclaimRequest) -> ReclaimOutcome {
        mem.lru_drain(self);
        let mut out = ReclaimOutcome::default();
        for _ in 0..32 {
            let Some(folio) = mem.isolate_tail(self.0, req) else { break };
            out.scanned += 1;
            let spared = matches!(req.by, Reclaimer::Limit(m) | Reclaimer::Proactive(m) if mem.frames.memcg(folio) != m);
            if !spared && mem.evict(folio, Evicting::of(req), None).is_ok() {
                out.reclaimed += 1;
            } else {
                mem.lru_add_head(self.0, folio);
            }
        }
        out
    }
}

fn by_fifo(c: &MachineConfig, tasks: Vec<TaskConfig>) -> RunResult {
    let fifo = |mem: &mut Memory| Box::new(Fifo(mem.lru.lists.create())) as Box<dyn ReclaimPolicy>;
    Machine::new(c, tasks, 1, fifo).run(Watch::default().with_check_every(1))
}

/// No process is killed while waiting for the device would do: with limits that allow all memory to
/// be dirty, with a policy that does not say so, in a group and on the whole machine.
#[test]
fn nobody_is_killed_while_pages_can_be_cleaned() {
    for kernel in [Kernel::V4_1, Kernel::V6_12] {
        let mut c = slow(kernel);
        (c.vm.dirty_background, c.vm.dirty) = (DirtyLimit::Ratio(100), DirtyLimit::Ratio(100));
        let writes = || vec![pwrite(0, FILE_PAGES); 2];
        at_the_speed_of_the_device(&by_fifo(&c, vec![member("t", writes())]), 200);
        // 700 frames for a file of 1024 pages.
        c.nodes[0].zones[0] = zone(700);
        at_the_speed_of_the_device(&by_fifo(&c, vec![task("t", writes())]), 700);
    }
}

/// A page that is written again while it goes to the device is dirty, and written again.
#[test]
fn a_page_dirtied_under_write_is_written_again() {
    let mut c = config(Kernel::V6_12, "ssd");
    c.file_device.write = mmsim::base::time::SimDuration::from_millis(500);
    // The first write begins at 35 s: the next period after 30 s.
    let ops: Vec<Op> = vec![pwrite(0, 1), sleep_ms(35_100), pwrite(0, 1), sleep_ms(45_000), end(0)];
    let r = run(&c, vec![task("t", ops)]);
    assert_eq!(phase_counts(&r.phases[0], ["nr_dirtied", "nr_written"]), [2, 2]);
    assert_eq!(gauge(&r.phases[0].gauges, "nr_dirty"), 0);
}
