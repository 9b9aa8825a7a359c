//! Cost of a step of a list scan, in a list whose folios lie in random order.
//!
//! - `rotate`: take the folio at the tail, put it to the head (a folio that is kept).
//! - `isolate_32`: take 32 from the tail at a time, put them to the head of another list.
//! - `remove`: take a folio from anywhere, put it to the head (an activation).

#![allow(missing_docs)] // criterion's macros.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use mmsim_core::base::id::{ListId, Pfn, ZoneId};
use mmsim_core::base::rng::Rng;
use mmsim_core::phys::lists::Lists;
use std::hint::black_box;

const STEPS: u64 = 1 << 16;
const ZONE: ZoneId = ZoneId(0);

/// Folios 0 to `n` in random order, the same for every run.
fn shuffled(n: u32) -> Vec<Pfn> {
    let mut rng = Rng::for_purpose(1, "benches/lists");
    let mut order: Vec<Pfn> = (0..n).map(Pfn).collect();
    rng.shuffle(&mut order);
    order
}

fn filled(order: &[Pfn]) -> (Lists, [ListId; 2]) {
    let mut lists = Lists::new(order.len());
    let ids = [(); 2].map(|()| lists.create());
    for &folio in order {
        lists.push_head(ids[0], folio, ZONE);
    }
    (lists, ids)
}

fn lists(c: &mut Criterion) {
    let mut g = c.benchmark_group("lists");
    g.throughput(Throughput::Elements(STEPS));
    for bits in [16, 20, 22] {
        let order = shuffled(1 << bits);
        let (mut lists, [list, other]) = filled(&order);
        g.bench_function(format!("rotate/2^{bits}"), |b| {
            b.iter(|| {
                for _ in 0..STEPS {
                    let folio = lists.pop_tail(list, |_| ZONE).expect("a full list");
                    lists.push_head(list, black_box(folio), ZONE);
                }
            });
        });
        assert_eq!(lists.len(list), order.len() as u64);

        let mut taken = Vec::with_capacity(32);
        let (mut from, mut to) = (list, other);
        g.bench_function(format!("isolate_32/2^{bits}"), |b| {
            b.iter(|| {
                for _ in 0..STEPS / 32 {
                    if lists.len(from) < 32 {
                        (from, to) = (to, from);
                    }
                    taken.clear();
                    lists.pop_tail_batch(from, 32, |run| {
                        taken.extend(run.iter().rev().map(|&f| Pfn(f)));
                    });
                    lists.count_zone(from, ZONE, 0, 32);
                    lists.push_head_batch(to, &taken, |&folio| black_box(folio));
                    lists.count_zone(to, ZONE, 32, 0);
                }
            });
        });
        assert_eq!(lists.len(list) + lists.len(other), order.len() as u64);

        let (mut lists, [list, _]) = filled(&order);
        let mut next = order.iter().cycle();
        g.bench_function(format!("remove/2^{bits}"), |b| {
            b.iter(|| {
                for &folio in next.by_ref().take(STEPS as usize) {
                    lists.remove(folio, ZONE);
                    lists.push_head(list, black_box(folio), ZONE);
                }
            });
        });
        assert_eq!(lists.len(list), order.len() as u64);
    }
    g.finish();
}

criterion_group!(benches, lists);
criterion_main!(benches);
