//! A policy of one's own beside that of Linux 6.12: SIEVE, on anonymous memory by a zipf law.
//!
//! SIEVE keeps folios in order of arrival. A hand goes from the tail to the head, over and over:
//! a folio that was used since it was met last stays where it is, any other is evicted. What lies
//! before the hand is one list here, what it has passed another.

use mmsim::base::id::ListId;
use mmsim::memory::{Evicting, Memory};
use mmsim::phys::frames::FolioId;
use mmsim::policy::{
    Arrival, Departure, Inspect, PolicyTraits, ReclaimOutcome, ReclaimPolicy, ReclaimRequest,
};
use mmsim::report::Report;
use mmsim::report::derived::Figure;
use mmsim::report::numbers::{grouped_row, per_cent};
use mmsim::report::statistics::paired_change;
use mmsim::{OwnPolicy, RunError, RunOptions};

/// Per node: the folios before the hand, and those it has passed.
pub(crate) struct Sieve(Vec<[ListId; 2]>);

impl Sieve {
    pub(crate) fn new(mem: &mut Memory) -> Self {
        Sieve((0..mem.zones.nr_nodes()).map(|_| [(); 2].map(|()| mem.lru.lists.create())).collect())
    }
}

impl ReclaimPolicy for Sieve {
    fn folio_arrived(&mut self, mem: &mut Memory, folio: FolioId, _how: Arrival) {
        mem.references(folio, None); // The fault itself is no use.
        mem.lru_add_head(self.0[usize::from(mem.node_of(folio).0)][0], folio);
    }

    fn folio_departed(&mut self, mem: &mut Memory, folio: FolioId, _why: Departure) {
        mem.lru_del(folio);
    }

    fn reclaim(&mut self, mem: &mut Memory, req: &ReclaimRequest) -> ReclaimOutcome {
        mem.lru_drain(self);
        let lists = &mut self.0[usize::from(req.node.0)];
        let mut out = ReclaimOutcome::default();
        let most = (mem.node_lru_pages(req.node).iter().sum::<u64>() >> req.priority).max(32);
        let how = Evicting { may_write_file: true, ..Evicting::of(req) };
        while out.scanned < most && out.reclaimed < req.target {
            if mem.lru.lists.len(lists[0]) == 0 {
                lists.swap(0, 1);
            }
            let Some(folio) = mem.isolate_tail(lists[0], req) else { break };
            out.scanned += 1;
            if mem.references(folio, None).count == 0 && mem.evict(folio, how, None).is_ok() {
                out.reclaimed += 1;
            } else {
                mem.lru_add_head(lists[1], folio);
            }
        }
        out
    }
}

impl Inspect for Sieve {
    fn traits(&self) -> PolicyTraits {
        // Evictions leave no shadows, so refaults are not zero but unknown.
        PolicyTraits { keeps: |event| !event.needs_shadows(), ..PolicyTraits::default() }
    }
}

/// Runs it as a variant of the scenario. The report is that of `mmsim run`: `to_json` and `to_csv`
/// write what `mmsim compare` and other readers take.
pub(crate) fn report() -> Result<Report, RunError> {
    let scenario = mmsim::Scenario::from_str(include_str!("own_policy.toml"), "own_policy.toml")?;
    let sieve = OwnPolicy::new("sieve", |mem, _seed| Box::new(Sieve::new(mem)));
    mmsim::run_with(&scenario, &RunOptions::default().with_check(true), &[sieve])
}

const FIGURES: [Figure; 5] = [
    Figure::SwapIns,
    Figure::Refaults,
    Figure::ScannedPerReclaimed,
    Figure::MajorFaultP99,
    Figure::Throughput,
];

/// The main figures of all variants. What a policy does not count has no figure.
pub(crate) fn table() -> Result<String, RunError> {
    let report = report()?;
    let group = &report.groups()[0];
    let names: String = group.variants.iter().map(|v| format!("{:>15}", v.name)).collect();
    let mut text = format!("{:22}{names}  change\n", "");
    for figure in FIGURES {
        let values: Vec<_> =
            group.variants.iter().map(|v| v.values(None, |scope| figure.of(scope))).collect();
        let means: Vec<_> = values.iter().map(|v| v.first().map(|&(_, n)| n)).collect();
        let cells: String = grouped_row(&means).iter().map(|n| format!("{n:>15}")).collect();
        let change = paired_change(&values[0], &values[1]);
        let change = change.map_or("-".into(), |c| per_cent(c.mean));
        let label = figure.label_of(report.runs.iter().map(|run| run.records));
        text += &format!("{label:22}{cells}  {change}\n");
    }
    Ok(text)
}

#[allow(dead_code, clippy::print_stdout, reason = "a program, and a module of its test")]
fn main() -> Result<(), RunError> {
    table().map(|text| print!("{text}"))
}
