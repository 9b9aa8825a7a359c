//! `mmsim damon report`, `damon heatmap`, `damon import`: records of monitors, for people and for
//! programs, and arguments of monitors.

use std::fmt::Write as _;
use std::path::Path;

use mmsim::record::heatmap::{Frame, Heatmap};
use mmsim::record::summary::{Summary, Validity, WorkingSet};
use mmsim::record::{self, Record};
use mmsim::report::{Rows, or_empty};
use mmsim_view::heat;
use serde::Serialize;

use crate::args::{
    DamonArgs, DamonHeatmapArgs, DamonImportArgs, DamonReportArgs, DamonVerb, OutputArgs,
};
use mmsim_terminal::exit::{Ending, Failure};
use mmsim_terminal::output;

/// Runs the subcommand.
pub(crate) fn damon(args: &DamonArgs) -> Result<Ending, Failure> {
    match &args.what {
        DamonVerb::Report(args) => report(args),
        DamonVerb::Heatmap(args) => heatmap(args),
        DamonVerb::Import(args) => import(args),
    }?;
    Ok(Ending::Done)
}

fn import(args: &DamonImportArgs) -> Result<(), Failure> {
    output::distinct(&[&args.file], &[("--output", args.output.as_deref())])?;
    let tables = record::arguments(&args.file, &args.task)?;
    output::deliver(tables.as_bytes(), args.output.as_deref())
}

fn report(args: &DamonReportArgs) -> Result<(), Failure> {
    let records = records(&args.record, args.target, &args.output)?;
    let number = args.snapshot.map(|n| usize::try_from(n).unwrap_or(usize::MAX));
    let all: Vec<Summary> = records
        .iter()
        .map(|record| record::summary::summary(record, number))
        .collect::<Result<_, mmsim::Error>>()?;
    args.output.emit(
        || all.iter().map(summary).collect::<Vec<String>>().join("\n"),
        || json("records", &all),
        || regions(&all),
    )
}

fn heatmap(args: &DamonHeatmapArgs) -> Result<(), Failure> {
    let images = [("--png", args.png.as_deref()), ("--svg", args.svg.as_deref())];
    let all = [("--output", args.output.output.as_deref()), images[0], images[1]];
    output::distinct(&[&args.record], &all)?;
    all.iter().try_for_each(|(_, path)| output::check(*path))?;
    let records = records(&args.record, args.target, &args.output)?;
    let asked = images.iter().find(|(_, path)| path.is_some());
    if let (Some((option, _)), true) = (asked, records.len() > 1) {
        let known: Vec<String> = records.iter().map(|r| r.target_id.to_string()).collect();
        let title =
            format!("{option}: an image is of one target, and there are {}", known.join(", "));
        let error = mmsim::Error::of_option(title).help("write --target ID too");
        return Err(Failure::Input(error));
    }
    let frame = Frame::new(args.rows.into(), args.columns.into()).with_addresses(args.addresses);
    let all: Vec<Heatmap> = records
        .iter()
        .map(|record| record::heatmap::draw(record, &frame))
        .collect::<Result<_, mmsim::Error>>()?;
    args.output.emit(
        || all.iter().map(picture).collect::<Vec<String>>().join("\n"),
        || json("heatmaps", &all),
        || cells(&all),
    )?;
    if let (Some(path), [map]) = (&args.png, all.as_slice()) {
        output::deliver(&heat::png(map), Some(path))?;
    }
    if let (Some(path), [map]) = (&args.svg, all.as_slice()) {
        output::deliver(heat::svg(map).as_bytes(), Some(path))?;
    }
    Ok(())
}

/// The records of a file, or those of one target.
fn records(path: &Path, target: Option<u64>, out: &OutputArgs) -> Result<Vec<Record>, Failure> {
    output::distinct(&[path], &[("--output", out.output.as_deref())])?;
    let mut records = record::load(path)?;
    if let Some(wanted) = target {
        let known: Vec<String> = records.iter().map(|r| r.target_id.to_string()).collect();
        records.retain(|r| r.target_id == wanted);
        if records.is_empty() {
            return Err(Failure::said(format!(
                "{}: there is no target {wanted}, it has {}",
                path.display(),
                known.join(", ")
            )));
        }
    }
    Ok(records)
}

