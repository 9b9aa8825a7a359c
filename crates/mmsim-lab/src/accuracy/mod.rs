//! The accuracy card: the accuracy of the model against recordings, as a document.
//!
//! Everything in it is computed from a [`Validation`] but two things that people write: the
//! conditions under which kernels were recorded, and for each gap the best explanation found
//! ([`remains`]). Kernels with and without a patch are a section of their own. A figure counts as
//! *predicted* unless it was looked at when a constant was chosen ([`calibrated`]). One part is of
//! the quick subset of points alone and stands between two marks, so that a test can compare it
//! with the program within seconds; the whole is made by `mmsim accuracy`.

pub mod calibrated;
mod patched;
mod recorded;
pub mod remains;

use crate::reproduce::counts;
use crate::validate::document::Validation;
use crate::validate::point::Experiment;
use crate::validate::rules;
use calibrated::Calibrated;
use mmsim::error::{Error, ErrorKind};
use mmsim::prose::wrapped_document;
use remains::Remains;

/// Before the part of the quick subset.
const QUICK_BEGIN: &str = "<!-- quick: begin -->\n";
/// After it.
const QUICK_END: &str = "<!-- quick: end -->\n";

/// Sources of the document.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Sources<'a> {
    /// Recordings, for the sensitivities and the choice of the quick subset.
    pub experiments: &'a [Experiment],
    /// Results of replaying them.
    pub validation: &'a Validation,
    /// Results of replaying kernels with and without a patch, if there are any.
    pub patched: Option<&'a Validation>,
    /// The explanations of gaps.
    pub remains: &'a Remains,
    /// Figures that constants were chosen by.
    pub calibrated: &'a Calibrated,
    /// The file that shows the quick subset.
    pub picture: &'a str,
}

impl<'a> Sources<'a> {
    /// Source of a document: recordings, results of replaying them, the remarks that people wrote
    /// about those, and the file that shows the quick subset.
    pub fn new(
        experiments: &'a [Experiment],
        validation: &'a Validation,
        remains: &'a Remains,
        calibrated: &'a Calibrated,
        picture: &'a str,
    ) -> Self {
        Sources { experiments, validation, patched: None, remains, calibrated, picture }
    }

    /// The same, with kernels that carry a patch or lack one.
    pub fn with_patched(self, patched: &'a Validation) -> Self {
        Sources { patched: Some(patched), ..self }
    }
}

/// The whole document.
///
/// # Errors
/// An explanation is of a gap that there is not, or a count of evidence/patched.toml is another one.
pub fn document(s: &Sources<'_>) -> Result<String, Error> {
    let of_patches = s.patched.map(patched::figures).unwrap_or_default();
    if s.patched.is_some() {
        patched::check(&of_patches, &counts::kernels())?;
    }
    let verdicts = patched::verdicts(&of_patches);
    s.remains.check(s.validation.rules.iter().chain(&verdicts))?;
    let parts = [
        HEAD.to_string(),
        recorded::sensitivities(s),
        recorded::by_kernel(s.validation),
        recorded::headline(s),
        recorded::by_experiment(s),
        recorded::outcomes(s.validation),
        patched::section(&of_patches),
        recorded::what_remains(s, &verdicts),
        recorded::not_modelled(s.validation),
        quick_part(&quick_values(s.experiments, s.validation), s.picture),
    ];
    Ok(wrapped_document(&parts.join("\n")))
}

/// A counter of a point of the quick subset, summed over its phases.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct QuickValue {
    /// The experiment.
    pub experiment: String,
    /// The point.
    pub point: String,
    /// The LRU.
    pub policy: String,
    /// The counter, or a sum of some.
    pub counter: &'static str,
    /// Mean count of kernels.
    pub recorded: f64,
    /// Mean count of the model.
    pub simulated: f64,
}

/// The values of the quick subset. The validation may hold more points.
pub fn quick_values(experiments: &[Experiment], v: &Validation) -> Vec<QuickValue> {
    recorded::quick_values(experiments, v)
}

/// The part of the quick subset, with its marks. `picture`: the file that shows it.
pub fn quick_part(values: &[QuickValue], picture: &str) -> String {
    let part = format!("{QUICK_BEGIN}{}{QUICK_END}", recorded::quick(values, picture));
    wrapped_document(&part)
}

