//! Facts about reclaim that a kernel engineer would look for first. For each, a scenario
//! `scenarios/fact-*.toml` has to show it, and so do the recordings of real kernels: both must
//! satisfy the same inequality.
//!
//! docs/facts.md has the words; its table of recorded counters is written here.
//! `MMSIM_BLESS=1 cargo test -p mmsim-lab --test suite facts` rewrites it.

use std::fmt::Write as _;
use std::path::Path;

use crate::root;
use mmsim::report::Report;
use mmsim::{RunOptions, Scenario};
use serde_json::Value;

/// Sysctls of a machine on which one mechanism is shown: recordings of facts have no boosts either.
const CALM: &str = "vm = { page-cluster = 0, watermark_boost_factor = 0 }";

/// A scenario that has run.
struct Shown(Report);

impl Shown {
    fn of(name: &str) -> Shown {
        Shown::with(name, &[])
    }

    /// The same under MGLRU.
    fn of_mglru(name: &str) -> Shown {
        Shown::with(name, &[("reclaim.preset".into(), "mglru-v6.12".into())])
    }

    fn with(name: &str, sets: &[(String, String)]) -> Shown {
        let path = root().join("scenarios").join(format!("{name}.toml"));
        let scenario = Scenario::from_path(path).and_then(|s| s.with_sets(sets));
        Shown::run(&scenario.unwrap_or_else(|e| panic!("{e}")))
    }

    /// A scenario that is written here, with a variant for each policy.
    fn under(policies: &[&str], text: &str) -> Shown {
        let mut text = format!("schema = 1\nname = \"fact\"\nseed = 1\n{text}");
        for p in policies {
            text += &format!("[[variant]]\nname = \"{p}\"\nreclaim = {{ preset = \"{p}\" }}\n");
        }
        Shown::run(&Scenario::from_str(&text, "fact.toml").unwrap_or_else(|e| panic!("{e}")))
    }

    fn run(scenario: &Scenario) -> Shown {
        let report = mmsim::run(scenario, &RunOptions::default());
        Shown(report.unwrap_or_else(|e| panic!("{e}")))
    }

    /// A counter of a phase, by the variant.
    fn count(&self, variant: &str, phase: &str, counter: &str) -> u64 {
        self.kept(variant, phase, counter).expect("the counter")
    }

    /// The same, or nothing if the policy does not keep that counter.
    fn kept(&self, variant: &str, phase: &str, counter: &str) -> Option<u64> {
        let run = self.0.runs.iter().find(|r| r.variant == variant);
        let run = run.unwrap_or_else(|| panic!("no variant {variant}"));
        let phase = run.phases.iter().find(|p| p.name == phase).expect("the phase");
        phase.vmstat.get(counter).copied()
    }

    /// A counter of a phase along the only axis.
    fn along(&self, phase: &str, counter: &str) -> Vec<u64> {
        let phases = self.0.runs.iter().map(|r| r.phases.iter().find(|p| p.name == phase));
        phases.map(|p| *p.expect("the phase").vmstat.get(counter).expect("the counter")).collect()
    }
}

/// A counter of a recorded point, summed over some of its phases: the mean of the repetitions.
fn recorded(experiment: &str, point: &str, phases: &[&str], counter: &str) -> u64 {
    let path = root().join("evidence/reference").join(format!("{experiment}.json"));
    let text = std::fs::read_to_string(path).expect("the recordings");
    let all: Value = serde_json::from_str(&text).expect("JSON");
    let points = all["points"].as_array().expect("points");
    let point = points.iter().find(|p| p["id"] == point).unwrap_or_else(|| panic!("no {point}"));
    let recorded = point["phases"].as_array().expect("phases");
    let one = |phase: &&str| {
        let phase = recorded.iter().find(|p| p["phase"] == **phase).expect("the phase");
        match &phase["counters"][counter] {
            Value::Null => 0.0,
            Value::Array(mean_and_range) => mean_and_range[0].as_f64().expect("a number"),
            one => one.as_f64().expect("a number"),
        }
    };
    phases.iter().map(one).sum::<f64>().round() as u64
}

