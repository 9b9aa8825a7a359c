//! Files without a cache: posix_fadvise(2), O_DIRECT, RWF_DONTCACHE.

use crate::support::*;
use mmsim::config::{Kernel, MachineConfig};
use mmsim::machine::result::RunResult;
use mmsim::workload::{Advice, FileAdvice, FileSlot, Op, Uncached, VmaFlags};

const FILE: FileSlot = FileSlot(0);

fn fadvise(first: u32, count: u32, advice: FileAdvice) -> Op {
    Op::Fadvise { file: FILE, first, count, advice }
}
fn direct(first: u32, count: u32, write: bool) -> Op {
    Op::Uncached { file: FILE, first, count, write, how: Uncached::Direct }
}
fn dontcache(first: u32, count: u32, write: bool) -> Op {
    Op::Uncached { file: FILE, first, count, write, how: Uncached::DontCache }
}
fn on_ramdisk(kernel: Kernel) -> MachineConfig {
    MachineConfig { file_device: device("ramdisk"), ..config(kernel, "ramdisk") }
}
fn ran(c: &MachineConfig, ops: Vec<Op>) -> RunResult {
    run(c, vec![member("t", ops)])
}
/// Pages in the cache at the ends of the phases.
fn cached(r: &RunResult) -> Vec<u64> {
    r.phases.iter().map(|p| gauge(&p.gauges, "nr_file_pages")).collect()
}

/// 16 of 64 cached pages are dropped, though they wait in the batch of the CPU. They leave no
/// shadows, so reading them again is no refault.
#[test]
fn dontneed_drops_clean_pages_without_a_shadow() {
    for kernel in [Kernel::V6_12, Kernel::V6_18, Kernel::V7_3] {
        let c = MachineConfig { lru_batch: None, ..on_ramdisk(kernel) };
        let dontneed = fadvise(0, 16, FileAdvice::DontNeed);
        let ops = vec![pread(0, 64), end(0), dontneed, end(1), pread(0, 64), end(2)];
        let r = ran(&c, ops);
        assert_eq!(cached(&r), [64, 48, 64], "{kernel:?}");
        assert_eq!(phase_counts(&r.phases[2], ["pgpgin", "workingset_refault_file"]), [64, 0]);
    }
}

/// Pages that reclaim evicted have shadows, and the advice drops them too: without it their reading
/// is a refault of each.
#[test]
fn dontneed_drops_shadows() {
    for (advised, refaults) in [(false, 32), (true, 0)] {
        let mut ops = vec![pread(0, 32), reclaim(32), end(0)];
        ops.extend(advised.then(|| fadvise(0, 32, FileAdvice::DontNeed)));
        ops.extend([pread(0, 32), end(1)]);
        let r = ran(&on_ramdisk(Kernel::V6_12), ops);
        assert_eq!(cached(&r), [0, 32]);
        assert_eq!(phase_counts(&r.phases[1], ["workingset_refault_file"]), [refaults]);
    }
}

/// A synchronous device writes at once, so the pages are clean when their turn comes. On an SSD they
/// are under write and passed over; the next call drops them.
#[test]
fn dontneed_writes_dirty_pages_first() {
    let dontneed = || fadvise(0, 8, FileAdvice::DontNeed);
    let ops = || {
        let later = [sleep_ms(100), end(1), dontneed(), end(2)];
        [vec![pwrite(0, 8), dontneed(), end(0)], later.into()].concat()
    };
    let r = ran(&on_ramdisk(Kernel::V6_12), ops());
    assert_eq!((cached(&r), count(&r, "pgpgout")), (vec![0, 0, 0], 32));
    let r = ran(&config(Kernel::V6_12, "ramdisk"), ops());
    assert_eq!((cached(&r), count(&r, "pgpgout")), (vec![8, 8, 0], 32));
}

/// Mapped pages are in use: they stay where they are.
#[test]
fn dontneed_leaves_mapped_pages_alone() {
    let c = on_ramdisk(Kernel::V6_12);
    let map = file(0, 8, true, VmaFlags::default());
    let dontneed = fadvise(0, 16, FileAdvice::DontNeed);
    let r = ran(&c, vec![pread(0, 16), map, read(0, 0, 8), end(0), dontneed, end(1)]);
    assert_eq!(cached(&r), [16, 8]);
    assert_eq!(counts(&r, ["pgrotated", "pgdeactivate"]), [0, 0]);
}

/// Cold direct reads bring nothing into the cache, and cached pages stay as they are: no mark, no
/// activation.
#[test]
fn direct_reads_leave_the_cache_alone() {
    for swap in ["ramdisk", "ssd"] {
        let mut c = config(Kernel::V6_12, "ramdisk");
        c.file_device = device(swap);
        let ops = vec![pread(0, 16), end(0), direct(0, 256, false), direct(0, 256, false), end(1)];
        let r = ran(&c, ops);
        assert_eq!(cached(&r), [16, 16], "{swap}");
        assert_eq!(phase_counts(&r.phases[1], ["pgpgin", "pgactivate"]), [2048, 0]);
    }
}

/// Dirty pages are written before the device is read.
#[test]
fn direct_reads_see_what_was_written() {
    let c = config(Kernel::V6_12, "ramdisk");
    let r = ran(&c, vec![pwrite(4, 8), end(0), direct(0, 16, false), end(1)]);
    assert_eq!(phase_counts(&r.phases[1], ["pgpgout", "pgpgin"]), [32, 64]);
    assert_eq!((cached(&r), gauge(&r.phases[1].gauges, "nr_dirty")), (vec![8, 8], 0));
}

