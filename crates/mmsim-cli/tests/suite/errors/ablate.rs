//! Refusals of `mmsim ablate`.

use super::GOOD;
use crate::golden::Golden;
use crate::harness::Folder;

const VARIANTS: &str = "
[[variant]]
name = \"old\"
reclaim = { preset = \"mglru-v6.1\" }
[[variant]]
name = \"new\"
reclaim = { preset = \"mglru-v6.12\" }
";

#[test]
fn ablations_that_cannot_be() {
    let golden = Golden::of("ablate");
    let f = Folder::new();
    f.write("a.toml", format!("{GOOD}{VARIANTS}"));
    f.write(
        "b.toml",
        format!(
            "{GOOD}{}",
            VARIANTS.replace("mglru-v6.1\" }", "mglru-v6.12\" }\nset = { \"machine.cpus\" = 2 }")
        ),
    );
    let timed = "ebizzy\"\nthreads = 1\nduration = \"300ms\"";
    let timed = GOOD.replace("sequential\"", timed).replace("\"8MiB\"", "\"20MiB\"");
    f.write("timed.toml", timed);
    let from = ["--from", "mglru-v6.12"];
    for (case, args) in [
        ("nothing-to-switch", &["a.toml", from[0], from[1]][..]),
        ("two-ways", &["a.toml", "--to", "mglru-v6.14", "--switch", "bloom=no"]),
        ("same-presets", &["a.toml", from[0], from[1], "--to", "mglru-v6.12"]),
        ("unknown-preset", &["a.toml", from[0], from[1], "--to", "mglru-v6.13"]),
        ("other-lru", &["a.toml", from[0], from[1], "--to", "classic-v6.12"]),
        ("first-stage", &["a.toml", from[0], from[1], "--stage", "mglru-v6.1"]),
        (
            "too-many-for-all-sets",
            &["a.toml", from[0], from[1], "--to", "mglru-v6.14", "--all-sets"],
        ),
        ("unknown-switch", &["a.toml", from[0], from[1], "--switch", "blom=no"]),
        ("no-value", &["a.toml", from[0], from[1], "--switch", "bloom"]),
        ("wrong-value", &["a.toml", from[0], from[1], "--switch", "bloom=never"]),
        ("so-already", &["a.toml", from[0], from[1], "--switch", "bloom=yes"]),
        ("so-already-and-twice", &["a.toml", from[0], from[1], "--switch", "bloom=no,bloom=yes"]),
        ("from-random", &["a.toml", from[0], "random", "--to", "classic-v5.9"]),
        (
            "no-such-figure",
            &[
                "a.toml",
                from[0],
                from[1],
                "--switch",
                "bloom=no",
                "--figure",
                "scanned-per-reclaimed",
                "--set",
                "task[0].memory=1MiB",
            ],
        ),
        ("no-such-kernel", &["a.toml", "--variant", "new", "--to-kernel", "6.13"]),
        ("from-kernel-to-nowhere", &["a.toml", "--variant", "new", "--from-kernel", "6.12"]),
        (
            "kernel-without-the-lru",
            &["a.toml", "--variant", "new", "--from-kernel", "5.9", "--to-kernel", "6.12"],
        ),
        ("same-kernel", &["a.toml", "--variant", "new", "--to-kernel", "6.12"]),
        ("rules-as-preset", &["a.toml", from[0], "rules-v6.12", "--to", "rules-v7.3"]),
        ("unknown-path", &["a.toml", from[0], from[1], "--switch", "machine.vm.swappines=1"]),
        ("wrong-value-of-a-path", &["a.toml", from[0], from[1], "--switch", "machine.cpus=no"]),
        ("path-so-already", &["a.toml", from[0], from[1], "--switch", "machine.vm.swappiness=60"]),
        ("twice", &["a.toml", from[0], from[1], "--switch", "bloom=no,bloom=no"]),
        ("senseless-alone", &["a.toml", from[0], from[1], "--switch", "walk-mmu=no"]),
        ("which-policy", &["a.toml", "--switch", "bloom=no"]),
        ("which-machine", &["b.toml", from[0], from[1], "--switch", "bloom=no"]),
        ("odd-orders", &["a.toml", from[0], from[1], "--to", "mglru-v6.14", "--orders", "3"]),
        ("orders-of-few", &["a.toml", from[0], from[1], "--switch", "bloom=no", "--orders", "4"]),
        (
            "other-accesses",
            &["timed.toml", from[0], from[1], "--switch", "walk-mmu=no,nonleaf-young=no"],
        ),
    ] {
        let said = f.mmsim(&[&["ablate"][..], args].concat());
        golden.is(case, &said);
        assert_eq!(said.code, Some(2), "{case}: {}", said.stderr);
    }
}

/// Mean residence is sampled on request.
#[test]
fn residence_can_be_asked_for() {
    let f = Folder::new();
    f.write("a.toml", GOOD);
    let args = ["--from", "mglru-v6.12", "--switch", "bloom=no", "--figure", "resident"];
    let said = f.mmsim(&[&["ablate", "a.toml"][..], &args].concat());
    assert_eq!(said.code, Some(0), "{}", said.stderr);
}
