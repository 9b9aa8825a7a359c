//! Observers of the runs of `mmsim run`, and the files that it writes.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mmsim::base::time::{SimDuration, SimTime};
use mmsim::base::vmstat::VmEvent;
use mmsim::memory::trace::Observer;
use mmsim::report::events::{EventFilter, EventForm, EventRun, EventWriter};
use mmsim::report::series::SeriesWriter;
use mmsim_view::keep::{self, Keeping, Kept};

use crate::args::RunArgs;
use crate::emit::Emission;
use crate::plan::Plan;
use crate::record::Records;
use mmsim::machine::result::RunResult;
use mmsim::machine::{SampleFn, Watch};
use mmsim::machines::Machine;
use mmsim::report::RunMeta;
use mmsim_terminal::exit::{self, Failure};
use mmsim_terminal::output::form::{self, Content};
use mmsim_terminal::output::{Part, Parts};
use mmsim_terminal::progress::Progress;

/// The results of one plan.
pub(crate) type Results = Vec<(RunMeta, RunResult)>;

/// All files besides the report. What cannot be written is known before the first run.
pub(crate) struct Observing {
    events: Option<EventFile>,
    series: Option<SeriesFile>,
    kept: Option<Keeping>,
    emission: Option<Emission>,
    records: Option<Records>,
}

impl Observing {
    /// Begins the files of the options, for `runs` runs.
    pub(crate) fn create(
        args: &RunArgs,
        plans: &[Plan],
        nr_runs: usize,
        progress: &Arc<Progress>,
    ) -> Result<Observing, Failure> {
        let growth = |path: &Path| Growth::new(path, progress);
        let events = args.events.as_deref().map(|path| {
            let filter = args.events_filter.clone().unwrap_or_default();
            let limit = args.events_limit.map(|bytes| bytes / nr_runs.max(1) as u64);
            EventFile::create(path, filter, limit, nr_runs, growth(path))
        });
        let series = args.series.as_deref();
        let series = series.map(|path| SeriesFile::create(path, nr_runs, growth(path)));
        let course = args.svg.is_some() && nr_runs == 1;
        let keep = course || args.html.is_some() || args.perfetto.is_some() || args.on_terminal();
        let trace = args.perfetto.is_some();
        let kept = keep.then(|| Keeping::new(nr_runs, args.html_pages, args.html_blocks, trace));
        let emission = args.emit_dir.as_ref().map(|dir| Emission::create(dir, &args.emit, plans));
        let records = args.damon_record.as_ref().map(|dir| Records::create(dir, plans));
        Ok(Observing {
            events: events.transpose()?,
            series: series.transpose()?,
            kept,
            emission: emission.transpose()?,
            records: records.transpose()?,
        })
    }

    /// The watch of a run that begins: the `nth` of its plan, and the one with number `run` of all.
    /// Gauges are sampled once in each interval `every` of simulated time.
    pub(crate) fn watch(
        &self,
        run: usize,
        (plan, nth): (&Plan, usize),
        machine: &Machine,
        every: SimDuration,
    ) -> Watch {
        let mut watch = Watch::default();
        if self.events.is_some() || self.kept.is_some() {
            let mut all = self.kept.as_ref().map_or(Vec::new(), |kept| kept.observers(run));
            let file = self.events.as_ref();
            all.extend(file.map(|file| file.observer(run, run_of(plan, nth, machine))));
            watch.observer = Some(keep::together(all));
        }
        let file = self.series.as_ref().map(|file| file.sampler(run, machine.not_kept()));
        let kept = self.kept.as_ref();
        let kept = kept.map(|kept| kept.sampler(run, machine.not_kept().collect()));
        let mut samplers: Vec<SampleFn> = file.into_iter().chain(kept).collect();
        if !samplers.is_empty() {
            let all: SampleFn = Box::new(move |now, vmstat, gauges| {
                samplers.iter_mut().for_each(|sampler| sampler(now, vmstat, gauges));
            });
            watch.sample = Some((every, all));
        }
        watch.look = self.kept.as_ref().and_then(|kept| kept.look(run));
        watch.snapshot = self.emission.as_ref().map(|emission| emission.watcher(run));
        watch
    }

    /// A run has ended, however it did: its parts are whole.
    pub(crate) fn finished(&self, run: usize) -> Result<(), Failure> {
        self.events.as_ref().map_or(Ok(()), |file| file.finished(run))?;
        self.series.as_ref().map_or(Ok(()), |file| file.finished(run))
    }

    /// A task of the filter that no run has had.
    pub(crate) fn unmatched(&self) -> Option<String> {
        lock(&self.events.as_ref()?.unmatched).first().cloned()
    }

