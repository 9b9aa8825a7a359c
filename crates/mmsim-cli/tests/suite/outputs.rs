//! Where results go: pipes, descriptors, links, packed files, full disks, signals; and stdin.
#![cfg(unix)]

use std::io::{Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Stdio;

use crate::harness::{Folder, ended_by};

const SMALL: &str = "\
name = \"x\"
[machine]
memory = \"16MiB\"
[[task]]
workload = \"sequential\"
memory = \"1MiB\"
";

/// Work that no test waits for.
const ENDLESS: &str = "\
name = \"x\"
[machine]
memory = \"16MiB\"
swap = { size = \"64MiB\" }
[[task]]
workload = \"uniform\"
accesses = 4000000000
memory = \"24MiB\"
";

fn is_report(text: &str) {
    let report: serde_json::Value =
        serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"));
    assert_eq!(report["runs"][0]["outcome"], "completed");
}

#[test]
fn pipes_get_the_report_once_and_whole() {
    let f = Folder::with("x.toml", SMALL);
    let line = "mkfifo p; cat p > got & $M run x.toml --format json -o p; echo rc=$?; wait";
    assert_eq!(f.bash(line).1, "rc=0\n");
    is_report(&f.read("got"));

    // A pipe for lines is opened by the run; nothing lies beside it afterwards.
    let line = "cat p > got & $M run x.toml -o r.json --series p; echo rc=$?; wait";
    assert_eq!(f.bash(line).1, "rc=0\n");
    assert!(f.read("got").starts_with("time_ns,"), "{}", f.read("got"));
    assert_eq!(f.names(), ["got", "p", "r.json", "x.toml"]);

    let line = "$M run x.toml --format json -o >(cat > got2; touch done); echo rc=$?
                until [ -e done ]; do sleep 0.1; done";
    assert_eq!(f.bash(line).1, "rc=0\n");
    is_report(&f.read("got2"));

    // A reader that goes away behind what a pipe holds has all of it.
    let line = "$M list counters -o /dev/stdout | head -1; echo ${PIPESTATUS[0]}";
    assert!(f.bash(line).1.ends_with("\n0\n"));
}

#[test]
fn stdout_has_several_names() {
    let f = Folder::with("x.toml", SMALL);
    symlink("/dev/stdout", f.path("out")).unwrap();
    for name in ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "out"] {
        let (code, piped, err) = f.bash(&format!("$M run x.toml --format json -o {name} | cat"));
        assert_eq!(code, Some(0), "{name}: {err}");
        is_report(&piped);
        // A file behind it is written where it stands.
        let line = format!("echo HEAD > all; $M run x.toml --format json -o {name} >> all");
        assert_eq!(f.bash(&line).0, Some(0), "{name}");
        let all = f.read("all");
        is_report(all.strip_prefix("HEAD\n").unwrap_or_else(|| panic!("{name}: {all}")));
    }
    let line = "echo HEAD > all; $M run x.toml --format json -o /dev/fd/3 3>> all";
    assert_eq!(f.bash(line).0, Some(0));
    is_report(f.read("all").strip_prefix("HEAD\n").expect("what was there"));
}

#[test]
fn one_stream_holds_one_thing() {
    let f = Folder::with("x.toml", SMALL);
    let (code, out, err) = f.bash("$M run x.toml --series - -o r.json");
    assert_eq!(code, Some(0), "{err}");
    assert!(out.starts_with("time_ns,"), "{out}");
    for line in ["--series -", "--events /dev/stdout", "--series - --events - -o r"] {
        let (code, out, err) =
            f.bash(&format!("$M run x.toml {line} | cat; exit ${{PIPESTATUS[0]}}"));
        assert_eq!((code, out.as_str()), (Some(2), ""), "{line}");
        assert!(err.contains("name another file"), "{line}: {err}");
    }
}

#[test]
fn stdin_is_a_minus() {
    let f = Folder::with("x.toml", SMALL);
    let (code, out, err) = f.bash("$M run - --format json < x.toml");
    assert_eq!(code, Some(0), "{err}");
    is_report(&out);
    // What is read from several places: by a pipe and by a name of one.
    let line = "printf 'R 1\\nW 2\\n' | $M trace import --from pages - -o - > t.mmt
                cat t.mmt | $M trace info - --format csv | grep accesses
                $M trace head <(cat t.mmt) | wc -l
                cat t.mmt | $M bench-trace - --from mmt --frames 64 --format json | grep distinct";
    let (code, out, err) = f.bash(line);
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(out, "accesses,2\n2\n    \"distinct_pages\": 2,\n", "{err}");
    let line = "$M run x.toml -o a.json; cat a.json | $M compare a.json - --format csv | head -1";
    assert!(f.bash(line).1.contains(','));
}

/// An import takes a pipe as it comes, and stores nothing of it: a wrong line ends it while the writer
/// still has the pipe, and it has no file but its output.
#[test]
fn imports_read_pipes_as_they_come() {
    let f = Folder::with("x.toml", SMALL);
    // The writer waits until the import has ended; if it never does, `bash` gives up.
    let line = "mkfifo p; (echo 'this is no line of lackey'; while [ ! -e ended ]; do sleep 0.1; done) > p &
                $M trace import --from lackey p -o t.mmt; echo rc=$?; touch ended; wait";
    let (_, out, err) = f.bash(line);
    assert_eq!(out, "rc=2\n", "{err}");
    assert!(err.contains("p:1:1") && err.contains("1 | this is no line of lackey"), "{err}");
    let line =
        "rm ended; (echo 'R 1'; echo 'W 2'; echo 'R x') | $M trace import --from pages - -o t.mmt";
    let (code, _, err) = f.bash(line);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("3 | R x"), "{err}");
    // Where no file can be made beside, all that is read once is read still. Nothing else is.
    let line = "export TMPDIR=/nowhere
                printf 'page,op\\n1,W\\n2,R\\n' > t.csv
                $M trace import --from csv <(cat t.csv) -o 1.mmt | grep records
                gzip -c t.csv | $M trace import --from csv - -o 2.mmt | grep records
                $M trace import --from raw-u32 <(printf 'abcd') -o 3.mmt 2>&1 | head -1";
    let (_, out, err) = f.bash(line);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 3, "{out}{err}");
    assert!(lines[0] == lines[1] && lines[0].ends_with(" 2"), "{out}{err}");
    assert!(lines[2].contains("its copy in /nowhere"), "{out}{err}");
    assert_eq!(f.names(), ["1.mmt", "2.mmt", "p", "t.csv", "x.toml"]);
}

