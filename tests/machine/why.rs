//! Why pages come back: classes are a partition of the refaults, and each class is what it says.

use crate::harness::{self, specs};
use mmsim::RunSpec;
use mmsim::base::id::{AsId, MemcgId, PageIdx, ThreadId};
use mmsim::base::time::SimTime;
use mmsim::base::vmstat::{VmEvent, VmStat};
use mmsim::config::Kernel;
use mmsim::machine::Watch;
use mmsim::machine::result::{Outcome, RunResult};
use mmsim::memory::Memory;
use mmsim::memory::follow::{Acted, Eviction, Follower, KeptPages, Refaulted, Use, Where};
use mmsim::policy::Reclaimer;
use mmsim::report::WhyReport;
use mmsim::why::difference::{Difference, Followed, difference};
use mmsim::why::{Class, Counted, Engine, Settings, Told, TroubleCell, Verdicts, explain};

use crate::support;

/// Classes sum to the counters of the run, of each phase, of each task and of each group. The swarm
/// asks this of all its machines.
pub(crate) fn sums_are_exact(v: &Verdicts, r: &RunResult) {
    use VmEvent::{PswpIn, PswpOut, WorkingsetRefaultAnon, WorkingsetRefaultFile};
    use VmEvent::{SwpinZero, SwpoutZero, ZswpIn, ZswpOut, ZswpWb};
    let anon = match r.not_kept.contains(&WorkingsetRefaultAnon) {
        true => PswpIn,
        false => WorkingsetRefaultAnon,
    };
    // What zswap and marks gave back is no read, and without shadows nothing else counts it.
    let all_counted = anon != PswpIn || r.vmstat[ZswpIn] + r.vmstat[SwpinZero] == 0;
    let anon_only = all_counted.then_some((false, anon));
    for (file, counter) in anon_only.into_iter().chain([(true, WorkingsetRefaultFile)]) {
        let name = counter.name();
        assert_eq!(v.count(|c| c.file == file), r.vmstat[counter], "{name}");
        let mut rest = r.vmstat[counter];
        for (i, p) in r.phases.iter().enumerate() {
            let of_phase = v.count(|c| c.file == file && c.phase as usize == i);
            assert_eq!(of_phase, p.vmstat[counter], "{name} of phase {i}, {}", p.name);
            rest -= of_phase;
        }
        let end = v.count(|c| c.file == file && c.phase as usize == r.phases.len());
        assert_eq!(end, rest, "{name} behind the last phase");
        for (group, stat) in &r.memory_stat {
            let Some(&(_, counted)) = stat.iter().find(|s| s.0 == name) else { continue };
            // Counters of a group have those of the groups below it.
            let below = format!("{group}/");
            let is_in = |name: &str| name == group || name.starts_with(&below);
            let of_group = v.count(|c| c.file == file && is_in(&c.group));
            assert_eq!(of_group, counted, "{name} of group {group}");
        }
    }
    for t in &r.tasks {
        let anon = if anon == PswpIn { t.counted.swap_ins } else { t.counted.refaults_anon };
        let counted = [anon, t.counted.refaults_file];
        let mine = |file| v.count(|c| c.file == file && c.task.as_deref() == Some(t.name.as_str()));
        assert_eq!(mine(true), counted[1], "task {}", t.name);
        assert!(!all_counted || mine(false) == counted[0], "task {}", t.name);
    }
    if anon == WorkingsetRefaultAnon {
        // A page that came back was read from a device, or something else had it.
        let [read, kept] = [false, true].map(|w| v.count(|c| !c.file && c.without_device == w));
        assert!(read <= r.vmstat[PswpIn], "{read} refaults from devices");
        let without = r.vmstat[ZswpIn] + r.vmstat[SwpinZero] + r.vmstat[ZswpWb];
        assert!(kept <= without, "{kept} of {without} refaults without a device");
    }
    assert_eq!(v.count(|c| c.file && c.without_device), 0, "files are on devices");
    troubles_are_exact(v, r);
    // What zswap writes back went to swap already.
    let [device, compressed, zeros, again] =
        [PswpOut, ZswpOut, SwpoutZero, ZswpWb].map(|e| r.vmstat[e]);
    let out = device - again + compressed + zeros;
    assert_eq!(v.written, out, "pages written to swap");
    let swap = WhyReport::of(v, r).swap_outs;
    let parts = swap.not_wanted + swap.needed + swap.needless + swap.forced;
    assert_eq!(parts, out);
}