/// A scan does not see when a touch came before it: however many there were, the scan finds one
/// accessed bit, marks the page and keeps it once. The next scan comes when the used-once pages
/// have passed, and finds nothing. So touching helps no more than leaving alone. With a touch
/// between two scans the second one activates, and what is active the used-once pages cannot push
/// out; the same if the kernel's own marks activated it.
#[test]
fn touches_protect_new_pages_only_between_scans() {
    let protected = |lost: u64, hot: u64| lost * 20 < hot;
    let hot = 6144;
    let shown = Shown::of("fact-two-scans");
    let lost = |variant| shown.count(variant, "again", "pswpin");
    assert_eq!(lost("left alone"), hot);
    assert_eq!(lost("touched before pressure"), hot);
    assert_eq!(shown.count("touched before pressure", "before", "pgactivate"), 0);
    assert!(protected(lost("touched between scans"), hot));
    assert!(shown.count("touched between scans", "before", "pgactivate") * 10 >= hot * 9);
    assert!(protected(lost("activated by the kernel"), hot));
    // Where new pages begin as active ones, used-once pages are active too, and push out what
    // is used again.
    assert!(lost("touched between scans on 5.8") * 2 > hot);

    let hot = 32_768;
    let lost = |point: &str| recorded("three-step", point, &["reaccess"], "pswpin");
    assert_eq!(lost("none-x4-classic-6.12"), hot);
    assert_eq!(lost("touch-x2-classic-6.12"), hot);
    assert!(protected(lost("touch-pressure-x4-classic-6.12"), hot));
    assert!(protected(lost("gup-x4-classic-6.12"), hot));
}

/// The refault distance of hot-2 is what it and the window exceed the inactive list by. It is
/// shorter than the active list just if both would fit into memory without hot-1: then each
/// page of hot-2 is activated when it comes back for the first time, and from the second loop
/// on only the window is read. Otherwise, or undetected, all is read in each loop, as no page
/// stays long enough to be found referenced.
#[test]
fn detection_activates_at_the_first_refault_within_reach() {
    let nearly = |a: u64, b: u64| a.abs_diff(b) * 50 <= b;
    let (hot, window, long) = (5_120, 6_656, 13_312);
    let shown = Shown::of("fact-detection");
    let activated = |variant| shown.count(variant, "loop-1", "workingset_activate_anon");
    let first = |variant| shown.count(variant, "loop-1", "pswpin");
    let later = |variant| shown.count(variant, "loops-2-to-4", "pswpin");
    assert!(nearly(first("short"), hot + window));
    assert!(nearly(activated("short"), hot));
    assert!(nearly(later("short"), 3 * window));
    // A kernel without detection does not keep the counter.
    assert_eq!(shown.kept("short undetected", "loop-1", "workingset_activate_anon"), None);
    assert!(nearly(later("short undetected"), 3 * (hot + window)));
    assert_eq!(activated("too long"), 0);
    assert!(nearly(later("too long"), 3 * (hot + long)));

    let (hot, window) = (24_576, 32_768);
    let counter = |phases: &[&str], counter: &str| {
        recorded("detection", "rotate-gup-classic-6.12", phases, counter)
    };
    assert!(nearly(counter(&["loop1"], "pswpin"), hot + window));
    assert!(nearly(counter(&["loop1"], "workingset_activate_anon"), hot));
    assert!(nearly(counter(&["loop2", "loop3", "loop4"], "pswpin"), 3 * window));
}

/// Swappiness is the weight of anonymous pages in what is scanned, so with more of it more of
/// them go and come back, and fewer pages of the file. Both are used alike, so neither end is
/// the best: there, warm pages of one kind go before cold ones of the other.
#[test]
fn swappiness_moves_refaults_from_files_to_anonymous_memory() {
    let rises = |counts: &[u64]| counts.is_sorted_by(|a, b| a < b);
    let falls = |counts: &[u64]| counts.is_sorted_by(|a, b| a > b);
    let shown = Shown::of("fact-swappiness");
    let anon = shown.along("access", "workingset_refault_anon");
    let file = shown.along("access", "workingset_refault_file");
    assert!(rises(&anon) && falls(&file), "{anon:?} {file:?}");
    let sums: Vec<u64> = anon.iter().zip(&file).map(|(a, f)| a + f).collect();
    let inside = sums[1..sums.len() - 1].iter().min().expect("values between");
    assert!(*inside < sums[0] && inside < sums.last().expect("an end"), "{sums:?}");

    let points =
        ["1", "30", "100", "160"].map(|swappiness| format!("sw{swappiness}-ta0.9-tf0.9-classic"));
    let refaults =
        |counter: &str| points.each_ref().map(|p| recorded("anon-file", p, &ACCESS, counter));
    assert!(rises(&refaults("workingset_refault_anon")));
    assert!(falls(&refaults("workingset_refault_file")));
}

