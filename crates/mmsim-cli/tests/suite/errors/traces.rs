//! Traces and records that there are not, or not like this.

use super::GOOD;
use crate::golden::Golden;
use crate::harness::{Folder, repository};

fn replay(trace: &str) -> String {
    let from = GOOD.find("workload").expect("the task");
    format!("{}workload = \"replay\"\ntrace = \"{trace}\"\n", &GOOD[..from])
}

/// Bytes whose contents cannot be measured.
#[test]
fn contents() {
    let golden = Golden::of("contents");
    let f = Folder::new();
    std::fs::create_dir(f.path("dir")).expect("a folder");
    f.write("empty.bin", "");
    f.write("zeros.bin", "\0".repeat(5000));
    let is = |name: &str, args: &[&str]| golden.is(name, &f.mmsim(args));
    is("missing-file", &["contents", "none.bin"]);
    is("a-folder", &["contents", "dir"]);
    is("an-empty-file", &["contents", "empty.bin"]);
    #[cfg(unix)]
    is("a-device-without-end", &["contents", "/dev/zero"]);
    is("unknown-compressor", &["contents", "zeros.bin", "--compressor", "lz5"]);
    is("compressor-without-a-crate", &["contents", "zeros.bin", "--compressor", "lzo-rle"]);
    is("output-is-the-input", &["contents", "zeros.bin", "-o", "zeros.bin"]);
    // A page and a part of one, in a summary and a law.
    let said = f.mmsim(&["contents", "zeros.bin"]);
    assert!(said.stdout.contains("pages           2\n"), "{}", said.stdout);
    assert!(said.stdout.ends_with("zero-permille = 1000, same-permille = 0, lengths = [] }\n"));
}

#[test]
fn traces() {
    let golden = Golden::of("traces");
    let f = Folder::new();
    f.write("x.toml", replay("t.mmt"));
    let run = |name: &str| {
        let said = f.mmsim(&["run", "x.toml"]);
        golden.is(name, &said);
    };
    run("missing-trace");
    golden.is("trace-info-of-nothing", &f.mmsim(&["trace", "info", "t.mmt"]));
    let import = ["trace", "import", "--from", "lacky", "none.txt", "-o", "out.mmt"];
    golden.is("trace-import-unknown-format-of-nothing", &f.mmsim(&import));
    f.write("names.toml", replay("t.mmt").replacen("name = \"x\"", "name = \"two\\nlines\"", 1));
    golden.is("name-of-two-lines", &f.mmsim(&["run", "names.toml"]));
    std::fs::create_dir(f.path("dir")).expect("a folder");
    golden.is("trace-info-of-a-folder", &f.mmsim(&["trace", "head", "dir"]));
    f.write("t.mmt", "not a trace at all, but long enough to be looked at");
    run("no-trace");
    let whole = std::fs::read(repository("traces/sort.mmt")).expect("a trace");
    f.write("t.mmt", &whole[..whole.len() / 2]);
    run("truncated-trace");
    f.write("t.mmt", &whole[..7]);
    run("truncated-head");
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 0x10;
    f.write("t.mmt", &flipped);
    run("corrupt-trace");
    flipped.clone_from(&whole);
    flipped[60] ^= 0x10;
    f.write("t.mmt", &flipped);
    run("corrupt-table");
    let mut old = whole.clone();
    old[8] = 1;
    f.write("t.mmt", &old);
    run("old-trace");
    // The four bytes after the head of the table are zstd's own, of which some have no meaning.
    assert_eq!(whole[16..18], *b"T\x01", "a compressed table");
    for at in 34..46 {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x20;
        f.write("t.mmt", &flipped);
        let said = f.mmsim(&["trace", "info", "t.mmt"]);
        assert_eq!(said.code, Some(2), "byte {at}");
        assert!(said.stderr.contains("the digest of the block"), "{}", said.stderr);
    }
}

#[test]
fn imports() {
    let golden = Golden::of("imports");
    let f = Folder::new();
    let import = |name: &str, text: &str, from: &str| {
        f.write("in.txt", text);
        let said = f.mmsim(&["trace", "import", "--from", from, "in.txt", "-o", "out.mmt"]);
        golden.is(name, &said);
        assert_eq!(f.names(), ["in.txt"], "{name}");
    };
    import("import-beyond-addresses", "R 1\nW 0x2 3\nR 0x800000000\n", "pages");
    import("import-end-beyond-addresses", "R 0x7ffffffff 2\n", "pages");
    import("import-of-no-number", "R 1\nR one\n", "pages");
    import("import-of-no-lackey", "I  04016b70,3\n L zz,8\n", "lackey");
    import("import-of-no-format", "R 1\n", "page");
    import("import-of-nothing", "", "pages");
    import("import-of-no-column", "lbn,op\n1,R\n", "csv");
    import("import-of-no-csv-number", "page,op\n1,R\n2x,R\n", "csv");
    import("import-of-few-fields", "page,op\n1,R\n2\n", "csv");
    import("import-of-two-columns", "page,page\n1,5\n", "csv");
    import("import-of-a-wrong-field", "op,page\nR,1\nW,2x\n", "csv");
    import("import-of-no-unit", "page,time\n1,5\n", "csv");
    import("import-of-half-a-record", "123456", "raw-u32");
    import("import-of-unknown-operations", "page,op\n1,0\n2,1\n3,0\n", "csv");
    import("import-of-drmemtrace", "a folder", "drmemtrace");
    f.write("in.txt", "0,8,4096,W,1.5\n0,8,4096,W,0.5\n");
    let like = |shape| ["trace", "import", "--like", shape, "in.txt", "-o", "out.mmt"];
    for (name, shape) in [("import-of-earlier-times", "spc"), ("import-of-no-shape", "spcc")] {
        let said = f.mmsim(&like(shape));
        golden.is(name, &said);
        assert_eq!((said.code, f.names()), (Some(2), vec!["in.txt".to_string()]), "{name}");
    }
    // A packed file is shown as what it holds; maps are a file of their own.
    let packed = zstd::encode_all(&b"R 1\nR one\n"[..], 1).expect("zstd");
    f.write("in.txt", packed);
    let pages = ["trace", "import", "--from", "pages", "in.txt", "-o", "out.mmt"];
    golden.is("import-of-a-packed-file", &f.mmsim(&pages));
    f.write("in.txt", "R 1\n");
    f.write("maps", "00400000-00401000 r-xp 00000000 08:01 5 /bin/x\n00402000 rw-p\n");
    golden.is("import-with-wrong-maps", &f.mmsim(&[&pages[..], &["--maps", "maps"]].concat()));
    std::fs::remove_file(f.path("maps")).expect("it is there");
    // An option for another format is not passed over.
    let import = ["trace", "import", "--from", "pages", "in.txt", "-o", "out.mmt"];
    let said = f.mmsim(&[&import[..], &["--page-size", "8192"]].concat());
    golden.is("import-with-an-option-of-csv", &said);
    assert_eq!((said.code, f.names()), (Some(2), vec!["in.txt".to_string()]));
}

