//! The work of a task as commands of the recorder's program.
//!
//! A process of the recorder has one thread, which works off a list of commands.
//! Regions become mappings under numbers, laws become tables, and steps become passes and draws. A
//! window is written out turn by turn, because commands have no memory of their own.
//!
//! A file becomes one of the two that recorded machines have, mapped and only read.
//!
//! A page that is written for the first time is filled, as in all recordings: zram stores a page of
//! equal bytes in no space. Draws come from the recorder's generator and its map of ranks to pages,
//! so they have the same law as the scenario's and are other pages.

use mmsim_core::workload::{Advice, VmaFlags};
use mmsim_workload::generators::{End, MemoryKind, Populate, ScanEnd, WorkloadSpec};
use mmsim_workload::generators::{PhasedConfig, ScanConfig, Step, ZipfConfig};
use mmsim_workload::law::Varying;
use mmsim_workload::sampler::{LinearMap, RankMap};

/// A key below a task, and why the recorder cannot do what it says.
pub(super) type Refusal = (String, String);

/// Workloads that become commands.
const WORKLOADS: &str = "`zipf`, `uniform`, `sequential`, `cyclic` and `phased`";
/// Steps that become commands.
const STEPS: &str = "`allocate`, `free`, `touch`, `window`, `zipf`, `madvise`, `sleep`, `records`, \
                     `repeat` and `phase`";
/// Files of the recorded machine: path and pages.
const FILES: [(&str, u32); 2] = [("/mnt/z", 131_072), ("/mnt/s", 65_536)];
/// Lines of a script at most: windows and repetitions are written out.
const MOST_LINES: usize = 20_000;
/// Snapshots that every recording takes itself.
const OWN_SNAPSHOTS: [&str; 3] = ["boot", "start", "end"];

/// Commands of a program, and how much they do.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Program {
    /// Tables of laws: ranks and exponent, by number.
    pub(super) tables: Vec<(u32, f64)>,
    /// Commands from the first mapping on.
    pub(super) lines: Vec<String>,
    /// Pages that it fills.
    pub(super) fills: u64,
    /// Accesses that it makes one by one.
    pub(super) accesses: u64,
    /// Pages of all its regions.
    pub(super) pages: u64,
    /// Names of its snapshots.
    snapshots: Vec<String>,
    /// Names of the scenario's files, each the file of [`FILES`] with its number.
    pub(super) files: Vec<String>,
}

/// The program that does a task's work. Tables and files of the task before it are its own as well.
pub(super) fn program(work: &WorkloadSpec, before: Option<&Program>) -> Result<Program, Refusal> {
    let (tables, files) =
        before.map_or_else(Default::default, |b| (b.tables.clone(), b.files.clone()));
    let mut program = Program { tables, files, ..Program::default() };
    match work {
        WorkloadSpec::Zipf(w) | WorkloadSpec::Uniform(w) => program.zipf(w)?,
        WorkloadSpec::Sequential(w) | WorkloadSpec::Cyclic(w) => program.passes(w)?,
        WorkloadSpec::Phased(w) => program.phased(w)?,
        other => {
            let name = other.name();
            let what =
                format!(" \"{name}\": no program of the recorder does it; it can do {WORKLOADS}");
            return refused("workload", what);
        }
    }
    Ok(program)
}

fn refused<T>(key: impl Into<String>, what: impl Into<String>) -> Result<T, Refusal> {
    Err((key.into(), what.into()))
}

/// Refuses memory that is neither anonymous nor a file that is mapped.
fn mappable(key: &str, kind: &MemoryKind, flags: VmaFlags) -> Result<(), Refusal> {
    match (kind, flags) {
        (_, flags) if flags != VmaFlags::NONE => {
            refused(key, ": the recorder maps memory without flags")
        }
        (MemoryKind::FileRead(_), _) => {
            refused(key, ": the recorder maps files, write \"file-shared\"")
        }
        _ => Ok(()),
    }
}

/// Refuses writes to a file.
fn readable(key: &str, kind: &MemoryKind, write: bool) -> Result<(), Refusal> {
    match kind {
        MemoryKind::Anon | MemoryKind::Shmem(..) => Ok(()),
        _ if write => refused(key, ": the recorder only reads files"),
        _ => Ok(()),
    }
}

impl Program {
    fn map(
        &mut self,
        key: &str,
        region: usize,
        (kind, pages): (&MemoryKind, u32),
    ) -> Result<(), Refusal> {
        self.pages += u64::from(pages);
        if let MemoryKind::Shmem(name, spec) = kind {
            if spec.limit.is_some() {
                return refused(key, ": the recorder's tmpfs has no limit");
            }
            self.lines.push(format!("shmem {region} {} {pages}", name.replace('/', "_")));
            return Ok(());
        }
        let (MemoryKind::FileShared(name)
        | MemoryKind::FilePrivate(name)
        | MemoryKind::FileRead(name)) = kind
        else {
            self.lines.push(format!("anon {region} {pages}"));
            return Ok(());
        };
        let nth = self.files.iter().position(|f| f == name).unwrap_or_else(|| {
            self.files.push(name.clone());
            self.files.len() - 1
        });
        let Some((path, most)) = FILES.get(nth) else {
            return refused(key, ": the recorder has two files, write no more");
        };
        if pages > *most {
            return refused(key, format!(": file {} of the recorder has {most} pages", nth + 1));
        }
        self.lines.push(format!("file {region} {path} {pages} normal"));
        Ok(())
    }

