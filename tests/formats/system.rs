//! Machines from copies of their own files: boxes that were recorded in virtual machines, what of
//! them comes back, and copies that cannot be.

use mmsim::layout;
use mmsim::system::copies::Copies;
use mmsim::system::copies::{Sampled, script};
use mmsim::system::work::Work;
use mmsim::system::{Difference, Import, Options, Programs, Sizes, differences, emit};

const BOX_6_12: &str = include_str!("boxes/6.12.txt");
const BOX_6_18: &str = include_str!("boxes/6.18.txt");
const BOX_7_3: &str = include_str!("boxes/7.3.txt");
const BUSY: &str = include_str!("boxes/busy.txt");

fn import(text: &str, programs: Programs) -> (Copies, Import) {
    let copies = Copies::of_text(text, "box.txt").unwrap_or_else(|e| panic!("{e}"));
    let options = Options::default().with_programs(programs);
    let import = Import::of(&copies, &options, Some("box.layout"));
    (copies, import.unwrap_or_else(|e| panic!("{e}")))
}

/// Items that are as in the copies, and those that are not, in words.
fn round_trip(text: &str) -> (usize, Vec<String>) {
    let (copies, import) = import(text, Programs::Held);
    let emitted = emit(&copies, &import).unwrap_or_else(|e| panic!("{e}"));
    let (equal, others) = differences(&copies, &emitted);
    let words = |d: &Difference| format!("{}: {}: {} / {}", d.file, d.item, d.copy, d.machine);
    (equal, others.iter().map(words).collect())
}

/// A machine with Linux 6.12 shows the files that it was made from: managed pages, watermarks,
/// protection, sizes and contents of per-CPU lists, free blocks by order and type, sysctls, MGLRU.
/// What differs is `high`, which the kernel tunes and the copy cannot say the least of.
#[test]
fn a_box_of_6_12_comes_back() {
    let (equal, others) = round_trip(BOX_6_12);
    let dma = "proc/zoneinfo: Node 0, zone DMA";
    let want = [
        format!("{dma}32: cpu 0: high: 6330 / 6961"),
        format!("{dma}32: cpu 1: high: 6330 / 6961"),
        format!("{dma}: cpu 0: high: 0 / 35"),
        format!("{dma}: cpu 1: high: 0 / 35"),
        "proc/zoneinfo: Node 0, zone Normal: cpu 1: high: 4663 / 4600".into(),
    ];
    assert_eq!(others, want);
    assert_eq!(equal, 61);
}

/// zswap that is on comes with its parameters, and shows them again. What a zram holds says what a page
/// takes: 1,000 pages in 2,000,000 bytes.
#[test]
fn compressed_memory_is_taken_over() {
    let on = BOX_6_12.replace("zswap/parameters/enabled <==\nN", "zswap/parameters/enabled <==\nY");
    let on = on.replace("max_pool_percent <==\n20", "max_pool_percent <==\n35");
    let stat =
        "\n==> /sys/block/zram0/mm_stat <==\n 4096000 1900000 2000000 409600 2000000 0 0 0 0\n";
    let (_, imported) = import(&(on.clone() + stat), Programs::Held);
    let zswap = "[machine.zswap]\ncompressor = \"lzo\"\nmax-pool-percent = 35\n\
                 accept-threshold-percent = 90\n";
    assert!(imported.scenario.contains(zswap), "{}", imported.scenario);
    // Parameters that the kernel takes although no pool can be so large, and groups without zswap.
    for (percent, taken) in [("0", 0), ("200", 100)] {
        let text =
            on.replace("max_pool_percent <==\n35", &format!("max_pool_percent <==\n{percent}"));
        let (_, imported) = import(&text, Programs::Held);
        let key = format!("max-pool-percent = {taken}\n");
        assert!(imported.scenario.contains(&key), "{}", imported.scenario);
    }
    let zram = ["stored-bytes-per-page = 2000", "mem_limit = \"100 pages\""];
    zram.iter().for_each(|k| assert!(imported.scenario.contains(k), "{}", imported.scenario));
    let (before, after) = (round_trip(BOX_6_12), round_trip(&on));
    assert_eq!(after.1, before.1);
    assert_eq!(after.0, before.0 + 5);
}

