//! Cost of keeping many threads in order.
//!
//! Zipf 0.9 over 2^20 pages of which 98 % fit, by one thread, by 64 and by 1024 with a CPU
//! each, and by 1024 that share 8 CPUs. All make as many accesses in total. A run begins by
//! populating, which is timed alone beside it: the difference of the two is what the
//! accesses take. The goal: an access takes at most twice as long as alone. Threads that share
//! CPUs reach it; with a CPU for each it is about three times.

#![allow(missing_docs)] // criterion's macros.

#[path = "../tests/machine/cells.rs"]
mod cells;

use cells::{FRAMES_98, PAGES};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use mmsim::machines::Machine;
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::config::{Kernel, MachineConfig};
use mmsim_core::machine::Watch;
use std::time::Duration;

const ACCESSES: u64 = 4 << 20;

fn machine(threads: u32, cpus: u32, accesses: u64) -> Machine {
    let one = cells::machine_of(FRAMES_98, 2 * PAGES, Kernel::V6_12);
    let config = MachineConfig { cpus, ..one };
    let work = cells::zipf(PAGES, accesses, threads).workloads();
    Machine::new(&config, cells::task(work), 1, cells::classic)
}

fn threads(c: &mut Criterion) {
    let mut g = c.benchmark_group("threads");
    g.sample_size(10).measurement_time(Duration::from_secs(5));
    let cases = [(64, 64), (1024, 8), (1, 1), (1024, 1024)];
    for (threads, cpus) in cases.into_iter().take(if cells::tried() { 2 } else { 4 }) {
        for (part, accesses) in [("populate", 0), ("populate_and_4M", ACCESSES)] {
            let result = machine(threads, cpus, accesses).run(Watch::default());
            assert_eq!(result.accesses, u64::from(PAGES) + accesses);
            if accesses > 0 {
                let major = result.vmstat[VmEvent::PgMajFault];
                assert!((4_000..160_000).contains(&major), "{threads} on {cpus}: {major} misses");
            }
            g.throughput(Throughput::Elements(result.accesses));
            g.bench_function(format!("{threads}_on_{cpus}/{part}"), |b| {
                b.iter_batched(
                    || machine(threads, cpus, accesses),
                    |mut m| assert_eq!(m.run(Watch::default()).digest, result.digest),
                    BatchSize::PerIteration,
                );
            });
        }
    }
    g.finish();
}

criterion_group!(benches, threads);
criterion_main!(benches);
