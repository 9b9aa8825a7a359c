//! Lives of pages: in order, whole, and of no other page.

use std::collections::BTreeSet;

use mmsim::RunSpec;
use mmsim::base::id::PageIdx;
use mmsim::why::explain;
use mmsim::why::life::{Life, Moment, life, lives};

use crate::harness::specs;

/// Pages of a run that are looked at.
const PAGES: usize = 200;

/// A process that gives memory back, and takes it again; others get its frames.
const GIVEN_BACK: &str = r#"
    machine = { memory = "16MiB", batch-shift = 4, swap = { size = "100MiB", device = "ramdisk" } }
    [[task]]
    name = "t"
    workload = "phased"
    regions = { a = { pages = 3000 }, b = { pages = 3000 }, f = { pages = 3000, kind = "file-shared" } }
    steps = [
        { do = "allocate", region = "a" }, { do = "allocate", region = "b" },
        { do = "touch", region = "a" },
        { do = "madvise", region = "a", advice = "dontneed" },
        { do = "allocate", region = "f" }, { do = "touch", region = "f", passes = 2 },
        { do = "touch", region = "b" }, { do = "touch", region = "a", write = true },
        { do = "madvise", region = "b", advice = "free" }, { do = "touch", region = "b" },
        { do = "free", region = "a" }, { do = "touch", region = "f", passes = 2 },
        { do = "drop-caches" }, { do = "free", region = "f" }, { do = "drop-caches" },
    ]
"#;

/// Huge pages, and a disk that is read ahead by its slots.
const DISK: &str = r#"
    [machine]
    kernel = "5.10"
    cpus = 4
    memory = "24MiB"
    batch-shift = 4
    swap = { size = "50000 pages", device = "hdd" }
    vm = { transparent_hugepage = "always", thp_defrag = "defer" }
    [[task]]
    name = "t"
    workload = "ebizzy"
    memory = "6144 pages"
    chunk = "16 pages"
    records = 100
    zipf = 0.7
    [[variant]]
    name = "old"
    reclaim = { preset = "classic-v5.8" }
    [[variant]]
    name = "new"
    reclaim = { preset = "classic-v5.9" }
"#;

/// A pool of zswap that is soon full, before an SSD: pages of zeros, pages that hold one object to a
/// frame and that shrink, and pages that do not.
const ZSWAP: &str = r#"
    [machine]
    kernel = "6.12"
    memory = "24MiB"
    batch-shift = 4
    swap = { size = "64MiB", device = "ssd" }
    vm = { page-cluster = 0 }
    zswap = { max-pool-percent = 10 }
    [[task]]
    workload = "zipf"
    memory = "40MiB"
    theta = 0.6
    accesses = 60_000
    write-permille = 300
    [task.contents]
    zero-permille = 100
    lengths = [{ permille = 700, bytes = 1300 }, { permille = 300, bytes = 4096 }]
"#;

/// CPUs that act at the same time, a group, and a device with a queue.
const QUEUED: &str = r#"
    [machine]
    kernel = "6.1"
    cpus = 4
    memory = "8MiB"
    memcg = [{ name = "g", max = "8192KiB", high = "4096KiB" }]
    swap = { size = "50000 pages", device = "ssd" }
    vm = { read_ahead_kb = 1024 }
    [[task]]
    name = "t"
    workload = "zipf"
    memcg = "g"
    processes = 2
    memory = "3072 pages"
    accesses = 2000
    theta = 0.9
    [[task]]
    name = "f"
    workload = "sequential"
    processes = 2
    memory = "2000 pages"
    region = "file-private"
    passes = 3
    [[variant]]
    name = "mglru"
    reclaim = { preset = "mglru-v6.1" }
    [[variant]]
    name = "classic"
    reclaim = { preset = "classic-v6.1" }
"#;

/// Some pages of a run, and their lives.
fn some_lives(spec: &RunSpec) -> Vec<(PageIdx, Life)> {
    let (_, _, verdicts) = explain(spec).unwrap_or_else(|e| panic!("{e}"));
    let all: BTreeSet<PageIdx> = verdicts.log.iter().map(|l| l.page).collect();
    let pages: Vec<PageIdx> = all.iter().copied().step_by(1 + all.len() / PAGES).collect();
    assert!(!pages.is_empty() && !all.contains(&PageIdx(0)), "{} names all", spec.label());
    let lives = lives(spec, &pages, usize::MAX).unwrap_or_else(|e| panic!("{e}"));
    pages.into_iter().zip(lives).collect()
}

/// The value of a field of a moment.
fn field<'a>(m: &'a Moment, name: &str) -> Option<&'a str> {
    m.fields.split(',').find_map(|f| f.strip_prefix(name)?.strip_prefix(':'))
}