const ACCESS: [&str; 4] = ["access1", "access2", "access3", "access4"];

/// Without a slot, the content of a page is nowhere but in memory: a synchronous device
/// writes for each page that it reads back, read or written. With one, a page that was only
/// read goes for nothing; one that was written gave its slot up. When swap is more than half
/// full the slot is given up as well.
#[test]
fn slots_are_kept_by_asynchronous_devices_while_there_are_many() {
    let each_again = |ins: u64, outs: u64| outs.abs_diff(ins) * 10 < ins;
    let hardly = |ins: u64, outs: u64| outs * 10 < ins;
    let some = |ins: u64, outs: u64| outs * 10 > ins * 3 && outs * 10 < ins * 8;
    let shown = Shown::of("fact-slots");
    let of = |variant, rule: &dyn Fn(u64, u64) -> bool| {
        let count = |counter| shown.count(variant, "access", counter);
        assert!(rule(count("pswpin"), count("pswpout")), "{variant}");
    };
    of("synchronous", &each_again);
    of("asynchronous", &hardly);
    of("asynchronous with writes", &some);
    of("asynchronous with little swap", &each_again);

    let of = |point: &str, rule: &dyn Fn(u64, u64) -> bool| {
        let count = |counter| recorded("zipf-anon", point, &ACCESS[3..], counter);
        assert!(rule(count("pswpin"), count("pswpout")), "{point}");
    };
    of("r1.50-t0.9-classic-6.12", &each_again);
    of("async-r1.50-t0.5-w0-classic", &hardly);
    of("async-r1.50-t0.5-w300-classic", &some);
}

/// Readahead alone notices after a hundred misses that its pages get no hits, and stops.
/// Fault-around alone maps what is cached, and what is cached was mapped. Together they keep each
/// other going: what one reads the other maps, which counts as a hit, though no access was made. So
/// every miss goes on reading 32 pages.
#[test]
fn readahead_and_fault_around_cost_many_refaults_together() {
    let many_times = |with: u64, without: u64| with > 5 * without;
    let shown = Shown::of("fact-readahead");
    let refaults = |variant| shown.count(variant, "access", "workingset_refault_file");
    let without = refaults("neither");
    assert!(many_times(refaults("both"), without));
    for one in ["fault-around", "readahead", "both and MADV_RANDOM"] {
        assert!(refaults(one) < 2 * without, "{one}");
    }

    // The pair that was recorded with and without is of the multi-generational LRU.
    let refaults = |point: &str| recorded("file", point, &ACCESS, "workingset_refault_file");
    let with = refaults("mmap-readahead-t0.9-scan300-mglru");
    assert!(many_times(with, refaults("mmap-t0.9-scan300-mglru")));
}

/// `MADV_FREE` gives the file less than `MADV_DONTNEED` does and more than nothing: freed pages
/// go when the list of inactive file pages has come round, clean ones without a write, and a
/// page written again before that was never freed. So an arena that takes longer than the list
/// to come round loses most of its pages, one of half the size few. Next to nothing is swapped
/// either way, and nothing counted as a refault when it is written again.
#[test]
fn lazily_freed_pages_live_as_long_as_inactive_file_pages() {
    let most = |freed: u64, written: u64| freed * 2 > written;
    let few = |freed: u64, written: u64| freed > 0 && freed * 5 < written;
    let much_less = |a: u64, b: u64| a * 2 < b;
    let written = 2048 * 64;
    let shown = Shown::of("lazyfree");
    let of = |variant, counter| shown.count(variant, "access", counter);
    let refaults = |variant| of(variant, "workingset_refault_file");
    assert!(most(of("free", "pglazyfreed"), written));
    assert!(few(of("free, small arena", "pglazyfreed"), written));
    assert!(much_less(refaults("dontneed, small arena"), refaults("free, small arena")));
    assert!(much_less(refaults("dontneed"), refaults("free")));
    assert!(refaults("free") < refaults("kept"));
    // Whoever freed at once pays for new pages in every lap; lazily, for those that went.
    assert!(of("dontneed", "pgfault") > written);
    let anew = of("free", "pgfault") - refaults("free");
    assert!(anew.abs_diff(of("free", "pglazyfreed")) * 20 < anew);
    for variant in ["free", "free, small arena", "dontneed", "kept"] {
        assert!(of(variant, "pswpout") * 1000 < written, "{variant}");
        assert_eq!(of(variant, "workingset_refault_anon"), 0, "{variant}");
    }

    let written = 2048 * 256;
    let of = |point: &str, counter| recorded("lazyfree", point, &ACCESS, counter);
    let refaults = |point| of(point, "workingset_refault_file");
    let (large, small) = ("free-a32768-lag0-classic", "free-a16384-lag0-classic");
    assert!(most(of(large, "pglazyfreed"), written));
    assert!(few(of(small, "pglazyfreed"), written));
    assert!(much_less(refaults("dontneed-a16384-lag0-classic"), refaults(small)));
    assert!(refaults(large) < refaults("none-a32768-lag0-classic"));
    assert!(of("dontneed-a16384-lag0-classic", "pgfault") > written);
    let anew = of(large, "pgfault") - refaults(large);
    assert!(anew.abs_diff(of(large, "pglazyfreed")) * 20 < anew);
    assert_eq!(of(large, "pswpout") + of(small, "pswpout"), 0);
}

