//! Replay: one process of a trace as a workload.
//!
//! The trace is read into memory as it is in the file (compressed) and checked to its end
//! once, when it is first opened; many runs share it. A replay decodes block by block beside
//! the run, so it needs no more memory than a block. Since the same bytes were decoded
//! before, a replay cannot fail in the middle.
//!
//! Regions appear at the addresses of the trace, so that those that shared a page table do again.
//! Unknown regions become anonymous memory; a private file page that is written becomes anonymous
//! by copy-on-write, as in the program; text is executable. Think time is computing between
//! accesses, one operation per tick that passed. With recorded arrivals each record waits for its
//! instant, and a machine that is late catches up; the report says at the end how late it was.
//!
//! A repeat begins with the mappings of the start, but the pages stay as they are: the
//! second round is the program run again on a warm machine.

use std::fs::File;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use mmsim_core::base::id::GROUP_PAGES;
use mmsim_core::base::rng::Rng;
use mmsim_core::base::settings::{Form, Formed, Row, Value};
use mmsim_core::base::time::{SimDuration, SimTime};
use mmsim_core::config::Kernel;
use mmsim_core::workload::{
    FileSlot, FileSpec, MapKind, Op, RegionId, Replayed, Run, ShmemSpec, Touch, VmaFlags, Workload,
    WorkloadCx,
};
use mmsim_core::{settings, words};

use super::error::TraceError;
use super::info::{RegionInfo, TraceInfo};
use super::reader::TraceReader;
use super::table::{Action, Backing, Record, Region, Timing, TraceTable};
use crate::work::{Pages, Threads, Work, WorkError};

/// Pages a replay needs at the same time: those of a few instructions.
const MINIMUM_PAGES: u64 = 16;

/// Records that are handed over at a time.
const BATCH: usize = 8192;

/// A trace in memory, checked to its end.
pub struct Trace {
    bytes: Arc<[u8]>,
    info: TraceInfo,
}

/// Traces that were opened last, newest last. Runs of a scenario open the same ones in turn, and
/// a check takes as long as a short run.
static OPENED: Mutex<Vec<Arc<Trace>>> = Mutex::new(Vec::new());

/// Number of traces that are kept, and the number of bytes that each may have.
const KEPT: (usize, usize) = (4, 64 << 20);

impl Trace {
    /// Reads a file, and checks it unless its bytes are those of a trace opened lately.
    pub fn open(path: impl AsRef<Path>) -> Result<Arc<Self>, TraceError> {
        let path = path.as_ref();
        let bytes =
            std::fs::read(path).map_err(TraceError::io(format!("reading {}", path.display())))?;
        let opened = || OPENED.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |opened: &[Arc<Trace>], bytes: &[u8]| {
            opened.iter().find(|t| t.bytes[..] == *bytes).map(Arc::clone)
        };
        if let Some(trace) = same(&opened(), &bytes) {
            return Ok(trace);
        }
        let trace = Self::from_bytes(bytes)?;
        if trace.bytes.len() <= KEPT.1 {
            let mut opened = opened();
            // Another thread may have opened it meanwhile.
            if let Some(trace) = same(&opened, &trace.bytes) {
                return Ok(trace);
            }
            opened.push(Arc::clone(&trace));
            let surplus = opened.len().saturating_sub(KEPT.0);
            opened.drain(..surplus);
        }
        Ok(trace)
    }

    /// Checks the contents of a file.
    pub fn from_bytes(bytes: impl Into<Arc<[u8]>>) -> Result<Arc<Self>, TraceError> {
        let bytes = bytes.into();
        let info = TraceInfo::read(&bytes[..], bytes.len() as u64)?;
        Ok(Arc::new(Trace { bytes, info }))
    }

    /// Its contents.
    pub fn info(&self) -> &TraceInfo {
        &self.info
    }
}

/// Use of recorded think time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Think {
    /// As recorded.
    Recorded,
    /// Times this number of thousandths.
    Scaled {
        /// Thousandths: 500 halves the time.
        per_mille: u32,
    },
    /// No time between accesses.
    None,
}

