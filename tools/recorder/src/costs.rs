//! Costs of steps of memory management, from elapsed times of phases.
//!
//! Elapsed time of a phase is fitted to what was done in it: accesses drawn, first touches,
//! write faults on pages that are there, swap-ins, folios looked at and folios evicted. Least
//! squares of relative errors, by the normal equations; a step that hardly occurs is left out.
//! Counters are causes here and times effects: no counter is fitted.

use std::fmt::Write;

use crate::record::Recording;
use crate::script;

/// The steps.
pub const STEPS: [&str; 6] =
    ["access drawn", "first touch", "write fault", "swap-in", "folio looked at", "eviction"];

/// Phases shorter than this weigh as if they took so long, in ns: the reading of counters is
/// part of the time.
const SHORT_NS: f64 = 1e7;

/// A step that occurs less often than this in all phases together tells nothing about its cost:
/// the recorder's own pages fault now and then.
const FEW: f64 = 1000.0;

/// Number of times that each step occurred in a phase, and the time of the phase.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// Where it is from.
    pub name: String,
    /// Steps.
    pub steps: [f64; STEPS.len()],
    /// Elapsed nanoseconds.
    pub ns: f64,
}

/// The rows of a recording: phases behind `start` in which pages were filled or drawn or came
/// back from swap. Others (unmapping, MADV_PAGEOUT, sleeping) have costs of their own.
///
/// # Errors
/// Its script is none.
pub fn rows(name: &str, recording: &Recording) -> Result<Vec<Row>, String> {
    let commands = script::parse(&recording.script.join("\n")).map_err(|e| e.to_string())?;
    let mut rows = Vec::new();
    let (mut drawn, mut filled, mut other) = (0, 0, false);
    let mut phases = recording.phases.iter();
    for command in &commands {
        let (d, f) = command.accesses();
        (drawn, filled) = (drawn + d, filled + f);
        match command {
            script::Command::Snap { .. } => {
                let Some(p) = phases.next() else { break };
                let faults = p.counted("pgfault").saturating_sub(p.counted("pgmajfault"));
                let (first, write) = if filled > 0 { (faults, 0) } else { (0, faults) };
                let major = p.counted("pgmajfault");
                let looked = p.counted("pgscan_anon") + p.counted("pgrefill");
                let steps = [drawn, first, write, major, looked, p.counted("pgsteal_anon")];
                if !other && drawn + first + major > 0 {
                    let name = format!("{name} {}", p.name);
                    rows.push(Row { name, steps: steps.map(|n| n as f64), ns: p.ns as f64 });
                }
                (drawn, filled, other) = (0, 0, false);
            }
            script::Command::Unmap { .. }
            | script::Command::Madvise { .. }
            | script::Command::Ballast { .. }
            | script::Command::SleepMs(_) => other = true,
            _ => {}
        }
    }
    Ok(rows)
}

/// Nanoseconds of each step, `None` for one that hardly occurs.
///
/// # Errors
/// The phases do not tell the steps apart.
pub fn fit(rows: &[Row]) -> Result<[Option<f64>; STEPS.len()], String> {
    let used: Vec<usize> =
        (0..STEPS.len()).filter(|s| rows.iter().map(|r| r.steps[*s]).sum::<f64>() >= FEW).collect();
    let n = used.len();
    // The normal equations, with the right side as a further column.
    let mut a = vec![vec![0.0; n + 1]; n];
    for row in rows {
        let weight = row.ns.max(SHORT_NS).recip().powi(2);
        for i in 0..n {
            let x = row.steps[used[i]] * weight;
            for (cell, step) in a[i].iter_mut().zip(&used) {
                *cell += x * row.steps[*step];
            }
            a[i][n] += x * row.ns;
        }
    }
    let solution = solve(a).ok_or("the phases do not tell the steps apart: record others too")?;
    let mut all = [None; STEPS.len()];
    for (step, ns) in used.into_iter().zip(solution) {
        all[step] = Some(ns);
    }
    Ok(all)
}

/// Elimination with the largest pivot of each column.
fn solve(mut a: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let n = a.len();
    let scale: Vec<f64> = (0..n).map(|i| a[i][i]).collect();
    for i in 0..n {
        let pivot = (i..n).max_by(|x, y| a[*x][i].abs().total_cmp(&a[*y][i].abs()))?;
        a.swap(i, pivot);
        if a[i][i].abs() <= 1e-9 * scale[i].abs() {
            return None;
        }
        let row = a[i].clone();
        for (_, below) in a.iter_mut().enumerate().filter(|(k, _)| *k != i) {
            let factor = below[i] / row[i];
            below.iter_mut().zip(&row).for_each(|(x, y)| *x -= factor * y);
        }
    }
    Some((0..n).map(|i| a[i][n] / a[i][i]).collect())
}

