//! A masim file as a source of operations.
//!
//! A batch of accesses may be handed over in several parts; the clock is looked at only
//! between batches, as the program does. Of the program's own memory there is, if asked for,
//! the table of its prepared numbers. Nothing else is simulated of the program: the draws
//! cost nothing else, and neither does moving on from phase to phase.

use super::prepared::{NUMBERS, Prepared, ROWS};
use super::{BATCH, MasimConfig, Mode, PAGE, Pattern, Walk};
use crate::work::{Pages, Threads, Work, WorkError};
use mmsim_core::base::rng::Rng;
use mmsim_core::base::time::{SimDuration, SimTime};
use mmsim_core::config::Kernel;
use mmsim_core::settings;
use mmsim_core::workload::{MapKind, Op, RegionId, Run, VmaFlags, Workload, WorkloadCx};
use std::sync::Arc;

/// Operations that are handed over at a time, about.
const PART: usize = 1024;
/// Pages per run at most.
const RUN_PAGES: u32 = 4096;
/// The parts in which an idle phase computes.
const IDLE: SimDuration = SimDuration::from_millis(1);

settings! {
    /// The options of masim's command line.
    ///
    /// The table of random numbers lies in pages of its own, which are written at the beginning of a
    /// turn and read by draws.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct MasimOptions {
        /// how often the file is carried out, each time with fresh regions; masim's `--repeat`
        repeat: u32 = 1, .range(1, u32::MAX as u64);
        /// what accesses do where the file does not say; masim's `--default_rw_mode`
        mode as "default-mode": Mode = Mode::Write;
        /// accesses from one look at the clock to the next; masim's `--nr_accesses_per_region`
        batch: u32 = BATCH, .range(1, u32::MAX as u64);
        /// regions are huge pages of `vm.nr_hugepages`, whole ones; masim's `--use_hugetlb`
        hugetlb: bool = false, .toml();
        /// bytes of each of the million random numbers that the program keeps: 4 in masim to
        /// September 2024, 8 since; 0: they take no memory
        number_bytes as "number-bytes": u32 = 0, .range(0, 8);
    }
}

impl MasimOptions {
    /// Without any option: once, writes, batches of [`BATCH`].
    pub const fn plain() -> Self {
        MasimOptions::of(Kernel::LAST)
    }
}

impl MasimConfig {
    /// The program that carries out the file.
    ///
    /// # Panics
    /// If [`MasimOptions::batch`] is 0: the phases would never end.
    pub fn workload(self, options: MasimOptions) -> MasimWorkload {
        assert!(options.batch > 0, "batch: must be at least 1");
        MasimWorkload {
            config: self,
            options,
            turn: 0,
            at: At::Start,
            prepared: Prepared::default(),
        }
    }
}

/// A masim file and the options of its command line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MasimTask {
    /// Contents of the file.
    pub config: Arc<MasimConfig>,
    /// The options.
    pub options: MasimOptions,
}

impl Work for MasimTask {
    fn threads(&self, _seed: u64, _index: usize) -> Result<Threads, WorkError> {
        Ok(vec![Box::new(MasimConfig::clone(&self.config).workload(self.options))])
    }
    fn add_pages(&self, _seed: u64, _processes: u32, pages: &mut Pages) {
        self.config.regions.iter().for_each(|r| pages.map(r.pages().into(), 1));
        pages.map(self.options.table_pages().into(), 1);
    }
    fn most_threads(&self) -> u32 {
        1
    }
    fn regions(&self) -> Vec<&str> {
        self.config.regions.iter().map(|r| r.name.as_str()).collect()
    }
}

/// The program that carries out a masim file. One thread.
#[derive(Clone, Debug)]
pub struct MasimWorkload {
    config: MasimConfig,
    options: MasimOptions,
    /// Turns that are done.
    turn: u32,
    at: At,
    prepared: Prepared,
}

