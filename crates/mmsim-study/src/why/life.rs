//! The life of one page in a run: what happened to it, in order, and which function of the kernel
//! decided.
//!
//! The run is made twice. The first time each refault tells its page, and so the page of a name;
//! the second time an observer sees what events say of that page and of its frame. An event names
//! the frame when the page comes, and the page loses it with what it held.
//!
//! CPUs take turns a step at a time, each on its own clock. One that is behind can meet what another
//! has done at a later time. Events come in the order in which they were done, and a moment is no
//! earlier than what was done before it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mmsim_core::base::id::{PageIdx, Pfn};
use mmsim_core::base::time::SimTime;
use mmsim_core::config::Kernel;
use mmsim_core::config::SMALLEST_ORDER;
use mmsim_core::machine::Watch;
use mmsim_core::memory::trace::{FaultKind, Observer, ScanOutcome, TraceEvent, ZswapStep};
use mmsim_why::{Class, Logged, Settings, Told, Verdicts};
use serde::Serialize;

use crate::run::{RunError, run_one};
use mmsim_base::error::Error;
use mmsim_language::machines::Machine;
use mmsim_language::scenario::RunSpec;
use mmsim_language::scenario::workload::TaskSpec;
use mmsim_report::events::{event_name, line, page_of};

/// Something that happened to a page.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct Moment {
    /// When: on the clock of who acts, or when the moment before it was, if that is later.
    pub t_ns: u64,
    /// When, on the clock of who acts.
    #[serde(skip)]
    own_ns: u64,
    /// The event, by its name.
    pub event: &'static str,
    /// Its fields, as JSON.
    pub fields: String,
    /// The function of the kernel that decided, as that kernel calls it.
    pub function: &'static str,
    /// For a refault its class, or a text that it is not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<&'static str>,
}

/// Life of a page.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Life {
    /// All of it in order, or its beginning and its end.
    pub moments: Vec<Moment>,
    /// Moments that are left out between the two.
    pub left_out: u64,
}

/// Text in place of the class of a refault that MGLRU of some kernels leaves out of its counters.
const NOT_COUNTED: &str = "not counted, since not recent";

/// True if a block of frames holds one.
fn holds(first: Pfn, order: u8, pfn: Pfn) -> bool {
    (first.0..first.0 + (1 << order)).contains(&pfn.0)
}

/// Observations of some pages.
struct Seen {
    pages: Vec<SeenPage>,
    /// The large folio that was allocated last, and its order, until it is mapped.
    large: Option<(Pfn, u8)>,
    names: Functions,
}

/// Observations of a page.
struct SeenPage {
    page: PageIdx,
    /// The frame that it has, as far as is known.
    frame: Option<Pfn>,
    /// It is of a file, and in the page cache.
    cached: bool,
    /// When its last moment was.
    last_ns: u64,
    /// As many moments as are wanted of the beginning, and then of the end.
    room: usize,
    begin: Vec<Moment>,
    end: VecDeque<Moment>,
    left_out: u64,
}

/// The half that watches.
struct Watching(Arc<Mutex<Seen>>);

fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Observer for Watching {
    fn event(&mut self, now: SimTime, event: &TraceEvent) {
        let mut seen = lock(&self.0);
        if let TraceEvent::MmPageAlloc { pfn, order: order @ SMALLEST_ORDER.., .. } = event {
            seen.large = Some((*pfn, *order));
        }
        let large = match event {
            TraceEvent::PageFault { pfn: Some(pfn), .. } => {
                let here = |(first, order): &mut (Pfn, u8)| holds(*first, *order, *pfn);
                seen.large.take_if(here).map_or(0, |(_, order)| order)
            }
            _ => 0,
        };
        let names = seen.names;
        seen.pages.iter_mut().for_each(|page| page.event(now, event, large, names));
    }
}

impl SeenPage {
    fn new(page: PageIdx, most: usize) -> SeenPage {
        let (begin, end) = (Vec::new(), VecDeque::new());
        let (room, frame) = (most.div_ceil(2), None);
        SeenPage { page, frame, cached: false, last_ns: 0, room, begin, end, left_out: 0 }
    }