/// Linux 6.18 with two nodes says the least of `high`. The kernel counts zoneinfo, buddyinfo and
/// meminfo one after the other: some pages came free in between.
#[test]
fn a_box_of_6_18_comes_back() {
    let (equal, others) = round_trip(BOX_6_18);
    let want = [
        "proc/meminfo: MemFree: 5764684 kB / 5764752 kB",
        "proc/zoneinfo: Node 1, zone Normal: free: 457888 / 457905",
    ];
    assert_eq!(others, want);
    assert_eq!(equal, 102);
}

/// A copy of Linux 7.3 comes back whole: it was made before any program ran.
#[test]
fn a_box_of_7_3_comes_back() {
    let (equal, others) = round_trip(BOX_7_3);
    assert_eq!(others, [""; 0]);
    assert_eq!(equal, 54);
}

/// By formula the watermarks follow the sysctls, and the remarks say what the copies had.
#[test]
fn sizes_by_formula_are_left_out() {
    let copies = Copies::of_text(BOX_7_3, "box.txt").unwrap_or_else(|e| panic!("{e}"));
    let of = |sizes| {
        let options = Options::default().with_sizes(sizes);
        let import = Import::of(&copies, &options, Some("box.layout"));
        let import = import.unwrap_or_else(|e| panic!("{e}"));
        let remarks: String = import.notes.iter().map(|n| format!("{n}\n")).collect();
        (import.scenario, remarks)
    };
    let (copied, as_they_stood) = of(Sizes::Copied);
    let (formula, said) = of(Sizes::Formula);
    for key in ["min = ", "low = ", "high = ", "pcp = "] {
        assert!(copied.contains(key) && !formula.contains(key), "{key}: {copied}{formula}");
    }
    assert!(as_they_stood.contains("taken as they stand"), "{as_they_stood}");
    assert!(said.contains("these are taken, as asked"), "{said}");
}

/// On the machine with 6.12 a sysctl was written after the boot, so the kernel computed its watermarks
/// from the managed pages of the copy: mmsim computes the same from them, to the page.
#[test]
fn watermarks_of_a_box_are_those_of_the_formulas() {
    let (_, import) = import(BOX_6_12, Programs::Ended);
    assert!(import.notes.iter().all(|n| !n.item.contains("min, low, high")), "{:#?}", import.notes);
    assert!(!import.scenario.contains("\nmin = "), "{}", import.scenario);
}

/// The kernel with 6.18 computed its watermarks at boot, before the last pages of DMA32 came free: the
/// initial ramfs and what only the boot needs. With 2,302 to 2,412 pages less there, all twelve
/// marks are those of the formulas; with any other number some are not.
#[test]
fn watermarks_of_a_boot_are_those_of_fewer_pages() {
    use mmsim::base::rules::KernelRules;
    use mmsim::config::{Kernel, VmSysctl, ZoneKind};
    use mmsim::phys::watermarks::watermarks;
    // Managed pages and marks of the copy; 90112 is its min_free_kbytes.
    let zones = [
        (ZoneKind::Dma, 3_840, [57, 71, 85]),
        (ZoneKind::Dma32, 755_219, [11_176, 13_970, 16_764]),
        (ZoneKind::Normal, 245_588, [3_645, 4_556, 5_467]),
        (ZoneKind::Normal, 515_211, [7_648, 9_560, 11_472]),
    ];
    let (_, import) = import(BOX_6_18, Programs::Ended);
    for (_, managed, [min, low, high]) in zones {
        let row = format!(
            "managed = \"{managed} pages\"\nmin = \"{min} pages\"\nlow = \"{low} pages\"\nhigh = \"{high} pages\"\n"
        );
        assert!(import.scenario.contains(&row), "{row}{}", import.scenario);
    }
    let lowmem: u64 = zones.iter().map(|z| z.1).sum();
    let rules = KernelRules::of(Kernel::V6_18);
    let all_fit = |less: &u64| {
        zones.iter().all(|&(kind, managed, marks)| {
            let managed = if kind == ZoneKind::Dma32 { managed - less } else { managed };
            let vm = VmSysctl::linux();
            watermarks(kind, managed, lowmem - less, 90_112, &vm, &rules) == marks
        })
    };
    let fitting: Vec<u64> = (0..20_000).filter(all_fit).collect();
    assert_eq!(fitting, (2_302..=2_412).collect::<Vec<u64>>());
}

