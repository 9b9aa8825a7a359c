//! Requests that are too much for this host or for a message are refused, and nothing is left
//! behind.
#![cfg(target_os = "linux")]

use crate::harness::Folder;
use flate2::{Compress, Compression, FlushCompress};

fn scenario(machine: &str, task: &str) -> String {
    format!("name = \"x\"\n[machine]\nmemory = \"{machine}\"\n[[task]]\n{task}\n")
}

/// Runs a line of bash with 8 GiB of addresses.
fn bash(f: &Folder, line: &str) -> (Option<i32>, String, String) {
    f.bash(&format!("ulimit -v 8388608; {line}"))
}

#[test]
fn what_the_host_cannot_hold_is_refused_before_it_begins() {
    let f = Folder::new();
    let bounds = "bounds = true\n".to_string();
    let uniform = "workload = \"uniform\"\nmemory = \"16MiB\"\naccesses = 1000000000";
    for (what, text, why) in [
        (
            "pages",
            scenario("16MiB", "workload = \"sequential\"\nmemory = \"16383GiB\""),
            "of this host",
        ),
        (
            "frames",
            scenario("4TiB", "workload = \"sequential\"\nmemory = \"1MiB\""),
            "of this host",
        ),
        (
            "both",
            scenario("3TiB", "workload = \"sequential\"\nmemory = \"2500GiB\"\nwrite = true"),
            "of this host",
        ),
        (
            "zipf",
            scenario("16MiB", "workload = \"zipf\"\nmemory = \"16383GiB\"\naccesses = 1"),
            "of this host",
        ),
        (
            "numbers",
            scenario(
                "16MiB",
                "workload = \"cyclic\"\nmemory = \"9000GiB\"\nprocesses = 2\npasses = 1",
            ),
            "more than a machine can number",
        ),
        ("bounds", bounds + &scenario("64MiB", uniform), "exact up to 134217728 accesses"),
    ] {
        f.write("x.toml", text);
        for line in ["$M run x.toml --series s.csv -o r", "$M run x.toml --dry-run -o r"] {
            let (code, _, err) = bash(&f, line);
            assert_eq!(code, Some(2), "{what}: {err}");
            assert!(err.contains(why) && err.contains("= help: "), "{what}: {err}");
            assert_eq!(f.names(), ["x.toml"], "{what}");
        }
    }
    let (_, _, err) = bash(&f, "$M run x.toml --set task[0].accesses=1000 -o r");
    assert!(f.names().contains(&"r".to_string()), "{err}");
}

/// Runs are counted before any is expanded, and the memory for reading grows with their number.
#[test]
fn many_variants_and_values_take_memory_by_their_number() {
    let f = Folder::new();
    let task = "workload = \"sequential\"\nmemory = \"1MiB\"";
    let variants =
        |n: u32| -> String { (0..n).map(|i| format!("[[variant]]\nname = \"v{i}\"\n")).collect() };
    let values = |n: u32| {
        let all: Vec<String> = (0..n).map(|i| (200 + i).to_string()).collect();
        format!("[axes]\n\"machine.vm.min_free_kbytes\" = [{}]\n", all.join(","))
    };
    f.write("v.toml", scenario("16MiB", task) + &variants(2000));
    f.write("a.toml", scenario("16MiB", task) + &values(2000));
    for name in ["v.toml", "a.toml"] {
        let (code, _, err) = bash(&f, &format!("ulimit -v 500000; $M run {name} --dry-run"));
        assert_eq!(code, Some(0), "{name}: {err}");
    }
    f.write("v.toml", scenario("16MiB", task) + &variants(10_001));
    f.write("a.toml", scenario("16MiB", task) + &values(100_000));
    f.write("both.toml", format!("seeds = 101\n{}{}", scenario("16MiB", task), variants(100)));
    for name in ["v.toml", "a.toml", "both.toml"] {
        for (verb, rest) in [("run", ""), ("run", "--dry-run"), ("ablate", "--to classic-v5.9")] {
            let line = format!("{verb} {name} {rest}");
            let (code, _, err) = bash(&f, &format!("ulimit -v 500000; $M {line}"));
            assert_eq!(code, Some(2), "{line}: {err}");
            assert!(err.contains("make more than 10000 runs"), "{line}: {err}");
        }
    }
    // A plan of a sweep takes them: no unit of it is made before its turn.
    f.write("x.toml", scenario("16MiB", task));
    f.write("p.toml", format!("version = 1\nscenarios = [\"x.toml\"]\n{}", values(100_000)));
    let (code, out, err) = bash(&f, "ulimit -v 1000000; $M sweep plan p.toml");
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("100,000"), "{out}");
}

