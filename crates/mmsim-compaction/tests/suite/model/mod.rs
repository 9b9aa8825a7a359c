//! Compaction of 4.1 and of the series of 2015 in the plainest way: a zone is a vector of cells,
//! everything is looked at frame by frame, free blocks are found by looking for free neighbours.
//!
//! It knows no knob table: each preset is a line of flags. Pageblocks and the largest block have
//! eight frames, a batch four; free buddies are always merged.

mod flags;

pub(crate) use flags::{Any, Cached, Deplete, Flags, When, flags};

/// Contents of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cell {
    Page(u32),
    Pinned,
    Free,
    /// Taken out of the allocator as a target.
    Target,
    /// Off its list.
    Source(u32),
}

/// End of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    Skipped,
    Complete,
    GaveUp,
    Success,
}

/// One run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask {
    pub(crate) order: Option<u32>,
    pub(crate) asynchronous: bool,
    pub(crate) movable: bool,
    pub(crate) kswapd: bool,
}

const BLOCK: usize = 8;
const BATCH: usize = 4;

#[derive(Clone, Debug)]
pub(crate) struct Naive {
    f: Flags,
    low_mark: usize,
    pub(crate) cells: Vec<Cell>,
    /// `M`, `U` or `R`.
    pub(crate) types: Vec<char>,
    pub(crate) skip: Vec<bool>,
    pub(crate) skip_free: Vec<bool>,
    /// Pageblocks that the sweep filled in this cycle.
    filled: Vec<usize>,
    pub(crate) cached_migrate: [usize; 2],
    pub(crate) cached_free: usize,
    pub(crate) flush: bool,
    pub(crate) considered: u64,
    pub(crate) shift: u32,
    pub(crate) order_failed: u32,
    pub(crate) failed: u32,
    pub(crate) success: u32,
    pub(crate) depleted: bool,
    pub(crate) depth: u32,
    pub(crate) scan_all_free: bool,
    /// Scanned for sources, for targets, isolated, moved.
    pub(crate) counts: [u64; 4],
    // Of a run.
    migrate: usize,
    free: usize,
    sources: Vec<usize>,
    targets: Vec<usize>,
    left: i64,
    limited: bool,
    ignore: bool,
}

impl Naive {
    pub(crate) fn new(f: Flags, low_mark: usize, types: &str, cells: Vec<Cell>) -> Naive {
        let blocks = cells.len() / BLOCK;
        let mut n = Naive {
            f,
            low_mark,
            types: types.chars().collect(),
            skip: vec![false; blocks],
            skip_free: vec![false; blocks],
            filled: Vec::new(),
            cached_migrate: [0; 2],
            cached_free: 0,
            flush: false,
            considered: 0,
            shift: 0,
            order_failed: if f.failures == 3 { 11 } else { 0 },
            failed: 0,
            success: 0,
            depleted: false,
            depth: 0,
            scan_all_free: false,
            counts: [0; 4],
            migrate: 0,
            free: 0,
            sources: vec![],
            targets: vec![],
            left: 0,
            limited: false,
            ignore: false,
            cells,
        };
        n.cached_free = n.far_end();
        n
    }

    fn far_end(&self) -> usize {
        if self.f.sweep { 0 } else { self.cells.len() }
    }

    // ---- free blocks ----

    /// The order of the free block that begins at a frame.
    fn head(&self, p: usize) -> Option<u32> {
        let all_free = |k: u32| {
            let size = 1usize << k;
            let start = p / size * size;
            (start..start + size).all(|q| self.cells.get(q) == Some(&Cell::Free))
        };
        let k = (0..=3).rev().find(|&k| all_free(k))?;
        p.is_multiple_of(1 << k).then_some(k)
    }

    fn blocks(&self, order: u32) -> usize {
        (0..self.cells.len()).filter(|&p| self.head(p) == Some(order)).count()
    }

    fn nr_free(&self) -> usize {
        self.cells.iter().filter(|&&c| c == Cell::Free).count()
    }

    fn watermark_ok(&self, order: u32, mark: usize) -> bool {
        let mut left = self.nr_free() as i64 - ((1 << order) - 1);
        let mut mark = mark as i64;
        if left <= mark {
            return false;
        }
        for k in 0..order {
            left -= (self.blocks(k) << k) as i64;
            mark >>= 1;
            if left <= mark {
                return false;
            }
        }
        true
    }

