//! The part of kernels with and without a patch: what the patch does, recorded and simulated.

use super::recorded::{change, table, verdict};
use crate::reproduce::document::KernelScore;
use crate::validate::document::Validation;
use crate::validate::patched::{Asked, PATCHED, Patched};
use crate::validate::rows::PointRow;
use crate::validate::rules::{MANY, Verdict};
use mmsim::error::{Error, ErrorKind};
use mmsim::report::numbers::grouped;

/// One counter of one point of a patched kernel, over the phases that count.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Figure {
    kernel: &'static Patched,
    experiment: String,
    /// The point, without the name of the kernel.
    point: String,
    counter: &'static str,
    recorded: f64,
    simulated: f64,
    /// Effect of the patch on it in per cent, recorded and simulated, where there is such a point
    /// of the kernel that it is compared with.
    effect: Option<[f64; 2]>,
    /// True if it is close enough; `None`: it is not judged.
    met: Option<bool>,
}

/// Sums over the phases called `access..`, or over all where a point has no such phase.
#[derive(Clone, Copy, Default)]
struct Sums {
    recorded: f64,
    simulated: f64,
    /// The least and the most that repetitions counted in each phase, taken together.
    spread: f64,
}

fn sums(point: &[PointRow], counter: &str) -> Sums {
    let named = point.iter().any(|r| r.phase.starts_with("access"));
    let counts = |r: &&PointRow| r.counter == counter && (!named || r.phase.starts_with("access"));
    point.iter().filter(counts).fold(Sums::default(), |s, r| Sums {
        recorded: s.recorded + r.recorded,
        simulated: s.simulated + r.simulated,
        spread: s.spread + r.max - r.min,
    })
}

/// All figures with at least [`MANY`] recorded events, with and without the patch.
pub(super) fn figures(v: &Validation) -> Vec<Figure> {
    let points: Vec<&[PointRow]> = (v.points)
        .chunk_by(|a, b| (&a.experiment, &a.point) == (&b.experiment, &b.point))
        .collect();
    let of = |experiment: &str, id: &str| {
        points.iter().find(|p| p[0].experiment == experiment && p[0].point == id)
    };
    let mut figures = Vec::new();
    for kernel in PATCHED {
        for point in points.iter().filter(|p| p[0].kernel == kernel.name) {
            let (experiment, id) = (&point[0].experiment, &point[0].point);
            let stem = id.strip_suffix(kernel.name).unwrap_or(id);
            let base = kernel.against.and_then(|a| of(experiment, &format!("{stem}{a}")));
            let judged = kernel.asked.counters();
            for &counter in judged.iter().chain(kernel.beside) {
                let now = sums(point, counter);
                let Sums { recorded, simulated, spread } = now;
                let before = base.map(|b| sums(b, counter));
                let many = |s: Sums| s.recorded >= MANY;
                if !many(now) && !before.is_some_and(many) {
                    continue;
                }
                let per_cent = |now: f64, then: f64| 100.0 * (now / then - 1.0);
                let both = before.filter(|b| b.recorded > 0.0 && b.simulated > 0.0);
                let effect = both
                    .map(|b| [per_cent(recorded, b.recorded), per_cent(simulated, b.simulated)]);
                let met = match kernel.asked {
                    _ if !judged.contains(&counter) => None,
                    Asked::Effect(points, _) => effect.map(|[a, b]| (a - b).abs() <= points),
                    Asked::Level(counters) => {
                        let share = counters.iter().find(|c| c.0 == counter).map_or(0.0, |c| c.1);
                        let room = (share * recorded).max(spread);
                        Some((simulated - recorded).abs() <= room)
                    }
                    Asked::Nothing => None,
                };
                figures.push(Figure {
                    kernel,
                    experiment: experiment.clone(),
                    point: stem.trim_end_matches('-').to_string(),
                    counter,
                    recorded,
                    simulated,
                    effect,
                    met,
                });
            }
        }
    }
    figures
}