/// Each reader of nested text names the place where it goes too deep.
#[test]
fn nesting_has_a_limit_and_a_place() {
    let f = Folder::new();
    let nested = |n: usize| format!("{}1{}", "[".repeat(n), "]".repeat(n));
    let task = "workload = \"sequential\"\nmemory = \"1MiB\"";
    let base = scenario("16MiB", task);
    f.write("x.toml", &base);
    f.write("deep.toml", format!("about = {}\n", nested(200)));
    f.write("key.toml", format!("{base}[machine.{}a]\n", "a.".repeat(200)));
    f.write(
        "plan.toml",
        format!("version = 1\nscenarios = [\"x.toml\"]\n[axes]\nx = {}\n", nested(200)),
    );
    f.write(
        "path.toml",
        format!("{base}[[variant]]\nname = \"v\"\nset = {{ \"{}a\" = 1 }}\n", "a.".repeat(200)),
    );
    f.write("deep.json", format!("{{\"schema\": 1, \"runs\":\n {}}}", nested(5000)));
    f.write("damo.json", format!("\n{{\"kdamonds\": {}}}", nested(5000)));
    for (args, place, write) in [
        (&["run", "deep.toml"][..], "deep.toml:1:", "at most 80 of them"),
        (&["run", "key.toml"], "key.toml:7:", "at most 80 of them"),
        (&["run", "path.toml"], "path.toml:9:", "no key lies so deep"),
        (&["sweep", "plan.toml"], "plan.toml:4:", "at most 80 of them"),
        (&["tune", "plan.toml"], "plan.toml:4:", "at most 80 of them"),
        (
            &["evaluate", "--suite", "plan.toml", "--policy", "x.toml"],
            "plan.toml:4:",
            "at most 80 of them",
        ),
        (&["show", "deep.json"], "deep.json:2:", "is no report"),
        (&["compare", "deep.json", "deep.json"], "deep.json:2:", "is no report"),
        (&["damon", "import", "damo.json"], "damo.json:2:", "at most 127 levels"),
        (&["damon", "report", "damo.json"], "damo.json:2:", "is no record"),
    ] {
        let said = f.mmsim(args);
        assert_eq!(said.code, Some(2), "{args:?}: {}", said.stderr);
        assert!(said.stderr.contains(place), "{args:?}: {}", said.stderr);
        assert!(said.stderr.contains(write), "{args:?}: {}", said.stderr);
    }
    let deep = format!("about={}", nested(200));
    let said = f.mmsim(&["run", "x.toml", "--set", &deep]);
    assert!(said.code == Some(2) && said.stderr.contains("at most 80 of them"), "{}", said.stderr);
}

/// Pages of every workload count, and a machine of as many as fit is not stopped by how its tables grow.
#[test]
fn all_pages_count() {
    let f = Folder::new();
    let reader =
        "workload = \"reader\"\nitem = \"1 page\"\nblock = \"1 page\"\nrecords = 1\nitems = ";
    let apps = "workload = \"apps\"\nrecords = 1\napps = 9000\nmapped = \"1 page\"\nread = \"2GiB\"\n\
                heap = \"1 page\"\ninterval = \"1s\"\nlaunch = \"50ms\"";
    let script = |pages: u64| format!("workload = \"script\"\ncommands = [\"anon 0 {pages}\"]");
    let masim = |bytes: u64| {
        format!(
            "workload = \"masim\"\ntext = \"\"\"\n#regions\na, {bytes}\nb, {bytes}\n\nphase one\n1\na, 1, 4096, 1, wo\n\"\"\""
        )
    };
    let number = "more than a machine can number";
    for (text, why, place) in [
        (format!("{reader}2000000000"), "of this host", ""),
        (format!("{reader}4294967295"), number, "x.toml:5:12"),
        (apps.to_string(), "is too much", "x.toml:9:8"),
        (apps.replace("9000", "3000"), "of this host", ""),
        (script(4_000_000_000), "of this host", ""),
        (script(4_294_967_295), "write pages as a number from 1 to 4294705152", "x.toml:6:13"),
        (masim(3 << 40), "of this host", ""),
        (masim(3 << 40) + "\nprocesses = 3", number, "x.toml:5:12"),
    ] {
        f.write("x.toml", scenario("16MiB", &text));
        for line in ["$M run x.toml", "$M run x.toml --dry-run"] {
            let (code, _, err) = bash(&f, line);
            assert_eq!(code, Some(2), "{line}: {text}\n{err}");
            assert!(err.contains(why) && err.contains(place), "{line}: {text}\n{err}");
        }
    }
    // 6 GB are as much as fits into these 8 GiB.
    f.write("x.toml", scenario("16MiB", &format!("{reader}900000000")));
    let (code, _, err) = bash(&f, "$M run x.toml -o r.json");
    let free = err.contains("of this host");
    assert!(code == Some(0) || free, "{err}");
}