/// Where the program is within a turn.
#[derive(Clone, Debug)]
enum At {
    /// Before everything.
    Start,
    /// Filling regions from this one on, from this page on.
    Filling(usize, u32),
    /// Before the phase with this number.
    Before(usize),
    /// In a phase.
    Phase(Now),
}

/// A phase under way.
#[derive(Clone, Debug)]
struct Now {
    number: usize,
    began: SimTime,
    weights: u64,
    /// The last offset of each pattern.
    cursors: Vec<u64>,
    /// The pattern of the batch, once there is one, and how many accesses of it are left.
    pattern: Option<usize>,
    left: u32,
}

impl MasimOptions {
    /// Pages of the table of prepared numbers.
    pub fn table_pages(&self) -> u32 {
        (NUMBERS * u64::from(self.number_bytes)).div_ceil(PAGE) as u32
    }
}

impl MasimWorkload {
    /// Maps all regions, untouched.
    fn map(&self, ops: &mut Vec<Op>) {
        ops.extend(self.config.regions.iter().enumerate().map(|(i, r)| Op::Mmap {
            region: RegionId(i as u16),
            pages: r.pages(),
            kind: if self.options.hugetlb { MapKind::HugeTlb } else { MapKind::Anon },
            flags: VmaFlags::default(),
            at: None,
        }));
        let pages = self.table_pages();
        if pages > 0 {
            let region = self.table();
            let flags = VmaFlags::default();
            ops.push(Op::Mmap { region, pages, kind: MapKind::Anon, flags, at: None });
            let runs = (0..pages).step_by(RUN_PAGES as usize);
            ops.extend(runs.map(|first| {
                let count = (pages - first).min(RUN_PAGES);
                Op::Access(Run { region, write: true, first, count })
            }));
        }
    }

    /// The region of the prepared numbers: the one behind those of the file.
    fn table(&self) -> RegionId {
        RegionId(self.config.regions.len() as u16)
    }

    fn table_pages(&self) -> u32 {
        self.options.table_pages()
    }

    /// Reads `count` prepared numbers from `first` on.
    fn read_numbers(&self, first: usize, count: usize, ops: &mut Vec<Op>) {
        let bytes = u64::from(self.options.number_bytes);
        if bytes > 0 {
            let page = |number: usize, byte| ((number as u64 * bytes + byte) / PAGE) as u32;
            let (begin, last) = (page(first, 0), page(first + count - 1, bytes - 1));
            let count = last - begin + 1;
            ops.push(Op::Access(Run { region: self.table(), write: false, first: begin, count }));
        }
    }

    /// Writes the pages of filled regions from `region` and `page` on.
    fn fill_regions(&self, mut region: usize, mut page: u32, ops: &mut Vec<Op>) -> At {
        while let Some(r) = self.config.regions.get(region)
            && ops.len() < PART
        {
            if r.filled && page < r.pages() {
                let count = (r.pages() - page).min(RUN_PAGES);
                let id = RegionId(region as u16);
                ops.push(Op::Access(Run { region: id, write: true, first: page, count }));
                page += count;
            } else {
                (region, page) = (region + 1, 0);
            }
        }
        match region == self.config.regions.len() {
            true => At::Before(0),
            false => At::Filling(region, page),
        }
    }

    fn begin(&self, number: usize, now: SimTime) -> At {
        let phase = &self.config.phases[number];
        At::Phase(Now {
            number,
            began: now,
            weights: phase.weights(),
            cursors: vec![0; phase.patterns.len()],
            pattern: None,
            left: 0,
        })
    }

    /// After the last phase: frees the regions.
    fn end_turn(&mut self, ops: &mut Vec<Op>) -> At {
        let regions = 0..self.config.regions.len();
        ops.extend(regions.map(|i| Op::Munmap { region: RegionId(i as u16) }));
        if self.table_pages() > 0 {
            ops.push(Op::Munmap { region: self.table() });
        }
        // Every turn prepares its own numbers.
        self.prepared = Prepared::default();
        self.turn += 1;
        At::Start
    }
}