/// Memory of ended programs is free; the kernel's memory stays where it was.
#[test]
fn programs_end_or_stay() {
    let free = |programs| {
        let (copies, import) = import(BOX_6_12, programs);
        let layout = layout::from_text(import.layout.as_deref().unwrap_or_default(), "x");
        let layout = layout.unwrap_or_else(|e| panic!("{e}"));
        let emitted = emit(&copies, &import).unwrap_or_else(|e| panic!("{e}"));
        let meminfo = emitted.iter().find(|f| f.0 == "proc/meminfo").map(|f| f.1.clone());
        let line = meminfo
            .unwrap_or_default()
            .lines()
            .find(|l| l.starts_with("MemFree"))
            .map(String::from);
        let kib = line.and_then(|l| l.split_whitespace().nth(1)?.parse::<u64>().ok());
        (layout.zones.len(), kib.unwrap_or(0))
    };
    let (held, ended) = (free(Programs::Held), free(Programs::Ended));
    assert_eq!((held.0, ended.0), (3, 3));
    // Active and Inactive of its meminfo are what was on LRU lists.
    let of = |name: &str| -> u64 {
        let line = BOX_6_12.lines().find(|l| l.starts_with(name)).expect("a line of meminfo");
        line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).expect("a size")
    };
    let on_lists = of("Active: ") + of("Inactive: ") + of("Unevictable: ");
    assert!(on_lists > 200_000, "{on_lists}");
    // The kernel counted 84 kB more in zoneinfo, which it printed before.
    let freed = ended.1 - held.1;
    assert!(freed.abs_diff(on_lists) <= 84, "{freed} and {on_lists} kB");
}

/// Text of a box with one change.
fn with(from: &str, to: &str) -> String {
    assert!(BOX_6_12.contains(from), "{from}");
    BOX_6_12.replacen(from, to, 1)
}

/// The section of a file in a box.
fn section(text: &str, file: &str) -> (usize, usize) {
    let head = format!("==> /{file} <==\n");
    let begin = text.find(&head).expect("the file");
    let end = text[begin + head.len()..]
        .find("\n==> ")
        .map_or(text.len(), |e| begin + head.len() + e + 1);
    (begin, end)
}

/// A box with a file of the other one.
fn mixed(file: &str) -> String {
    let ((a, b), (c, d)) = (section(BOX_6_12, file), section(BOX_6_18, file));
    format!("{}{}{}", &BOX_6_12[..a], &BOX_6_18[c..d], &BOX_6_12[b..])
}

fn refused(text: &str) -> mmsim::Error {
    let read = Copies::of_text(text, "box.txt")
        .and_then(|copies| Import::of(&copies, &Options::default(), Some("box.layout")));
    read.expect_err("no machine")
}

#[test]
fn files_of_two_machines_are_refused() {
    for (file, says) in [
        ("sys/devices/system/cpu/online", "4 CPUs, and /proc/zoneinfo has lists of 2"),
        ("proc/buddyinfo", "/proc/zoneinfo has no memory in node 1, zone Normal"),
        ("proc/pagetypeinfo", "/proc/zoneinfo has no memory in node 1, zone Normal"),
        ("proc/zoneinfo", "4 CPUs"),
    ] {
        // The last one finds whichever file does not fit first.
        let e = refused(&mixed(file)).to_string();
        let fits = e.contains(says) || file == "proc/zoneinfo" && e.contains("CPUs");
        assert!(fits && e.contains("one machine"), "{file}: {e}");
        assert!(refused(&mixed(file)).position().is_some(), "{file}");
    }
}

