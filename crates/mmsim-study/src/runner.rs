//! The one driver of runs side by side.
//!
//! Whatever makes runs hands them to a [`Runner`]: a list of runs with what watches each
//! ([`Runner::results`]), a list of anything that can be made ([`Runner::each`]), or a [`Plan`],
//! which asks for one wave of runs after the other ([`Runner::run`]). The runner has as many
//! threads as jobs, audits, ends runs early when its watcher wants it, refuses runs that the host
//! cannot hold, and makes of a panic the outcome of its run. Runs begin in the order of their list,
//! and results come in that order; so any number of jobs gives the same results.
//!
//! With a [`Store`] each result of a plan is kept as its run ends. A plan that is carried out again
//! takes from there what was made, so a command that was killed goes on when it is given again.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::Scope;

use mmsim_core::machine::result::{Outcome, RunResult};
use mmsim_core::machine::{Machine, Watch};

use crate::attend::{Making, RunOptions, Watcher};
use crate::plan::{Line, Plan, Point, Sheet};
use crate::run::{OwnPolicy, RunError, one, or_panicked};
use crate::store::{Numbered, Store};
use mmsim_language::host;
use mmsim_language::registry::Registry;
use mmsim_language::scenario::RunSpec;
use mmsim_report::RunMeta;

/// Makes runs side by side.
pub struct Runner<'a> {
    options: RunOptions,
    watcher: &'a dyn Watcher,
    jobs: usize,
    /// Threads that may be started besides those of the callers.
    free: AtomicUsize,
    store: Option<Mutex<Store>>,
    /// Points of waves so far.
    numbered: AtomicUsize,
}

impl std::fmt::Debug for Runner<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runner").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Default for Runner<'static> {
    /// Makes a runner of one job per CPU of the host, without a watcher and a store.
    fn default() -> Self {
        Runner::new(&RunOptions::default())
    }
}

impl Runner<'static> {
    /// Makes a runner without a watcher and a store.
    pub fn new(options: &RunOptions) -> Runner<'static> {
        Runner::watched(options, &())
    }
}

impl<'a> Runner<'a> {
    /// Makes a runner whose watcher hears of all its runs.
    pub fn watched(options: &RunOptions, watcher: &'a dyn Watcher) -> Runner<'a> {
        let all = || std::thread::available_parallelism().map_or(1, usize::from);
        let jobs = options.jobs.unwrap_or_else(all).max(1);
        let (free, numbered) = (AtomicUsize::new(jobs - 1), AtomicUsize::new(0));
        Runner { options: options.clone(), watcher, jobs, free, store: None, numbered }
    }

    /// Sets the store that holds the results of plans.
    #[must_use]
    pub fn with_store(mut self, store: Option<Store>) -> Self {
        self.store = store.map(Mutex::new);
        self
    }

    /// The number of runs at the same time, at least 1.
    pub fn jobs(&self) -> usize {
        self.jobs
    }

    /// Policies and code that scenarios of its runs may name.
    pub(crate) fn registry(&self) -> &Registry {
        &self.options.registry
    }

    pub(crate) fn watcher(&self) -> &'a dyn Watcher {
        self.watcher
    }

    /// Makes something of each point, and returns the results in the order of the points.
    ///
    /// It may be called from several threads, and within `one`: all calls together have as many
    /// threads as there are jobs, besides those that call.
    ///
    /// # Errors
    ///
    /// The error of the first point that has one. No other point begins after an error.
    pub fn each<P: Sync, T: Send, E: Send>(
        &self,
        points: &[P],
        one: impl Fn(usize, &P) -> Result<T, E> + Sync,
    ) -> Result<Vec<T>, E> {
        let mut made: Vec<Option<T>> = points.iter().map(|_| None).collect();
        let take = |nth: usize, _, result| {
            made[nth] = Some(result);
            Ok(())
        };
        self.stream(points.iter().map(Ok), |nth, point| one(nth, point), take)?;
        Ok(made.into_iter().flatten().collect())
    }

