//! Events as bytes: `--events x.mmev` and `mmsim events` give the lines of `--events x.jsonl`.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::Stdio;

use crate::harness::{self, Folder, Said, repository};
use crate::observers::complaints;

fn shipped(name: &str) -> String {
    repository("scenarios").join(name).to_str().expect("a plain path").to_string()
}

fn done(said: Said) -> Said {
    assert_eq!((said.code, complaints(&said)), (Some(0), vec![]));
    said
}

/// Runs a scenario twice, with lines and with bytes.
fn both(f: &Folder, scenario: &str, more: &[&str]) {
    for name in ["e.jsonl", "e.mmev"] {
        let args = ["run", scenario, "--events", name, "-o", "report"];
        assert_eq!(f.mmsim(&[&args[..], more].concat()).code, Some(0), "{scenario}");
    }
}

#[test]
fn lines_are_the_same_by_way_of_bytes() {
    let f = Folder::new();
    f.write("x.toml", harness::heap_and_file(20, 24, 8));
    let mglru = "kernel = \"6.12\"\nreclaim = { preset = \"mglru-v6.12\" }";
    f.write("mglru.toml", harness::heap_and_file(20, 24, 8).replace("kernel = \"6.12\"", mglru));
    let mut kinds = BTreeSet::new();
    for (scenario, more) in [
        // Two variants, two seeds, one run after the other and side by side.
        ("x.toml", &["--seeds", "2", "--jobs", "1"][..]),
        ("x.toml", &["--seeds", "2", "--jobs", "4"]),
        ("mglru.toml", &[]),
        (&shipped("phased-50-pages.toml"), &[]),
        (&shipped("tiny-oom.toml"), &["--seeds", "1"]),
        (&shipped("fragmentation.toml"), &["--seeds", "1"]),
    ] {
        both(&f, scenario, more);
        let lines = f.read("e.jsonl");
        assert!(done(f.mmsim(&["events", "e.mmev"])).stdout == lines, "{scenario} {more:?}");
        let name = |line: &str| line.split('"').nth(5).map(str::to_string);
        kinds.extend(lines.lines().filter_map(name));
        let (bytes, text) = (f.read_bytes("e.mmev").len(), lines.len());
        assert!(bytes < text / 10, "{bytes} bytes for {text} of {scenario}");
    }
    // Others are drawn, in the tests of mmsim-workload.
    assert!(kinds.len() >= 25, "{kinds:?}");
}

#[test]
fn a_filter_passes_the_same_when_it_comes_later() {
    let f = Folder::new();
    f.write("x.toml", harness::heap_and_file(20, 24, 8));
    for filter in [
        "kind=sim_refault",
        "kind=sim_evict,kind=page_fault_user,pages=100-900",
        "task=heap",
        "task=file,kind=page_fault_user,kind=sched_switch",
    ] {
        let args = ["run", "x.toml", "--events", "e.jsonl", "--events-filter", filter];
        done(f.mmsim(&args));
        let lines = f.read("e.jsonl");
        assert!(lines.lines().count() > 100, "{filter}");
        done(f.mmsim(&["run", "x.toml", "--events", "all.mmev"]));
        let later = done(f.mmsim(&["events", "all.mmev", "--events-filter", filter]));
        assert!(later.stdout == lines, "{filter}");
        // The same filter at both times passes all that is there.
        let args = ["run", "x.toml", "--events", "some.mmev.zst", "--events-filter", filter];
        done(f.mmsim(&args));
        done(f.mmsim(&["events", "some.mmev.zst", "-o", "l.jsonl", "--events-filter", filter]));
        assert!(f.read("l.jsonl") == lines, "{filter}");
    }
}

#[test]
fn a_limit_ends_bytes_too() {
    let f = Folder::new();
    f.write("x.toml", harness::heap_and_file(20, 24, 8));
    let limit = ["--events-limit", "200KiB"];
    let args = ["run", "x.toml", "--events", "e.mmev", "--jobs", "1"];
    let said = f.mmsim(&[&args[..], &limit].concat());
    assert_eq!(
        (said.code, said.stderr.matches("--events-limit was reached").count()),
        (Some(0), 2)
    );
    assert!(f.read_bytes("e.mmev").len() <= 200 << 10);
    // Messages about runs come in the order of the runs, whichever ends first.
    let side_by_side = f.mmsim(&[&args[..4], &["--jobs", "4"], &limit].concat());
    assert_eq!(side_by_side.stderr, said.stderr);
    done(f.mmsim(&["run", "x.toml", "--events", "e.jsonl"]));
    let all = f.read("e.jsonl");
    let some = done(f.mmsim(&["events", "e.mmev"])).stdout;
    for run in ["\"run\":0}", "\"run\":1}"] {
        let of = |text: &str| -> Vec<String> {
            text.lines().filter(|l| l.ends_with(run)).map(str::to_string).collect()
        };
        let (all, some) = (of(&all), of(&some));
        let (last, whole) = some.split_last().expect("a line");
        assert!(whole.len() > 10_000 && all.starts_with(whole), "{}", whole.len());
        assert!(last.contains("\"event\":\"sim_events_limit\""), "{last}");
    }
}

/// A pipe that has a name takes bytes, and `-` is a pipe to read from.
#[cfg(unix)]
#[test]
fn bytes_go_through_pipes() {
    let f = Folder::new();
    f.write("x.toml", harness::heap_and_file(20, 24, 8));
    both(&f, "x.toml", &["--variant", "v6.12"]);
    let script = "mkfifo p.mmev && { \"$M\" run x.toml --variant v6.12 --events p.mmev -o r 2>err & } \
                  && \"$M\" events - < p.mmev > lines; wait; \
                  \"$M\" events e.mmev | head -n 3 > few; gzip -c e.mmev | \"$M\" events - > gz";
    let mut command = std::process::Command::new("sh");
    command.args(["-c", script]).env("M", crate::program()).current_dir(f.path(""));
    assert!(command.status().expect("a shell").success());
    let lines = f.read("e.jsonl");
    assert!(f.read("lines") == lines && f.read("gz") == lines);
    assert_eq!(
        f.read("few").lines().collect::<Vec<_>>(),
        lines.lines().take(3).collect::<Vec<_>>()
    );
    // A reader that goes away is no error of the file.
    let mut child = f.command(&["events", "e.mmev"]);
    let mut child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("mmsim");
    drop(child.stdout.take());
    let out = child.wait_with_output().expect("its end");
    assert_eq!((out.status.code(), out.stderr.len()), (Some(141), 0));
}

/// Written and read by two programs that know each other through a pipe alone.
#[test]
fn stdin_is_read_as_it_comes() {
    let f = Folder::new();
    f.write("x.toml", harness::heap_and_file(20, 24, 8));
    both(&f, "x.toml", &["--variant", "v6.12"]);
    let bytes = f.read_bytes("e.mmev");
    let mut child = f.command(&["events", "-"]);
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("mmsim");
    let mut to = child.stdin.take().expect("a pipe");
    let writer = std::thread::spawn(move || bytes.chunks(777).try_for_each(|c| to.write_all(c)));
    let out = child.wait_with_output().expect("its end");
    writer.join().expect("no panic").expect("all is taken");
    assert!(out.status.success() && out.stdout == f.read_bytes("e.jsonl"));
}