/// One change each: the message, and its line.
#[test]
fn mistakes_are_pointed_at() {
    for (from, to, says) in [
        (
            "Shmem:            244740 kB",
            "Shmem:           5244740 kB",
            "Shmem is 5244740 kB, and Mem",
        ),
        ("Shmem:            244740 kB", "Shmem:           plenty kB", "Shmem has no number"),
        ("Unevictable:           0", "Unevictable:     9000000", "Unevictable is 9000000 kB, and"),
        ("Linux version 6.12", "Linux version 3.2", "Linux 3.2 is not modelled"),
        ("Linux version 6.12", "FreeBSD 6.12", "no version of Linux"),
        ("  pages free     3584", "  pages free     many", "no line of zoneinfo"),
        ("        managed  3840", "        managed  5000", "more pages are managed than it spans"),
        (
            "        managed  499844",
            "        managed  99999",
            "more pages are free than it manages",
        ),
        ("        managed  499844", "        managed  499", "a watermark is above all that it"),
        ("        low      9201", "        low      1", "its watermarks fall"),
        ("Node 0, zone      DMA      0", "Node 0, zone      DMA", "no line of buddyinfo"),
        ("type    Unmovable      0", "type        Stuck      0", "no line of pagetypeinfo"),
        ("Page block order: 9", "Page block order: 12", "pageblocks of order 12"),
        ("partition\t1048572", "partition\ta lot", "no line of /proc/swaps"),
        ("0\t\t100\n/dev/vda  ", "0\t\t40000\n/dev/vda  ", "no priority of swap"),
        ("/dev/vda    ", "/dev/zram0  ", "a device that is there already"),
        (
            "==> /proc/sys/vm/swappiness <==\n100",
            "==> /proc/sys/vm/swappiness <==\nmuch",
            "no whole number",
        ),
        ("always [madvise] never", "always [at times] never", "no mode of huge pages"),
        ("0x0007", "on", "no state of MGLRU"),
        ("min_ttl_ms <==\n1000", "min_ttl_ms <==\n-1", "no time that is modelled"),
        ("read_ahead_kb <==\n128", "read_ahead_kb <==\n3", "no readahead that is modelled"),
        ("cpu/online <==\n0-1", "cpu/online <==\n1-0", "no list of CPUs"),
        ("==> /proc/cmdline", "==> /proc/version", "has /proc/version twice"),
        ("==> /proc/version <==\n", "", "no text of `tail -n +1"),
    ] {
        let text = with(from, to);
        let e = refused(&text);
        assert!(e.to_string().contains(says), "{to}: {e}");
        assert!(e.position().is_some(), "{to}: {e}");
        assert_eq!(e.kind().exit_code(), 2);
    }
    let (begin, end) = section(BOX_6_12, "proc/zoneinfo");
    let cut = &BOX_6_12[begin..end];
    let cut = format!("{}{}", &cut[..cut.find("  pagesets").expect("lists")], &BOX_6_12[end..]);
    assert!(refused(&cut).to_string().contains("it ends early"));
    assert!(
        refused("==> /proc/swaps <==\nFilename\n").to_string().contains("neither proc/zoneinfo")
    );
    let empty = "==> /proc/swaps <==\nFilename\n\n==> /proc/zoneinfo <==\n";
    assert!(refused(empty).to_string().contains("`tar` and `cp -a` see a size of 0"));
}

/// A guest that is given its memory while it runs counts more in meminfo than its zones manage.
#[test]
fn memory_that_zones_do_not_have_yet_is_a_remark() {
    let (_, box_of_6_12) = import(BOX_6_12, Programs::Ended);
    let (_, lazy) =
        import(&with("MemTotal:        5040184", "MemTotal:        8040184"), Programs::Ended);
    let note = |n: &mmsim::system::Note| n.item.starts_with("MemTotal");
    let said: Vec<String> =
        lazy.notes.iter().filter(|n| note(n)).map(ToString::to_string).collect();
    assert!(said[0].contains("MemTotal 2010046 pages: the zones"), "{said:?}");
    assert!(said[0].contains("manage 1260046 pages, which are taken"), "{said:?}");
    assert_eq!(lazy.scenario, box_of_6_12.scenario);
    assert!(!box_of_6_12.notes.iter().any(note));
}

