//! Curves from samples of the pages: each size as a few small machines, whose counts are multiplied
//! back.
//!
//! A size whose samples would be too small, or all of its pages together, runs with all pages. Waves, places of
//! sizes and stores are those of any curve.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Curve, Drawn, bends, mean_of, size_of};
use crate::attend::Making;
use crate::bench::Replay;
use crate::miniature::{self, Estimated, Miniature, MiniatureReport, Share, Worth, worth};
use crate::plan::{Plan, Point, Sheet};
use crate::run::RunError;
use crate::store::{UnitId, id_of};
use mmsim_base::error::Error;
use mmsim_core::base::vmstat::VmEvent;
use mmsim_language::scenario::RunSpec;
use mmsim_report::derived::{Figure, Scope};
use mmsim_report::numbers::grouped;
use mmsim_report::{Report, RunReport};

/// Figures that samples estimate.
pub const ESTIMATED: [Figure; 5] =
    [Figure::MissRatio, Figure::MajorFaults, Figure::SwapIns, Figure::Refaults, Figure::Throughput];

/// A curve that is drawn from samples.
pub struct SampledCurve {
    curve: Curve,
    share: Share,
    of: u32,
}

/// Results of a curve from samples.
pub struct Estimates {
    /// A run for each sample, with counts of the full run where samples estimate them and nothing
    /// else: what a drawing of one of [`ESTIMATED`] needs.
    pub drawn: Report,
    /// All estimates, with their intervals.
    pub report: MiniatureReport,
}

impl Curve {
    /// The same from `of` samples of each run. Where the share leaves too few pages, the smallest
    /// that does not is taken.
    ///
    /// # Errors
    ///
    /// Samples say nothing of the figure, or the work is none for samples.
    pub fn sampled(self, share: Share, of: u32) -> Result<SampledCurve, Error> {
        if !ESTIMATED.contains(&self.figure) {
            let known: Vec<&str> = ESTIMATED.iter().map(|f| f.name()).collect();
            let name = self.figure.name();
            let title = format!("--by: samples say nothing of `{name}`");
            let help = format!("write one of {}, or leave --miniature out", known.join(", "));
            return Err(Error::of_option(title).help(help));
        }
        // The largest size has the most pages to sample: what refuses it refuses all. With `auto`,
        // only work that no sample can stand for is refused: sizes too small for one run whole.
        let largest = self.first.last().copied().unwrap_or(0);
        let points = self.at(largest)?;
        let (least, samples) = match share {
            Share::Auto => (Share::OneIn(0), 1),
            Share::OneIn(_) => (Share::Auto, of),
        };
        let first = points.iter().map(|p| Miniature::new(&p.spec, least, samples));
        first.collect::<Result<Vec<_>, _>>()?;
        Ok(SampledCurve { curve: self, share, of })
    }
}

impl SampledCurve {
    /// The largest number of samples that it makes.
    ///
    /// # Errors
    ///
    /// A size that the scenario cannot have.
    pub fn runs(&self) -> Result<usize, Error> {
        Ok(self.curve.runs()? * self.of as usize)
    }

    fn at(&self, size: u64) -> Result<Vec<SampledPoint>, Error> {
        let mut all = Vec::new();
        for point in self.curve.at(size)? {
            let asked = Miniature::new(&point.spec, self.share, self.of).ok();
            let saves = |m: &Miniature| 1u64 << m.samples[0].shift > u64::from(self.of);
            let of = asked.filter(|m| self.share != Share::Auto || saves(m));
            let smaller = || Miniature::new(&point.spec, Share::Auto, self.of).ok().filter(saves);
            let whole = || Miniature::unchecked(&point.spec, 0, 1);
            let of = of.or_else(smaller).unwrap_or_else(whole);
            let small = Arc::new(miniature::small(&of.run, of.samples[0], of.scaling));
            let (of, point) = (Arc::new(of), Arc::new(point));
            let one = |nth| SampledPoint {
                of: Arc::clone(&of),
                nth,
                point: Arc::clone(&point),
                small: Arc::clone(&small),
            };
            all.extend((0..of.samples.len()).map(one));
        }
        Ok(all)
    }
}