/// A reclaim that cannot see that a refault was activated leaves the active list alone. The list is
/// longer then, and a distance that is not longer than the list is activated: with random access the
/// share of such refaults grows with the list. So it has to rise with the threshold, at the expense
/// of activations by touch. With the kernel's threshold it has to be the kernel's at the same
/// work (window by window its spread over seeds is 2 to 7 %), with exact counters clearly below.
#[test]
fn reclaim_that_sees_activations_late_activates_more() {
    let shown = Shown::of("fact-stale-counters");
    let of = |counter| shown.along("access", counter);
    let pairs = of("workingset_activate_anon").into_iter().zip(of("pswpin"));
    let per_mille: Vec<u64> = pairs.map(|(a, i)| 1000 * a / i).collect();
    let [exact, kernels, late] = per_mille[..] else { panic!("{per_mille:?}") };
    assert!(exact < kernels && kernels < late, "{per_mille:?}");
    assert!(of("pgactivate").is_sorted_by(|a, b| a > b));

    let of = |counter| recorded("zipf-anon", "r2.00-t0.1-classic-6.1", &ACCESS[1..], counter);
    let recorded = 1000 * of("workingset_activate_anon") / of("pswpin");
    assert!(kernels.abs_diff(recorded) * 20 < recorded, "{kernels} {recorded}");
    assert!(exact * 10 < recorded * 9, "{exact} {recorded}");
}

const CLASSIC: &str = "classic-v6.12";
const MGLRU: &str = "mglru-v6.12";

/// Every new page is young when it is met first. The classic LRU keeps it once, so that each full
/// lap over what is resident costs a look at all of it. MGLRU ages before it evicts, and a walk of
/// page tables costs no look (`pgscan`): nothing is kept until the second aging, while the thread
/// that fills memory has its CPU for itself and its process was walked once only.
#[test]
fn mglru_fills_memory_without_a_lap_of_looks() {
    let frames = 15_700;
    let kept = |n: u64| {
        let text = format!(
            "[machine]\nmemory = \"64MiB\"\n{CALM}\n\
             swap = {{ size = \"512MiB\", device = \"ramdisk\" }}\n[[task]]\nworkload = \"phased\"\n\
             regions = {{ a = {{ pages = {n} }} }}\nsteps = [{{ do = \"allocate\", region = \"a\" }},\
             {{ do = \"phase\", name = \"populate\" }}]\n"
        );
        let shown = Shown::under(&[CLASSIC, MGLRU], &text);
        [CLASSIC, MGLRU].map(|p| {
            let of = |counter| shown.count(p, "populate", counter);
            of("pgscan_anon") - of("pgsteal_anon")
        })
    };
    for n in [frames / 4 * 5, frames / 2 * 3] {
        let [classic, mglru] = kept(n);
        assert!(classic * 10 > frames * 8, "{n}: {classic}");
        assert!(mglru * 20 < frames, "{n}: {mglru}");
    }

    let frames = 64_000;
    let kept = |point: &str| {
        let of = |counter| recorded("zipf-anon", point, &["populate"], counter);
        of("pgscan_anon") - of("pgsteal_anon")
    };
    for point in ["r1.25-t0.9-mglru-6.12", "r1.50-t0.9-mglru-6.12"] {
        assert!(kept(point) * 20 < frames, "{point}");
    }
    assert!(kept("r1.50-t0.9-classic-6.12") * 10 > frames * 8);
    // With twice as much as there is the walk comes twice and all is met once: on the machine that was
    // recorded, not yet on one so much smaller.
    assert!(kept("r2.00-t0.5-mglru-6.12") * 10 > frames * 8);
}