    /// `order`: a fault maps a folio of that order.
    fn event(&mut self, now: SimTime, event: &TraceEvent, order: u8, names: Functions) {
        use TraceEvent as E;
        let of_frame = |pfn: &Pfn| Some(*pfn) == self.frame;
        let mine = match event {
            E::MmPageFree { pfn, order } => {
                self.frame.take_if(|frame| holds(*pfn, *order, *frame));
                false
            }
            E::PageFault { page, .. } if order > 0 => page.0 >> order == self.page.0 >> order,
            E::PageFault { pfn: Some(pfn), .. } if self.cached => of_frame(pfn),
            E::MmLruActivate { pfn }
            | E::SimDeactivate { pfn }
            | E::MmLruInsertion { pfn, .. }
            | E::SimWritebackEnd { pfn }
            | E::SimMigrate { pfn, .. }
            | E::MmVmscanWriteFolio { pfn, .. } => of_frame(pfn),
            // Of a file that is mapped it names the page of a process, which has no part in it.
            E::SimScanFolio { pfn, page, file, outcome } => {
                let own = !file || *outcome == ScanOutcome::LazyFreed;
                of_frame(pfn) || own && *page == Some(self.page)
            }
            _ => page_of(event) == Some(self.page),
        };
        if !mine {
            return;
        }
        self.frame = match event {
            E::PageFault { .. } if self.cached => self.frame,
            // What it maps is the file's.
            E::PageFault { kind: FaultKind::FileMinor | FaultKind::FileMajor, .. } => None,
            E::PageFault { pfn, page, .. } => pfn.map(|pfn| Pfn(pfn.0 + self.page.0 - page.0)),
            E::MmFilemapAddToPageCache { pfn, .. } | E::SimSwapRead { pfn, .. } => Some(*pfn),
            E::SimScanFolio {
                outcome: ScanOutcome::Reclaimed | ScanOutcome::LazyFreed, ..
            } => None,
            E::SimScanFolio { pfn, .. } => Some(*pfn),
            E::SimMigrate { target, .. } => Some(*target),
            E::SimEvict { .. } | E::SimLazyDrop { .. } | E::SimDrop { .. } => None,
            _ => self.frame,
        };
        self.cached = match event {
            E::MmFilemapAddToPageCache { .. } => true,
            _ => self.cached && self.frame.is_some(),
        };
        self.last_ns = self.last_ns.max(now.0);
        let text = line(now, event);
        // Behind the time and the name.
        let fields = text.splitn(3, ',').nth(2).unwrap_or("}");
        self.keep(Moment {
            t_ns: self.last_ns,
            own_ns: now.0,
            event: event_name(event),
            fields: fields.trim_end_matches('}').replace('"', ""),
            function: names.decides(event),
            class: None,
        });
    }

    fn keep(&mut self, moment: Moment) {
        if self.begin.len() < self.room {
            return self.begin.push(moment);
        }
        self.end.push_back(moment);
        if self.end.len() > self.room {
            self.end.pop_front();
            self.left_out += 1;
        }
    }

    /// The life, with the classes of the refaults among all.
    fn life(self, log: &[Logged], names: Functions) -> Life {
        let middle = match (self.begin.last(), self.end.front()) {
            (Some(last), Some(next)) if self.left_out > 0 => last.own_ns + 1..next.own_ns,
            _ => 0..0,
        };
        let mut moments = self.begin;
        moments.extend(self.end);
        let mine = |l: &&Logged| l.page == self.page && !middle.contains(&l.now);
        let mut classes = log.iter().filter(mine).collect::<Vec<&Logged>>();
        classes.sort_by_key(|l| l.now);
        for l in classes {
            let then = |m: &Moment, event| m.event == event && m.own_ns == l.now;
            let later = |m: &Moment| m.fields.contains("kind:swap_in") && m.own_ns >= l.now;
            let first = |comes: &dyn Fn(&Moment) -> bool| {
                moments.iter().position(|m| m.class.is_none() && comes(m))
            };
            // A policy without shadows has no event of a refault; the read or the fault stands for it.
            let at = first(&|m| then(m, "sim_refault"))
                .or_else(|| first(&|m| then(m, "sim_swap_read")))
                .or_else(|| first(&later));
            if let Some(m) = at.map(|i| &mut moments[i]) {
                m.class = Some(l.class.words());
            }
        }
        for m in moments.iter_mut().filter(|m| m.event == "sim_refault" && m.class.is_none()) {
            m.class = (names.mglru && m.fields.contains("activated:false")).then_some(NOT_COUNTED);
        }
        Life { moments, left_out: self.left_out }
    }
}

/// Names of functions in a kernel.
#[derive(Clone, Copy)]
struct Functions {
    kernel: Kernel,
    mglru: bool,
}

impl Functions {
    fn of(spec: &RunSpec) -> Functions {
        Functions { kernel: spec.machine.kernel, mglru: spec.policy.preset.contains("mglru") }
    }

