//! The two worked examples of the cover letter, on paper.

use mmsim_lru::config::{self, ClassicConfig};
use mmsim_lru::paper;

use super::super::document::Asks;
use super::super::lab::Lab;
use super::super::published::Published;
use super::super::study::Study;
use super::super::{Family, Figures, row};
use mmsim::report::statistics::estimate;
use mmsim::run::RunError;

fn preset(name: &str) -> ClassicConfig {
    config::preset(name).unwrap_or_else(|| panic!("no preset {name}"))
}

/// The figures of both examples.
pub(in super::super) fn figures(
    lab: &Lab<'_>,
    _: &Family,
    _: &Study,
    published: &Published,
) -> Result<Figures, RunError> {
    let mut figures = Figures::default();
    if lab.wants("example-fifty-hot-pages") {
        for cell in published.cells(published.table("example-fifty-hot-pages")) {
            let variant = match cell.key("variant").as_str() {
                "base" => "classic-v5.5",
                _ => "classic-seed-2",
            };
            let steps = paper::fifty_hot_pages(preset(variant));
            let n = steps[cell.number("step") as usize - 1][cell.column];
            figures.rows.push(row(&cell, &cell.column(), estimate(&[n as f64])));
        }
    }
    if lab.wants("example-thrashing-under-protection") {
        for cell in published.cells(published.table("example-thrashing-under-protection")) {
            let steps = paper::will_be_hot(preset("classic-seed-2"), 1);
            let n = steps[cell.number("step") as usize - 1][cell.column];
            figures.rows.push(row(&cell, &cell.column(), estimate(&[n as f64])));
        }
    }
    figures.rows.iter_mut().for_each(|r| r.asks = Asks::Paper);
    Ok(figures)
}
