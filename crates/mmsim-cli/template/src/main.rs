//! Runs a scenario, prints its main figures, and writes `report.json`, which `mmsim show`,
//! `mmsim compare` and `mmsim view` read.

use mmsim::report::derived::Figure;
use mmsim::report::numbers::grouped_row;
use mmsim::{RunOptions, Scenario};

const FIGURES: [Figure; 4] =
    [Figure::SwapIns, Figure::ScannedPerReclaimed, Figure::MajorFaultP99, Figure::Throughput];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).unwrap_or("scenario.toml".into());
    let report = own_policy::run(&Scenario::from_path(file)?, RunOptions::default())?;
    for group in report.groups() {
        let names: String = group.variants.iter().map(|v| format!(" {:>14}", v.name)).collect();
        println!("{:24}{names}", "means over seeds");
        for figure in FIGURES {
            let means: Vec<Option<f64>> = group
                .variants
                .iter()
                .map(|v| {
                    let values = v.values(None, |scope| figure.of(scope));
                    let sum: f64 = values.iter().map(|&(_, value)| value).sum();
                    (!values.is_empty()).then(|| sum / values.len() as f64)
                })
                .collect();
            let cells: String = grouped_row(&means).iter().map(|n| format!(" {n:>14}")).collect();
            println!("{:24}{cells}", figure.label());
        }
    }
    std::fs::write("report.json", report.to_json())?;
    Ok(())
}
