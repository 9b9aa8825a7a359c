//! A fragmentation machine: takes memory page by page and gives part of it back, so that what
//! stays lies where a law says.
//!
//! Everything goes through the page allocator, so free lists, types of pageblocks and watermarks
//! are what they would be: the machine never writes a state that no kernel could come to. It
//! takes single pages until the allocator has failed so often, waiting in between; keeps so many
//! of 1000, chosen by a [`KeepLaw`]; and frees the rest. What it keeps is pinned: no reclaim
//! and no compaction touches it, and it stays when the process ends.
//!
//! Two details make states that are hard to come by otherwise. It can *release* part of what it
//! will free first, a random part, and wait: whoever allocates meanwhile gets frames spread over
//! all of memory, not the neighbours that an allocator would choose. And it can go on for a
//! while, freeing pages at random and taking others (*churn*), which ages free lists as uptime
//! does.
//!
//! With [`KeepLaw::Rotate`] it is the fragmenter of a benchmark of 2015 (repository
//! JoonsooKim/benchmarks, kernel patch 0004): pages in a list in the order of their allocation,
//! which is turned by 0 to 511 entries before each one is freed.

use mmsim_core::base::id::Pfn;
use mmsim_core::base::rng::Rng;
use mmsim_core::base::time::SimDuration;
use mmsim_core::phys::gfp::GfpFlags;
use mmsim_core::phys::migratetype::Migratetype;
use mmsim_core::workload::{BlockHandle, Op, Workload, WorkloadCx};

/// Requests between two looks at what came of them, while much is free.
const BATCH: u64 = 256;
/// Steps of churn in a second.
const CHURN_STEPS: u64 = 100;
/// Entries by which the fragmenter of 2015 turns its list, at most.
const TURN: u64 = 511;

/// Which pages stay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeepLaw {
    /// Any, all equally likely.
    Uniform,
    /// Those that the fragmenter of 2015 leaves: nearly the same.
    Rotate,
    /// Runs of so many frames in address order; the gaps between them are drawn.
    Fixed(u32),
    /// Runs of so many frames on average, runs and gaps drawn by geometric laws.
    Geometric(u32),
}

/// A fragmentation machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FragmentConfig {
    /// Pages to take; `None`: all there are.
    pub take: Option<u64>,
    /// Of 1000 pages taken, so many are asked for as movable and as reclaimable memory, the rest
    /// as unmovable.
    pub movable_permille: u32,
    /// See [`FragmentConfig::movable_permille`].
    pub reclaimable_permille: u32,
    /// Pages of one kind that are taken one after the other.
    pub cluster: u32,
    /// How far the allocator may go.
    pub flags: GfpFlags,
    /// Failures after which no more is taken.
    pub failures: u32,
    /// Sleep after a failure.
    pub pause: SimDuration,
    /// Of 1000 pages taken, so many stay.
    pub keep_permille: u32,
    /// Which.
    pub law: KeepLaw,
    /// Pages freed first.
    pub release: u64,
    /// Sleep between these and the rest.
    pub settle: SimDuration,
    /// Pages freed and taken again in a second.
    pub churn: u64,
    /// For how long.
    pub age: SimDuration,
}

impl FragmentConfig {
    /// The workload of its one thread. Panics on a value that its field does not allow.
    pub fn workloads(&self) -> Vec<Box<dyn Workload>> {
        let kinds = self.movable_permille + self.reclaimable_permille;
        assert!(kinds <= 1000, "movable_permille, reclaimable_permille: at most 1000 together");
        assert!(self.take != Some(0), "take: at least one page");
        assert!(self.cluster > 0, "cluster: at least one page");
        assert!(self.failures > 0, "failures: at least one");
        assert!(self.keep_permille <= 1000, "keep_permille: at most 1000");
        let run = !matches!(self.law, KeepLaw::Fixed(0) | KeepLaw::Geometric(0));
        assert!(run, "law: runs of at least one frame");
        vec![Box::new(Machine {
            config: self.clone(),
            stage: Stage::Take,
            next: 0,
            kind: Migratetype::Unmovable,
            of_kind: 0,
            failures: 0,
            held: Vec::new(),
            to_free: Vec::new(),
            steps: 0,
        })]
    }