    /// Advice on a whole region that was mapped by the command before, which then carries it.
    fn random(&mut self, region: usize) -> bool {
        let mapped = self.lines.last_mut().filter(|l| l.starts_with(&format!("file {region} ")));
        let Some(line) = mapped else { return false };
        *line = line.replace(" normal", " random");
        true
    }

    fn fill(&mut self, region: usize, from: u32, count: u32) {
        self.fills += u64::from(count);
        self.lines.push(format!("fill {region} {from} {count}"));
    }

    /// `times` passes. Writes fill.
    fn pass(&mut self, region: usize, (from, count): (u32, u32), write: bool, times: u32) {
        if write {
            // One command above the limit is enough to refuse the script.
            (0..times.min(MOST_LINES as u32 + 1)).for_each(|_| self.fill(region, from, count));
            return;
        }
        self.accesses += u64::from(count) * u64::from(times);
        self.lines.push(format!("scan {region} {from} {count} r {times}"));
    }

    fn draws(&mut self, region: usize, pages: u32, (theta, map): (f64, RankMap), n: u64, w: u32) {
        let law = (pages, theta);
        let table = self.tables.iter().position(|t| *t == law).unwrap_or_else(|| {
            self.tables.push(law);
            self.tables.len() - 1
        });
        let mul = match map {
            RankMap::Scatter if pages > 2 => LinearMap::scattering_mul(pages),
            _ => 1,
        };
        self.accesses += n;
        self.lines.push(format!("zipf {region} {table} {n} {w} {mul} 0"));
    }

    /// Ends a phase. A name that is in use gets a number.
    fn phase(&mut self, name: &str) {
        let used = |n: &str| OWN_SNAPSHOTS.contains(&n) || self.snapshots.iter().any(|s| s == n);
        let numbered = |i: usize| if i == 1 { name.to_string() } else { format!("{name}.{i}") };
        let free = (1..).map(numbered).find(|n| !used(n)).expect("there is always a larger number");
        self.lines.push(format!("snap {free}"));
        self.snapshots.push(free);
    }

    fn zipf(&mut self, w: &ZipfConfig) -> Result<(), Refusal> {
        let End::Work(accesses) = w.end else {
            return refused("duration", ": the recorder counts accesses, write `accesses`");
        };
        mappable("region", &w.kind, w.flags)?;
        readable("write-permille", &w.kind, w.write_permille > 0)?;
        if w.think != Varying::Always(0) {
            return refused("think", ": the recorder's program does not compute, leave it out");
        }
        if w.arrival.is_some() {
            return refused("arrival", ": the recorder's program makes one access after the other");
        }
        self.map("region", 0, (&w.kind, w.pages))?;
        match (w.populate, &w.kind) {
            (Populate::Write, MemoryKind::Anon | MemoryKind::Shmem(..)) => self.fill(0, 0, w.pages),
            (Populate::Write, _) => readable("populate", &w.kind, true)?,
            _ => {}
        }
        self.phase("populate");
        for window in 0..w.windows {
            let n = u64::from(w.windows);
            let part = accesses / n + u64::from(u64::from(window) < accesses % n);
            self.draws(0, w.pages, (w.theta, w.map), part, w.write_permille);
            match w.windows {
                1 => self.phase("access"),
                _ => self.phase(&format!("access{}", window + 1)),
            }
        }
        Ok(())
    }

    fn passes(&mut self, w: &ScanConfig) -> Result<(), Refusal> {
        let ScanEnd::Passes(times) = w.end else {
            return refused("duration", ": the recorder counts passes, write `passes`");
        };
        mappable("region", &w.kind, w.flags)?;
        readable("write", &w.kind, w.write)?;
        self.map("region", 0, (&w.kind, w.pages))?;
        self.phase("populate");
        self.pass(0, (0, w.pages), w.write, times);
        self.phase("access");
        self.short_enough("passes")
    }

    fn phased(&mut self, w: &PhasedConfig) -> Result<(), Refusal> {
        for r in &w.regions {
            mappable(&format!("regions.{}", r.name), &r.kind, r.flags)?;
        }
        let regions = w.regions.iter().map(|r| Region {
            name: &r.name,
            pages: r.pages,
            kind: &r.kind,
            ..NONE
        });
        self.steps(&w.steps, "steps", &mut regions.collect::<Vec<_>>())
    }

    fn short_enough(&self, key: &str) -> Result<(), Refusal> {
        match self.lines.len() > MOST_LINES {
            true => refused(key, format!(": more than {MOST_LINES} commands, write fewer turns")),
            false => Ok(()),
        }
    }