    fn index(&self, order: u32) -> i64 {
        let blocks: usize = (0..4).map(|k| self.blocks(k)).sum();
        let large: usize = (order..4).map(|k| self.blocks(k)).sum();
        if blocks == 0 {
            0
        } else if large > 0 {
            -1000
        } else {
            let free = self.nr_free() as i64;
            1000 - (1000 + free * 1000 / (1 << order)) / blocks as i64
        }
    }

    fn has_block(&self, order: u32, movable: bool) -> bool {
        (0..self.cells.len()).any(|p| {
            let own = self.types[p / BLOCK] == if movable { 'M' } else { 'U' };
            // A movable request may steal from order 3 / 2 on, another one always.
            self.head(p).is_some_and(|k| k >= order && (own || !movable || k >= 1))
        })
    }

    // ---- failures ----

    pub(crate) fn deferred(&mut self, order: u32) -> bool {
        if self.f.failures != 0 || order < self.order_failed {
            return false;
        }
        self.considered += 1;
        let limit = 1 << self.shift;
        if self.considered >= limit {
            self.considered = limit;
            return false;
        }
        true
    }

    pub(crate) fn note_failure(&mut self, order: u32) {
        if self.f.failures == 1 {
            if order < self.order_failed {
                self.failed = 0;
                self.order_failed = order;
            } else {
                self.failed += 1;
            }
            return;
        }
        self.considered = 0;
        self.shift = (self.shift + 1).min(6);
        self.order_failed = self.order_failed.min(order);
    }

    pub(crate) fn note_success(&mut self, order: u32, got: bool) {
        if got {
            self.flush = false;
            self.considered = 0;
            self.shift = 0;
            self.failed = 0;
        }
        if order >= self.order_failed {
            self.order_failed = order + 1;
        }
    }

    fn threshold(&self) -> u32 {
        let scaled = self.cells.len() >> self.order_failed >> 2 >> 7;
        if self.f.by_size { scaled.max(4) as u32 } else { 1 }
    }

    fn reset(&mut self) {
        self.cached_migrate = [0; 2];
        self.cached_free = self.far_end();
        self.flush = false;
        for (block, skip) in self.skip.iter_mut().enumerate() {
            *skip = self.f.keeps && self.filled.contains(&block);
        }
        self.filled.clear();
        self.skip_free.fill(false);
        self.failed = 0;
        if self.f.deplete == Deplete::No {
            return;
        }
        let depleted_now = self.success < self.threshold();
        self.scan_all_free = false;
        if depleted_now {
            match self.f.deplete {
                Deplete::No => {}
                Deplete::V1 => {
                    if self.depleted {
                        self.depth += 1;
                    } else {
                        self.depleted = true;
                        self.depth = 0;
                    }
                }
                Deplete::V2Intended => {
                    if self.depleted {
                        self.depth += 1;
                        if self.success == 0 {
                            self.scan_all_free = true;
                        }
                    } else {
                        self.depleted = true;
                        self.depth = 0;
                    }
                }
                Deplete::V2Literal => {
                    if self.depleted {
                        self.depth += 1;
                    }
                    if self.success == 0 {
                        self.scan_all_free = true;
                    } else {
                        self.depleted = true;
                        self.depth = 0;
                    }
                }
            }
        }
        self.success = 0;
    }

    pub(crate) fn kswapd_sleeps(&mut self) {
        if self.flush {
            self.reset();
        }
    }

    // ---- a run ----

    pub(crate) fn run(&mut self, ask: Ask) -> End {
        if let Some(order) = ask.order {
            if self.watermark_ok(order, self.low_mark) {
                return End::Success;
            }
            if !self.watermark_ok(0, self.low_mark + (2 << order)) {
                return End::Skipped;
            }
            if (0..=500).contains(&self.index(order)) {
                return End::Skipped;
            }
            let restarting = order >= self.order_failed
                && match self.f.failures {
                    0 => self.shift == 6 && self.considered >= 64,
                    1 => self.failed >= 4,
                    _ => self.shift == 6,
                };
            if restarting && !ask.kswapd {
                self.reset();
                if self.f.failures == 3 {
                    self.shift = 5;
                }
            }
        } else {
            self.reset();
        }
        let of_order = ask.order.is_some_and(|order| order >= self.order_failed);
        let depth = match (ask.order, self.f.failures) {
            (Some(_), 3) if of_order => self.shift,
            (Some(_), 0 | 1) if self.depleted => self.depth,
            _ => 0,
        };
        let pages = self.cells.len();
        let limit = match self.f.limit {
            _ if depth == 0 => None,
            1 => Some((((pages >> 6) << 1).max(BLOCK) >> depth).max(BATCH)),
            2 => Some(((pages >> 2 >> 6).max(BLOCK) >> depth).max(BATCH)),
            3 => Some((pages >> 8 >> depth).max(BLOCK)),
            _ => None,
        };
        if ask.asynchronous {
            if self.f.sweep && self.cached_migrate[0] >= pages {
                return End::Skipped;
            }
            if limit.is_some() && self.f.limit != 2 {
                return End::Skipped;
            }
        }
        self.limited = limit.is_some();
        self.left = limit.map_or(i64::MAX, |l| l as i64);
        self.ignore = ask.order.is_none();
        self.migrate = self.cached_migrate[if ask.asynchronous { 0 } else { 1 }];
        self.free = self.cached_free;
        let end = self.rounds(ask);
        self.give_back();
        if self.f.deplete != Deplete::No {
            if self.success >= self.threshold() {
                self.depleted = false;
            }
            if self.success > 0 {
                self.scan_all_free = false;
            }
        }
        end
    }

