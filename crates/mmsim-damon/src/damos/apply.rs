//! A pass of the schemes over the regions, one application at a time.
//!
//! Before a pass the quota of every scheme that is due is adjusted, and the least score that it
//! serves. Then every region, in order of targets and addresses, is offered to every scheme in
//! order. An application takes time in which the machine goes on, so a pass can be left after each
//! and gone on with: a [`Cursor`] tells where.
//!
//! Regions are cut on the way, where a quota ends or begins. A walk sees what was cut off and lies
//! to the right; up to 6.0 it had fixed the next region before.
//!
//! Linux 6.12 `mm/damon/core.c` (`kdamond_apply_schemes()`, `damos_skip_charged_region()`,
//! `damos_apply_scheme()`); Linux 7.3 where knobs say so.

use super::filter::{self, CoreVerdict};
use super::goal::Metric;
use super::scheme::{Action, Scheme};
use super::score::{self, Histogram};
use crate::aggregate::region_sz_limit;
use crate::attrs::align_down;
use crate::config::{IntervalClock, Resume, ScoreCounter};
use crate::context::{Context, Cursor};
use crate::operations::{Hook, Operations};
use crate::region::Region;

impl Context {
    /// True if a scheme takes part in a pass that begins now.
    fn due(&self, scheme: &Scheme) -> bool {
        self.config.interval_clock == IntervalClock::Wall
            || self.passed_samples >= scheme.state.next_apply_sis
    }

    /// True if the quota of a scheme's window is used up.
    fn used_up(&self, scheme: &Scheme) -> bool {
        scheme.state.charge.full(&scheme.quota, &self.config, &self.attrs)
    }

    /// The count that scores are about.
    fn score_counter(&self, region: &Region) -> u32 {
        match self.config.score_counter {
            ScoreCounter::NrAccesses => region.nr_accesses,
            ScoreCounter::Pattern => self.counter(region),
        }
    }

    fn matches(&self, scheme: &Scheme, region: &Region) -> bool {
        scheme.pattern.matches(region.size(), self.counter(region), region.age)
    }

    /// Adjusts the quotas of the schemes that are due. Returns where the pass begins, if some
    /// scheme takes part.
    pub(crate) fn begin_pass(&mut self, ops: &mut dyn Operations) -> Option<Cursor> {
        let mut some = false;
        for s in 0..self.schemes.len() {
            if self.due(&self.schemes[s]) && self.schemes[s].state.activated {
                some = true;
                self.adjust_quota(s, ops);
            }
        }
        if some && self.config.merge_slices {
            self.slice_limit = region_sz_limit(&self.targets, &self.attrs);
        }
        some.then(Cursor::default)
    }

    /// Regions of the pattern of a scheme.
    fn eligible(&self, s: usize) -> impl Iterator<Item = &Region> {
        let regions = self.targets.iter().flat_map(|t| &t.regions);
        regions.filter(move |r| self.matches(&self.schemes[s], r))
    }

    fn adjust_quota(&mut self, s: usize, ops: &mut dyn Operations) {
        let scheme = &mut self.schemes[s];
        if !scheme.state.charge.active(&scheme.quota) {
            return;
        }
        let now = self.config.coarse(ops.now());
        // Out of the context, which a goal may ask for its regions.
        let mut quota = std::mem::take(&mut scheme.quota);
        let mut charge = std::mem::take(&mut scheme.state.charge);
        let mut measure = |metric| match metric {
            Metric::NodeEligibleMemBp(node) => {
                let regions: Vec<Region> = self.eligible(s).copied().collect();
                ops.eligible_mem_bp(&regions, node)
            }
            _ => ops.measure(metric),
        };
        let exceeded = charge.adjust(&mut quota, &self.config, &self.attrs, now, &mut measure);
        let scheme = &mut self.schemes[s];
        (scheme.quota, scheme.state.charge) = (quota, charge);
        scheme.state.stat.qt_exceeds += u64::from(exceeded);
        if self.config.prioritization {
            self.schemes[s].state.charge.min_score = self.find_min_score(s, ops);
        }
    }