impl Now {
    /// True if the phase, which lasts `time`, has ended: longer ago than its time, at the end of a
    /// batch. Waiting for nothing needs no longer than its time.
    fn over(&self, time: SimDuration, now: SimTime) -> bool {
        let elapsed = now.since(self.began);
        match self.weights {
            0 => elapsed >= time,
            _ => self.pattern.is_some() && self.left == 0 && elapsed > time,
        }
    }
}

impl MasimWorkload {
    /// Goes on with a phase: ends it, or appends the next part of a batch.
    fn go_on(&mut self, mut now: Now, clock: SimTime, rng: &mut Rng, ops: &mut Vec<Op>) -> At {
        let phase = &self.config.phases[now.number];
        if now.over(phase.time, clock) {
            ops.push(Op::PhaseEnd(now.number as u16));
            return At::Before(now.number + 1);
        }
        if now.weights == 0 {
            let left = phase.time.as_nanos() - clock.since(now.began).as_nanos();
            ops.push(Op::Compute(IDLE.min(SimDuration::from_nanos(left))));
            return At::Phase(now);
        }
        let chosen = match now.pattern {
            Some(i) if now.left > 0 => i,
            _ => {
                now.left = self.options.batch;
                let drawn = self.prepared.below(now.weights, rng);
                self.read_numbers(self.prepared.last(), 1, ops);
                choose(&phase.patterns, drawn)
            }
        };
        now.pattern = Some(chosen);
        let pattern = &phase.patterns[chosen];
        let bytes = self.config.regions[pattern.region].bytes;
        let region = RegionId(pattern.region as u16);
        let mode = pattern.mode.unwrap_or(self.options.mode);
        let mut read = usize::MAX;
        while now.left > 0 && ops.len() < PART {
            let offset = match pattern.walk {
                Walk::Random => {
                    let offset = self.prepared.below(bytes, rng);
                    // The rest of its row is drawn from at once, too. A later part reads it again.
                    let number = self.prepared.last();
                    if read != number / ROWS {
                        read = number / ROWS;
                        self.read_numbers(number, ROWS - number % ROWS, ops);
                    }
                    offset
                }
                Walk::Sequential(stride) => {
                    let next = now.cursors[chosen] + u64::from(stride);
                    now.cursors[chosen] = if next < bytes { next } else { 0 };
                    now.cursors[chosen]
                }
            };
            access(region, mode, (offset / PAGE) as u32, ops);
            now.left -= 1;
        }
        At::Phase(now)
    }
}

/// The pattern in whose share of the weights `x` lies, which is below their sum.
fn choose(patterns: &[Pattern], mut x: u64) -> usize {
    for (i, p) in patterns.iter().enumerate() {
        match x.checked_sub(u64::from(p.weight)) {
            Some(beyond) => x = beyond,
            None => return i,
        }
    }
    unreachable!("{x} beyond the sum of the weights");
}

/// Appends an access to a page, to the run before where it goes on with it.
fn access(region: RegionId, mode: Mode, page: u32, ops: &mut Vec<Op>) {
    let writes: &[bool] = match mode {
        Mode::Read => &[false],
        Mode::Write => &[true],
        Mode::ReadWrite => &[false, true],
    };
    for &write in writes {
        match ops.last_mut() {
            Some(Op::Access(r))
                if (r.region, r.write, r.first + r.count) == (region, write, page)
                    && r.count < RUN_PAGES =>
            {
                r.count += 1;
            }
            _ => ops.push(Op::Access(Run { region, write, first: page, count: 1 })),
        }
    }
}

impl Workload for MasimWorkload {
    fn phases(&self) -> Vec<String> {
        self.config.phases.iter().map(|p| p.name.clone()).collect()
    }