    fn steps(&self) -> u64 {
        self.age.as_nanos() * CHURN_STEPS / 1_000_000_000
    }
}

/// A page that is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Held {
    handle: BlockHandle,
    pfn: Pfn,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Take,
    Free,
    Age,
    Over,
}

struct Machine {
    config: FragmentConfig,
    stage: Stage,
    /// The next page's number.
    next: u32,
    /// What is asked for now, and how often still.
    kind: Migratetype,
    of_kind: u32,
    failures: u32,
    held: Vec<Held>,
    /// Pages to be freed, the next last.
    to_free: Vec<Held>,
    /// Steps of churn that are done.
    steps: u64,
}

impl Machine {
    fn take(&mut self, n: u64, rng: &mut Rng, ops: &mut Vec<Op>) {
        for _ in 0..n {
            if self.of_kind == 0 {
                let c = &self.config;
                let draw = rng.below(1000) as u32;
                self.of_kind = c.cluster;
                self.kind = match draw {
                    d if d < c.movable_permille => Migratetype::Movable,
                    d if d < c.movable_permille + c.reclaimable_permille => {
                        Migratetype::Reclaimable
                    }
                    _ => Migratetype::Unmovable,
                };
            }
            self.of_kind -= 1;
            let handle = BlockHandle(self.next);
            self.next += 1;
            let (migratetype, flags) = (self.kind, self.config.flags);
            ops.push(Op::KernelAlloc { order: 0, migratetype, flags, handle });
        }
    }

    /// Whether enough was taken, or cannot be.
    fn all_taken(&self) -> bool {
        let enough = self.config.take.is_some_and(|n| self.held.len() as u64 >= n);
        enough || self.failures >= self.config.failures
    }

    /// Divides what is held into what stays and what is freed.
    fn choose(&mut self, rng: &mut Rng) {
        let held = std::mem::take(&mut self.held);
        let keep = held.len() as u64 * u64::from(self.config.keep_permille) / 1000;
        let free = held.len() - keep as usize;
        (self.held, self.to_free) = match self.config.law {
            KeepLaw::Uniform => uniform(held, free, rng),
            KeepLaw::Rotate => rotate(held, free, rng),
            KeepLaw::Fixed(run) => {
                runs(held, self.config.keep_permille, rng, |_| u64::from(run), run)
            }
            KeepLaw::Geometric(run) => {
                let mean = f64::from(run);
                runs(held, self.config.keep_permille, rng, |rng| geometric(mean, rng), run)
            }
        };
    }

    fn free(&mut self, n: usize, ops: &mut Vec<Op>) {
        let from = self.to_free.len() - n.min(self.to_free.len());
        let freed = self.to_free.drain(from..).rev();
        ops.extend(freed.map(|h| Op::KernelFree { handle: h.handle }));
    }

    /// Frees pages at random and takes as many: one step.
    fn churn(&mut self, rng: &mut Rng, ops: &mut Vec<Op>) {
        // As many in each step as make the sum right.
        let due = |steps: u64| self.config.churn * steps / CHURN_STEPS;
        let n = (due(self.steps + 1) - due(self.steps)).min(self.held.len() as u64);
        for _ in 0..n {
            let i = rng.below(self.held.len() as u64) as usize;
            ops.push(Op::KernelFree { handle: self.held.swap_remove(i).handle });
        }
        self.take(n, rng, ops);
        self.steps += 1;
        ops.push(Op::Sleep(SimDuration::from_nanos(1_000_000_000 / CHURN_STEPS)));
    }
}

impl Workload for Machine {
    fn phases(&self) -> Vec<String> {
        let all = ["take", "free", "age"].map(String::from);
        all[..if self.config.steps() > 0 { 3 } else { 2 }].to_vec()
    }

    /// What it is told to keep has to fit.
    fn minimum_pages(&self) -> u64 {
        let c = &self.config;
        c.take.map_or(1, |n| (n * u64::from(c.keep_permille) / 1000).max(1))
    }