    fn steps(&mut self, all: &[Step], at: &str, regions: &mut [Region]) -> Result<(), Refusal> {
        for (i, step) in all.iter().enumerate() {
            self.step(step, &format!("{at}[{i}]"), regions)?;
            self.short_enough(&format!("{at}[{i}]"))?;
        }
        Ok(())
    }

    /// A turn of a window: up to the end of the region, then from its start.
    fn window(&mut self, r: usize, (place, pages): (u32, u32), count: u32, write: bool) {
        let first = count.min(pages - place);
        self.pass(r, (place, first), write, 1);
        if count > first {
            self.pass(r, (0, count - first), write, 1);
        }
    }

    fn step(&mut self, step: &Step, at: &str, regions: &mut [Region]) -> Result<(), Refusal> {
        // The scenario has been checked: there is such a region.
        let nth = |name: &str| regions.iter().position(|r| r.name == name).unwrap_or_default();
        match step {
            Step::Allocate { region, populate } => {
                let r = nth(region);
                readable(&format!("{at}.populate"), regions[r].kind, *populate)?;
                regions[r] = Region { place: 0, filled: *populate, ..regions[r] };
                self.map(&format!("{at}.region"), r, (regions[r].kind, regions[r].pages))?;
                if *populate {
                    self.fill(r, 0, regions[r].pages);
                }
            }
            Step::Free(region) => self.lines.push(format!("unmap {}", nth(region))),
            Step::Touch { region, from, count, write, repeat } => {
                let r = nth(region);
                readable(&format!("{at}.write"), regions[r].kind, *write)?;
                self.pass(r, (*from, *count), *write, *repeat);
                regions[r].filled |= *write && *count == regions[r].pages;
            }
            Step::Window { region, count, advance, write } => {
                let r = nth(region);
                let Region { pages, place, kind, .. } = regions[r];
                readable(&format!("{at}.write"), kind, *write)?;
                self.window(r, (place, pages), *count, *write);
                regions[r].place = (place + advance % pages) % pages;
            }
            Step::Zipf { region, theta, map, accesses, write_permille } => {
                let r = nth(region);
                readable(&format!("{at}.write-permille"), regions[r].kind, *write_permille > 0)?;
                if *write_permille > 0 && !regions[r].filled {
                    return refused(format!("{at}.write-permille"), UNFILLED);
                }
                self.draws(r, regions[r].pages, (*theta, *map), *accesses, *write_permille);
            }
            Step::Madvise { region, advice: Advice::Random, .. } if self.random(nth(region)) => {}
            Step::Madvise { region, from, count, advice } => {
                let word = match advice {
                    Advice::PopulateRead => "populate_read",
                    Advice::PageOut => "pageout",
                    Advice::Free => "free",
                    Advice::DontNeed => "dontneed",
                    Advice::Remove => "remove",
                    _ => {
                        let what = ": the recorder gives the advice \"populate-read\", \"pageout\", \
                                    \"free\" and \"dontneed\", and \"random\" on a file just mapped";
                        return refused(format!("{at}.advice"), what);
                    }
                };
                self.lines.push(format!("madvise {} {from} {count} {word}", nth(region)));
                self.accesses += u64::from(*count);
            }
            Step::Sleep(Varying::Always(ns)) if ns % 1_000_000 == 0 => {
                self.lines.push(format!("sleepms {}", ns / 1_000_000));
            }
            Step::Sleep(_) => {
                return refused(format!("{at}.time"), ": the recorder sleeps whole milliseconds");
            }
            // They count what the scenario takes for one piece of work, and do nothing.
            Step::Records(_) => {}
            Step::Phase(name) if name.contains(char::is_whitespace) => {
                return refused(format!("{at}.name"), ": write a name without spaces");
            }
            Step::Phase(name) => self.phase(name),
            Step::Repeat { times, steps } => {
                for _ in 0..*times {
                    self.steps(steps, &format!("{at}.steps"), regions)?;
                }
            }
            Step::Compute(_)
            | Step::DropCaches
            | Step::Fadvise { .. }
            | Step::Fsync(_)
            | Step::MemcgReclaim { .. }
            | Step::Mlock { .. }
            | Step::MlockAll { .. }
            | Step::Munlock { .. }
            | Step::MunlockAll
            | Step::ShmLock { .. }
            | Step::Read { .. }
            | Step::Write { .. }
            | Step::Writes(_) => {
                let what = format!(": no command of the recorder does it; it can do {STEPS}");
                return refused(format!("{at}.do"), what);
            }
        }
        Ok(())
    }
}

/// Why a region cannot be drawn from with writes.
const UNFILLED: &str =
    ": the recorder fills a page at its first write, so write the whole region before";

/// A region of a phased workload while its steps are written down.
#[derive(Clone, Copy)]
struct Region<'a> {
    name: &'a str,
    kind: &'a MemoryKind,
    pages: u32,
    /// Where its next window begins.
    place: u32,
    /// Every page has been written.
    filled: bool,
}

const NONE: Region<'static> =
    Region { name: "", kind: &MemoryKind::Anon, pages: 0, place: 0, filled: false };
