//! Refusals of `mmsim why`.

use super::GOOD;
use crate::golden::Golden;
use crate::harness::{Folder, repository};

const TWO: &str = "
[[variant]]
name = \"old\"
kernel = \"5.9\"
[[variant]]
name = \"new\"
kernel = \"6.12\"
";

const PHASED: &str = "
schema = 1
machine = { memory = \"16MiB\", swap = { size = \"64MiB\", device = \"ramdisk\" } }
[[task]]
workload = \"phased\"
regions = { hot = { memory = \"4MiB\" }, cold = { memory = \"32MiB\" } }
steps = [
    { do = \"allocate\", region = \"hot\" },
    { do = \"allocate\", region = \"cold\" },
    { do = \"touch\", region = \"hot\" },
]
";

/// A region is known by its name and by its number.
#[test]
fn a_region_has_a_name_and_a_number() {
    let f = Folder::new();
    f.write("p.toml", PHASED);
    let life = |region: &str| {
        let page = format!("phased:{region}:0");
        let said = f.mmsim(&["why", "p.toml", "--page", &page]);
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        said.stdout.lines().skip(1).map(str::to_string).collect::<Vec<_>>()
    };
    assert_eq!(life("hot"), life("0"));
}

#[test]
fn whys_that_cannot_be() {
    let golden = Golden::of("why");
    let f = Folder::new();
    f.write("a.toml", format!("{GOOD}{TWO}"));
    let uniform = "uniform\"\naccesses = 500";
    f.write("b.toml", GOOD.replace("sequential\"", uniform));
    f.write("c.toml", GOOD.replace("seed = 1", "seed = 2"));
    f.write("c2.toml", GOOD);
    f.write("c3.toml", GOOD);
    f.write("e.toml", format!("{GOOD}\n[axes]\n\"machine.cpus\" = [1, 2]\n"));
    f.write("d.toml", format!("{GOOD}{}", TWO.replace("\"old\"", "\"older\"").replace("new", "x")));
    f.write("p.toml", PHASED);
    for (case, args) in [
        ("unknown-variant", &["why", "a.toml", "--variant", "middle"][..]),
        ("unknown-one-of-two", &["why", "a.toml", "--variants", "old,middle"]),
        ("several-seeds", &["why", "a.toml", "--variants", "old,new", "--seeds", "5"]),
        ("one-variant", &["why", "a.toml", "--variants", "old"]),
        ("page-of-two-runs", &["why", "a.toml", "--page", "sequential:0:1"]),
        ("page-that-never-was", &["why", "b.toml", "--page", "uniform:0:999999"]),
        ("page-of-no-form", &["why", "b.toml", "--page", "page7"]),
        ("page-of-no-number", &["why", "b.toml", "--page", "uniform:0:x"]),
        ("page-of-no-region", &["why", "b.toml", "--page", "uniform:heap:1"]),
        ("page-of-no-task", &["why", "b.toml", "--page", "uniforn:0:1"]),
        ("page-of-no-file", &["why", "b.toml", "--page", "file:data:1"]),
        ("page-of-two-settings", &["why", "e.toml", "--page", "sequential:0:1"]),
        ("at-no-axes", &["why", "a.toml", "--at", "machine.cpus=2"]),
        ("at-no-axis", &["why", "e.toml", "--at", "machine.cpu=2"]),
        ("at-no-value", &["why", "e.toml", "--at", "machine.cpus=3"]),
        (
            "at-one-axis-twice",
            &["why", "e.toml", "--at", "machine.cpus=1", "--at", "machine.cpus=2"],
        ),
        ("page-of-no-region-name", &["why", "p.toml", "--page", "phased:hut:1"]),
        ("the-same-run", &["why", "c2.toml", "c2.toml"]),
        ("the-same-run-of-two-files", &["why", "c2.toml", "c3.toml"]),
        ("other-work", &["why", "b.toml", "c.toml", "--seed", "1"]),
        ("other-seed", &["why", "c.toml", "c2.toml"]),
        ("no-pair", &["why", "a.toml", "d.toml"]),
        ("stdin-twice", &["why", "-", "-"]),
        ("variant-of-no-file", &["why", "a.toml", "d.toml", "--variants", "older,old"]),
        ("page-as-csv", &["why", "b.toml", "--page", "uniform:0:1", "--format", "csv"]),
    ] {
        let said = f.mmsim(args);
        golden.is(case, &said);
        assert_eq!(said.code, Some(2), "{case}: {}", said.stderr);
    }
}

/// If the variants of two files have different names, one of each can be named.
#[test]
fn variants_of_two_files_are_named() {
    let f = Folder::new();
    f.write("a.toml", format!("{GOOD}{TWO}"));
    f.write("d.toml", format!("{GOOD}{}", TWO.replace("\"new\"", "\"x\"")));
    let said = f.mmsim(&["why", "a.toml", "d.toml", "--variants", "old,x"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let runs: Vec<&str> = said.stdout.lines().take(2).collect();
    assert_eq!(runs, ["A  old, seed 1", "B  x, seed 1"]);
    let same = f.mmsim(&["why", "a.toml", "--variants", "old,new"]);
    let rest = |text: &str| text.split_once("\n\n").expect("a table").1.to_string();
    assert_eq!(rest(&said.stdout), rest(&same.stdout), "`x` is `new` by another name");
}

/// Behind the sentences of all seeds stand the tables of the first, which say so.
#[test]
fn tables_of_the_first_seed_say_so() {
    let f = Folder::new();
    f.write("a.toml", format!("{GOOD}{TWO}"));
    let heads = |seeds: &str| {
        let said = f.mmsim(&["run", "a.toml", "--why", "--seeds", seeds]);
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        let heads = said.stdout.lines().filter(|l| l.contains(", seed "));
        heads.map(str::to_string).collect::<Vec<_>>()
    };
    assert_eq!(heads("1"), ["old, seed 1", "new, seed 1"]);
    assert_eq!(heads("3"), ["old, seed 1, the first of 3", "new, seed 1, the first of 3"]);
}

/// Classes of a run that ended early are printed, and so is the early end, as by `run`.
#[test]
fn an_early_end_is_said() {
    let f = Folder::new();
    let text =
        std::fs::read_to_string(repository("scenarios/tiny-oom.toml")).expect("the scenario");
    let expected: Vec<&str> = text.lines().filter(|l| !l.contains("expect-oom")).collect();
    assert_ne!(expected.len(), text.lines().count(), "it is expected there");
    f.write("o.toml", expected.join("\n"));
    for verb in ["run", "why"] {
        let said = f.mmsim(&[verb, "o.toml"]);
        assert_eq!(said.code, Some(3), "{verb}: {}", said.stderr);
        assert!(said.stderr.contains("out of memory after"), "{verb}: {}", said.stderr);
    }
    let said = f.mmsim(&["ablate", "o.toml", "--from", "classic-v5.8", "--to", "classic-v5.9"]);
    assert_eq!(said.code, Some(3), "{}", said.stderr);
    f.write("more.toml", expected.join("\n").replace("32MiB", "24MiB"));
    let said = f.mmsim(&["why", "o.toml", "more.toml"]);
    assert_eq!(said.code, Some(3), "{}", said.stderr);
    assert!(said.stderr.contains("did not do all its work"), "{}", said.stderr);
    let said = f.mmsim(&["why", &repository("scenarios/tiny-oom.toml").display().to_string()]);
    assert!(
        said.code == Some(0) && said.stdout.contains("It ran out of memory"),
        "{}",
        said.stdout
    );
}