/// Invariants of a life, whatever the page.
fn is_whole(life: &[Moment]) {
    let (mut frame, mut evicted, mut before) = (None, None, 0);
    for (i, m) in life.iter().enumerate() {
        let said = || format!("moment {i}, {} at {}: {life:#?}", m.event, m.t_ns);
        assert!(m.t_ns >= before, "out of order: {}", said());
        before = m.t_ns;
        let pfn = field(m, "pfn").filter(|&pfn| pfn != "null");
        match m.event {
            "mm_filemap_add_to_page_cache" | "sim_swap_read" => {
                assert_eq!(frame, None, "{}", said());
                frame = pfn;
            }
            // The one of a huge page names the frame of the page that was touched.
            "page_fault_user" if field(m, "kind") == Some("zero_fill") => frame = Some("any"),
            // A mapping shows the page of a file, which it does not have.
            "page_fault_user" if field(m, "kind").is_some_and(|k| k.starts_with("file")) => {
                frame = frame.filter(|&f| pfn == Some(f));
            }
            "page_fault_user" => frame = pfn,
            "sim_migrate" => frame = field(m, "target"),
            "sim_refault" => {
                assert_eq!(field(m, "eviction"), evicted, "{}", said());
                assert!(m.class.is_some(), "it has no class: {}", said());
            }
            "sim_evict" | "sim_drop" | "sim_lazy_drop" => {
                let swapped = m.event == "sim_drop" && field(m, "slot") != Some("null");
                let there = frame.is_some_and(|f| f == "any" || pfn == Some(f));
                assert!(there || swapped, "{}", said());
                frame = None;
                evicted = field(m, "eviction").or(evicted);
            }
            // It says what became of the folio, and the frame has gone before.
            "sim_scan_folio" if matches!(field(m, "outcome"), Some("reclaimed" | "lazy_freed")) => {
            }
            _ if frame == Some("any") => frame = pfn,
            _ => assert_eq!(pfn, frame, "of another page: {}", said()),
        }
    }
}

#[test]
fn a_life_is_in_order_and_whole() {
    for spec in [GIVEN_BACK, DISK, QUEUED].iter().flat_map(|text| specs(text)) {
        for (_, life) in some_lives(&spec) {
            assert!(
                matches!(life.moments[0].event, "page_fault_user" | "mm_filemap_add_to_page_cache"),
                "{}: {:#?}",
                spec.label(),
                life.moments
            );
            is_whole(&life.moments);
        }
    }
}

/// A life says which memory was given back, and by which function.
#[test]
fn what_a_page_held_goes_with_a_line() {
    let spec = &specs(GIVEN_BACK)[0];
    let ends: BTreeSet<(String, &str)> = some_lives(spec)
        .iter()
        .flat_map(|(_, life)| &life.moments)
        .filter(|m| m.event == "sim_drop")
        .map(|m| (field(m, "why").expect("a field").to_string(), m.function))
        .collect();
    let wanted = [
        ("invalidate", "invalidate_mapping_pages"),
        ("lazy_free", "madvise_free_pte_range"),
        ("zap", "zap_pte_range"),
    ];
    assert_eq!(ends, wanted.map(|(why, f)| (why.to_string(), f)).into());
}

/// A disk is read ahead by its slots: the life says whose each was, and the class of its refault.
#[test]
fn refaults_from_a_disk_name_their_pages() {
    for (spec, event) in specs(DISK).iter().zip(["sim_swap_read", "sim_refault"]) {
        let lives = some_lives(spec);
        let ahead = |l: &&(PageIdx, Life)| {
            l.1.moments.iter().any(|m| m.event == event && m.class == Some("read ahead"))
        };
        assert!(lives.iter().filter(ahead).count() > 2, "{}", spec.label());
    }
}

/// A life says what became of a page between its slot and the device, and which function decided.
#[test]
fn a_life_goes_through_zswap() {
    let spec = &specs(ZSWAP)[0];
    let seen: BTreeSet<(String, &str)> = some_lives(spec)
        .iter()
        .flat_map(|(_, life)| &life.moments)
        .filter(|m| m.event == "sim_zswap")
        .map(|m| (field(m, "what").expect("a field").to_string(), m.function))
        .collect();
    let wanted = [
        ("incompressible", "zswap_compress"),
        ("loaded", "zswap_load"),
        ("marked_zero", "swap_zeromap_folio_set"),
        ("pool_limit", "zswap_check_limits"),
        ("stored", "zswap_store"),
        ("written_back", "zswap_writeback_entry"),
        ("zero_filled", "swap_read_folio_zeromap"),
    ];
    assert_eq!(seen, wanted.map(|(what, f)| (what.to_string(), f)).into());
    // A page that is read from zswap is stored before, and its refault needs no device.
    let (_, result, verdicts) = explain(spec).unwrap_or_else(|e| panic!("{e}"));
    let kept = verdicts.count(|c| c.without_device);
    assert!(kept > 1000 && verdicts.count(|c| !c.without_device) > 1000, "{kept}");
    assert_eq!(result.vmstat[mmsim::base::vmstat::VmEvent::ZswpIn] > 0, kept > 0);
}

/// MGLRU of 6.1 leaves refaults that are not recent out of its counters, and a life says so.
#[test]
fn a_refault_that_does_not_count_says_so() {
    let [mglru, classic] = &specs(QUEUED)[..] else { panic!("two variants") };
    let not_counted = |spec: &RunSpec| {
        let lives = some_lives(spec);
        let all = lives.iter().flat_map(|(_, life)| &life.moments);
        all.filter(|m| m.class.is_some_and(|c| c.starts_with("not counted"))).count()
    };
    assert_eq!(not_counted(classic), 0);
    assert!(not_counted(mglru) > 0);
}

/// All pages of a huge page come with its fault.
#[test]
fn the_pages_of_a_huge_page_come_with_its_fault() {
    let spec = &specs(DISK)[1];
    let (_, _, verdicts) = explain(spec).unwrap_or_else(|e| panic!("{e}"));
    let tail = verdicts.log.iter().find(|l| l.page.0 % 512 == 368).expect("it came back");
    let life = life(spec, &tail.page.0.to_string()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(field(&life[0], "kind"), Some("zero_fill"), "{life:#?}");
    assert_ne!(field(&life[0], "page"), Some(&*tail.page.0.to_string()));
}