    /// Does two things at the same time, if a thread is free for the second.
    pub fn both<A: Send, B: Send>(
        &self,
        first: impl FnOnce() -> A + Send,
        second: impl FnOnce() -> B + Send,
    ) -> (A, B) {
        if !self.take_thread() {
            return (first(), second());
        }
        std::thread::scope(|scope| {
            let second = scope.spawn(|| {
                let made = second();
                self.give_thread_back();
                made
            });
            let first = first();
            match second.join() {
                Ok(second) => (first, second),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }

    /// Makes all runs of a list, and returns their results in its order. `watch` makes what watches
    /// a run, of its place and its machine. A run whose policy has the name of one of `own` has that
    /// one. A run that panics has the outcome [`Panicked`](Outcome::Panicked).
    ///
    /// # Errors
    ///
    /// The input is wrong, or the runs were cancelled.
    pub fn results(
        &self,
        specs: &[RunSpec],
        own: &[OwnPolicy<'_>],
        watch: impl Fn(usize, &Machine) -> Watch + Sync,
    ) -> Result<Vec<(RunMeta, RunResult)>, RunError> {
        self.each(specs, |nth, spec| {
            let making = self.making(nth);
            let watch = |machine: &Machine| making.joined(spec, watch(nth, machine));
            let made = or_panicked(spec, one(spec, own, &watch))?;
            self.watcher.finished(nth, &spec.label());
            Ok(made)
        })
    }

    /// The same, but a run that panics is an error.
    ///
    /// # Errors
    ///
    /// As for [`Runner::results`]; or a run panicked.
    pub fn sound_results(
        &self,
        specs: &[RunSpec],
        watch: impl Fn(usize, &Machine) -> Watch + Sync,
    ) -> Result<Vec<(RunMeta, RunResult)>, RunError> {
        let results = self.results(specs, &[], watch)?;
        for (spec, (_, result)) in specs.iter().zip(&results) {
            if let Outcome::Panicked(message) = &result.outcome {
                let (run, message) = (spec.label(), message.clone());
                return Err(RunError::Invariant { run, message });
            }
        }
        Ok(results)
    }

    /// Carries out a plan, and returns what it finds.
    ///
    /// # Errors
    ///
    /// A run cannot be made, the host cannot hold the runs of a wave, the store cannot be read or
    /// written, or the runs were cancelled. The store keeps what was made before.
    pub fn run<P: Plan>(&self, mut plan: P) -> Result<P::Found, RunError> {
        let sheet = self.filled(&mut plan);
        let flushed = self.store().map_or(Ok(()), |mut store| store.flush());
        let sheet = sheet?;
        flushed?;
        plan.judge(sheet)
    }

    /// The sheet of all points of a plan.
    fn filled<P: Plan>(&self, plan: &mut P) -> Result<Sheet<P::Point>, RunError> {
        let mut sheet = Sheet::default();
        if plan.streams() {
            let mut wave = Vec::new().into_iter();
            let points = std::iter::from_fn(|| match wave.next() {
                Some(point) => Some(Ok(point)),
                None => match plan.next(&Sheet::default()) {
                    Ok(points) => {
                        wave = points.into_iter();
                        wave.next().map(Ok)
                    }
                    Err(error) => Some(Err(error)),
                },
            });
            let made = |nth, point: &P::Point| self.made(nth, point);
            let keep = |nth: usize, point: P::Point, made| self.keep(nth, &point, &made);
            self.stream(points, made, keep)?;
        } else {
            loop {
                let wave = plan.next(&sheet)?;
                if wave.is_empty() {
                    break;
                }
                self.wave(wave, &mut sheet)?;
            }
        }
        Ok(sheet)
    }

    /// Makes one point on this thread, whatever a store has.
    ///
    /// # Errors
    ///
    /// As for [`Point::make`].
    pub fn one<P: Point>(&self, point: &P) -> Result<P::Made, RunError> {
        self.made(0, point)
    }

    /// Adds the results of a wave to the sheet: those of the store, and those that it lacks.
    pub(crate) fn wave<P: Point>(
        &self,
        points: Vec<P>,
        sheet: &mut Sheet<P>,
    ) -> Result<(), RunError> {
        let first = self.numbered.fetch_add(points.len(), Ordering::Relaxed);
        let stored = |(nth, point): (usize, &P)| -> Result<Option<P::Made>, RunError> {
            let Some(mut store) = self.store() else { return Ok(None) };
            let Some(id) = point.id() else { return Ok(None) };
            let made = store.get(id)?;
            if made.is_some() {
                self.watcher.finished(nth, &point.label());
            }
            Ok(made)
        };
        let mut made: Vec<Option<P::Made>> =
            points.iter().enumerate().map(stored).collect::<Result<_, _>>()?;
        let lacking: Vec<usize> = (0..points.len()).filter(|&nth| made[nth].is_none()).collect();
        let specs: Vec<RunSpec> =
            lacking.iter().filter_map(|&nth| points[nth].spec().cloned()).collect();
        host::check(&specs, Some(self.jobs))?;
        let one = |_: usize, &nth: &usize| self.made(nth, &points[nth]);
        let keep = |_: usize, nth: usize, result| {
            self.keep(first + nth, &points[nth], &result)?;
            made[nth] = Some(result);
            Ok(())
        };
        self.stream(lacking.into_iter().map(Ok), one, keep)?;
        let lines = points.into_iter().zip(made.into_iter().flatten());
        sheet.lines.extend(lines.map(|(point, made)| Line { point, made }));
        Ok(())
    }

    fn making(&self, nth: usize) -> Making<'_> {
        Making { options: &self.options, watcher: self.watcher, nth }
    }

    /// Makes a point.
    fn made<P: Point>(&self, nth: usize, point: &P) -> Result<P::Made, RunError> {
        let made = point.make(&self.making(nth))?;
        self.watcher.finished(nth, &point.label());
        Ok(made)
    }

    /// Keeps what was made of a point, if there is a store and the point has a name.
    fn keep<P: Point>(&self, n: usize, point: &P, made: &P::Made) -> Result<(), RunError> {
        let (Some(mut store), Some(id)) = (self.store(), point.id()) else { return Ok(()) };
        let n = point.number().unwrap_or(n as u64);
        Ok(store.keep(Numbered { id, n }, made)?)
    }

    fn store(&self) -> Option<MutexGuard<'_, Store>> {
        self.store.as_ref().map(|s| s.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes a thread, if one is free.
    fn take_thread(&self) -> bool {
        let less = |free: usize| free.checked_sub(1);
        self.free.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }

    fn give_thread_back(&self) {
        self.free.fetch_add(1, Ordering::Relaxed);
    }

    /// Makes something of each point as it comes, in order, and hands it to `take` when it is made.
    fn stream<P: Send, T: Send, E: Send>(
        &self,
        points: impl Iterator<Item = Result<P, E>> + Send,
        one: impl Fn(usize, &P) -> Result<T, E> + Sync,
        take: impl FnMut(usize, P, T) -> Result<(), E> + Send,
    ) -> Result<(), E> {
        let queue = Mutex::new(points.enumerate().fuse());
        let work =
            Work { runner: self, queue, one, take: Mutex::new(take), failed: Mutex::default() };
        std::thread::scope(|scope| work.go(scope));
        match work.failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some((_, error)) => Err(error),
            None => Ok(()),
        }
    }
}

/// Points under way.
struct Work<'r, I, F, K, E> {
    runner: &'r Runner<'r>,
    queue: Mutex<I>,
    one: F,
    take: Mutex<K>,
    /// The first point with an error.
    failed: Mutex<Option<(usize, E)>>,
}

impl<P, T, I, F, K, E> Work<'_, I, F, K, E>
where
    P: Send,
    T: Send,
    E: Send,
    I: Iterator<Item = (usize, Result<P, E>)> + Send,
    F: Fn(usize, &P) -> Result<T, E> + Sync,
    K: FnMut(usize, P, T) -> Result<(), E> + Send,
{
    /// Takes point after point. Whoever begins one has another thread help, if one is free.
    fn go<'s>(&'s self, scope: &'s Scope<'s, '_>) {
        while let Some((nth, point)) = self.next() {
            if self.runner.take_thread() {
                scope.spawn(|| {
                    self.go(scope);
                    self.runner.give_thread_back();
                });
            }
            let made = point.and_then(|point| {
                let made = (self.one)(nth, &point)?;
                lock(&self.take)(nth, point, made)
            });
            if let Err(error) = made {
                let mut failed = lock(&self.failed);
                if failed.as_ref().is_none_or(|(first, _)| nth < *first) {
                    *failed = Some((nth, error));
                }
            }
        }
    }

    fn next(&self) -> Option<(usize, Result<P, E>)> {
        let mut queue = lock(&self.queue);
        if lock(&self.failed).is_some() {
            return None;
        }
        queue.next()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runner(jobs: usize) -> Runner<'static> {
        Runner::new(&RunOptions::default().with_jobs(jobs))
    }

    /// Results stand in the order of the points, and never more points are under way than jobs.
    #[test]
    fn results_come_in_order() {
        for jobs in [1, 2, 7, 64] {
            let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let points: Vec<u64> = (0..40).collect();
            let made = runner(jobs).each(&points, |nth, point| {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                std::thread::sleep(std::time::Duration::from_micros(200 * (point * 7 % 5)));
                now.fetch_sub(1, Ordering::SeqCst);
                Ok::<_, ()>((nth as u64, point * point))
            });
            let expected: Vec<(u64, u64)> = points.iter().map(|p| (*p, p * p)).collect();
            assert_eq!(made, Ok(expected));
            assert!(most.into_inner() <= jobs);
        }
    }

    /// The first error of the list counts, whatever ends first; nothing begins long after it.
    #[test]
    fn the_first_error_counts() {
        for jobs in [1, 3, 8] {
            let begun = AtomicUsize::new(0);
            let points: Vec<u64> = (0..1000).collect();
            let made = runner(jobs).each(&points, |_, point| {
                begun.fetch_add(1, Ordering::Relaxed);
                if *point == 5 {
                    std::thread::sleep(std::time::Duration::from_millis(20));
                }
                if *point >= 5 { Err(*point) } else { Ok(()) }
            });
            assert_eq!(made, Err(5));
            assert!(begun.into_inner() <= 5 + jobs);
        }
    }

    /// Runs within runs, and two parts at the same time, end with any number of jobs.
    #[test]
    fn parts_share_the_threads() {
        for jobs in [1, 2, 5] {
            let runner = runner(jobs);
            let sum = |n: u64| {
                let inner = |_: usize, m: &u64| Ok::<u64, ()>(m + n);
                runner.each(&[1, 2, 3], inner).map(|all| all.iter().sum::<u64>())
            };
            let outer = || runner.each(&[10, 20, 30, 40], |_, n| sum(*n));
            let expected = Ok(vec![36, 66, 96, 126]);
            assert_eq!(runner.both(outer, outer), (expected.clone(), expected));
        }
    }
}
