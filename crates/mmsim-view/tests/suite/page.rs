//! The page of a report.

use mmsim::report::Report;
use mmsim::report::statistics::{estimate, paired_change};
use mmsim::{RunOptions, Scenario};
use mmsim_view::page::{Observed, Source, html};
use mmsim_view::rows::rows;
use mmsim_view::{figure, series};
use serde_json::Value;

use crate::unpack::{data, text, within};

const SCENARIO: &str = r#"
name = "small & <quick>"
seeds = 2
machine = { memory = "16MiB", cpus = 2, swap = { size = "64MiB", device = "ramdisk" } }
task = [{ workload = "zipf", memory = "24MiB", theta = 0.8, accesses = 30000, write-permille = 300 }]
variant = [
    { name = "v5.9", reclaim = { preset = "classic-v5.9" } },
    { name = "</script>", reclaim = { preset = "mglru-v6.12" } },
]
"#;

fn report(more: &str) -> Report {
    let scenario = Scenario::from_str(&format!("{SCENARIO}{more}"), "x.toml").expect("a scenario");
    mmsim::run(&scenario, &RunOptions::default()).expect("runs")
}

fn page(report: &Report, observed: &[Observed]) -> String {
    html(&[Source { name: "", report, observed }], None)
}

/// Whatever the page shows is what the report has: of tables the text, the means, the intervals and
/// the value of each seed; of runs every counter that is not zero.
#[test]
fn every_number_is_the_reports() {
    let report = report("axes = { \"machine.vm.swappiness\" = [10, 100] }\n");
    let (data, _) = data(&page(&report, &[]));
    let groups = report.groups();
    assert_eq!(data["groups"].as_array().map(Vec::len), Some(groups.len()));
    let mut compared = 0;
    for (group, said) in groups.iter().zip(data["groups"].as_array().expect("groups")) {
        let rows = rows(group);
        assert_eq!(said["rows"].as_array().map(Vec::len), Some(rows.len()));
        for (row, said) in rows.iter().zip(said["rows"].as_array().expect("rows")) {
            assert_eq!(
                (&said["l"], &said["v"]),
                (&row.label.clone().into(), &row.values.clone().into())
            );
            assert_eq!(said["c"], Value::from(row.changes.clone()));
            for (v, sample) in row.samples.iter().enumerate() {
                assert_eq!(said["s"][v], serde_json::to_value(sample).expect("numbers"));
                let values: Vec<f64> = sample.iter().map(|s| s.1).collect();
                let mean = estimate(&values).map(|e| (e.mean, e.ci95));
                assert_eq!(said["m"][v], serde_json::to_value(mean).expect("numbers"));
                let change = paired_change(&row.samples[0], sample).map(|e| (e.mean, e.ci95));
                let change = change.filter(|_| row.changes[v] != "-");
                assert_eq!(said["d"][v], serde_json::to_value(change).expect("numbers"));
                compared += 1;
            }
        }
        for (variant, said) in group.variants.iter().zip(said["variants"].as_array().expect("all"))
        {
            assert_eq!(said["name"], variant.name);
            for (run, said) in variant.runs.iter().zip(said["runs"].as_array().expect("runs")) {
                assert_eq!(
                    (&said["seed"], &said["end"]),
                    (&run.seed.into(), &run.sim_time_ns.into())
                );
                let some = run.vmstat.iter().filter(|(_, v)| **v > 0);
                let some: Vec<(&str, u64)> = some.map(|(n, v)| (n, *v)).collect();
                assert_eq!(said["vmstat"], serde_json::to_value(some).expect("numbers"));
            }
        }
    }
    assert!(compared > 40, "{compared} cells");
}

/// Each figure of the table has its words, the same that docs/glossary.md has; without the script the
/// conclusion stands above the drawing, with names as code.
#[test]
fn a_page_explains_and_concludes() {
    let mut report = report("");
    for run in report.runs.iter_mut().filter(|r| r.variant == "v5.9") {
        let faults = run.vmstat.get("pgmajfault").copied().expect("the counter");
        run.vmstat.set("pgmajfault", faults * 9);
    }
    let html = page(&report, &[]);
    let (data, _) = data(&html);
    let words = data["words"].as_array().expect("words");
    let of = |label: &str| {
        let has = |w: &&Value| w[0].as_array().is_some_and(|all| all.contains(&label.into()));
        words.iter().find(has).and_then(|w| w[1].as_str())
    };
    for row in rows(&report.groups()[0]).iter().filter(|row| !row.samples.is_empty()) {
        assert!(of(row.label.trim()).is_some_and(|text| text.len() > 20), "{}", row.label);
    }
    let entry = mmsim_view::glossary::entries().into_iter().find(|e| e.label == "refaults");
    assert_eq!(of("refaults"), entry.map(|e| e.text.join("\n")).as_deref());
    assert!(of("pgscan_kswapd").is_some(), "a counter of the runs");
    let plain = within(&html, "<div id=\"plain\"", "<div id=\"views\"");
    let (said, drawn) = (plain.find("class=\"lead\""), plain.find("<svg"));
    assert!(said.is_some() && said < drawn, "{plain}");
    assert!(plain.contains("<code>v5.9</code>") && !plain.contains('`'), "{plain}");
}

