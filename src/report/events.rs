//! Trace events as JSON lines: `{"t_ns":..,"event":"mm_vmscan_..",fields..}`.
//!
//! One line per event, fields in a fixed order under the names of the event's fields; ids
//! are plain numbers, and what does not apply is `null`. Lines are put together by hand,
//! since a run can have hundreds of millions of them. The observer goes into the machine
//! and only sees: an error while writing is kept and returned at the end, so that it
//! cannot change a run.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mmsim_core::base::id::{PageIdx, ThreadId};
use mmsim_core::base::time::SimTime;
use mmsim_core::memory::trace::{FaultKind, Observer, ScanOutcome, TraceEvent};

/// A kind of event, as `docs/observing.md` lists it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct EventKind {
    /// Its name in the file and in filters.
    pub name: &'static str,
    /// The kernel's tracepoint; `None` where Linux has none.
    pub tracepoint: Option<&'static str>,
    /// Its fields after `t_ns` and `event`, in their order, with blanks between them.
    pub fields: &'static str,
    /// When it happens.
    pub about: &'static str,
}

const fn kind(
    name: &'static str,
    tracepoint: &'static str,
    fields: &'static str,
    about: &'static str,
) -> EventKind {
    let tracepoint = if tracepoint.is_empty() { None } else { Some(tracepoint) };
    EventKind { name, tracepoint, fields, about }
}

/// All kinds of events, in the order of [`TraceEvent`].
pub const EVENTS: &[EventKind] = &[
    kind(
        "page_fault_user",
        "exceptions:page_fault_user",
        "thread page write kind major",
        "a fault was resolved, and how",
    ),
    kind("mm_page_alloc", "kmem:mm_page_alloc", "pfn order zone", "a frame was allocated"),
    kind("mm_page_free", "kmem:mm_page_free", "pfn order", "a frame went back to the allocator"),
    kind(
        "mm_page_alloc_extfrag",
        "kmem:mm_page_alloc_extfrag",
        "pfn alloc_order fallback_order alloc_migratetype fallback_migratetype fragmenting \
         change_ownership",
        "a request was served from another migratetype",
    ),
    kind(
        "mm_vmscan_lru_isolate",
        "vmscan:mm_vmscan_lru_isolate",
        "node memcg lru nr_requested nr_scanned nr_taken",
        "a scan took folios off a list",
    ),
    kind(
        "mm_vmscan_lru_shrink_active",
        "vmscan:mm_vmscan_lru_shrink_active",
        "node file nr_taken nr_active nr_deactivated priority",
        "a batch of the active list was scanned",
    ),
    kind(
        "mm_vmscan_lru_shrink_inactive",
        "vmscan:mm_vmscan_lru_shrink_inactive",
        "node file nr_scanned nr_reclaimed priority",
        "a batch of the inactive list was scanned",
    ),
    kind(
        "sim_scan_folio",
        "",
        "pfn page file outcome",
        "what an inactive scan did with one folio, and why",
    ),
    kind(
        "mm_lru_activate",
        "pagemap:mm_lru_activate",
        "pfn",
        "a folio was activated outside of a scan",
    ),
    kind("sim_deactivate", "", "pfn", "a folio went from the active to the inactive list"),
    kind("sim_lazy_free", "", "pfn page", "a folio became lazily freed memory"),
    kind("sim_lazy_drop", "", "pfn page", "lazily freed memory was dropped"),
    kind(
        "mm_lru_insertion",
        "pagemap:mm_lru_insertion",
        "pfn lru",
        "a folio left its batch and entered a list",
    ),
    kind(
        "sim_evict",
        "",
        "eviction pfn page file slot written",
        "a folio was evicted; evictions are numbered from 1",
    ),
    kind(
        "sim_refault",
        "",
        "page file eviction distance workingset_size activated",
        "an evicted page is wanted again: which eviction that answers, how many evictions (and activations) ago, and the size that decides",
    ),
    kind(
        "sim_lru_gen",
        "",
        "node memcg seq age_ms nr_anon nr_file",
        "one of MGLRU's generations after a new one began, the oldest first",
    ),
    kind(
        "mm_vmscan_write_folio",
        "vmscan:mm_vmscan_write_folio",
        "pfn file",
        "reclaim writes a folio",
    ),
    kind("sim_writeback_end", "", "pfn", "a write ended"),
    kind("mm_vmscan_kswapd_wake", "vmscan:mm_vmscan_kswapd_wake", "node order", "kswapd woke"),
    kind("mm_vmscan_kswapd_sleep", "vmscan:mm_vmscan_kswapd_sleep", "node", "kswapd went to sleep"),
    kind(
        "mm_vmscan_direct_reclaim_begin",
        "vmscan:mm_vmscan_direct_reclaim_begin",
        "thread order",
        "an allocating thread begins to reclaim",
    ),
    kind(
        "mm_vmscan_direct_reclaim_end",
        "vmscan:mm_vmscan_direct_reclaim_end",
        "thread nr_reclaimed",
        "it is done",
    ),
    kind("mark_victim", "oom:mark_victim", "process pages", "the OOM killer chose a process"),
    kind(
        "mm_filemap_add_to_page_cache",
        "filemap:mm_filemap_add_to_page_cache",
        "file index pfn",
        "a page of a file entered the page cache",
    ),
    kind(
        "mm_compaction_begin",
        "compaction:mm_compaction_begin",
        "zone migrate_pfn free_pfn sync",
        "a run of compaction over a zone begins where its scanners stand",
    ),
    kind(
        "mm_compaction_migratepages",
        "compaction:mm_compaction_migratepages",
        "nr_migrated nr_failed",
        "it moved a batch of pages; for those that failed there was no place, or they cannot be moved now",
    ),
    kind(
        "mm_compaction_end",
        "compaction:mm_compaction_end",
        "zone migrate_pfn free_pfn sync status",
        "it ended; `contended` also where 4.1 was limited or found no place",
    ),
    kind("sim_migrate", "", "pfn target page", "a folio moved to another frame"),
    kind(
        "sched_switch",
        "sched:sched_switch",
        "cpu thread",
        "a CPU turned to a thread, or (null) to background work",
    ),
];