/// For each experiment, kernel and judged counter whether all its figures are close enough.
pub(super) fn verdicts(figures: &[Figure]) -> Vec<Verdict> {
    let mut all: Vec<Verdict> = Vec::new();
    for f in figures {
        let Some(met) = f.met else { continue };
        let same = |v: &&mut Verdict| {
            (v.experiment.as_str(), v.kernel.as_str(), v.counter.as_str())
                == (f.experiment.as_str(), f.kernel.name, f.counter)
        };
        let missed = u64::from(!met);
        match all.iter_mut().find(same) {
            Some(v) => {
                v.cells += 1;
                v.missed += missed;
                v.met &= met;
            }
            None => all.push(Verdict {
                rule: "patched kernels".into(),
                experiment: f.experiment.clone(),
                kernel: f.kernel.name.into(),
                policy: f.kernel.lru.into(),
                counter: f.counter.into(),
                cells: 1,
                median: None,
                p90: None,
                worst: None,
                median_limit: f64::INFINITY,
                by_range: false,
                worst_limit: f64::INFINITY,
                few: 0,
                missed,
                met,
                misses: Vec::new(),
            }),
        }
    }
    all
}

/// Numbers of figures of a kernel that are close enough, and that are judged.
fn score(figures: &[Figure], kernel: &Patched) -> (u64, u64) {
    let of = || figures.iter().filter(|f| f.kernel == kernel).filter_map(|f| f.met);
    (of().filter(|m| *m).count() as u64, of().count() as u64)
}

/// Holds the counts that `mmsim-lab reproduce` prints against what came out.
///
/// # Errors
/// Counts of evidence/patched.toml are others, all of them.
pub(super) fn check(figures: &[Figure], counted: &[KernelScore]) -> Result<(), Error> {
    let (mut others, mut instead) = (Vec::new(), Vec::new());
    for kernel in PATCHED {
        let (met, of) = score(figures, kernel);
        let said = counted
            .iter()
            .find(|c| c.kernel == kernel.name)
            .map_or((0, 0), |c| (c.score.met, c.score.of));
        if said != (met, of) {
            others.push(format!(
                "{} has {} of {} figures close enough, and {met} of {of} are",
                kernel.name, said.0, said.1
            ));
            instead.push(format!("`met = {met}` and `of = {of}` for {}", kernel.name));
        }
    }
    if others.is_empty() {
        return Ok(());
    }
    let title = format!("evidence/patched.toml: {}", others.join("; "));
    Err(Error::new(ErrorKind::File, title).help(format!("write {} there", instead.join(", "))))
}

/// The row of a kernel: how it is built here, the demand on it, and how much is close enough.
/// `None` if nothing of it was recorded.
fn about_kernel(figures: &[Figure], k: &'static Patched) -> Option<Vec<String>> {
    let of: Vec<&Figure> = figures.iter().filter(|f| f.kernel == k).collect();
    let (met, judged) = score(figures, k);
    let asked = match k.asked {
        Asked::Effect(points, _) => format!("effect within {points:.0} points"),
        Asked::Level(counters) => {
            let each = |(c, share): &(&str, f64)| format!("`{c}` within {:.0} %", share * 100.0);
            counters.iter().map(each).collect::<Vec<_>>().join(", ")
        }
        Asked::Nothing => String::new(),
    };
    let close = match judged {
        0 => String::new(),
        n => format!("{met} of {n}"),
    };
    let knobs: Vec<String> = k.knobs.iter().map(|(k, v)| format!("`{k} = {v}`")).collect();
    let built = match knobs.is_empty() {
        true => format!("`{}`", k.preset),
        false => format!("`{}` with {}", k.preset, knobs.join(", ")),
    };
    let row = vec![k.name.into(), k.about.into(), built, asked, close];
    (!of.is_empty()).then_some(row)
}