impl Formed for Think {
    const FORM: Form = Form::Whole;
}
impl Value for Think {
    fn number(&self, _: &Row) -> Option<u64> {
        Some(match *self {
            Think::None => 0,
            Think::Recorded => 1000,
            Think::Scaled { per_mille } => per_mille.into(),
        })
    }
    fn set_number(&mut self, _: &Row, n: u64) {
        *self = match n {
            0 => Think::None,
            1000 => Think::Recorded,
            n => Think::Scaled { per_mille: u32::try_from(n).unwrap_or(u32::MAX) },
        };
    }
}

words! {
    /// Effect of a late machine on the records that follow.
    ReplayMode {
        Recorded = "recorded", "As the trace says.";
        Closed = "closed", "The process computes for the recorded spans between its accesses.";
        Arrivals = "timed",
            "Each access waits for its recorded instant; what is late comes at once.";
    }
}

settings! {
    /// Options of a replay.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct ReplayOptions {
        /// how often
        repeat: u32 = 1, .range(1, u32::MAX as u64);
        /// recorded time between accesses, in thousandths: 500 halves it, 0 leaves none
        think as "think-permille": Think = Think::Recorded, .range(0, 1_000_000);
        /// as the trace says, or computing for the recorded time between accesses, or each access not
        /// before its recorded instant
        mode: ReplayMode = ReplayMode::Recorded;
    }
}

impl Default for ReplayOptions {
    /// Once, as recorded.
    fn default() -> Self {
        ReplayOptions::of(Kernel::LAST)
    }
}

/// A trace and how it is replayed: one process for each process in it.
#[derive(Clone, PartialEq, Debug)]
pub struct ReplayTask {
    /// The file of the trace.
    pub trace: PathBuf,
    /// Options of the replay.
    pub options: ReplayOptions,
}

impl ReplayTask {
    fn wrong(&self, error: &TraceError) -> WorkError {
        WorkError::of_file(format!("{}: {error}", self.trace.display()))
    }

    fn open(&self) -> Result<Arc<Trace>, WorkError> {
        Trace::open(&self.trace).map_err(|e| self.wrong(&e))
    }

    /// The table of the trace, without its accesses; `None`: the file cannot be read.
    fn table(&self) -> Option<TraceTable> {
        let reader = TraceReader::new(File::open(&self.trace).ok()?).ok()?;
        Some(reader.table().clone())
    }
}

impl Work for ReplayTask {
    fn threads(&self, _seed: u64, index: usize) -> Result<Threads, WorkError> {
        let trace = self.open()?;
        let processes = trace.info.processes.len();
        // A trace of no process is refused by the replay itself.
        let workload = TraceWorkload::new(trace, index % processes.max(1), self.options);
        Ok(vec![Box::new(workload.map_err(|e| self.wrong(&e))?)])
    }
    fn add_pages(&self, _seed: u64, _processes: u32, pages: &mut Pages) {
        for r in self.table().iter().flat_map(|table| &table.regions) {
            // It may begin and end within a table.
            pages.map(u64::from(r.pages) + u64::from(GROUP_PAGES) - 1, 1);
            if r.backing != Backing::Anon {
                pages.files(1, r.pages.into());
            }
        }
    }
    fn processes(&self) -> Result<usize, WorkError> {
        Ok(self.open()?.info.processes.len())
    }
    fn most_threads(&self) -> u32 {
        1
    }
    fn maps_files(&self) -> Result<bool, WorkError> {
        let maps = |backing: &Backing| {
            use Backing::{File, SharedText, Text};
            matches!(backing, File { .. } | Text { .. } | SharedText { .. })
        };
        Ok(self.open()?.info.regions.iter().any(|r| maps(&r.region.backing)))
    }
    fn has_to_be_made(&self) -> bool {
        true
    }
    fn assumptions(&self) -> Vec<String> {
        self.table().map(|table| table.assumptions).unwrap_or_default()
    }
}

/// A region of the process, numbered within it.
struct Mapped {
    region: Region,
    mapped: bool,
}