/// Which events are written. Conditions of one kind are alternatives, conditions of
/// different kinds must all hold; an event that has no thread (no page) does not meet a
/// condition on threads (pages).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct EventFilter {
    /// Names of events; empty: all.
    pub kinds: Vec<String>,
    /// Tasks, as the scenario names them, or threads by number; empty: all.
    pub tasks: Vec<String>,
    /// First and last page; `None`: all.
    pub pages: Option<(u32, u32)>,
}

/// What is wrong with the text of an [`EventFilter`].
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FilterError {
    /// A clause is no pair.
    #[error("`{0}` has no `=`, write `kind=..`, `task=..` or `pages=a-b`")]
    NoPair(String),
    /// There is no such event; the nearest name, if one is near.
    #[error("there is no event `{0}`{near}", near = did_you_mean(*.1))]
    NoEvent(String, Option<&'static str>),
    /// Not a range of pages.
    #[error("`{0}` is not a range of pages, write `pages=0-511`")]
    NoRange(String),
    /// No such key.
    #[error("`{0}` is not one of `kind`, `task`, `pages`")]
    NoKey(String),
}

impl EventFilter {
    /// Reads `kind=sim_evict,kind=sim_refault,task=ebizzy,pages=0-511`.
    ///
    /// # Errors
    ///
    /// The first clause that means nothing.
    pub fn parse(text: &str) -> Result<EventFilter, FilterError> {
        let mut filter = EventFilter::default();
        for clause in text.split(',').filter(|c| !c.is_empty()) {
            let (key, value) =
                clause.split_once('=').ok_or_else(|| FilterError::NoPair(clause.into()))?;
            match key {
                "kind" => {
                    if !EVENTS.iter().any(|e| e.name == value) {
                        return Err(FilterError::NoEvent(value.into(), nearest(value)));
                    }
                    filter.kinds.push(value.to_string());
                }
                "task" => filter.tasks.push(value.to_string()),
                "pages" => filter.pages = Some(parse_pages(value)?),
                _ => return Err(FilterError::NoKey(key.into())),
            }
        }
        Ok(filter)
    }
}

/// The event whose name is near, if one is.
fn nearest(name: &str) -> Option<&'static str> {
    let distance = |e: &EventKind| strsim::damerau_levenshtein(name, e.name);
    let nearest = EVENTS.iter().min_by_key(|e| distance(e))?;
    (distance(nearest) <= 5).then_some(nearest.name)
}

fn did_you_mean(name: Option<&str>) -> String {
    name.map_or(String::new(), |name| format!(", did you mean `{name}`?"))
}

