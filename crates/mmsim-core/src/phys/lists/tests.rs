//! Lists are what plain deques would be.

use super::*;
use proptest::prelude::*;
use std::collections::VecDeque;

const Z: ZoneId = ZoneId(0);

#[derive(Clone, Debug)]
enum Step {
    PushHead(u8, u16),
    PushTail(u8, u16),
    Remove(u16),
    RemoveAll(u16, u16),
    PopTail(u8),
    PopTailBatch(u8, u64),
    PushHeadBatch(u8, u16, u16),
    PushHeadMasked(u8, u16, u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0u8..3, 0u16..600).prop_map(|(l, f)| Step::PushHead(l, f)),
        1 => (0u8..3, 0u16..600).prop_map(|(l, f)| Step::PushTail(l, f)),
        3 => (0u16..600).prop_map(Step::Remove),
        1 => (0u16..600, 0u16..40).prop_map(|(f, n)| Step::RemoveAll(f, n)),
        1 => (0u8..3).prop_map(Step::PopTail),
        1 => (0u8..3, 0u64..100).prop_map(|(l, n)| Step::PopTailBatch(l, n)),
        1 => (0u8..3, 0u16..600, 0u16..100)
            .prop_map(|(l, f, n)| Step::PushHeadBatch(l, f, n)),
        1 => (0u8..3, 0u16..600, any::<u64>())
            .prop_map(|(l, f, these)| Step::PushHeadMasked(l, f, these)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Against plain deques: same order, same lengths, same answers.
    #[test]
    fn agrees_with_plain_deques(steps in prop::collection::vec(step(), 0..3000)) {
        let mut lists = Lists::new(600);
        let all = lists.create_tally(None);
        let tally = lists.create_tally(Some(all));
        let ids = [lists.create(), lists.create_in(tally), lists.create_in(all)];
        let mut model: [VecDeque<u32>; 3] = Default::default();
        for s in steps {
            match s {
                Step::PushHead(l, f) | Step::PushTail(l, f)
                    if model.iter().any(|m| m.contains(&u32::from(f))) => { let _ = l; }
                Step::PushHead(l, f) => {
                    lists.push_head(ids[l as usize], Pfn(f.into()), Z);
                    model[l as usize].push_front(f.into());
                }
                Step::PushTail(l, f) => {
                    lists.push_tail(ids[l as usize], Pfn(f.into()), Z);
                    model[l as usize].push_back(f.into());
                }
                Step::Remove(f) => {
                    for (i, m) in model.iter_mut().enumerate() {
                        if let Some(p) = m.iter().position(|&x| x == u32::from(f)) {
                            m.remove(p);
                            prop_assert_eq!(lists.list_of(Pfn(f.into())), ids[i]);
                            lists.remove(Pfn(f.into()), Z);
                        }
                    }
                }
                Step::RemoveAll(f, n) => {
                    let listed = |&f: &u32| model.iter().any(|m| m.contains(&f));
                    let folios: Vec<u32> = (f..f + n).map(u32::from).filter(listed).collect();
                    let of: Vec<Pfn> = folios.iter().copied().map(Pfn).collect();
                    lists.remove_all(&of, Z);
                    model.iter_mut().for_each(|m| m.retain(|f| !folios.contains(f)));
                }
                Step::PopTail(l) => {
                    let got = lists.tail(ids[l as usize]).map(|p| p.0);
                    got.into_iter().for_each(|p| lists.remove(Pfn(p), Z));
                    prop_assert_eq!(got, model[l as usize].pop_back());
                }
                Step::PopTailBatch(l, n) => {
                    let mut got = Vec::new();
                    lists.pop_tail_batch(ids[l as usize], n, |run| {
                        got.extend(run.iter().rev().map(|&f| Pfn(f)));
                    });
                    lists.count_zone(ids[l as usize], Z, 0, got.len() as u64);
                    let want = std::iter::from_fn(|| model[l as usize].pop_back());
                    let want: Vec<Pfn> = want.take(n as usize).map(Pfn).collect();
                    prop_assert_eq!(got, want);
                }
                Step::PushHeadBatch(l, f, n) => {
                    let free = (f..f + n).map(u32::from).filter(|&f| {
                        f < 600 && !model.iter().any(|m| m.contains(&f))
                    });
                    let folios: Vec<Pfn> = free.map(Pfn).collect();
                    lists.push_head_batch(ids[l as usize], &folios, |&f| f);
                    lists.count_zone(ids[l as usize], Z, folios.len() as u64, 0);
                    for f in folios {
                        model[l as usize].push_front(f.0);
                    }
                }
                Step::PushHeadMasked(l, f, these) => {
                    let folios: [u32; CHUNK] = std::array::from_fn(|i| u32::from(f) + i as u32);
                    let free = |i: &usize| {
                        let f = folios[*i];
                        these >> i & 1 != 0 && f < 600 && !model.iter().any(|m| m.contains(&f))
                    };
                    let some: Vec<usize> = (0..CHUNK).filter(free).collect();
                    let mask = some.iter().fold(0, |mask, i| mask | 1 << i);
                    lists.push_head_masked(ids[l as usize], &folios, mask);
                    lists.count_zone(ids[l as usize], Z, some.len() as u64, 0);
                    for i in some {
                        model[l as usize].push_front(folios[i]);
                    }
                }
            }
            for (i, m) in model.iter().enumerate() {
                prop_assert_eq!(lists.len(ids[i]), m.len() as u64);
                prop_assert_eq!(lists.len_in(ids[i], Z), m.len() as u64);
                prop_assert_eq!(lists.tail(ids[i]).map(|p| p.0), m.back().copied());
            }
            prop_assert_eq!(lists.tally(tally), model[1].len() as u64);
            prop_assert_eq!(lists.tally(all), (model[1].len() + model[2].len()) as u64);
        }
        for (i, m) in model.iter().enumerate() {
            let got: Vec<u32> = lists.iter_from_tail(ids[i]).map(|p| p.0).collect();
            let want: Vec<u32> = m.iter().rev().copied().collect();
            prop_assert_eq!(got, want);
        }
    }
}
