//! A naive context: the rules one after the other, over a list of regions counted in pages, in one
//! go from sample to sample. Nothing is kept from the crate but the names of the knobs and the
//! random numbers that decide where regions are cut.

use mmsim_core::base::rng::Rng;
use mmsim_damon::DamonConfig;
use mmsim_damon::config::{
    EszFloor, FirstWindow, IntervalClock, MergeCap, MinRegions, PatternCounter, QuotaSet, Resume,
    ScoreCounter, SplitRule, WmarkWait,
};

/// Bytes of a page.
const PAGE: u64 = 4096;

/// Counts are signed, so that a moving sum that falls below zero shows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reg {
    pub(crate) first: u64,
    pub(crate) pages: u64,
    pub(crate) nr: i64,
    pub(crate) moving: i64,
    pub(crate) last: i64,
    pub(crate) age: i64,
}

impl Reg {
    fn fresh(first: u64, end: u64) -> Reg {
        Reg { first, pages: end - first, nr: 0, moving: 0, last: 0, age: 0 }
    }
    pub(crate) fn end(&self) -> u64 {
        self.first + self.pages
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) pages: (u64, u64),
    pub(crate) nr: (i64, i64),
    pub(crate) age: (i64, i64),
    pub(crate) stat_only: bool,
    /// Samples between two passes.
    pub(crate) every: u64,
    pub(crate) ms: u64,
    pub(crate) sz: u64,
    pub(crate) window_ms: u64,
    pub(crate) weights: (u64, u64),
    /// high, mid, low, interval in ms.
    pub(crate) marks: Option<(u64, u64, u64, u64)>,
    /// First and last page that it leaves out.
    pub(crate) spare: Option<(u64, u64)>,
    /// Target value of a goal, and the user's current value.
    pub(crate) goal: Option<(u64, u64)>,
    // What is kept.
    pub(crate) on: bool,
    pub(crate) due: u64,
    pub(crate) esz: u64,
    pub(crate) charged: u64,
    pub(crate) total: u64,
    pub(crate) total_ns: u64,
    pub(crate) since: Option<u64>,
    pub(crate) from: Option<(usize, u64)>,
    pub(crate) min_score: u64,
    pub(crate) fed: u64,
    pub(crate) tried: (u64, u64),
    pub(crate) exceeded: u64,
}

/// A list of regions per target, and all that a context knows. Times are in ns.
pub(crate) struct Naive {
    pub(crate) config: DamonConfig,
    pub(crate) sample_ms: u64,
    pub(crate) aggr_ms: u64,
    pub(crate) update_ms: u64,
    pub(crate) min_regions: u64,
    pub(crate) max_regions: u64,
    pub(crate) targets: Vec<Vec<Reg>>,
    pub(crate) rules: Vec<Rule>,
    pub(crate) rng: Rng,
    pub(crate) now: u64,
    pub(crate) samples: u64,
    pub(crate) next_aggr: u64,
    pub(crate) next_update: u64,
    pub(crate) last_aggr: u64,
    pub(crate) last_update: u64,
    pub(crate) regions_before: u64,
    /// Number of times that some of the regions were cut.
    pub(crate) turns: u64,
    pub(crate) limit: u64,
    /// State of the machine.
    pub(crate) free: u64,
    pub(crate) work_ns: u64,
    pub(crate) apply_ns: u64,
    pub(crate) cold_score: bool,
    /// Ranges of the next update.
    pub(crate) update_to: Option<Vec<(u64, u64)>>,
    /// Reports, and the length of the list then.
    pub(crate) reports: Vec<Vec<Reg>>,
}

impl Naive {
    fn per_aggr(&self) -> u64 {
        (self.aggr_ms / self.sample_ms).max(1)
    }

    pub(crate) fn start(&mut self) {
        self.next_aggr = self.per_aggr();
        self.next_update = self.update_ms / self.sample_ms;
        self.last_aggr = self.tick();
        self.last_update = self.tick();
        for r in &mut self.rules {
            r.due = r.every;
        }
        self.limit = self.size_limit();
        self.cut_large();
    }