fn parse_pages(text: &str) -> Result<(u32, u32), FilterError> {
    let wrong = || FilterError::NoRange(text.into());
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let first: u32 = first.parse().map_err(|_| wrong())?;
    let last: u32 = last.parse().map_err(|_| wrong())?;
    if first > last { Err(wrong()) } else { Ok((first, last)) }
}

/// Puts one line together.
struct Line<'a>(&'a mut String);

impl Line<'_> {
    fn num(&mut self, key: &str, value: impl Into<u64>) -> &mut Self {
        write!(self.0, ",\"{key}\":{}", value.into()).expect("writing to a string");
        self
    }
    fn opt(&mut self, key: &str, value: Option<impl Into<u64>>) -> &mut Self {
        match value {
            Some(value) => self.num(key, value),
            None => {
                write!(self.0, ",\"{key}\":null").expect("writing to a string");
                self
            }
        }
    }
    fn flag(&mut self, key: &str, value: bool) -> &mut Self {
        write!(self.0, ",\"{key}\":{value}").expect("writing to a string");
        self
    }
    /// A name of ours: it has nothing that would need escaping.
    fn name(&mut self, key: &str, value: &str) -> &mut Self {
        write!(self.0, ",\"{key}\":\"{value}\"").expect("writing to a string");
        self
    }
}

const fn fault_name(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::ZeroFill => "zero_fill",
        FaultKind::ZeroPage => "zero_page",
        FaultKind::SwapIn => "swap_in",
        FaultKind::SwapCache => "swap_cache",
        FaultKind::FileMinor => "file_minor",
        FaultKind::FileMajor => "file_major",
        FaultKind::Cow => "cow",
        FaultKind::Reuse => "reuse",
    }
}

const fn outcome_name(outcome: ScanOutcome) -> &'static str {
    match outcome {
        ScanOutcome::Reclaimed => "reclaimed",
        ScanOutcome::LazyFreed => "lazy_freed",
        ScanOutcome::KeepReferenced => "keep_referenced",
        ScanOutcome::KeepWriteback => "keep_writeback",
        ScanOutcome::KeepBusy => "keep_busy",
        ScanOutcome::ActivateReferenced => "activate_referenced",
        ScanOutcome::ActivateDirty => "activate_dirty",
        ScanOutcome::ActivateWriteback => "activate_writeback",
        ScanOutcome::ActivateRewritten => "activate_rewritten",
        ScanOutcome::ActivateNoSwap => "activate_no_swap",
        ScanOutcome::Unevictable => "unevictable",
    }
}

/// The name of an event.
pub const fn event_name(event: &TraceEvent) -> &'static str {
    match event {
        TraceEvent::PageFault { .. } => "page_fault_user",
        TraceEvent::MmPageAlloc { .. } => "mm_page_alloc",
        TraceEvent::MmPageFree { .. } => "mm_page_free",
        TraceEvent::MmPageAllocExtfrag(_) => "mm_page_alloc_extfrag",
        TraceEvent::MmVmscanLruIsolate { .. } => "mm_vmscan_lru_isolate",
        TraceEvent::MmVmscanLruShrinkActive { .. } => "mm_vmscan_lru_shrink_active",
        TraceEvent::MmVmscanLruShrinkInactive { .. } => "mm_vmscan_lru_shrink_inactive",
        TraceEvent::SimScanFolio { .. } => "sim_scan_folio",
        TraceEvent::MmLruActivate { .. } => "mm_lru_activate",
        TraceEvent::SimDeactivate { .. } => "sim_deactivate",
        TraceEvent::SimLazyFree { .. } => "sim_lazy_free",
        TraceEvent::SimLazyDrop { .. } => "sim_lazy_drop",
        TraceEvent::MmLruInsertion { .. } => "mm_lru_insertion",
        TraceEvent::SimEvict { .. } => "sim_evict",
        TraceEvent::SimRefault { .. } => "sim_refault",
        TraceEvent::SimLruGen { .. } => "sim_lru_gen",
        TraceEvent::MmVmscanWriteFolio { .. } => "mm_vmscan_write_folio",
        TraceEvent::SimWritebackEnd { .. } => "sim_writeback_end",
        TraceEvent::MmVmscanKswapdWake { .. } => "mm_vmscan_kswapd_wake",
        TraceEvent::MmVmscanKswapdSleep { .. } => "mm_vmscan_kswapd_sleep",
        TraceEvent::MmVmscanDirectReclaimBegin { .. } => "mm_vmscan_direct_reclaim_begin",
        TraceEvent::MmVmscanDirectReclaimEnd { .. } => "mm_vmscan_direct_reclaim_end",
        TraceEvent::MarkVictim { .. } => "mark_victim",
        TraceEvent::MmFilemapAddToPageCache { .. } => "mm_filemap_add_to_page_cache",
        TraceEvent::MmCompactionBegin { .. } => "mm_compaction_begin",
        TraceEvent::MmCompactionMigratepages { .. } => "mm_compaction_migratepages",
        TraceEvent::MmCompactionEnd { .. } => "mm_compaction_end",
        TraceEvent::SimMigrate { .. } => "sim_migrate",
        TraceEvent::SchedSwitch { .. } => "sched_switch",
    }
}