    fn fill(&mut self, cx: &WorkloadCx<'_>, rng: &mut Rng, ops: &mut Vec<Op>) {
        let got = |a: &mmsim_core::workload::KernelAllocResult| {
            a.pfn.map(|pfn| Held { handle: a.handle, pfn })
        };
        self.held.extend(cx.kernel_allocs.iter().filter_map(got));
        match self.stage {
            Stage::Take => {
                if cx.kernel_allocs.iter().any(|a| a.pfn.is_none()) {
                    self.failures += 1;
                    if !self.all_taken() && self.config.pause > SimDuration::ZERO {
                        ops.push(Op::Sleep(self.config.pause));
                    }
                }
                if !self.all_taken() {
                    // Few close to the end and one at a time after it, so that few ask in vain.
                    let left = self.config.take.map_or(BATCH, |n| n - self.held.len() as u64);
                    let most = if self.failures > 0 { 1 } else { cx.free_pages / 64 };
                    let batch = most.clamp(1, BATCH).min(left);
                    return self.take(batch, rng, ops);
                }
                ops.push(Op::PhaseEnd(0));
                self.choose(rng);
                if self.config.release > 0 {
                    let n = usize::try_from(self.config.release).unwrap_or(usize::MAX);
                    self.free(n, ops);
                    ops.push(Op::Sleep(self.config.settle));
                }
                self.stage = Stage::Free;
            }
            Stage::Free => {
                self.free(usize::MAX, ops);
                ops.push(Op::PhaseEnd(1));
                self.stage = Stage::Age;
            }
            Stage::Age if self.steps < self.config.steps() => self.churn(rng, ops),
            Stage::Age if self.steps > 0 => {
                ops.push(Op::PhaseEnd(2));
                self.stage = Stage::Over;
            }
            Stage::Age | Stage::Over => {}
        }
    }
}

/// What stays, and what is freed with the next last.
type Divided = (Vec<Held>, Vec<Held>);

/// Frees `n` pages, all equally likely.
fn uniform(mut held: Vec<Held>, n: usize, rng: &mut Rng) -> Divided {
    for i in 0..n {
        let j = i + rng.below((held.len() - i) as u64) as usize;
        held.swap(i, j);
    }
    let kept = held.split_off(n);
    (kept, held)
}

/// Frees `n` pages: before each the list is turned by 0 to [`TURN`] entries.
fn rotate(held: Vec<Held>, n: usize, rng: &mut Rng) -> Divided {
    let mut next: Vec<usize> = (1..=held.len()).collect();
    if let Some(last) = next.last_mut() {
        *last = 0;
    }
    let mut freed = Vec::with_capacity(n);
    let mut is_freed = vec![false; held.len()];
    let mut before = held.len().saturating_sub(1);
    for _ in 0..n {
        for _ in 0..rng.below(TURN + 1) {
            before = next[before];
        }
        let at = next[before];
        next[before] = next[at];
        is_freed[at] = true;
        freed.push(held[at]);
    }
    freed.reverse();
    let kept = held.iter().zip(is_freed).filter(|(_, f)| !f).map(|(h, _)| *h).collect();
    (kept, freed)
}

/// Keeps runs of frames in address order; gaps are geometric, of such a mean that the share that
/// stays comes out on average. What is freed is freed in random order.
fn runs(
    mut held: Vec<Held>,
    keep_permille: u32,
    rng: &mut Rng,
    length: impl Fn(&mut Rng) -> u64,
    mean: u32,
) -> Divided {
    held.sort_by_key(|h| h.pfn);
    match keep_permille {
        0 => return (Vec::new(), held),
        1000 => return (held, Vec::new()),
        _ => {}
    }
    let share = f64::from(keep_permille) / 1000.0;
    let gap = f64::from(mean) * (1.0 - share) / share;
    let (mut kept, mut freed) = (Vec::new(), Vec::new());
    // A gap may be shorter than one page on average; then some runs follow one another at once.
    let mut keeping = rng.below(1000) < u64::from(keep_permille);
    let mut left = 0;
    for h in held {
        while left == 0 {
            keeping = !keeping;
            left = if keeping { length(rng) } else { geometric_from_0(gap, rng) };
        }
        left -= 1;
        if keeping { kept.push(h) } else { freed.push(h) }
    }
    rng.shuffle(&mut freed);
    (kept, freed)
}