    fn fill(&mut self, cx: &WorkloadCx, rng: &mut Rng, ops: &mut Vec<Op>) {
        while ops.is_empty() && self.turn < self.options.repeat {
            self.at = match std::mem::replace(&mut self.at, At::Start) {
                At::Start => {
                    self.map(ops);
                    At::Filling(0, 0)
                }
                At::Filling(region, page) => self.fill_regions(region, page, ops),
                At::Before(number) if number == self.config.phases.len() => self.end_turn(ops),
                At::Before(number) => self.begin(number, cx.now),
                At::Phase(now) => self.go_on(now, cx.now, rng, ops),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mmsim_core::workload::Pressure;

    /// Carries the program out on a machine where an access takes 100 ns and nothing else
    /// takes time. Gives operations with the clock before each.
    fn run(text: &str, options: MasimOptions) -> Vec<(u64, Op)> {
        let config = MasimConfig::parse(text).unwrap_or_else(|e| panic!("{e}"));
        let mut w = config.workload(options);
        let mut rng = Rng::for_purpose(1, "workload/test");
        let (mut clock, mut all) = (0, Vec::new());
        loop {
            let mut ops = Vec::new();
            let cx = WorkloadCx {
                now: SimTime(clock),
                free_pages: 0,
                kernel_allocs: &[],
                free_blocks: None,
                pressure: &Pressure::NONE,
            };
            w.fill(&cx, &mut rng, &mut ops);
            if ops.is_empty() {
                return all;
            }
            for op in ops {
                all.push((clock, op));
                clock += match op {
                    Op::Access(r) => 100 * u64::from(r.count),
                    Op::Compute(t) => t.as_nanos(),
                    _ => 0,
                };
            }
        }
    }

    /// Accesses as (region, page, write), one list for each phase.
    fn phases(all: &[(u64, Op)]) -> Vec<Vec<(u16, u32, bool)>> {
        let mut phases = vec![Vec::new()];
        for (_, op) in all {
            match *op {
                Op::Access(r) => {
                    let pages = (r.first..r.first + r.count).map(|p| (r.region.0, p, r.write));
                    phases.last_mut().unwrap().extend(pages);
                }
                Op::PhaseEnd(i) => {
                    assert_eq!(usize::from(i) + 1, phases.len());
                    phases.push(Vec::new());
                }
                _ => {}
            }
        }
        phases
    }

    fn batches_of(batch: u32) -> MasimOptions {
        MasimOptions { batch, ..MasimOptions::plain() }
    }

    /// 5 ms in batches of 1000 accesses of 100 ns: the 50th batch ends at 5 ms, which is not
    /// later than 5 ms, so there are 51.
    #[test]
    fn a_phase_ends_with_the_first_batch_that_is_late() {
        let text = "a, 10000000\n\np\n5\na, 0, 4096, 1\n\nq\n0\na, 0, 4096, 7\n";
        let all = run(text, batches_of(1000));
        let p = phases(&all);
        assert_eq!((p[0].len(), p[1].len(), p[2].len()), (51_000, 1000, 0));
        // 2442 pages, the last one in part; one stride ahead at the beginning of each phase.
        let expected = |n: u32| (1..=n).map(|i| (0, i % 2442, true));
        assert!(p[0].iter().copied().eq(expected(51_000)));
        assert!(p[1].iter().copied().eq(expected(1000)));
        // Pages in a row are one operation: 21 passes over the region have 21 beginnings.
        assert!(all.len() < 100, "{} operations", all.len());
    }

    /// A batch of the size of masim takes 13.1072 ms, so stairs has 763 of them in its first
    /// phase of 10 s and 382 in each of the others.
    #[test]
    fn batches_of_masim() {
        let text = "s0, 10000000\n\np\n5000\ns0, 0, 4096, 50\n";
        assert_eq!(phases(&run(text, MasimOptions::plain()))[0].len(), 382 * 131_072);
    }

    #[test]
    fn strides() {
        let pages = |bytes: u64, stride: u32| {
            let text = format!("a, {bytes}\n\np\n0\na, 0, {stride}, 1\n");
            let p = phases(&run(&text, batches_of(12)));
            p[0].iter().map(|a| a.1).collect::<Vec<_>>()
        };
        // Offsets 1024, 2048, ..., 8192, which is the last byte, then 0.
        assert_eq!(pages(8193, 1024), [0, 0, 0, 1, 1, 1, 1, 2, 0, 0, 0, 0]);
        // Offsets 5000, 10000, 15000, 0.
        assert_eq!(pages(16_384, 5000), [1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0]);
        assert_eq!(pages(16_384, 0), [0; 12]);
        assert_eq!(pages(4096, 4096), [0; 12]);
        assert_eq!(pages(20_000, 2_147_483_647), [0; 12]);
    }

    /// The place in a region belongs to the pattern, not to the region.
    #[test]
    fn two_patterns_of_a_region_have_two_places() {
        let text = "a, 409600\n\np\n1\na, 0, 4096, 1, ro\na, 0, 8192, 1, wo\n";
        let p = phases(&run(text, batches_of(10)));
        for (write, step) in [(false, 1), (true, 2)] {
            let seen: Vec<u32> = p[0].iter().filter(|a| a.2 == write).map(|a| a.1).collect();
            assert!(seen.len() >= 200, "{}", seen.len());
            assert!(seen.iter().enumerate().all(|(i, &p)| p == (i as u32 + 1) * step % 100));
        }
    }

    #[test]
    fn modes() {
        let text = "a, 8192\n\np\n0\na, 0, 4096, 1, rw\n\nq\n0\na, 0, 4096, 1\n";
        let options = |mode| MasimOptions { mode, ..batches_of(2) };
        let p = phases(&run(text, options(Mode::Read)));
        let both = [(0, 1, false), (0, 1, true), (0, 0, false), (0, 0, true)];
        assert_eq!(p[0], both);
        assert_eq!(p[1], [(0, 1, false), (0, 0, false)]);
        assert_eq!(phases(&run(text, options(Mode::ReadWrite)))[1], both);
        assert_eq!(phases(&run(text, options(Mode::Write)))[1], [(0, 1, true), (0, 0, true)]);
    }

    /// Weights 1, 0 and 3 in 3991 batches: a quarter of them is of the first, give or take
    /// 27.4, the deviation of a binomial law; the second never comes.
    #[test]
    fn shares_by_weight() {
        let text = "a, 4096\nb, 4096\nc, 4096\n\n\
                    p\n399\na, 0, 1, 1\nb, 0, 1, 0\nc, 0, 1, 3\n";
        let p = phases(&run(text, batches_of(1000)));
        let count = |region| p[0].iter().filter(|a| a.0 == region).count();
        assert_eq!(p[0].len(), 3_991_000);
        assert_eq!((count(0) % 1000, count(1), count(0) + count(2)), (0, 0, 3_991_000));
        let batches = count(0) as f64 / 1000.0;
        let (mean, deviation) = (3991.0 / 4.0, (3991.0 * 0.25 * 0.75_f64).sqrt());
        assert!((batches - mean).abs() < 4.0 * deviation, "{batches} of {mean}");
    }

    /// 100 pages, the last one of half a page: by bytes, so that it has half the chance.
    #[test]
    fn random_by_bytes() {
        let text = "a, 407552\n\np\n100\na, 1, 4096, 1\n";
        let p = phases(&run(text, batches_of(1000)));
        let mut seen = [0_u32; 100];
        p[0].iter().for_each(|a| seen[a.1 as usize] += 1);
        let n = f64::from(seen.iter().sum::<u32>());
        assert_eq!(n, 1_001_000.0);
        let chi: f64 = (0..100)
            .map(|i| {
                let expected = n * if i == 99 { 2048.0 } else { 4096.0 } / 407_552.0;
                (f64::from(seen[i]) - expected).powi(2) / expected
            })
            .sum();
        // 99 degrees of freedom: mean 99, deviation 14.1. The rows of prepared numbers recur:
        // n numbers out of a million vary by 1 + n / 10^6 as much as n fresh ones.
        let chi = chi / (1.0 + n / 1e6);
        assert!((chi - 99.0).abs() < 4.0 * 14.1, "chi square {chi}");
    }

    /// A million numbers of 4 bytes are 977 pages, written before the first phase. A random batch
    /// of 3000 reads four rows of 4000 bytes, each in one page or two, and one of them has the number
    /// that chose the pattern; without the option there is no such region.
    #[test]
    fn the_table_of_numbers_is_memory() {
        let text = "a, 2097152\n\np\n0\na, 1, 64, 80\n";
        let with = |number_bytes| run(text, MasimOptions { number_bytes, ..batches_of(3000) });
        let pages = |all: &[(u64, Op)]| {
            let size = |(_, op): &(u64, Op)| match *op {
                Op::Mmap { region: RegionId(1), pages, .. } => Some(pages),
                _ => None,
            };
            all.iter().find_map(size)
        };
        assert_eq!(
            (pages(&with(0)), pages(&with(4)), pages(&with(8))),
            (None, Some(977), Some(1954))
        );
        let all = phases(&with(4));
        let of = |write| all[0].iter().filter(move |a| a.0 == 1 && a.2 == write).map(|a| a.1);
        assert!(of(true).eq(0..977));
        let read: std::collections::BTreeSet<u32> = of(false).collect();
        assert!((4..=9).contains(&read.len()) && read.iter().all(|p| *p < 977), "{read:?}");
        assert_eq!(all[0].iter().filter(|a| a.0 == 0).count(), 3000);
    }

    /// Weights of 0: the CPU is used for exactly the time of the phase.
    #[test]
    fn idle_phases_compute() {
        let text = "a, 4096\n\nidle\n7\na, 0, 1, 0\n\nnone\n0\na, 0, 1, 0\n";
        let all = run(text, MasimOptions::plain());
        let ends: Vec<u64> =
            all.iter().filter(|(_, op)| matches!(op, Op::PhaseEnd(_))).map(|a| a.0).collect();
        assert_eq!(ends, [7_000_000, 7_000_000]);
        assert_eq!(phases(&all), [vec![], vec![], vec![]]);
    }

    /// Filled regions are written once, before the first phase begins to count its time;
    /// every turn maps and frees all regions.
    #[test]
    fn turns() {
        let text = "a, 4096\nb, 20000001, data\nc, 1, /dev/zero\n\n\
                    p\n0\na, 0, 4096, 1\n";
        let all = run(text, MasimOptions { repeat: 2, ..batches_of(1) });
        let names: Vec<char> = all
            .iter()
            .map(|(_, op)| match op {
                Op::Mmap { .. } => 'm',
                Op::Munmap { .. } => 'u',
                Op::Access(_) => 'a',
                Op::PhaseEnd(0) => 'e',
                _ => '?',
            })
            .collect();
        let turn = "mmmaaaaeuuu";
        assert_eq!(names.iter().collect::<String>(), turn.repeat(2));
        let touched: Vec<_> = all.iter().filter(|a| matches!(a.1, Op::Access(_))).collect();
        let run = |region, first, count| {
            Op::Access(Run { region: RegionId(region), write: true, first, count })
        };
        let ops: Vec<Op> = touched.iter().map(|a| a.1).collect();
        assert_eq!(ops[..4], [run(1, 0, 4096), run(1, 4096, 787), run(2, 0, 1), run(0, 0, 1)]);
        assert_eq!(ops[4..], ops[..4]);
    }
}
