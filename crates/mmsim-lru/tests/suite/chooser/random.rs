//! Random traces: each call of a chooser in Rust offers what its twin offers, page by page.

use super::rig::{Call, Calls, Rig};
use super::twins::{Kind, Twin};
use mmsim_core::base::id::MemcgId;
use mmsim_core::base::rng::Rng;
use mmsim_core::policy::chooser::ChooserOptions;
use mmsim_lru::chooser::builtin;
use std::collections::BTreeSet;

const GROUPS: [MemcgId; 2] = [MemcgId(1), MemcgId(2)];

struct Side {
    memcg: MemcgId,
    capacity: u64,
    twin: Twin,
    calls: Calls,
    cached: BTreeSet<u32>,
    dirty: BTreeSet<u32>,
    /// Pages that were offered so far.
    offered: u64,
}

fn side(rig: &mut Rig, memcg: MemcgId, name: &str, capacity: u64) -> Side {
    let size = capacity as usize;
    let kind = match name {
        "fifo" => Kind::Fifo,
        "mru" => Kind::Mru,
        "lfu" => Kind::Lfu,
        _ => Kind::S3Fifo { size },
    };
    let options = ChooserOptions { max_pages: Some(capacity), ..ChooserOptions::default() };
    let calls = rig.attach(memcg, builtin(name, &options).expect("it exists"));
    Side {
        memcg,
        capacity,
        twin: Twin::new(kind),
        calls,
        cached: BTreeSet::new(),
        dirty: BTreeSet::new(),
        offered: 0,
    }
}

impl Side {
    /// A page of its part of the file: a scan, or one of a hot part.
    fn page(&self, i: u64, rng: &mut Rng) -> u32 {
        let all = Rig::pages_of(self.memcg);
        let spread = 3 * self.capacity;
        let nth = match rng.below(2) {
            0 => i % spread,
            _ => {
                let within = 1 + rng.below(spread);
                rng.below(within)
            }
        };
        all.start + nth as u32
    }

    fn access(&mut self, rig: &mut Rig, i: u64, rng: &mut Rng) {
        let page = self.page(i, rng);
        if !self.cached.contains(&page) && rig.usage(self.memcg) >= self.capacity {
            rig.reclaim(self.memcg);
            self.settle(rig);
        }
        let hit = rig.read(self.memcg, page);
        assert_eq!(hit, self.cached.contains(&page), "page {page} of {}", self.memcg);
        if !hit {
            self.cached.insert(page);
            self.twin.added(page);
        }
        self.twin.used(page);
        // One in 40 is written, and cleaned when no reclaim is near.
        if rng.below(40) == 0 && self.dirty.insert(page) {
            rig.dirty(page);
        }
    }

    /// Compares the calls of a reclaim with the twin's.
    fn settle(&mut self, rig: &Rig) {
        let calls = std::mem::take(&mut *self.calls.lock().unwrap());
        for Call { wanted, offered } in calls {
            let dirty = &self.dirty;
            let twin = self.twin.offers(wanted as usize, |p| !dirty.contains(&p));
            assert_eq!(offered, twin, "call for {wanted} pages of {}", self.memcg);
            self.offered += offered.len() as u64;
            for page in offered {
                if rig.folio(page).is_none() && self.cached.remove(&page) {
                    self.twin.gone(page);
                }
            }
        }
        // Pages that the LRU took.
        for page in self.cached.clone() {
            if rig.folio(page).is_none() {
                self.cached.remove(&page);
                self.twin.gone(page);
            }
        }
    }
}

/// Runs two groups side by side. Returns what each side offered.
fn compare(names: [&str; 2], seed: u64, tell_after: Option<usize>) -> ([u64; 2], u64) {
    let mut rig = Rig::new();
    let capacities = [700, 560];
    let [a, b] = [0, 1].map(|i| side(&mut rig, GROUPS[i], names[i], capacities[i]));
    if let Some(records) = tell_after {
        rig.mem.memcgs.journals.tell_after(records);
    }
    let mut sides = [a, b];
    let mut rng = Rng::for_purpose(seed, "choosers");
    for i in 0..9_000 {
        let of = rng.below(2) as usize;
        sides[of].access(&mut rig, i, &mut rng);
        if i % 512 == 0 {
            rig.check();
        }
    }
    for side in &sides {
        let counts = rig.counts(side.memcg);
        assert_eq!(counts.offered, counts.evicted + counts.all_refused());
        assert!(counts.asks > 50, "{}: asked {} times", side.memcg, counts.asks);
    }
    let mut digest = mmsim_core::base::digest::Digest::new();
    rig.mem.digest(&mut digest);
    (sides.map(|s| s.offered), digest.finish())
}

#[test]
fn choosers_offer_what_their_twins_offer() {
    for (nth, names) in [["fifo", "mru"], ["lfu", "s3-fifo"], ["mru", "lfu"], ["s3-fifo", "fifo"]]
        .iter()
        .enumerate()
    {
        for seed in 1..=3 {
            let (offered, _) = compare(*names, 10 * nth as u64 + seed, None);
            assert!(offered.iter().all(|&n| n > 1000), "{names:?}: {offered:?}");
        }
    }
}

/// Told of each record, of many, or only before a call: the same run.
#[test]
fn it_does_not_matter_when_a_journal_is_told() {
    for names in [["mru", "s3-fifo"], ["lfu", "fifo"]] {
        let often = compare(names, 7, Some(1));
        assert_eq!(often, compare(names, 7, None), "{names:?}");
        assert_eq!(often, compare(names, 7, Some(usize::MAX)), "{names:?}");
    }
}
