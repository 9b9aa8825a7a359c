//! Why pages came back, in a report.

use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::machine::result::RunResult;
use mmsim_why::{Cell, Class, Counted, Verdicts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::shares::{ShareReport, group_name, phase_name, shares, told_apart};
use super::troubles::TroubleReport;

/// Why pages came back: the refaults of a run in classes.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct WhyReport {
    /// The counter that the classes of anonymous pages sum to: `workingset_refault_anon`, or
    /// `pswpin` where the policy keeps no shadows of them.
    pub anon_counter: String,
    /// The counter that those of file pages sum to; none if the policy keeps no shadows of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_counter: Option<String>,
    /// All refaults.
    pub refaults: u64,
    /// All classes, in the order of their rules.
    pub classes: Vec<ClassReport>,
    /// Uses that hit in memory and that the optimum would have missed.
    pub credit: u64,
    /// Fate of pages that were written to swap. The parts sum to `pswpout`.
    pub swap_outs: SwapOutReport,
    /// Failed allocations of blocks of more than one page.
    #[serde(default)]
    pub failed_allocations: TroubleReport,
    /// Direct compaction behind which there was no block.
    #[serde(default)]
    pub failed_compactions: TroubleReport,
    /// Direct reclaim: what kswapd did meanwhile, and who held the pages.
    #[serde(default)]
    pub direct_stalls: TroubleReport,
}

/// One class of refaults.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ClassReport {
    /// Its name.
    pub class: String,
    /// Refaults of anonymous pages.
    pub anon: u64,
    /// Refaults of file pages.
    pub file: u64,
    /// Those that read no device: zswap had the page, or it holds zeros.
    #[serde(default, skip_serializing_if = "none")]
    pub without_device: u64,
    /// Time of the devices to read them, if each took the mean of its device.
    pub device_ns: u64,
    /// By phase; `end` is behind the last.
    pub phases: Vec<ShareReport>,
    /// By the task whose step it was; `(none)` is the kernel or advice.
    pub tasks: Vec<ShareReport>,
    /// By the group that counts them; `(root)` is that of all others.
    pub groups: Vec<ShareReport>,
    /// By region: `TASK:REGION`, or `file:NAME`. The most come first.
    pub regions: Vec<ShareReport>,
    /// Pages as examples.
    pub examples: Vec<WhyExample>,
}

/// True of no refault: a report leaves such a count out.
fn none(count: &u64) -> bool {
    *count == 0
}

/// A page of a class.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct WhyExample {
    /// The page, as `mmsim why --page` takes it.
    pub page: String,
    /// When it came back.
    pub t_ns: u64,
}

/// Writes to swap, by what became of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct SwapOutReport {
    /// The page was not wanted again, or it never left.
    pub not_wanted: u64,
    /// It came back, and memory was too small to keep it.
    pub needed: u64,
    /// It came back by a decision: another page should have gone.
    pub needless: u64,
    /// It came back, and a limit of its group or a request had taken it.
    #[serde(default)]
    pub forced: u64,
}

impl ClassReport {
    /// All refaults.
    pub fn count(&self) -> u64 {
        self.anon + self.file
    }
}

