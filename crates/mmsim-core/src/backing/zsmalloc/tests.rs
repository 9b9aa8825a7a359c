//! A pool against the specification's examples, and against a plain model of its lists.

use super::*;
use crate::base::rng::Rng;

/// A pool with its own supply of frames.
#[derive(Default)]
struct Fed {
    pool: Zsmalloc,
    next: u32,
    freed: Vec<Pfn>,
}

impl Fed {
    fn alloc(&mut self, length: u32, owner: u32) -> Place {
        let first = self.next;
        self.next += self.pool.wants(length) as u32;
        let frames: Vec<Pfn> = (first..self.next).map(Pfn).collect();
        self.pool.alloc(length, owner, &frames)
    }
}

/// The specification's example: frames that 1000 pages of each length take.
#[test]
fn frames_of_a_thousand_pages() {
    let want = [
        (1000, 250),
        (1024, 264),
        (1365, 352),
        (2040, 500),
        (2048, 536),
        (3000, 750),
        (3065, 784),
        (3624, 896),
        (3625, 1000),
        (4096, 1000),
    ];
    for (length, frames) in want {
        let mut fed = Fed::default();
        let places: Vec<Place> = (0..1000).map(|owner| fed.alloc(length, owner)).collect();
        assert_eq!(fed.pool.nr_frames(), frames, "{length}");
        fed.pool.check();
        places.iter().for_each(|&p| fed.pool.free(length, p, &mut fed.freed));
        assert_eq!((fed.pool.nr_frames(), fed.freed.len() as u64), (0, frames), "{length}");
    }
}

/// By hand, with zspages of eight objects in three frames (1500 bytes): of two full ones each keeps
/// three objects, so one can be emptied, and its frames come back. The third object of the emptiest
/// is the last that moves.
#[test]
fn compaction_empties_a_zspage() {
    let mut fed = Fed::default();
    let mut places: Vec<Place> = (0..16).map(|owner| fed.alloc(1500, owner)).collect();
    for gone in [0, 1, 3, 5, 7, 8, 9, 10, 11, 12] {
        fed.pool.free(1500, places[gone], &mut fed.freed);
    }
    assert_eq!((fed.pool.nr_frames(), fed.pool.compactable()), (6, 3));
    let moves = fed.pool.compact(|owner, to| places[owner as usize] = to, &mut fed.freed);
    assert_eq!((moves, fed.pool.nr_frames(), fed.pool.compactable()), (3, 3, 0));
    fed.pool.check();
    for owner in [2, 4, 6, 13, 14, 15] {
        fed.pool.free(1500, places[owner], &mut fed.freed);
    }
    assert_eq!((fed.pool.nr_frames(), fed.freed.len()), (0, 6));
}

/// A class of the plain model: zspages as sets of owners, and the order of its lists as one number
/// that grows whenever a zspage changes its group.
#[derive(Default)]
struct Plain {
    zspages: Vec<(u64, Vec<u32>)>,
    moves: u64,
}

impl Plain {
    fn group(objects: usize, held: usize) -> usize {
        if held == objects {
            11
        } else if held == 0 {
            0
        } else {
            100 * held / objects / 10 + 1
        }
    }

    fn change(&mut self, at: usize, objects: usize, change: impl FnOnce(&mut Vec<u32>)) {
        let before = Plain::group(objects, self.zspages[at].1.len());
        change(&mut self.zspages[at].1);
        if Plain::group(objects, self.zspages[at].1.len()) != before {
            self.moves += 1;
            self.zspages[at].0 = self.moves;
        }
    }

    fn alloc(&mut self, objects: usize, owner: u32) {
        let room = |z: &&(usize, &(u64, Vec<u32>))| z.1.1.len() < objects;
        let rank = |z: &(usize, &(u64, Vec<u32>))| (Plain::group(objects, z.1.1.len()), z.1.0);
        let best = self.zspages.iter().enumerate().filter(|z| room(&z)).max_by_key(rank);
        let at = best.map_or(self.zspages.len(), |z| z.0);
        if at == self.zspages.len() {
            self.zspages.push((0, Vec::new()));
        }
        self.change(at, objects, |held| held.push(owner));
    }

    fn free(&mut self, objects: usize, owner: u32) {
        let at = self.zspages.iter().position(|z| z.1.contains(&owner)).expect("it is held");
        self.change(at, objects, |held| held.retain(|&o| o != owner));
        self.zspages.retain(|z| !z.1.is_empty());
    }
}

/// Random work of many lengths: zspages hold the same objects as in the plain model, class by class.
#[test]
fn random_work_as_in_a_plain_model() {
    let mut rng = Rng::for_purpose(3, "zsmalloc");
    let mut fed = Fed::default();
    let mut plain: Vec<Plain> = fed.pool.of_class.iter().map(|_| Plain::default()).collect();
    let mut held: Vec<(u32, u32)> = Vec::new();
    let mut places: Vec<Place> = Vec::new();
    let lengths = [24, 700, 1000, 1365, 1500, 2048, 3000, 3600, 4096];
    for step in 0..6000u32 {
        let grows = if step / 1000 % 2 == 0 { 600 } else { 400 };
        if held.is_empty() || rng.below(1000) < grows {
            let length = lengths[rng.below(lengths.len() as u64) as usize];
            let owner = places.len() as u32;
            places.push(fed.alloc(length, owner));
            let class = fed.pool.classes.of(length);
            plain[class].alloc(fed.pool.of_class[class].of.objects.into(), owner);
            held.push((length, owner));
        } else {
            let (length, owner) = held.swap_remove(rng.below(held.len() as u64) as usize);
            fed.pool.free(length, places[owner as usize], &mut fed.freed);
            let class = fed.pool.classes.of(length);
            plain[class].free(fed.pool.of_class[class].of.objects.into(), owner);
        }
        if step % 500 == 499 {
            fed.pool.check();
        }
        let frames = |(p, c): (&Plain, &Class)| p.zspages.len() as u64 * u64::from(c.of.frames);
        let want: u64 = plain.iter().zip(&fed.pool.of_class).map(frames).sum();
        assert_eq!(fed.pool.nr_frames(), want, "step {step}");
    }
    assert_eq!(fed.next as u64 - fed.freed.len() as u64, fed.pool.nr_frames());
    // Compaction leaves fewer free objects in each class than a zspage has.
    let before = fed.pool.nr_frames();
    let spare = fed.pool.compactable();
    assert!(spare > 0, "random frees leave gaps");
    fed.pool.compact(|owner, to| places[owner as usize] = to, &mut fed.freed);
    fed.pool.check();
    assert_eq!((fed.pool.nr_frames(), fed.pool.compactable()), (before - spare, 0));
    for (length, owner) in held {
        fed.pool.free(length, places[owner as usize], &mut fed.freed);
    }
    assert_eq!((fed.pool.nr_frames(), fed.pool.nr_objects()), (0, 0));
    assert_eq!(fed.next as usize, fed.freed.len());
}