/// A document with its part of the quick subset replaced; `name` is where it came from.
///
/// # Errors
/// The marks are not there.
pub fn with_quick_part(document: &str, part: &str, name: &str) -> Result<String, Error> {
    let pieces = document
        .split_once(QUICK_BEGIN)
        .and_then(|(before, rest)| Some((before, rest.split_once(QUICK_END)?.1)));
    let Some((before, after)) = pieces else {
        let title = format!(
            "`{name}` has no part between `{}` and `{}`",
            QUICK_BEGIN.trim(),
            QUICK_END.trim()
        );
        return Err(Error::new(ErrorKind::File, title)
            .help("write the whole anew with `mmsim-lab accuracy`"));
    };
    Ok(format!("{before}{part}{after}"))
}

/// The heading of the table by kernel.
const BY_KERNEL: &str = "## By kernel\n";

/// The table *By kernel* of a document as the library reads it (`nearness.txt` of mmsim-report), with
/// the counters of each rule; `name` is where the document came from.
///
/// # Errors
/// The document has no such table.
pub fn nearness(document: &str, name: &str) -> Result<String, Error> {
    let part = document.split_once(BY_KERNEL).map_or("", |(_, rest)| rest);
    let rows = part.lines().skip_while(|l| !l.starts_with('|')).take_while(|l| l.starts_with('|'));
    let cells = |row: &str| -> Vec<String> {
        row.trim_matches('|').split('|').map(|cell| cell.trim().to_string()).collect()
    };
    let mut rows = rows.map(cells);
    let Some(header) = rows.next() else {
        let title = format!("`{name}` has no table below `{}`", BY_KERNEL.trim());
        return Err(Error::new(ErrorKind::File, title)
            .help("write the whole anew with `mmsim-lab accuracy`"));
    };
    let line = |row: Vec<String>, counters: &str| {
        let (names, cells) = row.split_at(2.min(row.len()));
        format!("{}\t{counters}\t{}\n", names.join("\t"), cells.join("\t"))
    };
    let of_rule = |row: Vec<String>| {
        let counters = rules::counters(&row[0], &row[1]).join(" ");
        line(row, &counters)
    };
    // The line of dashes is skipped.
    let lines: String = rows.skip(1).map(of_rule).collect();
    Ok(line(header, "counters") + &lines)
}

/// The same table, of a validation.
///
/// # Errors
/// No rule is about its points.
pub fn nearness_of(v: &Validation, name: &str) -> Result<String, Error> {
    nearness(&recorded::by_kernel(v), name)
}

const HEAD: &str = "\
# Accuracy of mmsim against real kernels

Written by `mmsim-lab accuracy`, from `mmsim-lab validate evidence/reference` and, for the section *What remains*, from
[gaps.toml](../evidence/gaps.toml). Nothing here is written by hand; `mmsim-lab accuracy --check` compares, and a
test compares the part of the quick subset.

A *cell* is one counter of one phase of one recorded point: the kernel's mean over its repetitions beside that of
replays with the same seeds and the same free memory. Replays differ in when the scheduler's tick comes, which was not
recorded ([ticks and passes](dev/ticks-and-passes.md)). Where the kernel counted 500 events or more, the relative error
counts, and a cell is missed beyond the stated limit or the spread of the recording itself, whichever is larger. Where it
counted fewer, the simulated value has to lie in the recorded range widened by 250 events. Medians are taken for each
experiment, kernel and counter, never over several.

## Under which conditions the kernels were recorded

Linux 6.1.177, 6.12.117, 6.18.15 and 7.3.4 as Debian builds them, in small virtual machines: one CPU, one node, 4 KiB pages, memory cgroups
off, transparent huge pages off, watermark boost and proactive compaction off, short per-CPU lists, exact accessed bits,
and time that is emulated at one nanosecond an instruction. So these figures say how close the model is *there*; they
say nothing about time, nor about which part of reclaim is kswapd's. How a kernel is recorded is described in
[recording.md](recording.md), the recordings in [evidence/reference/](../evidence/reference/README.md).
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quick_part_is_replaced_and_nothing_else() {
        let old = format!("a\n{QUICK_BEGIN}x\n{QUICK_END}b\n");
        let part = format!("{QUICK_BEGIN}y\n{QUICK_END}");
        let new = with_quick_part(&old, &part, "f.md").expect("marks");
        assert_eq!(new, format!("a\n{part}b\n"));
        let said = with_quick_part("a\n", &part, "f.md").expect_err("no marks").to_string();
        assert!(said.contains("`f.md` has no part between"), "{said}");
    }
}