    /// Cuts regions that are larger than their share, rounded up to pages, if that is what is done.
    fn cut_large(&mut self) {
        if self.config.min_regions == MinRegions::MergeLimit {
            return;
        }
        let most = self.size_limit().div_ceil(PAGE);
        self.limit = most * PAGE;
        for t in 0..self.targets.len() {
            let mut at = 0;
            while at < self.targets[t].len() {
                if self.targets[t][at].pages > most {
                    self.cut_at(t, at, most);
                }
                at += 1;
            }
        }
    }

    /// The clock, as far as its ticks show it.
    fn tick(&self) -> u64 {
        let tick = u64::from(self.config.coarse_tick_us) * 1000;
        if tick == 0 { self.now } else { self.now - self.now % tick }
    }

    fn size_limit(&self) -> u64 {
        let pages: u64 = self.targets.iter().flatten().map(|r| r.pages).sum();
        // In bytes, as a limit between two pages counts.
        (pages * PAGE / self.min_regions).max(PAGE)
    }

    /// From one sleep to the next: `used` tells which region's sample was used. Returns the sleep.
    pub(crate) fn wake(&mut self, sampled: Option<&[bool]>) -> u64 {
        if let Some(used) = sampled {
            self.now += self.work_ns;
            self.after_sample(used);
        }
        if let Some(ms) = self.kept_asleep() {
            return self.sleep(ms);
        }
        self.sleep(self.sample_ms)
    }

    /// True if the last sleep was for the watermarks; then nothing is sampled after it.
    pub(crate) fn asleep_for_marks(&mut self) -> bool {
        // Looking again does not change the answer.
        self.kept_asleep().is_some()
    }

    fn sleep(&self, ms: u64) -> u64 {
        let tick = (u64::from(self.config.coarse_tick_us) * 1000).max(1);
        let ns = ms * 1_000_000;
        if ms * 1000 > u64::from(self.config.sleep_hr_limit_us) {
            ns.div_ceil(tick) * tick
        } else {
            ns
        }
    }

    fn kept_asleep(&mut self) -> Option<u64> {
        if !self.config.watermarks {
            return None;
        }
        let mut waits = Vec::new();
        for r in &mut self.rules {
            let Some((high, mid, low, interval)) = r.marks else {
                waits.push(0);
                continue;
            };
            if self.free > high || self.free < low {
                r.on = false;
            } else if self.free < mid {
                r.on = true;
            }
            waits.push(if r.on { 0 } else { interval });
        }
        let wait = match self.config.wmark_wait {
            WmarkWait::Min => waits.into_iter().min().unwrap_or(0),
            // The last zero hides all before it; of what follows the least counts.
            WmarkWait::OrderBug => {
                let after = waits.iter().rposition(|w| *w == 0).map_or(0, |i| i + 1);
                waits[after..].iter().copied().min().unwrap_or(0)
            }
        };
        (wait > 0).then_some(wait)
    }

    fn after_sample(&mut self, used: &[bool]) {
        let window = self.per_aggr() as i64;
        self.samples += 1;
        let mut used = used.iter();
        for r in self.targets.iter_mut().flatten() {
            let hit = *used.next().expect("an answer per region");
            r.moving -= r.last * 10_000 / window;
            if hit {
                r.nr += 1;
                r.moving += 10_000;
            }
        }
        assert!(used.next().is_none());
        let most = self.targets.iter().flatten().map(|r| r.nr).max().unwrap_or(0);
        let by_clock = self.config.interval_clock == IntervalClock::Wall;
        let over = if by_clock {
            self.tick() - self.last_aggr >= self.aggr_ms * 1_000_000
        } else {
            self.samples >= self.next_aggr
        };
        if over {
            self.last_aggr = self.tick();
            self.merge(most / 10);
            self.cut_large();
        }
        if over || !by_clock {
            self.pass(by_clock);
        }
        if over {
            self.next_aggr += self.per_aggr();
            for t in &mut self.targets {
                self.reports.push(t.clone());
                for r in t {
                    r.last = r.nr;
                    r.nr = 0;
                }
            }
            self.cut();
        }
        let update = if by_clock {
            self.tick() - self.last_update >= self.update_ms * 1_000_000
        } else {
            self.samples >= self.next_update
        };
        if update {
            self.last_update = self.tick();
            self.next_update += self.update_ms / self.sample_ms;
            if let Some(to) = self.update_to.take() {
                for t in &mut self.targets {
                    *t = fit(t, &to);
                }
            }
            if self.config.min_regions == MinRegions::MergeLimit {
                self.limit = self.size_limit();
            }
        }
    }