/// The record of a monitor has a bound, which the estimate knows and the report notes.
#[test]
fn records_of_monitors_are_bounded() {
    let f = Folder::new();
    let work = "workload = \"zipf\"\nmemory = \"8MiB\"\nduration = \"40s\"\nthink = \"1ms\"\n";
    let damon = "[[damon]]\nname = \"eye\"\nsample = \"10us\"\naggr = \"20us\"\n\
                 min-nr-regions = 1000\nmax-nr-regions = 4000\nrecord = true";
    f.write("x.toml", scenario("16MiB", &format!("{work}{damon}")));
    let (code, _, err) = bash(&f, "$M run x.toml --dry-run > d.toml");
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("448.0 MiB of memory"), "{err}");
    let (code, out, err) = bash(&f, "ulimit -v 2097152; $M run x.toml");
    assert_eq!(code, Some(0), "{err}");
    let note = "the record of monitor eye ends at ";
    assert!(out.contains(note) || err.contains(note), "{out}{err}");
}

/// A policy is read no further than it may be long.
#[test]
fn policies_are_read_up_to_their_limit() {
    let f = Folder::new();
    f.write("x.toml", scenario("8MiB", "workload = \"zipf\"\nmemory = \"1MiB\"\naccesses = 10"));
    f.write("s.toml", "version = 1\nseeds = 1\nheld-out = 1\n[[scenario]]\nfile = \"x.toml\"\n");
    let evaluate = "ulimit -v 1048576; $M evaluate --suite s.toml --policy";
    for line in [
        format!("ln -s /dev/zero z.wasm; {evaluate} z.wasm"),
        format!("ln -s /dev/zero z.wat; {evaluate} z.wat"),
        format!("truncate -s 100G l.wasm; {evaluate} l.wasm"),
        format!("mkfifo p.wasm; (yes > p.wasm &) ; {evaluate} p.wasm"),
    ] {
        let (code, _, err) = bash(&f, &line);
        assert_eq!(code, Some(2), "{line}: {err}");
        assert!(err.contains("has more than 65536 bytes"), "{line}: {err}");
    }
}

/// 4 MB that unpack to more than 4 GiB: blocks that know nothing of one another.
fn bomb() -> Vec<u8> {
    let mut zlib = Compress::new(Compression::best(), false);
    let mut block = Vec::with_capacity(1 << 16);
    zlib.compress_vec(&vec![b' '; 1 << 20], &mut block, FlushCompress::Full).unwrap();
    let mut bytes = vec![0x78, 0xda];
    (0..4200).for_each(|_| bytes.extend_from_slice(&block));
    bytes
}

#[test]
#[ignore = "`.ci/run` asks the program of the release"]
fn input_is_read_up_to_a_limit() {
    let f = Folder::with("bomb.data", bomb());
    let (code, _, err) = bash(&f, "$M trace import --from damon bomb.data -o t.mmt");
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("it holds more than 1 GiB") && err.contains("= help: record"), "{err}");
    assert_eq!(f.names(), ["bomb.data"]);
    let (code, _, err) = bash(&f, "$M compare /dev/zero /dev/zero");
    assert_eq!(code, Some(2));
    assert!(err.contains("it is more than 1 GiB"), "{err}");
}

/// Whatever reads text quotes it cut and escaped.
#[test]
fn messages_quote_no_more_than_a_line_of_a_terminal_takes() {
    let f = Folder::new();
    let junk = format!("\u{1b}[31m{}\u{7}", "junk".repeat(75_000));
    let many = format!("{junk}\n").repeat(3);
    for name in
        ["in.cfg", "script.txt", "p.txt", "x.layout", "c.csv", "r.json", "bad.toml", "l.txt"]
    {
        f.write(name, &many);
    }
    f.write("perf.txt", format!("k 1 [0] 1.0: damon:damon_aggregated: target_id={many}"));
    f.write("head.csv", format!("page,{junk}\n1,2\n"));
    let of = |task: &str| scenario("64MiB", task);
    f.write("masim.toml", of("workload = \"masim\"\nconfig = \"in.cfg\""));
    f.write("script.toml", of("workload = \"script\"\nfile = \"script.txt\""));
    f.write("layout.toml", of("workload = \"fragment\"\nload = \"x.layout\""));
    f.write(
        "long.toml",
        of(&format!("workload = \"{}\"\nmemory = \"1MiB\"", "junk".repeat(75_000))),
    );
    for args in [
        &["run", "masim.toml"][..],
        &["run", "script.toml"],
        &["run", "layout.toml"],
        &["run", "long.toml"],
        &["run", "bad.toml"],
        &["compare", "r.json", "r.json"],
        &["damon", "report", "perf.txt"],
        &["damon", "report", "p.txt"],
        &["trace", "import", "--from", "pages", "p.txt", "-o", "o"],
        &["trace", "import", "--from", "lackey", "l.txt", "-o", "o"],
        &["trace", "import", "--from", "csv", "c.csv", "-o", "o"],
        &["trace", "import", "--from", "csv", "head.csv", "--columns", "page=x", "-o", "o"],
        &["run", "masim.toml", "--variant", &junk[..90_000]],
        &["run", &junk[..90_000]],
    ] {
        let said = f.mmsim(args);
        let shown: Vec<&&str> = args.iter().filter(|a| a.len() < 100).collect();
        assert_eq!(said.code, Some(2), "{shown:?}");
        assert!(said.stderr.len() < 5000, "{shown:?}: {} bytes", said.stderr.len());
        let acts = |c: char| c.is_control() && c != '\n';
        assert!(!said.stderr.contains(acts), "{shown:?}: {:?}", said.stderr);
    }
}