#[test]
fn traces_for_benchmarks() {
    let golden = Golden::of("benchmarks");
    let f = Folder::new();
    f.write("t.bin", [0; 8]);
    f.write("t.u32", [0; 6]);
    f.write("t.oracleGeneral", [0; 30]);
    f.write("good.u32", [0; 8]);
    f.write("requests.csv", "time,key,op\n0,a,get\n1,b,set\n");
    let bench = |name: &str, args: &[&str]| {
        let all = [&["bench-trace"], args, &["--frames", "1000", "-o", "report"]].concat();
        let said = f.mmsim(&all);
        golden.is(name, &said);
        assert!(!f.names().contains(&"report".to_string()), "{name}");
    };
    bench("bench-of-no-format", &["t.bin"]);
    bench("bench-of-unknown-format", &["t.bin", "--from", "u16"]);
    bench("bench-of-a-text", &["requests.csv"]);
    bench("bench-of-a-text-as-one", &["requests.csv", "--from", "csv"]);
    bench("bench-of-a-text-as-numbers", &["requests.csv", "--from", "raw-u32"]);
    bench("bench-of-half-a-record", &["t.u32"]);
    bench("bench-of-half-an-object", &["t.oracleGeneral"]);
    bench("bench-of-no-file", &["none.u32"]);
    bench("bench-of-no-preset", &["good.u32", "--reclaim", "classic-v7"]);
    bench("bench-of-no-device", &["good.u32", "--swap", "floppy"]);
}

#[test]
fn less_memory_than_a_workload_needs() {
    let golden = Golden::of("minimum");
    let f = Folder::new();
    f.write("t.mmt", std::fs::read(repository("traces/sort.mmt")).expect("a trace"));
    let zone = "cpus = 1\nzone = [{ kind = \"Normal\", managed = \"12 pages\" }]\n";
    let memory = "memory = \"16MiB\"\ncpus = 1\n";
    f.write("x.toml", replay("t.mmt").replace(memory, zone));
    let said = f.mmsim(&["run", "x.toml"]);
    golden.is("less-than-the-minimum", &said);
}

/// Records that there are not, or not like this.
#[test]
fn records() {
    let golden = Golden::of("records");
    let f = Folder::new();
    f.write("x.toml", GOOD);
    let line = "kdamond.0 1 [000] 1.000000: damon:damon_aggregated: target_id=3 nr_regions=1 ";
    f.write("good.txt", format!("{line}0-4096: 3 7\n"));
    f.write("bad.txt", format!("{line}0-4096: 3 7\n{line}0-4o96: 3 7\n"));
    f.write("none.txt", "swapper 0 [000] 1.000000: sched:sched_switch: x\n");
    f.write("bad.json", "[{\"snapshots\": [\n  {\"start_time\": \"soon\"}]}]");
    f.write("prose.txt", "What damo wrote yesterday.\n");
    f.write("bytes.bin", [0x7f, 0x45, 0x4c, 0x46, 0xff, 0x00, 0xfe]);
    let cases: &[(&str, &[&str])] = &[
        ("record-without-monitor", &["run", "x.toml", "--damon-record", "records"]),
        ("record-of-no-line", &["damon", "report", "bad.txt"]),
        ("record-of-nothing", &["damon", "heatmap", "none.txt"]),
        ("record-of-no-time", &["damon", "report", "bad.json"]),
        ("record-of-prose", &["damon", "report", "prose.txt"]),
        ("record-of-bytes", &["trace", "import", "--from", "damon", "bytes.bin", "-o", "o.mmt"]),
        ("record-without-target", &["damon", "report", "good.txt", "--target", "4"]),
        ("record-without-snapshot", &["damon", "report", "good.txt", "--snapshot", "2"]),
        ("record-without-address", &["damon", "heatmap", "good.txt", "--address", "0x2000-0x3000"]),
        ("record-over-itself", &["damon", "report", "good.txt", "-o", "good.txt"]),
        (
            "record-imported-wrong",
            &["trace", "import", "--from", "damon", "bad.txt", "-o", "o.mmt"],
        ),
    ];
    let before = f.names();
    for (name, arguments) in cases {
        let said = f.mmsim(arguments);
        golden.is(name, &said);
        assert_eq!(f.names(), before);
    }
    assert_eq!(f.mmsim(&["damon", "report", "good.txt"]).code, Some(0));
}
