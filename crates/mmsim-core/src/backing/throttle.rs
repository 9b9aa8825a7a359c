//! Limit on the writes that a device gets at once: a writer above it sleeps, and leaves those under
//! way time to end.
//!
//! A device takes as many requests at once as it has tags. Writeback throttling leaves some of them
//! for reads: the depth for writes begins at 16, and windows of 100 ms decide about it. If even the
//! fastest read took longer than the target it is halved, else it is doubled, up to three quarters
//! of the tags. Sleepers are woken in bulk, when half of the depth is free, or none is taken any
//! more if the device caches writes.
//!
//! Source: Linux 6.12 block/blk-wbt.c, block/blk-rq-qos.c (`rq_depth_calc_max_depth`),
//! block/blk-mq-tag.c (`blk_mq_get_tag`), and 6.1 for which writes share a depth. Left out:
//! readers, who wait for their reads anyhow; that a
//! change of depth wakes who sleeps already; twice the tags under an I/O scheduler.

use crate::base::time::{SimDuration, SimTime};
use std::collections::VecDeque;

/// Depth to begin with (`RWB_DEF_DEPTH`).
const DEFAULT_DEPTH: u32 = 16;
/// A window, as long as the depth is not lowered (`RWB_WINDOW_NSEC`).
const WINDOW: SimDuration = SimDuration::from_millis(100);
/// Writes in a window that make it worth judging (`RWB_MIN_WRITE_SAMPLES`).
const MIN_WRITES: u32 = 3;
/// Windows without reads and writes after which the depth goes a step back (`RWB_UNKNOWN_BUMP`).
const UNKNOWN_BUMP: u32 = 5;
/// Time within which a read counts as near (`close_io`: a tenth of a second).
const CLOSE: SimDuration = SimDuration::from_millis(100);

/// Who writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Writer {
    /// The background reclaimer.
    Kswapd,
    /// A thread that wants memory. Up to 6.1 these get half of the depth, or a quarter while
    /// something is read.
    Other,
    /// The flusher. While writers wait for it, it gets all of the depth, else a quarter.
    Flusher {
        /// Writers wait.
        hurried: bool,
    },
}

/// A request under way.
#[derive(Clone, Copy, Debug)]
struct Request {
    begin: SimTime,
    end: SimTime,
    /// The class of a write; `None`: a read.
    class: Option<usize>,
}

/// Requests that ended in one window.
#[derive(Clone, Copy, Default, Debug)]
struct Seen {
    fastest_read: Option<SimDuration>,
    writes: u32,
}

/// Judgement of a window on the depth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    /// Reads were fast enough, or none disturbed the writes.
    Good,
    /// Even the fastest read took too long, or one still waits.
    TooSlow,
    /// Nothing to judge by.
    Nothing,
}

/// The throttle of a device.
#[derive(Clone, Debug)]
pub(super) struct Throttle {
    queue_depth: u32,
    /// Target latency of a read; none: only tags limit writes.
    target: Option<SimDuration>,
    write_cache: bool,
    /// All swap writes share one depth; else those of kswapd have their own.
    shared: bool,
    /// Halvings of the depth; below 0: doublings.
    step: i32,
    depth: u32,
    /// It cannot become deeper.
    deepest: bool,
    unknown: u32,
    /// In order of their ends.
    under_way: VecDeque<Request>,
    /// End and length of the window under way.
    window: Option<(SimTime, SimDuration)>,
    seen: Seen,
    /// When the last read was submitted or ended.
    last_read: Option<SimTime>,
    /// When the last write of each class was let in.
    let_in: [SimTime; 2],
}

impl Throttle {
    /// Throttle of a device that takes `queue_depth` requests at once; `target`: latency that reads
    /// should have, `None` without throttling of writeback.
    pub(super) fn new(
        queue_depth: u32,
        target: Option<SimDuration>,
        write_cache: bool,
        shared: bool,
    ) -> Self {
        let mut w = Throttle {
            queue_depth,
            target,
            write_cache,
            shared,
            step: 0,
            depth: 0,
            deepest: false,
            unknown: 0,
            under_way: VecDeque::new(),
            window: None,
            seen: Seen::default(),
            last_read: None,
            let_in: [SimTime::ZERO; 2],
        };
        w.set_depth();
        w.deepest = false;
        w
    }

