//! `mmsim curve`.

use crate::golden::Golden;
use crate::harness::Folder;

/// A trace of raw page numbers: a loop over 2,000 pages with a hot part.
fn requests(f: &Folder) {
    let page = |i: u32| if i.is_multiple_of(3) { i % 250 } else { i % 2000 };
    let bytes: Vec<u8> = (0..40_000_u32).flat_map(|i| page(i * 7).to_le_bytes()).collect();
    f.write("t.u32", bytes);
}

const SCENARIO: &str = r#"
schema = 1
name = "heap"
seed = 1
machine = { memory = "16MiB", cpus = 1, swap = { size = "64MiB", device = "ramdisk" } }
task = [{ name = "heap", workload = "zipf", memory = "24MiB", accesses = 40000 }]
variant = [
    { name = "a", reclaim = { preset = "classic-v6.12" } },
    { name = "b", reclaim = { preset = "mglru-v6.12" } },
]
"#;

/// The values of a column of the table.
fn column(table: &str, nth: usize) -> Vec<f64> {
    let rows = table.lines().skip_while(|l| !l.starts_with("m")).skip(1);
    let rows = rows.take_while(|l| !l.is_empty());
    let cell =
        |l: &str| l.split("  ").filter(|c| !c.trim().is_empty()).nth(nth)?.trim().parse().ok();
    rows.filter_map(cell).collect()
}

/// Sizes are placed by the results alone, so neither the number of jobs nor a stop in between moves a
/// byte.
#[test]
fn jobs_and_stores_change_nothing() {
    let f = Folder::new();
    requests(&f);
    f.write("x.toml", SCENARIO);
    for of in ["t.u32", "x.toml"] {
        let all = ["curve", of, "--points", "8", "--format", "json"];
        let with = |more: &[&str]| {
            let said = f.mmsim(&[&all[..], more].concat());
            assert_eq!(said.code, Some(0), "{of}: {}", said.stderr);
            said.stdout
        };
        let at_once = with(&["--jobs", "1"]);
        assert_eq!(at_once, with(&["--jobs", "3"]), "{of}");
        let store = format!("{of}.store");
        let few = ["curve", of, "--points", "5", "--store", &store, "--format", "csv"];
        assert_eq!(f.mmsim(&few).code, Some(0));
        assert_eq!(at_once, with(&["--store", &store]), "{of}: begun with fewer sizes");
    }
}

/// A curve from samples is the same for any number of jobs, near to the one of whole runs, and says
/// what it saved. Two of its sizes are too small for samples.
#[test]
fn samples_draw_the_same_curve() {
    let f = Folder::new();
    let large = SCENARIO
        .replace("memory = \"16MiB\"", "zone = [{ kind = \"Normal\", managed = \"256MiB\" }]");
    let large = large.replace("24MiB", "300MiB").replace("40000", "300000");
    f.write("x.toml", large.replace("64MiB", "1GiB"));
    let all = ["curve", "x.toml", "--memory", "32MiB,128MiB,256MiB", "--by", "swap-ins"];
    let with = |more: &[&str]| {
        let said = f.mmsim(&[&all[..], more].concat());
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        (said.stdout, said.stderr)
    };
    let of_samples = with(&["--miniature", "auto", "--jobs", "1", "--svg", "x.svg"]);
    let store = ["--miniature", "auto", "--jobs", "3", "--store", "x.store"];
    assert_eq!(with(&store), of_samples);
    assert_eq!(with(&store), of_samples, "all from the store");
    assert!(
        of_samples.1.contains("estimated from 1/16 to 1/8 of the pages, 2 runs with all pages")
    );
    assert!(f.read("x.svg").contains("swap-ins"), "a drawing");
    let whole = with(&["--no-optimum"]).0;
    let value = |table: &str, line: &str, nth: usize| -> f64 {
        let line = table.lines().find(|l| l.starts_with(line)).expect("a line");
        let cell = line.split("  ").filter(|c| !c.trim().is_empty()).nth(nth).expect("a cell");
        let number = cell.trim().split(' ').next().expect("a number");
        number.replace(',', "").parse().expect("a number")
    };
    for (size, within) in [("32MiB", 0.0), ("128MiB", 0.05), ("256MiB", 0.1)] {
        for policy in [1, 2] {
            let (own, all) = (value(&of_samples.0, size, policy), value(&whole, size, policy));
            assert!((own - all).abs() <= all * within, "{size}: {own} for {all}");
        }
    }
    for (more, says) in [
        (&["--by", "memory-pressure"][..], "samples say nothing of `memory-pressure`"),
        (&["--html", "x.html"], "--html with --miniature"),
        (&["--set", "bounds=true"], "bounds need every access"),
    ] {
        let said = f.mmsim(&[&["curve", "x.toml", "--miniature", "auto"], more].concat());
        assert_eq!(said.code, Some(2), "{}", said.stderr);
        assert!(said.stderr.contains(says), "{}", said.stderr);
    }
}

