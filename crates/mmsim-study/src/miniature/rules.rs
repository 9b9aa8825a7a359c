//! Which runs may be made as miniatures, and how small.

use mmsim_core::config::{MachineConfig, Thp};

use super::sample::Sample;
use mmsim_base::error::Error;
use mmsim_language::machines::{self, managed_pages};
use mmsim_language::scenario::workload::WorkloadSpec;
use mmsim_language::scenario::{RunSpec, TaskSpec};

/// Size of miniatures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Share {
    /// As small as the rules let a run be.
    Auto,
    /// 1/2^n of the pages.
    OneIn(u32),
}

/// Pages of memory that a miniature has at least: the kernel's first pass looks at one page in 4096.
pub const FEWEST_PAGES: u64 = 4096;
/// Pages of the smallest limit of a group in a miniature.
pub const FEWEST_OF_GROUP: u64 = 4096;
/// log2 of the smallest share.
pub const SMALLEST: u32 = 10;

/// The samples of a run: `of` of them, of this share.
///
/// # Errors
/// The run is none for a miniature, or not for one so small. The message says why and what to do
/// instead.
pub(super) fn samples(run: &RunSpec, share: Share, of: u32) -> Result<Vec<Sample>, Error> {
    let shift = match allowed(run, share)? {
        Ok(shift) => shift,
        Err(Refusal { why, instead }) => {
            let fit = smallest(run).0 >= of.next_power_of_two().ilog2();
            let help = match instead {
                Some(larger) if fit => format!("write {larger}"),
                _ if loads_layout(run) => IMPORT_AGAIN.to_string(),
                _ if run.machine.vm.thp != Thp::Never => WITHOUT_HUGE_PAGES.to_string(),
                _ => "leave --miniature out".to_string(),
            };
            return Err(Error::of_option(format!("--miniature: {why}")).help(help));
        }
    };
    if u64::from(of) > 1 << shift {
        let title = format!("--miniature: {of} samples of 1/{} share pages", 1_u64 << shift);
        let smaller = of.next_power_of_two();
        let help = match smallest(run).0 >= smaller.ilog2() {
            true => format!("write 1/{smaller}"),
            false => format!("leave --miniature out: 1/{smaller} leaves {}", smallest(run).1),
        };
        return Err(Error::of_option(title).help(help));
    }
    Ok(self::of(run, shift, of))
}

/// Remedy for a machine with a layout, as `mmsim import-system` writes it beside a scenario.
const IMPORT_AGAIN: &str = "a box that is imported without `-o` has its free memory by zone and no \
                            layout, which a miniature takes: `mmsim import-system BOX > box.toml`";

/// Remedy for a box with huge pages, as most are configured.
const WITHOUT_HUGE_PAGES: &str =
    "write `--set machine.vm.transparent_hugepage=never`, or leave --miniature out";

/// True if a task puts a layout into memory.
fn loads_layout(run: &RunSpec) -> bool {
    let loads = |t: &TaskSpec| matches!(&t.work, WorkloadSpec::Fragment(w) if w.load.is_some());
    run.tasks.iter().any(loads)
        || run.machine.nodes.iter().flat_map(|n| &n.zones).any(|z| z.layout.is_some())
}

/// Why a run is no miniature, and which shares would do.
pub(crate) struct Refusal {
    /// The run, and why.
    pub why: String,
    /// Shares that the run may have, if there are any.
    pub instead: Option<String>,
}

/// log2 of the share that a run may have.
///
/// # Errors
/// Its trace cannot be read.
pub(crate) fn allowed(run: &RunSpec, share: Share) -> Result<Result<u32, Refusal>, Error> {
    let refuse =
        |why: &str, instead| Ok(Err(Refusal { why: format!("{}: {why}", run.label()), instead }));
    if let Some(why) = refusal(run)? {
        return refuse(&why, None);
    }
    let (most, what) = smallest(run);
    match share {
        Share::OneIn(shift) if shift > most => {
            let larger = (most > 0).then(|| format!("1/{} or `auto`", 1_u64 << most));
            refuse(&format!("1/{} leaves {what}", 1_u64 << shift), larger)
        }
        Share::OneIn(shift) => Ok(Ok(shift)),
        Share::Auto if most == 0 => refuse(&format!("half of it leaves {what}"), None),
        Share::Auto => Ok(Ok(most)),
    }
}

