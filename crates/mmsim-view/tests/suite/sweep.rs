//! A sweep in short.

use mmsim::report::derived::Figure;
use mmsim::{RunOptions, Scenario};
use mmsim_view::figure::{mean, words};
use mmsim_view::settings::{Gatherer, of_report, pivots, table};

const SCENARIO: &str = r#"
name = "sweep"
seeds = 2
machine = { memory = "16MiB", cpus = 2, swap = { size = "64MiB", device = "ramdisk" } }
task = [{ workload = "zipf", memory = "24MiB", theta = 0.8, accesses = 20000, write-permille = 300 }]
axes = { "machine.vm.swappiness" = [10, 100], "task[0].memory" = ["18MiB", "24MiB", "20MiB"] }
variant = [
    { name = "v5.9", reclaim = { preset = "classic-v5.9" } },
    { name = "mglru", reclaim = { preset = "mglru-v6.12" } },
]
"#;

#[test]
fn a_row_for_each_setting_and_a_cell_for_each_pair() {
    let scenario = Scenario::from_str(SCENARIO, "x.toml").expect("a scenario");
    let report = mmsim::run(&scenario, &RunOptions::default()).expect("runs");
    let groups = report.groups();
    let by = Some(Figure::MajorFaults);
    let settings = of_report(&report);
    let mut gatherer = Gatherer::default();
    report.runs.iter().for_each(|run| gatherer.add(run.clone()));
    assert_eq!(gatherer.finish(), settings, "run by run, and all at once");
    let as_they_are = table(&settings, None, 2, usize::MAX);
    let sorted = table(&settings, by, 2, usize::MAX);
    assert_eq!(table(&settings, by, 2, 5).rows.len(), 5);
    assert_eq!(as_they_are.head[..4], ["swappiness", "memory", "variant", "major faults"]);
    assert_eq!((sorted.rows.len(), sorted.names), (12, 3));
    let value = |row: &Vec<String>| row[3].split(' ').next().unwrap_or("").replace(',', "");
    let values: Vec<u64> = sorted.rows.iter().map(|r| value(r).parse().expect("whole")).collect();
    assert!(values.is_sorted(), "{values:?}");
    let mut rows = (as_they_are.rows.clone(), sorted.rows.clone());
    for (i, row) in as_they_are.rows.iter().enumerate() {
        let e = mean(&groups[i / 2], i % 2, Figure::MajorFaults).expect("a mean");
        assert_eq!(row[3], words(&e));
    }
    rows.0.sort();
    rows.1.sort();
    assert_eq!(rows.0, rows.1, "sorting loses nothing");

    let tables = pivots(&settings, by, None);
    assert_eq!(tables.len(), 2);
    assert_eq!(tables[1].title, "major faults in mglru");
    assert_eq!(tables[1].head, ["swappiness \\ memory", "18MiB", "24MiB", "20MiB"]);
    for (r, row) in tables[1].rows.iter().enumerate() {
        for c in 0..3 {
            let e = mean(&groups[r * 3 + c], 1, Figure::MajorFaults).expect("a mean");
            assert_eq!(words(&e), row[1 + c]);
        }
    }
    assert_eq!(pivots(&settings, by, Some(("task[0].memory", "machine.vm.swappiness"))).len(), 2);
    let best = table(&settings, Some(Figure::Throughput), 0, usize::MAX);
    assert!(best.title.ends_with("best throughput, accesses/s first"), "{}", best.title);
}