/// The section; empty where nothing was recorded.
pub(super) fn section(figures: &[Figure]) -> String {
    if figures.is_empty() {
        return String::new();
    }
    let mut out = HEAD.to_string();
    let rows = PATCHED.iter().filter_map(|k| about_kernel(figures, k));
    out += &table(&["kernel", "what it is", "here", "asked", "close enough"], rows);
    let mut experiments: Vec<&str> = Vec::new();
    for f in figures {
        if !experiments.contains(&f.experiment.as_str()) {
            experiments.push(&f.experiment);
        }
    }
    for experiment in experiments {
        let mut of: Vec<&Figure> = figures.iter().filter(|f| f.experiment == experiment).collect();
        let place = |f: &Figure| {
            let first = of.iter().position(|g| (&g.point, g.counter) == (&f.point, f.counter));
            let point = of.iter().position(|g| g.point == f.point);
            (point, first)
        };
        let mut placed: Vec<_> = of.iter().map(|f| (place(f), *f)).collect();
        placed.sort_by_key(|(p, _)| *p);
        of = placed.into_iter().map(|(_, f)| f).collect();
        out += &format!("\n### {experiment}, with and without a patch\n\n");
        let points = |x: f64| match format!("{x:+.1}") {
            zero if zero.ends_with("0.0") && zero.len() == 4 => "0.0".into(),
            points => points,
        };
        let rows = of.iter().map(|f| {
            let [before, now] = f.effect.map_or(Default::default(), |e| e.map(points));
            vec![
                f.point.clone(),
                format!("`{}`", f.counter),
                f.kernel.name.to_string(),
                grouped(f.recorded.round()),
                grouped(f.simulated.round()),
                change(f.simulated, f.recorded),
                before,
                now,
                f.met.map_or(String::new(), verdict),
            ]
        });
        let header = [
            "point",
            "counter",
            "kernel",
            "recorded",
            "simulated",
            "error",
            "effect, %",
            "simulated, %",
            "",
        ];
        out += &table(&header, rows);
    }
    out
}

const HEAD: &str = "## Kernels with and without a patch

Recordings of kernels that carry a patch or lack one, in [evidence/reference/patched/](../evidence/reference/patched/README.md).
An *effect* is the change of a counter against the kernel without the patch, in per cent. It is close enough within a
number of points of the recorded effect. Where the demand is on levels, the simulated count itself has to be that close,
or within the spread of the repetitions. A figure is the
sum over the phases `access1`, `access2` and so on, or over all phases of a point without these. Figures of fewer than 500
recorded events, with and without the patch, are left out. Nothing was chosen by these figures.

";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::document::Score;

    fn row(kernel: &str, phase: &str, counter: &str, recorded: f64, simulated: f64) -> PointRow {
        PointRow {
            experiment: "e".into(),
            point: format!("p-{kernel}"),
            kernel: kernel.into(),
            policy: "mglru".into(),
            phase: phase.into(),
            counter: counter.into(),
            recorded,
            min: recorded,
            max: recorded,
            simulated,
            replays: [simulated; 2],
            rel_error: None,
            inside: false,
            repetitions: 1,
        }
    }

    #[test]
    fn an_effect_is_the_change_against_the_kernel_without_the_patch() {
        let (base, list) = ("6.12+lazyfree-base", "6.12+lazyfree-list");
        let of = |kernel: &str, file: [f64; 2], anon: f64| {
            vec![
                row(kernel, "populate", "workingset_refault_file", 9e9, 1.0),
                row(kernel, "access1", "workingset_refault_file", file[0], file[1]),
                row(kernel, "access2", "workingset_refault_file", file[0], file[1]),
                row(kernel, "access1", "workingset_refault_anon", anon, anon),
            ]
        };
        let rows = [of(base, [1000.0, 2000.0], 100.0), of(list, [500.0, 1080.0], 499.0)].concat();
        let figures = figures(&Validation::new(rows, vec![], vec![]));
        let effects: Vec<_> = figures.iter().map(|f| (f.counter, f.effect, f.met)).collect();
        let file = "workingset_refault_file";
        assert_eq!(effects, [(file, None, None), (file, Some([-50.0, -46.0]), Some(true))]);
        let verdicts = verdicts(&figures);
        assert_eq!((verdicts.len(), verdicts[0].cells, verdicts[0].met), (1, 1, true));
        let text = section(&figures);
        assert!(text.contains("| 1 of 1 |"), "{text}");
        assert!(text.contains("| p | `workingset_refault_file` | 6.12+lazyfree-list | 1,000 |"));
        assert_eq!(section(&[]), "");
        let counted = |met| [KernelScore { kernel: list.into(), score: Score { met, of: 1 } }];
        assert!(check(&figures, &counted(1)).is_ok());
        let said = check(&figures, &counted(0)).expect_err("another count").to_string();
        assert!(
            said.contains("6.12+lazyfree-list has 0 of 1 figures close enough, and 1 of 1 are")
        );
    }
}