/// `of` samples of 1/2^`shift` of the pages.
pub(super) fn of(run: &RunSpec, shift: u32, of: u32) -> Vec<Sample> {
    let unit = unit(&run.machine);
    (0..of).map(|number| Sample { shift, unit, number, of }).collect()
}

/// Why a run cannot be a miniature.
fn refusal(run: &RunSpec) -> Result<Option<String>, Error> {
    let m = &run.machine;
    let zones = || m.nodes.iter().flat_map(|n| &n.zones);
    let of_one_size =
        "its writes to files of the kernel, or its calls of fsync, are for one size of machine";
    let work = |t: &TaskSpec| {
        t.work.unfit_for_samples().or(t.work.is_of_one_size().then_some(of_one_size))
    };
    for task in &run.tasks {
        let why = match work(task) {
            None if machines::maps_files(task)? => {
                Some("it maps files, and what a fault reads around itself does not scale")
            }
            why => why,
        };
        if let Some(why) = why {
            return Ok(Some(format!("task `{}`: {why}", task.name)));
        }
    }
    let why = if m.vm.thp != Thp::Never || m.vm.nr_hugepages > 0 {
        "huge pages are 512 neighbours, and a sample tears them apart"
    } else if zones().any(|z| z.layout.is_some()) {
        "its memory is laid out frame by frame"
    } else if m.host.is_some() {
        "a host gives and takes blocks of one size, and a sample tears them apart"
    } else if m.batch_shift > 0 {
        "machine.batch-shift scales it down already"
    } else if !run.damon.is_empty() {
        "monitors sample pages themselves: a region of a miniature has too few to be sampled again"
    } else if !run.daemons.is_empty() {
        "daemons read sizes and pressure of the whole machine, and act by the clock"
    } else if !run.choosers.is_empty() {
        "a policy of cache_ext gives up to 32 folios a call, whatever the size of its group"
    } else if run.bounds {
        "bounds need every access (`--set bounds=false` leaves them out)"
    } else if run.why {
        "why a page came back needs every page"
    } else if waits_in_company(run)? {
        "several threads wait for a device with a queue: who waits how long for a CPU is no matter \
         of pages"
    } else {
        return Ok(None);
    };
    Ok(Some(why.to_string()))
}

/// True if one of several threads waits for a device.
fn waits_in_company(run: &RunSpec) -> Result<bool, Error> {
    let (mut threads, mut files) = (0, false);
    for task in &run.tasks {
        let processes = machines::processes(task)? as usize;
        if processes > 0 {
            let of_one = machines::threads(task, run.seed, 0)?;
            threads += of_one.len() * processes;
            files |= of_one.iter().any(|w| !w.files().is_empty());
        }
    }
    let swap = run.machine.swap.iter().any(|s| !s.device.synchronous);
    let mut disks = run.machine.disks.iter().map(|d| &d.device).chain([&run.machine.file_device]);
    Ok(threads > 1 && (swap || files && disks.any(|d| !d.synchronous)))
}

/// log2 of the smallest share that a run may have, and what half of that would leave.
fn smallest(run: &RunSpec) -> (u32, String) {
    let pages = managed_pages(&run.machine);
    let halvings = |pages: u64, fewest: u64| (pages / fewest).checked_ilog2().unwrap_or(0);
    let mut most = halvings(pages, FEWEST_PAGES);
    let mut what = format!("less than {FEWEST_PAGES} pages of memory, and lists too short to scan");
    for g in &run.machine.memcgs {
        for limit in [g.high, g.max].into_iter().flatten() {
            let of_group = halvings(limit, FEWEST_OF_GROUP);
            if of_group < most {
                most = of_group;
                what = format!("group `{}` less than {FEWEST_OF_GROUP} pages", g.name);
            }
        }
    }
    if SMALLEST < most {
        (SMALLEST, format!("too little: the smallest share is 1/{}", 1 << SMALLEST))
    } else {
        (most, what)
    }
}

/// log2 of the pages that stay together: what a swap device without readahead reads is single pages.
fn unit(m: &MachineConfig) -> u32 {
    if m.swap.iter().any(|s| !s.device.synchronous) { m.vm.page_cluster } else { 0 }
}