    fn merge(&mut self, threshold: i64) {
        let largest = (self.aggr_ms / self.sample_ms) as i64;
        let mut threshold = threshold;
        let mut walk = 0;
        loop {
            for t in &mut self.targets {
                let ages = walk == 0 || self.config.merge_cap == MergeCap::RetryAgeEachPass;
                let mut i = 0;
                let mut prev: Option<usize> = None;
                while i < t.len() {
                    if ages {
                        let mut same = (t[i].nr - t[i].last).abs() <= threshold;
                        if self.config.age_zero_rule && (t[i].nr.min(1) != t[i].last.min(1)) {
                            same = false;
                        }
                        t[i].age = if same { t[i].age + 1 } else { 0 };
                    }
                    let fits = prev.is_some_and(|p| {
                        t[p].end() == t[i].first
                            && (t[p].nr - t[i].nr).abs() <= threshold
                            && (t[p].pages + t[i].pages) * PAGE <= self.limit
                    });
                    if fits {
                        let r = t.remove(i);
                        let l = &mut t[i - 1];
                        let (a, b) = (l.pages as i64, r.pages as i64);
                        l.nr = (l.nr * a + r.nr * b) / (a + b);
                        l.age = (l.age * a + r.age * b) / (a + b);
                        l.moving = l.nr * 10_000;
                        l.pages += r.pages;
                    } else {
                        prev = Some(i);
                        i += 1;
                    }
                }
            }
            walk += 1;
            let n: usize = self.targets.iter().map(Vec::len).sum();
            let give_up = n as u64 <= self.max_regions || threshold >= largest;
            if give_up || self.config.merge_cap == MergeCap::None {
                return;
            }
            threshold = match threshold {
                t if self.config.merge_cap == MergeCap::RetryAgeEachPass => (2 * t).max(1),
                0 => {
                    if largest / 2 > 0 {
                        1
                    } else {
                        largest
                    }
                }
                t if t < largest / 2 => 2 * t,
                _ => largest,
            };
        }
    }

    fn cut(&mut self) {
        let n: usize = self.targets.iter().map(Vec::len).sum();
        if n as u64 > self.max_regions / 2 {
            if self.config.split_rule == SplitRule::PartialAboveHalf {
                self.cut_some(n as u64);
                self.regions_before = n as u64;
            }
            return;
        }
        let three = n as u64 == self.regions_before && (n as u64) < self.max_regions / 3;
        for t in &mut self.targets {
            let mut after = Vec::new();
            for r in t.drain(..) {
                // Borders, from right to left.
                let mut borders = Vec::new();
                let mut left = r.pages;
                for _ in 0..if three { 2 } else { 1 } {
                    if left <= 2 {
                        continue;
                    }
                    let tenths = 1 + self.rng.below(9);
                    let to = tenths * left / 10;
                    if to > 0 {
                        borders.push(to);
                        left = to;
                    }
                }
                borders.sort_unstable();
                let mut from = 0;
                for (k, to) in borders.iter().copied().chain([r.pages]).enumerate() {
                    let mut piece = Reg { first: r.first + from, pages: to - from, ..r.clone() };
                    if k > 0 && !self.config.split_copies_counts {
                        (piece.nr, piece.moving) = (0, 0);
                    }
                    after.push(piece);
                    from = to;
                }
            }
            *t = after;
        }
        self.regions_before = n as u64;
    }