/// Failed requests, failed compaction and stalls sum to their counters, phase by phase too.
fn troubles_are_exact(v: &Verdicts, r: &RunResult) {
    use VmEvent::{AllocStallDma, AllocStallDma32, AllocStallMovable, AllocStallNormal};
    let stalls = [AllocStallDma, AllocStallDma32, AllocStallNormal, AllocStallMovable];
    for (of, counters) in [
        (Counted::Allocations, &[VmEvent::SimHighAllocFail][..]),
        (Counted::Compactions, &[VmEvent::CompactFail][..]),
        (Counted::Stalls, &stalls[..]),
    ] {
        let sum = |vmstat: &VmStat| counters.iter().map(|&e| vmstat[e]).sum::<u64>();
        assert_eq!(v.troubled(|c| c.of == of), sum(&r.vmstat), "{of:?}");
        for (i, p) in r.phases.iter().enumerate() {
            let of_phase = v.troubled(|c| c.of == of && c.phase as usize == i);
            assert_eq!(of_phase, sum(&p.vmstat), "{of:?} of phase {i}, {}", p.name);
        }
    }
}

/// A run on paper. Pages from 1000 on are of files, those from 2000 on of another node.
struct Paper {
    engine: Box<Engine>,
    told: Told,
    frames: u64,
    tick: u32,
    kept: KeptPages,
}

impl Paper {
    fn new(frames: u64) -> Paper {
        let (engine, told) = Engine::new(Settings::default());
        Paper { engine, told, frames, tick: 0, kept: KeptPages::default() }
    }
    fn at(page: u32) -> Where {
        let (lists, file) = (u8::from(page >= 2000), (1000..2000).contains(&page));
        Where { lists, memcg: MemcgId(0), file }
    }
    /// A page is used, and time goes on.
    fn used(mut self, page: u32) -> Self {
        let last = self.kept.replace_last(PageIdx(page));
        let u = Use { page: PageIdx(page), last, at: Paper::at(page) };
        self.engine.used(&mut self.kept, &[u], &[], &[]);
        self.ticks(0)
    }
    /// A tick ends with `spare` frames to spare.
    fn ticks(mut self, spare: u64) -> Self {
        self.engine.ticked(self.frames - spare, spare);
        self.tick += 1;
        self.kept.end_tick();
        self
    }
    fn read_ahead(mut self, page: u32) -> Self {
        self.engine.arrived(&mut self.kept, PageIdx(page), Paper::at(page));
        self.ticks(0)
    }
    fn overlooked(mut self, page: u32) -> Self {
        self.engine.overlooked(&mut self.kept, &[PageIdx(page)]);
        self
    }
    /// A look finds a page used, and keeps it.
    fn kept(mut self, page: u32) -> Self {
        let last = self.kept.last(PageIdx(page));
        self.engine.kept(&mut self.kept, &[(PageIdx(page), last)]);
        self.ticks(0)
    }
    fn evicted_by(mut self, page: u32, by: Reclaimer, balanced: bool) -> Self {
        let last = self.kept.last(PageIdx(page));
        let e = Use { page: PageIdx(page), last, at: Paper::at(page) };
        self.engine.evicted(&mut self.kept, &Eviction { by, balanced, written: false }, &[e]);
        self
    }
    fn evicted(self, page: u32) -> Self {
        self.evicted_by(page, Reclaimer::Kswapd, false)
    }
    /// A page comes back, and is used or not.
    fn back(mut self, page: u32) -> Self {
        let at = Paper::at(page);
        let (memcg, now, region) = (MemcgId(0), SimTime(u64::from(self.tick)), 0);
        let (nth, counts, without_device) = (PageIdx(page), true, false);
        let r = Refaulted { page: nth, region, at, memcg, counts, without_device, now };
        self.engine.refaulted(&mut self.kept, &[r]);
        self = self.used(page);
        let (refaults_anon, refaults_file) = (u64::from(!at.file), u64::from(at.file));
        let (thread, space, access, swap_ins) = (ThreadId(0), AsId(0), 0, 0);
        let (uses, back) = (0, 0);
        let step =
            Acted { thread, space, access, refaults_anon, refaults_file, swap_ins, uses, back };
        self.engine.used(&mut self.kept, &[], &[], &[step]);
        self
    }
    /// The class of each refault, and how many.
    fn ends(mut self) -> Vec<(Class, u64)> {
        let mut mem = Memory::new(&support::config(Kernel::V6_12, "zram"));
        mem.virt.spaces.create("paper".into(), MemcgId(0));
        self.engine.ended(&mut self.kept, &mem);
        let v = self.told.take().expect("it is over");
        v.cells.iter().map(|c| (c.class, c.count)).collect()
    }
}

