//! Where experiments are carried out: scenario files of the repository, with values put
//! into them, many at a time.

use std::sync::atomic::{AtomicUsize, Ordering};

use mmsim_core::backing::device::Io;
use mmsim_core::base::settings::Settings as _;
use mmsim_core::base::time::SimDuration;

use super::ran::{Ran, Watching};
use super::study::Constant;
use crate::runner;
use mmsim::machines::Catalogue;
use mmsim::report::RunReport;
use mmsim::run::RunError;
use mmsim::scenario::{RunSpec, Scenario};

/// A scenario file of `evidence/experiments/` or `scenarios/`, as text in this program.
#[derive(Clone, Copy, Debug)]
pub struct ScenarioFile {
    /// Its path in the repository.
    pub path: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// Values put into a scenario: path and value as in `--set`.
pub type Sets = Vec<(String, String)>;

/// A constant that is not what it should be, to see what depends on it.
#[derive(Clone, PartialEq, Debug)]
pub enum Varied {
    /// A constant of the experiment, multiplied.
    Constant(String, f64),
    /// A key of every scenario: its path, and the value to put there.
    Key(String, String),
    /// A cost of the machine, multiplied.
    Cost(&'static str, f64),
    /// The time of a request of a preset of devices, of reads or writes, multiplied.
    Device(&'static str, Io, f64),
}

impl Varied {
    /// Puts it into a run, as far as it is not in the scenario already.
    fn apply(&self, spec: &mut RunSpec) {
        let scaled = |time: SimDuration, factor: f64| {
            SimDuration::from_nanos((time.as_nanos() as f64 * factor).round() as u64)
        };
        if let Varied::Cost(name, factor) = self {
            let cost = &mut spec.machine.cost;
            let time = cost.fields().into_iter().find(|f| f.0 == *name).map(|f| f.1);
            let time = scaled(time.expect("a cost of the model"), *factor);
            cost.put(name, time.as_nanos()).expect("costs take any time");
        }
        let Varied::Device(name, io, factor) = self else { return };
        let swap = spec.machine.swap.iter_mut().map(|s| &mut s.device);
        let devices = swap.into_iter().chain([&mut spec.machine.file_device]);
        for device in devices.filter(|d| d.name == *name) {
            let time = match io {
                Io::Read => &mut device.read,
                Io::Write => &mut device.write,
            };
            *time = scaled(*time, *factor);
        }
    }
}

/// Told what is being done, how much of it has ended and of how much.
pub type Progress<'a> = dyn Fn(&str, usize, usize) + Sync + 'a;

/// Runner of experiments.
#[derive(Clone, Copy)]
pub struct Lab<'a> {
    /// Few cells and small machines.
    pub quick: bool,
    /// Only these tables; empty: all.
    pub tables: &'a [String],
    /// By what machines are smaller than those of the source; `None`: the experiment's choice.
    pub scale: Option<u64>,
    /// Runs at the same time; `None`: one per CPU.
    pub jobs: Option<usize>,
    /// The constant that is varied.
    pub varied: Option<&'a Varied>,
    /// Who wants to know how far it is.
    pub progress: &'a Progress<'a>,
}

impl<'a> Lab<'a> {
    /// All tables at their size, one run for each CPU.
    pub fn silent(progress: &'a Progress<'a>) -> Lab<'a> {
        Lab { quick: false, tables: &[], scale: None, jobs: None, varied: None, progress }
    }

    /// True if a table is wanted.
    pub fn wants(&self, table: &str) -> bool {
        self.tables.is_empty() || self.tables.iter().any(|t| t == table)
    }

    /// The value of a constant.
    pub fn value(&self, c: &Constant) -> f64 {
        match self.varied {
            Some(Varied::Constant(name, factor)) if *name == c.name => c.value * factor,
            _ => c.value,
        }
    }

    /// Runs a scenario once for each list of values; for each come the runs of all variants and
    /// seeds.
    ///
    /// # Errors
    /// The scenario does not take a value. The files are the repository's own, so that is
    /// an error in this program, but for values that a varied constant makes impossible.
    pub fn run(
        &self,
        what: &str,
        file: ScenarioFile,
        cells: &[Sets],
    ) -> Result<Vec<Vec<RunReport>>, RunError> {
        let cells: Vec<_> = cells.iter().map(|sets| (file, sets.clone())).collect();
        let all = self.run_watched(what, &cells, |_| Watching::default(), |_, _| true)?;
        Ok(all.into_iter().map(|runs| runs.into_iter().map(|r| r.report).collect()).collect())
    }

    /// The same of scenarios with their values, and only of `wanted` runs; both functions get the
    /// place of the scenario.
    ///
    /// # Errors
    /// As [`Lab::run`].
    pub fn run_watched(
        &self,
        what: &str,
        cells: &[(ScenarioFile, Sets)],
        watching: impl Fn(usize) -> Watching,
        wanted: impl Fn(usize, &RunSpec) -> bool,
    ) -> Result<Vec<Vec<Ran>>, RunError> {
        let mut specs: Vec<(usize, RunSpec)> = Vec::new();
        for (i, (file, sets)) in cells.iter().enumerate() {
            let mut sets = sets.clone();
            if let Some(Varied::Key(path, value)) = self.varied {
                sets.push((path.clone(), value.clone()));
            }
            let scenario = Scenario::from_str(file.text, file.path)?.with_sets(&sets)?;
            let specs_of_cell = scenario.expand(&Catalogue)?;
            for mut spec in specs_of_cell.into_iter().filter(|spec| wanted(i, spec)) {
                if let Some(varied) = self.varied {
                    varied.apply(&mut spec);
                }
                specs.push((i, spec));
            }
        }
        let watching: Vec<Watching> = (0..cells.len()).map(watching).collect();
        let done = AtomicUsize::new(0);
        (self.progress)(what, 0, specs.len());
        let made = runner(self.jobs).each(&specs, |_, (i, spec)| {
            let made = Ran::make(spec, &watching[*i])?;
            let n = done.fetch_add(1, Ordering::Relaxed) + 1;
            (self.progress)(what, n, specs.len());
            Ok::<_, RunError>((*i, made))
        })?;
        let mut by_cell: Vec<Vec<Ran>> = cells.iter().map(|_| Vec::new()).collect();
        for (i, one) in made {
            by_cell[i].push(one);
        }
        Ok(by_cell)
    }
}