/// The thread that an event is about.
const fn thread_of(event: &TraceEvent) -> Option<ThreadId> {
    match *event {
        TraceEvent::PageFault { thread, .. }
        | TraceEvent::MmVmscanDirectReclaimBegin { thread, .. }
        | TraceEvent::MmVmscanDirectReclaimEnd { thread, .. } => Some(thread),
        TraceEvent::SchedSwitch { thread, .. } => thread,
        _ => None,
    }
}

/// The page that an event is about.
const fn page_of(event: &TraceEvent) -> Option<PageIdx> {
    match *event {
        TraceEvent::PageFault { page, .. } | TraceEvent::SimRefault { page, .. } => Some(page),
        TraceEvent::SimScanFolio { page, .. }
        | TraceEvent::SimLazyFree { page, .. }
        | TraceEvent::SimLazyDrop { page, .. }
        | TraceEvent::SimMigrate { page, .. }
        | TraceEvent::SimEvict { page, .. } => page,
        _ => None,
    }
}

/// Appends the line of an event, without the newline and the closing brace.
fn write_event(out: &mut String, now: SimTime, event: &TraceEvent) {
    write!(out, "{{\"t_ns\":{},\"event\":\"{}\"", now.0, event_name(event))
        .expect("writing to a string");
    let line = &mut Line(out);
    match *event {
        TraceEvent::PageFault { thread, page, write, kind, major } => line
            .num("thread", thread.0)
            .num("page", page.0)
            .flag("write", write)
            .name("kind", fault_name(kind))
            .flag("major", major),
        TraceEvent::MmPageAlloc { pfn, order, zone } => {
            line.num("pfn", pfn.0).num("order", order).num("zone", zone)
        }
        TraceEvent::MmPageFree { pfn, order } => line.num("pfn", pfn.0).num("order", order),
        TraceEvent::MmPageAllocExtfrag(e) => line
            .num("pfn", e.pfn.0)
            .num("alloc_order", e.alloc_order)
            .num("fallback_order", e.fallback_order)
            .name("alloc_migratetype", e.alloc_migratetype.name())
            .name("fallback_migratetype", e.fallback_migratetype.name())
            .flag("fragmenting", e.fragmenting)
            .flag("change_ownership", e.change_ownership),
        TraceEvent::MmVmscanLruIsolate { node, memcg, lru, nr_requested, nr_scanned, nr_taken } => {
            line.num("node", node.0)
                .num("memcg", memcg.0)
                .name("lru", lru)
                .num("nr_requested", nr_requested)
                .num("nr_scanned", nr_scanned)
                .num("nr_taken", nr_taken)
        }
        TraceEvent::MmVmscanLruShrinkActive {
            node,
            file,
            nr_taken,
            nr_active,
            nr_deactivated,
            priority,
        } => line
            .num("node", node.0)
            .flag("file", file)
            .num("nr_taken", nr_taken)
            .num("nr_active", nr_active)
            .num("nr_deactivated", nr_deactivated)
            .num("priority", priority),
        TraceEvent::MmVmscanLruShrinkInactive {
            node,
            file,
            nr_scanned,
            nr_reclaimed,
            priority,
        } => line
            .num("node", node.0)
            .flag("file", file)
            .num("nr_scanned", nr_scanned)
            .num("nr_reclaimed", nr_reclaimed)
            .num("priority", priority),
        TraceEvent::SimScanFolio { pfn, page, file, outcome } => line
            .num("pfn", pfn.0)
            .opt("page", page.map(|p| p.0))
            .flag("file", file)
            .name("outcome", outcome_name(outcome)),
        TraceEvent::MmLruActivate { pfn } => line.num("pfn", pfn.0),
        TraceEvent::SimDeactivate { pfn } => line.num("pfn", pfn.0),
        TraceEvent::SimLazyFree { pfn, page } | TraceEvent::SimLazyDrop { pfn, page } => {
            line.num("pfn", pfn.0).opt("page", page.map(|p| p.0))
        }
        TraceEvent::MmLruInsertion { pfn, lru } => line.num("pfn", pfn.0).name("lru", lru),
        TraceEvent::SimEvict { eviction, pfn, page, file, slot, written } => line
            .num("eviction", eviction)
            .num("pfn", pfn.0)
            .opt("page", page.map(|p| p.0))
            .flag("file", file)
            .opt("slot", slot.map(|s| s.0))
            .flag("written", written),
        TraceEvent::SimRefault { page, file, eviction, distance, workingset_size, activated } => {
            line.num("page", page.0)
                .flag("file", file)
                .opt("eviction", eviction)
                .num("distance", distance)
                .num("workingset_size", workingset_size)
                .flag("activated", activated)
        }
        TraceEvent::SimLruGen { node, memcg, seq, age, nr_anon, nr_file } => line
            .num("node", node.0)
            .num("memcg", memcg.0)
            .num("seq", seq)
            .num("age_ms", age.0 / 1_000_000)
            .num("nr_anon", nr_anon)
            .num("nr_file", nr_file),
        TraceEvent::MmVmscanWriteFolio { pfn, file } => line.num("pfn", pfn.0).flag("file", file),
        TraceEvent::SimWritebackEnd { pfn } => line.num("pfn", pfn.0),
        TraceEvent::MmVmscanKswapdWake { node, order } => {
            line.num("node", node.0).num("order", order)
        }
        TraceEvent::MmVmscanKswapdSleep { node } => line.num("node", node.0),
        TraceEvent::MmVmscanDirectReclaimBegin { thread, order } => {
            line.num("thread", thread.0).num("order", order)
        }
        TraceEvent::MmVmscanDirectReclaimEnd { thread, nr_reclaimed } => {
            line.num("thread", thread.0).num("nr_reclaimed", nr_reclaimed)
        }
        TraceEvent::MarkVictim { process, pages } => {
            line.num("process", process.0).num("pages", pages)
        }
        TraceEvent::MmFilemapAddToPageCache { file, index, pfn } => {
            line.num("file", file.0).num("index", index).num("pfn", pfn.0)
        }
        TraceEvent::MmCompactionBegin { zone, migrate_pfn, free_pfn, sync } => line
            .num("zone", zone.0)
            .num("migrate_pfn", migrate_pfn.0)
            .num("free_pfn", free_pfn.0)
            .flag("sync", sync),
        TraceEvent::MmCompactionMigratepages { nr_migrated, nr_failed } => {
            line.num("nr_migrated", nr_migrated).num("nr_failed", nr_failed)
        }
        TraceEvent::MmCompactionEnd { zone, migrate_pfn, free_pfn, sync, status } => line
            .num("zone", zone.0)
            .num("migrate_pfn", migrate_pfn.0)
            .num("free_pfn", free_pfn.0)
            .flag("sync", sync)
            .name("status", status.name()),
        TraceEvent::SimMigrate { pfn, target, page } => {
            line.num("pfn", pfn.0).num("target", target.0).opt("page", page.map(|p| p.0))
        }
        TraceEvent::SchedSwitch { cpu, thread } => {
            line.num("cpu", cpu.0).opt("thread", thread.map(|t| t.0))
        }
    };
}

