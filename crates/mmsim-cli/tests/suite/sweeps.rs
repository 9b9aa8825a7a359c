//! Sweeps as their users have them: killed, spread, merged; and the commands of docs/sweeps.md.
#![cfg(unix)]

use std::process::{Command, Stdio};
use std::time::Duration;

use crate::harness::{Folder, repository};

const SCENARIO: &str = "\
name = \"x\"
[machine]
memory = \"16MiB\"
swap = { size = \"64MiB\", device = \"nvme\" }
[[task]]
workload = \"zipf\"
memory = \"18MiB\"
accesses = 20000
write-permille = 300
";

const PLAN: &str = "\
version = 1
name = \"p\"
scenarios = [\"x.toml\"]
seeds = 10
[axes]
\"machine.vm.swappiness\" = [10, 60, 100]
";

fn folder() -> Folder {
    let f = Folder::with("x.toml", SCENARIO);
    f.write("p.toml", PLAN);
    f
}

fn merged(f: &Folder, store: &str) -> String {
    let said = f.mmsim(&["sweep", "merge", "p.toml", "--store", store, "-o", "m.json"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    f.read("m.json")
}

/// Killed at any time, again and again, by a signal that it cannot catch: the same command ends
/// with the bytes of an undisturbed sweep, and makes no finished unit twice.
#[test]
fn a_killed_sweep_goes_on() {
    let f = folder();
    assert_eq!(f.mmsim(&["sweep", "p.toml", "--store", "one"]).code, Some(0));
    let mut pause = Duration::from_millis(20);
    let mut before = 0;
    for kill in 0..6 {
        let shard = ["0/2", "1/2"][kill % 2];
        let args = ["sweep", "p.toml", "--store", "two", "--jobs", "1", "--shard", shard];
        let mut child = f.command(&args).stderr(Stdio::null()).spawn().expect("starting mmsim");
        std::thread::sleep(pause);
        child.kill().expect("it is there, or a zombie");
        child.wait().expect("its end");
        pause = pause * 3 / 2;
        let said = f.mmsim(&["sweep", "status", "p.toml", "--store", "two"]);
        // Before its first file there is no store.
        let done = match said.code {
            Some(0) => {
                let all = said.stdout.lines().find(|l| l.starts_with("all")).expect("all");
                all.split_whitespace().nth(2).expect("done").parse::<u64>().expect("a number")
            }
            _ => 0,
        };
        assert!(done >= before, "{done} units after {before}");
        before = done;
    }
    for shard in ["0/2", "1/2"] {
        let said = f.mmsim(&["sweep", "p.toml", "--store", "two", "--shard", shard]);
        assert_eq!((said.code, said.stdout.as_str()), (Some(0), ""), "{}", said.stderr);
    }
    assert_eq!(merged(&f, "two"), merged(&f, "one"));
    assert_eq!(std::fs::read_dir(f.path("two")).expect("the store").count(), 4);
}

/// A shard that a process writes is taken: another process is refused by its name, and the first
/// one loses nothing. The first is stopped, so that it cannot end meanwhile.
#[test]
fn a_shard_has_one_writer() {
    let f = folder();
    let args = ["sweep", "p.toml", "--store", "s", "--jobs", "1"];
    let mut first = f
        .command(&args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("starting mmsim");
    let signal = |name: &str| {
        let line = format!("kill -{name} {}", first.id());
        let sent = Command::new("sh").args(["-c", &line]).status().expect("starting sh");
        assert!(sent.success(), "{line}");
    };
    // The tail's first line is written under the lock.
    let tail = f.path("s/shard-00000-of-00001.tail");
    let begun = || std::fs::metadata(&tail).is_ok_and(|m| m.len() > 0);
    while !begun() {
        std::thread::sleep(Duration::from_millis(1));
    }
    signal("STOP");
    let second = f.mmsim(&args);
    let other = f.mmsim(&["sweep", "p.toml", "--store", "s", "--shard", "1/2"]);
    let there = f.mmsim(&["sweep", "status", "p.toml", "--store", "s"]);
    signal("CONT");
    let refused =
        "mmsim: error: `s/shard-00000-of-00001.tail` is being written by another process\n";
    assert!(second.code == Some(2) && second.stderr.starts_with(refused), "{}", second.stderr);
    // Another shard is another file, and reading needs no lock.
    assert_eq!((other.code, there.code), (Some(0), Some(0)), "{}{}", other.stderr, there.stderr);
    assert_eq!(first.wait().expect("its end").code(), Some(0));
    assert_eq!(f.mmsim(&["sweep", "p.toml", "--store", "one"]).code, Some(0));
    assert_eq!(merged(&f, "s"), merged(&f, "one"));
}

/// Runs from before an edit of the scenario and those after it are not averaged.
#[test]
fn a_store_of_an_edited_scenario_is_shown_by_its_plan() {
    let f = folder();
    f.write("p.toml", PLAN.replace("seeds = 10", "seeds = 2"));
    assert_eq!(f.mmsim(&["sweep", "p.toml"]).code, Some(0));
    assert_eq!(f.mmsim(&["show", "p.sweep"]).code, Some(0));
    f.write("x.toml", SCENARIO.replace("20000", "21000"));
    let now = f.mmsim(&["sweep", "p.toml"]);
    assert_eq!(now.code, Some(0), "{}", now.stderr);
    let said = f.mmsim(&["show", "p.sweep"]);
    assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""));
    assert!(said.stderr.contains("`task[0].accesses` differs"), "{}", said.stderr);
    assert!(said.stderr.contains("`mmsim sweep merge p.toml` shows"), "{}", said.stderr);
    let merged = f.mmsim(&["sweep", "merge", "p.toml"]);
    assert_eq!((merged.code, merged.stdout), (Some(0), now.stdout));
}

/// A plan of a hundred million units says at once what it is about to do, begins, and takes no
/// memory for those that it has not come to: 1 GiB of addresses is enough.
#[test]
fn a_plan_of_any_size_begins_at_once() {
    use std::io::BufRead;
    let f = folder();
    let axes = "[axes]\n\"task[0].theta\" = { from = 0.0, to = 0.9, steps = 10000 }\n\
        \"machine.vm.swappiness\" = { from = 1, to = 100, step = 1 }\n\
        \"task[0].write-permille\" = { from = 0, to = 990, step = 10 }\n";
    f.write("p.toml", format!("version = 1\nscenarios = [\"x.toml\"]\nseeds = 1\n{axes}"));
    let mut child = Command::new("bash")
        .args(["-c", "ulimit -v 1048576; exec $M sweep p.toml --jobs 1"])
        .env("M", crate::program())
        .current_dir(f.path("."))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starting bash");
    let mut line = String::new();
    let mut heard = std::io::BufReader::new(child.stderr.take().expect("a pipe"));
    heard.read_line(&mut line).expect("what it says first");
    let begun = "mmsim: at most 100,000,000 units to make, 1 at a time: 2,000,000,000,000 accesses";
    assert!(line.starts_with(begun), "{line}");
    assert!(line.contains("of memory; the store grows by about"), "{line}");
    // The first unit is kept long before the last one has its name.
    let tail = f.path("p.sweep").join("shard-00000-of-00001.tail");
    while child.try_wait().expect("a child").is_none()
        && std::fs::metadata(&tail).map_or(0, |m| m.len()) < 1000
    {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(child.try_wait().expect("a child").is_none(), "it goes on");
    child.kill().expect("it is there");
    child.wait().expect("its end");
}

/// The error names a full disk, and finished units are kept.
#[test]
fn a_full_disk_loses_nothing() {
    let f = folder();
    let (code, _, said) = f.bash("ulimit -f 120; $M sweep p.toml --store s --jobs 1");
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("cannot write `s/shard-00000-of-00001.tail`: File too large"), "{said}");
    assert!(said.contains("what was finished is kept"), "{said}");
    let said = f.mmsim(&["sweep", "p.toml", "--store", "s"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let there = said.stderr.lines().find(|l| l.ends_with("of 30 units are there"));
    let there = there.and_then(|l| l.split(' ').nth(1)?.parse::<u32>().ok());
    assert!(there.is_some_and(|n| (1..30).contains(&n)), "{}", said.stderr);
    assert_eq!(f.mmsim(&["sweep", "p.toml", "--store", "one"]).code, Some(0));
    assert_eq!(merged(&f, "s"), merged(&f, "one"));
}

#[test]
fn engines_name_the_shard() {
    let f = folder();
    let run = |set: &[(&str, &str)], args: &[&str]| {
        let mut command = f.command(&[&["sweep", "p.toml", "--store", "s"], args].concat());
        command.envs(set.iter().copied());
        let out = command.output().expect("starting mmsim");
        (out.status.code(), String::from_utf8_lossy(&out.stderr).into_owned())
    };
    let slurm = [
        ("SLURM_ARRAY_TASK_ID", "3"),
        ("SLURM_ARRAY_TASK_COUNT", "3"),
        ("SLURM_ARRAY_TASK_MIN", "1"),
    ];
    assert!(run(&slurm, &[]).1.contains("of shard 2 of 3"), "{}", run(&slurm, &[]).1);
    assert!(run(&[("HQ_TASK_ID", "0")], &["--shards", "3"]).1.contains("of shard 0 of 3"));
    let kubernetes = [("JOB_COMPLETION_INDEX", "1")];
    assert!(run(&kubernetes, &["--shards", "3"]).1.contains("of shard 1 of 3"));
    let (code, said) = run(&kubernetes, &["--shards", "1"]);
    assert!(code == Some(2) && said.contains("there is no shard 1 of 1"), "{said}");
    assert!(merged(&f, "s").len() > 1000);
}

/// Output of a merge in each form, and that `show` prints what the sweep printed.
#[test]
fn results_in_every_form() {
    let f = folder();
    let table = f.mmsim(&["sweep", "p.toml", "--by", "swap-ins"]);
    assert_eq!(table.code, Some(0), "{}", table.stderr);
    assert_eq!(f.mmsim(&["show", "p.sweep", "--by", "swap-ins"]).stdout, table.stdout);
    let merge = |args: &[&str]| {
        let said = f.mmsim(&[&["sweep", "merge", "p.toml"], args].concat());
        assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""), "{args:?}");
        said.stdout
    };
    assert_eq!(merge(&["--by", "swap-ins"]), table.stdout);
    let json = merge(&["--format", "json"]);
    merge(&["-o", "m.json.zst", "--html", "m.html", "--svg", "m.svg"]);
    assert!(f.read("m.svg").starts_with("<svg "), "a drawing");
    let unpacked = zstd::decode_all(&std::fs::read(f.path("m.json.zst")).expect("m.json.zst")[..]);
    assert_eq!(unpacked.expect("zstd"), json.as_bytes());
    assert!(f.read("m.html").starts_with("<!DOCTYPE html>"));
    // The report is one of `mmsim run`, and so is its long form.
    f.write("m.json", &json);
    let shown = f.mmsim(&["show", "m.json", "--by", "swap-ins"]);
    let rows = |text: &str| -> Vec<String> {
        let number = |l: &&str| l.split(' ').next().is_some_and(|w| w.parse::<u32>().is_ok());
        let rows = text.lines().filter(number);
        rows.map(|l| l.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    };
    assert_eq!(rows(&shown.stdout).len(), 3);
    let tidy = merge(&["--format", "tidy"]);
    let wide = merge(&["--format", "wide"]);
    assert_eq!(wide.lines().count(), 31);
    let pswpin: Vec<&str> = tidy.lines().filter(|l| l.contains(",,vmstat,pswpin,")).collect();
    assert_eq!(pswpin.len(), 30);
    let at = wide.lines().next().expect("heads").split(',').position(|h| h == "pswpin");
    for (line, row) in pswpin.iter().zip(wide.lines().skip(1)) {
        assert_eq!(line.rsplit(',').next(), row.split(',').nth(at.expect("a column")));
    }
    // What run printed of a report, show prints again.
    let run = f.mmsim(&["run", "x.toml"]);
    assert_eq!(f.mmsim(&["run", "x.toml", "-o", "r.json"]).code, Some(0));
    assert_eq!(f.mmsim(&["show", "r.json"]).stdout, run.stdout);
}

/// The jobs that `sweep plan` prints are what their engines read.
#[test]
fn plans_print_jobs() {
    let f = folder();
    let said = f.mmsim(&["sweep", "plan", "p.toml", "--cpus", "4", "--shards", "5"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    for line in [
        "units     30",
        "#SBATCH --array=0-4",
        "#SBATCH --cpus-per-task=4",
        "mmsim sweep p.toml --shards 5 --jobs 4",
        "hq submit --array=0-4 --cpus=4 --stdout=none --stderr=none \\",
        "  completions: 5",
        "  completionMode: Indexed",
    ] {
        assert!(said.stdout.lines().any(|l| l == line), "{line} in\n{}", said.stdout);
    }
    assert_eq!(f.names(), ["p.toml", "x.toml"], "nothing is kept of what was tried");
    // A script does not tell what it touches: that is measured, 8 MiB of entries and frames here.
    let script = "workload = \"script\"\ncommands = [\"anon 0 100000\", \"fill 0 0 100000\"]\n";
    f.write("x.toml", format!("name = \"x\"\n[machine]\nmemory = \"1GiB\"\n[[task]]\n{script}"));
    f.write("p.toml", "version = 1\nscenarios = [\"x.toml\"]\nseeds = 1\n");
    let said = f.mmsim(&["sweep", "plan", "p.toml", "--cpus", "1"]);
    let memory = said.stdout.lines().find_map(|l| l.strip_prefix("memory    about "));
    let mut words = memory.unwrap_or_else(|| panic!("{}", said.stdout)).split(' ');
    if cfg!(target_os = "linux") {
        let number: f64 = words.next().and_then(|w| w.parse().ok()).expect("a number");
        let kib = if words.next() == Some("KiB") { number } else { number * 1024.0 };
        assert!((1024.0..65536.0).contains(&kib), "{}", said.stdout);
    }
}

/// The commands of docs/sweeps.md print what stands below them. `MMSIM_BLESS=1` rewrites that.
#[test]
fn commands_of_the_document() {
    let path = repository("docs/sweeps.md");
    let text = std::fs::read_to_string(&path).expect("docs/sweeps.md");
    let f = Folder::new();
    for piece in text.split("<!-- file ").skip(1) {
        let (name, rest) = piece.split_once(" -->\n```toml\n").expect("a file");
        f.write(name, rest.split("```").next().expect("its end"));
    }
    let begin = "<!-- sweep -->\n```console\n$ mmsim ";
    let mut pieces = text.split(begin);
    let mut new = pieces.next().expect("a first piece").to_string();
    for piece in pieces {
        let (command, rest) = piece.split_once('\n').expect("a command");
        let (old, after) = rest.split_once("```\n").expect("its end");
        let said = f.mmsim(&command.split_whitespace().collect::<Vec<_>>());
        assert_eq!(said.code, Some(0), "{command}: {}", said.stderr);
        if std::env::var_os("MMSIM_BLESS").is_none() {
            assert_eq!(old, said.stdout, "$ mmsim {command}: run with MMSIM_BLESS=1 and look");
        }
        new += &format!("{begin}{command}\n{}```\n{after}", said.stdout);
    }
    if new != text {
        std::fs::write(&path, new).expect("rewriting the document");
    }
    // Plain commands, on one machine.
    let blocks = text.split("\n```sh\n").skip(1).map(|b| b.split("\n```").next().expect("its end"));
    let mut commands = 0;
    for line in blocks.filter(|b| !b.contains("sbatch")).flat_map(str::lines) {
        let args = line.strip_prefix("mmsim ").unwrap_or_else(|| panic!("no command: {line}"));
        let said = f.mmsim(&args.split_whitespace().collect::<Vec<_>>());
        assert_eq!(said.code, Some(0), "{line}: {}", said.stderr);
        commands += 1;
    }
    assert!(commands >= 6, "{commands} commands");
}
