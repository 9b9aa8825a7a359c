//! Policies of groups that say which reads may fill the cache: who asks which policy, what a refused read
//! does, and what it costs. All numbers are worked out by hand.

use crate::support::*;
use mmsim::base::id::MemcgId;
use mmsim::config::{Kernel, MachineConfig, VmSysctl};
use mmsim::machine::result::RunResult;
use mmsim::memory::Memory;
use mmsim::phys::frames::FolioId;
use mmsim::policy::chooser::{AdmitAsk, EvictAsk, FileChooser, FileFolioRecord, Uncovered};
use mmsim::workload::{Op, VmaFlags};
use std::sync::{Arc, Mutex};

/// First page and pages of each ask.
type Asks = Arc<Mutex<Vec<(u32, u32)>>>;

/// Turns away the asks of these numbers, and writes all of them down.
struct Door {
    turned_away: &'static [usize],
    asks: Asks,
}

impl FileChooser for Door {
    fn name(&self) -> &str {
        "door"
    }
    fn told(&mut self, _: &Memory, _: &[FileFolioRecord]) -> Result<(), Uncovered> {
        Ok(())
    }
    fn choose(&mut self, _: &Memory, _: &EvictAsk, _: &mut Vec<FolioId>) -> Result<(), Uncovered> {
        Ok(())
    }
    fn asks_to_admit(&self) -> bool {
        true
    }
    fn admit(&mut self, _: &Memory, ask: &AdmitAsk) -> Result<bool, Uncovered> {
        let mut asks = self.asks.lock().unwrap();
        asks.push((ask.first, ask.count));
        Ok(!self.turned_away.contains(&(asks.len() - 1)))
    }
}

/// A run of one thread, and the asks that the policy got.
struct Run {
    result: RunResult,
    asks: Vec<(u32, u32)>,
}

/// A machine of a kernel whose LRU batches, and so those of refused reads, have 15 pages.
fn with_readahead(pages: u32) -> MachineConfig {
    let c = config(Kernel::V6_6, "ramdisk");
    MachineConfig { vm: VmSysctl { ra_pages: pages, ..c.vm.clone() }, ..c }
}

fn ran(c: &MachineConfig, turned_away: &'static [usize], of: MemcgId, ops: Vec<Op>) -> Run {
    let asks = Asks::default();
    let mut m = machine(c, vec![member("t", ops)]);
    let door = Door { turned_away, asks: Arc::clone(&asks) };
    m.attach_chooser(of, Box::new(door)).expect("the classic LRU asks");
    let result = m.run(mmsim::machine::Watch::default().with_check_every(1));
    let asks = asks.lock().unwrap().clone();
    Run { result, asks }
}

const MINE: MemcgId = MemcgId(1);

/// Cached pages, and KiB read, at the end of each phase.
fn cached(r: &Run) -> Vec<(u64, u64)> {
    let phases = r.result.phases.iter();
    phases.map(|p| (gauge(&p.gauges, "nr_file_pages"), phase_counts(p, ["pgpgin"])[0])).collect()
}

/// A read of 40 pages finds the first 4 cached. At page 4 the kernel asks for the 36 that are left, and
/// the policy turns them away: 15 pages
/// are read past the cache, and page 19 asks for the 21 that are left then. Without readahead each of
/// these is a miss of its own, and asks.
#[test]
fn a_refused_read_goes_past_the_cache_in_batches() {
    let ops = vec![pread(0, 4), end(0), pread(0, 40), end(1)];
    let r = ran(&with_readahead(0), &[4], MINE, ops);
    let first = (0..4).map(|i| (i, 4 - i));
    let then = (19..40).map(|i| (i, 40 - i));
    let expected: Vec<_> = first.chain([(4, 36)]).chain(then).collect();
    assert_eq!(r.asks, expected);
    assert_eq!(cached(&r), [(4, 4 * 4), (4 + 21, 4 * (15 + 21))]);
    let counts = r.result.choosers[0].counts;
    assert_eq!((counts.admit_asks, counts.turned_away, counts.past), (26, 1, 15));
    assert_eq!(r.result.cache_misses, 4 + 15 + 21);
}

/// The first 15 pages are read one by one. Page 15 is admitted, and follows the page that was read last:
/// a stream, whose first window for 25 pages is the largest, 32.
#[test]
fn an_admitted_read_reads_ahead_after_a_refused_one() {
    let r = ran(&with_readahead(32), &[0], MINE, vec![pread(0, 40), end(0)]);
    assert_eq!(r.asks, [(0, 40), (15, 25)]);
    assert_eq!(cached(&r), [(32, 4 * (15 + 32))]);
}

/// Requests past the cache follow one another: 15 of 150 us, where readahead takes 150 us and 31 times
/// 8.192 us for 32 pages. All the rest of 40 pages' reading is below 0.2 ms of CPU.
#[test]
fn pages_past_the_cache_are_read_one_after_the_other() {
    let time = |turned_away| {
        let r = ran(&with_readahead(32), turned_away, MINE, vec![pread(0, 15), end(0)]);
        r.result.sim_time.0 as i64
    };
    let one_by_one = 15 * 150_000;
    let cpu = time(&[0]) - one_by_one;
    assert!((15_000..100_000).contains(&cpu), "{cpu} ns of CPU for 15 pages");
    // Readahead reads a first window of 32 pages by one request.
    let at_once = 150_000 + 31 * 8_192;
    let cpu = time(&[]) - at_once;
    assert!((0..50_000).contains(&cpu), "{cpu} ns of CPU for one request");
}

/// A batch is read from the device even where its pages are cached: of 10 pages one is. What is cached
/// stays as it is.
#[test]
fn cached_pages_of_a_refused_batch_are_read_again() {
    let ops = vec![pread(5, 1), end(0), pread(0, 10), end(1)];
    let r = ran(&with_readahead(0), &[1], MINE, ops);
    assert_eq!(r.asks, [(5, 1), (0, 10)]);
    assert_eq!(cached(&r), [(1, 4), (1, 40)]);
    assert_eq!(r.result.cache_misses, 1 + 9);
}

/// Writes, faults and `MADV_WILLNEED` ask no policy, nor does a read whose pages are cached.
#[test]
fn only_reads_that_miss_ask() {
    let map = file(0, 64, true, VmaFlags::default());
    let will_need = advise(0, 32, 4, mmsim::workload::Advice::WillNeed);
    let ops = vec![pwrite(0, 4), pread(0, 4), map, read(0, 16, 4), will_need];
    let r = ran(&with_readahead(0), &[], MINE, ops);
    assert_eq!(r.asks, []);
}

/// A read asks the policy of the thread's own group, none of a group above it.
#[test]
fn groups_above_are_not_asked() {
    let r = ran(&with_readahead(0), &[0], MemcgId(0), vec![pread(0, 4), end(0)]);
    assert_eq!(r.asks, []);
    assert_eq!(cached(&r), [(4, 16)]);
}

/// A read of a synchronous device goes past the cache as well, and is done at once.
#[test]
fn synchronous_devices_serve_refused_reads() {
    let c = MachineConfig { file_device: device("ramdisk"), ..with_readahead(0) };
    let r = ran(&c, &[0, 1], MINE, vec![pread(0, 20), end(0)]);
    assert_eq!(r.asks, [(0, 20), (15, 5)]);
    assert_eq!(cached(&r), [(0, 80)]);
}
