//! Events of runs as a trace of TrackEvents, which the Perfetto UI opens.
//!
//! A run is a process. It has a track for each CPU, with the thread that runs on it, for each thread,
//! with its major faults and direct reclaim, for kswapd of each node, for compaction, and for
//! refaults; counters are tracks of their own. An eviction stands on the track of who reclaims then,
//! and an arrow leads from it to the refault of the same page.
//!
//! Events say when a fault was resolved and not when it began, so faults are instants. Minor faults
//! are left out: a run has more of them than a viewer shows.
//!
//! Numbers of fields are those of `protos/perfetto/trace/` of Perfetto: `trace_packet.proto`,
//! `track_event/track_event.proto`, `track_event/track_descriptor.proto`.

mod wire;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};

use mmsim::base::id::ThreadId;
use mmsim::base::time::SimTime;
use mmsim::error::escaped;
use mmsim::memory::trace::{FaultKind, Observer, TraceEvent, TraceKind, TraceKinds};

use crate::series::Series;
use wire::Message;

/// Names of events, whose numbers stand in for them from 1 on.
const NAMES: [&str; 11] = [
    "direct reclaim",
    "reclaims",
    "compaction",
    "evict anon",
    "evict file",
    "refault anon",
    "refault file",
    "swap-in",
    "file read",
    "killed for memory",
    "daemon acts",
];
const DIRECT: u64 = 1;
const KSWAPD: u64 = 2;
const COMPACTION: u64 = 3;
const EVICT: u64 = 4;
const REFAULT: u64 = 6;
const SWAP_IN: u64 = 8;
const FILE_READ: u64 = 9;
const KILLED: u64 = 10;
const ACTS: u64 = 11;
/// Names of threads follow: what a slice of a CPU is called.
const THREADS: u64 = 100;

/// Kinds of TrackEvents.
#[derive(Clone, Copy)]
enum Kind {
    Begin = 1,
    End = 2,
    Instant = 3,
    Counter = 4,
}

/// Kind of a track.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Track {
    Cpu(u32),
    Thread(u32),
    Kswapd(u8),
    Compaction,
    Refaults,
    Daemon(u8),
}

/// Events of a run that have been written so far.
#[derive(Debug)]
struct Written {
    run: u64,
    packets: Message,
    /// Bytes that it may have.
    most: usize,
    /// When it was full.
    full: Option<SimTime>,
    /// Slices that are open, by track.
    open: BTreeMap<Track, u64>,
    tracks: BTreeMap<Track, ()>,
    /// Threads that reclaim directly, the last one last.
    reclaimers: Vec<ThreadId>,
}

/// Writes the events of a run while it goes on.
#[derive(Clone, Debug)]
pub struct Watcher(Arc<Mutex<Written>>);

/// A track of a run as a number of its own in the trace.
fn uuid(run: u64, track: Track) -> u64 {
    let (sort, number) = match track {
        Track::Cpu(n) => (1, u64::from(n)),
        Track::Thread(n) => (2, u64::from(n)),
        Track::Kswapd(n) => (3, u64::from(n)),
        Track::Compaction => (4, 0),
        Track::Refaults => (5, 0),
        Track::Daemon(n) => (6, u64::from(n)),
    };
    (run + 1) << 40 | sort << 32 | number
}

/// The packets of a run have a sequence of their own.
fn packet(run: u64) -> Message {
    Message::default().number(10, run + 1).number(13, 2)
}

impl Watcher {
    /// Watches the run at this place, in at most `most` bytes.
    pub fn new(run: usize, most: usize) -> Watcher {
        let (packets, open, tracks) = (Message::default(), BTreeMap::new(), BTreeMap::new());
        let (run, reclaimers) = (run as u64, Vec::new());
        let written = Written { run, packets, most, full: None, open, tracks, reclaimers };
        Watcher(Arc::new(Mutex::new(written)))
    }

    /// Observer for the machine.
    pub fn observer(&self) -> Box<dyn Observer> {
        Box::new(self.clone())
    }