fn json<T: Serialize>(name: &str, all: &[T]) -> String {
    let document = std::collections::BTreeMap::from([(name, all)]);
    let json = serde_json::to_string_pretty(&document).expect("plain data");
    format!("{json}\n")
}

fn seconds(ns: u64) -> String {
    format!("{:.3}", ns as f64 / 1e9)
}

fn bytes(n: u64) -> String {
    const UNITS: [(&str, f64); 3] =
        [("GiB", (1_u64 << 30) as f64), ("MiB", (1 << 20) as f64), ("KiB", 1024.0)];
    let unit = UNITS.iter().find(|u| n as f64 >= u.1);
    unit.map_or_else(|| format!("{n} B"), |(name, size)| format!("{:.1} {name}", n as f64 / size))
}

fn summary(s: &Summary) -> String {
    let mut out = String::new();
    let intervals = match (s.sample_us, s.aggr_us) {
        (Some(sample), Some(aggr)) => {
            format!(", samples every {sample} us, aggregated over {aggr} us")
        }
        _ => ", intervals unknown".to_string(),
    };
    let of_scheme = s.scheme_idx.map_or(String::new(), |i| format!(", regions of scheme {i}"));
    // Writing into a string cannot fail.
    let _ = writeln!(
        out,
        "target {} of kdamond {}, context {}{of_scheme}: {} snapshots, {} to {} s{intervals}\n",
        s.target_id,
        s.kdamond_idx,
        s.context_idx,
        s.snapshots,
        seconds(s.start_ns),
        seconds(s.end_ns)
    );
    let shown = &s.snapshot;
    let _ = writeln!(
        out,
        "snapshot {}, {} to {} s, {} regions, working set {}",
        shown.number,
        seconds(shown.start_ns),
        seconds(shown.end_ns),
        shown.regions.len(),
        bytes(shown.working_set_bytes)
    );
    let _ = writeln!(
        out,
        "{:>18} {:>18} {:>11} {:>11} {:>6}",
        "start", "end", "size", "nr_accesses", "age"
    );
    for r in &shown.regions {
        let age = r.age.map_or("-".to_string(), |a| a.to_string());
        let _ = writeln!(
            out,
            "{:>#18x} {:>#18x} {:>11} {:>11} {age:>6}",
            r.start,
            r.end,
            bytes(r.end - r.start),
            r.nr_accesses
        );
    }
    out.push('\n');
    match &s.working_set {
        Some(set) => working_set(&mut out, set),
        None => out.push_str("working set: no snapshot after the first 20, which are left out\n"),
    }
    out.push('\n');
    validity(&mut out, &s.validity);
    out
}

fn working_set(out: &mut String, set: &WorkingSet) {
    let _ = writeln!(
        out,
        "working set of {} snapshots, without the first {}",
        set.snapshots, set.skipped
    );
    for (percent, size) in &set.percentiles {
        let _ = writeln!(out, "{percent:>6} %  {:>11}", bytes(*size));
    }
    let _ = writeln!(out, "{:>8}  {:>11}", "mean", bytes(set.mean_bytes));
}

fn validity(out: &mut String, v: &Validity) {
    let _ = writeln!(
        out,
        "{}: snapshots not of {} to {} ms {}, not of {} to {} regions {}, each may be {}; \
         most accesses {}, may be {}",
        if v.valid { "valid" } else { "not valid" },
        v.length_us.0 as f64 / 1000.0,
        v.length_us.1 as f64 / 1000.0,
        v.other_length,
        v.nr_regions.0,
        v.nr_regions.1,
        v.other_nr_regions,
        v.may,
        v.max_nr_accesses,
        v.max_nr_accesses_allowed
    );
}

