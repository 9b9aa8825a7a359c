//! Cost of watching, and of runs without an observer.
//!
//! The same run three times: without an observer, with one that counts events, with a
//! sample of all counters every 100 ms. All three end with one digest.

#![allow(missing_docs)] // criterion's macros.

#[path = "../tests/machine/cells.rs"]
mod cells;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use mmsim::machines::Machine;
use mmsim_core::base::time::{SimDuration, SimTime};
use mmsim_core::config::Kernel;
use mmsim_core::machine::Watch;
use mmsim_core::memory::trace::{Observer, TraceEvent};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

struct Count(Arc<AtomicU64>);

impl Observer for Count {
    fn event(&mut self, _now: SimTime, _event: &TraceEvent) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn machine() -> Machine {
    let config = cells::machine_of(1 << 15, 1 << 17, Kernel::V6_12);
    let work = cells::zipf(1 << 16, 400_000, 1).workloads();
    Machine::new(&config, cells::task(work), 1, cells::classic)
}

fn observers(c: &mut Criterion) {
    let seen = Arc::new(AtomicU64::new(0));
    let nobody = Watch::default;
    let counting = || Watch::default().with_observer(Box::new(Count(Arc::clone(&seen))));
    let sampling = || {
        let seen = Arc::clone(&seen);
        let f = move |_: SimTime, _: &_, gauges: &[(&'static str, u64)]| {
            seen.fetch_add(gauges.len() as u64, Ordering::Relaxed);
        };
        Watch::default().with_sample(SimDuration::from_millis(100), Box::new(f))
    };
    let result = machine().run(nobody());
    assert_eq!(seen.load(Ordering::Relaxed), 0);
    let watches: [(&str, &dyn Fn() -> Watch); 3] =
        [("nobody", &nobody), ("counting", &counting), ("sampling_100ms", &sampling)];
    let mut g = c.benchmark_group("observers");
    g.throughput(Throughput::Elements(result.accesses)).sample_size(10);
    for (name, watch) in watches {
        seen.store(0, Ordering::Relaxed);
        assert_eq!(machine().run(watch()).digest, result.digest, "{name} changed the run");
        assert_eq!(seen.load(Ordering::Relaxed) > 0, name != "nobody", "{name}");
        g.bench_function(name, |b| {
            b.iter_batched(
                || (machine(), watch()),
                |(mut m, w)| assert_eq!(m.run(w).digest, result.digest),
                BatchSize::PerIteration,
            );
        });
    }
    g.finish();
}

criterion_group!(benches, observers);
criterion_main!(benches);
