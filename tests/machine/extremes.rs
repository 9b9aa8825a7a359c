//! The ends of what a scenario may say: machines of little or odd memory, and numbers at the ends of
//! their ranges. Each run has a result, in builds that look for overflow as these tests do.

use crate::harness;
use mmsim::machine::Watch;
use mmsim::machine::result::{Outcome, RunResult};
use mmsim::machines::specs;
use mmsim::report::RunMeta;
use mmsim::scenario::keys::{Kind, TableSpec};
use mmsim::scenario::tables::all_tables;
use mmsim::{Runner, Scenario};

/// The runs of a text, each audited; a broken invariant fails.
fn runs(text: &str) -> Vec<(RunMeta, RunResult)> {
    let watch = |_: usize, _: &_| Watch::default().with_check_every(64);
    let specs = harness::specs(text);
    Runner::default().sound_results(&specs, watch).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// A variant for kernels that changed reclaim or zones, with both LRUs.
const LRUS: &str = "
[[variant]]
name = \"4.1\"
kernel = \"4.1\"
[[variant]]
name = \"5.5\"
kernel = \"5.5\"
[[variant]]
name = \"6.12\"
[[variant]]
name = \"last\"
kernel = \"7.3\"
[[variant]]
name = \"4.1 with MGLRU\"
kernel = \"4.1\"
reclaim = { preset = \"mglru-v6.12\" }
[[variant]]
name = \"6.12 with MGLRU\"
reclaim = { preset = \"mglru-v6.12\" }
[[variant]]
name = \"random\"
reclaim = { preset = \"random\" }
";

/// Requests of the kernel cannot use Movable memory, so a machine of nothing else has no page tables:
/// the first process is killed, and nothing was scanned, for nothing that is scanned could help.
#[test]
fn a_machine_of_movable_memory_alone_ends_out_of_memory() {
    for managed in [1, 40, 300, 6000] {
        let zone = format!("zone = [{{ kind = \"Movable\", managed = \"{managed} pages\" }}]");
        let task = "[[task]]\nworkload = \"sequential\"\nmemory = \"2MiB\"\nwrite = true\n";
        for (meta, result) in runs(&format!("name = \"x\"\n[machine]\n{zone}\n{task}{LRUS}")) {
            let variant = &meta.variant;
            assert!(matches!(result.outcome, Outcome::OutOfMemory(_)), "{managed} {variant}");
            let scanned = |name| result.vmstat.by_name(name).unwrap_or(0);
            assert_eq!(scanned("pgscan_direct") + scanned("pgscan_kswapd"), 0, "{variant}");
        }
    }
}

/// Beside a node of Movable memory alone: direct reclaim for the kernel, plain and of large blocks, with
/// compaction, walks the zones that the request may use and no others (`shrink_zones`).
#[test]
fn requests_of_the_kernel_leave_movable_nodes_alone() {
    let nodes = "node = [{ memory = \"2MiB\" }, \
                 { zone = [{ kind = \"Movable\", managed = \"600 pages\" }] }]";
    let swap = "swap = { size = \"32MiB\", device = \"ramdisk\" }";
    let program =
        "[[task]]\nworkload = \"sequential\"\nmemory = \"8MiB\"\nwrite = true\npasses = 2\n";
    for order in [0, 3, 9] {
        let kernel =
            format!("[[task]]\nworkload = \"kernel-alloc\"\norder = {order}\nattempts = 1000\n");
        let machine = format!("[machine]\n{nodes}\n{swap}\n");
        let text = format!("name = \"x\"\n{machine}{program}{kernel}{LRUS}");
        for (meta, result) in runs(&text) {
            let stalls = ["allocstall_dma", "allocstall_dma32", "allocstall_normal"];
            let stalled: u64 = stalls.iter().filter_map(|name| result.vmstat.by_name(name)).sum();
            assert!(stalled > 0 || order == 9, "{order} {}: nobody reclaimed", meta.variant);
        }
    }
}

/// Zones of a page or two are as good as none.
#[test]
fn tiny_zones_do_no_harm() {
    let tiny =
        "{ kind = \"DMA\", managed = \"1 pages\" }, { kind = \"DMA32\", managed = \"2 pages\" }";
    for others in ["{ kind = \"Normal\", managed = \"2000 pages\" }, ", ""] {
        let zone =
            format!("zone = [{tiny}, {others}{{ kind = \"Movable\", managed = \"3 pages\" }}]");
        let task = "[[task]]\nworkload = \"sequential\"\nmemory = \"12MiB\"\nwrite = true\n";
        let swap = "swap = { size = \"32MiB\", device = \"ramdisk\" }\n";
        for (meta, result) in runs(&format!("name = \"x\"\n[machine]\n{zone}\n{swap}{task}{LRUS}"))
        {
            let completed = matches!(result.outcome, Outcome::Completed);
            assert_eq!(completed, !others.is_empty(), "{}: {:?}", meta.variant, result.outcome);
        }
    }
}

fn table(title: &str) -> &'static TableSpec {
    all_tables().into_iter().find(|t| t.title == title).expect("a table of keys")
}

/// Counts and sizes of a table with the ends of their ranges. What has no unit of its own is in pages.
fn ends(title: &str) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for key in table(title).keys() {
        let (least, most) = match key.kind {
            Kind::Count(least, most) => (least.to_string(), most.to_string()),
            Kind::Size(least) => (format!("\"{least} pages\""), format!("\"{} pages\"", u32::MAX)),
            _ => continue,
        };
        all.extend([(key.name.to_string(), least), (key.name.to_string(), most)]);
    }
    assert!(!all.is_empty(), "{title}");
    all
}

/// Sysctls, per-CPU lists and watermarks at the ends of what they may be: sums and products of them
/// have room. Out of memory is a result, an overflow is none. What a kernel does not take is an error.
#[test]
fn numbers_at_their_ends_make_runs() {
    let work = "[[task]]\nworkload = \"sequential\"\nmemory = \"6MiB\"\nwrite = true\npasses = 2\n\
                [[task]]\nworkload = \"zipf\"\nmemory = \"3MiB\"\nregion = \"file-shared\"\n\
                accesses = 3000\nwrite-permille = 500\n\
                [[task]]\nworkload = \"kernel-alloc\"\norder = 2\nattempts = 40\n";
    let swap = "swap = { size = \"32MiB\", device = \"ramdisk\" }";
    let (mut made, mut refused) = (0, 0);
    for kernel in ["4.1", "5.5", "6.1", "6.12", "7.3"] {
        let machine = format!("name = \"x\"\n[machine]\nkernel = \"{kernel}\"\n{swap}\n");
        let zone = "zone = [{ kind = \"DMA\", managed = \"300 pages\" }, \
                    { kind = \"Normal\", managed = \"1500 pages\", ZONE }]";
        let mut texts = Vec::new();
        for (key, value) in ends("[machine.vm]") {
            let text = format!("{machine}memory = \"8MiB\"\nvm = {{ {key} = {value} }}\n{work}");
            // Two are of lists that an LRU has to have.
            let of_lists = ["lazyfreeness", "easy_pool_low"].contains(&key.as_str());
            let lists = "reclaim = { preset = \"classic-v5.5\", lazyfree = \"own-list-2015a\" }\n";
            texts.push(if of_lists { format!("{lists}{text}") } else { text });
        }
        for (_, high) in ends("pcp of a zone").iter().filter(|e| e.0 == "high") {
            for (_, batch) in ends("pcp of a zone").iter().filter(|e| e.0 == "batch") {
                let lists = format!("pcp = {{ high = {high}, batch = {batch} }}");
                texts.push(format!("{machine}{}\n{work}", zone.replace("ZONE", &lists)));
            }
        }
        for marks in [[0, 0, 0], [u32::MAX; 3], [0, 0, u32::MAX], [0, u32::MAX, u32::MAX]] {
            let [min, low, high] = marks.map(|m| format!("\"{m} pages\""));
            let marks = format!("min = {min}, low = {low}, high = {high}");
            texts.push(format!("{machine}{}\n{work}", zone.replace("ZONE", &marks)));
        }
        for (_, value) in ends("[[machine.zone]]").iter().filter(|e| e.0 == "lowmem-reserve") {
            let reserve = zone.replace("ZONE", &format!("lowmem-reserve = {value}"));
            texts.push(format!("{machine}{reserve}\n{work}"));
        }
        for text in texts {
            match Scenario::from_str(&text, "x.toml").and_then(|s| specs(&s)) {
                Ok(_) => made += runs(&text).len(),
                Err(_) => refused += 1,
            }
        }
    }
    assert!(made > 180 && refused < made / 3, "{made} runs, {refused} refused");
}

/// A high watermark that is far above its zone: a little of other memory, of which Movable memory takes
/// a share by its size. Its per-CPU lists are as long as can be, and the boost has room.
#[test]
fn a_large_movable_zone_beside_little_memory() {
    for kernel in ["4.1", "5.5", "6.12", "7.3"] {
        let zone = "zone = [{ kind = \"Normal\", managed = \"1 pages\" }, \
                    { kind = \"Movable\", managed = \"64GiB\" }]";
        let boost = if kernel == "4.1" { "" } else { ", watermark_boost_factor = 1000000" };
        let vm = format!("vm = {{ min_free_kbytes = {}{boost} }}", i32::MAX);
        let task = "[[task]]\nworkload = \"sequential\"\nmemory = \"2MiB\"\nwrite = true\n";
        runs(&format!("name = \"x\"\n[machine]\nkernel = \"{kernel}\"\n{zone}\n{vm}\n{task}"));
    }
}
