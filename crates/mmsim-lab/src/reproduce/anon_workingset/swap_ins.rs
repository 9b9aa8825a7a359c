//! Pages swapped in by ebizzy in the seventh posting, with swap in RAM.

use super::super::lab::{Constant, Lab, ScenarioFile, Sets, by_seed};
use super::super::published::{Cell, Published, Table};
use super::super::{Figures, row, unpublished_row};
use super::{CHUNKS_PER_MIB, counter, ebizzy_machine, ebizzy_task, scale, set};
use mmsim::report::RunReport;
use mmsim::report::statistics::{Estimate, estimate, paired_change};
use mmsim::run::RunError;

pub(super) const SCENARIO: ScenarioFile = ScenarioFile {
    path: "evidence/experiments/anon-workingset/swap-ins.toml",
    text: include_str!("../../../evidence/experiments/anon-workingset/swap-ins.toml"),
};

/// Memory of the machine of 1024 MB that the workload cannot have.
pub(super) const OVERHEAD: Constant = Constant {
    name: "os-overhead",
    value: 400.0,
    unit: "MiB",
    basis: "calibrated on ebizzy-v7-swapin-1t, base, alpha 0.1: the intercept over sizes",
};
/// Records for each chunk.
pub(super) const RECORDS_PER_CHUNK: Constant = Constant {
    name: "records-per-chunk",
    value: 133.0,
    unit: "records",
    basis: "calibrated on ebizzy-v7-swapin-1t, base, alpha 0.1: the slope over sizes",
};

const COPIES: &str = "ebizzy-v7-copies";
/// Where copies of chunks go: nowhere, to the same pages each time, to fresh pages each time.
const BUFFERS: [&str; 3] = ["none", "reuse", "remap"];
/// Size of the chunks of which copies are looked at.
const COPIED_MB: u64 = 1536;

pub(super) fn figures(lab: &Lab<'_>, published: &Published) -> Result<Figures, RunError> {
    let mut figures = Figures::default();
    for (id, threads) in [("ebizzy-v7-swapin-1t", 1), ("ebizzy-v7-swapin-8t", 8)] {
        if lab.wants(id) {
            figures.add(table(lab, published, published.table(id), threads)?);
        }
    }
    if lab.wants(COPIES) && !lab.quick {
        figures.add(copies(lab, published)?);
    }
    Ok(figures)
}

/// The program copies a chunk into memory of its own for each record, which the tables leave out.
/// How much detection gains depends on where that memory comes from.
fn copies(lab: &Lab<'_>, published: &Published) -> Result<Figures, RunError> {
    let scale = scale(lab);
    let alphas: Vec<String> =
        published.table("ebizzy-v7-swapin-1t").columns.iter().map(toml::Value::to_string).collect();
    let mut places = Vec::new();
    for buffer in BUFFERS {
        places.extend(alphas.iter().map(|a| (buffer, (COPIED_MB, a.clone()))));
    }
    let cell = |(buffer, place): &(&str, Place)| {
        let mut sets = sets(lab, scale, place, 1);
        sets.push(set("task[0].copy-buffer", buffer));
        sets
    };
    let cells: Vec<Sets> = places.iter().map(cell).collect();
    let runs = lab.run(COPIES, SCENARIO, &cells)?;
    let mut figures = Figures::default();
    for ((buffer, (_, alpha)), runs) in places.iter().zip(&runs) {
        let swap_ins = |variant: &str| by_seed(runs, variant, |r| counter(r, "pswpin"));
        for variant in ["protection", "detection"] {
            let change = paired_change(&swap_ins("base"), &swap_ins(variant));
            let id = format!("{COPIES}/{buffer}/{variant}_change/{alpha}");
            figures.rows.push(unpublished_row(&id, "pswpin change", "%", change));
        }
    }
    Ok(figures)
}

/// Size of the chunks and exponent: what one run of all variants is about.
type Place = (u64, String);

fn place(cell: &Cell<'_>) -> Place {
    (cell.number("memory_mb"), cell.column())
}

/// The quick subset: half of the sizes and laws, of one thread.
fn is_quick((memory, alpha): &Place, threads: u64) -> bool {
    threads == 1 && [1024, 1536].contains(memory) && alpha != "0.1"
}

/// Settings of the scenario for a cell.
fn sets(lab: &Lab<'_>, scale: u64, (memory, alpha): &Place, threads: u64) -> Sets {
    let records = lab.value(&RECORDS_PER_CHUNK) * (memory * CHUNKS_PER_MIB) as f64;
    let mut sets = ebizzy_machine(scale, lab.value(&OVERHEAD), 5120);
    sets.extend(ebizzy_task(scale, *memory, threads, alpha));
    sets.push(set("task[0].records", records.round() as u64));
    if lab.quick {
        sets.push(set("seeds", 1));
    }
    sets
}

fn table(
    lab: &Lab<'_>,
    published: &Published,
    table: &Table,
    threads: u64,
) -> Result<Figures, RunError> {
    let mut places: Vec<Place> = Vec::new();
    for p in published.cells(table).map(|c| place(&c)) {
        if !places.contains(&p) && (!lab.quick || is_quick(&p, threads)) {
            places.push(p);
        }
    }
    let scale = scale(lab);
    let cells: Vec<Sets> = places.iter().map(|p| sets(lab, scale, p, threads)).collect();
    let runs = lab.run(&table.id, SCENARIO, &cells)?;
    let swap_ins = |runs: &[RunReport], variant: &str| {
        by_seed(runs, variant, |r| counter(r, "pswpin") * scale as f64)
    };
    let simulated = |cell: &Cell<'_>, runs: &[RunReport]| -> Option<Estimate> {
        let series = cell.key("series");
        match series.strip_suffix("_change") {
            Some(variant) => paired_change(&swap_ins(runs, "base"), &swap_ins(runs, variant)),
            None => {
                let values = swap_ins(runs, &series);
                estimate(&values.iter().map(|v| v.1).collect::<Vec<_>>())
            }
        }
    };
    let mut figures = Figures::default();
    for cell in published.cells(table) {
        let Some(i) = places.iter().position(|p| *p == place(&cell)) else { continue };
        let quantity = match cell.key("series").ends_with("_change") {
            true => "pswpin change",
            false => "pswpin",
        };
        figures.rows.push(row(&cell, quantity, simulated(&cell, &runs[i])));
    }
    Ok(figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mmsim::machines::Catalogue;
    use mmsim::scenario::Scenario;

    /// The scenario as it is shipped is a cell of the table.
    #[test]
    fn the_scenario_is_a_cell() {
        let lab = Lab::silent(&|_, _, _| {});
        let shipped = Scenario::from_str(SCENARIO.text, SCENARIO.path).expect("a scenario");
        let cell = shipped.clone().with_sets(&sets(&lab, 1, &(1536, "0.7".into()), 1));
        let cell = cell.expect("values that it takes").expand(&Catalogue).expect("runs");
        assert_eq!(cell, shipped.expand(&Catalogue).expect("runs"));
    }
}
