//! Files of `--events` and `--series`, and that watching changes nothing.

use std::collections::{BTreeMap, BTreeSet};

use crate::harness::{self, Folder, Said, repository};
use serde_json::Value;

fn shipped(name: &str) -> String {
    repository("scenarios").join(name).to_str().expect("a plain path").to_string()
}

/// Lines of stderr, without remarks on tasks that end early, which scenarios of tests have on purpose.
pub(crate) fn complaints(said: &Said) -> Vec<&str> {
    said.stderr.lines().filter(|line| !line.starts_with("mmsim: task ")).collect()
}

fn done(said: Said) -> Said {
    assert_eq!((said.code, complaints(&said)), (Some(0), vec![]));
    said
}

fn events(f: &Folder, name: &str) -> Vec<Value> {
    let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}"));
    f.read(name).lines().map(parse).collect()
}

fn number(event: &Value, field: &str) -> u64 {
    event[field].as_u64().unwrap_or_else(|| panic!("{field} of {event}"))
}

/// More than memory holds, with swap on a device that writes in its own time and reads
/// ahead, and a file beside it.
fn asynchronous() -> String {
    harness::heap_and_file(20, 24, 8)
}

/// Evictions are numbered from 1 without a gap, and each refault names an earlier one, of
/// the page that is wanted again.
fn evictions_and_refaults(events: &[Value], all_pages: bool) -> usize {
    let mut evicted: BTreeMap<(u64, u64), Option<u64>> = BTreeMap::new();
    let mut answered = BTreeSet::new();
    let mut last: BTreeMap<u64, u64> = BTreeMap::new();
    for e in events {
        let run = e["run"].as_u64().unwrap_or(0);
        match e["event"].as_str() {
            Some("sim_evict") => {
                let (nr, last) = (number(e, "eviction"), last.entry(run).or_default());
                assert_eq!(nr, *last + 1, "{e}");
                *last = nr;
                assert!(!all_pages || e["page"].is_u64(), "{e}");
                evicted.insert((run, nr), e["page"].as_u64());
            }
            Some("sim_refault") => {
                let nr = number(e, "eviction");
                let page = evicted.get(&(run, nr)).unwrap_or_else(|| panic!("no eviction: {e}"));
                assert_eq!(*page, Some(number(e, "page")), "{e}");
                assert!(answered.insert((run, nr)), "a second refault: {e}");
            }
            other => panic!("the filter let {other:?} pass"),
        }
    }
    answered.len()
}

#[test]
fn refaults_name_their_evictions() {
    let f = Folder::with("x.toml", asynchronous());
    let phased = shipped("phased-50-pages.toml");
    for (scenario, at_least) in [(phased.as_str(), 5), ("x.toml", 1000)] {
        let filter = "kind=sim_evict,kind=sim_refault";
        done(f.mmsim(&["run", scenario, "--events", "e.jsonl", "--events-filter", filter]));
        let refaults = evictions_and_refaults(&events(&f, "e.jsonl"), true);
        assert!(refaults >= at_least, "{scenario}: only {refaults} refaults");
    }
}