/// Names that a spreadsheet would compute are text with `--csv-safe`, wherever CSV is written, and
/// names with direction marks and noncharacters are shown.
#[test]
fn names_do_nothing_to_a_spreadsheet() {
    let f = Folder::new();
    let task = "name = \"@task\"\nworkload = \"sequential\"\nmemory = \"1MiB\"";
    let variants = "[[variant]]\nname = \"=1+1\"\n[[variant]]\nname = \"a\\u202Eb\\uFFFF\"\n";
    f.write("x.toml", format!("{}{variants}", scenario("16MiB", task)));
    let said = f.mmsim(&["run", "x.toml", "--format", "csv"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stdout.contains("x,=1+1,") && said.stdout.contains(",@task.accesses,"));
    assert!(said.stdout.contains("x,a\\u202eb\\uffff,"), "{}", &said.stdout[..2000]);
    let safe = f.mmsim(&["run", "x.toml", "--csv-safe", "--format", "csv"]);
    let expected = said.stdout.replace(",=1+1,", ",'=1+1,").replace(",@task.", ",'@task.");
    assert_eq!(safe.stdout, expected);
    for form in ["table", "json"] {
        let said = f.mmsim(&["run", "x.toml", "--format", form]);
        assert!(!said.stdout.contains(mmsim::error::acts), "{form}");
        let said = f.mmsim(&["run", "x.toml", "--csv-safe", "--format", form]);
        assert_eq!(said.code, Some(2), "{form}");
        assert!(said.stderr.contains("--csv-safe: nothing is written as CSV"), "{}", said.stderr);
    }
    f.write("p.toml", "version = 1\nname = \"p\"\nscenarios = [\"x.toml\"]\n");
    let swept = f.mmsim(&["sweep", "p.toml", "--store", "s"]);
    assert_eq!(swept.code, Some(0), "{}", swept.stderr);
    for form in ["wide", "tidy"] {
        let args = ["sweep", "merge", "p.toml", "--store", "s", "--format", form];
        let plain = f.mmsim(&args).stdout;
        let safe = f.mmsim(&[&args[..], &["--csv-safe"]].concat()).stdout;
        assert!(plain.contains(",=1+1,") && !plain.contains(mmsim::error::acts), "{form}");
        assert_eq!(
            safe.replace(",'=1+1,", ",=1+1,").replace(",'@task.", ",@task."),
            plain,
            "{form}"
        );
        assert!(!safe.contains(",=1+1,"), "{form}");
    }
}

/// A name is of one line and does nothing to a terminal. Those in a report may come from anywhere.
#[test]
fn names_do_nothing_to_a_terminal() {
    let f = Folder::new();
    let task = "name = \"PLAIN\"\nworkload = \"sequential\"\nmemory = \"1MiB\"";
    let text = scenario("16MiB", task);
    let safe = |text: &str| !text.contains(|c: char| c.is_control() && c != '\n');
    for bad in ["\\u001b[31mRED\\u0007", "two\\nlines"] {
        f.write("x.toml", text.replace("PLAIN", bad));
        let said = f.mmsim(&["run", "x.toml"]);
        assert_eq!(said.code, Some(2), "{bad}");
        assert!(safe(&said.stderr) && said.stderr.contains("control character"), "{}", said.stderr);
    }
    f.write("x.toml", &text);
    assert_eq!(f.mmsim(&["run", "x.toml", "-o", "r.json"]).code, Some(0));
    let report = std::fs::read_to_string(f.path("r.json")).unwrap();
    f.write("red.json", report.replace("PLAIN", "\\u001b[31mRED\\u0007"));
    for form in ["table", "csv", "json"] {
        let said = f.mmsim(&["compare", "red.json", "red.json", "--format", form]);
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        assert!(safe(&said.stdout), "{form}");
    }
}
