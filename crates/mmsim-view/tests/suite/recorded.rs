//! Recorded parts of a page: lives of pages, pageblocks, monitors. Each is compared with the output
//! of another part of the program for the same run.

use std::sync::Mutex;

use mmsim::base::time::SimDuration;
use mmsim::machine::Watch;
use mmsim::machines::Machine;
use mmsim::report::{Report, RunReport};
use mmsim::why::life::lives;
use mmsim::{RunSpec, Scenario};
use mmsim_view::damon::Picture;
use mmsim_view::film;
use mmsim_view::page::{Observed, Source, html, validation};
use mmsim_view::validation::{Sheet, Value as Recorded, svg};
use serde_json::Value;

use crate::unpack::{data, text, within};

const SCENARIO: &str = r#"
name = "recorded"
machine = { memory = "40MiB", cpus = 2, swap = { size = "64MiB", device = "ramdisk" } }
task = [{ name = "app", workload = "phased", regions = { hot = { memory = "16MiB" }, cold = { memory = "32MiB" } },
  steps = [{ do = "allocate", region = "cold" }, { do = "allocate", region = "hot" },
    { do = "repeat", times = 100, steps = [{ do = "touch", region = "hot" }, { do = "sleep", time = "5ms" }] },
    { do = "touch", region = "cold" }] }]
damon = [{ ops = "vaddr", start = "100ms", task = "app", truth = true, min-nr-regions = 10, max-nr-regions = 100,
  sample = "5ms", aggr = "50ms",
  scheme = [{ action = "stat", max-nr-accesses = 0 }] }]
reclaim = { preset = "classic-v5.9" }
"#;

fn spec() -> RunSpec {
    let scenario = Scenario::from_str(SCENARIO, "x.toml").expect("a scenario");
    let mut specs = mmsim::machines::specs(&scenario).expect("runs");
    specs[0].why = true;
    specs.swap_remove(0)
}

/// The run of the page of a report.
fn run_of(report: &Report, observed: Observed) -> Value {
    let source = Source { name: "", report, observed: &[observed] };
    let (data, _) = data(&html(&[source], None));
    data["groups"][0]["variants"][0]["runs"][0].clone()
}

fn numbers(list: &Value) -> Vec<u64> {
    list.as_array().expect("a list").iter().map(|n| n.as_u64().expect("a number")).collect()
}

/// The classes are the report's, and the life of each example has the refault that it is one of.
#[test]
fn classes_have_pages_with_their_lives() {
    let spec = spec();
    let plain = |_: usize, _: &Machine| Watch::default();
    let (meta, result) = mmsim::run::run_one(0, &spec, &plain).expect("a run");
    let examples = &meta.verdicts.as_ref().expect("verdicts").examples;
    let pages: Vec<_> = examples.iter().map(|e| e.index).collect();
    let mut observed = Observed::default();
    observed.lives = lives(&spec, &pages, 6).expect("lives");
    let run = RunReport::from_result(meta, &result);
    let why = run.why.clone().expect("classes");
    let said = run_of(&Report::new("x", "", vec![run]), observed);
    let said = &said["why"];
    assert_eq!(said["refaults"], why.refaults);
    let mut seen = 0;
    for (class, said) in why.classes.iter().zip(said["classes"].as_array().expect("classes")) {
        assert_eq!((&said["anon"], &said["file"]), (&class.anon.into(), &class.file.into()));
        assert_eq!(said["device_ns"], class.device_ns);
        for (shares, said) in [&class.regions, &class.phases, &class.tasks, &class.groups]
            .iter()
            .zip(said["by"].as_array().expect("parts"))
        {
            let all: Vec<(&str, u64)> = shares.iter().map(|s| (s.name.as_str(), s.count)).collect();
            assert_eq!(said[1], serde_json::to_value(all).expect("numbers"));
        }
        for (example, shown) in class.examples.iter().zip(said["examples"].as_array().expect("all"))
        {
            assert_eq!(shown["page"], example.page);
            let life = shown["life"].as_array().expect("a life");
            assert!(life.len() <= 6 && life.is_sorted_by_key(|m| m[0].as_u64()), "{life:?}");
            let whole = shown["left_out"] == 0;
            let back = |m: &Value| m[4] == said["name"] && m[0].as_u64() >= Some(example.t_ns);
            assert!(!whole || life.iter().any(back), "{} {}: {life:?}", said["name"], example.page);
            seen += 1;
        }
    }
    assert!(seen > 0, "no example");
}