    /// The function that decides what an event tells.
    fn decides(self, event: &TraceEvent) -> &'static str {
        use TraceEvent as E;
        let since = |kernel, now, before| if self.kernel >= kernel { now } else { before };
        match event {
            E::PageFault { kind, .. } => match kind {
                FaultKind::ZeroFill | FaultKind::ZeroPage => "do_anonymous_page",
                FaultKind::SwapIn | FaultKind::SwapCache => "do_swap_page",
                FaultKind::FileMinor | FaultKind::FileMajor => "filemap_fault",
                FaultKind::Cow | FaultKind::Reuse => "do_wp_page",
            },
            E::SimScanFolio { outcome, .. } => match outcome {
                ScanOutcome::KeepReferenced | ScanOutcome::ActivateReferenced => {
                    since(Kernel::V6_1, "folio_check_references", "page_check_references")
                }
                _ => since(Kernel::V6_1, "shrink_folio_list", "shrink_page_list"),
            },
            E::SimEvict { .. } => "__remove_mapping",
            E::SimRefault { .. } if self.mglru => "lru_gen_refault",
            E::SimRefault { .. } => "workingset_refault",
            E::SimDeactivate { .. } => "shrink_active_list",
            E::MmLruActivate { .. } => since(Kernel::V6_1, "folio_activate", "activate_page"),
            E::MmLruInsertion { .. } => since(
                Kernel::V6_12,
                "lru_add",
                since(Kernel::V6_1, "lru_add_fn", "__pagevec_lru_add_fn"),
            ),
            E::MmVmscanWriteFolio { .. } => "pageout",
            E::SimWritebackEnd { .. } => {
                since(Kernel::V6_1, "folio_end_writeback", "end_page_writeback")
            }
            E::SimDrop { why: "lazy_free", .. } => "madvise_free_pte_range",
            E::SimDrop { why: "invalidate", .. } => "invalidate_mapping_pages",
            E::SimDrop { .. } => "zap_pte_range",
            E::MmFilemapAddToPageCache { .. } => {
                since(Kernel::V6_1, "filemap_add_folio", "add_to_page_cache_lru")
            }
            E::SimSwapRead { .. } => {
                since(Kernel::V5_5, "__read_swap_cache_async", "read_swap_cache_async")
            }
            E::SimZswap { what, .. } => match what {
                ZswapStep::MarkedZero => "swap_zeromap_folio_set",
                ZswapStep::ZeroFilled => "swap_read_folio_zeromap",
                ZswapStep::Loaded => "zswap_load",
                ZswapStep::WrittenBack | ZswapStep::NotWrittenBack => "zswap_writeback_entry",
                ZswapStep::GroupLimit => "obj_cgroup_may_zswap",
                ZswapStep::PoolLimit => "zswap_check_limits",
                ZswapStep::Incompressible => "zswap_compress",
                ZswapStep::Stored | ZswapStep::NoFrame => "zswap_store",
            },
            E::SimMigrate { .. } => "migrate_pages",
            E::SimLazyFree { .. } => "madvise_free_single_vma",
            E::SimLazyDrop { .. } => since(Kernel::V6_1, "shrink_folio_list", "shrink_page_list"),
            _ => "",
        }
    }
}

/// The page of a name, if it came back in a run.
fn found<'a>(v: &'a Verdicts, name: &str) -> Option<&'a Logged> {
    v.log.iter().find(|l| v.names.page(l.of, false) == name)
}

/// The life of the page of a name.
///
/// # Errors
///
/// No page of that name ever came back, or the run panicked.
pub fn life(spec: &RunSpec, name: &str) -> Result<Vec<Moment>, RunError> {
    let (_, _, verdicts) = super::explain(spec)?;
    let name = &numbered(spec, name);
    // Events and pages of a report have numbers.
    let by_number = || {
        let number = name.parse().ok().map(PageIdx)?;
        verdicts.log.iter().find(|l| l.page == number)
    };
    let Some(page) = found(&verdicts, name).or_else(by_number).map(|l| l.page) else {
        return Err(unknown(spec, &verdicts, name).into());
    };
    let lives = seen(spec, &[page], usize::MAX, |_| Watch::default())?;
    let names = Functions::of(spec);
    Ok(lives.into_iter().flat_map(|page| page.life(&verdicts.log, names).moments).collect())
}

/// The lives of pages by their numbers in a run, with at most `most` moments each. The classes are
/// those of the run's report.
///
/// # Errors
///
/// The run panicked.
pub fn lives(spec: &RunSpec, pages: &[PageIdx], most: usize) -> Result<Vec<Life>, RunError> {
    let told = Mutex::new(Told::default());
    let watch = |machine: &Machine| {
        let (engine, tells) = super::engine(machine, Settings::default().with_log(true));
        *told.lock().unwrap_or_else(PoisonError::into_inner) = tells;
        Watch::default().with_follower(engine)
    };
    let lives = seen(spec, pages, most, watch)?;
    let told = told.into_inner().unwrap_or_else(PoisonError::into_inner);
    let log = told.take().unwrap_or_default().log;
    let names = Functions::of(spec);
    Ok(lives.into_iter().map(|page| page.life(&log, names)).collect())
}

