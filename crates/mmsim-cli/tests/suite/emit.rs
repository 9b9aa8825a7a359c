//! Files of `--emit` are read by readers that know the kernel's files: a published one where it
//! reads the file, one written here from the kernel's description elsewhere. What they find has to
//! add up, and to be what the report says.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::Path;

use crate::harness::{self, Folder, repository};
use crate::observers::complaints;
use procfs_core::{FromBufRead, MemoryPressure, VmStat};
use serde_json::Value;

const ALL: &str = "vmstat,zoneinfo,buddyinfo,pagetypeinfo,memory.stat,pressure";

/// Swap and files on devices that work in their own time, two tasks with phases.
fn asynchronous() -> String {
    let random = "\n[[variant]]\nname = \"random\"\nreclaim = { preset = \"random\" }\n";
    harness::heap_and_file(32, 40, 16) + random
}

/// One zone of `/proc/zoneinfo`.
#[derive(Debug, Default)]
struct Zone {
    node: u64,
    name: String,
    /// `nr_free_pages 719`, `min 42`: lines of a name and a number.
    values: Named,
    node_stats: Named,
    protection: Vec<u64>,
    /// Count, high, batch of each CPU.
    pagesets: Vec<[u64; 3]>,
}

impl Zone {
    fn get(&self, name: &str) -> u64 {
        *self.values.get(name).unwrap_or_else(|| panic!("{}: no {name}", self.name))
    }
}

/// Reads `/proc/zoneinfo` word by word.
fn zoneinfo(text: &str) -> Vec<Zone> {
    let mut zones: Vec<Zone> = Vec::new();
    let mut in_node_stats = false;
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let ["Node", node, "zone", name] = words[..] {
            let node = node.trim_end_matches(',').parse().expect("the number of a node");
            zones.push(Zone { node, name: name.to_string(), ..Zone::default() });
            continue;
        }
        let zone = zones.last_mut().expect("a zone before its lines");
        let number = |text: &str| text.parse::<u64>().unwrap_or_else(|e| panic!("{line}: {e}"));
        match words[..] {
            ["per-node", "stats"] => in_node_stats = true,
            ["pages", "free", n] => {
                in_node_stats = false;
                zone.values.insert("pages free".into(), number(n));
            }
            ["protection:", ..] => {
                let (_, list) = line.split_once('(').expect("a list");
                let list = list.strip_suffix(')').expect("the end of a list");
                zone.protection = list.split(", ").map(number).collect();
            }
            ["pagesets"] => {}
            ["cpu:", n] => {
                assert_eq!(number(n), zone.pagesets.len() as u64);
                zone.pagesets.push([u64::MAX; 3]);
            }
            ["count:", n] => zone.pagesets.last_mut().expect("a CPU")[0] = number(n),
            ["high:", n] => zone.pagesets.last_mut().expect("a CPU")[1] = number(n),
            ["batch:", n] => zone.pagesets.last_mut().expect("a CPU")[2] = number(n),
            ["vm", "stats", "threshold:", n] => assert!((2..=125).contains(&number(n))),
            [name, n] => {
                let stats = if in_node_stats { &mut zone.node_stats } else { &mut zone.values };
                assert!(stats.insert(name.into(), number(n)).is_none(), "{name} twice");
            }
            _ => panic!("not a line of zoneinfo: {line}"),
        }
    }
    zones
}

fn vmstat(text: &str) -> Named {
    let VmStat(read) = VmStat::from_buf_read(Cursor::new(text)).expect("a vmstat");
    assert_eq!(read.len(), text.lines().count(), "a name twice");
    read.into_iter().map(|(name, n)| (name, u64::try_from(n).expect("no name falls"))).collect()
}

fn memory_stat(text: &str) -> Named {
    let pair = |line: &str| {
        let (name, n) = line.split_once(' ').expect("a name and a number");
        (name.to_string(), n.parse().expect("a number"))
    };
    text.lines().map(pair).collect()
}

/// Numbers by name.
type Named = BTreeMap<String, u64>;

