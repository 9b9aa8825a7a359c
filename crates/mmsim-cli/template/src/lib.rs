//! A replacement policy for mmsim: the clock, to begin with.
//!
//! Each node has one list, in order of arrival. Reclaim takes folios from its tail. A folio that
//! was used since it was looked at last goes back to the head, if `second-chance` is on; any other
//! is evicted.
//!
//! mmsim counts scans and evictions and charges their time. The policy only decides.

use mmsim::base::id::ListId;
use mmsim::base::settings::Preset;
use mmsim::config::Kernel;
use mmsim::memory::{Evicting, Memory};
use mmsim::phys::frames::FolioId;
use mmsim::policy::{
    Arrival, Departure, Inspect, PolicyTraits, ReclaimOutcome, ReclaimPolicy, ReclaimRequest,
};
use mmsim::report::Report;
use mmsim::{ConfiguredPolicy, RunError, RunOptions, Scenario, registry};

mmsim::settings! {
    /// Settings, a row each: scenarios, axes and `--set` reach them as `reclaim.NAME`.
    #[derive(Clone, PartialEq, Debug)]
    pub struct Settings {
        /// spare a folio that was used since it was looked at last
        second_chance as "second-chance": bool;
        /// folios that one call of reclaim looks at, at least
        batch: u32, .range(1, 4096);
    }
    presets PRESETS;
}

/// The names by which scenarios choose the policy.
static PRESETS: &[Preset<Settings>] = &[Preset {
    name: "own-policy",
    config: Settings { second_chance: true, batch: 32 },
    kernel: Kernel::V6_12,
    shipped: None,
    before: None,
    about: "a policy of my own",
    subject: None,
}];

/// The list of each node, and the settings of the run.
pub struct Policy {
    lists: Vec<ListId>,
    settings: Settings,
}

impl ConfiguredPolicy for Policy {
    type Settings = Settings;
    const NAME: &'static str = "own-policy";

    fn create(settings: Settings, mem: &mut Memory, _seed: u64) -> Box<dyn ReclaimPolicy> {
        let lists = (0..mem.zones.nr_nodes()).map(|_| mem.lru.lists.create()).collect();
        Box::new(Policy { lists, settings })
    }
}

impl ReclaimPolicy for Policy {
    fn folio_arrived(&mut self, mem: &mut Memory, folio: FolioId, _how: Arrival) {
        mem.references(folio, None); // Forget the access that brought it in.
        let list = self.lists[usize::from(mem.node_of(folio).0)];
        mem.lru_add_head(list, folio);
    }

    fn folio_departed(&mut self, mem: &mut Memory, folio: FolioId, _why: Departure) {
        mem.lru_del(folio);
    }

    fn reclaim(&mut self, mem: &mut Memory, req: &ReclaimRequest) -> ReclaimOutcome {
        mem.lru_drain(self);
        let list = self.lists[usize::from(req.node.0)];
        let part = mem.node_lru_pages(req.node).iter().sum::<u64>() >> req.priority;
        let most = part.max(self.settings.batch.into());
        let how = Evicting { may_write_file: true, ..Evicting::of(req) };
        let mut out = ReclaimOutcome::default();
        while out.scanned < most && out.reclaimed < req.target {
            let Some(folio) = mem.isolate_tail(list, req) else { break };
            out.scanned += 1;
            let used = mem.references(folio, None).count > 0;
            if !(used && self.settings.second_chance) && mem.evict(folio, how, None).is_ok() {
                out.reclaimed += 1;
            } else {
                mem.lru_add_head(list, folio);
            }
        }
        out
    }
}

impl Inspect for Policy {
    fn traits(&self) -> PolicyTraits {
        // Evictions leave no shadows, so reports say that refaults are unknown.
        PolicyTraits { keeps: |event| !event.needs_shadows(), ..PolicyTraits::default() }
    }
}

/// Runs a scenario, which knows the policy beside those of mmsim.
///
/// # Errors
///
/// The scenario is wrong, or a run gave no result.
pub fn run(scenario: &Scenario, options: RunOptions) -> Result<Report, RunError> {
    mmsim::run(scenario, &options.with_registry(registry().with::<Policy>()))
}
