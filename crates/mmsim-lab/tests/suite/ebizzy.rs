//! `scenarios/performance/ebizzy-table.toml` beside the published table that it repeats.

use mmsim::Scenario;
use mmsim::machines::Catalogue;
use mmsim_lab::reproduce::published::Published;

use crate::root;

/// `scenarios/performance/ebizzy-table.toml` does what the measured base kernel did in ten seconds
/// of each cell: its records are ten times the published ones a second.
#[test]
fn ebizzy_does_as_many_records_as_were_measured() {
    let root = root();
    let text =
        std::fs::read_to_string(root.join("evidence/published/anon-workingset.toml")).unwrap();
    let published = Published::read(&text);
    let mut expected = Vec::new();
    for (threads, table) in [(1, "ebizzy-v1-1t"), (8, "ebizzy-v1-8t")] {
        let cells = published.cells(published.table(table));
        expected.extend(cells.filter(|c| c.key("series") == "base").map(|c| {
            let memory = c.number("memory_mb");
            let records = c.value() * 10.0;
            let zipf = c.column();
            format!(
                "{{ threads = {threads}, memory = \"{memory}MiB\", zipf = {zipf}, records = {records} }}"
            )
        }));
    }
    assert_eq!(expected.len(), 84);
    let scenario = Scenario::from_path(root.join("scenarios/performance/ebizzy-table.toml"))
        .unwrap_or_else(|e| panic!("{e}"));
    let runs = scenario.expand(&Catalogue).unwrap_or_else(|e| panic!("{e}"));
    let policies = [vec!["v5.5"; 84], vec!["v5.8+prot on 5.5"; 84]];
    for (nth, variant) in policies.iter().enumerate() {
        let of_variant = runs.iter().skip(nth).step_by(2);
        assert!(of_variant.clone().map(|r| r.variant.as_str()).eq(variant.iter().copied()));
        assert!(of_variant.map(|r| &r.axes[0].1).eq(&expected));
    }
}