/// The last line of a run whose events were more than its limit.
pub const LIMIT: &str = "sim_events_limit";

fn end_line(line: &mut String, run: Option<u32>) {
    if let Some(run) = run {
        Line(line).num("run", run);
    }
    line.push_str("}\n");
}

struct Inner<W> {
    out: Option<W>,
    kinds: Vec<String>,
    threads: Option<Vec<ThreadId>>,
    pages: Option<(u32, u32)>,
    run: Option<u32>,
    line: String,
    written: u64,
    /// Bytes that may still be written; `None`: as many as there are.
    left: Option<u64>,
    /// When the first event was left out.
    full: Option<SimTime>,
    error: Option<io::Error>,
}

impl<W: Write> Inner<W> {
    fn wants(&self, event: &TraceEvent) -> bool {
        (self.kinds.is_empty() || self.kinds.iter().any(|k| k == event_name(event)))
            && self.threads.as_ref().is_none_or(|wanted| {
                thread_of(event).is_some_and(|thread| wanted.contains(&thread))
            })
            && self.pages.is_none_or(|(first, last)| {
                page_of(event).is_some_and(|page| (first..=last).contains(&page.0))
            })
    }

    fn event(&mut self, now: SimTime, event: &TraceEvent) {
        if self.error.is_some() || self.full.is_some() || !self.wants(event) {
            return;
        }
        let Some(out) = &mut self.out else { return };
        self.line.clear();
        write_event(&mut self.line, now, event);
        end_line(&mut self.line, self.run);
        if let Some(left) = &mut self.left {
            match left.checked_sub(self.line.len() as u64) {
                Some(rest) => *left = rest,
                None => {
                    self.full = Some(now);
                    self.line = format!("{{\"t_ns\":{},\"event\":\"{LIMIT}\"", now.0);
                    end_line(&mut self.line, self.run);
                }
            }
        }
        match out.write_all(self.line.as_bytes()) {
            Ok(()) => self.written += 1,
            Err(error) => self.error = Some(error),
        }
    }
}