/// Behind a window that is another one each time, the hot set is touched in every loop. The classic
/// LRU finds it referenced and reads the window alone; MGLRU loses part of the hot set in some
/// loops, and reads that again. With the same window each time both come to rest.
#[test]
fn mglru_loses_a_hot_set_behind_a_window_again_and_again() {
    let shown = |fresh: bool| {
        let window = if fresh {
            "{ do = \"window\", region = \"cold\", size = \"32MiB\" }"
        } else {
            "{ do = \"touch\", region = \"same\" }"
        };
        let text = format!(
            "[machine]\nmemory = \"64MiB\"\n{CALM}\n\
             swap = {{ size = \"512MiB\", device = \"ramdisk\" }}\n[[task]]\nworkload = \"phased\"\n\
             regions = {{ cold = {{ memory = \"128MiB\" }}, same = {{ memory = \"32MiB\" }}, hot = {{ memory = \"24MiB\" }} }}\n\
             steps = [{{ do = \"allocate\", region = \"cold\" }}, {{ do = \"allocate\", region = \"same\" }},\
             {{ do = \"allocate\", region = \"hot\" }}, {{ do = \"phase\", name = \"populate\" }},\
             {{ do = \"repeat\", times = 12, steps = [{window}, {{ do = \"touch\", region = \"hot\" }}] }},\
             {{ do = \"phase\", name = \"loops\" }}]\n"
        );
        let shown = Shown::under(&[CLASSIC, MGLRU], &text);
        [CLASSIC, MGLRU]
            .map(|p| ["pswpin", "workingset_activate_anon"].map(|c| shown.count(p, "loops", c)))
    };
    let (window, again) = (8192, |a: u64, b: u64| a * 10 > b * 11);
    let [classic, mglru] = shown(true);
    assert!(classic[0].abs_diff(12 * window) * 20 < 12 * window, "{classic:?}");
    assert!(again(mglru[0], classic[0]) && mglru[1] > 0, "{mglru:?} {classic:?}");
    for [swapped_in, _] in shown(false) {
        assert!(swapped_in < 3 * window, "{swapped_in}");
    }

    let loops = ["loop1", "loop2", "loop3", "loop4", "loop8", "loop12"];
    let of = |point: &str, c: &str| recorded("detection", point, &loops, c);
    let [classic, mglru] = ["classic", "mglru"].map(|lru| format!("rotate-touch-{lru}-6.12"));
    assert!(again(of(&mglru, "pswpin"), of(&classic, "pswpin")));
    assert!(of(&mglru, "workingset_activate_anon") > 0);
    assert_eq!(recorded("detection", "same-gup-mglru-6.12", &["loop2"], "pswpin"), 0);
}