/// Each class by a run that is short enough to be followed by hand. Letters of the comments are
/// pages in the order of their numbers, `x` an eviction, `!` the refault.
#[test]
fn a_worked_example_of_each_class() {
    let of = Paper::new;
    let advice = Reclaimer::Advice;
    for (class, run) in [
        // One frame: a, xa, b, xb, a! MIN has no place for a either.
        (Class::Capacity, of(1).used(1).evicted(1).used(2).evicted(2).back(1)),
        // The page a is not used before it goes, and its first use is its refault.
        (Class::ReadAhead, of(3).read_ahead(1).evicted(1).back(1)),
        // Two frames hold a and b; a process requests the eviction of a.
        (Class::Forced, of(2).used(1).used(2).evicted_by(1, advice, false).back(1)),
        // The same by kswapd, while enough frames are free, and none is used up until a is back.
        (
            Class::OverReclaim,
            of(3).used(1).used(2).evicted_by(1, Reclaimer::Kswapd, true).ticks(1).back(1).used(2),
        ),
        // A page of another node is idle since before.
        (Class::WrongPlace, of(3).used(2001).used(1).evicted(1).back(1).used(2001)),
        // A page of a file is.
        (Class::WrongType, of(3).used(1001).used(1).evicted(1).back(1).used(1001)),
        // b stays to the end, and is never used again.
        (Class::OneTime, of(3).used(2).used(1).evicted(1).back(1)),
        // b was read ahead, and is never used.
        (Class::ReadAheadKept, of(3).read_ahead(2).used(1).evicted(1).back(1)),
        // a went down its list although it had been used.
        (Class::ReferenceLost, of(3).used(2).used(1).overlooked(1).evicted(1).back(1).used(2)),
        // a was used once since it came.
        (Class::NeverTwice, of(3).used(2).used(1).evicted(1).back(1).used(2)),
        // a was used again, and is the coldest of its list.
        (Class::Recency, of(3).used(1).used(1).used(2).evicted(1).back(1).used(2)),
        // a was used twice before the look, which sees one accessed bit; b is colder.
        (Class::TakenForOne, of(3).used(2).used(1).used(1).kept(1).evicted(1).back(1).used(2)),
        // The same, but for a use after the look.
        (Class::Order, of(3).used(2).used(1).used(1).kept(1).used(1).evicted(1).back(1).used(2)),
        // The look came before the second use.
        (Class::NeverTwice, of(3).used(2).used(1).kept(1).evicted(1).back(1).used(2)),
        // a was used again, and b is colder.
        (Class::Order, of(3).used(2).used(1).used(1).evicted(1).back(1).used(2)),
    ] {
        assert_eq!(run.ends(), [(class, 1)]);
    }
}

