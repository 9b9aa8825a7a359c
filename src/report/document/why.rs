//! Why pages came back, in a report.

use std::collections::BTreeMap;

use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::machine::result::RunResult;
use mmsim_why::{Cell, Class, Verdicts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    /// What became of pages that were written to swap. The parts sum to `pswpout`.
    pub swap_outs: SwapOutReport,
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
    /// What the devices took to read them, if each took the mean of its device.
    pub device_ns: u64,
    /// By phase; `end` is behind the last.
    pub phases: Vec<ShareReport>,
    /// By the task whose step it was; `(none)` is nobody's.
    pub tasks: Vec<ShareReport>,
    /// By the group that counts them; `(root)` is that of all others.
    pub groups: Vec<ShareReport>,
    /// By region: `TASK:REGION`, or `file:NAME`. The most come first.
    pub regions: Vec<ShareReport>,
    /// Pages as examples.
    pub examples: Vec<WhyExample>,
}

/// A part of a class.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ShareReport {
    /// Of what.
    pub name: String,
    /// How many refaults.
    pub count: u64,
}

impl ShareReport {
    /// So many of this name.
    pub fn new(name: impl Into<String>, count: u64) -> Self {
        ShareReport { name: name.into(), count }
    }
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
    /// Nobody wanted the page again, or it never left.
    pub not_wanted: u64,
    /// It came back, and memory was too small to keep it.
    pub needed: u64,
    /// It came back by a decision: another page should have gone.
    pub needless: u64,
}

impl ClassReport {
    /// All refaults.
    pub fn count(&self) -> u64 {
        self.anon + self.file
    }
}

/// Counts by a name, in the order of names that `rank` gives.
fn shares<'a>(
    cells: &[&'a Cell],
    name: impl Fn(&'a Cell) -> String,
) -> impl Iterator<Item = ShareReport> {
    let mut all: BTreeMap<String, u64> = BTreeMap::new();
    for cell in cells {
        *all.entry(name(cell)).or_default() += cell.count;
    }
    all.into_iter().map(|(name, count)| ShareReport { name, count })
}

impl WhyReport {
    /// What a run told.
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
            let time = u128::from(anon) * swap_read + u128::from(file) * file_read;
            let mut regions: Vec<_> = shares(&cells, |c| c.region.clone()).collect();
            regions.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.name.cmp(&b.name)));
            let phase = |c: &Cell| {
                let phase = result.phases.get(c.phase as usize);
                phase.map_or_else(|| "end".to_string(), |p| p.name.clone())
            };
            let mut phases: Vec<ShareReport> = Vec::new();
            for cell in &cells {
                let name = phase(cell);
                match phases.iter_mut().find(|s| s.name == name) {
                    Some(s) => s.count += cell.count,
                    None => phases.push(ShareReport { name, count: cell.count }),
                }
            }
            let task = |c: &Cell| c.task.clone().unwrap_or_else(|| "(none)".into());
            let group = |c: &Cell| match c.group.as_str() {
                "" => "(root)".to_string(),
                name => name.to_string(),
            };
            let examples = v.examples.iter().filter(|e| e.class == class);
            ClassReport {
                class: class.key().into(),
                anon,
                file,
                device_ns: (time / 1000) as u64,
                phases,
                tasks: shares(&cells, task).collect(),
                groups: shares(&cells, group).collect(),
                regions,
                examples: examples
                    .map(|e| WhyExample { page: e.page.clone(), t_ns: e.now })
                    .collect(),
            }
        };
        let needed = v.count(|c| c.written && !c.class.is_decision());
        let needless = v.count(|c| c.written && c.class.is_decision());
        WhyReport {
            anon_counter: anon.name().into(),
            file_counter: file.map(|e| e.name().into()),
            refaults: v.count(|_| true),
            classes: Class::ALL.iter().map(class).collect(),
            credit: v.credit,
            swap_outs: SwapOutReport {
                not_wanted: v.written.saturating_sub(needed + needless),
                needed,
                needless,
            },
        }
    }
}