/// A run of a report with the folder of its files.
struct Run {
    report: Value,
    folder: String,
}

/// The runs of a scenario with their files below `files`.
fn runs(f: &Folder, scenario: &str, files: &str) -> Vec<Run> {
    let args = ["run", scenario, "--seeds", "1", "--format", "json"];
    let plain = f.mmsim(&args);
    let said = f.mmsim(&[&args[..], &["--emit", ALL, "--emit-dir", files]].concat());
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
    assert!(plain.stdout == said.stdout, "watching changed the report");
    let report: Value = serde_json::from_str(&said.stdout).expect("a report");
    let run = |report: &Value| {
        let variant = report["variant"].as_str().expect("a variant");
        Run { report: report.clone(), folder: format!("{files}/{variant}-seed1") }
    };
    report["runs"].as_array().expect("runs").iter().map(run).collect()
}

/// Counters of a report. One that the policy does not keep is null there and 0 in the kernel's files.
fn counters(of: &Value) -> Named {
    let number = |n: &Value| if n.is_null() { 0 } else { n.as_u64().expect("a number") };
    let pairs = of.as_object().expect("counters").iter();
    pairs.map(|(name, n)| (name.clone(), number(n))).collect()
}

impl Run {
    /// Folder, counters since the start and gauges of each phase, and of the end.
    fn ends(&self) -> Vec<(String, Named, Named)> {
        let mut since_start: Named = BTreeMap::new();
        let mut ends = Vec::new();
        for phase in self.report["phases"].as_array().expect("phases") {
            for (name, n) in counters(&phase["vmstat"]) {
                *since_start.entry(name).or_default() += n;
            }
            let name = phase["name"].as_str().expect("a name").replace('/', "-");
            ends.push((name, since_start.clone(), counters(&phase["gauges"])));
        }
        let r = &self.report;
        ends.push(("end".to_string(), counters(&r["vmstat"]), counters(&r["gauges"])));
        ends
    }
}

/// True if only kernels from 6.12, 6.18 or 7.3 on count so.
fn later(name: &str) -> bool {
    let some = ["nrswp", "pgrotate_", "swpin_zero", "swpout_zero"];
    name.ends_with("_proactive") || some.iter().any(|n| name.starts_with(n))
}

/// Each text against the others and against the report.
fn check(f: &Folder, run: &Run) {
    for (phase, events, gauges) in run.ends() {
        let folder = format!("{}/{phase}", run.folder);
        let vm = vmstat(&f.read(&format!("{folder}/vmstat")));
        for (name, n) in &events {
            if name.starts_with("sim_") {
                assert!(!vm.contains_key(name), "{name} is not the kernel's");
            } else if *n == 0 && (later(name)) {
                // Kernels before 6.18 and 7.3 do not have them.
                assert!(vm.get(name).is_none_or(|&n| n == 0), "{folder}: {name}");
            } else {
                assert_eq!(vm.get(name), Some(n), "{folder}: {name}");
            }
        }
        for (name, n) in &gauges {
            let here = match name.as_str() {
                // The swap cache counts as file pages in the kernel.
                "nr_file_pages" => vm[name] - vm["nr_swapcached"],
                // So do pages on their way to swap among those under write.
                "nr_writeback" => vm[name].min(*n),
                "nr_swap_used" | "nr_zram_store" => continue,
                _ => *vm.get(name).unwrap_or_else(|| panic!("{folder}: no {name}")),
            };
            assert_eq!(here, *n, "{folder}: {name}");
        }
        let zones = zoneinfo(&f.read(&format!("{folder}/zoneinfo")));
        check_zones(&folder, &zones, &vm);
        check_blocks(f, &folder, &zones);
        check_groups(f, &folder, &vm);
        let text = f.read(&format!("{folder}/pressure/memory"));
        let pressure = MemoryPressure::from_buf_read(Cursor::new(&text)).expect("a pressure");
        assert!(pressure.full.total <= pressure.some.total, "{text}");
        if phase == "end" {
            let reported = counters_of_pressure(&run.report["pressure"]);
            assert_eq!([pressure.some.total, pressure.full.total], reported);
        }
    }
}