    /// When the first event was left out, if they were too many.
    pub fn full(&self) -> Option<SimTime> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).full
    }

    /// The trace of the run: its tracks, its events, and its series as counters. `threads`: names by
    /// number.
    pub fn finish(&self, label: &str, threads: &[&str], end: SimTime, series: &Series) -> Vec<u8> {
        let mut w = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (track, _) in std::mem::take(&mut w.open) {
            w.event(end, Kind::End, track, 0, None);
        }
        let mut out = Message::default();
        let run = w.run;
        let pid = run + 1;
        let process = Message::default().number(1, pid).text(6, &escaped(label));
        let process_uuid = (run + 1) << 40;
        let tracks =
            std::iter::once(Message::default().number(1, process_uuid).message(3, &process));
        // Names come from input, and their control characters are shown and not done.
        let name_of = |n: u32| escaped(threads.get(n as usize).unwrap_or(&"thread")).into_owned();
        let of = |(place, track): (usize, &Track)| {
            let name = match *track {
                Track::Cpu(n) => format!("CPU {n}"),
                Track::Thread(n) => name_of(n),
                Track::Kswapd(n) => format!("kswapd{n}"),
                Track::Compaction => "compaction".to_string(),
                Track::Refaults => "refaults".to_string(),
                Track::Daemon(n) => format!("daemon {n}"),
            };
            let descriptor = Message::default().number(1, uuid(run, *track));
            if !matches!(track, Track::Thread(_) | Track::Kswapd(_)) {
                return descriptor.number(5, process_uuid).text(2, &name);
            }
            // Numbers of threads are those of the whole trace; 0 and that of the process are taken.
            let tid = pid * 100_000 + place as u64 + 1;
            let thread = Message::default().number(1, pid).number(2, tid).text(5, &name);
            descriptor.message(4, &thread)
        };
        let all: Vec<Message> = tracks.chain(w.tracks.keys().enumerate().map(of)).collect();
        let mut names = Message::default();
        for (iid, name) in (1..).zip(NAMES) {
            names = names.message(2, &Message::default().number(1, iid).text(2, name));
        }
        for (iid, name) in (THREADS..).zip(threads) {
            let name = escaped(name);
            names = names.message(2, &Message::default().number(1, iid).text(2, &name));
        }
        let first = Message::default().number(10, run + 1).number(13, 3).message(12, &names);
        out = out.message(1, &first);
        for descriptor in all {
            out = out.message(1, &packet(run).message(60, &descriptor));
        }
        out.append(&w.packets);
        for (place, (name, values)) in series.columns.iter().enumerate() {
            let track = (run + 1) << 40 | 9 << 32 | place as u64;
            let counter = Message::default().number(3, 2);
            let descriptor = Message::default().number(1, track).number(5, process_uuid);
            let descriptor = descriptor.text(2, name).message(8, &counter);
            out = out.message(1, &packet(run).message(60, &descriptor));
            for (time, value) in series.time_ns.iter().zip(values) {
                let event = Message::default().number(9, Kind::Counter as u64).number(11, track);
                let event = event.number(30, *value);
                out = out.message(1, &packet(run).number(8, *time).message(11, &event));
            }
        }
        out.finish()
    }
}

impl Written {
    /// One event. `flow`: the eviction that it is or answers, and whether the arrow ends here.
    fn event(
        &mut self,
        t: SimTime,
        kind: Kind,
        track: Track,
        name: u64,
        flow: Option<(u64, bool)>,
    ) {
        self.tracks.insert(track, ());
        let mut event = Message::default().number(9, kind as u64).number(11, uuid(self.run, track));
        if name > 0 {
            event = event.number(10, name);
        }
        if let Some((eviction, ends)) = flow {
            let id = (self.run + 1) << 40 | eviction;
            event = event.fixed(if ends { 48 } else { 47 }, id);
        }
        let packet = packet(self.run).number(8, t.0).message(11, &event);
        self.packets = std::mem::take(&mut self.packets).message(1, &packet);
    }