/// A box of each release gets what is nearest, and a remark where that is not its own.
#[test]
fn the_nearest_kernel_and_presets_are_taken() {
    let of = |release: &str, lru_gen: &str| {
        let text = format!(
            "==> /proc/version <==\nLinux version {release}.0 (gcc)\n\n==> /proc/meminfo <==\n\
             MemTotal:        4000000 kB\n\n==> /sys/kernel/mm/lru_gen/enabled <==\n{lru_gen}\n"
        );
        let (_, import) = import(&text, Programs::Ended);
        let notes: String = import.notes.iter().map(|n| format!("{n}\n")).collect();
        (import.scenario, notes)
    };
    for (release, kernel, preset, said) in [
        ("6.1", "6.1", "mglru-v6.1", &[][..]),
        ("6.4", "6.6", "mglru-v6.1", &["the rules of kernel 6.6", "no MGLRU of 6.4: mglru-v6.1"]),
        ("6.6", "6.6", "mglru-v6.7-pre", &["no MGLRU of 6.6: mglru-v6.7-pre, the nearest"]),
        (
            "6.8",
            "6.6",
            "mglru-v6.8-post",
            &["6.8 is not modelled: the rules of kernel 6.6", "DAMON of 6.8"],
        ),
        ("6.14", "6.12", "mglru-v6.14", &["6.14 is not modelled: the rules of kernel 6.12"]),
        ("6.17", "6.18", "mglru-v6.18", &["no MGLRU of 6.17: mglru-v6.18"]),
        ("7.3", "7.3", "mglru-v7.3", &[]),
    ] {
        let (scenario, notes) = of(release, "0x0007");
        assert!(scenario.contains(&format!("kernel = \"{kernel}\"")), "{release}: {scenario}");
        assert!(scenario.contains(&format!("preset = \"{preset}\"")), "{release}: {scenario}");
        for part in said {
            assert!(notes.contains(part), "{release}: {notes}");
        }
        let own = said.is_empty();
        assert_eq!(
            own,
            !notes.contains("is not modelled") && !notes.contains("no MGLRU"),
            "{notes}"
        );
    }
    for (release, kernel, said) in [
        ("4.1", "4.1", "there is no LRU of 4.1: classic-v5.5"),
        ("4.19", "5.5", "4.19 is not modelled: the rules of kernel 5.5"),
        (
            "5.4",
            "5.5",
            "compaction of 5.4: off as in any scenario: the nearest is `compaction = { preset = \"compaction-v6.1\" }`",
        ),
        ("5.17", "6.1", "the nearest is `rules = { preset = \"damon-v5.16\" }` of a [[damon]]"),
    ] {
        let (scenario, notes) = of(release, "0x0000");
        assert!(scenario.contains(&format!("kernel = \"{kernel}\"")), "{release}: {scenario}");
        assert!(notes.contains(said), "{release}: {notes}");
    }
}

