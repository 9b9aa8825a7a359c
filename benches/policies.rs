//! Cost of an access under each policy, a fault and its share of reclaim included.
//!
//! Zipf draws over 2^16 pages, hot sets narrow (1.3), usual (0.9) and wide (0.5), with memory for
//! half and for four fifths of them.

#![allow(missing_docs)] // criterion's macros.

#[path = "../tests/machine/cells.rs"]
mod cells;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use mmsim::machines::Machine;
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::config::Kernel;
use mmsim_core::machine::Watch;
use mmsim_core::memory::Memory;
use mmsim_core::policy::ReclaimPolicy;
use mmsim_lru::{Classic, ClassicConfig, Random};

const PAGES: u32 = 1 << 16;
const ACCESSES: u64 = 400_000;

type Make = fn(&mut Memory) -> Box<dyn ReclaimPolicy>;

fn cell(theta: f64, percent: u32, kernel: Kernel, policy: Make) -> Machine {
    let work = mmsim_workload::generators::ZipfConfig { theta, ..cells::zipf(PAGES, ACCESSES, 1) };
    let config = cells::machine_of(PAGES / 100 * percent, 2 * PAGES, kernel);
    Machine::new(&config, cells::task(work.workloads()), 1, policy)
}

fn policies(c: &mut Criterion) {
    let makers: [(&str, Kernel, Make); 3] = [
        ("classic-v5.5", Kernel::V5_5, |m| Box::new(Classic::new(ClassicConfig::V5_5, m))),
        ("classic-v6.12", Kernel::V6_12, |m| Box::new(Classic::new(ClassicConfig::V6_12, m))),
        ("random", Kernel::V6_12, |m| Box::new(Random::new(m, 1))),
    ];
    let mut g = c.benchmark_group("policies");
    g.sample_size(10).throughput(Throughput::Elements(u64::from(PAGES) + ACCESSES));
    for (name, kernel, policy) in makers {
        for theta in [0.5, 0.9, 1.3] {
            for percent in [50, 80] {
                let make = || cell(theta, percent, kernel, policy);
                let result = make().run(Watch::default());
                assert!(result.vmstat[VmEvent::PgMajFault] > 1_000, "too little is evicted");
                g.bench_function(format!("{name}/zipf_{theta}/{percent}_percent"), |b| {
                    b.iter_batched(
                        make,
                        |mut m| assert_eq!(m.run(Watch::default()).digest, result.digest),
                        BatchSize::PerIteration,
                    );
                });
            }
        }
    }
    g.finish();
}

criterion_group!(benches, policies);
criterion_main!(benches);