fn counters_of_pressure(p: &Value) -> [u64; 2] {
    ["some_us", "full_us"].map(|key| p[key].as_u64().expect("microseconds"))
}

fn check_zones(folder: &str, zones: &[Zone], vm: &Named) {
    let names: Vec<&str> = zones.iter().map(|z| z.name.as_str()).collect();
    for node in names.chunks(5) {
        assert_eq!(node, ["DMA", "DMA32", "Normal", "Movable", "Device"], "{folder}");
    }
    let sum = |name: &str| -> u64 { zones.iter().map(|z| z.values.get(name).unwrap_or(&0)).sum() };
    assert_eq!(sum("pages free"), vm["nr_free_pages"], "{folder}");
    for name in zones.iter().flat_map(|z| z.values.keys()).filter(|n| n.starts_with("nr_")) {
        assert_eq!(sum(name), vm[name], "{folder}: {name} of all zones");
    }
    let node_stats = zones.iter().flat_map(|z| z.node_stats.keys());
    for name in node_stats {
        let nodes = zones.iter().filter_map(|z| z.node_stats.get(name));
        assert_eq!(nodes.sum::<u64>(), vm[name], "{folder}: {name} of all nodes");
    }
    for z in zones {
        let [min, low, high, promo] = ["min", "low", "high", "promo"].map(|mark| z.get(mark));
        assert!(min <= low && low <= high && high <= promo, "{z:?}");
        assert_eq!(high - low, promo - high, "{z:?}");
        assert_eq!(z.protection.len(), 5);
        assert_eq!(z.pagesets.is_empty(), z.get("managed") == 0, "{z:?}");
        let listed: u64 = z.pagesets.iter().map(|p| p[0]).sum();
        assert!(z.get("pages free") + listed <= z.get("managed"), "{z:?}");
    }
    for node in 0..=zones.last().expect("a zone").node {
        for list in ["inactive_anon", "active_anon", "inactive_file", "active_file"] {
            let of_node = zones.iter().filter(|z| z.node == node);
            let in_zones = of_node.clone().filter_map(|z| z.values.get(&format!("nr_zone_{list}")));
            let in_node = of_node.filter_map(|z| z.node_stats.get(&format!("nr_{list}")));
            assert_eq!(in_zones.sum::<u64>(), in_node.sum::<u64>(), "{folder}: {list}");
        }
    }
}

/// The columns of numbers at the end of a line.
fn numbers(line: &str) -> Vec<u64> {
    let mut all: Vec<u64> =
        line.split_whitespace().rev().map_while(|word| word.parse().ok()).collect();
    all.reverse();
    all
}

/// Free blocks are the free pages, whichever way they are counted, and every page is in a
/// pageblock.
fn check_blocks(f: &Folder, folder: &str, zones: &[Zone]) {
    let text = f.read(&format!("{folder}/buddyinfo"));
    let populated: Vec<&Zone> = zones.iter().filter(|z| z.get("managed") > 0).collect();
    assert_eq!(text.lines().count(), populated.len());
    let types = f.read(&format!("{folder}/pagetypeinfo"));
    for (line, z) in text.lines().zip(populated) {
        let begin = format!("Node {}, zone {:>8} ", z.node, z.name);
        assert!(line.starts_with(&begin), "{line}");
        let blocks = numbers(line);
        assert_eq!(blocks.len(), 11, "{line}");
        let pages: u64 = blocks.iter().enumerate().map(|(order, n)| n << order).sum();
        assert_eq!(pages, z.get("pages free"), "{folder}: {line}");

        let begin_of_type = format!("Node {:>4}, zone {:>8}, type ", z.node, z.name);
        let of_types: Vec<Vec<u64>> =
            types.lines().filter(|l| l.starts_with(&begin_of_type)).map(numbers).collect();
        assert_eq!(of_types.len(), 6, "{types}");
        let sums: Vec<u64> =
            (0..11).map(|order| of_types.iter().map(|of_type| of_type[order]).sum()).collect();
        assert_eq!(sums, blocks, "{folder}: {begin}");
        let pageblocks = types.lines().find(|l| l.starts_with(&begin)).expect("pageblocks");
        let pageblocks: u64 = numbers(pageblocks).iter().sum();
        assert_eq!(pageblocks, z.get("managed").div_ceil(512), "{folder}: {begin}");
    }
}