/// Replays one process of a [`Trace`].
///
/// Its phases `replay1` to `replay4` are the quarters of all accesses, repeats included, so that
/// results separate warming up from the rest.
pub struct TraceWorkload {
    trace: Arc<Trace>,
    process: u16,
    options: ReplayOptions,
    arrivals: bool,
    reader: TraceReader<Cursor<Arc<[u8]>>>,
    block: Vec<Record>,
    /// Records of the block that were handed over.
    used: usize,
    regions: Vec<Mapped>,
    /// Number within the process, by number in the trace.
    own: Vec<u16>,
    rounds_left: u32,
    started: Option<SimTime>,
    /// The time of the last call for operations, and the farthest that it was behind then.
    asked: SimTime,
    behind: SimDuration,
    /// Recorded nanoseconds so far, scaled, and thousandths of one carried on.
    clock: u64,
    carry: u64,
    /// The clock when the last compute or sleep was handed out.
    paid: u64,
    accesses: u64,
    /// Accesses handed over as touches, whose records are to follow.
    owed: u32,
    phases_ended: u16,
    total: u64,
}

const PHASES: u16 = 4;

impl TraceWorkload {
    /// Replays process number `process` of the trace, by position.
    pub fn new(
        trace: Arc<Trace>,
        process: usize,
        options: ReplayOptions,
    ) -> Result<Self, TraceError> {
        let nr = trace.info.processes.len();
        if process >= nr {
            return Err(TraceError::invalid(
                "the replay",
                format!("process {process}"),
                format!("a process below {nr}"),
            ));
        }
        if options.repeat == 0 {
            return Err(TraceError::invalid("the replay", "repeat 0", "at least 1"));
        }
        let process = process as u16;
        let reader = TraceReader::new(Cursor::new(trace.bytes.clone()))?;
        let mut own = vec![0; trace.info.regions.len()];
        let mut regions = Vec::new();
        for (i, r) in trace.info.regions.iter().enumerate() {
            if r.region.process == process {
                own[i] = regions.len() as u16;
                regions.push(Mapped { region: r.region, mapped: false });
            }
        }
        let arrivals = match options.mode {
            ReplayMode::Recorded => trace.info.timing == Timing::Arrivals,
            ReplayMode::Closed => false,
            ReplayMode::Arrivals => true,
        };
        let per_round = trace.info.processes[usize::from(process)].accesses;
        Ok(TraceWorkload {
            process,
            options,
            arrivals,
            reader,
            block: Vec::new(),
            used: 0,
            regions,
            own,
            rounds_left: options.repeat,
            started: None,
            asked: SimTime::default(),
            behind: SimDuration::ZERO,
            clock: 0,
            carry: 0,
            paid: 0,
            accesses: 0,
            owed: 0,
            phases_ended: 0,
            total: per_round.saturating_mul(u64::from(options.repeat)),
            trace,
        })
    }

    /// Maps what is mapped at the start and is not, unmaps what is mapped and should not.
    fn mappings_of_the_start(&mut self, ops: &mut Vec<Op>) {
        for i in 0..self.regions.len() {
            if !self.regions[i].region.at_start {
                self.unmap(i, ops);
            }
        }
        for i in 0..self.regions.len() {
            if self.regions[i].region.at_start {
                self.map(i, ops);
            }
        }
    }

    fn map(&mut self, i: usize, ops: &mut Vec<Op>) {
        let Mapped { region, mapped } = &mut self.regions[i];
        if std::mem::replace(mapped, true) {
            return;
        }
        let slot = FileSlot;
        let (kind, exec) = match region.backing {
            Backing::Anon | Backing::Unknown => (MapKind::Anon, false),
            Backing::File { file, offset, shared } => {
                (MapKind::File { file: slot(file), offset, shared }, false)
            }
            Backing::Text { file, offset } => {
                (MapKind::File { file: slot(file), offset, shared: false }, true)
            }
            Backing::SharedText { file, offset } => {
                (MapKind::File { file: slot(file), offset, shared: true }, true)
            }
            Backing::Shmem { file, offset } => (MapKind::Shmem { file: slot(file), offset }, false),
            Backing::Descriptor { .. } => return,
        };
        ops.push(Op::Mmap {
            region: RegionId(i as u16),
            pages: region.pages,
            kind,
            flags: VmaFlags { exec, ..VmaFlags::default() },
            at: Some(region.start),
        });
    }