/// Frames that were free for a while and used up before the page came back kept no page out.
#[test]
fn over_reclaim_is_over_when_the_frames_are_needed() {
    let run = Paper::new(3).used(1).used(2).evicted_by(1, Reclaimer::Kswapd, true);
    let run = run.ticks(1).used(3).back(1).used(2).used(3);
    assert_eq!(run.ends(), [(Class::NeverTwice, 1)]);
}

const TEXT: &str = r#"
    machine = { memory = "8MiB", swap = { size = "64MiB", device = "zram" } }
    task = [{ workload = "zipf", memory = "12MiB", accesses = 20000, write-permille = 300 }]
    variant = [{ name = "old", kernel = "5.9" }, { name = "new", kernel = "6.12" }]
"#;

/// Swap-outs by a limit are neither needless nor for want of memory. Without the limit it is one of
/// the two.
#[test]
fn what_a_limit_takes_to_swap_is_forced() {
    let swap_outs = |memory: &str, max: &str| {
        let text = format!(
            r#"
            [machine]
            memory = "{memory}"
            swap = {{ size = "64MiB", device = "ramdisk" }}
            memcg = [{{ name = "g", max = "{max}" }}]
            [[task]]
            workload = "uniform"
            memcg = "g"
            memory = "24MiB"
            accesses = 30000
            write-permille = 500
            "#
        );
        let (_, r, v) = explain(&specs(&text)[0]).unwrap_or_else(|e| panic!("{e}"));
        WhyReport::of(&v, &r).swap_outs
    };
    let limited = swap_outs("64MiB", "16MiB");
    assert!(limited.forced > 1000, "{limited:?}");
    assert_eq!((limited.needed, limited.needless), (0, 0), "{limited:?}");
    let short = swap_outs("16MiB", "1GiB");
    assert!(short.forced == 0 && short.needed + short.needless > 1000, "{short:?}");
}

fn followed(spec: &RunSpec) -> Followed {
    let (meta, result, verdicts) = explain(spec).unwrap_or_else(|e| panic!("{e}"));
    Followed { name: spec.label(), spec: spec.clone(), meta, result, verdicts }
}

fn sums(d: &Difference, a: &Followed, b: &Followed) {
    for (side, run) in [(&d.a, a), (&d.b, b)] {
        assert_eq!(side.refaults, run.verdicts.count(|_| true));
        assert_eq!(side.refaults, d.both + side.only);
        assert_eq!(side.only, side.classes.iter().map(|c| c.count).sum::<u64>());
        for c in &side.classes {
            assert_eq!(c.count, c.regions.iter().map(|r| r.count).sum::<u64>());
        }
    }
    assert_eq!(d.change, d.b.only as i64 - d.a.only as i64);
}

#[test]
fn a_difference_is_taken_apart_to_the_last_page() {
    let specs = specs(TEXT);
    let [old, new] = [&specs[0], &specs[1]].map(followed);
    let d = difference(&old, &new).unwrap_or_else(|e| panic!("{e}"));
    assert!(d.both > 100 && d.a.only > 100 && d.b.only > 100, "{d:?}");
    sums(&d, &old, &new);
    let none = difference(&old, &old).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((none.change, none.a.only, none.b.only), (0, 0, 0));
    assert_eq!(none.both, old.verdicts.count(|_| true));
}

