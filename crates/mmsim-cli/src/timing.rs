//! Cost of a command on the host. The only place that reads the host's clock: the figures go to
//! stderr, to `--timing FILE` and to what `bench-trace` prints, never into reports.

use std::time::Instant;

use mmsim::report::numbers::grouped;

/// Wall and CPU time since it was started.
pub(crate) struct Stopwatch {
    wall: Instant,
    cpu: Option<f64>,
}

/// Cost of the runs.
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

/// Seconds of CPU that the process has used so far, all threads, where the system tells.
pub(crate) fn cpu_seconds() -> Option<f64> {
    #[cfg(unix)]
    {
        use rustix::time::{ClockId, clock_gettime};
        let t = clock_gettime(ClockId::ProcessCPUTime);
        Some(t.tv_sec as f64 + t.tv_nsec as f64 * 1e-9)
    }
    #[cfg(not(unix))]
    None
}

/// The largest memory that the process had since a beginning.
pub(crate) struct Peak {
    before: u64,
}

impl Peak {
    /// Begins to measure, where the system can (only Linux does).
    pub(crate) fn begin() -> Option<Peak> {
        // proc_pid_clear_refs(5): 5 makes VmHWM what is resident now.
        std::fs::write("/proc/self/clear_refs", "5").ok()?;
        Some(Peak { before: Peak::bytes()? })
    }

    /// Bytes that the process grew by at most.
    pub(crate) fn grown(&self) -> Option<u64> {
        Some(Peak::bytes()?.saturating_sub(self.before))
    }

    fn bytes() -> Option<u64> {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
        Some(kib << 10)
    }
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