/// From a refault back to its cause. A page that would be hot was evicted while another page's
/// fault made room; when it is wanted again, its own fault says how far back that was.
#[test]
fn a_refault_leads_back_to_the_fault_that_evicted_the_page() {
    let f = Folder::new();
    let scenario = shipped("phased-will-be-hot.toml");
    let args = ["run", &scenario, "--variant", "seed-9fix", "--events", "e.jsonl"];
    done(f.mmsim(&args));
    let all = events(&f, "e.jsonl");
    let is = |i: usize, kind: &str| all[i]["event"] == kind;
    let next = |from: usize, kind: &str| (from..all.len()).find(|&i| is(i, kind));
    let last = |to: usize, kind: &str| (0..to).rfind(|&i| is(i, kind));
    let evictions: BTreeMap<u64, usize> = (0..all.len())
        .filter(|&i| is(i, "sim_evict"))
        .map(|i| (number(&all[i], "eviction"), i))
        .collect();
    // Pages of the regions, which are mapped at multiples of 512.
    let [will_be_hot, once] = [1024..1074, 1536..1986];

    let (mut by_fault, mut by_kswapd, mut stayed) = (0, 0, Vec::new());
    for i in (0..all.len()).filter(|&i| is(i, "sim_refault")) {
        let page = number(&all[i], "page");
        // The fault that wants the page.
        let fault = &all[next(i, "page_fault_user").expect("the fault ends")];
        assert_eq!((number(fault, "page"), &fault["major"]), (page, &Value::from(true)));

        // The eviction that it answers.
        let evicted = evictions[&number(&all[i], "eviction")];
        assert_eq!(number(&all[evicted], "page"), page);

        // Its distance: evictions since, and refaults activated since. No scan activates here.
        let since = |kind: &str, field: &str, value: Value| {
            (evicted + 1..i).filter(|&e| is(e, kind) && all[e][field] == value).count() as u64
        };
        let moved = since("sim_evict", "file", false.into())
            + since("sim_refault", "activated", true.into());
        assert_eq!(number(&all[i], "distance"), moved, "{}", all[i]);
        let near = moved <= number(&all[i], "workingset_size");
        assert_eq!(all[i]["activated"], near, "{}", all[i]);

        // Who made it: another page's fault, which reclaims, gets a frame, and goes on; or kswapd.
        let begin = last(evicted, "mm_vmscan_direct_reclaim_begin");
        if begin < last(evicted, "mm_vmscan_direct_reclaim_end") {
            assert!(last(evicted, "mm_vmscan_kswapd_wake").is_some(), "{}", all[evicted]);
            by_kswapd += 1;
            continue;
        }
        let end = next(evicted, "mm_vmscan_direct_reclaim_end").expect("it ends");
        let alloc = next(end, "mm_page_alloc").expect("it had a reason");
        let cause = &all[next(alloc, "page_fault_user").expect("the fault ends")];
        assert_eq!(number(cause, "thread"), number(&all[end], "thread"));
        assert_ne!(number(cause, "page"), page);
        by_fault += 1;
        if near {
            let frame = number(&all[alloc], "pfn") == number(&all[evicted], "pfn");
            stayed.push((page, number(cause, "page"), frame));
        }
    }
    assert!(by_fault > 200 && by_kswapd > 20, "{by_fault} {by_kswapd}");
    // The first page that is let stay had been pushed out by one used once, which got its frame.
    let (page, cause, frame) = stayed[0];
    assert!(will_be_hot.contains(&page) && once.contains(&cause) && frame, "{:?}", stayed[0]);
}

#[test]
fn events_agree_with_counters() {
    let f = Folder::with("x.toml", asynchronous());
    let args = ["run", "x.toml", "--variant", "v6.12", "--events", "e.jsonl", "--format", "json"];
    let said = done(f.mmsim(&args));
    let report: Value = serde_json::from_str(&said.stdout).expect("a report");
    let vmstat = &report["runs"][0]["vmstat"];
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    let mut time = 0;
    for e in events(&f, "e.jsonl") {
        *counts.entry(e["event"].as_str().expect("a name").to_string()).or_default() += 1;
        time = time.max(number(&e, "t_ns"));
        if e["event"] == "page_fault_user" && e["major"] == true {
            *counts.entry("major".into()).or_default() += 1;
        }
    }
    assert!(time <= report["runs"][0]["sim_time_ns"].as_u64().expect("a time"));
    let counted = |names: &[&str]| -> u64 { names.iter().map(|n| number(vmstat, n)).sum() };
    for (event, counters) in [
        ("page_fault_user", &["pgfault"][..]),
        ("major", &["pgmajfault"]),
        ("mm_page_free", &["pgfree"]),
        ("sim_evict", &["pgsteal_anon", "pgsteal_file"]),
        ("sim_refault", &["workingset_refault_anon", "workingset_refault_file"]),
        ("mm_vmscan_write_folio", &["nr_vmscan_write"]),
    ] {
        let seen = counts.get(event).copied().unwrap_or(0);
        assert_eq!(seen, counted(counters), "{event} and {counters:?}");
    }
}

