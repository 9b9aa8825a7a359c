//! The controller of dirty throttling: how fast each writer may dirty pages, so that together they
//! are as fast as the device and dirty pages come to rest at the set point, midway between the
//! freerun ceiling and the limit.
//!
//! Two loops: the position ratio is 1 at the set point, 2 and more below, 0 at the limit; and the
//! base rate follows how many pages the device wrote for those that were dirtied, so that it
//! becomes the device's rate over the number of writers.
//!
//! Source: Linux 6.12 mm/page-writeback.c (`pos_ratio_polynom`, `wb_position_ratio`,
//! `wb_update_dirty_ratelimit`, `wb_update_write_bandwidth`, `update_dirty_limit`, `wb_max_pause`,
//! `wb_min_pause`). Left out: the part that one group has in what a disk writes for the machine; each
//! group on it has the part of the whole disk.

use crate::base::time::SimTime;

/// 1 as a fixed-point ratio (`RATELIMIT_CALC_SHIFT`).
pub(in crate::machine) const ONE: u64 = 1 << SHIFT;
const SHIFT: u32 = 10;
/// Rates that the kernel begins with: 100 MB/s, in pages a second.
const INIT_BANDWIDTH: u64 = 100 << 8;
/// Interval at which estimates are brought up to date (`BANDWIDTH_INTERVAL`: 200 ms).
const INTERVAL: u64 = 200_000_000;
/// Period of the estimate of the device's bandwidth: 4096 ms.
const PERIOD: u64 = 4_096_000_000;
/// Longest pause (`MAX_PAUSE`: 200 ms).
const MAX_PAUSE: u64 = 200_000_000;
/// Pages below which a pause is not worth it (`DIRTY_POLL_THRESH`).
const FEW: u64 = 32;
const SECOND: u64 = 1_000_000_000;

/// State of the controller for a domain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::machine) struct Control {
    /// Pages dirty or under write.
    pub all: u64,
    /// Those of them on the disk.
    pub on_disk: u64,
    /// Where they should come to rest.
    pub set_point: u64,
    /// The position ratio, of [`ONE`].
    pub ratio: u64,
}

/// The pages of a disk in a domain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::machine) struct Part {
    /// The limit of the domain, as it is now.
    pub of: u64,
    /// The part of it that the disk has.
    pub limit: u64,
    /// Pages dirty or under write on the disk.
    pub all: u64,
}

/// Factor on the base rate for writers to a disk with this many dirty pages, in units of [`ONE`].
pub(in crate::machine) fn position_ratio(
    all: u64,
    set_point: u64,
    limit: u64,
    write_bandwidth: u64,
    disk: Part,
) -> u64 {
    if all >= limit {
        return 0;
    }
    let (d, s, l) = (i128::from(all), i128::from(set_point), i128::from(limit));
    let x = ((s - d) << SHIFT) / ((l - s) | 1);
    let one = i128::from(ONE);
    let cube = (((x * x) >> SHIFT) * x) >> SHIFT;
    let ratio = (cube + one).clamp(0, 2 * one) as u64;
    // Dirty pages of the disk: a line that is 1 at its set point and 0 eight seconds of writes above;
    // one of several disks has its part of either, and a line as long as what the others have. A
    // disk that has written nothing yet may begin.
    let part = disk.limit.max((limit - all) / 8).min(disk.of);
    let scaled = |pages: u64| match part == disk.of {
        true => pages,
        false => (pages * ((part << 16) / disk.of)) >> 16,
    };
    let set_point = scaled(set_point);
    let span = scaled(disk.of - part + 8 * write_bandwidth);
    let zero = set_point + span;
    let ratio = match disk.all < zero - span / 4 {
        true => ratio * (zero - disk.all) / (span | 1),
        false => ratio / 4,
    };
    // Below half of its part it is in danger of running dry. A disk alone is not: below half of the
    // limit no writer is delayed.
    match part / 2 {
        reserve if part < disk.of && disk.all < reserve => {
            if disk.all > reserve / 8 {
                ratio * reserve / disk.all
            } else {
                ratio * 8
            }
        }
        _ => ratio,
    }
}

/// Bounds of a writer's pause, in ns, and the number of pages it may dirty before the next check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::machine) struct PauseBounds {
    pub shortest: u64,
    pub longest: u64,
    pub pages: u64,
}

/// State of the writers of a group and of the device that writes for them (`struct bdi_writeback`).
/// Rates in pages a second.
#[derive(Clone, Debug)]
pub(in crate::machine) struct Writeback {
    bandwidth: u64,
    average_bandwidth: u64,
    /// The base rate of each writer.
    ratelimit: u64,
    balanced: u64,
    updated: SimTime,
    dirtied: u64,
    written: u64,
    /// Limits of the machine and of the group, which sink slowly.
    pub limits: [u64; 2],
    limits_updated: SimTime,
}