/// A number from 1 up with this mean.
fn geometric(mean: f64, rng: &mut Rng) -> u64 {
    1 + geometric_from_0(mean - 1.0, rng)
}

/// A number from 0 up with this mean.
fn geometric_from_0(mean: f64, rng: &mut Rng) -> u64 {
    if mean <= 0.0 {
        return 0;
    }
    // The inverse of the distribution function; the argument of the logarithm is never 0.
    let u = 1.0 - rng.unit();
    (u.ln() / (mean / (1.0 + mean)).ln()) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use mmsim_core::base::time::SimTime;
    use mmsim_core::phys::gfp::GFP_KERNEL;
    use mmsim_core::workload::KernelAllocResult;
    use std::collections::BTreeMap;

    fn config(law: KeepLaw) -> FragmentConfig {
        FragmentConfig {
            take: None,
            movable_permille: 0,
            reclaimable_permille: 0,
            cluster: 1,
            flags: GFP_KERNEL,
            failures: 3,
            pause: SimDuration::from_secs(5),
            keep_permille: 250,
            law,
            release: 0,
            settle: SimDuration::ZERO,
            churn: 0,
            age: SimDuration::ZERO,
        }
    }

    /// What came of playing a machine against a memory that hands out frames in ascending order.
    #[derive(Default)]
    struct Played {
        held: BTreeMap<BlockHandle, (Pfn, Migratetype)>,
        most: usize,
        failures: u64,
        /// Pages held when a sleep began.
        at_sleep: Vec<usize>,
        /// Kinds in the order of requests.
        kinds: Vec<Migratetype>,
    }

    impl Played {
        fn map(&self, frames: u32) -> Vec<bool> {
            let mut map = vec![false; frames as usize];
            self.held.values().for_each(|(p, _)| map[p.0 as usize] = true);
            map
        }
    }

    fn play(config: &FragmentConfig, frames: u32) -> Played {
        let mut w = config.workloads().remove(0);
        let mut rng = Rng::for_purpose(1, "workload/test");
        let mut free: std::collections::BTreeSet<u32> = (0..frames).collect();
        let (mut all, mut results) = (Played::default(), Vec::new());
        loop {
            let mut ops = Vec::new();
            let free_pages = free.len() as u64;
            let cx = WorkloadCx { now: SimTime::ZERO, free_pages, kernel_allocs: &results };
            w.fill(&cx, &mut rng, &mut ops);
            results = Vec::new();
            if ops.is_empty() {
                return all;
            }
            for op in ops {
                match op {
                    Op::KernelAlloc { handle, migratetype, order, .. } => {
                        assert_eq!(order, 0);
                        let pfn = free.pop_first().map(Pfn);
                        all.kinds.push(migratetype);
                        match pfn {
                            Some(p) => {
                                let old = all.held.insert(handle, (p, migratetype));
                                assert_eq!(old, None, "{handle:?} is held already");
                            }
                            None => all.failures += 1,
                        }
                        all.most = all.most.max(all.held.len());
                        results.push(KernelAllocResult { handle, pfn });
                    }
                    Op::KernelFree { handle } => {
                        let (pfn, _) = all.held.remove(&handle).expect("it is held");
                        free.insert(pfn.0);
                    }
                    Op::Sleep(_) => all.at_sleep.push(all.held.len()),
                    _ => {}
                }
            }
        }
    }

    /// Takes all there is, asks three times in vain with sleeps between, keeps its share.
    #[test]
    fn it_takes_what_there_is_and_keeps_its_share() {
        for law in [KeepLaw::Uniform, KeepLaw::Rotate] {
            let p = play(&config(law), 4000);
            assert_eq!((p.most, p.failures, p.held.len()), (4000, 3, 1000), "{law:?}");
            assert_eq!(p.at_sleep, [4000, 4000]);
        }
        let p = play(&FragmentConfig { take: Some(300), ..config(KeepLaw::Uniform) }, 4000);
        assert_eq!((p.most, p.failures, p.held.len()), (300, 0, 75));
    }

    /// With a quarter of all frames kept, drawn one by one, a group of eight has none of them
    /// with probability 0.75^8 = 0.100: of 15,500 groups 1,552, give or take 37.
    #[test]
    fn groups_without_a_kept_frame_are_as_many_as_chance_says() {
        let frames = 15_500 * 8;
        let sigma = (15_500.0 * 0.1 * 0.9_f64).sqrt();
        for law in [KeepLaw::Uniform, KeepLaw::Rotate, KeepLaw::Geometric(1), KeepLaw::Fixed(1)] {
            let map = play(&config(law), frames).map(frames);
            let whole = map.chunks(8).filter(|g| !g.contains(&true)).count() as f64;
            let want = 15_500.0 * 0.75_f64.powi(8);
            // Runs of one frame whose gaps are geometric from 0 on are the same law.
            let limit = if matches!(law, KeepLaw::Geometric(_)) { 5.0 } else { 4.0 };
            assert!((whole - want).abs() < limit * sigma, "{law:?}: {whole} against {want}");
        }
    }

    /// Longer runs leave more groups whole; the share that stays is the same.
    #[test]
    fn runs_have_their_lengths() {
        let frames = 80_000;
        for (law, mean) in [(KeepLaw::Fixed(16), 16.0), (KeepLaw::Geometric(16), 16.0)] {
            let map = play(&config(law), frames).map(frames);
            let kept = map.iter().filter(|&&k| k).count() as f64;
            assert!((kept / f64::from(frames) - 0.25).abs() < 0.02, "{law:?}: {kept}");
            let mut runs = Vec::new();
            let mut at = 0;
            for group in map.chunk_by(|a, b| a == b) {
                let inside = at > 0 && at + group.len() < map.len();
                if group[0] && inside {
                    runs.push(group.len() as f64);
                }
                at += group.len();
            }
            // Runs that follow one another at once are one: a gap is empty once in 49 times.
            let average = runs.iter().sum::<f64>() / runs.len() as f64;
            assert!((average - mean * 49.0 / 48.0).abs() < 1.0, "{law:?}: {average}");
            if let KeepLaw::Fixed(n) = law {
                assert!(runs.iter().all(|r| r % f64::from(n) == 0.0));
            }
        }
    }

    #[test]
    fn part_is_released_first() {
        let c = FragmentConfig {
            release: 500,
            settle: SimDuration::from_secs(1),
            pause: SimDuration::ZERO,
            ..config(KeepLaw::Uniform)
        };
        let p = play(&c, 4000);
        assert_eq!((p.at_sleep, p.held.len()), (vec![3500], 1000));
        // More than is freed at all.
        let p = play(&FragmentConfig { release: 1 << 40, ..c }, 4000);
        assert_eq!((p.at_sleep, p.held.len()), (vec![1000], 1000));
    }

    /// 30 pages a second for two seconds, in steps of 10 ms.
    #[test]
    fn churn_changes_which_pages_are_held_and_not_how_many() {
        let c = FragmentConfig { pause: SimDuration::ZERO, ..config(KeepLaw::Uniform) };
        let churned = FragmentConfig { churn: 30, age: SimDuration::from_secs(2), ..c.clone() };
        let (before, after) = (play(&c, 4000), play(&churned, 4000));
        assert_eq!(after.at_sleep.len(), 200);
        assert_eq!((before.held.len(), after.held.len()), (1000, 1000));
        assert_eq!(after.kinds.len() - before.kinds.len(), 60);
        let stayed = before.held.keys().filter(|h| after.held.contains_key(h)).count();
        assert!((940..1000).contains(&stayed), "{stayed}");
    }

    #[test]
    fn kinds_come_in_clusters_and_shares() {
        let c = FragmentConfig {
            movable_permille: 500,
            reclaimable_permille: 200,
            cluster: 50,
            take: Some(100_000),
            ..config(KeepLaw::Uniform)
        };
        let kinds = play(&c, 100_000).kinds;
        assert!(kinds.chunks(50).all(|k| k.iter().all(|&x| x == k[0])));
        for (kind, share) in [(Migratetype::Movable, 0.5), (Migratetype::Reclaimable, 0.2)] {
            let n = kinds.iter().filter(|&&k| k == kind).count() as f64 / 100_000.0;
            assert!((n - share).abs() < 0.04, "{kind:?}: {n}");
        }
    }
}