/// The last look is what `/proc/pagetypeinfo` shows at the end, and its cells hold all of memory.
#[test]
fn a_look_at_pageblocks_is_the_kernels_files() {
    let spec = spec();
    let kept = film::Watcher::new(1000);
    let last = std::sync::Arc::new(Mutex::new(None));
    let watch = |_: usize, _: &Machine| {
        let (kept, last) = (kept.clone(), last.clone());
        Watch::default()
            .with_observer(kept.observer())
            .with_sample(SimDuration::from_millis(50), Box::new(|_, _, _| {}))
            .with_look(kept.look())
            .with_snapshot(Box::new(move |phase, snapshot| {
                if phase.is_none() {
                    *last.lock().expect("no thread panicked") = Some(snapshot.clone());
                }
            }))
    };
    let (meta, result) = mmsim::run::run_one(0, &spec, &watch).expect("a run");
    let end = last.lock().expect("no thread panicked").take().expect("files at the end");
    let mut observed = Observed::default();
    observed.film = Some(kept.kept());
    let report = Report::new("x", "", vec![RunReport::from_result(meta, &result)]);
    let said = &run_of(&report, observed)["film"];
    let frames = said["frames"].as_array().expect("frames");
    assert!(frames.len() > 3 && said["cell_blocks"] == 1);
    let frame = frames.last().expect("a frame");
    assert_eq!(frame["t"], result.sim_time.0);
    let sum = |of: &dyn Fn(usize) -> u64, n: usize| (0..n).map(of).collect::<Vec<u64>>();
    let types = sum(&|i| end.zones.iter().map(|z| z.pageblocks[i]).sum(), 6);
    assert_eq!(numbers(&frame["types"]), types);
    let order = |o: usize| {
        end.zones.iter().flat_map(|z| z.free_blocks.iter()).map(|by_order| by_order[o]).sum()
    };
    assert_eq!(numbers(&frame["orders"]), sum(&order, numbers(&frame["orders"]).len()));
    // Cells as the script puts them together.
    let mut cells: Vec<[u64; 4]> = Vec::new();
    for frame in frames {
        let mut at = 0;
        for c in numbers(&frame["d"]).chunks(5) {
            at += c[0] as usize;
            cells.resize(cells.len().max(at + 1), [0; 4]);
            cells[at] = [c[1], c[2], c[3], c[4]];
        }
    }
    let want: Vec<[u64; 4]> = end
        .zones
        .iter()
        .flat_map(|z| &z.blocks)
        .map(|b| [b.migratetype as u64, b.free.into(), b.movable.into(), b.pinned.into()])
        .collect();
    assert_eq!(cells, want);
}

/// The hot region is touched in every sample, and the cold one in none: so say the truth and, about,
/// the monitor. What the scheme was tried on is what the report counts.
#[test]
fn a_monitor_stands_beside_the_truth() {
    let spec = spec();
    let plain = |_: usize, _: &Machine| Watch::default();
    let (meta, result) = mmsim::run::run_one(0, &spec, &plain).expect("a run");
    let all = Picture::all(&meta.damon[0], (12, 14));
    let mut observed = Observed::default();
    observed.damon = all.clone();
    let report = Report::new("x", "", vec![RunReport::from_result(meta, &result)]);
    let said = &run_of(&report, observed)["damon"][0];
    let scheme = &report.runs[0].damon[0].schemes[0];
    let tried: u64 = all[0].applied.iter().map(|a| a.3).sum();
    assert_eq!(tried, scheme.sz_tried);
    assert_eq!(said["schemes"][0][2], scheme.sz_tried);
    let cells = |key: &str| -> Vec<Vec<f64>> {
        serde_json::from_value(said[key].clone()).expect("cells of numbers")
    };
    let (told, truth) = (cells("said"), cells("truth"));
    let window = said["window"].as_f64().expect("a number");
    // While only the hot region is in use.
    let hot = |row: &Vec<f64>| row.iter().any(|v| *v > 0.8 * window);
    let rows: Vec<usize> = (0..truth.len()).filter(|&i| hot(&truth[i])).collect();
    assert!(rows.len() > 1, "{truth:?}");
    for i in rows {
        let cold = truth[i].iter().filter(|v| **v == 0.0).count();
        assert!(cold >= 9, "{:?}", truth[i]);
        let far: f64 = truth[i].iter().zip(&told[i]).map(|(a, b)| (a - b).abs()).sum();
        assert!(far / cold as f64 <= 0.25 * window, "{:?}\n{:?}", truth[i], told[i]);
    }
}

fn value(point: &str, recorded: f64, simulated: f64, missed: bool) -> Recorded {
    Recorded {
        names: ["zipf", point, "6.12", "classic", "access", "pswpin"].map(String::from),
        recorded,
        range: (recorded - 1.0, recorded + 1.0),
        simulated,
        inside: (recorded - simulated).abs() <= 1.0,
        missed,
    }
}

/// Each value has a row with the numbers as they are, and a place in the picture.
#[test]
fn a_validation_is_a_page() {
    let values = [
        value("a<b", 0.0, 0.0, false),
        value("c", 1000.0, 1000.5, false),
        value("d", 1000.0, 250_000.0, true),
    ];
    let mut sheet = Sheet::default();
    (sheet.title, sheet.words) = ("Rules".into(), 1);
    (sheet.head, sheet.rows) = (vec!["rule".into()], vec![vec!["swap <traffic>".into()]]);
    let page = validation("v", &["what it is".to_string()], &values, &[sheet]);
    let (data, packed) = data(&page);
    let data = &data["validation"];
    let rows = data["rows"].as_array().expect("rows");
    for (row, value) in rows.iter().zip(&values) {
        for (i, name) in value.names.iter().enumerate() {
            let word = row[i].as_u64().expect("a place") as usize;
            assert_eq!(data["words"][word], *name);
        }
        let (min, max) = value.range;
        let numbers = [value.recorded, min, max, value.simulated];
        assert_eq!(row.as_array().expect("a row")[6..10], numbers.map(Value::from));
        let flags = [value.inside, value.missed].map(|f| Value::from(u8::from(f)));
        assert_eq!(row.as_array().expect("a row")[11..], flags);
    }
    assert_eq!(rows.len(), values.len());
    assert!(text(within(&page, "<main", "<script")).contains("swap <traffic>"));
    assert!(page.len() - packed < 60_000 && !page.contains("uPlot"), "charts that it has not");
    let drawing = svg("v", &values, "");
    // The ground, and three places, one of them framed.
    assert_eq!(drawing.matches("<rect").count(), 4);
    assert_eq!(drawing.matches("stroke=\"#d55e00\"").count(), 1);
}