    /// Cuts one region of every few, whose place moves by one from time to time.
    fn cut_some(&mut self, n: u64) {
        if n >= self.max_regions {
            return;
        }
        let every = self.max_regions / (self.max_regions - n);
        let chosen: Vec<bool> = (0..n).map(|i| i % every == self.turns % every).collect();
        self.turns += 1;
        let mut chosen = chosen.into_iter();
        for t in 0..self.targets.len() {
            let mut at = 0;
            while at < self.targets[t].len() {
                let pages = self.targets[t][at].pages;
                if chosen.next() == Some(true) && pages >= 2 {
                    let left = (1 + self.rng.below(9)) * pages / 10;
                    if left > 0 {
                        self.cut_at(t, at, left);
                        at += 1;
                    }
                }
                at += 1;
            }
        }
    }

    fn counted(&self, r: &Reg) -> i64 {
        match self.config.pattern_counter {
            PatternCounter::NrAccesses => r.nr,
            // The kernel's has no sign: below zero it is huge.
            PatternCounter::Moving => r.moving.rem_euclid(1 << 32) / 10_000,
            PatternCounter::WindowSum => {
                let by_clock = self.config.interval_clock == IntervalClock::Wall;
                let to_come =
                    if by_clock { 0 } else { self.next_aggr.saturating_sub(self.samples) };
                let share = to_come * 10_000 / self.per_aggr();
                if share == 10_000 { r.last } else { r.nr + r.last * share as i64 / 10_000 }
            }
        }
    }

    fn counted_for_scores(&self, r: &Reg) -> i64 {
        match self.config.score_counter {
            ScoreCounter::NrAccesses => r.nr,
            ScoreCounter::Pattern => self.counted(r),
        }
    }

    fn wanted(&self, rule: &Rule, r: &Reg) -> bool {
        let within = |x: i64, (low, high): (i64, i64)| low <= x && x <= high;
        rule.pages.0 <= r.pages
            && r.pages <= rule.pages.1
            && within(self.counted(r), rule.nr)
            && within(r.age, rule.age)
    }

    fn score(&self, rule: &Rule, r: &Reg) -> u64 {
        if !self.cold_score {
            return 99;
        }
        let often = self.counted_for_scores(r) as u64 * 100 / self.per_aggr();
        let mut seconds = r.age as u64 * self.aggr_ms / 1000;
        let mut doublings = 0_i64;
        while seconds > 0 {
            doublings += 1;
            seconds /= 2;
        }
        let signed = if often == 0 { 32 - doublings } else { 32 + doublings };
        let long = signed as u64 * 100 / 32 / 2;
        let (a, b) = rule.weights;
        let hot = (a * often + b * long).checked_div(a + b).unwrap_or(0);
        99 - (hot * 99 / 100).min(99)
    }

    fn pass(&mut self, by_clock: bool) {
        let mine: Vec<bool> =
            self.rules.iter().map(|r| r.on && (by_clock || self.samples >= r.due)).collect();
        if !mine.contains(&true) {
            return;
        }
        for i in (0..mine.len()).filter(|i| mine[*i]) {
            self.open_window(i);
        }
        let share = self.size_limit();
        for t in 0..self.targets.len() {
            let mut at = 0;
            while at < self.targets[t].len() {
                let behind = self.targets[t].len() - at;
                for i in (0..mine.len()).filter(|i| mine[*i]) {
                    at = self.offer(i, t, at);
                }
                if at > 0 && self.config.merge_slices {
                    let (l, r) = (&self.targets[t][at - 1], &self.targets[t][at]);
                    let same = l.nr == r.nr && l.last == r.last && l.age == r.age;
                    if same && l.end() == r.first && (l.pages + r.pages) * PAGE <= share {
                        let pages = r.pages;
                        self.targets[t].remove(at);
                        at -= 1;
                        self.targets[t][at].pages += pages;
                    }
                }
                at = match self.config.resume {
                    Resume::Exact => at + 1,
                    // What was next when the walk came here.
                    Resume::Plus1SkipLast => self.targets[t].len() - behind + 1,
                };
            }
        }
        for r in self.rules.iter_mut().filter(|r| self.samples >= r.due) {
            r.due = self.samples + r.every;
        }
    }