/// No policy fetches less than the optimum, and with all pages in memory none fetches again.
#[test]
fn the_optimum_bounds_all_policies() {
    let f = Folder::new();
    requests(&f);
    let said = f.mmsim(&["curve", "t.u32", "--points", "6", "--set", "machine.vm.page-cluster=0"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let (classic, mglru, optimum) =
        (column(&said.stdout, 1), column(&said.stdout, 2), column(&said.stdout, 3));
    assert_eq!((classic.len(), mglru.len(), optimum.len()), (6, 6, 6), "{}", said.stdout);
    for (at, least) in optimum.iter().enumerate() {
        assert!(*least <= classic[at] && *least <= mglru[at], "{}", said.stdout);
    }
    assert!(classic[0] > 1.0 && classic[5] == 0.0 && optimum[5] == 0.0, "{}", said.stdout);
}

/// Objects that are only read take memory: the curve of a file of keys falls.
#[test]
fn files_of_keys_are_imported_and_filled() {
    let f = Folder::new();
    let line = |i: u64| format!("{i},key:{},get\n", i * i % 2999);
    let lines: String = (0..20_000).map(line).collect();
    f.write("keys.csv", format!("ts,object,command\n{lines}"));
    let columns = ["--columns", "key=object,op=command", "--points", "4"];
    let said = f.mmsim(&[&["curve", "keys.csv"], &columns[..]].concat());
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let classic = column(&said.stdout, 1);
    assert!(classic[0] > 1.0 && classic[3] == 0.0, "{}", said.stdout);
    let names = f.names();
    assert!(names.iter().all(|n| !n.ends_with(".mmt")), "the trace is temporary: {names:?}");
}

#[test]
fn pictures_and_pages_have_the_curve() {
    let f = Folder::new();
    f.write("x.toml", SCENARIO);
    let files = ["--svg", "c.svg", "--html", "c.html", "--points", "3", "--by", "swap-ins"];
    let said = f.mmsim(&[&["curve", "x.toml"], &files[..]].concat());
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let svg = f.read("c.svg");
    assert!(svg.contains("machine.memory, MiB") && svg.contains(">swap-ins<"), "{svg}");
    assert!(f.read("c.html").starts_with("<!DOCTYPE html>"));
}

#[test]
fn curves_that_cannot_be() {
    let f = Folder::new();
    requests(&f);
    f.write("x.toml", SCENARIO);
    f.write("axes.toml", format!("{SCENARIO}\n[axes]\n\"machine.vm.swappiness\" = [10, 60]\n"));
    let golden = Golden::of("curves");
    let said = |name: &str, args: &str| {
        let args: Vec<&str> = ["curve"].into_iter().chain(args.split(' ')).collect();
        golden.is(name, &f.mmsim(&args));
    };
    said("no-such-file", "nothing.mmt");
    said("axes-of-its-own", "axes.toml");
    said("axis-of-a-trace", "t.u32 --axis machine.memory");
    said("seeds-of-a-trace", "t.u32 --seeds 3");
    said("format-of-a-scenario", "x.toml --from csv");
    said("no-such-axis", "x.toml --axis machine.memcg[0].max");
    said("sizes-in-the-wrong-order", "t.u32 --memory 150%..10%");
    said("no-sizes", "t.u32 --memory much");
    said("too-small", "t.u32 --memory 1%..100%");
    said("one-point", "t.u32 --points 1");
    said("points-of-given-sizes", "t.u32 --memory 100,200 --points 5");
    said("no-such-policy", "t.u32 --reclaim lru");
    said("name-of-another-picture", "t.u32 --svg c.html");
    said("optimum-that-is-left-out", "t.u32 --by optimum --no-optimum");
    f.write("t.csv", "page\n99999999999\n5\n99999999999\n7\n");
    said("writes-of-lines", "t.csv --memory 100 --dense --write 10");
    said("names-in-lines", "t.csv --memory 100");
    let read = f.mmsim(&["curve", "t.csv", "--memory", "100", "--dense"]);
    assert!(read.stdout.starts_with("t.csv: 4 requests to 3 distinct pages\n"), "{}", read.stderr);
}

/// Times need no unit, as a curve leaves them out; each assumption is printed once; and the report
/// says that the work is a replay, by which its conclusion knows that more seeds would not help.
#[test]
fn a_csv_with_times_is_a_curve() {
    let f = Folder::new();
    let line =
        |i: u32| format!("{i},user:{},{}\n", i * 7 % 900, ["set", "get", "get"][i as usize % 3]);
    f.write("x.csv", "when,who,what\n".to_string() + &(0..5000).map(line).collect::<String>());
    let all = ["curve", "x.csv", "--columns", "time=when,key=who,op=what", "--memory", "200,400"];
    let said = f.mmsim(&[&all[..], &["--format", "json"]].concat());
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let fills = "assumed: the first access to a page writes it";
    assert_eq!(said.stderr.matches(fills).count(), 1, "{}", said.stderr);
    assert!(said.stdout.contains("\"task[0].workload\": \"replay\""), "{}", said.stdout);
    assert!(!said.stdout.contains("task[0].passes"), "a key of the stand-in");
}

/// `auto` takes no sample of a machine that is too small for one; it runs whole.
#[test]
fn small_machines_run_whole() {
    let f = Folder::new();
    f.write("x.toml", SCENARIO);
    let all = ["curve", "x.toml", "--memory", "8MiB,16MiB", "--miniature", "auto"];
    let said = f.mmsim(&all);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stderr.contains("all 4 runs have all pages"), "{}", said.stderr);
}
