//! The averages of `/proc/pressure/memory`, as fixed-point numbers that move once a period.

use crate::workload::{PERCENT, PressureAverages};

/// Remainders of an average over 10, 60 and 300 s after a period: exp(-2 s / span), in 1/2048.
const REMAINS: [u64; 3] = [1677, 1981, 2034];

/// The averages after a period of `period` ns with these times of some and of full stall.
pub(super) fn after(a: PressureAverages, [some, full]: [u64; 2], period: u64) -> PressureAverages {
    PressureAverages { some: sampled(a.some, some, period), full: sampled(a.full, full, period) }
}

/// Lets an average fade by one period and adds the share `now`, in the same unit. A rising
/// average is rounded up, so that constant pressure is reached.
fn fade(average: u64, remains: u64, now: u64) -> u64 {
    let sum = average * remains + now * (PERCENT - remains);
    if now >= average { sum.div_ceil(PERCENT) } else { sum / PERCENT }
}

/// The averages after a period with `ns` of pressure, in whole per cent of it.
fn sampled(averages: [u64; 3], ns: u64, period: u64) -> [u64; 3] {
    let now = (u128::from(ns) * 100 / u128::from(period)) as u64 * PERCENT;
    std::array::from_fn(|i| fade(averages[i], REMAINS[i], now))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: u64 = 2_000_000_000;

    fn shown(average: u64) -> f64 {
        let (whole, hundredths) = PressureAverages::digits(average);
        whole as f64 + hundredths as f64 / 100.0
    }

    /// A full stall of 18 s, then none: what two-second updates show, worked with the kernel's
    /// constants (`calc_load`).
    #[test]
    fn a_full_stall_is_a_staircase() {
        let mut a = PressureAverages::default();
        let mut step = |share: u64| {
            a = after(a, [PERIOD * share / 100; 2], PERIOD);
            [shown(a.full[0]), shown(a.full[1])]
        };
        let up: Vec<[f64; 2]> = (0..9).map(|_| step(100)).collect();
        let avg10 = [18.11, 32.94, 45.09, 55.04, 63.18, 69.85, 75.31, 79.78, 83.44];
        assert_eq!(up.iter().map(|u| u[0]).collect::<Vec<_>>(), avg10);
        let avg60 = [3.27, 6.43, 9.49, 12.45, 15.32];
        assert_eq!(up.iter().take(5).map(|u| u[1]).collect::<Vec<_>>(), avg60);
        (9..15).for_each(|_| {
            step(100);
        });
        let down: Vec<f64> = (0..5).map(|_| step(0)[0]).collect();
        assert_eq!(down, [77.80, 63.70, 52.16, 42.71, 34.97]);
    }

    /// The time until avg10 is shown above 60 for a steady share; 60 % never gets there.
    #[test]
    fn a_share_takes_its_time_to_be_seen() {
        let seen = |share: u64| {
            let mut a = PressureAverages::default();
            (1..1000).find(|_| {
                a = after(a, [PERIOD / 100 * share; 2], PERIOD);
                shown(a.full[0]) > 60.0
            })
        };
        let expected = [(100, 10), (91, 12), (82, 14), (76, 16), (73, 18), (70, 20), (67, 24)];
        for (share, seconds) in expected.into_iter().chain([(64, 28), (61, 42)]) {
            assert_eq!(seen(share), Some(seconds / 2), "{share} %");
        }
        assert_eq!(seen(60), None);
    }
}
