//! Colours of changes on a terminal. A change beyond the noise between seeds is bold: green for the
//! better, red for the worse, without colour where neither direction is better. Its sign and its
//! interval say the same without colours.
//!
//! Cells are marked ([`mmsim::marks`]) while the table is laid out.

use mmsim::marks::{BETTER, STRONG, WORSE, marked};
use mmsim::report::derived::Figure;

use super::Width;
use crate::figure::less_is_better;

/// The figure of a row by its label, which may say of what a throughput is.
fn figure_of(label: &str) -> Option<Figure> {
    let is = |f: &Figure| f.label() == label || f.name() == label;
    let throughput = || label.starts_with("throughput, ").then_some(Figure::Throughput);
    Figure::ALL.into_iter().find(is).or_else(throughput)
}

/// The cell of a change in per cent: marked if the table has colours and the interval leaves out zero.
/// `label`: of the figure.
pub fn change(cell: String, label: &str, mean: f64, ci95: Option<f64>, width: Width) -> String {
    if !width.has_colours() || ci95.is_none_or(|half| mean.abs() <= half) {
        return cell;
    }
    let mark = match figure_of(label.trim()).and_then(less_is_better) {
        Some(less) if less == (mean > 0.0) => WORSE,
        Some(_) => BETTER,
        None => STRONG,
    };
    marked(mark, &cell)
}

#[cfg(test)]
mod tests {
    use mmsim::marks::{END, painted};

    use super::*;
    use crate::table::grid;

    /// Colours take no column: without its sequences the table is the one without colours.
    #[test]
    fn colours_move_nothing() {
        let table = |width: Width| {
            let row = |label: &str, mean: f64, half: f64| {
                let cell = format!("{mean:+.1} ±{half:.1}");
                vec![label.to_string(), change(cell, label, mean, Some(half), width)]
            };
            let rows = [
                row("swap-ins", -12.5, 3.0),
                row("refaults", 130.0, 3.0),
                row("throughput, records/s", 7.0, 3.0),
                row("deactivations", -7.0, 3.0),
                row("major faults", -1.0, 3.0),
            ];
            grid(Some(&["", "change"]), rows, 1, width)
        };
        let (plain, coloured) = (table(Width::default()), table(Width::default().coloured(true)));
        assert_eq!(painted(&plain), plain);
        let coloured = painted(&coloured);
        let lines: Vec<&str> = coloured.lines().collect();
        assert!(lines[1].contains("\u{1b}[1;32m-12.5 ±3.0\u{1b}[0m"), "{coloured:?}");
        assert!(lines[2].contains("\u{1b}[1;31m+130.0 ±3.0\u{1b}[0m"), "{coloured:?}");
        assert!(lines[3].contains("\u{1b}[1;32m+7.0 ±3.0"), "{coloured:?}");
        assert!(lines[4].contains("\u{1b}[1m-7.0 ±3.0"), "{coloured:?}");
        assert!(!lines[5].contains('\u{1b}'), "within the noise: {coloured:?}");
        let without = [BETTER, WORSE, STRONG, END].map(|mark| mark.1);
        let without = without.iter().fold(coloured.clone(), |text, mark| text.replace(mark, ""));
        assert_eq!(without, plain);
    }
}