impl Default for Writeback {
    fn default() -> Self {
        Writeback {
            bandwidth: INIT_BANDWIDTH,
            average_bandwidth: INIT_BANDWIDTH,
            ratelimit: INIT_BANDWIDTH,
            balanced: INIT_BANDWIDTH,
            updated: SimTime::ZERO,
            dirtied: 0,
            written: 0,
            limits: [0; 2],
            limits_updated: SimTime::ZERO,
        }
    }
}

impl Writeback {
    /// The rate at which the device writes for the group, smoothed.
    pub(in crate::machine) fn write_bandwidth(&self) -> u64 {
        self.average_bandwidth
    }

    /// A limit that rose is in force at once, one that sank by a 32nd of the way each time.
    pub(in crate::machine) fn follow_limits(
        &mut self,
        now: SimTime,
        limits: [u64; 2],
        all: [u64; 2],
    ) {
        let due = now.0 >= self.limits_updated.0 + INTERVAL;
        for ((held, limit), all) in self.limits.iter_mut().zip(limits).zip(all) {
            let low = limit.max(all);
            if *held < limit {
                *held = limit;
            } else if due && *held > low {
                *held -= (*held - low) >> 5;
            }
        }
        if due {
            self.limits_updated = now;
        }
    }

    /// Brings the estimates up to date if it is time, with how much was dirtied and written so far.
    pub(in crate::machine) fn update(
        &mut self,
        now: SimTime,
        dirtied: u64,
        written: u64,
        domains: [Option<Control>; 2],
    ) {
        // The clock of another CPU may be ahead, and have brought them up to date.
        let elapsed = now.0.saturating_sub(self.updated.0);
        if elapsed <= INTERVAL {
            return;
        }
        // A quiet time says nothing about rates.
        if elapsed <= SECOND {
            for control in domains.into_iter().flatten() {
                self.update_ratelimit(&control, dirtied - self.dirtied, elapsed);
            }
            self.update_bandwidth(written - self.written, elapsed);
        }
        (self.updated, self.dirtied, self.written) = (now, dirtied, written);
    }

    fn update_ratelimit(&mut self, c: &Control, dirtied: u64, elapsed: u64) {
        let dirty_rate = (u128::from(dirtied) * u128::from(SECOND) / u128::from(elapsed)) as u64;
        let bandwidth = self.average_bandwidth;
        let task = ((self.ratelimit * c.ratio) >> SHIFT) + 1;
        let balanced = task * bandwidth / (dirty_rate | 1);
        let balanced = balanced.min(bandwidth);
        let rates = [self.balanced, balanced, task];
        let step = if c.all < c.set_point {
            rates.into_iter().min().unwrap_or(0).saturating_sub(self.ratelimit)
        } else {
            self.ratelimit.saturating_sub(rates.into_iter().max().unwrap_or(0))
        };
        // Small steps are noise: they are made smaller still.
        let shift = self.ratelimit / (2 * step + 1);
        let step = if shift < 64 { (step >> shift).div_ceil(8) } else { 0 };
        self.ratelimit = if self.ratelimit < balanced {
            self.ratelimit + step
        } else {
            self.ratelimit.saturating_sub(step)
        }
        .max(1);
        self.balanced = balanced;
    }

    fn update_bandwidth(&mut self, written: u64, elapsed: u64) {
        let old = self.bandwidth;
        let mix = u128::from(written) * u128::from(SECOND)
            + u128::from(old) * u128::from(PERIOD - elapsed);
        let new = (mix / u128::from(PERIOD)) as u64;
        let average = &mut self.average_bandwidth;
        if *average > old && old >= new {
            *average -= (*average - old) >> 3;
        } else if *average < old && old <= new {
            *average += (old - *average) >> 3;
        }
        *average = (*average).max(1);
        self.bandwidth = new;
    }

    /// The rate of a writer at a position ratio.
    pub(in crate::machine) fn task_ratelimit(&self, ratio: u64) -> u64 {
        (self.ratelimit * ratio) >> SHIFT
    }

