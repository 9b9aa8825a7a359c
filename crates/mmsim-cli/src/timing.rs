//! What a command costs the host. The only place that reads the host's clock: the figures
//! go to stderr and to `--timing FILE`, never into results.

use std::time::Instant;

use mmsim::report::derived::grouped;

/// Ticks per second of the times in `/proc/self/stat`: fixed by Linux's ABI.
const USER_HZ: f64 = 100.0;

/// Wall and CPU time since it was started.
pub(crate) struct Stopwatch {
    wall: Instant,
    cpu: Option<f64>,
}

/// What the runs cost.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Cost {
    /// Seconds on the wall.
    pub wall_s: f64,
    /// Seconds of CPU over all threads, where the system tells.
    pub cpu_s: Option<f64>,
    /// Runs.
    pub runs: usize,
    /// Simulated accesses of all runs.
    pub accesses: u64,
    /// Largest number of host bytes per simulated frame of all runs.
    pub bytes_per_frame: Option<f64>,
}

/// Seconds of CPU that the process has used so far.
fn cpu_seconds() -> Option<f64> {
    parse_stat(&std::fs::read_to_string("/proc/self/stat").ok()?)
}

fn parse_stat(stat: &str) -> Option<f64> {
    // The name in parentheses can hold anything; after it come state (field 3) and so on to
    // utime and stime (fields 14 and 15).
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    Some((ticks()? + ticks()?) as f64 / USER_HZ)
}

impl Stopwatch {
    #[allow(clippy::disallowed_methods, reason = "times the program itself; decides nothing")]
    pub(crate) fn start() -> Stopwatch {
        Stopwatch { wall: Instant::now(), cpu: cpu_seconds() }
    }

    /// The cost so far.
    pub(crate) fn cost(&self, runs: usize, accesses: u64, bytes_per_frame: Option<f64>) -> Cost {
        Cost {
            wall_s: self.wall.elapsed().as_secs_f64(),
            cpu_s: self.cpu.and_then(|before| Some(cpu_seconds()? - before)),
            runs,
            accesses,
            bytes_per_frame,
        }
    }
}

impl Cost {
    fn per_cpu_second(&self) -> Option<f64> {
        self.cpu_s.filter(|&s| s > 0.0).map(|s| self.accesses as f64 / s)
    }

    /// One line for stderr.
    pub(crate) fn line(&self) -> String {
        let mut line =
            format!("{} accesses in {:.2} s", grouped(self.accesses as f64), self.wall_s);
        if self.wall_s > 0.0 {
            line += &format!(": {} per s", grouped((self.accesses as f64 / self.wall_s).round()));
        }
        if let Some(rate) = self.per_cpu_second() {
            line += &format!(", {} per s of CPU", grouped(rate.round()));
        }
        if let Some(bytes) = self.bytes_per_frame {
            line += &format!("; {bytes:.1} bytes per simulated frame");
        }
        line
    }

    /// The document of `--timing`.
    pub(crate) fn json(&self) -> String {
        let document = serde_json::json!({
            "schema": 1,
            "runs": self.runs,
            "accesses": self.accesses,
            "wall_s": self.wall_s,
            "cpu_s": self.cpu_s,
            "accesses_per_wall_s": (self.wall_s > 0.0).then(|| self.accesses as f64 / self.wall_s),
            "accesses_per_cpu_s": self.per_cpu_second(),
            "bytes_per_frame": self.bytes_per_frame,
        });
        format!("{document:#}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_from_proc() {
        let stat = "42 (a) b) S 1 2 3 4 5 6 7 8 9 10 150 50 0 0 20 0";
        assert_eq!(parse_stat(stat), Some(2.0));
        assert_eq!(parse_stat("nonsense"), None);
    }

    #[test]
    fn a_line_for_stderr() {
        let cost = Cost {
            wall_s: 2.0,
            cpu_s: Some(4.0),
            runs: 2,
            accesses: 10_000_000,
            bytes_per_frame: Some(23.96),
        };
        assert_eq!(
            cost.line(),
            "10,000,000 accesses in 2.00 s: 5,000,000 per s, 2,500,000 per s of CPU; 24.0 bytes \
             per simulated frame"
        );
        assert!(cost.json().contains("\"accesses_per_cpu_s\": 2500000.0"));
        let unknown = Cost { cpu_s: None, bytes_per_frame: None, ..cost };
        assert_eq!(unknown.line(), "10,000,000 accesses in 2.00 s: 5,000,000 per s");
    }
}