#[test]
fn links_and_modes_are_kept() {
    let f = Folder::with("x.toml", SMALL);
    std::fs::create_dir(f.path("sub")).unwrap();
    symlink("sub/real.json", f.path("link.json")).unwrap();
    for mode in [0o644, 0o600, 0o664] {
        // At first the link leads to nothing.
        assert_eq!(f.mmsim(&["run", "x.toml", "-o", "link.json"]).code, Some(0));
        assert!(std::fs::symlink_metadata(f.path("link.json")).unwrap().is_symlink());
        is_report(&f.read("sub/real.json"));
        let real = f.path("sub/real.json");
        std::fs::set_permissions(&real, PermissionsExt::from_mode(mode)).unwrap();
        assert_eq!(f.mmsim(&["run", "x.toml", "-o", "link.json"]).code, Some(0));
        let now = std::fs::metadata(&real).unwrap().permissions().mode();
        assert_eq!(now & 0o777, mode);
    }
}

#[test]
fn endings_mean_what_they_say() {
    let f = Folder::with("x.toml", SMALL);
    let args =
        ["run", "x.toml", "-o", "r.json.gz", "--events", "e.jsonl.zst", "--series", "s.csv.gz"];
    let said = f.mmsim(&args);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let bytes = |name: &str| std::fs::read(f.path(name)).unwrap();
    let mut text = String::new();
    let packed = bytes("r.json.gz");
    flate2::read::GzDecoder::new(&packed[..]).read_to_string(&mut text).unwrap();
    is_report(&text);
    text.clear();
    let packed = bytes("s.csv.gz");
    flate2::read::GzDecoder::new(&packed[..]).read_to_string(&mut text).unwrap();
    assert!(text.starts_with("time_ns,"));
    let events = zstd::decode_all(&bytes("e.jsonl.zst")[..]).unwrap();
    assert!(events.starts_with(b"{\"t_ns\":"));

    assert_eq!(f.mmsim(&["run", "x.toml", "-o", "r.csv"]).code, Some(0));
    let csv = f.read("r.csv");
    assert!(csv.lines().next().unwrap().split(',').count() > 3, "{csv}");
    assert_eq!(f.mmsim(&["list", "knobs", "-o", "k.json"]).code, Some(0));
    assert!(f.read("k.json").starts_with('{'));

    let before = f.names();
    for args in [
        &["run", "x.toml", "-o", "n.json", "--format", "csv"][..],
        &["run", "x.toml", "-o", "n.csv", "--format", "table"],
        &["run", "x.toml", "-o", "n.csv.gz", "--format", "json"],
        &["run", "x.toml", "-o", "n.jsonl"],
        &["run", "x.toml", "-o", "n.json.xz"],
        &["run", "x.toml", "--series", "n.json"],
        &["run", "x.toml", "--events", "n.csv"],
        &["run", "x.toml", "--dry-run", "-o", "n.json"],
        &["list", "presets", "-o", "n.csv", "--format", "json"],
        &["trace", "import", "--from", "pages", "x.toml", "-o", "n.mmt.gz"],
    ] {
        let said = f.mmsim(args);
        assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{args:?}");
        assert!(said.stderr.lines().count() == 1 && said.stderr.contains("n."), "{}", said.stderr);
        assert_eq!(f.names(), before, "{args:?}");
    }
}