/// A direct write takes cached pages out, mapped ones too: the next touches of these read them.
#[test]
fn direct_writes_take_pages_out_of_the_cache() {
    let c = config(Kernel::V6_12, "ramdisk");
    let map = file(0, 8, true, VmaFlags::default());
    let mut ops = vec![pread(0, 16), map, read(0, 0, 8), end(0), direct(0, 12, true), end(1)];
    ops.extend([read(0, 0, 8), end(2)]);
    let r = ran(&c, ops);
    assert_eq!(cached(&r), [16, 4, 12]);
    assert_eq!(phase_counts(&r.phases[1], ["pgpgout"]), [48]);
    let after = ["pgmajfault", "workingset_refault_file"];
    assert_eq!(phase_counts(&r.phases[2], after), [8, 0]);
}

/// D1 of the worked examples: nothing of the file is left, or the half that was cached before. With
/// a window, so pages read ahead go too.
#[test]
fn dontcache_reads_leave_what_was_cached_before() {
    for (before, left) in [(0, 0), (512, 512)] {
        for device_of_files in ["ramdisk", "ssd"] {
            let mut c = config(Kernel::V6_18, "ramdisk");
            (c.vm.ra_pages, c.lru_batch) = (32, None);
            c.file_device = device(device_of_files);
            let mut ops: Vec<Op> = Vec::new();
            if before > 0 {
                // What is still under read is passed over.
                ops.extend([pread(0, before), sleep_ms(50)]);
                ops.push(fadvise(before, FILE_PAGES - before, FileAdvice::DontNeed));
            }
            ops.extend([end(0), dontcache(0, FILE_PAGES, false), sleep_ms(50), end(1)]);
            let r = ran(&c, ops);
            assert_eq!(cached(&r), [u64::from(before), left], "{device_of_files}");
        }
    }
}

/// Written pages go when they are on the device, without a flusher.
#[test]
fn dontcache_writes_go_when_they_are_written() {
    let c = config(Kernel::V6_18, "ramdisk");
    let r = ran(&c, vec![dontcache(0, 64, true), end(0), sleep_ms(200), end(1)]);
    assert_eq!(cached(&r), [64, 0]);
    assert_eq!(count(&r, "pgpgout"), 256);
}

/// An ordinary write takes the mark back.
#[test]
fn an_ordinary_write_keeps_the_page() {
    let c = config(Kernel::V6_18, "ramdisk");
    let ops = vec![dontcache(0, 8, true), pwrite(0, 8), sleep_ms(200), end(0)];
    assert_eq!(cached(&ran(&c, ops)), [8]);
}

/// Accessed bits of executable mappings activate their pages at the first scan; after NOREUSE they do
/// not, from Linux 6.3 on.
#[test]
fn accesses_of_noreuse_mappings_do_not_count() {
    for (kernel, advised, activated) in
        [(Kernel::V6_12, false, 8), (Kernel::V6_12, true, 0), (Kernel::V6_1, true, 8)]
    {
        let map = file(0, 8, true, VmaFlags { exec: true, ..VmaFlags::default() });
        let mut ops = vec![map, read(0, 0, 8)];
        ops.extend(advised.then(|| fadvise(0, 8, FileAdvice::NoReuse)));
        ops.extend([reclaim(8), end(0)]);
        let r = ran(&on_ramdisk(kernel), ops);
        assert_eq!(count(&r, "pgactivate"), activated, "{kernel:?}, advised: {advised}");
    }
}

/// The window of read-around has 32 pages, and 64 after SEQUENTIAL. A read of two pages at the start
/// begins with twice as many, or with four times as many if they are at most 1/32 of the window.
/// RANDOM stops what reads bring beyond the request, and not read-around.
#[test]
fn advice_on_files_changes_their_windows() {
    use FileAdvice::{Normal, Random, Sequential};
    for (advice, of_read, of_fault) in [(Normal, 4, 32), (Sequential, 8, 64), (Random, 2, 32)] {
        let mut c = on_ramdisk(Kernel::V6_12);
        c.vm.ra_pages = 32;
        let map = file(0, FILE_PAGES, true, VmaFlags::default());
        let ops =
            vec![fadvise(0, FILE_PAGES, advice), pread(0, 2), end(0), map, read(0, 500, 1), end(1)];
        let r = ran(&c, ops);
        assert_eq!(cached(&r), [of_read, of_read + of_fault], "{advice:?}");
    }
}

/// One call of WILLNEED on a file of 1,024 pages, without a readahead window.
#[test]
fn io_pages() {
    let whole = advise(1, 0, FILE_PAGES, Advice::WillNeed);
    let ops = vec![file(1, FILE_PAGES, true, VmaFlags::default()), whole, sleep_ms(100)];
    let c = config(Kernel::V7_3, "ramdisk");
    let of = |pages| ran(&ruled(c.clone(), "io-pages", pages), ops.clone());
    assert_eq!(["320", "1024"].map(|pages| count(&of(pages), "pgpgin") / 4), [320, 1024]);
}

/// A chooser hears of pages that the kernel itself touches in a mapping, by their place in the file.
#[test]
fn choosers_hear_of_populated_mappings() {
    let text = r#"
        [machine]
        memory = "16MiB"
        kernel = "6.6"
        cache-ext = { module = "builtin:mru", watch = ["t/*"] }
        [[task]]
        name = "t"
        workload = "phased"
        regions = { r = { memory = "12MiB", kind = "file-shared" } }
        steps = [
            { do = "allocate", region = "r", populate = false },
            { do = "mlock", region = "r", size = "2MiB" },
            { do = "madvise", region = "r", advice = "populate-read" },
        ]
    "#;
    assert_eq!(gauge(&scenario(text)[0].gauges, "nr_unevictable"), 512);
}