/// Observations of pages when the run is made once more.
fn seen(
    spec: &RunSpec,
    pages: &[PageIdx],
    most: usize,
    watch: impl Fn(&Machine) -> Watch + Sync,
) -> Result<Vec<SeenPage>, RunError> {
    let names = Functions::of(spec);
    let pages = pages.iter().map(|&page| SeenPage::new(page, most)).collect();
    let seen = Arc::new(Mutex::new(Seen { pages, large: None, names }));
    let watch = |_: usize, machine: &Machine| {
        watch(machine).with_observer(Box::new(Watching(seen.clone())))
    };
    run_one(0, &RunSpec { why: false, ..spec.clone() }, &watch)?;
    Ok(std::mem::take(&mut lock(&seen).pages))
}

/// The name of a page with the number of its region, where a region has a name of its own.
fn numbered(spec: &RunSpec, name: &str) -> String {
    let parts: Vec<&str> = name.rsplitn(3, ':').collect();
    let [offset, region, task] = parts[..] else { return name.to_string() };
    let number = regions(spec, task).iter().position(|r| *r == region);
    number.map_or_else(|| name.to_string(), |n| format!("{task}:{n}:{offset}"))
}

/// Names of regions of a process, by their numbers; none where regions have no names.
fn regions<'a>(spec: &'a RunSpec, process: &str) -> Vec<&'a str> {
    // Processes of a task that has several are numbered behind its name.
    let of_task = |t: &&TaskSpec| {
        process.strip_prefix(t.name.as_str()).is_some_and(|rest| {
            rest.is_empty() || rest.strip_prefix('-').is_some_and(|n| n.parse::<u32>().is_ok())
        })
    };
    spec.tasks.iter().find(of_task).map(|t| t.work.regions()).unwrap_or_default()
}

/// Error in the name of a page: its form, its task or file, or that it never came back.
fn unknown(spec: &RunSpec, v: &Verdicts, name: &str) -> Error {
    const FORM: &str = "write TASK:REGION:OFFSET, file:NAME:OFFSET, or the number that events have; offsets in pages";
    if name.parse::<u32>().is_ok() {
        return never_back(spec, v, name);
    }
    let Some((whole, offset)) = name.rsplit_once(':') else {
        return Error::of_option(format!("--page: found `{name}`, {FORM}"));
    };
    if offset.parse::<u32>().is_err() {
        return Error::of_option(format!("--page: `{offset}` is no number of a page in `{name}`"))
            .help(FORM);
    }
    let known = |all: &[String], wanted: &str, what: &str| {
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        if all.is_empty() {
            let title = format!("--page: {} has no {what}s at all", spec.label());
            return Some(Error::of_option(title).help(FORM));
        }
        let what = format!("--page: {} has no {what}", spec.label());
        (!all.contains(&wanted)).then(|| Error::unknown_word(&what, wanted, &all))
    };
    let wrong = match (whole.strip_prefix("file:"), whole.rsplit_once(':')) {
        (Some(file), _) => known(v.names.files(), file, "file"),
        (None, Some((task, region))) if region.parse::<u32>().is_ok() => {
            known(v.names.processes(), task, "task")
        }
        (None, Some((task, region))) => Some(match regions(spec, task).as_slice() {
            [] => {
                let title = format!("--page: `{region}` is no number of a region in `{name}`");
                Error::of_option(title).help(FORM)
            }
            all => Error::unknown_word(&format!("--page: {task} has no region"), region, all),
        }),
        (None, None) => Some(Error::of_option(format!("--page: found `{name}`, {FORM}"))),
    };
    wrong.unwrap_or_else(|| never_back(spec, v, name))
}

/// A page never came back: which did.
fn never_back(spec: &RunSpec, v: &Verdicts, name: &str) -> Error {
    let title = format!("--page: no page `{name}` came back in {}", spec.label());
    let pages = Class::ALL.iter().filter_map(|&class| v.examples.iter().find(|e| e.class == class));
    let pages: Vec<&str> = pages.map(|e| e.page.as_str()).take(3).collect();
    Error::of_option(title).help(match pages.is_empty() {
        true => "no page came back at all".to_string(),
        false => format!("{} did", pages.join(", ")),
    })
}