/// Pages that are read and not mapped have no accessed bits: what is looked at is freed, and
/// nothing is activated. 6.12 counts every recent refault as activated, and nearly all are; 6.1
/// only what a scan protects.
#[test]
fn mglru_activates_every_refault_of_reads_since_it_counts_them_so() {
    let text = "[machine]\nmemory = \"64MiB\"\nfile-device = \"ramdisk\"\nvm = { read_ahead_kb = 0 }\n\
        [[task]]\nname = \"zipf\"\nworkload = \"zipf\"\nregion = \"read\"\nmemory = \"96MiB\"\ntheta = 0.9\n\
        accesses = 200000\n[[task]]\nname = \"scan\"\nworkload = \"sequential\"\nregion = \"read\"\n\
        memory = \"96MiB\"\npasses = 3\n";
    let shown = Shown::under(&["mglru-v6.1", MGLRU], text);
    let of = |p: &str| {
        let run = shown.0.runs.iter().find(|r| r.variant == p).expect("the variant");
        let counters = [
            "workingset_refault_file",
            "workingset_activate_file",
            "pgactivate",
            "pgscan_file",
            "pgsteal_file",
        ];
        counters.map(|c| *run.vmstat.get(c).unwrap())
    };
    let (nearly_all, few) =
        (|a: u64, r: u64| a <= r && a * 20 > r * 19, |a: u64, r: u64| a * 5 < r);
    let [refaults, activated, active, scanned, freed] = of(MGLRU);
    assert!(refaults > 10_000 && nearly_all(activated, refaults), "{activated} of {refaults}");
    assert_eq!((active, scanned), (0, freed));
    let [refaults, activated, ..] = of("mglru-v6.1");
    assert!(refaults > 10_000 && few(activated, refaults), "{activated} of {refaults}");

    let of = |point: &str, counter| recorded("file", point, &ACCESS, counter);
    let counters = ["workingset_activate_file", "workingset_refault_file"];
    let [activated, refaults] = counters.map(|c| of("pread-t0.9-scan300-mglru", c));
    assert!(nearly_all(activated, refaults));
    let [scanned, freed] =
        ["pgscan_file", "pgsteal_file"].map(|c| of("pread-t0.9-scan300-mglru", c));
    assert_eq!((scanned, of("pread-t0.9-scan300-mglru", "pgactivate")), (freed, 0));
    let [activated, refaults] = counters.map(|c| of("pread-t0.9-scan300-mglru-6.1", c));
    assert!(few(activated, refaults));
}

/// MGLRU weighs refault rates with swappiness, and the rates then differ by it; but it evicts from
/// the oldest generation, which both types leave together. So swappiness from 1 to 200 moves
/// little, where it moves the refaults of the classic LRU by a factor.
#[test]
fn swappiness_moves_little_under_mglru() {
    let little = |from: u64, to: u64| from <= to && to * 2 < from * 3;
    let much = |from: u64, to: u64| to > 3 * from;
    let anon = |shown: &Shown| {
        let all = shown.along("access", "workingset_refault_anon");
        (all[0], *all.last().expect("an end"))
    };
    let (from, to) = anon(&Shown::of_mglru("fact-swappiness"));
    assert!(little(from, to), "{from} {to}");
    let (from, to) = anon(&Shown::of("fact-swappiness"));
    assert!(much(from, to), "{from} {to}");

    let of = |sw: u32, lru: &str| {
        let point = format!("sw{sw}-ta0.9-tf0.9-{lru}");
        recorded("anon-file", &point, &ACCESS, "workingset_refault_anon")
    };
    assert!(little(of(1, "mglru"), of(200, "mglru")));
    assert!(much(of(1, "classic"), of(160, "classic")));
}

/// MGLRU frees more of an arena that is given back lazily than the classic LRU: it lies among the
/// files of a generation that is evicted whole. A large arena is swapped out while a file fills
/// memory for the first time, as its pages are in older generations; the classic LRU keeps to the
/// file then.
#[test]
fn mglru_frees_more_of_a_small_arena_and_swaps_a_large_one() {
    let [classic, mglru] = [Shown::of("lazyfree"), Shown::of_mglru("lazyfree")];
    let freed = |s: &Shown| s.count("free, small arena", "access", "pglazyfreed");
    let more = |mglru: u64, classic: u64| mglru * 2 > classic * 3;
    assert!(more(freed(&mglru), freed(&classic)), "{} {}", freed(&mglru), freed(&classic));
    let swapped = |s: &Shown| s.count("kept", "access", "pswpin");
    let arena = 8192;
    assert!(swapped(&mglru) * 10 > arena * 9, "{}", swapped(&mglru));
    assert!(swapped(&classic) * 20 < arena, "{}", swapped(&classic));

    let of = |point: &str, counter| recorded("lazyfree", point, &ACCESS, counter);
    let [mglru, classic] =
        ["mglru", "classic"].map(|l| of(&format!("free-a16384-lag0-{l}"), "pglazyfreed"));
    assert!(more(mglru, classic));
    let arena = 32_768;
    assert!(of("none-a32768-lag0-mglru", "pswpin") * 10 > arena * 9);
    assert!(of("none-a32768-lag0-classic", "pswpin") * 20 < arena);
}

/// The same under MGLRU, of which it was recorded first.
#[test]
fn readahead_and_fault_around_cost_many_refaults_under_mglru() {
    let shown = Shown::of_mglru("fact-readahead");
    let refaults = |variant| shown.count(variant, "access", "workingset_refault_file");
    assert!(refaults("both") > 5 * refaults("neither"));
    for one in ["fault-around", "readahead"] {
        assert!(refaults(one) < 2 * refaults("neither"), "{one}");
    }
}

