//! Reports that cannot be compared.

use super::GOOD;
use crate::golden::Golden;
use crate::harness::{Folder, repository};

/// `x.toml` as a report with these options.
fn report(f: &Folder, name: &str, options: &[&str]) {
    let mut args = vec!["run", "x.toml", "--format", "json", "-o", name];
    args.extend(options);
    let said = f.mmsim(&args);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
}

#[test]
fn reports_that_cannot_be_compared() {
    let golden = Golden::of("compare");
    let f = Folder::new();
    f.write("x.toml", GOOD);
    report(&f, "a.json", &[]);
    report(&f, "b.json", &[]);
    let whole = f.read("a.json");
    let refused = |name: &str, b: &str, options: &[&str]| {
        f.write("b.json", b);
        let mut args = vec!["compare", "a.json", "b.json", "-o", "result"];
        args.extend(options);
        let said = f.mmsim(&args);
        golden.is(name, &said);
        assert!(!f.names().contains(&"result".to_string()), "{name}");
    };
    let instead = |from: &str, to: &str| {
        assert!(whole.contains(from), "{from}");
        whole.replacen(from, to, 1)
    };
    refused("compare-empty", "", &[]);
    let cut = whole.find("\"axes\"").expect("axes") + 8;
    refused("compare-truncated", &whole[..cut], &[]);
    refused("compare-no-json", GOOD, &[]);
    refused("compare-a-list", "[1, 2]\n", &[]);
    refused("compare-wrong-type", &instead("\"seed\": 1", "\"seed\": \"one\""), &[]);
    refused("compare-schema", &instead("\"schema\": 1", "\"schema\": 2"), &[]);
    let version = format!("\"mmsim\": \"{}\"", env!("CARGO_PKG_VERSION"));
    refused("compare-version", &instead(&version, "\"mmsim\": \"7.1.0\""), &[]);
    let validation = "{ \"mmsim\": \"0.1.0\", \"schema\": 1, \"points\": [], \"summary\": [] }";
    refused("compare-validation", validation, &[]);
    let recorded =
        std::fs::read_to_string(repository("evidence/reference/file.json")).expect("recordings");
    refused("compare-recording", &recorded, &[]);
    let list = f.mmsim(&["list", "counters", "--format", "json"]).stdout;
    refused("compare-list", &list, &[]);
    let compared = f.mmsim(&["compare", "a.json", "a.json", "--format", "json"]).stdout;
    refused("compare-comparison", &compared, &[]);
    refused("compare-no-runs", &format!("{}[] }}", &whole[..whole.find('[').expect("runs")]), &[]);
    refused("compare-seeds", &instead("\"seed\": 1", "\"seed\": 5"), &[]);
    refused("compare-axes", &instead("\"axes\": {}", "\"axes\": { \"a\": \"1\" }"), &[]);
    refused("compare-phase", &whole, &["--phase", "acess"]);
    report(&f, "b.json", &["--set", "task[0].passes=2"]);
    let twice = f.read("b.json");
    refused("compare-work", &twice, &[]);
    f.write(
        "x.toml",
        GOOD.replace(
            "[[task]]",
            "[[variant]]\nname = \"v1\"\n[[variant]]\nname = \"v2\"\n[[task]]",
        ),
    );
    report(&f, "b.json", &[]);
    refused("compare-variants", &f.read("b.json"), &[]);
    golden.is("compare-nothing-there", &f.mmsim(&["compare", "a.json", "c.json"]));
    golden.is("compare-over-input", &f.mmsim(&["compare", "a.json", "b.json", "-o", "a.json"]));
    golden.is("compare-per-cent", &f.mmsim(&["compare", "a.json", "b.json", "--fail-above", "-5"]));
    assert_eq!(f.read("a.json"), whole);
}

#[test]
fn compare_as_a_check() {
    let golden = Golden::of("compare-check");
    let f = Folder::new();
    f.write("x.toml", GOOD);
    report(&f, "a.json", &[]);
    report(&f, "b.json", &["--set", "machine.memory=32MiB"]);
    let check = |b: &str, pct: &str| f.mmsim(&["compare", "a.json", b, "--fail-above", pct]);
    assert_eq!(check("a.json", "0").code, Some(0));
    assert_eq!(check("b.json", "1000000").code, Some(0));
    let said = check("b.json", "5");
    golden.is("compare-check", &said);
    // The comparison is there all the same.
    assert!(said.code == Some(1) && said.stdout.contains("zone DMA32, managed"), "{}", said.stdout);
}