#[test]
fn filters_choose() {
    let f = Folder::with("x.toml", asynchronous());
    let some = |filter: &str| {
        let filter = ["--events-filter", filter];
        let args = ["run", "x.toml", "--variant", "v6.12", "--events", "e.jsonl"];
        let said = f.mmsim(&[&args[..], &filter].concat());
        assert_eq!(said.code, Some(0));
        events(&f, "e.jsonl")
    };
    let faults = some("kind=page_fault_user");
    let of_heap = some("kind=page_fault_user,task=heap");
    let of_file = some("kind=page_fault_user,task=file");
    assert!(of_heap.iter().all(|e| number(e, "thread") == 0));
    assert_eq!(faults.len(), of_heap.len() + of_file.len());
    let page = number(&of_heap[0], "page");
    let of_page = some(&format!("pages={page}"));
    assert!(of_page.len() >= 2 && of_page.iter().all(|e| number(e, "page") == page));
    // A task that there is not, and a thread that a task could have and has not.
    for name in ["stack", "heap/7"] {
        let filter = format!("task={name}");
        let said = f.mmsim(&["run", "x.toml", "--events", "n.jsonl", "--events-filter", &filter]);
        assert_eq!(said.code, Some(2));
        let (no, tasks) = ("--events-filter: no run has a task or thread", "the tasks are");
        assert!(
            said.stderr.contains(&format!("{no} `{name}`; {tasks} file, heap")),
            "{}",
            said.stderr
        );
        assert!(!f.path("n.jsonl").exists(), "half-written");
    }
}

#[test]
fn a_series_is_a_table() {
    let f = Folder::with("x.toml", asynchronous());
    for (variants, runs) in [(&["--variant", "v5.9"][..], 1), (&[], 2)] {
        let args = ["run", "x.toml", "--series", "s.csv", "--every", "5ms", "--format", "json"];
        let said = done(f.mmsim(&[&args[..], variants].concat()));
        let report: Value = serde_json::from_str(&said.stdout).expect("a report");
        let text = f.read("s.csv");
        let mut lines = text.lines().map(|l| l.split(',').collect::<Vec<_>>());
        let header = lines.next().expect("a header");
        assert_eq!(header[0], "time_ns");
        assert_eq!(header.last() == Some(&"run"), runs > 1);
        let names: BTreeSet<&str> = header.iter().copied().collect();
        assert_eq!(names.len(), header.len(), "a column twice");
        let rows: Vec<Vec<u64>> =
            lines.map(|l| l.iter().map(|v| v.parse().expect("a whole number")).collect()).collect();
        assert!(rows.iter().all(|r| r.len() == header.len()));
        let vmstat = report["runs"][0]["vmstat"].as_object().expect("counters");
        let column = |name: &str| header.iter().position(|h| *h == name).expect("a column");
        for run in 0..runs {
            let rows: Vec<&Vec<u64>> =
                rows.iter().filter(|r| runs == 1 || r.last() == Some(&run)).collect();
            assert!(rows.len() > 5, "only {} rows", rows.len());
            for pair in rows.windows(2) {
                assert!(pair[0][0] < pair[1][0], "{} then {}", pair[0][0], pair[1][0]);
                for name in vmstat.keys() {
                    let c = column(name);
                    assert!(pair[0][c] <= pair[1][c], "{name} falls at {}", pair[1][0]);
                }
            }
            // The last row is the end of the run.
            let last = rows.last().expect("a row");
            let report = &report["runs"][run as usize];
            assert_eq!(last[0], number(report, "sim_time_ns"));
            for name in vmstat.keys() {
                assert_eq!(last[column(name)], number(&report["vmstat"], name), "{name}");
            }
        }
    }
}

/// Reports are equal byte by byte whoever watches, and for any number of jobs; so are the
/// files of the observers.
#[test]
fn watching_changes_nothing() {
    let f = Folder::with("x.toml", asynchronous());
    let run = |more: &[&str]| {
        let args = ["run", "x.toml", "--seeds", "2", "--format", "json"];
        done(f.mmsim(&[&args[..], more].concat())).stdout
    };
    let plain = run(&["--jobs", "1"]);
    for jobs in ["1", "4"] {
        for more in [
            &[][..],
            &["--check"],
            &["--events", "e.jsonl"],
            &["--series", "s.csv", "--every", "1ms"],
            &["--check", "--events", "e.jsonl", "--series", "s.csv"],
        ] {
            let args = [&["--jobs", jobs][..], more].concat();
            assert!(run(&args) == plain, "the report changes with {args:?}");
        }
        let name = format!("{jobs}-jobs");
        run(&["--jobs", jobs, "--events", &name, "--series", &format!("{name}.csv")]);
    }
    assert!(f.read("1-jobs") == f.read("4-jobs"), "the events change with the jobs");
    assert!(f.read("1-jobs.csv") == f.read("4-jobs.csv"), "the series changes with the jobs");
}