    fn rounds(&mut self, ask: Ask) -> End {
        loop {
            if let Some(end) = self.finished(ask) {
                return end;
            }
            self.take_sources(ask);
            if self.sources.is_empty() {
                continue;
            }
            let wanted = self.sources.len();
            let mut out_of_targets = false;
            while let Some(from) = self.sources.pop() {
                if self.targets.is_empty() {
                    if self.f.sweep {
                        self.sweep_targets(wanted, ask);
                    } else {
                        self.lower_targets(wanted, ask);
                    }
                }
                let Cell::Source(page) = self.cells[from] else { panic!("no source at {from}") };
                match self.targets.pop() {
                    Some(to) => {
                        self.cells[to] = Cell::Page(page);
                        self.cells[from] = Cell::Free;
                        self.counts[3] += 1;
                    }
                    None => {
                        out_of_targets = true;
                        self.cells[from] = Cell::Page(page);
                        while let Some(p) = self.sources.pop() {
                            let Cell::Source(page) = self.cells[p] else { panic!("at {p}") };
                            self.cells[p] = Cell::Page(page);
                        }
                    }
                }
            }
            if out_of_targets {
                if self.f.sweep {
                    return if self.f.completes { End::Complete } else { End::GaveUp };
                }
                if self.free > self.migrate {
                    return End::GaveUp;
                }
            }
        }
    }

    fn finished(&mut self, ask: Ask) -> Option<End> {
        if self.f.sweep {
            if self.migrate >= self.cells.len() {
                self.cached_migrate[0] = self.cells.len();
                if ask.asynchronous {
                    return Some(End::GaveUp);
                }
                self.cached_migrate = [0; 2];
                self.flush |= !ask.kswapd;
                return Some(End::Complete);
            }
        } else if self.free <= self.migrate {
            self.cached_migrate = [0; 2];
            self.cached_free = self.cells.len();
            self.flush |= !ask.kswapd;
            return Some(End::Complete);
        }
        if self.left < 0 {
            return Some(End::GaveUp);
        }
        let order = ask.order?;
        if !self.watermark_ok(order, self.low_mark) || !self.has_block(order, ask.movable) {
            return None;
        }
        self.success += 1;
        Some(End::Success)
    }

    fn remembers_always(&self) -> bool {
        self.f.always == When::Always || self.f.always == When::Limited && self.limited
    }

    fn take_sources(&mut self, ask: Ask) {
        let bound = if self.f.sweep { self.cells.len() } else { self.free };
        let mut at = self.migrate;
        loop {
            let end = (at + 1).div_ceil(BLOCK) * BLOCK;
            if end > bound {
                self.migrate = bound;
                return;
            }
            let block = at / BLOCK;
            let skipped = self.skip[block] && !self.ignore;
            if skipped || ask.asynchronous && self.types[block] != 'M' {
                at = end;
                continue;
            }
            let first = at;
            while at < end && self.sources.len() < BATCH {
                self.counts[0] += 1;
                self.left = self.left.saturating_sub(1);
                if let Some(k) = self.head(at) {
                    at += 1 << k;
                } else {
                    if let Cell::Page(page) = self.cells[at] {
                        self.cells[at] = Cell::Source(page);
                        self.sources.push(at);
                        self.counts[2] += 1;
                    }
                    at += 1;
                }
            }
            self.migrate = at;
            let nothing = self.sources.is_empty();
            if !nothing && self.f.two_bits {
                self.skip_free[block] = false;
            }
            if at != end {
                return;
            }
            if self.remembers_always() {
                if !ask.asynchronous {
                    self.cached_migrate[1] = self.cached_migrate[1].max(end);
                }
                if self.f.always == When::Limited {
                    self.cached_migrate[0] = self.cached_migrate[0].max(end);
                }
            }
            if nothing && !self.ignore && (first.is_multiple_of(BLOCK) || !self.f.full_block) {
                self.skip[block] = true;
                let to = if self.f.cached == Cached::First { first } else { end };
                self.cached_migrate[0] = self.cached_migrate[0].max(to);
                if !ask.asynchronous {
                    self.cached_migrate[1] = self.cached_migrate[1].max(to);
                }
            }
            return;
        }
    }