/// True if the program that started these tests made them ignore SIGHUP, as nohup(1) does. The
/// command inherits that, and does not end either.
fn hangup_is_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).unwrap() & 1 == 1)
}

/// Signals that end a process leave nothing of it, and give the code that shells give.
#[test]
fn signals_leave_nothing() {
    let all = [("INT", 130), ("QUIT", 131), ("TERM", 143), ("HUP", 129), ("XFSZ", 153)];
    for (signal, code) in all {
        if signal == "HUP" && hangup_is_ignored() {
            continue;
        }
        let f = Folder::with("x.toml", ENDLESS);
        let args = ["run", "x.toml", "-o", "report", "--events", "e.jsonl", "--series", "s.csv"];
        assert_eq!(ended_by(signal, f.begun(&args)), Some(code), "{signal}");
        assert_eq!(f.names(), ["x.toml"], "{signal}");
    }
}

/// A report that could not be written is an error. Of a pipe whose reader went away the code is that
/// of other programs, and other results are written nevertheless.
#[test]
fn a_report_that_is_not_taken_is_an_error() {
    let f = Folder::with("x.toml", SMALL);
    for line in ["$M run x.toml", "$M run x.toml -o /dev/stdout", "$M list counters", "$M man"] {
        let (code, _, err) = f.bash(&format!("{line} >/dev/full"));
        assert_eq!(code, Some(2), "{line}: {err}");
        assert!(err.contains("cannot write") && err.contains("No space left"), "{line}: {err}");
    }
    for to in ["", "-o /dev/stdout", "-o /dev/fd/1"] {
        let line = format!(
            "$M run x.toml --seeds 40 --format json --html h {to} | true; echo ${{PIPESTATUS[0]}}"
        );
        assert!(f.bash(&line).1.ends_with("141\n"), "{to}");
        assert_eq!(f.names(), ["h", "x.toml"], "{to}");
        std::fs::remove_file(f.path("h")).unwrap();
    }
}

/// A process that is killed removes nothing; whoever writes next into the folder does.
#[test]
fn what_a_killed_process_left_is_removed() {
    let f = Folder::with("x.toml", ENDLESS);
    let args = ["run", "x.toml", "-o", "report", "--events", "e.jsonl", "--series", "s.csv"];
    let mut child = f.begun(&args);
    let during = f.names();
    // Those of a process that lives are its own.
    assert_eq!(f.mmsim(&["list", "knobs", "-o", "a.json"]).code, Some(0));
    assert_eq!(f.names().len(), during.len() + 1, "{:?}", f.names());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(f.names().iter().filter(|n| n.starts_with(".mmsim-")).count() >= 2);
    assert_eq!(f.mmsim(&["list", "knobs", "-o", "b.json"]).code, Some(0));
    assert_eq!(f.names(), ["a.json", "b.json", "x.toml"]);
}