/// Recorded figures of docs/facts.md: fact, experiment, point, phases, counters.
const RECORDED: &str = "\
1 three-step none-x4-classic-6.12 reaccess pswpin
1 three-step touch-x2-classic-6.12 reaccess pswpin
1 three-step touch-pressure-x4-classic-6.12 reaccess pswpin
1 three-step gup-x4-classic-6.12 reaccess pswpin
2 detection rotate-gup-classic-6.12 loop1 pswpin,workingset_activate_anon
2 detection rotate-gup-classic-6.12 loop2,loop3,loop4 pswpin,workingset_activate_anon
3 anon-file sw1-ta0.9-tf0.9-classic ACCESS workingset_refault_anon,workingset_refault_file
3 anon-file sw30-ta0.9-tf0.9-classic ACCESS workingset_refault_anon,workingset_refault_file
3 anon-file sw100-ta0.9-tf0.9-classic ACCESS workingset_refault_anon,workingset_refault_file
3 anon-file sw160-ta0.9-tf0.9-classic ACCESS workingset_refault_anon,workingset_refault_file
4 zipf-anon r1.50-t0.9-classic-6.12 access4 pswpin,pswpout
4 zipf-anon async-r1.50-t0.5-w0-classic access4 pswpin,pswpout
4 zipf-anon async-r1.50-t0.5-w300-classic access4 pswpin,pswpout
5 file mmap-t0.9-scan300-mglru ACCESS workingset_refault_file
5 file mmap-readahead-t0.9-scan300-mglru ACCESS workingset_refault_file
5 file mmap-readahead-t0.9-scan300-classic ACCESS workingset_refault_file
6 zipf-anon r2.00-t0.1-classic-6.1 access2,access3,access4 pswpin,pgactivate,workingset_activate_anon
";

/// 12,345 for 12345.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(c);
    }
    text
}

#[test]
fn the_table_of_recorded_counters_is_current() {
    const BEGIN: &str = "<!-- recorded -->\n";
    const END: &str = "<!-- end of recorded -->";
    let mut new =
        "| fact | experiment | point | phases | counters |\n|---|---|---|---|---|\n".to_string();
    for line in RECORDED.replace("ACCESS", &ACCESS.join(",")).lines() {
        let columns: Vec<&str> = line.split(' ').collect();
        let &[fact, experiment, point, phases, counters] = &columns[..] else { panic!("{line}") };
        let phases: Vec<&str> = phases.split(',').collect();
        let counts = counters.split(',').map(|counter| {
            let count = grouped(recorded(experiment, point, &phases, counter));
            format!("`{counter}` {count}")
        });
        let counts = counts.collect::<Vec<_>>().join(", ");
        let phases = phases.join(", ");
        writeln!(new, "| {fact} | {experiment} | `{point}` | {phases} | {counts} |")
            .expect("writing to a string");
    }
    let path = root().join("docs/facts.md");
    let text = std::fs::read_to_string(&path).expect("docs/facts.md");
    let (before, rest) = text.split_once(BEGIN).expect("the beginning of the table");
    let (old, after) = rest.split_once(END).expect("the end of the table");
    if std::env::var_os("MMSIM_BLESS").is_some() {
        let text = format!("{before}{BEGIN}{new}{END}{after}");
        std::fs::write(&path, text).expect("rewriting it");
    } else {
        assert_eq!(old, new, "run the test with MMSIM_BLESS=1 and look at the difference");
    }
}

/// Every fact of the folder is in the document, and has a witness here.
#[test]
fn every_fact_is_told() {
    let text = std::fs::read_to_string(root().join("docs/facts.md")).expect("docs/facts.md");
    let files = std::fs::read_dir(root().join("scenarios")).expect("the scenarios");
    let names = files.map(|f| f.expect("an entry").file_name().to_string_lossy().to_string());
    let facts: Vec<String> = names.filter(|n| n.starts_with("fact-")).collect();
    assert_eq!(facts.len(), 6);
    for file in facts {
        assert!(text.contains(&format!("mmsim run scenarios/{file} ")), "{file}");
        let name = Path::new(&file).file_stem().expect("a name").to_string_lossy().to_string();
        assert!(include_str!("facts.rs").contains(&format!("Shown::of(\"{name}\")")), "{name}");
    }
}