    fn set_depth(&mut self) {
        let base = DEFAULT_DEPTH.min(self.queue_depth);
        (self.depth, self.deepest) = match self.step {
            // One request has to be ready when the other ends.
            s if self.queue_depth == 1 => (if s > 0 { 1 } else { 2 }, s <= 0),
            0 => (base, false),
            s if s > 0 => (1 + ((base - 1) >> s.min(31)), false),
            s => {
                let most = 3 * u64::from(self.queue_depth) / 4;
                let doubled = 1 + (u64::from(base - 1) << (-s).min(31));
                (doubled.min(most) as u32, doubled > most)
            }
        };
    }

    /// Depth for writes of file pages, by which sleepers are woken too.
    fn normal(&self) -> u32 {
        if self.depth <= 2 { self.depth } else { self.depth.div_ceil(2) }
    }

    fn background(&self) -> u32 {
        if self.depth <= 2 { 1 } else { self.depth.div_ceil(4) }
    }

    fn scale_up(&mut self) {
        if !self.deepest {
            self.step -= 1;
            self.set_depth();
            self.unknown = 0;
        }
    }

    fn scale_down(&mut self, hard: bool) {
        if self.depth > 1 {
            self.step = if hard && self.step < 0 { 0 } else { self.step + 1 };
            self.set_depth();
            self.unknown = 0;
        }
    }

    /// Time passes: requests and windows end.
    fn advance(&mut self, now: SimTime) {
        loop {
            let request = self.under_way.front().filter(|r| r.end <= now);
            let window = self.window.map(|w| w.0).filter(|&end| end <= now);
            match (request, window) {
                (Some(r), w) if w.is_none_or(|end| r.end <= end) => {
                    let took = r.end.since(r.begin);
                    if r.class.is_some() {
                        self.seen.writes += 1;
                    } else {
                        let fastest = self.seen.fastest_read.map_or(took, |f| f.min(took));
                        self.seen.fastest_read = Some(fastest);
                        self.last_read = self.last_read.max(Some(r.end));
                    }
                    self.under_way.pop_front();
                }
                (_, Some(end)) => self.end_window(end),
                _ => break,
            }
        }
    }

    fn end_window(&mut self, now: SimTime) {
        let seen = std::mem::take(&mut self.seen);
        let writing = self.under_way.iter().any(|r| r.class.is_some() && r.begin <= now);
        let target = self.target.unwrap_or(SimDuration(u64::MAX));
        let waited = self.under_way.iter().filter(|r| r.class.is_none() && r.begin <= now);
        let waited = waited.map(|r| now.since(r.begin)).max().unwrap_or(SimDuration::ZERO);
        let length = self.window.map_or(WINDOW, |w| w.1);
        let verdict = match seen.fastest_read {
            _ if waited > length => Verdict::TooSlow,
            None if waited > target => Verdict::TooSlow,
            Some(read) if seen.writes >= MIN_WRITES => {
                if read > target {
                    Verdict::TooSlow
                } else {
                    Verdict::Good
                }
            }
            _ if seen.writes > 0 || writing => Verdict::Good,
            _ => Verdict::Nothing,
        };
        match verdict {
            Verdict::Good => self.scale_up(),
            Verdict::TooSlow => self.scale_down(true),
            Verdict::Nothing => {
                self.unknown += 1;
                if self.unknown >= UNKNOWN_BUMP {
                    match self.step {
                        0 => {}
                        s if s > 0 => self.scale_up(),
                        _ => self.scale_down(false),
                    }
                }
            }
        }
        self.window = None;
        if self.step != 0 || writing {
            self.begin_window(now);
        }
    }

    fn begin_window(&mut self, now: SimTime) {
        let length = match self.step {
            s if s > 0 => SimDuration((WINDOW.0 << 4) / ((s as u64 + 1) << 8).isqrt()),
            _ => WINDOW,
        };
        self.window = Some((now + length, length));
        self.seen = Seen::default();
    }

    fn class(&self, writer: Writer) -> usize {
        usize::from(self.shared || writer == Writer::Kswapd)
    }

    /// Number of writes up to which a writer may submit another.
    fn limit(&self, writer: Writer, now: SimTime) -> u32 {
        let close = |at: SimTime| now.since(at.min(now)) < CLOSE;
        match writer {
            Writer::Flusher { hurried: true } | Writer::Kswapd => self.depth,
            Writer::Flusher { .. } => self.background(),
            Writer::Other if self.shared => self.depth,
            _ if self.last_read.is_some_and(close) => self.background(),
            _ => self.normal(),
        }
    }