    /// Puts all files in their places, and gives what was kept for pictures.
    pub(crate) fn commit(self, plans: &[Plan], results: &[Results]) -> Result<Kept, Failure> {
        self.events.map_or(Ok(()), EventFile::commit)?;
        self.series.map_or(Ok(()), |file| file.parts.commit(1))?;
        self.emission.map_or(Ok(()), Emission::commit)?;
        self.records.map_or(Ok(()), |records| records.commit(results.iter().flatten()))?;
        let several = plans.len() > 1;
        let labels = plans.iter().flat_map(|plan| {
            plan.runs.iter().map(move |run| match several {
                true => format!("{}: {}", plan.name, run.label),
                false => run.label.clone(),
            })
        });
        let finish = |kept: Keeping| kept.finish(labels, results.iter().flatten());
        let kept = self.kept.map_or_else(Kept::default, finish);
        for (label, at) in &kept.full {
            let at = at.0 as f64 / 1e9;
            let why = "the trace for Perfetto is full, and later events are left out";
            exit::remark(&format!("{label}: at {at:.6} s {why}"));
        }
        Ok(kept)
    }
}

/// The run with this place in the plan, as a file of events has it.
fn run_of(plan: &Plan, nth: usize, machine: &Machine) -> EventRun {
    let spec = &plan.specs[nth];
    EventRun {
        place: None,
        scenario: plan.name.clone(),
        variant: spec.variant.clone(),
        axes: spec.axes.clone(),
        seed: spec.seed,
        policy: spec.policy.preset.clone(),
        tasks: machine.tasks().map(|(name, threads)| (name.into(), threads.to_vec())).collect(),
        threads: machine.thread_names().map(str::to_string).collect(),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The place of a run as files of several runs name it.
fn column(run: usize, nr_runs: usize) -> Option<u32> {
    (nr_runs > 1).then(|| u32::try_from(run).expect("no command has that many runs"))
}

/// Reports the size of a file as it grows: on the line of progress, and on stderr when it has 1
/// GiB, 2 GiB, 4 GiB and so on.
pub(crate) struct Growth {
    path: PathBuf,
    bytes: AtomicU64,
    progress: Arc<Progress>,
}

impl Growth {
    /// Bytes after which the line of progress is renewed.
    const STEP: u64 = 16 << 20;
    /// Size at the first report.
    const LARGE: u64 = 1 << 30;

    pub(crate) fn new(path: &Path, progress: &Arc<Progress>) -> Arc<Growth> {
        let (path, progress) = (path.to_path_buf(), Arc::clone(progress));
        Arc::new(Growth { path, bytes: AtomicU64::new(0), progress })
    }

    fn add(&self, bytes: usize) {
        let before = self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        let now = before + bytes as u64;
        if before / Self::STEP != now / Self::STEP {
            self.progress.grown(self.words(now));
            let doublings = |n: u64| (n / Self::LARGE).checked_ilog2();
            if doublings(before) != doublings(now) {
                exit::remark(&format!("{} so far", self.words(now)));
            }
        }
    }

    fn words(&self, bytes: u64) -> String {
        let name = self.path.file_name().unwrap_or(self.path.as_os_str()).to_string_lossy();
        format!("{name}: {:.1} GiB", bytes as f64 / (1_u64 << 30) as f64)
    }
}

/// Output of a run. An error ends the command at once: what follows would be lost.
struct Lines {
    part: Part,
    growth: Arc<Growth>,
}

impl Lines {
    fn or_end<T>(&self, done: io::Result<T>) -> T {
        done.unwrap_or_else(|e| exit::now(Failure::file("write", &self.growth.path, &e)))
    }
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.part.write(bytes);
        let written = self.or_end(written);
        self.growth.add(written);
        Ok(written)
    }
    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.part.flush();
        self.or_end(flushed);
        Ok(())
    }
}

/// The file of `--events`.
pub(crate) struct EventFile {
    parts: Parts,
    form: EventForm,
    filter: EventFilter,
    /// Bytes that each run may write.
    limit: Option<u64>,
    writers: Vec<Mutex<Option<EventWriter<Lines>>>>,
    growth: Arc<Growth>,
    /// Tasks of the filter that no run has had so far.
    unmatched: Mutex<Vec<String>>,
    /// Runs that reached their limit, and when.
    full: Mutex<BTreeMap<usize, SimTime>>,
}

impl EventFile {
    fn create(
        path: &Path,
        filter: EventFilter,
        limit: Option<u64>,
        nr_runs: usize,
        growth: Arc<Growth>,
    ) -> Result<EventFile, Failure> {
        Ok(EventFile {
            parts: Parts::create(path, nr_runs)?,
            form: match form::content(path) {
                Some(Content::Events) => EventForm::Bytes,
                _ => EventForm::Lines,
            },
            unmatched: Mutex::new(filter.tasks.clone()),
            full: Mutex::default(),
            filter,
            limit,
            writers: (0..nr_runs).map(|_| Mutex::new(None)).collect(),
            growth,
        })
    }