/// Knobs that a variant does not have: of the first variant the script is given those that another
/// lacks, and each variant has what the first does not.
#[test]
fn settings_that_a_variant_lacks_are_known() {
    let report = report("");
    let (data, _) = data(&page(&report, &[]));
    let names = |pairs: &Value| -> Vec<String> {
        let all = pairs.as_array().into_iter().flatten();
        all.map(|p| p[0].as_str().or(p.as_str()).unwrap_or_default().to_string()).collect()
    };
    let base = names(&data["base"]);
    let [first, second] = [0, 1].map(|i| &data["groups"][0]["variants"][i]);
    assert_eq!((names(&first["set"]).len(), first.get("without")), (0, None));
    let (set, without) = (names(&second["set"]), names(&second["without"]));
    // What it lacks is of the first; what it has is either its own or of another value.
    assert!(without.contains(&"reclaim.anon-ratio".to_string()), "{without:?}");
    assert!(without.iter().all(|n| base.contains(n) && !set.contains(n)), "{without:?}");
    let run = report.runs.iter().find(|r| r.variant == "</script>").expect("a run");
    for (knob, _) in run.knobs.iter() {
        assert!(!without.contains(&knob.to_string()), "{knob}");
        assert!(set.contains(&knob.to_string()) || base.contains(&knob.to_string()), "{knob}");
    }
}

/// Direction marks and noncharacters in names are shown wherever the page has them.
#[test]
fn names_do_nothing_to_a_page() {
    let mut report = report("");
    for run in report.runs.iter_mut().filter(|r| r.variant == "v5.9") {
        run.variant = "a\u{202e}b\u{ffff}".into();
    }
    report.scenario = "t\u{2066}x".into();
    let page = page(&report, &[]);
    assert!(!page.contains(mmsim::error::acts), "a character acts");
    let plain = within(&page, "<div id=\"plain\"", "<div id=\"views\"");
    assert!(plain.contains("a\\u202eb\\uffff"), "{plain}");
    let (data, _) = data(&page);
    assert_eq!(data["groups"][0]["variants"][0]["name"], "a\\u202eb\\uffff");
}

/// Without its script the page has the table and a drawing, and names are text wherever they stand.
#[test]
fn without_its_script_it_has_the_table_and_a_drawing() {
    let report = report("");
    let page = page(&report, &[]);
    let plain = within(&page, "<div id=\"plain\"", "<div id=\"views\"");
    let group = &report.groups()[0];
    let shown = text(within(plain, "<table", "</table>"));
    let words: Vec<&str> = shown.split_whitespace().collect();
    for row in rows(group) {
        for cell in row.values.iter().chain(&row.changes[1..]) {
            let cell: Vec<&str> = cell.split_whitespace().collect();
            assert!(cell.is_empty() || words.windows(cell.len()).any(|w| w == cell), "{cell:?}");
        }
    }
    let drawing = within(plain, "<svg", "</svg>");
    for v in 0..group.variants.len() {
        let mean = figure::mean(group, v, figure::main_of(&report)).expect("a mean");
        assert!(drawing.contains(&figure::words(&mean)), "{drawing}");
    }
    assert!(!page.contains("<quick>") && !plain.contains("</script>"));
    assert_eq!(page.matches("</script>").count(), 3);
}

/// Nothing is fetched, everything but the data fits 140 KB, and equal runs are equal bytes.
#[test]
fn it_is_one_file_of_the_same_bytes() {
    let report = report("");
    let one = page(&report, &[]);
    assert_eq!(one, page(&report, &[]));
    let (_, packed) = data(&one);
    assert!(one.len() - packed < 140_000, "{} bytes besides data", one.len() - packed);
    for asked in ["src=", "url(", "@import", "fetch(", "XMLHttpRequest", "import("] {
        assert!(!one.contains(asked), "{asked}");
    }
    let names = ["http://www.w3.org/2000/svg", "https://github.com/leeoniya/uPlot"];
    let links = one.matches("http").count();
    let known: usize = names.iter().map(|name| one.matches(name).count()).sum();
    let policy = one.matches("http-equiv").count();
    assert_eq!(links, known + policy, "a link to somewhere");
    assert!(one.contains("default-src 'none'"));
    assert!(one.contains("Leon Sorokin"), "the licence of uPlot");
}

/// Totals are written as differences, and add up to the series.
#[test]
fn a_series_is_what_was_recorded() {
    let report = report("");
    let csv = "time_ns,pswpin,nr_free_pages,run\n0,0,900,0\n100,5,800,0\n200,9,850,0\n\
               0,0,900,1\n100,7,10,1\n0,0,1,2\n0,0,1,3\n";
    let all = series::read(csv, "s.csv", 4).expect("a series");
    let observed: Vec<Observed> = all
        .into_iter()
        .map(|series| {
            let mut observed = Observed::default();
            observed.series = Some(series);
            observed
        })
        .collect();
    let (data, _) = data(&page(&report, &observed));
    let series = &data["groups"][0]["variants"][0]["runs"][0]["series"];
    let total = |list: &Value| {
        let by = list.as_array().expect("differences").iter().map(|d| d.as_i64().expect("whole"));
        by.scan(0, |total, by| {
            *total += by;
            Some(*total)
        })
        .collect::<Vec<i64>>()
    };
    assert_eq!(total(&series["t"]), [0, 100, 200]);
    assert_eq!(
        (&series["cols"][0][0], total(&series["cols"][0][1])),
        (&"pswpin".into(), vec![0, 5, 9])
    );
    assert_eq!(total(&series["cols"][1][1]), [900, 800, 850]);
}