fn regions(all: &[Summary]) -> String {
    let mut out = "target_id,start_ns,end_ns,start,end,nr_accesses,age\n".to_string();
    for s in all {
        for r in &s.snapshot.regions {
            let age = r.age.map_or(String::new(), |a| a.to_string());
            let _ = writeln!(
                out,
                "{},{},{},{},{},{},{age}",
                s.target_id, s.snapshot.start_ns, s.snapshot.end_ns, r.start, r.end, r.nr_accesses
            );
        }
    }
    out
}

/// A cell as a character: the hottest cell is 9.
fn shade(cell: Option<f64>, max: f64) -> char {
    match cell {
        None => ' ',
        Some(heat) if heat > 0.0 => {
            let step = (heat / max * 9.0).ceil().clamp(1.0, 9.0);
            char::from(b'0' + step as u8)
        }
        Some(_) => '.',
    }
}

fn picture(map: &Heatmap) -> String {
    let mut out = String::new();
    let max = map.max();
    let columns = map.cells.first().map_or(0, Vec::len);
    let _ = writeln!(
        out,
        "target {}: time goes down, {} ms a row; addresses go right, {} a column",
        map.target_id,
        map.row_ns as f64 / 1e6,
        bytes(map.column_bytes)
    );
    let _ = writeln!(out, "mean nr_accesses: `.` is 0, `9` is {max:.1}, blank was not monitored\n");
    for (i, row) in (0..).zip(&map.cells) {
        let at = seconds(map.start_ns.saturating_add(map.row_ns.saturating_mul(i)));
        let line: String = row.iter().map(|&cell| shade(cell, max)).collect();
        let _ = writeln!(out, "{at:>9} s |{line}|");
    }
    out.push('\n');
    let mut left = 0;
    for (start, end) in &map.areas {
        let from = left / map.column_bytes;
        left += end - start;
        let to = ((left - 1) / map.column_bytes).min(columns as u64);
        let _ = writeln!(
            out,
            "columns {from:>3} to {to:>3}: {start:#x} to {end:#x}, {}",
            bytes(end - start)
        );
    }
    out
}

fn cells(all: &[Heatmap]) -> String {
    let mut out = Rows::below("target_id,time_ns,address,nr_accesses");
    for map in all {
        for (i, row) in (0..).zip(&map.cells) {
            for (j, cell) in (0..).zip(row) {
                let time = map.start_ns.saturating_add(map.row_ns.saturating_mul(i));
                let address = map.address(map.column_bytes.saturating_mul(j));
                out.row(&[&map.target_id, &time, &address, &or_empty(*cell)]);
            }
        }
    }
    out.into_text()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map() -> Heatmap {
        Heatmap {
            target_id: 0,
            start_ns: 500_000_000,
            row_ns: 250_000_000,
            column_bytes: 2048,
            bytes: 8192,
            areas: vec![(0x1000, 0x2000), (0x10000, 0x11000)],
            cells: vec![
                vec![Some(0.0), Some(0.1), Some(2.0), Some(18.0)],
                vec![None, None, Some(9.0), Some(9.1)],
            ],
        }
    }

    #[test]
    fn a_picture() {
        assert_eq!(
            picture(&map()),
            "target 0: time goes down, 250 ms a row; addresses go right, 2.0 KiB a column\n\
             mean nr_accesses: `.` is 0, `9` is 18.0, blank was not monitored\n\
             \n    \
                 0.500 s |.119|\n    \
                 0.750 s |  55|\n\
             \n\
             columns   0 to   1: 0x1000 to 0x2000, 4.0 KiB\n\
             columns   2 to   3: 0x10000 to 0x11000, 4.0 KiB\n"
        );
    }

    #[test]
    fn cells_in_rows() {
        let text = cells(&[map()]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[4], "0,500000000,67584,18");
        assert_eq!(lines[5], "0,750000000,4096,");
    }
}
