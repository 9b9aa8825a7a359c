//! `bench-trace` is an ordinary run: the scenario that replays the imported trace has the
//! same counters, whatever the form of the file.

use std::path::Path;

use crate::harness::{Folder, report_of, runner, scenario_in};
use mmsim::bench::{BenchSettings, BenchTrace, Frames, plan};
use mmsim::machine::Watch;
use mmsim::report::RunReport;
use mmsim::{RunSpec, traces};
use mmsim_workload::trace::{Action, Backing, Process, Record, Region, TraceTable, TraceWriter};

const PAGES: u64 = 3000;
const FRAMES: u32 = 1000;

/// Skewed draws over 3000 pages, each in some request.
fn pages() -> Vec<u64> {
    let mut x = 7u64;
    let mut draw = |n: u64| {
        x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (x >> 33) % n
    };
    let mut all: Vec<u64> = (0..30_001)
        .map(|_| {
            let n = 1 + draw(PAGES);
            draw(n)
        })
        .collect();
    all.extend((0..PAGES).rev());
    all
}

/// The same requests as `t.u32`, `t.u64` and, under scattered names, `t.oracleGeneral.bin`.
fn files() -> Folder {
    let (folder, pages) = (Folder::new(), pages());
    let write = |name: &str, one: &dyn Fn(u64) -> Vec<u8>| {
        folder.write(name, pages.iter().flat_map(|&p| one(p)).collect::<Vec<u8>>());
    };
    write("t.u32", &|p| (p as u32).to_le_bytes().to_vec());
    write("t.u64", &|p| p.to_le_bytes().to_vec());
    write("t.oracleGeneral.bin", &|p| {
        let mut record = 5u32.to_le_bytes().to_vec();
        record.extend(p.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
        record.extend(4096u32.to_le_bytes());
        record.extend((-1i64).to_le_bytes());
        record
    });
    folder
}

fn planned(file: &Path, change: impl Fn(&mut BenchSettings<'_>)) -> (RunSpec, BenchTrace) {
    let mut settings = BenchSettings::new(file, Frames::Pages(FRAMES));
    change(&mut settings);
    plan(&settings).unwrap_or_else(|e| panic!("{e}"))
}

fn report(spec: RunSpec) -> RunReport {
    let watch = |_: usize, _: &_| Watch::default().with_check_every(64);
    let results = runner(1).sound_results(&[spec], watch).unwrap_or_else(|e| panic!("{e}"));
    RunReport::from_result(results[0].0.clone(), &results[0].1)
}

/// Imports a file and runs the scenario that a user would write for it.
fn by_hand(files: &Folder, name: &str, from: &str, distinct: u64, reclaim: &str) -> RunReport {
    let mmt = files.path("by-hand.mmt");
    let mut out = std::fs::File::create(&mmt).expect("a file");
    traces::import(from, &files.path(name), &traces::ImportSettings::default(), &mut out)
        .unwrap_or_else(|e| panic!("{e}"));
    let text = format!(
        r#"
        seed = 1
        [machine]
        zone = [{{ kind = "Normal", managed = "{FRAMES} pages" }}]
        cpus = 1
        swap = {{ size = "{} pages", device = "ramdisk" }}
        [[task]]
        workload = "replay"
        trace = "by-hand.mmt"
        [[variant]]
        name = "v"
        reclaim = {{ preset = "{reclaim}" }}
        "#,
        2 * distinct
    );
    let scenario = scenario_in(files, &text).unwrap_or_else(|e| panic!("{e}"));
    report_of(&scenario).runs.remove(0)
}

#[test]
fn a_benchmark_is_the_replay_of_the_imported_trace() {
    let files = files();
    for (name, from) in
        [("t.u32", "raw-u32"), ("t.u64", "raw-u64"), ("t.oracleGeneral.bin", "oracle-general")]
    {
        for reclaim in ["classic-v5.9", "classic-v6.12", "random"] {
            let (spec, trace) = planned(&files.path(name), |s| s.reclaim = reclaim);
            assert_eq!((trace.requests, trace.distinct_pages), (33_001, PAGES), "{name}");
            let bench = report(spec);
            let scenario = by_hand(&files, name, from, trace.distinct_pages, reclaim);
            assert_eq!(bench.vmstat, scenario.vmstat, "{name}, {reclaim}");
            assert_eq!(bench.digest, scenario.digest, "{name}, {reclaim}");
            assert!(bench.vmstat.get("pswpin").is_some_and(|&n| n > 1000), "{name} swaps");
            // The file in the native form goes the same way.
            let (spec, native) = planned(&files.path("by-hand.mmt"), |s| s.reclaim = reclaim);
            assert_eq!(report(spec).vmstat, bench.vmstat, "{name} imported, {reclaim}");
            assert_eq!(native.assumptions, trace.assumptions);
            let said: Vec<_> = trace.assumptions.iter().map(|a| format!("replay: {a}")).collect();
            assert!(!said.is_empty());
            assert_eq!((&scenario.assumed, &bench.assumed), (&said, &said));
        }
    }
}

/// A request misses if its page is new or was evicted; every page that is evicted between
/// two requests to it comes back by a major fault.
#[test]
fn faults_are_first_requests_and_evicted_pages() {
    let files = files();
    let all = report(planned(&files.path("t.u32"), |s| s.frames = Frames::Pages(8000)).0);
    let counter = |r: &RunReport, name: &str| *r.vmstat.get(name).expect("a counter");
    assert_eq!(counter(&all, "pgfault"), PAGES);
    assert_eq!(counter(&all, "pgmajfault"), 0);
    let few = report(planned(&files.path("t.u32"), |_| {}).0);
    assert_eq!(counter(&few, "pgfault"), PAGES + counter(&few, "pgmajfault"));
    assert_eq!(counter(&few, "sim_accesses"), 33_001);
    // Of 1000 frames some 100 stay free below the high watermark, are page tables or lie in
    // per-CPU lists.
    let peak = few.peak_resident;
    assert!(peak < u64::from(FRAMES) && peak > 850, "{peak} pages");
}

#[test]
fn names_keep_their_order_and_numbers_their_neighbours() {
    let files = files();
    // Scattered names are numbered as they appear: as `--dense` does with the numbers.
    let (names, _) = planned(&files.path("t.oracleGeneral.bin"), |_| {});
    let (dense, _) = planned(&files.path("t.u32"), |s| s.dense = true);
    assert_eq!(report(names).vmstat, report(dense).vmstat);
    // Writes are drawn from the seed. They show where a page that was only read keeps its
    // slot; a synchronous device gives it up when the page comes in.
    let written = |seed| {
        let change = |s: &mut BenchSettings<'_>| {
            (s.write_permille, s.seed, s.swap) = (300, seed, "nvme");
        };
        report(planned(&files.path("t.u32"), change).0)
    };
    assert_eq!(written(1).vmstat, written(1).vmstat);
    assert_ne!(written(1).vmstat, written(2).vmstat);
}

#[test]
fn what_cannot_be_a_trace_is_refused() {
    let files = files();
    let says = |name: &str, from: Option<&str>, parts: &[&str]| {
        let file = files.path(name);
        let mut settings = BenchSettings::new(&file, Frames::Pages(FRAMES));
        settings.from = from;
        let error = plan(&settings).expect_err("an error").to_string();
        for part in parts {
            assert!(error.contains(part), "{error:?} lacks {part:?}");
        }
    };
    let write = |name: &str, bytes: &[u8]| {
        std::fs::write(files.path(name), bytes).expect("writing");
    };
    says("none.u32", None, &["none.u32", "opening"]);
    says("t.u32", Some("raw"), &["--from", "unknown format of requests \"raw\"", "raw-u32"]);
    says("t.u32", Some("mmt"), &["t.u32", "byte 0", "a page trace"]);
    write("t.bin", &[0; 8]);
    says("t.bin", None, &["the name does not tell", "--from raw-u32, raw-u64"]);
    write("cut.u32", &[0; 4 * 100_000 + 3]);
    says("cut.u32", None, &["byte 400000", "the end after 3 bytes", "records of 4 bytes"]);
    write("cut.oracleGeneral", &[0; 25]);
    says("cut.oracleGeneral", None, &["byte 24", "records of 24 bytes"]);
    write("empty.u64", &[]);
    says("empty.u64", None, &["byte 0", "at least one record"]);
    let far = [5u64, 1 << 28].map(u64::to_le_bytes).concat();
    write("far.u64", &far);
    says("far.u64", None, &["byte 8", "page 268435456 in record 1", "below 268435456", "--dense"]);
}

/// A name that is no UTF-8 has its ending all the same.
#[cfg(unix)]
#[test]
fn any_name_tells_the_format() {
    use std::os::unix::ffi::OsStrExt as _;
    let files = files();
    let odd = files.path("t.u32").with_file_name(std::ffi::OsStr::from_bytes(b"t\xff.u32"));
    std::fs::copy(files.path("t.u32"), &odd).expect("copying");
    assert_eq!(planned(&odd, |_| ()).1.format, "raw-u32");
}

/// A trace of mmsim numbers its pages and says what is written, so both options did nothing.
#[test]
fn options_of_raw_traces_are_refused_for_others() {
    let cc1 = Path::new(env!("CARGO_MANIFEST_DIR")).join("traces/cc1.mmt");
    let said = |change: &dyn Fn(&mut BenchSettings<'_>)| {
        let mut settings = BenchSettings::new(&cc1, Frames::Pages(FRAMES));
        change(&mut settings);
        plan(&settings).map_or_else(|e| e.to_string(), |_| String::new())
    };
    assert_eq!(said(&|_| ()), "");
    assert!(said(&|s| s.dense = true).contains("--dense: it numbers the pages of a raw trace"));
    assert!(said(&|s| s.write_permille = 5).contains("--write: it is about a raw trace"));
}

/// Anonymous memory, a mapped file and one that is read: each round wants every page once. Without
/// readahead a page is in memory because it was wanted before, so in ample memory the misses are
/// the distinct pages; of a cycle larger than memory no LRU keeps what comes next.
#[test]
fn misses_of_every_kind_of_page() {
    const EACH: u32 = 400;
    const ROUNDS: u64 = 3;
    let mut table = TraceTable::empty("test");
    table.files = vec!["mapped".into(), "read".into()];
    table.processes.push(Process { pid: 0, name: "p".into() });
    let backings = [
        Backing::Anon,
        Backing::File { file: 0, offset: 0, shared: true },
        Backing::Descriptor { file: 1, offset: 0 },
    ];
    for (i, backing) in backings.into_iter().enumerate() {
        let start = if i < 2 { 0x1000 * (i as u64 + 1) } else { 0 };
        let pages = EACH;
        table.regions.push(Region { process: 0, start, pages, backing, at_start: true });
    }
    let mut writer = TraceWriter::new(Vec::new(), table, 3).expect("a table");
    for _ in 0..ROUNDS {
        for region in 0..3 {
            for first in 0..EACH {
                let action = Action::Access { region, write: region == 0, first, count: 1 };
                writer.record(&Record { process: 0, ticks: 0, action }).expect("a record");
            }
        }
    }
    let files = files();
    std::fs::write(files.path("kinds.mmt"), writer.finish().expect("a trace")).expect("writing");
    let sets = [("machine.vm.read_ahead_kb".to_string(), "0".to_string())];
    let of = |frames| {
        let file = files.path("kinds.mmt");
        let mut settings = BenchSettings::new(&file, Frames::Pages(frames));
        settings.sets = &sets;
        let (spec, trace) = plan(&settings).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!((trace.distinct_pages, trace.anonymous_pages), (3 * 400, 400));
        let run = report(spec);
        (trace.misses(&run).expect("misses"), trace.miss_ratio(&run).expect("a ratio"))
    };
    let distinct = 3 * u64::from(EACH);
    assert_eq!(of(8000), (distinct, 1.0 / ROUNDS as f64));
    let (misses, ratio) = of(600);
    assert!(misses > 2 * distinct && ratio <= 1.0, "{misses}, {ratio}");
}
