//! Facts about a policy that core, reports and tests ask for.

use crate::base::digest::Digest;
use crate::base::id::{MemcgId, NodeId};
use crate::base::time::SimDuration;
use crate::base::vmstat::VmEvent;
use crate::memory::Memory;
use crate::phys::frames::{FolioId, flag};
use crate::policy::chooser::ChooserResult;

/// Properties of a policy.
#[derive(Clone, Copy, Debug)]
pub struct PolicyTraits {
    /// The policy may learn of a fault after later accesses of the same thread: of its folio by
    /// `folio_entering` and `folio_accessed`, and of a full batch by `folio_arrived`. The clock is
    /// that of the fault all the same, and no other thread has acted since. It may if these take no
    /// time, do not look at accessed bits and move no folio but their own. Faults take a fast path
    /// then.
    pub faults_together: bool,
    /// A departure is [`Memory::lru_del`] and nothing else, so that many are one.
    pub plain_departures: bool,
    /// True for an event that the policy counts where it happens. A report has no figure for a
    /// counter that is not kept: zero would say that nothing happened. The default keeps all; a
    /// policy without shadows has no refaults, and should say so.
    pub keeps: fn(VmEvent) -> bool,
}

impl Default for PolicyTraits {
    fn default() -> Self {
        PolicyTraits { faults_together: false, plain_departures: false, keeps: |_| true }
    }
}

/// One generation of a policy that has such.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generation {
    /// Its sequence number: higher is younger.
    pub seq: u64,
    /// Since it began.
    pub age: SimDuration,
    /// Anonymous pages in it.
    pub anon: u64,
    /// File pages in it.
    pub file: u64,
}

/// Sizes of a policy's lists, for reports, series and tests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LruSnapshot {
    /// List names and sizes in pages.
    pub lists: Vec<(String, u64)>,
    /// Other values worth watching: ages, costs.
    pub values: Vec<(String, u64)>,
    /// Generations, oldest first; none if the policy has none.
    pub generations: Vec<Generation>,
}

/// Facts about a policy. All have defaults: `impl Inspect for Mine {}` is enough.
pub trait Inspect {
    /// Properties of the policy, the same for all of its life.
    fn traits(&self) -> PolicyTraits {
        PolicyTraits::default()
    }
    /// Pages of a node on inactive lists, those of all groups: anonymous, file. They decide how long
    /// reclaim for a large block goes on. A policy without such lists has none.
    fn inactive(&self, mem: &Memory, node: NodeId) -> [u64; 2] {
        let _ = (mem, node);
        [0; 2]
    }
    /// True if lazily freed memory has a list to itself (`nr_lazyfree`); else it is among file pages.
    fn has_lazyfree_list(&self) -> bool {
        false
    }
    /// True if the policy keeps the pool of `vm.easy_pool_low`, under the name `sim_easy_pool`.
    fn has_easy_pool(&self) -> bool {
        false
    }
    /// True if a listed folio counts as active in the kernel's files.
    fn is_active(&self, mem: &Memory, folio: FolioId) -> bool {
        mem.frames.has(folio, flag::ACTIVE)
    }
    /// List sizes and values of one lruvec.
    fn snapshot(&self, mem: &Memory, node: NodeId, memcg: MemcgId) -> LruSnapshot {
        let _ = (mem, node, memcg);
        LruSnapshot::default()
    }
    /// The choosers that it asks, and what came of that, by group.
    fn choosers(&self, mem: &Memory) -> Vec<ChooserResult> {
        let _ = mem;
        Vec::new()
    }
    /// Panics, naming ids, if an invariant of the policy does not hold.
    fn check(&self, mem: &Memory) {
        let _ = mem;
    }
    /// Adds the state that decides to a digest.
    fn digest(&self, mem: &Memory, d: &mut Digest) {
        let _ = (mem, d);
    }
}
