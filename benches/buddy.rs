//! Cost of a free and an allocation of one page, with 90 % of 2^20 frames in use.
//!
//! - `pair/pcp`: a random page is freed and one allocated, through the per-CPU list. Which pages
//!   was drawn before, so that nothing but the allocator goes to a random place;
//! - `held/pcp`: the same, and the page is looked up in a list of all that are held, by a place
//!   that was drawn before: two random places a pair;
//! - `burst/pcp`: 1024 such pages are freed and as many allocated, so that most pass
//!   through the list to the buddy and back;
//! - `pair/buddy`: as `held/pcp` without per-CPU lists, merging and splitting each time.
//!
//! Times are per pair.

#![allow(missing_docs)] // criterion's macros.

#[path = "../tests/machine/cells.rs"]
mod cells;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use mmsim_core::base::id::{NodeId, Pfn};
use mmsim_core::base::rng::Rng;
use mmsim_core::config::Kernel;
use mmsim_core::memory::Memory;
use mmsim_core::phys::gfp::AllocRequest;

const FRAMES: u32 = 1 << 20;
const DRAWS: usize = 1 << 20;

struct Churn {
    mem: Memory,
    held: Vec<Pfn>,
    /// Random words, used again and again.
    draws: Vec<u32>,
    next: usize,
}

/// Work that is repeated.
#[derive(Clone, Copy)]
enum Round {
    Pair,
    Held,
    Burst,
}

impl Churn {
    fn new(pcp: bool) -> Self {
        let mut config = cells::machine_of(FRAMES, 0, Kernel::V6_12);
        if !pcp {
            config.nodes[0].zones[0].pcp = Some((0, 1));
        }
        let mut mem = Memory::new(&config);
        let mut rng = Rng::for_purpose(1, "bench/buddy");
        let draws = (0..DRAWS).map(|_| rng.below(1 << 32) as u32).collect();
        let held = (0..FRAMES / 10 * 9)
            .map(|_| mem.try_alloc(NodeId(0), &AllocRequest::USER, None).expect("a free frame"))
            .collect();
        let mut this = Churn { mem, held, draws, next: 0 };
        // Until the free tenth lies scattered.
        for _ in 0..200 {
            this.burst(4096);
        }
        this
    }

    /// A place among the pages that are held.
    fn place(&mut self) -> usize {
        let draw = u64::from(self.draws[self.next % DRAWS]);
        self.next += 1;
        ((draw * self.held.len() as u64) >> 32) as usize
    }

    /// The list gives what it was given last, so the pages that are held stay the same.
    fn pair(&mut self, page: Pfn) {
        self.mem.free_frame(page);
        let pfn = self.mem.try_alloc(NodeId(0), &AllocRequest::USER, None);
        assert_eq!(pfn, Some(page));
    }

    fn pair_of_held(&mut self) {
        let i = self.place();
        self.mem.free_frame(self.held[i]);
        let pfn = self.mem.try_alloc(NodeId(0), &AllocRequest::USER, None);
        self.held[i] = pfn.expect("a free frame");
    }

    fn free(&mut self) {
        let i = self.place();
        let pfn = self.held.swap_remove(i);
        self.mem.free_frame(pfn);
    }

    fn alloc(&mut self) {
        let pfn = self.mem.try_alloc(NodeId(0), &AllocRequest::USER, None);
        self.held.push(pfn.expect("a free frame"));
    }

    fn burst(&mut self, n: u32) {
        (0..n).for_each(|_| self.free());
        (0..n).for_each(|_| self.alloc());
    }
}

fn buddy(c: &mut Criterion) {
    let mut g = c.benchmark_group("buddy");
    g.sample_size(20);
    for (name, pcp, round) in [
        ("pair/pcp", true, Round::Pair),
        ("held/pcp", true, Round::Held),
        ("burst/pcp", true, Round::Burst),
        ("pair/buddy", false, Round::Held),
    ] {
        let mut churn = Churn::new(pcp);
        let free = churn.mem.zones.nr_free();
        assert!((50_000..110_000).contains(&free), "{free}");
        let drawn: Vec<Pfn> = (0..DRAWS)
            .map(|_| {
                let i = churn.place();
                churn.held[i]
            })
            .collect();
        let mut batches = drawn.chunks_exact(1024).cycle();
        g.throughput(Throughput::Elements(1024));
        g.bench_function(name, |b| {
            b.iter(|| match round {
                Round::Pair => batches.next().unwrap().iter().for_each(|&p| churn.pair(p)),
                Round::Held => (0..1024).for_each(|_| churn.pair_of_held()),
                Round::Burst => churn.burst(1024),
            });
        });
        churn.mem.check();
    }
    g.finish();
}

criterion_group!(benches, buddy);
criterion_main!(benches);
