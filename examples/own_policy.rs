//! A policy of one's own beside that of Linux 6.12: SIEVE, on anonymous memory by a zipf law.
//!
//! SIEVE keeps folios in order of arrival. A hand goes from the tail to the head, over and over:
//! a folio that was used since it was met last stays where it is, any other is evicted. What lies
//! before the hand is one list here, what it has passed another.
//!
//! Its one setting is a row, as those of mmsim's own policies are. A scenario sets it, an axis or
//! `--set` varies it, and reports have it. A value that it does not take is an error with its place.

use mmsim::base::id::ListId;
use mmsim::base::settings::Preset;
use mmsim::config::Kernel;
use mmsim::memory::{Evicting, Memory};
use mmsim::phys::frames::FolioId;
use mmsim::policy::{
    Arrival, Departure, Inspect, PolicyTraits, ReclaimOutcome, ReclaimPolicy, ReclaimRequest,
};
use mmsim::report::Report;
use mmsim::report::derived::Figure;
use mmsim::report::numbers::{grouped_row, per_cent};
use mmsim::report::statistics::paired_change;
use mmsim::{ConfiguredPolicy, RunError, RunOptions, Scenario, registry};

mmsim::settings! {
    /// Settings of SIEVE.
    #[derive(Clone, PartialEq, Debug)]
    pub struct SieveConfig {
        /// folios that one call of reclaim looks at, at least
        batch: u32, .range(1, 4096);
    }
    presets PRESETS;
}

/// The names by which scenarios choose the policy.
static PRESETS: &[Preset<SieveConfig>] = &[Preset {
    name: "sieve",
    config: SieveConfig { batch: 32 },
    kernel: Kernel::V6_12,
    shipped: None,
    before: None,
    about: "SIEVE: a hand that spares what was used since it came by",
    subject: None,
}];

/// Per node: the folios before the hand, and those it has passed.
pub(crate) struct Sieve {
    lists: Vec<[ListId; 2]>,
    config: SieveConfig,
}

impl ConfiguredPolicy for Sieve {
    type Settings = SieveConfig;
    const NAME: &'static str = "SIEVE";

    fn create(config: SieveConfig, mem: &mut Memory, _seed: u64) -> Box<dyn ReclaimPolicy> {
        let nodes = 0..mem.zones.nr_nodes();
        let lists = nodes.map(|_| [(); 2].map(|()| mem.lru.lists.create())).collect();
        Box::new(Sieve { lists, config })
    }
}

impl ReclaimPolicy for Sieve {
    fn folio_arrived(&mut self, mem: &mut Memory, folio: FolioId, _how: Arrival) {
        mem.references(folio, None); // The fault itself is no use.
        mem.lru_add_head(self.lists[usize::from(mem.node_of(folio).0)][0], folio);
    }

    fn folio_departed(&mut self, mem: &mut Memory, folio: FolioId, _why: Departure) {
        mem.lru_del(folio);
    }

    fn reclaim(&mut self, mem: &mut Memory, req: &ReclaimRequest) -> ReclaimOutcome {
        mem.lru_drain(self);
        let lists = &mut self.lists[usize::from(req.node.0)];
        let mut out = ReclaimOutcome::default();
        let part = mem.node_lru_pages(req.node).iter().sum::<u64>() >> req.priority;
        let most = part.max(self.config.batch.into());
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

/// A variant with SIEVE, whose setting has this value.
fn scenario(batch: &str) -> Result<Scenario, RunError> {
    let text = include_str!("own_policy.toml");
    let sieve = format!("reclaim = {{ preset = \"sieve\", batch = {batch} }}");
    let text = format!("{text}\n[[variant]]\nname = \"sieve\"\n{sieve}\n");
    Ok(Scenario::from_str(&text, "own_policy.toml")?)
}

fn run(scenario: &Scenario) -> Result<Report, RunError> {
    let policies = registry().with::<Sieve>();
    mmsim::run(scenario, &RunOptions::default().with_check(true).with_registry(policies))
}

/// The report is that of `mmsim run`: `to_json` and `to_csv` write what `mmsim compare` and other
/// readers take.
pub(crate) fn report() -> Result<Report, RunError> {
    run(&scenario("32")?)
}

/// The error of a value that the setting does not take.
pub(crate) fn mistake() -> String {
    let mistake = scenario("5000").and_then(|scenario| run(&scenario));
    mistake.err().map_or_else(String::new, |error| error.to_string())
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
    Ok(text + "\n" + &mistake() + "\n")
}

#[allow(dead_code, clippy::print_stdout, reason = "a program, and a module of its test")]
fn main() -> Result<(), RunError> {
    table().map(|text| print!("{text}"))
}
