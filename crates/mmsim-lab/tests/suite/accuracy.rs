//! docs/accuracy.md is what `mmsim-lab accuracy` writes. The whole takes all recordings; this test
//! compares the part of the quick subset with the program, cell by cell.
//!
//! `MMSIM_BLESS=1 cargo test --workspace --test suite accuracy -- --ignored` rewrites that part.

use crate::harness::{Folder, repository};

#[test]
#[ignore = "`.ci/run` asks the program of every other commit: mmsim-lab accuracy --quick --check"]
fn the_quick_part_is_what_the_program_writes() {
    let f = Folder::new();
    let mut args = vec!["accuracy", "--quick"];
    if std::env::var_os("MMSIM_BLESS").is_none() {
        args.push("--check");
    }
    let out = f.command(&args).current_dir(repository("")).output().expect("starting mmsim");
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{said}\nrun with MMSIM_BLESS=1 and look at the difference");
}

/// `mmsim run` says how near the model is by a table of the library: it is that of docs/accuracy.md
/// with the counters of evidence/rules.toml. `MMSIM_BLESS=1` rewrites it.
#[test]
fn the_table_of_the_library_is_that_of_the_document() {
    let document = std::fs::read_to_string(repository("docs/accuracy.md")).expect("the card");
    let now = mmsim_lab::accuracy::nearness(&document, "docs/accuracy.md").expect("its table");
    let path = repository("crates/mmsim-report/src/nearness.txt");
    if std::env::var_os("MMSIM_BLESS").is_some() {
        std::fs::write(&path, &now).expect("rewriting the table");
    }
    let table = std::fs::read_to_string(&path).expect("the table");
    assert!(table.lines().count() > 10, "{table}");
    assert_eq!(table, now, "run with MMSIM_BLESS=1 and look at the difference");
    let said = mmsim_lab::accuracy::nearness("# x\n", "x.md").expect_err("no table").to_string();
    assert!(said.contains("`x.md` has no table below `## By kernel`"), "{said}");
}

/// A recording of its own, with a gap that is explained, and one that is none any more.
#[test]
fn another_folder_has_a_card_of_its_own() {
    let f = Folder::new();
    for folder in ["mine", "words"] {
        std::fs::create_dir(f.path(folder)).expect("a folder");
    }
    f.write("mine/zipf.json", RECORDING);
    f.write("words/calibration.toml", "[[constant]]\nlooked_at = \"zipf-anon/pgmajfault\"\n");
    let gap = "[[gap]]\nexperiment = \"zipf-anon\"\ncounters = [\"pswpout\"]\nwhy = \"Made up.\"\n";
    f.write("words/gaps.toml", gap);
    let card = ["accuracy", "mine", "--evidence", "words", "-o", "words/accuracy.md"];
    let said = f.mmsim(&card);
    assert_eq!((said.code, said.stderr.as_str(), said.stdout.as_str()), (Some(0), "", ""));
    let text = f.read("words/accuracy.md");
    assert!(text.contains("- **zipf-anon**, classic, Linux 6.12: `pswpout`. Made up.\n"), "{text}");
    assert!(text.contains("| `pgmajfault` | 6.12 | calibrated | 0 |"), "{text}");
    assert!(text.contains("| `pswpin` | 6.12 | predicted | 0 |"), "{text}");
    let why = "its LRU is \"mglru\", and its commands set up another one";
    assert!(text.contains(&format!("| zipf-anon | 1 | {why} | other |")), "{text}");
    // The table by kernel goes to a file as the library reads it.
    let said = f.mmsim(&[&card[..], &["--nearness", "near.txt"]].concat());
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
    let near = f.read("near.txt");
    assert!(
        near.starts_with("LRU\trule\tcounters\t6.12\nclassic\tswap traffic\tpswpin "),
        "{near}"
    );
    // The check compares with the file that was written.
    for more in [&["--check"][..], &["--check", "--quick"]] {
        let said = f.mmsim(&[&card[..], more].concat());
        assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""), "{more:?}");
    }
    // The last figure of the quick part is another.
    let end = text.rfind(" % |").expect("an error of a counter");
    f.write("words/accuracy.md", format!("{}9{}", &text[..end], &text[end..]));
    let quick = [&card[..], &["--check", "--quick"]].concat();
    let said = f.mmsim(&quick);
    assert_eq!(said.code, Some(1), "{}", said.stderr);
    assert!(said.stderr.contains("words/accuracy.md:"), "{}", said.stderr);
    assert_eq!(f.mmsim(&[&card[..], &["--quick"]].concat()).code, Some(0));
    assert_eq!(f.read("words/accuracy.md"), text);
    // A rule that is met is not explained.
    f.write("words/gaps.toml", gap.replace("pswpout", "pswpin"));
    let said = f.mmsim(&card);
    assert_eq!(said.code, Some(2));
    assert!(said.stderr.contains("pswpin of zipf-anon is no gap (any more)"), "{}", said.stderr);
    assert!(said.stderr.contains("words/gaps.toml:3:"), "{}", said.stderr);
    assert_eq!(f.read("words/accuracy.md"), text);
}

/// A kernel that swaps out thousands of pages where everything fits.
const RECORDING: &str = r#"{ "experiment": "zipf-anon", "points": [
{ "id": "p", "kernel": "6.12.117", "lru": "classic", "repetitions": 1,
  "zones_at_start": { "Normal": { "managed": 2000, "free": 1500, "min": 20, "low": 25, "high": 30,
    "lowmem_reserve": [0, 0, 0, 0, 0], "pcp": { "count": 3, "high": 10, "batch": 2 } } },
  "script": ["zram 41943040", "snapx start", "anon 0 1000", "fill 0 0 1000", "snap one"],
  "phases": [{ "phase": "one", "counters": { "pgfault": 1000, "pswpout": 5000,
    "pgactivate": 1000 } }] },
{ "id": "other", "kernel": "6.12.117", "lru": "mglru", "repetitions": 1,
  "zones_at_start": { "Normal": { "managed": 2000, "free": 1500, "min": 20, "low": 25, "high": 30,
    "lowmem_reserve": [0, 0, 0, 0, 0], "pcp": { "count": 3, "high": 10, "batch": 2 } } },
  "script": ["zram 41943040", "snapx start", "anon 0 1000", "fill 0 0 1000", "snap one"],
  "phases": [{ "phase": "one", "counters": {} }] }
] }
"#;