/// The root's `memory.stat` is the machine in bytes.
fn check_groups(f: &Folder, folder: &str, vm: &Named) {
    let root = memory_stat(&f.read(&format!("{folder}/cgroup/memory.stat")));
    for (of_group, of_machine) in [
        ("anon", "nr_anon_pages"),
        ("file", "nr_file_pages"),
        ("file_mapped", "nr_mapped"),
        ("pagetables", "nr_page_table_pages"),
        ("inactive_anon", "nr_inactive_anon"),
        ("active_file", "nr_active_file"),
        ("swapcached", "nr_swapcached"),
        ("slab", "nr_slab_reclaimable"),
    ] {
        assert_eq!(root[of_group], vm[of_machine] * 4096, "{folder}: {of_group}");
    }
    for event in ["pgfault", "pgmajfault", "workingset_refault_anon", "pgactivate"] {
        assert_eq!(root[event], vm[event], "{folder}: {event}");
    }
    assert_eq!(root["pgscan"], root["pgscan_kswapd"] + root["pgscan_direct"]);
}

#[test]
fn files_add_up_and_say_what_the_report_says() {
    let f = Folder::with("x.toml", asynchronous());
    for run in runs(&f, "x.toml", "files") {
        check(&f, &run);
        let end = vmstat(&f.read(&format!("{}/end/vmstat", run.folder)));
        assert!(end["pswpin"] > 1000 && end["nr_file_pages"] > 0, "the run shows something");
    }
    let nodes = repository("scenarios/two-nodes.toml");
    for run in runs(&f, nodes.to_str().expect("a plain path"), "nodes") {
        check(&f, &run);
    }
}

#[test]
fn groups_are_parts_of_the_root() {
    let f = Folder::new();
    let scenario = repository("scenarios/two-groups.toml");
    for run in runs(&f, scenario.to_str().expect("a plain path"), "files") {
        check(&f, &run);
        for (phase, ..) in run.ends() {
            let read = |group: &str| {
                memory_stat(&f.read(&format!("{}/{phase}/cgroup{group}/memory.stat", run.folder)))
            };
            let (root, parts) = (read(""), [read("/service"), read("/batch")]);
            // Nothing of this machine is outside of the two but the kernel's own.
            for (name, &whole) in &root {
                let kernels_own = ["kernel", "workingset_nodereclaim"].contains(&name.as_str());
                if !name.contains("slab") && !kernels_own {
                    let sum: u64 = parts.iter().map(|p| p[name]).sum();
                    assert_eq!(sum, whole, "{}/{phase}: {name}", run.folder);
                }
            }
            let vm = vmstat(&f.read(&format!("{}/{phase}/vmstat", run.folder)));
            assert!(root["pgscan_direct"] >= vm["pgscan_direct"]);
        }
        let end =
            |g: &str| memory_stat(&f.read(&format!("{}/end/cgroup/{g}/memory.stat", run.folder)));
        for (group, key) in [("service", "pgfault"), ("batch", "pgscan_direct")] {
            let reported = &run.report["memory_stat"][group][key];
            assert_eq!(Some(end(group)[key]), reported.as_u64(), "{group}: {key}");
        }
    }
}

/// All files below a folder with their contents.
fn tree(dir: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![dir.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(dir).expect("below it").to_str().expect("a plain name");
            found.insert(name.to_string(), std::fs::read_to_string(&path).expect("a text"));
        }
    }
    found
}

