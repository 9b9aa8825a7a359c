//! Files of events that are cut off, or are none.

use crate::golden::Golden;
use crate::harness::{self, Folder, Said, repository};

#[test]
fn a_file_that_is_cut_off_gives_what_is_whole() {
    let golden = Golden::of("events");
    let f = Folder::new();
    f.write("x.toml", harness::heap_and_file(20, 24, 8));
    for name in ["e.jsonl", "e.mmev"] {
        let run = ["run", "x.toml", "--variant", "v6.12", "-o", "report", "--events", name];
        assert_eq!(f.mmsim(&run).code, Some(0));
    }
    let (lines, whole) = (f.read("e.jsonl"), f.read_bytes("e.mmev"));
    let cut = |name: &str, length: usize, at_least: usize| {
        f.write("c.mmev", &whole[..length]);
        let said = f.mmsim(&["events", "c.mmev"]);
        golden.is(name, &Said { stdout: String::new(), ..f.mmsim(&["events", "c.mmev"]) });
        let nr = said.stdout.lines().count();
        assert!(said.code == Some(2) && lines.starts_with(&said.stdout), "{name}");
        assert!(nr >= at_least, "{name}: {nr} lines");
        let to_file = f.mmsim(&["events", "c.mmev", "-o", "l.jsonl"]);
        assert_eq!((to_file.code, to_file.stderr), (Some(2), said.stderr), "{name}");
        match at_least {
            0 => assert!(!f.path("l.jsonl").exists(), "{name}"),
            _ => assert!(f.read("l.jsonl") == said.stdout, "{name}"),
        }
        let _ = std::fs::remove_file(f.path("l.jsonl"));
    };
    cut("cut-off-events", whole.len() - 30_000, 20_000);
    cut("events-without-their-end", whole.len() - 1, lines.lines().count());
    cut("cut-off-head", 100, 0);

    let read = |name: &str, file: &str, bytes: &[u8]| {
        f.write(file, bytes);
        let said = f.mmsim(&["events", file, "-o", "n.jsonl"]);
        golden.is(name, &said);
        assert_eq!((said.code, f.path("n.jsonl").exists()), (Some(2), false), "{name}");
    };
    read("events-of-lines", "e.jsonl", lines.as_bytes());
    read("events-of-a-page-trace", "t.mmt", &std::fs::read(repository("traces/sort.mmt")).unwrap());
    read("events-of-a-scenario", "s.toml", b"schema = 1\nname = \"x\"\n");
    read("events-of-a-text", "s.txt", b"name = \"x\"\n");
    read("events-of-nothing", "n.mmev", b"");
    let mut later = whole.clone();
    later[8] = 9;
    read("events-of-a-later-version", "v.mmev", &later);
    let mut flipped = whole.clone();
    flipped[60] ^= 1;
    read("events-with-another-byte", "b.mmev", &flipped);
    golden.is("no-file-of-events", &f.mmsim(&["events", "x.mmev"]));
    let filter = ["events", "e.mmev", "-o", "n.jsonl", "--events-filter"];
    golden.is("events-of-no-task", &f.mmsim(&[&filter[..], &["task=stack"]].concat()));
    assert!(!f.path("n.jsonl").exists());
    golden.is("events-of-no-kind", &f.mmsim(&[&filter[..], &["kind=sim_evicted"]].concat()));
    f.write("plain", &whole);
    golden.is("events-over-themselves", &f.mmsim(&["events", "plain", "-o", "./plain"]));
    golden.is("events-as-bytes-again", &f.mmsim(&["events", "e.mmev", "-o", "f.mmev"]));
    golden.is("trace-info-of-events", &f.mmsim(&["trace", "info", "e.mmev"]));
    golden.is("report-that-would-be-events", &f.mmsim(&["run", "x.toml", "-o", "r.mmev"]));
    let import = ["trace", "import", "--from", "raw-u32", "e.mmev", "-o", "e.mmt"];
    golden.is("import-of-events", &f.mmsim(&import));
}
