//! Pages with contents: the program draws their bytes with each write, which takes time.

use super::{PageRange, RUN_PAGES, ScriptWorkload, compute, touch};
use mmsim_core::base::time::SimDuration;
use mmsim_core::workload::{Op, RegionId, Run};

impl ScriptWorkload {
    /// The same program with these contents of regions.
    pub(in crate::script) fn with_contents(self, contents: Vec<(RegionId, Vec<u16>)>) -> Self {
        ScriptWorkload { contents, ..self }
    }

    /// Time to draw a page and write it in full, if its region has contents.
    pub(super) fn drawing(&self, region: RegionId, page: u32) -> Option<SimDuration> {
        let (_, drawn) = self.contents.iter().find(|c| c.0 == region)?;
        let [page_ns, per_kib] = self.pace.drawn.map(|t| t.0);
        let bytes = u64::from(drawn[page as usize % drawn.len()]);
        Some(SimDuration(page_ns + per_kib * bytes / 1024)).filter(|t| t.0 > 0)
    }

    /// An access to a page. The program draws what it writes first.
    pub(super) fn touch(&self, region: RegionId, write: bool, page: u32, ops: &mut Vec<Op>) {
        if write && let Some(time) = self.drawing(region, page) {
            ops.push(Op::Compute(time));
        }
        ops.push(touch(region, write, page));
    }

    /// Writes pages in full.
    pub(super) fn fill_pages(&self, range: PageRange, ops: &mut Vec<Op>) {
        let each = if self.pace.fill == SimDuration::ZERO { RUN_PAGES } else { 1 };
        let end = range.first + range.count;
        if self.drawing(range.region, range.first).is_some() {
            (range.first..end).for_each(|page| self.touch(range.region, true, page, ops));
            return;
        }
        for first in (range.first..end).step_by(each as usize) {
            let count = (end - first).min(each);
            ops.push(Op::Access(Run { region: range.region, write: true, first, count }));
            compute(self.pace.fill, ops);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::{Pace, Script};
    use mmsim_core::base::rng::Rng;
    use mmsim_core::base::time::SimTime;
    use mmsim_core::workload::{Pressure, Workload, WorkloadCx};

    /// By hand: 1024 drawn bytes take 50 ns and the page 100, before it is written. Reads take none.
    #[test]
    fn pages_with_contents_are_drawn_before_they_are_written() {
        let lines =
            ["anon 0 3", "contents 0 2048 0", "fill 0 0 3", "scan 0 0 2 r 1", "scan 0 0 2 w 1"];
        let [page, kib] = [100, 50].map(SimDuration);
        let pace = Pace { drawn: [page, kib], ..Pace::default() };
        let mut w = Script::parse(&lines).unwrap().workload().unwrap().paced(pace);
        let cx = WorkloadCx {
            now: SimTime::ZERO,
            free_pages: 0,
            kernel_allocs: &[],
            free_blocks: None,
            pressure: &Pressure::NONE,
        };
        let mut ops = Vec::new();
        w.fill(&cx, &mut Rng::for_purpose(1, "unused"), &mut ops);
        let (compute, page) = (|ns| Op::Compute(SimDuration(ns)), |p| touch(RegionId(0), true, p));
        let written = [compute(200), page(0), compute(100), page(1), compute(200), page(2)];
        assert_eq!(ops[1..7], written);
        assert_eq!(ops[8..], written[..4]);
    }
}