/// The table of costs with what the fit misses by.
///
/// # Errors
/// As of [`fit`].
pub fn table(kernel: &str, rows: &[Row]) -> Result<String, String> {
    let costs = fit(rows)?;
    let mut out = format!("{kernel}: {} phases\n", rows.len());
    for (step, ns) in STEPS.iter().zip(costs) {
        match ns {
            Some(ns) => writeln!(out, "  {step:<16}{ns:>7.0} ns"),
            None => writeln!(out, "  {step:<16}      -"),
        }
        .expect("a string grows");
    }
    out.push_str("  phase                                     measured, ms  fitted    off\n");
    for row in rows {
        let fitted: f64 = row.steps.iter().zip(costs).map(|(n, c)| n * c.unwrap_or(0.0)).sum();
        let off = (fitted - row.ns) / row.ns * 100.0;
        let (ms, fitted) = (row.ns / 1e6, fitted / 1e6);
        writeln!(out, "  {:<42}{ms:>12.1}{fitted:>8.1}{off:>+6.1}%", row.name)
            .expect("a string grows");
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(steps: [f64; 6], ns: f64) -> Row {
        Row { name: "x".into(), steps, ns }
    }

    #[test]
    fn made_up_costs_are_found_again() {
        let costs = [220.0, 3900.0, 1300.0, 7900.0, 1600.0, 9400.0];
        let steps = [
            [0.0, 2e4, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 2e4, 0.0, 0.0],
            [0.0, 9e4, 0.0, 0.0, 7e4, 2e4],
            [8e4, 0.0, 0.0, 3e4, 9e4, 3e4],
            [8e4, 0.0, 4e3, 1e4, 2e4, 9e3],
            [8e4, 0.0, 0.0, 5e3, 4e4, 4e3],
        ];
        let rows = steps.map(|s| row(s, s.iter().zip(costs).map(|(n, c)| n * c).sum()));
        let found = fit(&rows).unwrap_or_else(|e| panic!("{e}"));
        for (found, made_up) in found.iter().zip(costs) {
            assert!((found.expect("a step that occurs") - made_up).abs() < 1e-3, "{found:?}");
        }
    }

    #[test]
    fn contradictions_are_weighed() {
        // One step, a time of 30 ms and one of 50 ms for n = 10^4: the squares of the relative
        // errors are least where sum(1/y) = c n sum(1/y^2). A single fault has no say.
        let rows =
            [row([1e4, 0.0, 0.0, 0.0, 0.0, 0.0], 3e7), row([1e4, 0.0, 1.0, 0.0, 0.0, 0.0], 5e7)];
        let found = fit(&rows).unwrap_or_else(|e| panic!("{e}"));
        let expected = 1e-4 * (1.0 / 3e7 + 1.0 / 5e7) / (1.0 / 9e14 + 1.0 / 25e14);
        assert!((found[0].expect("it occurs") - expected).abs() < 1e-6);
        assert_eq!(found[1..], [None; 5]);
    }

    #[test]
    fn steps_that_always_go_together_cannot_be_told_apart() {
        let rows =
            [row([1e4, 2e4, 0.0, 0.0, 0.0, 0.0], 3e7), row([2e4, 4e4, 0.0, 0.0, 0.0, 0.0], 6e7)];
        assert!(fit(&rows).is_err());
    }

    #[test]
    fn phases_are_told_by_their_commands() {
        let text = "@kernel 6.1\n@script anon 0 100\n@script table 0 100 1\n@script fill 0 0 100\n\
                    @script snap a\n@script madvise 0 0 100 pageout\n@script snap b\n\
                    @script zipf 0 0 50 300 1 0\n@script snap c\n@snap a 9 pgfault=100\n@snap b 9\n\
                    @snap c 9 pgfault=30 pgmajfault=20 pgscan_anon=7 pgrefill=3 pgsteal_anon=5\n@done";
        let all = rows("f", &Recording::read(text).unwrap_or_else(|e| panic!("{e}")));
        let all = all.unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(all.len(), 2);
        assert_eq!((all[0].name.as_str(), all[0].steps[1]), ("f a", 100.0));
        assert_eq!(all[1].steps, [50.0, 0.0, 10.0, 20.0, 10.0, 5.0]);
    }
}
