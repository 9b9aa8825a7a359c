//! The second height of embedding: a machine built by hand, with a workload of one's own.
//!
//! A producer fills a ring of pages and a consumer follows it at a distance. A ring that is a
//! little larger than memory is the worst case of every LRU: the page that is needed next is
//! the one that was evicted last. Random eviction keeps a part of it.

use mmsim::Scenario;
use mmsim::base::rng::Rng;
use mmsim::base::vmstat::VmEvent;
use mmsim::machine::{Machine, TaskConfig, Watch};
use mmsim::machines::{Catalogue, Policy};
use mmsim::scenario::PolicySpec;
use mmsim::workload::{MapKind, Op, RegionId, Run, VmaFlags, Workload, WorkloadCx};

/// Writes a ring of `pages` for `rounds` rounds.
pub(crate) struct Ring {
    pages: u32,
    rounds: u32,
    done: u32,
}

const REGION: RegionId = RegionId(0);

impl Workload for Ring {
    fn phases(&self) -> Vec<String> {
        vec!["first round".into(), "ring".into()]
    }

    fn fill(&mut self, _cx: &WorkloadCx, _rng: &mut Rng, ops: &mut Vec<Op>) {
        if self.done == 0 {
            let flags = VmaFlags::default();
            let kind = MapKind::Anon;
            ops.push(Op::Mmap { region: REGION, pages: self.pages, kind, flags, at: None });
        }
        if self.done <= self.rounds {
            ops.push(Op::Access(Run { region: REGION, write: true, first: 0, count: self.pages }));
        }
        match self.done {
            0 => ops.push(Op::PhaseEnd(0)),
            n if n == self.rounds => ops.push(Op::PhaseEnd(1)),
            _ => {}
        }
        self.done += 1;
    }
}

/// The machine of a scenario; its task is only there because every scenario has one.
const MACHINE: &str = r#"
schema = 1
name = "ring"
[machine]
memory = "32MiB"
cpus = 1
swap = { size = "64MiB", device = "ramdisk" }
[[task]]
workload = "sequential"
memory = "4KiB"
[[variant]]
name = "any"
reclaim = { preset = "classic-v6.12" }
"#;

pub(crate) fn table() -> Result<String, Box<dyn std::error::Error>> {
    let scenario = Scenario::from_str(MACHINE, "ring")?;
    let config = &scenario.expand(&Catalogue)?[0].machine;
    let mut text = String::from("policy         swap-ins a round, of 9000 pages\n");
    for preset in ["classic-v6.12", "random"] {
        let rounds = 20;
        let ring = Ring { pages: 9000, rounds, done: 0 };
        let task = TaskConfig::new("ring", vec![Box::new(ring)]);
        let policy = Policy::resolve(&PolicySpec { preset: preset.into(), knobs: Vec::new() })
            .map_err(|e| e.message)?;
        let mut machine = Machine::new(config, vec![task], 1, |mem| policy.create(mem, 1));
        let result = machine.run(Watch::default());
        let swap_ins = result.phases[1].vmstat[VmEvent::PswpIn];
        text += &format!("{preset:13}  {}\n", swap_ins / u64::from(rounds));
    }
    Ok(text)
}

#[allow(dead_code, clippy::print_stdout, reason = "a program, and a module of its test")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    table().map(|text| print!("{text}"))
}