/// Where the events of one run go. The machine gets an [`observer`](Self::observer) of
/// it; the output comes back from [`finish`](Self::finish).
pub struct EventWriter<W: Write + Send> {
    inner: Arc<Mutex<Inner<W>>>,
}

/// The half that watches.
struct EventObserver<W: Write + Send> {
    inner: Arc<Mutex<Inner<W>>>,
}

/// A panic while the lock is held ends the run anyway; what was written stays good.
fn lock<W>(inner: &Mutex<Inner<W>>) -> MutexGuard<'_, Inner<W>> {
    inner.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<W: Write + Send> Observer for EventObserver<W> {
    fn event(&mut self, now: SimTime, event: &TraceEvent) {
        lock(&self.inner).event(now, event);
    }
}

impl<W: Write + Send + 'static> EventWriter<W> {
    /// A writer for one run. `threads_of` gives the threads of a task by its name, or of a
    /// thread by its number. `run`: the run's place in the report, which is written as the
    /// last field where a file holds several runs.
    pub fn new(
        out: W,
        filter: &EventFilter,
        threads_of: impl Fn(&str) -> Vec<ThreadId>,
        run: Option<u32>,
    ) -> Self {
        let threads = (!filter.tasks.is_empty())
            .then(|| filter.tasks.iter().flat_map(|task| threads_of(task)).collect());
        let inner = Inner {
            out: Some(out),
            kinds: filter.kinds.clone(),
            threads,
            pages: filter.pages,
            run,
            line: String::new(),
            written: 0,
            left: None,
            full: None,
            error: None,
        };
        EventWriter { inner: Arc::new(Mutex::new(inner)) }
    }

    /// Ends after so many bytes of lines, with one more line that says so: an event [`LIMIT`].
    pub fn limit(&self, bytes: u64) {
        lock(&self.inner).left = Some(bytes);
    }

    /// When the first event was left out, if the limit was reached.
    pub fn full(&self) -> Option<SimTime> {
        lock(&self.inner).full
    }

    /// What the machine gets.
    pub fn observer(&self) -> Box<dyn Observer> {
        Box::new(EventObserver { inner: Arc::clone(&self.inner) })
    }

    /// Flushes and gives back the output and the number of lines. Events that come later
    /// are dropped.
    pub fn finish(self) -> io::Result<(W, u64)> {
        let mut inner = lock(&self.inner);
        if let Some(error) = inner.error.take() {
            return Err(error);
        }
        let mut out = inner.out.take().expect("only `finish` takes the output, and once");
        out.flush()?;
        Ok((out, inner.written))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mmsim_core::base::id::{CpuId, NodeId, Pfn, SwapSlot};
    use mmsim_core::base::time::SimDuration;

    fn fault(thread: u32, page: u32) -> TraceEvent {
        TraceEvent::PageFault {
            thread: ThreadId(thread),
            page: PageIdx(page),
            write: true,
            kind: FaultKind::SwapIn,
            major: true,
        }
    }
    fn evict(page: Option<u32>) -> TraceEvent {
        TraceEvent::SimEvict {
            eviction: 7,
            pfn: Pfn(5),
            page: page.map(PageIdx),
            file: false,
            slot: Some(SwapSlot(3)),
            written: true,
        }
    }
    const WAKE: TraceEvent = TraceEvent::MmVmscanKswapdWake { node: NodeId(0), order: 9 };

    fn written(filter: &str, run: Option<u32>, events: &[TraceEvent]) -> String {
        let filter = EventFilter::parse(filter).unwrap();
        let threads_of = |task: &str| match task {
            "ebizzy" => vec![ThreadId(1), ThreadId(2)],
            _ => vec![],
        };
        let writer = EventWriter::new(Vec::new(), &filter, threads_of, run);
        let mut observer = writer.observer();
        for (i, event) in events.iter().enumerate() {
            observer.event(SimTime(10 * i as u64), event);
        }
        let (out, lines) = writer.finish().unwrap();
        observer.event(SimTime(99), &WAKE);
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.lines().count() as u64, lines);
        text
    }

    #[test]
    fn lines_have_their_fields_in_order() {
        let switch = TraceEvent::SchedSwitch { cpu: CpuId(2), thread: None };
        assert_eq!(
            written("", None, &[fault(1, 600), evict(None), WAKE, switch]),
            concat!(
                r#"{"t_ns":0,"event":"page_fault_user","thread":1,"page":600,"write":true,"#,
                r#""kind":"swap_in","major":true}"#,
                "\n",
                r#"{"t_ns":10,"event":"sim_evict","eviction":7,"pfn":5,"page":null,"file":false,"#,
                r#""slot":3,"written":true}"#,
                "\n",
                r#"{"t_ns":20,"event":"mm_vmscan_kswapd_wake","node":0,"order":9}"#,
                "\n",
                r#"{"t_ns":30,"event":"sched_switch","cpu":2,"thread":null}"#,
                "\n",
            )
        );
    }

    #[test]
    fn a_file_of_several_runs_names_them() {
        assert_eq!(
            written("kind=mm_vmscan_kswapd_wake", Some(3), &[fault(1, 1), WAKE]),
            "{\"t_ns\":10,\"event\":\"mm_vmscan_kswapd_wake\",\"node\":0,\"order\":9,\"run\":3}\n"
        );
    }

    #[test]
    fn filters() {
        let all = [fault(1, 600), fault(3, 700), evict(Some(650)), evict(None), WAKE];
        let count = |filter: &str| written(filter, None, &all).lines().count();
        assert_eq!(count(""), 5);
        assert_eq!(count("kind=sim_evict"), 2);
        assert_eq!(count("kind=sim_evict,kind=mm_vmscan_kswapd_wake"), 3);
        assert_eq!(count("task=ebizzy"), 1);
        assert_eq!(count("task=nobody"), 0);
        assert_eq!(count("pages=600-650"), 2);
        assert_eq!(count("pages=700"), 1);
        assert_eq!(count("kind=page_fault_user,pages=650-800"), 1);
    }

    #[test]
    fn a_bad_filter_says_what_to_write() {
        let error = |text: &str| EventFilter::parse(text).unwrap_err().to_string();
        assert_eq!(
            error("kind=sim_evicted"),
            "there is no event `sim_evicted`, did you mean `sim_evict`?"
        );
        assert_eq!(error("pages=9-3"), "`9-3` is not a range of pages, write `pages=0-511`");
        assert_eq!(error("thread=1"), "`thread` is not one of `kind`, `task`, `pages`");
        assert!(error("sim_evict").contains("has no `=`"));
    }

    /// One event of each kind.
    fn one_of_each() -> Vec<TraceEvent> {
        use mmsim_core::base::id::{AsId, FileId, MemcgId, ZoneId};
        let zone = ZoneId(0);
        let (pfn, node, thread, lru) = (Pfn(1), NodeId(0), ThreadId(0), "inactive_anon");
        let (nr_scanned, nr_taken, nr_reclaimed, priority) = (32, 32, 20, 12);
        vec![
            fault(1, 2),
            TraceEvent::MmPageAlloc { pfn, order: 0, zone: 1 },
            TraceEvent::MmPageFree { pfn, order: 0 },
            TraceEvent::MmPageAllocExtfrag(mmsim_core::phys::buddy::Extfrag {
                pfn,
                alloc_order: 0,
                fallback_order: 3,
                alloc_migratetype: mmsim_core::base::migratetype::Migratetype::Unmovable,
                fallback_migratetype: mmsim_core::base::migratetype::Migratetype::Movable,
                change_ownership: false,
                fragmenting: true,
            }),
            TraceEvent::MmVmscanLruIsolate {
                node,
                memcg: MemcgId(0),
                lru,
                nr_requested: 32,
                nr_scanned,
                nr_taken,
            },
            TraceEvent::MmVmscanLruShrinkActive {
                node,
                file: false,
                nr_taken,
                nr_active: 2,
                nr_deactivated: 30,
                priority,
            },
            TraceEvent::MmVmscanLruShrinkInactive {
                node,
                file: true,
                nr_scanned,
                nr_reclaimed,
                priority,
            },
            TraceEvent::SimScanFolio {
                pfn,
                page: None,
                file: false,
                outcome: ScanOutcome::Reclaimed,
            },
            TraceEvent::MmLruActivate { pfn },
            TraceEvent::SimDeactivate { pfn },
            TraceEvent::SimLazyFree { pfn, page: Some(PageIdx(2)) },
            TraceEvent::SimLazyDrop { pfn, page: Some(PageIdx(2)) },
            TraceEvent::MmLruInsertion { pfn, lru },
            evict(Some(1)),
            TraceEvent::SimRefault {
                page: PageIdx(1),
                file: false,
                eviction: None,
                distance: 3,
                workingset_size: 4,
                activated: true,
            },
            TraceEvent::SimLruGen {
                node,
                memcg: MemcgId(0),
                seq: 4,
                age: SimDuration::from_millis(5),
                nr_anon: 6,
                nr_file: 7,
            },
            TraceEvent::MmVmscanWriteFolio { pfn, file: false },
            TraceEvent::SimWritebackEnd { pfn },
            WAKE,
            TraceEvent::MmVmscanKswapdSleep { node },
            TraceEvent::MmVmscanDirectReclaimBegin { thread, order: 0 },
            TraceEvent::MmVmscanDirectReclaimEnd { thread, nr_reclaimed },
            TraceEvent::MarkVictim { process: AsId(0), pages: 9 },
            TraceEvent::MmFilemapAddToPageCache { file: FileId(0), index: 4, pfn },
            TraceEvent::MmCompactionBegin { zone, migrate_pfn: pfn, free_pfn: pfn, sync: true },
            TraceEvent::MmCompactionMigratepages { nr_migrated: 3, nr_failed: 1 },
            TraceEvent::MmCompactionEnd {
                zone,
                migrate_pfn: pfn,
                free_pfn: pfn,
                sync: false,
                status: mmsim_core::base::compact_result::CompactResult::Complete,
            },
            TraceEvent::SimMigrate { pfn, target: pfn, page: None },
            TraceEvent::SchedSwitch { cpu: CpuId(0), thread: None },
        ]
    }

    #[test]
    fn every_line_is_json_with_the_fields_of_its_kind() {
        let text = written("", Some(0), &one_of_each());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), EVENTS.len());
        for (line, kind) in lines.iter().zip(EVENTS) {
            let value: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(value["event"], kind.name);
            let fields = ["t_ns", "event"].into_iter().chain(kind.fields.split(' ')).chain(["run"]);
            let keys = line.split(['{', ',']).filter_map(|f| f.split_once(':')).map(|f| f.0);
            assert!(keys.eq(fields.map(|f| format!("\"{f}\""))), "{line}");
        }
    }

    /// What is written can be listed and filtered: the match over all events and the table
    /// have the same names in the same order.
    #[test]
    fn every_event_is_in_the_table() {
        let source = include_str!("events.rs");
        let (_, names) = source.split_once("fn event_name(").unwrap();
        let (names, _) = names.split_once("\n}\n").unwrap();
        let names = names.split('"').skip(1).step_by(2);
        assert!(names.eq(EVENTS.iter().map(|e| e.name)));
    }

    #[test]
    fn an_error_while_writing_comes_back_at_the_end() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::Error::other("no space left"))
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let writer = EventWriter::new(Full, &EventFilter::default(), |_| vec![], None);
        writer.observer().event(SimTime(0), &WAKE);
        assert_eq!(writer.finish().err().unwrap().to_string(), "no space left");
    }
}