/// A sample of a run of a curve.
#[derive(Clone, Debug)]
pub struct SampledPoint {
    of: Arc<Miniature>,
    nth: usize,
    point: Arc<Replay>,
    /// The run on the small machine, whose memory the host needs.
    small: Arc<RunSpec>,
}

/// Result of a sample: its report, and the accesses of the full run.
#[derive(Debug, Serialize, Deserialize)]
pub struct MadeSample {
    report: RunReport,
    accesses: u64,
}

impl Point for SampledPoint {
    type Made = MadeSample;

    fn id(&self) -> Option<UnitId> {
        // The tasks of a trace count by what is in it, as its own name has it.
        let machine = RunSpec { tasks: Vec::new(), ..self.point.spec.clone() };
        Some(id_of(&machine, &("curve", self.point.id()?, self.of.samples[self.nth])))
    }

    fn label(&self) -> String {
        format!("{}, sample {}", self.point.spec.label(), self.nth)
    }

    /// The host holds the small machine.
    fn spec(&self) -> Option<&RunSpec> {
        Some(&self.small)
    }

    fn make(&self, how: &Making<'_>) -> Result<MadeSample, RunError> {
        if self.of.samples[self.nth].shift == 0 {
            let report = self.point.spec.make(how)?;
            return Ok(MadeSample { accesses: report.accesses, report });
        }
        let (report, accesses) = miniature::sample(&self.of, self.of.samples[self.nth], how)?;
        Ok(MadeSample { report, accesses })
    }
}

impl SampledPoint {
    /// The run with the counts that its samples estimate, and without all else.
    fn estimate(&self, made: &MadeSample) -> RunReport {
        let shift = self.of.samples[self.nth].shift;
        let mglru = self.of.run.policy.preset.starts_with("mglru");
        let mut run = made.report.clone();
        let kept = |event: &VmEvent| match worth(*event, mglru) {
            Worth::Nothing(_) => None,
            _ => Some((event.name(), made.report.vmstat.get(event.name())? << shift)),
        };
        run.vmstat = VmEvent::ALL.iter().filter_map(kept).collect();
        run.cache_misses = run.cache_misses.map(|n| n << shift);
        run.accesses = made.accesses;
        // Samples of one seed stand side by side as seeds do.
        let (seed, of) = (self.of.run.seed.max(1), self.of.samples.len() as u64);
        run.seed = (seed - 1) * of + self.nth as u64 + 1;
        run
    }
}

impl Plan for SampledCurve {
    type Point = SampledPoint;
    type Found = Estimates;

    fn next(&mut self, sheet: &Sheet<SampledPoint>) -> Result<Vec<SampledPoint>, RunError> {
        let sizes = match sheet.lines.is_empty() {
            true => self.curve.first.clone(),
            false => bends(&drawn(sheet, self.curve.figure), self.curve.points),
        };
        let mut wave = Vec::new();
        for size in sizes {
            wave.extend(self.at(size)?);
        }
        Ok(wave)
    }

    fn judge(self, sheet: Sheet<SampledPoint>) -> Result<Estimates, RunError> {
        let mut lines = sheet.lines;
        lines.sort_by_key(|line| size_of(&line.point.point));
        let saved = saving(&lines.iter().map(|l| (&l.point, &l.made)).collect::<Vec<_>>());
        let runs = lines.iter().map(|line| line.point.estimate(&line.made)).collect();
        let mut miniatures = Vec::new();
        let mut rest = lines.into_iter().peekable();
        while let Some(line) = rest.next() {
            let (of, mut samples, mut accesses) =
                (line.point.of, vec![line.made.report], line.made.accesses);
            while let Some(more) = rest.next_if(|more| Arc::ptr_eq(&more.point.of, &of)) {
                samples.push(more.made.report);
                accesses += more.made.accesses;
            }
            let accesses = accesses / samples.len() as u64;
            let how = Arc::unwrap_or_clone(of);
            miniatures.push(Estimated { how, samples, accesses }.report(None));
        }
        let Curve { name, about, .. } = self.curve;
        let mut drawn = Report::new(name.clone(), about, runs);
        drawn.notes = vec![saved];
        Ok(Estimates { drawn, report: MiniatureReport::new(name, miniatures) })
    }
}