/// One change each, which is taken with a note.
#[test]
fn what_is_guessed_is_said() {
    for (from, to, file, why) in [
        (
            "Linux version 6.12",
            "Linux version 6.14",
            "proc/version",
            "the rules of kernel 6.12, the nearest",
        ),
        (
            "Linux version 6.12",
            "Linux version 9.1",
            "proc/version",
            "the rules of kernel 7.3, the nearest",
        ),
        ("/dev/zram0  ", "/dev/nbd0   ", "proc/swaps", "a kind of device that is not known"),
        (
            "0\t\t100\n/dev/vda                                partition\t524284\t\t0\t\t-2",
            "0\t\t-1\n/dev/vda                                partition\t524284\t\t0\t\t-1",
            "proc/swaps",
            "write `rules = { swap-priorities-equal = true }`",
        ),
        (
            "[lz4] lz4hc",
            "lz4 [lz4hc]",
            "sys/block/zram0/comp_algorithm",
            "there is no preset of it",
        ),
        (
            "        boost    0\n        min      6702\n        low      9201\n        high     11700",
            "        boost    50\n        min      6752\n        low      9251\n        high     11750",
            "proc/zoneinfo",
            "a boost of its watermarks",
        ),
        (
            "        high     11700",
            "        high     20000",
            "proc/zoneinfo",
            "by formula they are 6702, 9201, 11700",
        ),
        (
            "partition\t1048572\t\t0",
            "partition\t1048572\t\t400",
            "proc/swaps",
            "100 pages are in use there",
        ),
        (
            "[none] mq-deadline",
            "none [mq-deadline]",
            "sys/block/vda/queue/nr_requests",
            "scheduler mq-deadline",
        ),
        (
            "compressor <==\nlzo\n\n==> /sys/module/zswap/parameters/enabled <==\nN",
            "compressor <==\nlz4hc\n\n==> /sys/module/zswap/parameters/enabled <==\nY",
            "sys/module/zswap/parameters/compressor",
            "its figures are not known: those of lz4",
        ),
        (
            "nr_hugepages <==\n0",
            "nr_hugepages <==\n4",
            "proc/sys/vm/nr_hugepages",
            "in use as the kernel's",
        ),
        (
            "zone_reclaim_mode <==\n0",
            "zone_reclaim_mode <==\n1",
            "proc/sys/vm",
            "reclaim of a node before others",
        ),
        ("panic=-1", "panic=-1 nohz_full=1", "proc/cmdline", "CPUs that are kept apart"),
        (
            "percpu_pagelist_high_fraction <==\n0",
            "percpu_pagelist_high_fraction <==\n3",
            "proc/sys/vm/percpu_pagelist_high_fraction",
            "0 or at least 8 is modelled of kernel 6.12: left at its default",
        ),
        (
            "swappiness <==\n100",
            "swappiness <==\n250",
            "proc/sys/vm/swappiness",
            "0 to 200 is modelled of kernel 6.12: left at its default",
        ),
        (
            "swappiness <==\n100",
            "swappiness <==",
            "proc/sys/vm/swappiness",
            "left at its default (`cat` copies it",
        ),
        (
            "swappiness <==\n100",
            "swappiness <==\n60 70",
            "proc/sys/vm/swappiness",
            "the first number, 60, is taken",
        ),
        (
            "always [madvise] never",
            "madvise always never",
            "sys/kernel/mm/transparent_hugepage/enabled",
            "no word is in brackets: the first, madvise, is taken",
        ),
        (
            "always defer defer+madvise [madvise] never",
            "defer madvise never",
            "sys/kernel/mm/transparent_hugepage/defrag",
            "no word is in brackets: the first, defer, is taken",
        ),
    ] {
        let (_, import) = import(&with(from, to), Programs::Ended);
        let said = import.notes.iter().any(|n| n.file == file && n.why.contains(why));
        assert!(said, "{to}: {:#?}", import.notes);
    }
}

/// Every file may be missing but zoneinfo and meminfo at once; each that decides something is named.
#[test]
fn files_that_are_missing_are_named() {
    for file in mmsim::system::copies::FILES {
        let mut text = BOX_6_12.to_string();
        let folder = file.split("/*").next().expect("a path");
        while let Some(at) = text.find(&format!("==> /{folder}")) {
            let end = text[at + 1..].find("\n==> ").map_or(text.len(), |e| at + 1 + e + 1);
            text.replace_range(at..end, "");
        }
        let copies = Copies::of_text(&text, "box.txt").unwrap_or_else(|e| panic!("{file}: {e}"));
        let import = Import::of(&copies, &Options::default(), Some("box.layout"));
        let import = import.unwrap_or_else(|e| panic!("{file}: {e}"));
        let optional = ["sys/module", "sys/kernel/debug"].iter().any(|f| file.starts_with(f))
            || ["comp_algorithm", "mm_stat"].iter().any(|f| file.ends_with(f));
        // Groups without it have the default mount.
        let optional = optional || file == "proc/mounts";
        let named = import.notes.iter().any(|n| n.file == file && n.item == "missing");
        assert_eq!(named, !optional, "{file}: {:#?}", import.notes);
    }
}

