//! From steps to instructions: names are resolved, ranges and mappings checked, loops become jumps.

use super::{MAX_DEPTH, PhasedConfig, PhasedError, PhasedRegion, Step};
use crate::generators::memory::{MemoryKind, file_io};
use crate::law::Source;
use crate::sampler::PageSampler;
use mmsim_core::base::time::SimDuration;
use mmsim_core::workload::{Advice, FileSlot, FileSpec, Op, RegionId};

/// A step with names resolved. Regions are positions in the config.
#[derive(Clone, Debug)]
pub(super) enum Instr {
    Map(usize),
    Op(Op),
    /// An operation that takes a time.
    Timed(fn(SimDuration) -> Op, Source),
    Touch {
        region: usize,
        from: u32,
        count: u32,
        write: bool,
        repeat: u32,
    },
    ReadInto {
        file: FileSlot,
        from: u32,
        count: u32,
        into: usize,
    },
    Window {
        region: usize,
        count: u32,
        advance: u32,
        write: bool,
    },
    Zipf {
        region: usize,
        sampler: Box<PageSampler>,
        accesses: u64,
        write_permille: u64,
    },
    Loop {
        times: u32,
        end: usize,
    },
    End {
        begin: usize,
    },
}

pub(super) struct Compiler<'a> {
    config: &'a PhasedConfig,
    /// True for each region that is mapped at this point.
    mapped: Vec<bool>,
    /// With `MCL_FUTURE`: whether later mappings are locked on fault, else at once.
    locks: Option<bool>,
    /// The file of each region that has one.
    pub(super) slots: Vec<FileSlot>,
    pub(super) files: Vec<FileSpec>,
    pub(super) phases: Vec<String>,
    pub(super) code: Vec<Instr>,
}

impl<'a> Compiler<'a> {
    pub(super) fn new(config: &'a PhasedConfig) -> Result<Self, PhasedError> {
        if config.regions.len() > usize::from(u16::MAX) {
            return Err(error("regions", "more than 65535 regions; leave some out"));
        }
        let (mut slots, mut files) = (Vec::new(), Vec::<FileSpec>::new());
        for (i, r) in config.regions.iter().enumerate() {
            let at = format!("regions[{i}]");
            if r.pages == 0 {
                return Err(error(&at, "no pages; write at least 1"));
            }
            if config.regions[..i].iter().any(|o| o.name == r.name) {
                return Err(error(&at, format!("a second region `{}`; rename it", r.name)));
            }
            let slot = match r.kind.file_spec(r.pages) {
                None => 0,
                Some(spec) => match files.iter().position(|f| f.name == spec.name) {
                    Some(at) => {
                        // The file is as long as its longest region.
                        files[at].pages = files[at].pages.max(r.pages);
                        at
                    }
                    None => {
                        files.push(spec);
                        files.len() - 1
                    }
                },
            };
            slots.push(FileSlot(slot as u16));
        }
        let mapped =
            config.regions.iter().map(|r| matches!(r.kind, MemoryKind::FileRead(_))).collect();
        let (phases, code) = (Vec::new(), Vec::new());
        Ok(Compiler { config, mapped, locks: None, slots, files, phases, code })
    }

    pub(super) fn steps(
        &mut self,
        steps: &[Step],
        path: &str,
        depth: usize,
    ) -> Result<(), PhasedError> {
        for (i, step) in steps.iter().enumerate() {
            let at = format!("{path}[{i}]");
            if let Step::Repeat { times, steps } = step {
                self.repeat(*times, steps, &at, depth)?;
            } else if let Step::Writes(ops) = step {
                self.code.extend(ops.iter().map(|op| Instr::Op(*op)));
            } else if let Step::MlockAll { .. } | Step::MunlockAll = step {
                self.lock_all(step);
            } else {
                let instr = self.step(step, &at)?;
                self.code.push(instr);
                if let Step::Allocate { region, populate } = step {
                    let region = self.find(region, &at)?;
                    let count = self.config.regions[region].pages;
                    if let Some(onfault) = self.locks {
                        self.code.push(Instr::Op(lock(region, count, onfault)));
                    }
                    let (from, write, repeat) = (0, true, 1);
                    let fill = Instr::Touch { region, from, count, write, repeat };
                    self.code.extend(populate.then_some(fill));
                }
            }
        }
        Ok(())
    }

    /// `mlockall(2)` and `munlockall(2)`, on the regions that are mapped here.
    fn lock_all(&mut self, step: &Step) {
        let all: Vec<(usize, u32)> = self.mappings().collect();
        match step {
            Step::MlockAll { current, future, onfault } => {
                self.locks = future.then_some(*onfault);
                let now = all.into_iter().filter(|_| *current);
                self.code.extend(now.map(|(i, pages)| Instr::Op(lock(i, pages, *onfault))));
            }
            _ => {
                self.locks = None;
                let unlock = |(i, count)| {
                    Instr::Op(Op::Munlock { region: RegionId(i as u16), first: 0, count })
                };
                self.code.extend(all.into_iter().map(unlock));
            }
        }
    }