    fn unmap(&mut self, i: usize, ops: &mut Vec<Op>) {
        if std::mem::replace(&mut self.regions[i].mapped, false) {
            ops.push(Op::Munmap { region: RegionId(i as u16) });
        }
    }

    /// Notes how far it is behind the last instant that it handed out.
    fn look(&mut self, now: SimTime) {
        let start = *self.started.get_or_insert(now);
        let took = SimDuration::from_nanos(now.0.saturating_sub(start.0));
        let behind = SimDuration::from_nanos(took.0.saturating_sub(self.clock));
        self.behind = self.behind.max(behind);
        self.asked = now;
    }

    /// Lets the recorded time of a record pass.
    fn pass(&mut self, ticks: u64, ops: &mut Vec<Op>) {
        let ns = ticks.saturating_mul(self.trace.info.tick_ns);
        let scaled = match self.options.think {
            Think::Recorded => ns,
            Think::None => 0,
            Think::Scaled { per_mille } => {
                let exact = u128::from(ns) * u128::from(per_mille) + u128::from(self.carry);
                self.carry = (exact % 1000) as u64;
                u64::try_from(exact / 1000).unwrap_or(u64::MAX)
            }
        };
        self.clock = self.clock.saturating_add(scaled);
        if self.clock == self.paid {
            return;
        }
        ops.push(if self.arrivals {
            let start = self.started.unwrap_or_default();
            Op::SleepUntil(start + SimDuration::from_nanos(self.clock))
        } else {
            Op::Compute(SimDuration::from_nanos(self.clock - self.paid))
        });
        self.paid = self.clock;
    }

    fn record(&mut self, record: &Record, ops: &mut Vec<Op>) {
        self.pass(record.ticks, ops);
        match record.action {
            Action::Access { region, write, first, count } => {
                let i = self.own[usize::from(region)];
                ops.push(match self.regions[usize::from(i)].region.backing {
                    Backing::Descriptor { file, offset } => {
                        let (file, first) = (FileSlot(file), offset + first);
                        if write {
                            Op::Write { file, first, count }
                        } else {
                            Op::Read { file, first, count }
                        }
                    }
                    _ => Op::Access(Run { region: RegionId(i), write, first, count }),
                });
                self.accesses += u64::from(count);
                self.end_phases(ops);
            }
            Action::Map { region } => self.map(usize::from(self.own[usize::from(region)]), ops),
            Action::Unmap { region } => {
                self.unmap(usize::from(self.own[usize::from(region)]), ops);
            }
        }
    }

    /// Ends the quarters that are done; the last one ends with the replay.
    fn end_phases(&mut self, ops: &mut Vec<Op>) {
        while self.phase_ends_by(self.accesses) {
            ops.push(Op::PhaseEnd(self.phases_ended));
            self.phases_ended += 1;
        }
    }

    /// True if a quarter that has not ended is done after `accesses` accesses.
    fn phase_ends_by(&self, accesses: u64) -> bool {
        self.phases_ended < PHASES - 1
            && u128::from(accesses) * u128::from(PHASES)
                >= u128::from(self.total) * u128::from(self.phases_ended + 1)
    }

    /// The region that all records of some touch one page of, each without any time before it, if no
    /// quarter ends among them.
    fn touched(&self, some: &[Record]) -> Option<RegionId> {
        let mut found = None;
        let mut accesses = self.accesses;
        for record in some.iter().filter(|r| r.process == self.process) {
            let Action::Access { region, count: 1, .. } = record.action else { return None };
            let at_once = record.ticks == 0 || self.options.think == Think::None;
            if !at_once || *found.get_or_insert(region) != region {
                return None;
            }
            accesses += 1;
        }
        let own = self.own[usize::from(found?)];
        let region = &self.regions[usize::from(own)].region;
        let mapped = !matches!(region.backing, Backing::Descriptor { .. });
        let short = mapped && region.pages <= Touch::MOST_PAGES && !self.phase_ends_by(accesses);
        short.then_some(RegionId(own))
    }