    fn find_min_score(&self, s: usize, ops: &dyn Operations) -> u32 {
        let scheme = &self.schemes[s];
        let kind = ops.score_kind(scheme.action);
        let mut histogram = Histogram::new();
        for r in self.eligible(s) {
            let counter = self.score_counter(r);
            let score = score::score(kind, counter, r.age, &self.attrs, &scheme.quota);
            histogram.add(score, r.size());
        }
        histogram.min_score(scheme.state.charge.esz)
    }

    /// Goes on with a pass up to the next application. Returns whether there was one; without,
    /// the pass is over.
    pub(crate) fn advance_pass(&mut self, ops: &mut dyn Operations, at: &mut Cursor) -> bool {
        while at.target < self.targets.len() {
            let len = self.targets[at.target].regions.len();
            if at.region >= len {
                *at = Cursor { target: at.target + 1, ..Cursor::default() };
                continue;
            }
            at.behind.get_or_insert(len - at.region - 1);
            while at.scheme < self.schemes.len() {
                at.scheme += 1;
                if self.offer(ops, at.scheme - 1, at) {
                    return true;
                }
            }
            if self.config.merge_slices && self.merge_slice(at.target, at.region) {
                at.region -= 1;
            }
            let len = self.targets[at.target].regions.len();
            at.region = match (self.config.resume, at.behind) {
                (Resume::Plus1SkipLast, Some(behind)) => len - behind,
                _ => at.region + 1,
            };
            (at.scheme, at.behind) = (0, None);
        }
        false
    }

    /// Takes a region that a pass is done with into the one before it, if they differ in nothing but
    /// their addresses and are not too large together. Returns whether it did.
    fn merge_slice(&mut self, target: usize, i: usize) -> bool {
        let regions = &mut self.targets[target].regions;
        let Some(before) = i.checked_sub(1).map(|b| regions[b]) else { return false };
        let r = regions[i];
        let seen = |r: &Region| (r.age, r.last_nr_accesses, r.nr_accesses);
        let alike = before.end == r.start && seen(&before) == seen(&r);
        let merged = alike && r.end - before.start <= self.slice_limit;
        if merged {
            regions.remove(i);
            regions[i - 1].end = r.end;
        }
        merged
    }

    /// Ends a pass: sets when the schemes that took part are due again.
    pub(crate) fn end_pass(&mut self) {
        let (now, attrs) = (self.passed_samples, self.attrs);
        for s in self.schemes.iter_mut().filter(|s| now >= s.state.next_apply_sis) {
            s.state.next_apply_sis = s.next_apply(now, &attrs);
        }
    }

    /// Offers a region to a scheme that works, and counts the snapshot if the region is the last one
    /// of its target and the quota reached so far. Returns whether the action was carried out.
    fn offer(&mut self, ops: &mut dyn Operations, s: usize, at: &mut Cursor) -> bool {
        let scheme = &self.schemes[s];
        if !self.due(scheme) || !scheme.state.activated || self.used_up(scheme) {
            return false;
        }
        if self.skip_charged(s, at) || self.schemes[s].is_done() {
            return false;
        }
        let carried_out = self.serve(ops, s, at);
        // A region that was cut just now is not the last one any more.
        if self.config.count_snapshots && at.region + 1 == self.targets[at.target].regions.len() {
            self.schemes[s].state.stat.nr_snapshots += 1;
        }
        carried_out
    }