    /// The instant from which a writer that comes now may write. `None`: it has to sleep, and the
    /// `held` requests in its plug, which count, go out before.
    pub(super) fn lets_in(&mut self, now: SimTime, writer: Writer, held: u32) -> Option<SimTime> {
        self.advance(now);
        let class = self.class(writer);
        // Behind those who sleep already.
        let mut at = now.max(self.let_in[class]);
        if self.target.is_some() {
            at = self.below_depth(writer, at, held)?;
        }
        let ends = self.under_way.iter().map(|r| r.end).filter(|&end| end > at);
        let taken = ends.clone().count() + held as usize;
        if let Some(over) = taken.checked_sub(self.queue_depth as usize) {
            if held > 0 {
                return None;
            }
            at = ends.clone().nth(over).expect("one of those that end");
        }
        if at > now && held > 0 {
            return None;
        }
        if self.target.is_some() && self.window.is_none() {
            self.begin_window(at);
        }
        self.let_in[class] = at;
        Some(at)
    }

    /// When fewer writes of a class are under way than its depth; `None`: never, with what is held.
    fn below_depth(&self, writer: Writer, at: SimTime, held: u32) -> Option<SimTime> {
        let class = self.class(writer);
        let of_class = self.under_way.iter().filter(|r| r.class == Some(class));
        let mut ends = of_class.map(|r| r.end).filter(|&end| end > at);
        let mut left = ends.clone().count() as u32;
        if left + held < self.limit(writer, at) {
            return Some(at);
        }
        if held > 0 {
            return None;
        }
        let (low, enough) = match self.write_cache {
            true => (0, 0),
            false => (self.normal(), self.background() / 2),
        };
        let woken = ends.find(|_| {
            left -= 1;
            left == 0 || left < low && low - left >= enough
        });
        Some(woken.expect("all of them end"))
    }