    fn open_window(&mut self, i: usize) {
        let now = self.tick();
        let mut r = self.rules[i].clone();
        if r.esz == 0 && r.ms == 0 && r.sz == 0 && r.goal.is_none() {
            return;
        }
        let first = r.since.is_none();
        if first && self.config.first_window == FirstWindow::Unlimited {
            r.since = Some(now);
        }
        let tick = (u64::from(self.config.coarse_tick_us) * 1000).max(1);
        let length = (r.window_ms * 1_000_000).div_ceil(tick) * tick;
        if r.since.is_none_or(|since| now >= since + length) {
            r.exceeded += u64::from(!first && self.spent(&r));
            r.total += r.charged;
            r.charged = 0;
            r.since = Some(now);
            let mut limits = Vec::new();
            if let Some((target, current)) = r.goal {
                let last = r.fed.max(10_000) as i128;
                let missing = 10_000 - (current * 10_000 / target) as i128;
                // Where the product does not fit into 64 bits its last digits are lost.
                let part = |of: i128| match last * of {
                    product if product <= u64::MAX as i128 - of => product / 10_000,
                    _ => last / 10_000 * of,
                };
                let next = match missing {
                    0 => last,
                    m if m <= -10_000 => 10_000,
                    m if m < 0 => (last - part(-m)).max(10_000),
                    m => (last + part(m)).min(u64::MAX.into()),
                };
                r.fed = next as u64;
                limits.push(r.fed / 10_000);
            }
            if r.ms > 0 {
                let speed = match r.total_ns {
                    0 => 4 << 20,
                    ns => r.total * 1_000_000 / ns,
                };
                let by_time = speed * r.ms;
                let floor = self.config.esz_floor == EszFloor::TimePart;
                limits.push(if floor { by_time.max(PAGE) } else { by_time });
                if self.config.esz_floor == EszFloor::MinRegion {
                    let least = limits.iter().copied().min().unwrap_or(0).max(PAGE);
                    limits = vec![least];
                }
            }
            if r.sz > 0 {
                limits.push(r.sz);
            }
            r.esz = limits.into_iter().min().unwrap_or(0);
            if self.config.aligned_esz {
                r.esz -= r.esz % PAGE;
            }
        }
        self.rules[i] = r;
        if self.config.prioritization {
            let r = &self.rules[i];
            let all = self.targets.iter().flatten().filter(|x| self.wanted(r, x));
            let mut scores: Vec<(u64, u64)> =
                all.map(|x| (self.score(r, x), x.pages * PAGE)).collect();
            scores.sort_unstable();
            // From the highest score down, until the quota is spoken for.
            let mut least = scores.last().map_or(0, |s| s.0);
            loop {
                let above = scores.iter().filter(|s| s.0 >= least).map(|s| s.1);
                if above.sum::<u64>() >= r.esz || least == 0 {
                    break;
                }
                least -= 1;
            }
            self.rules[i].min_score = least;
        }
    }

    /// True if a window has an end: that of its bytes, or of whatever the user limits.
    fn limited(&self, r: &Rule) -> bool {
        let configured = r.ms > 0 || r.sz > 0 || r.goal.is_some();
        r.esz > 0 || self.config.quota_set == QuotaSet::Configured && configured
    }

    /// True if nothing of it is left, or less than a page if that is as good as nothing.
    fn spent(&self, r: &Rule) -> bool {
        let left = r.esz as i128 - r.charged as i128;
        let nothing = match self.config.quota_set {
            QuotaSet::Esz => left <= 0,
            QuotaSet::Configured => left < PAGE.into(),
        };
        self.limited(r) && nothing
    }

    /// Cuts a region of a target after `pages` pages.
    fn cut_at(&mut self, t: usize, at: usize, pages: u64) {
        let whole = self.targets[t][at].clone();
        let mut right = Reg { first: whole.first + pages, pages: whole.pages - pages, ..whole };
        if !self.config.split_copies_counts {
            (right.nr, right.moving) = (0, 0);
        }
        self.targets[t][at].pages = pages;
        self.targets[t].insert(at + 1, right);
    }