/// Copies with bytes, words and lines changed, left out and doubled: each is refused or taken.
#[test]
fn mangled_copies_are_refused_or_taken() {
    let mut state = 12345_u64;
    let mut random = |n: usize| {
        // Any generator will do: MINSTD's multiplier modulo 2^64, high bits.
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) as usize) % n.max(1)
    };
    let (mut taken, mut refused) = (0, 0);
    for case in 0..600 {
        let source = if case % 2 == 0 { BOX_6_12 } else { BOX_6_18 };
        let mut lines: Vec<String> = source.lines().map(String::from).collect();
        for _ in 0..=random(3) {
            let at = random(lines.len());
            match random(6) {
                0 => drop(lines.remove(at)),
                1 => lines.insert(at, lines[at].clone()),
                2 => lines[at] = lines[at].replace(char::is_numeric, "9"),
                3 => lines[at] = lines[at].split_whitespace().rev().collect::<Vec<_>>().join(" "),
                4 => lines.truncate(at.max(1)),
                _ => {
                    let other = lines[random(lines.len())].clone();
                    lines[at] = other;
                }
            }
        }
        let text = lines.join("\n");
        // A layout takes most of the time.
        let layout = (case % 30 == 0).then_some("box.layout");
        let done = Copies::of_text(&text, "box.txt")
            .and_then(|copies| Import::of(&copies, &Options::default(), layout));
        match done {
            Ok(_) => taken += 1,
            Err(e) => {
                assert!(!e.to_string().contains("no scenario has such a machine"), "{case}: {e}");
                refused += 1;
            }
        }
    }
    assert!(taken > 50 && refused > 50, "{taken} taken, {refused} refused");
}

/// Samples with a line gone, doubled or with other numbers describe some work or are refused, and
/// what they describe is a scenario or has an error, never a panic.
#[test]
fn mangled_samples_describe_work_or_are_refused() {
    let lines: Vec<&str> = BUSY.lines().collect();
    let (mut described, mut scenarios) = (0, 0);
    for at in 0..lines.len() {
        let nines = lines[at].replace(char::is_numeric, "9999999");
        let halves = &lines[at][..lines[at].len() / 2];
        for other in ["", &nines, halves, "-1", "x 18446744073709551615"] {
            let mut changed = lines.clone();
            changed[at] = other;
            let text = format!("{BOX_7_3}{}", changed.join("\n"));
            let Ok(copies) = Copies::of_text(&text, "box.txt") else { continue };
            let Ok(work) = Work::of(&copies) else { continue };
            described += 1;
            let import = Import::of(&copies, &Options::default(), None).expect("a machine");
            let whole = import.scenario + &work.text();
            scenarios += usize::from(mmsim::Scenario::from_str(&whole, "box.toml").is_ok());
        }
    }
    assert!(described > 150 && scenarios > 150, "{described} described, {scenarios} scenarios");
}

/// The script of the work begins with that of the machine, takes two samples, and quotes the group.
#[test]
fn the_script_takes_two_samples() {
    let machine = script(None);
    let of = |group: Option<&str>| script(Some(&Sampled::new(7, group.map(str::to_string))));
    let work = of(None);
    assert!(work.starts_with(&machine) && work.contains("\nsleep 7\n"), "{work}");
    assert!(work.ends_with("copy later/proc /proc uptime vmstat pressure/memory\n"), "{work}");
    let group = of(Some("/it's/a.slice"));
    for folder in ["copy group", "copy later/group"] {
        let line = format!("\n{folder} '/sys/fs/cgroup/it'\\''s/a.slice' memory.stat ");
        assert!(group.contains(&line), "{group}");
    }
}

/// Copy of the machine of 7.3 in other sizes.
fn sized(sizes: &[(&str, u64)]) -> Work {
    let line = |l: &str| match sizes.iter().find(|s| l.split(':').next() == Some(s.0)) {
        Some((name, kib)) => format!("{name}: {kib} kB\n"),
        None => format!("{l}\n"),
    };
    let text: String = BOX_7_3.lines().map(line).collect();
    let copies = Copies::of_text(&format!("{text}{BUSY}"), "box.txt");
    Work::of(&copies.unwrap_or_else(|e| panic!("{e}"))).unwrap_or_else(|e| panic!("{e}"))
}

