//! Calls about pages of files and locked memory, drawn.

use super::{one_in, pick};
use mmsim::base::rng::Rng;
use mmsim::workload::{FileAdvice, FileSlot, Op, RegionId, Uncached};

/// Advice on pages of a file, or a request around the cache.
pub(super) fn of_file(
    file: FileSlot,
    (first, count): (u32, u32),
    write: bool,
    rng: &mut Rng,
) -> Op {
    if one_in(rng, 2) {
        let how = pick(rng, &[Uncached::Direct, Uncached::DontCache]);
        return Op::Uncached { file, first, count, write, how };
    }
    let all = [
        FileAdvice::Normal,
        FileAdvice::Sequential,
        FileAdvice::Random,
        FileAdvice::WillNeed,
        FileAdvice::NoReuse,
        FileAdvice::DontNeed,
        FileAdvice::DontNeed,
    ];
    Op::Fadvise { file, first, count, advice: pick(rng, &all) }
}

/// A lock of pages, or its end.
pub(super) fn lock(region: RegionId, (first, count): (u32, u32), rng: &mut Rng) -> Op {
    match one_in(rng, 2) {
        true => Op::Mlock { region, first, count, onfault: one_in(rng, 2) },
        false => Op::Munlock { region, first, count },
    }
}
