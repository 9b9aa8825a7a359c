//! A policy of one's own beside that of Linux 6.12: SIEVE, on anonymous memory by a zipf law.
//!
//! SIEVE keeps folios in order of arrival. A hand goes from the tail to the head: a folio that was
//! used since the hand met it stays where it is, any other is evicted, and after the head the hand
//! begins at the tail anew. What the hand has passed is one list here, what lies before it another.

use mmsim::base::id::{ListId, NodeId};
use mmsim::base::vmstat::VmEvent;
use mmsim::build::{Catalogue, machine, machine_with};
use mmsim::machine::Watch;
use mmsim::memory::{Evicting, Memory};
use mmsim::phys::frames::FolioId;
use mmsim::policy::{Arrival, Departure, ReclaimOutcome, ReclaimPolicy, ReclaimRequest};

/// Per node: folios before the hand, and folios it has passed.
pub struct Sieve(Vec<[ListId; 2]>);

impl Sieve {
    pub fn new(mem: &mut Memory) -> Self {
        let nodes = mem.zones.nr_nodes();
        Sieve((0..nodes).map(|_| [mem.lists.create(), mem.lists.create()]).collect())
    }

    /// The folio under the hand, taken off its list.
    fn next(&mut self, mem: &mut Memory, node: NodeId) -> Option<FolioId> {
        let lists = &mut self.0[usize::from(node.0)];
        if mem.lists.len(lists[0]) == 0 {
            lists.swap(0, 1);
        }
        mem.lru_pop_tail(lists[0])
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
        let mut out = ReclaimOutcome::default();
        let [anon, file] = mem.node_lru_pages(req.node);
        let how =
            Evicting { may_writepage: req.may_writepage, may_write_file: true, clean_only: false };
        while out.scanned < ((anon + file) >> req.priority).max(32) && out.reclaimed < req.target {
            let Some(folio) = self.next(mem, req.node) else { break };
            mem.charge_scan(1);
            out.scanned += 1;
            if mem.references(folio, None).count == 0 && mem.evict(folio, how, None).is_ok() {
                out.reclaimed += 1;
            } else {
                mem.lru_add_head(self.0[usize::from(req.node.0)][1], folio);
            }
        }
        mem.charge_batch(out.reclaimed);
        mem.settle_kernel();
        out
    }
}

pub fn table() -> Result<String, mmsim::Error> {
    let mut text = String::from("policy         swap-ins  swap-outs  simulated s\n");
    let scenario = mmsim::Scenario::from_str(include_str!("own_policy.toml"), "own_policy.toml")?;
    let run = &scenario.expand(&Catalogue)?[0];
    let sieve = machine_with(run, |mem| Box::new(Sieve::new(mem)))?;
    for (name, mut machine) in [("classic-v6.12", machine(run)?), ("sieve", sieve)] {
        let r = machine.run(Watch { check_every: 1024, ..Watch::default() });
        let [ins, outs] = [VmEvent::PswpIn, VmEvent::PswpOut].map(|e| r.vmstat.get(e));
        text += &format!("{name:13} {ins:9}  {outs:9}  {:11.3}\n", r.sim_time.0 as f64 / 1e9);
    }
    Ok(text)
}

#[allow(dead_code, clippy::print_stdout, reason = "a program, and a module of its test")]
fn main() -> Result<(), mmsim::Error> {
    print!("{}", table()?);
    Ok(())
}