    /// The next records of the block, or of the next one, with some of the process among
    /// them. None: the round is over.
    fn next_records(&mut self) -> Option<std::ops::Range<usize>> {
        loop {
            let some = self.used..self.block.len().min(self.used + BATCH);
            if self.block[some.clone()].iter().any(|r| r.process == self.process) {
                return Some(some);
            }
            self.used = some.end;
            if !some.is_empty() {
                continue;
            }
            self.used = 0;
            match self.reader.next_block(&mut self.block) {
                Ok(true) => {}
                Ok(false) => return None,
                Err(e) => panic!("a trace that was read before cannot be read again: {e}"),
            }
        }
    }

    fn rewind(&mut self) {
        match TraceReader::new(Cursor::new(self.trace.bytes.clone())) {
            Ok(reader) => self.reader = reader,
            Err(e) => panic!("a trace that was read before cannot be read again: {e}"),
        }
    }
}

impl Workload for TraceWorkload {
    fn files(&self) -> Vec<FileSpec> {
        let shared = |i: usize| {
            let of = |r: &RegionInfo| match r.region.backing {
                Backing::Shmem { file, .. } => usize::from(file) == i,
                _ => false,
            };
            let is = self.trace.info.regions.iter().any(of);
            is.then_some(ShmemSpec::default())
        };
        let files = self.trace.info.files.iter().enumerate();
        files
            .map(|(i, (name, pages))| {
                let shmem = shared(i);
                // It is no file of a disk, whatever its name.
                let name = if shmem.is_some() { format!("shm/{name}") } else { name.clone() };
                FileSpec { shmem, ..FileSpec::new(name, *pages) }
            })
            .collect()
    }

    fn phases(&self) -> Vec<String> {
        (1..=PHASES).map(|i| format!("replay{i}")).collect()
    }

    fn minimum_pages(&self) -> u64 {
        MINIMUM_PAGES
    }

    fn replayed(&self) -> Option<Replayed> {
        let start = self.started.filter(|_| self.arrivals && self.clock > 0)?;
        let took = SimDuration::from_nanos(self.asked.0.saturating_sub(start.0));
        let recorded = SimDuration::from_nanos(self.clock);
        Some(Replayed { recorded, took, behind: self.behind })
    }

    fn fill_touches(
        &mut self,
        cx: &WorkloadCx<'_>,
        _rng: &mut Rng,
        touches: &mut Vec<Touch>,
    ) -> Option<RegionId> {
        if self.started.is_none() || self.owed > 0 || self.rounds_left == 0 {
            return None;
        }
        let some = self.next_records()?;
        let region = self.touched(&self.block[some.clone()])?;
        self.look(cx.now);
        self.used = some.end;
        let records = self.block[some].iter().filter(|r| r.process == self.process);
        touches.extend(records.filter_map(|r| match r.action {
            Action::Access { write, first, .. } => Some(Touch::new(first, write)),
            _ => None,
        }));
        self.accesses += touches.len() as u64;
        self.owed = touches.len() as u32;
        Some(region)
    }

    fn fill(&mut self, cx: &WorkloadCx, _rng: &mut Rng, ops: &mut Vec<Op>) {
        let first = self.started.is_none();
        self.look(cx.now);
        if self.owed > 0 {
            return ops.push(Op::Records(std::mem::take(&mut self.owed)));
        }
        if first {
            self.mappings_of_the_start(ops);
        }
        while self.rounds_left > 0 {
            if let Some(some) = self.next_records() {
                self.used = some.end;
                let before = self.accesses;
                let block = std::mem::take(&mut self.block);
                let process = self.process;
                for record in block[some].iter().filter(|r| r.process == process) {
                    self.record(record, ops);
                }
                self.block = block;
                let done = (self.accesses - before).min(u64::from(u32::MAX)) as u32;
                if done > 0 {
                    ops.push(Op::Records(done));
                }
                return;
            }
            self.rounds_left -= 1;
            if self.rounds_left > 0 {
                self.rewind();
                self.mappings_of_the_start(ops);
            } else {
                while self.phases_ended < PHASES {
                    ops.push(Op::PhaseEnd(self.phases_ended));
                    self.phases_ended += 1;
                }
                return;
            }
        }
    }
}
