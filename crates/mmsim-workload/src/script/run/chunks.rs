//! Commands that go chunk by chunk: `lazy` and `ebizzy`.

use super::{BATCH, RUN_PAGES, ScriptWorkload, map, touch};
use crate::script::{Ebizzy, Lazy, PageRange, RegionKind};
use mmsim_core::workload::{Op, Run};

impl ScriptWorkload {
    /// Steps of turns: each read is one, and what comes after the reads of a turn is one.
    pub(super) fn lazy(&mut self, lazy: &Lazy, ops: &mut Vec<Op>) -> bool {
        let steps = u64::from(lazy.reads) + 1;
        let total = lazy.turns * steps;
        while self.done < total && ops.len() < BATCH {
            let (turn, step) = (lazy.first + self.done / steps, self.done % steps);
            self.done += 1;
            if step < u64::from(lazy.reads) {
                let page = self.page(lazy.draw, ops);
                ops.push(touch(lazy.region, false, page));
                continue;
            }
            let start = |turn: u64| (turn % u64::from(lazy.chunks)) as u32 * lazy.chunk;
            let region = lazy.arena;
            self.fill_pages(PageRange { region, first: start(turn), count: lazy.chunk }, ops);
            if let Some(advice) = lazy.advice
                && turn >= lazy.lag
            {
                let (first, count) = (start(turn - lazy.lag), lazy.chunk);
                ops.push(Op::Madvise { region, first, count, advice });
            }
        }
        self.done == total
    }

    /// Whole turns: a buffer is mapped, a drawn chunk read, the buffer written and unmapped.
    pub(super) fn ebizzy(&mut self, e: &Ebizzy, ops: &mut Vec<Op>) -> bool {
        while self.done < e.turns && ops.len() < BATCH {
            self.done += 1;
            ops.push(map(e.buffer, e.chunk, RegionKind::Anon));
            let first = self.page(e.draw, ops) * e.chunk;
            for offset in (0..e.chunk).step_by(RUN_PAGES as usize) {
                let (first, count) = (first + offset, (e.chunk - offset).min(RUN_PAGES));
                ops.push(Op::Access(Run { region: e.region, write: false, first, count }));
            }
            self.fill_pages(PageRange { region: e.buffer, first: 0, count: e.chunk }, ops);
            ops.push(Op::Munmap { region: e.buffer });
        }
        self.done == e.turns
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Naive, run, touches};
    use super::*;
    use mmsim_core::workload::{Advice, RegionId};

    #[test]
    fn an_arena_is_given_back_some_turns_later() {
        let ops = run(&[
            "anon 0 130",
            "file 1 /mnt/z 64 normal",
            "table 0 64 0.9",
            "seed 5",
            "lazy 0 130 40 2 1 0 3 4 41 7 free 5",
        ]);
        let mut g = Naive::new(5, 64, 0.9);
        let region = RegionId(0);
        let mut expected = Vec::new();
        // 130 pages are three chunks of 40; turns 5 to 8 write chunks 2, 0, 1, 2.
        for (written, freed) in [(80, 0), (0, 40), (40, 80), (80, 0)] {
            expected.extend((0..3).map(|_| touch(RegionId(1), false, g.page(41, 7))));
            expected.push(Op::Access(Run { region, write: true, first: written, count: 40 }));
            let (first, advice) = (freed, Advice::Free);
            expected.push(Op::Madvise { region, first, count: 40, advice });
        }
        assert_eq!(ops[2..], expected);
    }

    #[test]
    fn the_first_turns_of_a_lag_give_nothing_back() {
        let file = ["anon 0 8", "file 1 /mnt/z 4 normal", "table 0 4 0.9"];
        let advised = |words: &str| {
            let last = format!("lazy 0 8 2 {words}");
            let ops = run(&[&file[..], &[&last]].concat());
            let advice = ops.iter().filter_map(|op| match *op {
                Op::Madvise { first, count: 2, advice: Advice::DontNeed, .. } => Some(first),
                Op::Madvise { .. } => panic!("{op:?}"),
                _ => None,
            });
            (advice.collect::<Vec<_>>(), touches(&ops).iter().filter(|t| t.2).count())
        };
        assert_eq!(advised("3 1 0 1 5 1 0 dontneed 0"), (vec![0, 2], 10));
        assert_eq!(advised("0 1 0 0 5 1 0 dontneed 0"), (vec![0, 2, 4, 6, 0], 10));
        assert_eq!(advised("0 1 0 1 5 1 0 none 0"), (vec![], 10));
    }

    #[test]
    fn drawn_chunks_are_copied_into_buffers_of_their_own() {
        let ops =
            run(&["anon 0 5000", "table 1 300 0.7", "seed 4", "ebizzy 0 1 16 500 187 5", "snap a"]);
        let mut g = Naive::new(4, 300, 0.7);
        let (region, buffer) = (RegionId(0), RegionId(5));
        let mut expected = Vec::new();
        for _ in 0..500 {
            let first = g.page(187, 0) * 16;
            expected.push(map(buffer, 16, RegionKind::Anon));
            expected.push(Op::Access(Run { region, write: false, first, count: 16 }));
            expected.push(Op::Access(Run { region: buffer, write: true, first: 0, count: 16 }));
            expected.push(Op::Munmap { region: buffer });
        }
        expected.push(Op::PhaseEnd(0));
        assert_eq!(ops[1..], expected);
    }
}