    /// The regions that have a mapping here, with their pages.
    fn mappings(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        let regions = self.config.regions.iter().zip(&self.mapped).enumerate();
        let mapped = regions
            .filter(|(_, (r, mapped))| **mapped && !matches!(r.kind, MemoryKind::FileRead(_)));
        mapped.map(|(i, (r, _))| (i, r.pages))
    }

    fn repeat(
        &mut self,
        times: u32,
        steps: &[Step],
        at: &str,
        depth: usize,
    ) -> Result<(), PhasedError> {
        if depth == MAX_DEPTH {
            return Err(error(at, format!("more than {MAX_DEPTH} repetitions within another")));
        }
        if steps.is_empty() {
            return Err(error(at, "nothing to repeat; write steps or leave this out"));
        }
        let (before, locked) = (self.mapped.clone(), self.locks);
        let begin = self.code.len();
        self.code.push(Instr::Loop { times, end: 0 });
        self.steps(steps, &format!("{at}.steps"), depth + 1)?;
        self.code.push(Instr::End { begin });
        let end = self.code.len();
        self.code[begin] = Instr::Loop { times, end };
        if times == 0 {
            (self.mapped, self.locks) = (before, locked);
        } else if times > 1 && self.locks != locked {
            let what = "`future` of mlockall is on at one end of the repetition and off at the \
                        other; write munlockall inside, or mlockall before it";
            return Err(error(at, what));
        } else if times > 1 && self.mapped != before {
            let changed = (0..before.len()).find(|&i| self.mapped[i] != before[i]).unwrap_or(0);
            let name = &self.config.regions[changed].name;
            let what = format!(
                "region `{name}` is mapped at one end of the repetition and not at the other; \
                 allocate and free it both inside or both outside"
            );
            return Err(error(at, what));
        }
        Ok(())
    }

    fn step(&mut self, step: &Step, at: &str) -> Result<Instr, PhasedError> {
        Ok(match step {
            Step::Allocate { region: name, .. } => {
                let region = self.find(name, at)?;
                if std::mem::replace(&mut self.mapped[region], true) {
                    return Err(error(
                        at,
                        format!("region `{name}` is there already; free it first"),
                    ));
                }
                Instr::Map(region)
            }
            Step::Free(name) => {
                let region = self.mapped(name, at)?;
                if matches!(self.config.regions[region].kind, MemoryKind::FileRead(_)) {
                    return Err(error(
                        at,
                        format!("region `{name}` is never mapped; leave this out"),
                    ));
                }
                self.mapped[region] = false;
                Instr::Op(Op::Munmap { region: RegionId(region as u16) })
            }
            Step::Touch { region, from, count, write, repeat } => {
                let region = self.range(region, *from, *count, at)?;
                Instr::Touch { region, from: *from, count: *count, write: *write, repeat: *repeat }
            }
            Step::Window { region, count, advance, write } => {
                let region = self.range(region, 0, *count, at)?;
                Instr::Window { region, count: *count, advance: *advance, write: *write }
            }
            Step::Zipf { region, theta, map, accesses, write_permille } => {
                let region = self.mapped(region, at)?;
                if !(theta.is_finite() && *theta >= 0.0) {
                    return Err(error(at, format!("theta {theta}; write a number from 0")));
                }
                if *write_permille > 1000 {
                    return Err(error(
                        at,
                        format!("write_permille {write_permille}; write 0 to 1000"),
                    ));
                }
                let pages = self.config.regions[region].pages;
                Instr::Zipf {
                    region,
                    sampler: Box::new(PageSampler::new(pages, *theta, *map)),
                    accesses: *accesses,
                    write_permille: u64::from(*write_permille),
                }
            }
            Step::Read { region, from, count, into, uncached } => {
                let file = self.file(region, *from, *count, at)?;
                match into {
                    None => Instr::Op(file_io(file, (*from, *count), false, *uncached)),
                    Some(_) if uncached.is_some() => {
                        let what =
                            format!("region `{region}` is read past the cache and into another");
                        return Err(error(at, format!("{what}; leave one of them out")));
                    }
                    Some(into) => {
                        let into = self.range(into, *from, *count, at)?;
                        Instr::ReadInto { file, from: *from, count: *count, into }
                    }
                }
            }
            Step::Write { region, from, count, uncached } => {
                let file = self.file(region, *from, *count, at)?;
                Instr::Op(file_io(file, (*from, *count), true, *uncached))
            }
            Step::Fadvise { region, from, count, advice } => {
                let file = self.file(region, *from, *count, at)?;
                Instr::Op(Op::Fadvise { file, first: *from, count: *count, advice: *advice })
            }
            Step::Fsync(region) => {
                let pages = self.config.regions[self.find(region, at)?].pages;
                Instr::Op(Op::Fsync { file: self.file(region, 0, pages, at)? })
            }
            Step::Madvise { region, from, count, advice } => {
                let i = self.range(region, *from, *count, at)?;
                let kind = &self.config.regions[i].kind;
                if *advice == Advice::Remove && !matches!(kind, MemoryKind::Shmem(..)) {
                    let what = format!("Remove of region `{region}`, which is not shared memory");
                    return Err(error(at, format!("{what}; write DontNeed")));
                }
                if *advice == Advice::Free && *kind != MemoryKind::Anon {
                    let what = format!("Free of region `{region}`, which maps a file");
                    return Err(error(at, format!("{what}; write DontNeed or PageOut")));
                }
                if matches!(kind, MemoryKind::FileRead(_)) {
                    return Err(error(
                        at,
                        format!("region `{region}` is never mapped; leave this out"),
                    ));
                }
                let region = RegionId(i as u16);
                Instr::Op(Op::Madvise { region, first: *from, count: *count, advice: *advice })
            }
            Step::Mlock { region, from, count, onfault } => {
                let region = RegionId(self.range(region, *from, *count, at)? as u16);
                Instr::Op(Op::Mlock { region, first: *from, count: *count, onfault: *onfault })
            }
            Step::ShmLock { region, lock } => {
                let region = RegionId(self.range(region, 0, 1, at)? as u16);
                Instr::Op(Op::ShmLock { region, lock: *lock })
            }
            Step::Munlock { region, from, count } => {
                let region = RegionId(self.range(region, *from, *count, at)? as u16);
                Instr::Op(Op::Munlock { region, first: *from, count: *count })
            }
            // Each step has a stream of its own, by its place.
            Step::Sleep(t) => Instr::Timed(Op::Sleep, t.source(at.to_string())),
            Step::Compute(t) => Instr::Timed(Op::Compute, t.source(at.to_string())),
            Step::Records(n) => Instr::Op(Op::Records(*n)),
            Step::DropCaches => Instr::Op(Op::DropCaches),
            Step::MemcgReclaim { pages, swappiness } => {
                let (memcg, pages, swappiness) = (None, *pages, *swappiness);
                Instr::Op(Op::MemcgReclaim { memcg, pages, swappiness })
            }
            Step::Phase(name) => {
                let Ok(i) = u16::try_from(self.phases.len()) else {
                    return Err(error(at, "more than 65536 phases; leave some out"));
                };
                self.phases.push(name.clone());
                Instr::Op(Op::PhaseEnd(i))
            }
            Step::Repeat { .. } | Step::Writes(_) | Step::MlockAll { .. } | Step::MunlockAll => {
                unreachable!("handled by the caller")
            }
        })
    }

