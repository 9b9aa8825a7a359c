//! Tells who follows a run what allocations meet, where it is counted.

use crate::base::id::{NodeId, ThreadId};
use crate::base::time::SimDuration;
use crate::machine::Machine;
use crate::memory::trouble::{Background, Trouble, Troubled};
use crate::phys::gfp::{AllocFlags, AllocRequest};
use crate::phys::watermarks::Mark;

impl Machine {
    /// A thread's request failed, or its compaction.
    pub(in crate::machine) fn tell_of_trouble(&mut self, tid: ThreadId, what: Trouble) {
        self.tell_of(tid, what, SimDuration::ZERO);
    }

    /// A thread has to reclaim for its request.
    pub(in crate::machine) fn tell_of_stall(
        &mut self,
        tid: ThreadId,
        req: &AllocRequest,
        node: NodeId,
    ) {
        if !self.mem.followed() {
            return;
        }
        let one = AllocRequest { order: 0, ..*req };
        let flags = AllocFlags::of(&one);
        let singles = req.order > 0
            && self.mem.zones.ids().any(|z| {
                let z = &self.mem.zones[z];
                z.kind <= req.highest && z.allows(0, Mark::Min, req.highest, flags)
            });
        let (background, late) = match singles {
            true => (Background::NoBlock, SimDuration::ZERO),
            false => self.daemons.kswapds[node].background(self.mem.acting.now),
        };
        let what = Trouble::Stall(background, self.mem.largest_holder());
        self.tell_of(tid, what, late);
    }

    fn tell_of(&mut self, tid: ThreadId, what: Trouble, late: SimDuration) {
        let t = &self.work.threads[tid];
        let (space, memcg) = (t.space, t.memcg);
        self.mem.tell_of_trouble(&Troubled { what, space, memcg, late });
    }
}