    /// Offers a region to a rule. Returns where the region is then.
    fn offer(&mut self, i: usize, t: usize, at: usize) -> usize {
        let mut at = at;
        if self.spent(&self.rules[i]) {
            return at;
        }
        let limited = self.limited(&self.rules[i]);
        let r = &self.rules[i];
        if let Some((target, address)) = r.from {
            if target != t {
                return at;
            }
            let last = at + 1 == self.targets[t].len();
            let x = self.targets[t][at].clone();
            let (start, end) = (x.first * PAGE, x.end() * PAGE);
            if self.config.resume == Resume::Exact {
                if end <= address {
                    if last {
                        self.rules[i].from = None;
                    }
                    return at;
                }
                if start < address {
                    // Resume points lie between pages.
                    assert_eq!(address % PAGE, 0);
                    self.cut_at(t, at, (address - start) / PAGE);
                    return at;
                }
                if last {
                    self.rules[i].from = None;
                }
            } else {
                if last {
                    self.rules[i].from = None;
                    return at;
                }
                if end <= address || (start < address && x.pages == 1) {
                    return at;
                }
                self.rules[i].from = None;
                if start < address {
                    self.cut_at(t, at, ((address - start) / PAGE).max(1));
                    at += 1;
                }
            }
        }
        let r = &self.rules[i];
        let x = &self.targets[t][at];
        if !self.wanted(r, x) {
            return at;
        }
        if limited && self.config.prioritization && self.score(r, x) < r.min_score {
            return at;
        }
        let mut pages = x.pages;
        if limited {
            let room = (r.esz - r.charged) / PAGE;
            if pages * PAGE > r.esz - r.charged {
                if room == 0 {
                    self.rules[i].tried.0 += 1;
                    return at;
                }
                self.cut_at(t, at, room);
                pages = room;
            }
        }
        if let Some((from, to)) = self.rules[i].spare {
            let x = self.targets[t][at].clone();
            let outside = x.end() <= from || to <= x.first;
            if !outside {
                if x.first >= from {
                    if x.end() > to {
                        self.cut_at(t, at, to - x.first);
                    }
                    return at;
                }
                self.cut_at(t, at, from - x.first);
                pages = from - x.first;
            }
        }
        let before = self.tick();
        self.now += self.apply_ns;
        let took = self.tick() - before;
        let end = self.targets[t][at].end() * PAGE;
        let plus = u64::from(self.config.resume == Resume::Plus1SkipLast);
        let r = &mut self.rules[i];
        r.total_ns += took;
        r.charged += pages * PAGE;
        r.tried = (r.tried.0 + 1, r.tried.1 + pages * PAGE);
        if self.spent(&self.rules[i]) {
            self.rules[i].from = Some((t, end + plus));
        }
        let r = &self.rules[i];
        if !r.stat_only {
            self.targets[t][at].age = 0;
        }
        at
    }
}

/// Regions as they are within the new ranges, page by page: a page belongs to the region that it
/// was in, if that reaches into no range before this one.
fn fit(old: &[Reg], ranges: &[(u64, u64)]) -> Vec<Reg> {
    let mut left: Vec<Reg> = old.to_vec();
    let mut new = Vec::new();
    for (from, to) in ranges.iter().copied() {
        let (inside, rest): (Vec<Reg>, Vec<Reg>) =
            left.into_iter().partition(|r| r.first < to && from < r.end());
        left = rest;
        let Some(last) = inside.len().checked_sub(1) else {
            new.push(Reg::fresh(from, to));
            continue;
        };
        let mut end = from;
        for (k, r) in inside.into_iter().enumerate() {
            let first = if k == 0 { from } else { r.first };
            if end < first {
                new.push(Reg::fresh(end, first));
            }
            end = if k == last { to } else { r.end() };
            new.push(Reg { first, pages: end - first, ..r });
        }
    }
    new
}