/// MGLRU of 6.14 marks a page that a walk finds used for the first time and leaves it in its
/// generation, so its reference can be lost. Before, a page that was found used moved at once.
#[test]
fn mglru_loses_references_since_it_counts_them() {
    let [before, since] = ["mglru-v6.12", "mglru-v6.14"].map(|preset| {
        let text =
            TEXT.replace("kernel = \"5.9\"", &format!("reclaim = {{ preset = \"{preset}\" }}"));
        let run = followed(&specs(&text)[0]);
        sums_are_exact(&run.verdicts, &run.result);
        run.verdicts.count(|c| c.class == Class::ReferenceLost)
    });
    assert_eq!(before, 0);
    assert!(since > 0, "{since}");
}

#[test]
fn runs_of_other_accesses_are_refused() {
    let old = followed(&specs(TEXT)[0]);
    for (changed, why) in [
        (TEXT.replace("20000", "20001"), "the work of task zipf has other settings"),
        (TEXT.replace("task = [{", "seed = 7\ntask = [{"), "the seeds are 1 and 7"),
        (
            TEXT.replace("{ workload", "{ name = \"other\", workload"),
            "the tasks are zipf, and other",
        ),
    ] {
        let other = followed(&specs(&changed)[0]);
        let said = difference(&old, &other).expect_err("they differ").to_string();
        assert!(said.contains("not of the same accesses") && said.contains(why), "{said}");
    }
}

/// Whoever follows a run does not move it, and what it samples tells nearly what all pages tell.
#[test]
fn following_moves_nothing_and_samples_well() {
    let text = TEXT.replace("8MiB", "80MiB").replace("12MiB", "120MiB").replace("20000", "300000");
    let text = text
        .replace("64MiB", "256MiB")
        .replace("write-permille = 300", "theta = 0.5, write-permille = 1000");
    for mut spec in specs(&text) {
        let plain = mmsim::run::run_one(0, &spec, &|_, _| Default::default());
        let (_, plain) = plain.unwrap_or_else(|e| panic!("{e}"));
        let all = followed(&spec);
        assert_eq!(all.result.digest, plain.digest, "{}", spec.label());
        spec.why = true;
        let sampled = mmsim::run::run_one(0, &spec, &|_, _| Default::default());
        let (meta, sampled) = sampled.unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(sampled, plain, "{}", spec.label());
        let why = meta.why.expect("it was asked for");
        assert!(why.refaults > 10_000, "{}", why.refaults);
        for (class, c) in Class::ALL.iter().zip(&why.classes) {
            let exact = all.verdicts.count(|c| c.class == *class) as f64;
            let off = (c.count() as f64 - exact).abs() / why.refaults as f64;
            assert!(off < 0.05, "{class:?}: {} of {exact}", c.count());
        }
    }
}

/// A machine whose memory one task takes page by page and gives back in part, before another asks
/// for blocks of eight pages.
fn blocks(machine: &str, keeps: &str, asks: &str) -> Followed {
    let text = format!(
        r#"
        machine = {{ memory = "32MiB" }}
        {machine}
        task = [
            {{ workload = "fragment", name = "keeper", failures = 1, pause = "1ms", {keeps} }},
            {{ workload = "kernel-alloc", name = "asker", start = "1s", order = 3, {asks} }},
        ]"#
    );
    let run = followed(&specs(&text)[0]);
    sums_are_exact(&run.verdicts, &run.result);
    run
}

/// Failed allocations of blocks, for a reason that the scenario leaves no doubt of.
#[test]
fn blocks_that_cannot_be_had_are_explained() {
    let with = "compaction = { preset = \"compaction-v6.12\" }";
    let asks = "attempts = 300, gfp = \"user\", retry = \"noretry\"";
    let half = "keep-permille = 500";
    for (machine, keeps, asks, class) in [
        // Every other page stays where it is: all of the zone is seen in vain.
        (with, half, "attempts = 29, gfp = \"user\", retry = \"noretry\"", "not_movable"),
        // After the first failures most requests are put off.
        (with, half, asks, "deferred"),
        // The kernel has no compaction.
        ("", half, asks, "not_tried"),
        // The request may not wait for one.
        (with, half, "attempts = 300, gfp = \"atomic\"", "not_tried"),
        // Hardly a page is free.
        (with, "keep-permille = 995", asks, "no_space"),
    ] {
        let run = blocks(machine, keeps, asks);
        let failed = run.verdicts.troubled(|c| c.of == Counted::Allocations);
        let of = run.verdicts.troubled(|c| c.of == Counted::Allocations && c.class == class);
        assert!(failed > 0 && of * 2 > failed, "{class}: {:?}", run.verdicts.troubles);
        let asked = run.verdicts.troubles.iter().filter(|c| c.of == Counted::Allocations);
        assert!(asked.clone().all(|c| c.task == "asker"), "{class}");
    }
}