    fn begin(&mut self, now: SimTime, track: Track, name: u64) {
        if let Entry::Vacant(closed) = self.open.entry(track) {
            closed.insert(name);
            self.event(now, Kind::Begin, track, name, None);
        }
    }

    fn end(&mut self, now: SimTime, track: Track) {
        if self.open.remove(&track).is_some() {
            self.event(now, Kind::End, track, 0, None);
        }
    }

    /// Who evicts now.
    fn reclaimer(&self) -> Track {
        let thread = self.reclaimers.last().map(|t| Track::Thread(t.0));
        let kswapd = || self.open.keys().find(|t| matches!(t, Track::Kswapd(_))).copied();
        thread.or_else(kswapd).unwrap_or(Track::Kswapd(0))
    }

    fn see(&mut self, now: SimTime, event: &TraceEvent) {
        match *event {
            TraceEvent::SchedSwitch { cpu, thread } => {
                let track = Track::Cpu(cpu.0.into());
                self.end(now, track);
                if let Some(thread) = thread {
                    self.begin(now, track, THREADS + u64::from(thread.0));
                }
            }
            TraceEvent::PageFault { thread, major: true, kind, .. } => {
                let file = kind == FaultKind::FileMajor;
                let name = if file { FILE_READ } else { SWAP_IN };
                self.event(now, Kind::Instant, Track::Thread(thread.0), name, None);
            }
            TraceEvent::MmVmscanDirectReclaimBegin { thread, .. } => {
                self.reclaimers.push(thread);
                self.begin(now, Track::Thread(thread.0), DIRECT);
            }
            TraceEvent::MmVmscanDirectReclaimEnd { thread, .. } => {
                self.reclaimers.retain(|t| *t != thread);
                self.end(now, Track::Thread(thread.0));
            }
            TraceEvent::MmVmscanKswapdWake { node, .. } => {
                self.begin(now, Track::Kswapd(node.0), KSWAPD);
            }
            TraceEvent::MmVmscanKswapdSleep { node } => self.end(now, Track::Kswapd(node.0)),
            TraceEvent::MmCompactionBegin { .. } => self.begin(now, Track::Compaction, COMPACTION),
            TraceEvent::MmCompactionEnd { .. } => self.end(now, Track::Compaction),
            TraceEvent::SimEvict { eviction, file, .. } => {
                let flow = Some((eviction, false));
                let track = self.reclaimer();
                self.event(now, Kind::Instant, track, EVICT + u64::from(file), flow);
            }
            TraceEvent::SimRefault { file, eviction, .. } => {
                let flow = eviction.map(|e| (e, true));
                let name = REFAULT + u64::from(file);
                self.event(now, Kind::Instant, Track::Refaults, name, flow);
            }
            TraceEvent::MarkVictim { .. } => {
                self.event(now, Kind::Instant, Track::Refaults, KILLED, None);
            }
            TraceEvent::SimDaemonAct { daemon, .. } => {
                self.event(now, Kind::Instant, Track::Daemon(daemon.0), ACTS, None);
            }
            _ => {}
        }
    }
}

impl Observer for Watcher {
    fn kinds(&self) -> TraceKinds {
        TraceKinds::of(&[
            TraceKind::SchedSwitch,
            TraceKind::PageFault,
            TraceKind::MmVmscanDirectReclaimBegin,
            TraceKind::MmVmscanDirectReclaimEnd,
            TraceKind::MmVmscanKswapdWake,
            TraceKind::MmVmscanKswapdSleep,
            TraceKind::MmCompactionBegin,
            TraceKind::MmCompactionEnd,
            TraceKind::SimEvict,
            TraceKind::SimRefault,
            TraceKind::MarkVictim,
            TraceKind::SimDaemonAct,
        ])
    }

    fn event(&mut self, now: SimTime, event: &TraceEvent) {
        let mut written = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if written.packets.len() < written.most {
            written.see(now, event);
        } else {
            written.full.get_or_insert(now);
        }
    }
}