    /// Bounds of a pause with `all` dirty pages, for a writer of this rate. Pauses end long before
    /// the device has written all, so that it does not run dry.
    pub(in crate::machine) fn pause_bounds(&self, all: u64, rate: u64) -> PauseBounds {
        // An eighth of the time that the device takes for all, and a tick.
        let longest = MAX_PAUSE.min(all * (SECOND / 8) / self.average_bandwidth + 4_000_000);
        let faster = self.average_bandwidth.ilog2().saturating_sub(self.ratelimit.ilog2());
        let mut aim = 10_000_000 + u64::from(faster) * 9_765_625;
        aim = aim.min(4_000_000 + longest / 2);
        let mut pages = self.ratelimit * aim / SECOND;
        if pages < FEW {
            aim = longest;
            pages = self.ratelimit * aim / SECOND;
            if pages > FEW {
                pages = FEW;
                aim = SECOND * FEW / self.ratelimit;
            }
        }
        if SECOND * pages / (rate + 1) > longest {
            aim = longest;
            pages = rate * aim / SECOND;
        }
        PauseBounds { shortest: if pages >= FEW { aim / 2 } else { aim }, longest, pages }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The only disk.
    fn alone(all: u64) -> Part {
        Part { of: 2000, limit: 2000, all }
    }

    /// Worked from the formula of the kernel. At the set point of the machine, 1500 of 2000 pages, a
    /// disk with a quarter of the limit has its set point at 375 pages and its line ends 2375 pages
    /// above it: a quarter of the 1500 that others may have and of 8 seconds at 1000 pages.
    #[test]
    fn a_disk_is_held_to_its_part() {
        let ratio = |on_disk| {
            position_ratio(1500, 1500, 2000, 1000, Part { of: 2000, limit: 500, all: on_disk })
        };
        let line = |above: u64| ONE * (2375 - above) / 2375;
        for above in [0, 500, 1000] {
            assert_eq!(ratio(375 + above), line(above), "{above}");
        }
        // Far above it a quarter of the machine's ratio, below half of its part more than that.
        assert_eq!(ratio(2300), ONE / 4);
        assert_eq!(ratio(125), (ONE * 2625 / 2375) * 250 / 125);
        assert_eq!(ratio(31), (ONE * (2375 + 375 - 31) / 2375) * 8);
        // A disk that wrote nothing yet has an eighth of what is free.
        let begins = Part { of: 2000, limit: 0, all: 31 };
        assert!(position_ratio(1500, 1500, 2000, 1000, begins) > ONE / 2);
    }

    /// Another CPU, whose clock is ahead, has brought the estimates up to date: nothing is due.
    #[test]
    fn a_clock_that_is_behind_moves_no_estimate() {
        let mut wb = Writeback::default();
        wb.update(SimTime(2 * SECOND), 100, 100, [None, None]);
        let before = format!("{wb:?}");
        wb.update(SimTime(SECOND), 200, 200, [None, None]);
        assert_eq!(format!("{wb:?}"), before);
    }

    /// From the formula of the kernel: with a freerun ceiling of 1000 and a limit of 2000 pages the
    /// cubic part is 2, 1 and 0 at 1000, 1500 and 2000; the line of a device of 1000 pages a second is
    /// 8 seconds of writes long.
    #[test]
    fn the_ratio_is_one_at_the_set_point() {
        let ratio = |all| position_ratio(all, 1500, 2000, 1000, alone(all));
        // The kernel divides by the span and one: a little less than 1.
        assert_eq!(ratio(1500), ONE * 8000 / 8001);
        let at = |cube: f64, all: f64| cube * (1.0 - (all - 1500.0) / 8000.0) * ONE as f64;
        for (all, cube) in [(1000, 2.0), (1250, 1.125), (1750, 0.875), (1999, 0.006)] {
            let (got, want) = (ratio(all) as f64, at(cube, all as f64));
            // A span of 500 is divided by 501.
            assert!((got - want).abs() <= 0.01 * ONE as f64, "{all}: {got}, {want}");
        }
        assert_eq!([ratio(2000), ratio(3000)], [0, 0]);
    }

    /// Two writers on a device of 1000 pages a second: the base rate settles at half of that,
    /// wherever it began.
    #[test]
    fn the_base_rate_is_the_share_of_a_writer() {
        let mut wb = Writeback::default();
        let (mut dirty, mut dirtied, mut written) = (1500.0_f64, 0.0_f64, 0.0_f64);
        for i in 1..2000_u64 {
            let all = dirty as u64;
            let ratio = position_ratio(all, 1500, 2000, wb.write_bandwidth(), alone(all));
            let control = Control { all, on_disk: all, set_point: 1500, ratio };
            let rate = 2.0 * wb.task_ratelimit(ratio) as f64;
            let step = rate * 0.21;
            dirtied += step;
            written += 210.0;
            dirty = (dirty + step - 210.0).clamp(1000.0, 2000.0);
            wb.update(
                SimTime(i * 210_000_000),
                dirtied as u64,
                written as u64,
                [Some(control), None],
            );
        }
        assert!((450..=550).contains(&wb.ratelimit), "{}", wb.ratelimit);
        assert!((950..=1050).contains(&wb.write_bandwidth()), "{}", wb.write_bandwidth());
        // At rest in the middle half between the freerun ceiling and the limit.
        assert!((1250.0..1750.0).contains(&dirty), "{dirty}");
    }
}
