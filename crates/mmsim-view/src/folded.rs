//! Why pages came back as folded stacks, a line each, which tools for flame graphs read: the run, the
//! task that wanted the page, its region, the class, and how many.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use mmsim::why::Verdicts;

/// A name as a frame of a stack: what ends a frame or a line is not in it.
fn frame(name: &str) -> String {
    name.replace(';', ",").replace(['\n', '\r'], " ")
}

/// The stacks of these runs, each below the frames of its own; equal stacks are one.
pub fn folded<'a>(runs: impl IntoIterator<Item = (Vec<String>, &'a Verdicts)>) -> String {
    let mut out = String::new();
    for (below, verdicts) in runs {
        let mut counts: BTreeMap<(&str, &str, &str), u64> = BTreeMap::new();
        for cell in &verdicts.cells {
            let task = cell.task.as_deref().unwrap_or("(none)");
            let stack = (task, cell.region.as_str(), cell.class.words());
            *counts.entry(stack).or_default() += cell.count;
        }
        let below: String = below.iter().map(|name| frame(name) + ";").collect();
        for ((task, region, class), count) in counts {
            let _ = writeln!(out, "{below}{};{};{class} {count}", frame(task), frame(region));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use mmsim::why::{Cell, Class};

    #[test]
    fn stacks_are_sums_over_phases_and_kinds() {
        let cell = |phase, region: &str, class, count| Cell {
            phase,
            task: if phase == 2 { None } else { Some("a;b".into()) },
            group: String::new(),
            region: region.into(),
            file: false,
            without_device: false,
            written: phase == 1,
            class,
            count,
        };
        let cells = vec![
            cell(0, "a;b:0", Class::Capacity, 3),
            cell(1, "a;b:0", Class::Capacity, 4),
            cell(1, "a;b:0", Class::Order, 1),
            cell(2, "file f g", Class::ReadAhead, 9),
        ];
        let verdicts = Verdicts { cells, ..Verdicts::default() };
        let text = folded([(vec!["v5.9".to_string(), "seed 1".to_string()], &verdicts)]);
        assert_eq!(
            text,
            "v5.9;seed 1;(none);file f g;read ahead 9\n\
             v5.9;seed 1;a,b;a,b:0;capacity 7\n\
             v5.9;seed 1;a,b;a,b:0;order 1\n"
        );
    }
}
