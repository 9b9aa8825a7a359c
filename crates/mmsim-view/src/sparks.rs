//! Series as lines of characters, for terminals.

use mmsim::base::vmstat::VmEvent;
use mmsim::report::Report;
use mmsim::report::numbers::grouped;

use crate::page::Observed;
use crate::series::Series;
use crate::time_line::rate;

const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Rows of the drawing: a name, a column, and whether this is a running total.
const SHOWN: [(&str, &str, bool); 4] = [
    ("free", "nr_free_pages", false),
    ("swap-ins", VmEvent::PswpIn.name(), true),
    ("by kswapd", VmEvent::PgStealKswapd.name(), true),
    ("by direct reclaim", VmEvent::PgStealDirect.name(), true),
];

/// A line of characters, each the largest of its share of the values; the largest of all is a full
/// block, and nothing but zero is a blank.
pub fn line(values: &[f64], width: usize) -> String {
    let most = values.iter().copied().fold(0.0, f64::max);
    if most <= 0.0 || width == 0 {
        return String::new();
    }
    let width = width.min(values.len());
    let part = |i: usize| {
        let (from, to) = (i * values.len() / width, (i + 1) * values.len() / width);
        values[from..to].iter().copied().fold(0.0, f64::max)
    };
    let level = |v: f64| match v > 0.0 {
        false => ' ',
        true => LEVELS[((v / most * 8.0).ceil() as usize).clamp(1, 8) - 1],
    };
    (0..width).map(|i| level(part(i))).collect()
}

/// A column as levels, or as events per second.
fn values(series: &Series, column: &str, total: bool) -> Option<Vec<f64>> {
    let levels = series.column(column)?;
    Some(match total {
        true => rate(series, column, 1.0),
        false => levels.iter().map(|&v| v as f64).collect(),
    })
}

/// A row for each variant and for what is drawn of it, of the first seed: name, line, and what a
/// full block stands for.
pub fn rows(report: &Report, observed: &[Observed], width: usize) -> Vec<Vec<String>> {
    let groups = report.groups();
    let Some(group) = groups.first().filter(|_| groups.len() == 1) else { return Vec::new() };
    let mut rows = Vec::new();
    for (name, column, total) in SHOWN {
        for variant in &group.variants {
            let first = variant.runs.first().copied();
            let at = report.runs.iter().position(|r| first.is_some_and(|f| std::ptr::eq(f, r)));
            let series = at.and_then(|at| observed.get(at)?.series.as_ref());
            let Some(values) = series.and_then(|s| values(s, column, total)) else { continue };
            let most = values.iter().copied().fold(0.0, f64::max);
            let unit = if total { " pages/s" } else { " pages" };
            rows.push(vec![
                name.to_string(),
                variant.name.to_string(),
                line(&values, width),
                format!("{}{unit}", grouped(most.round())),
            ]);
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_reach_from_nothing_to_a_full_block() {
        assert_eq!(line(&[0.0, 1.0, 4.0, 8.0], 10), " ▁▄█");
        assert_eq!(line(&[1.0, 8.0, 0.0, 0.0], 2), "█ ");
        assert_eq!(line(&[0.0, 0.0], 5), "");
        assert_eq!(line(&[3.0; 100], 7), "███████");
    }
}