    fn find(&self, name: &str, at: &str) -> Result<usize, PhasedError> {
        self.config.regions.iter().position(|r| r.name == name).ok_or_else(|| {
            let known: Vec<&str> = self.config.regions.iter().map(|r| r.name.as_str()).collect();
            error(at, format!("no region `{name}`; write one of {}", known.join(", ")))
        })
    }

    fn mapped(&self, name: &str, at: &str) -> Result<usize, PhasedError> {
        let region = self.find(name, at)?;
        if !self.mapped[region] {
            return Err(error(
                at,
                format!("region `{name}` is not mapped here; allocate it before"),
            ));
        }
        Ok(region)
    }

    fn within(&self, region: usize, from: u32, count: u32, at: &str) -> Result<(), PhasedError> {
        let PhasedRegion { name, pages, .. } = &self.config.regions[region];
        if count == 0 || u64::from(from) + u64::from(count) > u64::from(*pages) {
            let what = format!(
                "{count} pages from page {from} of region `{name}`, which has {pages}; \
                 write at least one and end within it"
            );
            return Err(error(at, what));
        }
        Ok(())
    }

    /// The file of a region, whether it is mapped or not.
    fn file(&self, name: &str, from: u32, count: u32, at: &str) -> Result<FileSlot, PhasedError> {
        let i = self.find(name, at)?;
        self.within(i, from, count, at)?;
        if self.config.regions[i].kind == MemoryKind::Anon {
            return Err(error(at, format!("region `{name}` is no file; touch it instead")));
        }
        Ok(self.slots[i])
    }

    fn range(&self, name: &str, from: u32, count: u32, at: &str) -> Result<usize, PhasedError> {
        let region = self.mapped(name, at)?;
        self.within(region, from, count, at)?;
        Ok(region)
    }
}

/// A whole region is locked.
fn lock(region: usize, count: u32, onfault: bool) -> Op {
    Op::Mlock { region: RegionId(region as u16), first: 0, count, onfault }
}

fn error(at: &str, what: impl Into<String>) -> PhasedError {
    PhasedError { at: at.into(), what: what.into() }
}