    /// Notes a request to the device: a write of that writer, or a read.
    pub(super) fn note(&mut self, begin: SimTime, end: SimTime, writer: Option<Writer>) {
        self.advance(begin);
        let class = writer.map(|w| self.class(w));
        if class.is_none() {
            self.last_read = self.last_read.max(Some(begin));
        }
        let behind = self.under_way.iter().rposition(|r| r.end <= end).map_or(0, |i| i + 1);
        self.under_way.insert(behind, Request { begin, end, class });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const TARGET: Option<SimDuration> = Some(SimDuration::from_millis(2));

    fn ms(ms: u64) -> SimTime {
        SimTime(ms * MS)
    }

    fn of(queue_depth: u32, write_cache: bool) -> Throttle {
        Throttle::new(queue_depth, TARGET, write_cache, true)
    }

    /// Submits a write that takes so long from when it is let in. Returns when that is.
    fn write(w: &mut Throttle, now: SimTime, takes: u64) -> SimTime {
        let at = w.lets_in(now, Writer::Other, 0).expect("nothing is held");
        w.note(at, SimTime(at.0 + takes * MS), Some(Writer::Other));
        at
    }

    /// From the formula of the depth: 16 to begin with, doubled and less one each time; at most three
    /// quarters of the device's.
    #[test]
    fn depths_by_step() {
        let depths = |queue_depth, step| {
            let mut w = of(queue_depth, false);
            w.step = step;
            w.set_depth();
            (w.depth, w.deepest)
        };
        assert_eq!(depths(64, 0), (16, false));
        assert_eq!(depths(64, -1), (31, false));
        assert_eq!(depths(64, -2), (48, true));
        assert_eq!([1, 2, 3, 4, 40].map(|s| depths(64, s).0), [8, 4, 2, 1, 1]);
        assert_eq!(
            (depths(32, -1), depths(8, 0), depths(8, -1)),
            ((24, true), (8, false), (6, true))
        );
        // A device of two gets two writes to begin with, and one once that went well.
        assert_eq!((depths(2, 0), depths(2, -1)), ((2, false), (1, true)));
        assert_eq!((depths(1, 0).0, depths(1, 1).0), (2, 1));
    }

    /// By hand: 16 are let in, one each ms ends from 5 ms on. Who comes 17th sleeps until half of the
    /// depth and two more are free: 16 - 10 = 6 are left at 14 ms. Those after him go then too, up
    /// to the depth.
    #[test]
    fn sleepers_are_let_in_together() {
        let mut w = of(1000, false);
        for i in 0..16 {
            assert_eq!(write(&mut w, ms(0), 5 + i), ms(0));
        }
        let later: Vec<SimTime> = (0..11).map(|_| write(&mut w, ms(1), 50)).collect();
        assert_eq!(later[..10], [ms(14); 10]);
        // Six of the first are left, and ten more: the eleventh waits for 10 of these 16, the
        // first six at 15 to 20 ms, the others at 64 ms.
        assert_eq!(later[10], ms(64));
    }

    /// Requests that wait in a plug count, and go out before its owner sleeps.
    #[test]
    fn a_plug_is_emptied_by_its_sleeper() {
        let mut w = of(32, false);
        (0..12).for_each(|_| assert_eq!(write(&mut w, ms(0), 9), ms(0)));
        assert_eq!(w.lets_in(ms(1), Writer::Other, 3), Some(ms(1)));
        assert_eq!(w.lets_in(ms(1), Writer::Other, 4), None);
        (0..4).for_each(|_| assert_eq!(write(&mut w, ms(1), 9), ms(1)));
        assert_eq!(w.lets_in(ms(1), Writer::Other, 0), Some(ms(9)));
    }

    /// A device that caches writes is left alone until all of them have ended.
    #[test]
    fn a_write_cache_is_emptied() {
        let mut w = of(32, true);
        for i in 0..16 {
            assert_eq!(write(&mut w, ms(0), 5 + i), ms(0));
        }
        assert_eq!(write(&mut w, ms(1), 1), ms(20));
    }

    /// Without a target only tags count, for which reads compete: of four, the reads leave two.
    #[test]
    fn tags_are_waited_for() {
        let mut w = Throttle::new(4, None, false, true);
        w.note(ms(0), ms(9), None);
        w.note(ms(0), ms(2), None);
        assert_eq!([write(&mut w, ms(0), 5), write(&mut w, ms(0), 6)], [ms(0); 2]);
        // The next go when the read of 2 ms and the writes have ended.
        let later: Vec<SimTime> = (0..3).map(|_| write(&mut w, ms(1), 20)).collect();
        assert_eq!(later, [ms(2), ms(5), ms(6)]);
    }

    /// Windows of 100 ms: writes alone double the depth, and so do reads that are fast enough; slow
    /// ones take that back, then halve it; five windows without either bring it a step back.
    #[test]
    fn windows_decide_about_the_depth() {
        let mut w = of(64, false);
        let busy = |w: &mut Throttle, at: u64, read: Option<u64>| {
            for i in 0..3 {
                write(w, ms(at + i), 1);
            }
            if let Some(takes) = read {
                w.note(ms(at + 4), ms(at + 4 + takes), None);
            }
        };
        busy(&mut w, 0, None);
        w.advance(ms(100));
        assert_eq!(w.depth, 31);
        busy(&mut w, 110, Some(2));
        w.advance(ms(200));
        assert_eq!((w.depth, w.deepest), (48, true));
        // A slow read takes all doublings back at once, another one halves.
        busy(&mut w, 210, Some(3));
        w.advance(ms(300));
        assert_eq!((w.depth, w.window), (16, None));
        busy(&mut w, 310, Some(3));
        w.advance(ms(410));
        assert_eq!(w.depth, 8);
        // Windows are shorter now, by the root of two as an integer: 100 ms * 16 / 22.
        let five = 410 * MS + 5 * 72_727_272;
        w.advance(SimTime(five - 1));
        assert_eq!(w.depth, 8);
        w.advance(SimTime(five));
        assert_eq!((w.depth, w.window), (16, None));
    }

    /// Up to 6.1 who wants memory has a depth of his own: half, or a quarter near reads.
    #[test]
    fn kswapd_has_its_own_depth() {
        let mut w = Throttle::new(64, TARGET, false, false);
        let at_once = |w: &mut Throttle, now: SimTime, writer: Writer| {
            let mut n = 0;
            while w.lets_in(now, writer, 0) == Some(now) {
                w.note(now, SimTime(now.0 + 5 * MS), Some(writer));
                n += 1;
            }
            n
        };
        assert_eq!(at_once(&mut w, ms(0), Writer::Other), 8);
        assert_eq!(at_once(&mut w, ms(0), Writer::Kswapd), 16);
        w.note(ms(10), ms(11), None);
        assert_eq!(at_once(&mut w, ms(11), Writer::Other), 4);
        assert_eq!(at_once(&mut w, ms(11), Writer::Kswapd), 16);
    }
}