impl WhyReport {
    /// Checks that all classes sum to the counters of their run, and each part to its class.
    ///
    /// # Panics
    ///
    /// They do not: the message names the counter.
    pub fn check(&self, result: &RunResult) {
        let counter = |name: &str| {
            let event = VmEvent::named(name);
            result.vmstat[event.unwrap_or_else(|| panic!("no counter is called {name}"))]
        };
        let sum = |shares: &[ShareReport]| shares.iter().map(|s| s.count).sum::<u64>();
        let types = [
            (Some(&self.anon_counter), self.classes.iter().map(|c| c.anon).sum::<u64>()),
            (self.file_counter.as_ref(), self.classes.iter().map(|c| c.file).sum::<u64>()),
        ];
        for (name, classes) in types.into_iter().filter_map(|(name, n)| Some((name?, n))) {
            assert_eq!(classes, counter(name), "classes of refaults, {name}");
        }
        for c in &self.classes {
            for parts in [&c.phases, &c.tasks, &c.groups, &c.regions] {
                assert_eq!(sum(parts), c.count(), "parts of {}", c.class);
            }
        }
        for kind in [&self.failed_allocations, &self.failed_compactions, &self.direct_stalls] {
            let counted: u64 = kind.counters.iter().map(|name| counter(name)).sum();
            let classes: u64 = kind.classes.iter().map(|c| c.count).sum();
            assert_eq!((classes, kind.count), (counted, counted), "classes of {:?}", kind.counters);
            for c in &kind.classes {
                for parts in [&c.phases, &c.tasks, &c.groups] {
                    assert_eq!(sum(parts), c.count, "parts of {}", c.class);
                }
            }
        }
    }

    /// Report from the verdicts of a run.
    pub fn of(v: &Verdicts, result: &RunResult) -> WhyReport {
        let kept = |e: VmEvent| !result.not_kept.contains(&e);
        let anon = match kept(VmEvent::WorkingsetRefaultAnon) {
            true => VmEvent::WorkingsetRefaultAnon,
            false => VmEvent::PswpIn,
        };
        let file = Some(VmEvent::WorkingsetRefaultFile).filter(|&e| kept(e));
        let mean = |time: u64, reads: u64| u128::from(time) * 1000 / u128::from(reads.max(1));
        let swap_read = mean(result.reading[0].0, result.vmstat[VmEvent::PswpIn]);
        let file_read = mean(result.reading[1].0, result.vmstat[VmEvent::PgpgIn] / 4);
        let class = |&class: &Class| {
            let cells: Vec<&Cell> = v.cells.iter().filter(|c| c.class == class).collect();
            let count = |file| cells.iter().filter(|c| c.file == file).map(|c| c.count).sum();
            let (anon, file): (u64, u64) = (count(false), count(true));
            let without_device = cells.iter().filter(|c| c.without_device).map(|c| c.count).sum();
            let time = u128::from(anon - without_device) * swap_read + u128::from(file) * file_read;
            let by = |name: &dyn Fn(&Cell) -> String| {
                cells.iter().map(|c| (name(c), c.count)).collect::<Vec<_>>()
            };
            let mut regions = shares(by(&|c| c.region.clone()));
            regions.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.name.cmp(&b.name)));
            let task = |c: &Cell| c.task.clone().unwrap_or_else(|| "(none)".into());
            let examples = v.examples.iter().filter(|e| e.class == class);
            ClassReport {
                class: class.key().into(),
                anon,
                file,
                without_device,
                device_ns: (time / 1000) as u64,
                phases: told_apart(by(&|c| phase_name(result, c.phase))),
                tasks: shares(by(&task)),
                groups: shares(by(&|c| group_name(&c.group))),
                regions,
                examples: examples
                    .map(|e| WhyExample { page: e.page.clone(), t_ns: e.now })
                    .collect(),
            }
        };
        let needed = v.count(|c| c.written && !c.class.is_decision());
        let forced = v.count(|c| c.written && c.class == Class::Forced);
        let needless = v.count(|c| c.written && c.class.is_decision()) - forced;
        WhyReport {
            anon_counter: anon.name().into(),
            file_counter: file.map(|e| e.name().into()),
            refaults: v.count(|_| true),
            classes: Class::ALL.iter().map(class).collect(),
            credit: v.credit,
            swap_outs: SwapOutReport {
                not_wanted: v.written.saturating_sub(needed + needless + forced),
                needed,
                needless,
                forced,
            },
            failed_allocations: TroubleReport::of(v, Counted::Allocations, result),
            failed_compactions: TroubleReport::of(v, Counted::Compactions, result),
            direct_stalls: TroubleReport::of(v, Counted::Stalls, result),
        }
    }
}