    /// Observer of a run that begins.
    pub(crate) fn observer(&self, run: usize, mut of: EventRun) -> Box<dyn Observer> {
        lock(&self.unmatched).retain(|task| of.threads_of(task).is_empty());
        let part = self.parts.take().unwrap_or_else(|failure| exit::now(failure));
        let lines = Lines { part, growth: Arc::clone(&self.growth) };
        of.place = column(run, self.writers.len());
        let mut writer = EventWriter::new(lines, self.form, &self.filter, of);
        if let Some(bytes) = self.limit {
            writer = writer.with_limit(bytes);
        }
        let observer = writer.observer();
        *lock(&self.writers[run]) = Some(writer);
        observer
    }

    fn finished(&self, run: usize) -> Result<(), Failure> {
        let Some(writer) = lock(&self.writers[run]).take() else { return Ok(()) };
        lock(&self.full).extend(writer.full().map(|at| (run, at)));
        let (lines, _) =
            writer.finish().map_err(|e| Failure::file("write", &self.growth.path, &e))?;
        self.parts.put(run, lines.part)
    }

    /// Puts the file in its place, and says which runs reached their limit, in their order.
    fn commit(self) -> Result<(), Failure> {
        for (&run, at) in lock(&self.full).iter() {
            let which = column(run, self.writers.len()).map(|run| format!(" of run {run}"));
            exit::remark(&format!(
                "{}: the events{} end at {:.6} s, where --events-limit was reached",
                self.growth.path.display(),
                which.unwrap_or_default(),
                at.0 as f64 / 1e9
            ));
        }
        self.parts.commit(0)
    }
}

/// The file of `--series`.
pub(crate) struct SeriesFile {
    parts: Parts,
    series: Vec<Arc<Mutex<Option<SeriesWriter<Lines>>>>>,
    growth: Arc<Growth>,
}

impl SeriesFile {
    fn create(path: &Path, nr_runs: usize, growth: Arc<Growth>) -> Result<SeriesFile, Failure> {
        Ok(SeriesFile {
            parts: Parts::create(path, nr_runs)?,
            series: (0..nr_runs).map(|_| Arc::default()).collect(),
            growth,
        })
    }

    /// Sampler of a run that begins.
    pub(crate) fn sampler(&self, run: usize, not_kept: impl Iterator<Item = VmEvent>) -> SampleFn {
        let part = self.parts.take().unwrap_or_else(|failure| exit::now(failure));
        let lines = Lines { part, growth: Arc::clone(&self.growth) };
        let writer = SeriesWriter::new(lines, column(run, self.series.len()));
        *lock(&self.series[run]) = Some(writer.without(not_kept));
        let series = Arc::clone(&self.series[run]);
        Box::new(move |now, vmstat, gauges| {
            if let Some(series) = lock(&series).as_mut() {
                // An error has ended the command already.
                let _ = series.row(now, vmstat, gauges);
            }
        })
    }

    fn finished(&self, run: usize) -> Result<(), Failure> {
        let Some(writer) = lock(&self.series[run]).take() else { return Ok(()) };
        let lines = writer.finish().map_err(|e| Failure::file("write", &self.growth.path, &e))?;
        self.parts.put(run, lines.part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mmsim::base::id::NodeId;
    use mmsim::base::vmstat::VmStat;
    use mmsim::memory::trace::TraceEvent;

    #[test]
    fn events_and_series_of_two_runs_in_one_file_each() {
        let dir = tempfile::tempdir().unwrap();
        let (events, series) = (dir.path().join("e.jsonl"), dir.path().join("s.csv"));
        let progress = Arc::new(Progress::new("runs", 2));
        let growth = |path: &Path| Growth::new(path, &progress);
        let event_file =
            EventFile::create(&events, EventFilter::default(), None, 2, growth(&events)).unwrap();
        let series_file = SeriesFile::create(&series, 2, growth(&series)).unwrap();
        for run in [1, 0] {
            let mut observer = event_file.observer(run, EventRun::default());
            let event = TraceEvent::MmVmscanKswapdSleep { node: NodeId(run as u8) };
            observer.event(SimTime(5), &event);
            drop(observer);
            let mut sampler = series_file.sampler(run, std::iter::empty());
            sampler(SimTime(5), &VmStat::default(), &[("nr_free_pages", 3)]);
            event_file.finished(run).unwrap();
            series_file.finished(run).unwrap();
        }
        event_file.commit().unwrap();
        series_file.parts.commit(1).unwrap();
        assert_eq!(
            std::fs::read_to_string(&events).unwrap(),
            "{\"t_ns\":5,\"event\":\"mm_vmscan_kswapd_sleep\",\"node\":0,\"run\":0}\n\
             {\"t_ns\":5,\"event\":\"mm_vmscan_kswapd_sleep\",\"node\":1,\"run\":1}\n"
        );
        let text = std::fs::read_to_string(&series).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[0].starts_with("time_ns,") && lines[0].ends_with(",nr_free_pages,run"));
        assert!(lines[1].ends_with(",3,0") && lines[2].ends_with(",3,1"));
    }
}
