//! A policy of one's own beside that of Linux 6.12: SIEVE, on anonymous memory by a zipf law.
//!
//! SIEVE keeps folios in order of arrival. A hand goes from the tail to the head, over and over:
//! a folio that was used since it was met last stays where it is, any other is evicted. What lies
//! before the hand is one list here, what it has passed another.

use mmsim::base::id::ListId;
use mmsim::base::vmstat::VmEvent;
use mmsim::build::{Catalogue, machine, machine_with};
use mmsim::machine::Watch;
use mmsim::memory::{Evicting, Memory};
use mmsim::phys::frames::FolioId;
use mmsim::policy::{Arrival, Departure, ReclaimOutcome, ReclaimPolicy, ReclaimRequest};

/// Per node: the folios before the hand, and those it has passed.
pub(crate) struct Sieve(Vec<[ListId; 2]>);

impl Sieve {
    pub(crate) fn new(mem: &mut Memory) -> Self {
        Sieve((0..mem.zones.nr_nodes()).map(|_| [(); 2].map(|()| mem.lists.create())).collect())
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
        let may_writepage = req.may_writepage;
        let how = Evicting { may_writepage, may_write_file: true, clean_only: false };
        while out.scanned < most && out.reclaimed < req.target {
            if mem.lists.len(lists[0]) == 0 {
                lists.swap(0, 1);
            }
            let Some(folio) = mem.lru_pop_tail(lists[0]) else { break };
            mem.charge_scan(1);
            out.scanned += 1;
            if mem.references(folio, None).count == 0 && mem.evict(folio, how, None).is_ok() {
                out.reclaimed += 1;
            } else {
                mem.lru_add_head(lists[1], folio);
            }
        }
        mem.charge_batch(out.reclaimed);
        mem.settle_kernel();
        out
    }

    fn keeps(&self, event: VmEvent) -> bool {
        !event.needs_shadows() // Evictions leave none, so refaults are not zero but unknown.
    }
}

pub(crate) fn table() -> Result<String, mmsim::Error> {
    let mut text = String::from("policy         swap-ins  swap-outs  simulated s\n");
    let scenario = mmsim::Scenario::from_str(include_str!("own_policy.toml"), "own_policy.toml")?;
    let run = &scenario.expand(&Catalogue)?[0];
    let sieve = machine_with(run, |mem| Box::new(Sieve::new(mem)))?;
    for (name, mut machine) in [("classic-v6.12", machine(run)?), ("sieve", sieve)] {
        let r = machine.run(Watch { check_every: 1024, ..Watch::default() });
        let [ins, outs] = [VmEvent::PswpIn, VmEvent::PswpOut].map(|e| r.vmstat[e]);
        text += &format!("{name:13} {ins:9}  {outs:9}  {:11.3}\n", r.sim_time.0 as f64 / 1e9);
    }
    Ok(text)
}

#[allow(dead_code, clippy::print_stdout, reason = "a program, and a module of its test")]
fn main() -> Result<(), mmsim::Error> {
    table().map(|text| print!("{text}"))
}