/// Worked by hand: 40,000 kB are anonymous, 24,000 shared and 16,000 files of which 8,000 are shared
/// memory's. 8,000 kB are locked, 4,000 more unevictable. So 8,000 and 5,000 pages are left that reclaim
/// may take, and of 1,300 pages in swap 800 are anonymous.
#[test]
fn shared_and_locked_memory_are_work() {
    let work = sized(&[
        ("AnonPages", 40_000),
        ("Shmem", 24_000),
        ("Cached", 40_000),
        ("Buffers", 0),
        ("SwapCached", 0),
        ("SwapTotal", 98_300),
        ("SwapFree", 93_100),
        ("Mlocked", 8_000),
        ("Unevictable", 12_000),
    ]);
    let text = work.text();
    let task = |name: &str| {
        let (_, after) = text.split_once(&format!("name = \"{name}\"")).expect("a task");
        after.split("\n[[").next().unwrap_or_default().to_string()
    };
    for (name, key) in [
        ("programs", "memory = \"8800 pages\""),
        ("shared", "memory = \"5500 pages\""),
        ("shared", "region = \"shmem\""),
        ("files", "memory = \"5000 pages\""),
        ("locked", "programs = { memory = \"2000 pages\", kind = \"anon\" }"),
        ("locked", "shared = { memory = \"1000 pages\", kind = \"shmem\" }"),
    ] {
        assert!(task(name).contains(key), "{name}: {text}");
    }
    assert!(!text.contains("kind = \"file-shared\""), "{text}");
    // Two tasks share a rate of 600 a second by their pages.
    let think = |name: &str| work.tasks.iter().find(|t| t.name == name).expect("a task").think;
    let ratio = think("shared") / think("programs");
    assert!((1.4..1.9).contains(&ratio), "{ratio}: 8,800 to 5,500");
}

/// Memory that outlives programs, or cannot be reclaimed, is free in a machine without tasks: a remark.
#[test]
fn shared_and_locked_memory_without_work_are_remarks() {
    let text = with("Unevictable:           0", "Unevictable:        4096");
    let said = |options: Options| {
        let copies = Copies::of_text(&text, "box.txt").unwrap_or_else(|e| panic!("{e}"));
        let import = Import::of(&copies, &options, None).unwrap_or_else(|e| panic!("{e}"));
        let of_meminfo = import.notes.iter().filter(|n| n.file == "proc/meminfo");
        of_meminfo.map(|n| n.item.clone()).collect::<Vec<_>>()
    };
    let options = Options::default();
    assert_eq!(said(options), ["Shmem 244740 kB", "Unevictable 4096 kB"]);
    assert_eq!(said(options.with_workload(true)), [""; 0]);
    assert_eq!(said(options.with_programs(Programs::Held)), [""; 0]);
}

/// Lines of meminfo are those of the kernel, in its order: all that its machine of 6.12 had but the
/// parts of the kernel's own mapping, and two that it was built without.
#[test]
fn meminfo_has_the_lines_of_the_kernel() {
    let (copies, import) = import(BOX_6_12, Programs::Held);
    let emitted = emit(&copies, &import).unwrap_or_else(|e| panic!("{e}"));
    let text = &emitted.iter().find(|f| f.0 == "proc/meminfo").expect("a meminfo").1;
    let names = |text: &str, out: &[&str]| -> Vec<String> {
        let names = text.lines().filter_map(|l| Some(l.split_once(':')?.0.to_string()));
        names.filter(|n| !out.iter().any(|o| n.starts_with(o))).collect()
    };
    let (begin, end) = section(BOX_6_12, "proc/meminfo");
    let recorded = &BOX_6_12[begin..end];
    assert_eq!(names(text, &["Cma"]), names(recorded, &["DirectMap"]));
    let width = |text: &str| text.lines().find(|l| l.starts_with("MemTotal")).map(str::len);
    assert_eq!(width(text), width(recorded));
}