/// Who is to outlive a terminal does.
#[test]
fn nohup_is_heard() {
    let f = Folder::with("x.toml", ENDLESS);
    let line = "trap '' HUP; $M run x.toml --series s.csv -o r & sleep 2; kill -HUP $!; sleep 1
                kill -0 $! && echo alive; kill -TERM $!; wait $!; echo $?";
    assert_eq!(f.bash(line).1, "alive\n143\n");
    assert_eq!(f.names(), ["x.toml"]);
}

/// Errors of writing are reported at once: the work would take hours.
#[test]
fn errors_of_outputs_come_when_they_happen() {
    let f = Folder::with("x.toml", ENDLESS);
    for (line, why) in [
        ("--events /dev/full -o r", "cannot write /dev/full: No space left"),
        ("--seeds 2 --events no/such/e -o r", "cannot write no/such/e: there is no folder"),
        ("--seeds 2 --series no/such/s -o r", "cannot write no/such/s: there is no folder"),
        ("--seeds 2 --series s --emit vmstat --emit-dir no/such/d", "cannot write no/such/d"),
        ("--timing no/such/t", "cannot write no/such/t"),
    ] {
        let (code, _, err) = f.bash(&format!("$M run x.toml {line}"));
        assert_eq!(code, Some(2), "{line}: {err}");
        assert!(err.contains(why), "{line}: {err}");
        assert_eq!(f.names(), ["x.toml"], "{line}");
    }
    // A limit on the size of files is a full disk too.
    let (code, _, err) = f.bash("ulimit -f 2000; $M run x.toml --events e.jsonl -o r");
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("cannot write e.jsonl: File too large"), "{err}");
    assert_eq!(f.names(), ["x.toml"]);
}

#[test]
fn handles_are_as_many_as_runs_at_the_same_time() {
    let f = Folder::with("x.toml", SMALL);
    let line = "ulimit -n 40; $M run x.toml --seeds 120 --series s.csv --events e.jsonl -o r.csv";
    let (code, _, err) = f.bash(line);
    assert_eq!(code, Some(0), "{err}");
    let series = f.read("s.csv");
    assert_eq!(series.matches("time_ns").count(), 1);
    let runs: Vec<u32> = series
        .lines()
        .skip(1)
        .map(|line| line.rsplit_once(',').expect("columns").1.parse().expect("a run"))
        .collect();
    assert!(runs.is_sorted() && runs.first() == Some(&0) && runs.last() == Some(&119));
    assert_eq!(f.names(), ["e.jsonl", "r.csv", "s.csv", "x.toml"]);
}

#[test]
fn events_end_at_their_limit() {
    let f = Folder::with("x.toml", SMALL);
    let args = ["run", "x.toml", "--seeds", "2", "--events", "e.jsonl", "-o", "r.json"];
    assert_eq!(f.mmsim(&args).code, Some(0));
    let (all, report) = (f.read("e.jsonl"), f.read("r.json"));
    assert!(all.len() > 20_000, "{}", all.len());
    let said = f.mmsim(&[&args[..], &["--events-limit", "16KiB", "--jobs", "1"]].concat());
    assert_eq!(said.code, Some(0));
    assert!(said.stderr.contains("the events of run 1 end at "), "{}", said.stderr);
    let cut = f.read("e.jsonl");
    assert_eq!(f.read("r.json"), report, "who watches changes nothing");
    let of = |text: &str, run: u32| -> Vec<String> {
        let end = format!("\"run\":{run}}}");
        text.lines().filter(|l| l.ends_with(&end)).map(str::to_string).collect()
    };
    for run in [0, 1] {
        let (all, cut) = (of(&all, run), of(&cut, run));
        let (last, cut) = cut.split_last().expect("a last line");
        assert!(last.contains("\"event\":\"sim_events_limit\""), "{last}");
        assert_eq!(cut, &all[..cut.len()]);
        let bytes: usize = cut.iter().map(|l| l.len() + 1).sum();
        assert!(bytes <= 8192 && bytes + all[cut.len()].len() + 1 > 8192, "{bytes}");
    }
}

/// Standard input that ends amid a scenario is bad input like any other.
#[test]
fn messages_about_stdin_have_a_place() {
    let f = Folder::new();
    let mut child = f
        .command(&["run", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starting mmsim");
    child.stdin.take().unwrap().write_all(b"name = \"x\"\nmachine = = 1\n").unwrap();
    let out = child.wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(2));
    let said = String::from_utf8(out.stderr).unwrap();
    assert!(said.contains("-:2:"), "{said}");
}
