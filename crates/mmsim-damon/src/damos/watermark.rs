//! Watermarks: when a scheme works at all.
//!
//! With much free memory there is no need to act, with hardly any it is too late. A scheme is
//! switched off outside of high and low; once off, it comes back only between mid and low. While
//! no scheme of a context is on, the context sleeps: nothing is sampled, no region ages.
//!
//! Linux 6.12 `mm/damon/core.c` (`damos_wmark_wait_us()`, `kdamond_wait_activation()`).

/// Metric that watermarks are compared with (`enum damos_wmark_metric`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WmarkMetric {
    /// Nothing: the scheme is not switched.
    None,
    /// Free pages per thousand.
    FreeMemRate,
}

/// When a scheme works (`struct damos_watermarks`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Watermarks {
    /// Metric that the marks are compared with.
    pub metric: WmarkMetric,
    /// Time to sleep before the next look, in µs.
    pub interval_us: u64,
    /// Above this the scheme is off.
    pub high: u64,
    /// Below this a scheme that is off comes back.
    pub mid: u64,
    /// Below this the scheme is off.
    pub low: u64,
}

impl Watermarks {
    /// A scheme that is not switched.
    pub const NONE: Watermarks =
        Watermarks { metric: WmarkMetric::None, interval_us: 0, high: 0, mid: 0, low: 0 };

    /// Switches a scheme by the free pages per thousand. Returns how long it asks to sleep, in µs;
    /// 0 if it is active.
    pub fn wait_us(&self, activated: &mut bool, free_mem_rate: u64) -> u64 {
        if self.metric == WmarkMetric::None {
            return 0;
        }
        let outside = free_mem_rate > self.high || free_mem_rate < self.low;
        *activated = !outside && (*activated || free_mem_rate < self.mid);
        if *activated { 0 } else { self.interval_us }
    }
}