    /// Applies a scheme to a region of its pattern and a score that it serves.
    fn serve(&mut self, ops: &mut dyn Operations, s: usize, at: &Cursor) -> bool {
        let scheme = &self.schemes[s];
        let region = &self.targets[at.target].regions[at.region];
        if !self.matches(scheme, region) {
            return false;
        }
        let limited = scheme.state.charge.limits(&scheme.quota, &self.config);
        if limited && self.config.prioritization {
            let kind = ops.score_kind(scheme.action);
            let counter = self.score_counter(region);
            let score = score::score(kind, counter, region.age, &self.attrs, &scheme.quota);
            if score < scheme.state.charge.min_score {
                return false;
            }
        }
        self.apply(ops, s, at)
    }

    /// True if the region, or the part of it that is cut off here, was served by the window before.
    fn skip_charged(&mut self, s: usize, at: &mut Cursor) -> bool {
        let Some((target, address)) = self.schemes[s].state.charge.resume else { return false };
        if target != at.target {
            return true;
        }
        let t = &mut self.targets[target];
        let region = t.regions[at.region];
        let is_last = at.region + 1 == t.regions.len();
        let copies = self.config.split_copies_counts;
        let unit = self.attrs.min_region;
        // How much of the region lies before the address; a region that it lies in loses at least
        // one unit, and is skipped if it has no more.
        let before = align_down(address.saturating_sub(region.start), unit).max(unit);
        let inside = region.start < address && address < region.end;
        let cut = inside && region.size() > unit;
        match self.config.resume {
            Resume::Exact => {
                if cut {
                    t.split_at(at.region, before, copies);
                }
                // The kernel looks for the last region after the cut, which then is another one.
                if is_last && !cut {
                    self.schemes[s].state.charge.resume = None;
                }
                inside || region.end <= address
            }
            Resume::Plus1SkipLast => {
                if is_last {
                    self.schemes[s].state.charge.resume = None;
                    return true;
                }
                if region.end <= address || (inside && !cut) {
                    return true;
                }
                if cut {
                    t.split_at(at.region, before, copies);
                    at.region += 1;
                }
                self.schemes[s].state.charge.resume = None;
                false
            }
        }
    }

    /// Applies a scheme to a region, as far as its quota reaches.
    fn apply(&mut self, ops: &mut dyn Operations, s: usize, at: &Cursor) -> bool {
        let (t, r) = (at.target, at.region);
        let (unit, copies) = (self.attrs.min_region, self.config.split_copies_counts);
        let scheme = &mut self.schemes[s];
        let target = &mut self.targets[t];
        let size = target.regions[r].size();
        let room = scheme.state.charge.esz.saturating_sub(scheme.state.charge.charged_sz);
        if scheme.state.charge.limits(&scheme.quota, &self.config) && size > room {
            let part = align_down(room, unit);
            if part == 0 {
                scheme.state.stat.update(0, 0);
                return false;
            }
            target.split_at(r, part, copies);
        }
        let verdict = filter::judge_region(&scheme.filters, t, target, r, unit, copies);
        if verdict == CoreVerdict::Rejected {
            return false;
        }
        scheme.state.core_allowed = verdict == CoreVerdict::Allowed;
        let begin = self.config.coarse(ops.now());
        let told = ops.hook(Hook::BeforeApply { scheme: s, target: t, region: r }, self);
        let target = &self.targets[t];
        let region = target.regions[r];
        let carried_out = told.is_continue();
        let applied = if carried_out { ops.apply(target, region, &self.schemes[s]) } else { 0 };
        let took = self.config.coarse(ops.now()).since(begin);

        let scheme = &mut self.schemes[s];
        scheme.state.charge.total_charged_ns += took.as_nanos();
        scheme.state.charge.charged_sz += scheme.quota.charge_for(region.size(), applied);
        if scheme.state.charge.full(&scheme.quota, &self.config, &self.attrs) {
            let plus = u64::from(self.config.resume == Resume::Plus1SkipLast);
            scheme.state.charge.resume = Some((t, region.end + plus));
        }
        scheme.state.stat.update(region.size(), applied);
        if scheme.action != Action::Stat {
            self.targets[t].regions[r].age = 0;
        }
        carried_out
    }
}