/// Who holds memory while a thread reclaims itself, and where kswapd was.
#[test]
fn stalls_say_who_held_the_pages() {
    let text = r#"
        machine = { memory = "32MiB", cpus = 1, swap = { size = "128MiB", device = "ramdisk" } }
        task = [
            { workload = "sequential", name = "big", memory = "64MiB", passes = 2, write = true },
        ]"#;
    let run = followed(&specs(text)[0]);
    sums_are_exact(&run.verdicts, &run.result);
    let stalls: Vec<_> = run.verdicts.troubles.iter().filter(|c| c.of == Counted::Stalls).collect();
    assert!(!stalls.is_empty());
    assert!(stalls.iter().all(|c| c.holder.as_deref() == Some("big")), "{stalls:?}");
    // kswapd has the one CPU only when the thread gives way.
    let late = |c: &&&TroubleCell| matches!(c.class, "kswapd_not_started" | "kswapd_behind");
    assert!(stalls.iter().filter(late).any(|c| c.late_ns > 0), "{stalls:?}");
}

/// A page has the number that events give it, besides its name: its life is the same by either.
#[test]
fn a_page_has_a_name_and_a_number() {
    let scenario = harness::shipped("phased-50-pages.toml", &[]);
    let specs = scenario.expand(&mmsim::machines::Catalogue).expect("its runs");
    let spec = specs.iter().find(|s| s.variant == "v5.9").expect("a variant of it");
    let life = |name: &str| mmsim::why::life::life(spec, name).expect("it came back");
    let by_name = life("phased:0:0");
    assert!(by_name[0].fields.contains("page:512"), "{}", by_name[0].fields);
    assert_eq!(life("512"), by_name);
}

/// Faults and evictions in batches are reported as those that come one by one: the slow path, which
/// has no batches, gives the same classes, to the last refault.
#[test]
fn batches_tell_what_single_steps_tell() {
    const MIXED: &str = r#"
        machine = { memory = "8MiB", swap = { size = "64MiB", device = "nvme" } }
        task = [
            { workload = "zipf", memory = "12MiB", accesses = 60000, write-permille = 300 },
            { workload = "zipf", memory = "6MiB", accesses = 20000, theta = 1.0 },
        ]
        variant = [
            { name = "mglru", reclaim = { preset = "mglru-v6.14" } },
            { name = "old", kernel = "5.9" },
            { name = "new", kernel = "6.12" },
        ]
    "#;
    for spec in specs(MIXED) {
        let told = [false, true].map(|slow| {
            let mut machine = harness::machine(&spec);
            let (engine, told) = mmsim::why::engine(&machine, Settings::default());
            let r = machine.run(Watch::default().with_follower(engine).with_slow_paths(slow));
            assert_eq!(r.outcome, Outcome::Completed);
            let told = told.take().expect("the run is over");
            sums_are_exact(&told, &r);
            told
        });
        assert_eq!(told[0], told[1], "{}", spec.label());
        let (refaults, decisions) =
            (told[0].count(|_| true), told[0].count(|c| c.class.is_decision()));
        assert!(refaults > 5000 && decisions > 1000, "{refaults}, {decisions}");
    }
}