/// The means of samples, by size and variant.
fn drawn(sheet: &Sheet<SampledPoint>, figure: Figure) -> Drawn {
    mean_of(sheet.lines.iter().map(|line| {
        let run = line.point.estimate(&line.made);
        let value = figure.of(Scope::from(&run)).filter(|_| run.outcome.is_whole());
        (size_of(&line.point.point), line.point.of.run.variant.clone(), value)
    }))
}

/// A sentence on the pages that samples kept and the accesses that they saved.
fn saving(lines: &[(&SampledPoint, &MadeSample)]) -> String {
    let (mut made, mut full, mut whole) = (0u64, 0u64, 0);
    let mut shares: Vec<u32> = Vec::new();
    for (point, sample) in lines {
        let shift = point.of.samples[point.nth].shift;
        made += sample.report.accesses;
        // Each sample of a run has the accesses of the whole run beside it.
        if point.nth == 0 {
            full += sample.accesses;
            whole += u32::from(shift == 0);
            shares.push(shift);
        }
    }
    shares.retain(|shift| *shift > 0);
    if shares.is_empty() {
        return format!("no size is large enough for samples: all {whole} runs have all pages");
    }
    let one_in = |shift: Option<&u32>| 1u64 << shift.copied().unwrap_or(0);
    let (least, most) = (one_in(shares.iter().min()), one_in(shares.iter().max()));
    let share = if least == most { format!("1/{most}") } else { format!("1/{most} to 1/{least}") };
    let all = match whole {
        0 => String::new(),
        1 => ", 1 run with all pages".to_string(),
        n => format!(", {n} runs with all pages"),
    };
    let times = full as f64 / made.max(1) as f64;
    format!(
        "estimated from {share} of the pages{all}: {} accesses in place of {}, {times:.1} times fewer",
        grouped(made as f64),
        grouped(full as f64)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::Sizes;
    use crate::{RunOptions, Runner};
    use mmsim_language::registry::registry;
    use mmsim_language::scenario::Scenario;

    fn curve(share: Share, memory: &str) -> Estimates {
        let text = r#"
schema = 1
name = "sizes"
seed = 1

[machine]
zone = [{ kind = "Normal", managed = "256MiB" }]
cpus = 1
swap = { size = "1GiB", device = "ramdisk" }

[[task]]
name = "heap"
workload = "zipf"
memory = "288MiB"
accesses = 150000

[[variant]]
name = "classic"
reclaim = { preset = "classic-v6.12" }
"#;
        let scenario = Scenario::from_str(text, "sizes.toml").expect("a scenario");
        let sizes: Sizes = memory.parse().expect("sizes");
        let curve = Curve::of_scenario(scenario, None, &sizes, 4, Figure::SwapIns, &registry())
            .expect("a curve");
        let sampled = curve.sampled(share, 4).expect("samples");
        let options = RunOptions::default();
        Runner::new(&options).run(sampled).expect("runs")
    }

    /// 256 MiB are sixteen times the least of a sample: four samples of 1/16. Of 16 MiB nothing can be
    /// sampled, and the run is whole.
    #[test]
    fn each_size_has_the_share_that_it_can_have() {
        let found = curve(Share::Auto, "256MiB,16MiB");
        let shares: Vec<u64> = found.report.miniatures.iter().map(|m| m.one_in).collect();
        assert_eq!(shares, [1, 16]);
        let seeds: Vec<u64> = found.drawn.runs.iter().map(|run| run.seed).collect();
        assert_eq!(seeds, [1, 1, 2, 3, 4]);
        let whole = &found.drawn.runs[0];
        assert!(whole.vmstat.get("pswpin").is_some_and(|n| *n > 0));
        assert!(found.drawn.runs.iter().all(|run| run.accesses > 150_000), "of the full run");
        let said = &found.drawn.notes[0];
        assert!(
            said.starts_with("estimated from 1/16 of the pages, 1 run with all pages"),
            "{said}"
        );
        // A quarter of the accesses of the larger size, and all of the smaller.
        let times: f64 = said
            .rsplit(", ")
            .next()
            .and_then(|t| t.split(' ').next()?.parse().ok())
            .expect("a ratio");
        assert!((1.3..2.0).contains(&times), "{said}");
    }
}
