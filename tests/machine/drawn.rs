//! Scenarios drawn from one number, for tests that watch runs: of the library here, and of the
//! program in `crates/mmsim-cli/tests/suite/watched.rs`.
//!
//! `MMSIM_WATCHED=500` makes them draw 500, `MMSIM_WATCHED_SEED=17` the one of this number.

use std::fmt::Write as _;
use std::ops::Range;

use mmsim::base::rng::Rng;

/// The numbers to draw scenarios from: those below `few`, if the environment does not choose.
pub(crate) fn seeds(few: u64) -> Range<u64> {
    match number("MMSIM_WATCHED_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("MMSIM_WATCHED").unwrap_or(few),
    }
}

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text}: write a number")))
}

fn pick<'a>(rng: &mut Rng, of: &[&'a str]) -> &'a str {
    of[rng.below(of.len() as u64) as usize]
}

pub(crate) fn one_in(rng: &mut Rng, n: u64) -> bool {
    rng.below(n) == 0
}

/// A host under the machine, for one of three: true if there is one.
fn host(seed: u64, t: &mut String) -> bool {
    let rng = &mut Rng::for_purpose(seed, "watched/host");
    let hosted = one_in(rng, 3);
    if hosted {
        let (page, order) = [("4KiB", 0), ("4KiB", 4), ("2MiB", 9)][rng.below(3) as usize];
        let (capacity, delay) = (1 + rng.below(32), pick(rng, &["0ns", "50us", "3ms"]));
        let answer = pick(rng, &["0ns", "20us", "1ms"]);
        write!(t, "host = {{ page = \"{page}\", order = {order}, ").unwrap();
        writeln!(t, "capacity = {capacity}, delay = \"{delay}\", answer = \"{answer}\" }}")
            .unwrap();
    }
    hosted
}

/// Several threads on a few thousand frames, with what makes turns of different lengths: groups,
/// slow and fast devices, files, think time, blocks of the kernel, monitors.
pub(crate) fn scenario(seed: u64) -> String {
    let rng = &mut Rng::for_purpose(seed, "watched/scenario");
    let mut t = String::from("name = \"drawn\"\nseeds = 2\n[machine]\n");
    let frames = 2500 + rng.below(4000);
    let cpus = 1 + rng.below(4);
    let device = pick(rng, &["ramdisk", "zram", "nvme", "ssd", "hdd"]);
    let ahead = pick(rng, &["0ns", "3us", "100us", "100us", "1ms"]);
    writeln!(t, "memory = \"{frames} pages\"\ncpus = {cpus}\nrun-ahead = \"{ahead}\"").unwrap();
    writeln!(t, "swap = {{ size = \"128MiB\", device = \"{device}\" }}").unwrap();
    if one_in(rng, 3) {
        writeln!(t, "tick = \"1ms\"").unwrap();
    }
    let hosted = host(seed, &mut t);
    // Linux reports free pages since 5.7.
    let set = |kernel| match hosted && kernel != "5.5" {
        true => "\nset = { \"machine.host.reporting\" = true }",
        false => "",
    };
    let grouped = one_in(rng, 3);
    if grouped {
        let (max, low) = (600 + rng.below(1500), rng.below(800));
        let limits = format!("max = \"{max} pages\"\nlow = \"{low} pages\"");
        writeln!(t, "[[machine.memcg]]\nname = \"g\"\n{limits}").unwrap();
    }
    for i in 0..1 + rng.below(3) {
        let pages = frames / 3 + rng.below(frames);
        let threads = 1 + rng.below(3);
        let accesses = 3000 + rng.below(20_000);
        writeln!(t, "[[task]]\nname = \"t{i}\"").unwrap();
        if grouped && one_in(rng, 2) {
            writeln!(t, "memcg = \"g\"").unwrap();
        }
        if one_in(rng, 3) {
            writeln!(t, "start = \"{}us\"", rng.below(3000)).unwrap();
        }
        match rng.below(8) {
            0 => writeln!(t, "workload = \"cyclic\"\nmemory = \"{pages} pages\"\npasses = 2\nwrite = true"),
            1 => writeln!(
                t,
                "workload = \"ebizzy\"\nmemory = \"{} pages\"\nrecords = {}\nthreads = {threads}\ncompute = \"{}us\"",
                pages.next_multiple_of(128),
                100 + rng.below(300),
                rng.below(40)
            ),
            2 => writeln!(
                t,
                "workload = \"uniform\"\nmemory = \"{pages} pages\"\naccesses = {accesses}\nthreads = {threads}"
            ),
            3 => writeln!(t, "workload = \"kernel-alloc\"\norder = {}\nattempts = 200", rng.below(4)),
            4 => writeln!(
                t,
                "workload = \"phased\"\nregions = {{ f = {{ memory = \"{pages} pages\", kind = \"{}\" }} }}\n\
                 steps = [ {{ do = \"allocate\", region = \"f\" }}, {{ do = \"touch\", region = \"f\", write = {} }}, \
                 {{ do = \"zipf\", region = \"f\", theta = 0.9, accesses = {accesses} }} ]",
                pick(rng, &["file-shared", "file-private"]),
                one_in(rng, 2)
            ),
            5 => writeln!(
                t,
                "workload = \"build\"\nthreads = {threads}\nduration = \"300ms\"\nanon-min = \"1MiB\"\n\
                 anon-max = \"6MiB\"\nunmovable = 100\nreclaimable = 100"
            ),
            6 => writeln!(
                t,
                "workload = \"highalloc\"\norder = {}\nmigratetype = \"movable\"\ngfp = \"user\"\n\
                 attempts = 40\ninterval = \"200us\"",
                3 + rng.below(7)
            ),
            _ => writeln!(
                t,
                "workload = \"zipf\"\nmemory = \"{pages} pages\"\naccesses = {accesses}\ntheta = 0.9\nthreads = {threads}"
            ),
        }
        .unwrap();
    }
    // With a monitor, all variants have the mean of their resident memory.
    let monitored = one_in(rng, 3);
    if monitored {
        writeln!(t, "[[damon]]\nops = \"paddr\"\n[[damon.scheme]]\naction = \"pageout\"").unwrap();
        writeln!(t, "max-nr-accesses = 0\nmin-age = \"{}us\"", 100 + rng.below(20_000)).unwrap();
    }
    // DAMON is there since 5.15.
    let first = if monitored { ["6.6", "6.18"] } else { ["5.5", "5.9"] };
    for kernel in [pick(rng, &first), pick(rng, &["6.1", "6.12"])] {
        let set = set(kernel);
        writeln!(t, "[[variant]]\nname = \"{kernel}\"\nkernel = \"{kernel}\"{set}").unwrap();
    }
    let kernel = pick(rng, &["6.1", "6.12"]);
    writeln!(
        t,
        "[[variant]]\nname = \"mglru\"\nkernel = \"{kernel}\"\nreclaim = {{ preset = \"mglru-v{kernel}\" }}{}",
        set(kernel)
    )
    .unwrap();
    t
}