#[test]
fn names_are_predictable_and_jobs_do_not_matter() {
    let f = Folder::with("x.toml", asynchronous());
    for (jobs, files) in [("1", "one"), ("3", "three")] {
        let args = ["run", "x.toml", "--jobs", jobs, "--emit", "pressure,vmstat"];
        assert_eq!(f.mmsim(&[&args[..], &["--emit-dir", files]].concat()).code, Some(0));
    }
    let one = tree(&f.path("one"));
    assert_eq!(one, tree(&f.path("three")));
    let of_random: Vec<&str> =
        one.keys().filter(|n| n.starts_with("random-seed1/")).map(String::as_str).collect();
    assert_eq!(
        of_random,
        [
            "random-seed1/end/pressure/memory",
            "random-seed1/end/vmstat",
            "random-seed1/file-access/pressure/memory",
            "random-seed1/file-access/vmstat",
            "random-seed1/file-populate/pressure/memory",
            "random-seed1/file-populate/vmstat",
            "random-seed1/heap-access/pressure/memory",
            "random-seed1/heap-access/vmstat",
            "random-seed1/heap-populate/pressure/memory",
            "random-seed1/heap-populate/vmstat",
        ]
    );
}

/// `list zoneinfo` is what a machine of that size starts with.
#[test]
fn a_listed_machine_reads_as_one() {
    let f = Folder::new();
    let args = ["list", "zoneinfo", "--memory", "16GiB", "--cpus", "4", "--thp"];
    let said = f.mmsim(&[&args[..], &["--format", "text"]].concat());
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
    let zones = zoneinfo(&said.stdout);
    let json = f.mmsim(&[&args[..], &["--format", "json"]].concat());
    let json: Value = serde_json::from_str(&json.stdout).expect("a document");
    assert_eq!(json["min_free_kbytes"], 67_584);
    let listed = json["zones"].as_array().expect("zones");
    let populated: Vec<&Zone> = zones.iter().filter(|z| z.get("managed") > 0).collect();
    assert_eq!((listed.len(), populated.len()), (3, 3));
    for (listed, z) in listed.iter().zip(populated) {
        assert_eq!(listed["zone"], z.name);
        for size in ["managed", "min", "low", "high", "promo"] {
            assert_eq!(listed[size], z.get(size), "{}: {size}", z.name);
        }
        assert_eq!(listed["pcp_high"], z.pagesets[3][1]);
        assert_eq!(listed["pcp_batch"], z.pagesets[3][2]);
        assert_eq!(listed["protection"][2], z.protection[2]);
    }
}

/// Each run and monitor has its files, and any number of jobs gives the same bytes.
#[test]
fn records_of_monitors() {
    let f = Folder::new();
    let monitors = "\n[[damon]]\nname = \"all\"\nrecord = true\nsample = \"200us\"\naggr = \"2ms\"\n\
                    [[damon]]\nname = \"heap\"\nops = \"vaddr\"\ntask = \"heap\"\nrecord = true\n\
                    sample = \"200us\"\naggr = \"2ms\"\nops-update = \"1ms\"\n[[damon]]\nname = \"no\"\n";
    f.write("x.toml", harness::heap_and_file(32, 40, 16).replace("5.9", "6.1") + monitors);
    let run = |dir: &str, jobs: &str| {
        let said =
            f.mmsim(&["run", "x.toml", "--seeds", "2", "--jobs", jobs, "--damon-record", dir]);
        assert_eq!((said.code, complaints(&said)), (Some(0), vec![]));
    };
    run("one", "1");
    run("two", "2");
    for run in ["v6.1-seed1", "v6.1-seed2", "v6.12-seed1", "v6.12-seed2"] {
        for name in ["all.data", "all.perf.txt", "heap.data", "heap.perf.txt"] {
            let file = |dir: &str| {
                let path = f.path(&format!("{dir}/{run}/{name}"));
                std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
            };
            assert!(file("one") == file("two"), "{name}");
            let path = format!("one/{run}/{name}");
            for what in
                [["report", &path, "--format", "csv"], ["heatmap", &path, "--format", "json"]]
            {
                let said = f.mmsim(&[&["damon"][..], &what[..]].concat());
                assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""), "{what:?}");
            }
        }
        assert!(!f.path(&format!("one/{run}/no.data")).exists());
    }
}