    fn may_receive(&self, block: usize, ask: Ask) -> bool {
        let any = match self.f.any {
            Any::No => false,
            Any::Yes => true,
            Any::Depleted => self.scan_all_free && !ask.asynchronous,
        };
        self.head(block * BLOCK) != Some(3) && (any || self.types[block] == 'M')
    }

    fn lower_targets(&mut self, wanted: usize, ask: Ask) {
        let low = (self.migrate / BLOCK + 1) * BLOCK;
        let mut start = self.free / BLOCK * BLOCK;
        let mut from = self.free;
        while start >= low && self.targets.len() < wanted {
            let block = start / BLOCK;
            let inside = start < self.cells.len();
            if inside && self.may_receive(block, ask) && (self.ignore || !self.skip[block]) {
                let stop = self.take_targets(from, start + BLOCK, wanted, ask);
                self.free = if stop < start + BLOCK { stop } else { start - BLOCK };
            }
            start -= BLOCK;
            from = start;
        }
        if start < low {
            self.free = self.migrate;
        }
    }

    fn sweep_targets(&mut self, wanted: usize, ask: Ask) {
        let mut wrapped = false;
        loop {
            if self.targets.len() >= wanted {
                return;
            }
            if self.free >= self.cells.len() {
                self.free = 0;
                self.cached_free = 0;
                if !self.targets.is_empty() || wrapped {
                    return;
                }
                wrapped = true;
            }
            let block = self.free / BLOCK;
            let end = (block + 1) * BLOCK;
            let protected = block == self.migrate / BLOCK;
            let skipped = self.f.two_bits && self.skip_free[block] && !self.ignore;
            if protected || skipped || !self.may_receive(block, ask) {
                self.free = end;
            } else {
                self.free = self.take_targets(self.free, end, wanted, ask);
            }
        }
    }

    fn take_targets(&mut self, first: usize, end: usize, wanted: usize, ask: Ask) -> usize {
        let block = first / BLOCK;
        let before = self.targets.len();
        let mut at = first;
        while at < end {
            self.counts[1] += 1;
            let Some(k) = self.head(at) else {
                at += 1;
                continue;
            };
            let spared = self.f.spare && ask.order.is_some_and(|o| k >= o);
            let size = 1 << k;
            if spared || self.nr_free() <= self.low_mark + size {
                at += 1;
                continue;
            }
            for p in at..at + size {
                self.cells[p] = Cell::Target;
                self.targets.push(p);
                self.counts[2] += 1;
            }
            at += size;
            if k >= 2 {
                self.types[block] = 'M';
            }
            if self.targets.len() >= wanted {
                break;
            }
        }
        let taken = self.targets.len() - before;
        if self.f.sweep && taken > 0 && !self.ignore {
            self.skip[block] = true;
            self.filled.push(block);
        }
        if at < end {
            return at;
        }
        if self.remembers_always() {
            self.cached_free = self.cached_free.max(end);
        }
        let whole = first.is_multiple_of(BLOCK) || !self.f.full_block;
        if taken == 0 && whole && !self.ignore {
            if self.f.sweep {
                self.cached_free = self.cached_free.max(end);
                if self.f.two_bits {
                    self.skip_free[block] = true;
                }
            } else {
                self.skip[block] = true;
                let to = match self.f.cached {
                    Cached::First => first,
                    Cached::Past => block * BLOCK,
                    Cached::End => end,
                };
                self.cached_free = self.cached_free.min(to);
            }
        }
        end
    }

    fn give_back(&mut self) {
        let (Some(&low), Some(&high)) = (self.targets.iter().min(), self.targets.iter().max())
        else {
            return;
        };
        for p in std::mem::take(&mut self.targets) {
            self.cells[p] = Cell::Free;
        }
        self.cached_free = match self.f.sweep {
            true => self.cached_free.min(low),
            false => self.cached_free.max(high / BLOCK * BLOCK),
        };
    }
}
