//! The 24 workloads of PARSEC3 and SPLASH-2X as far as they are known: how long each runs, how much memory it
//! has, and how a scheme that paged out what was not used for five seconds fared with it.
//!
//! Runtime, resident set and memory in use without a scheme were measured for each workload in July 2022,
//! on the machine of the source and a later kernel; from there they are read. How the resident set is used is
//! not known. Here a share of it is idle after the first twentieth of the run, a share is swept once
//! in a period, and the rest is hot; page cache is read once. The shares and the period are solved from
//! what was measured of a scheme on virtual addresses the same day. A page that is swept leaves 5 s after
//! its use and faults once in a period, so faults say how much is swept. Of the resident set that
//! scheme took `idle (1 - 10 s / runtime) + swept (1 - 5 s / period)`, which gives what is idle. The period is
//! 10 s, or shorter where the faults are too many for what was taken.

use super::super::lab::{Lab, Sets};
use super::super::published::Published;
use super::super::study::Study;
use super::value;

/// Where the workloads were measured.
pub(super) const DAY: &str = "daily-2022-vaddr";

/// Seconds without use after which that scheme took a page.
const COLD: f64 = 5.0;
/// The longest period in which something is swept, and the shortest, in seconds.
const PERIODS: (f64, f64) = (6.0, 10.0);

/// A workload as it was measured.
pub(super) struct Workload {
    /// Its name in the published tables.
    pub(super) name: &'static str,
}

/// Use that a workload makes of its resident set.
#[derive(Clone, Copy, Debug)]
struct Shares {
    /// The part that is swept once in a period.
    swept: f64,
    /// The period, in seconds.
    period: f64,
    /// The part that is idle after the first twentieth of the run.
    idle: f64,
}

pub(super) const WORKLOADS: [Workload; 24] = [
    Workload { name: "parsec3/blackscholes" },
    Workload { name: "parsec3/bodytrack" },
    Workload { name: "parsec3/canneal" },
    Workload { name: "parsec3/dedup" },
    Workload { name: "parsec3/facesim" },
    Workload { name: "parsec3/fluidanimate" },
    Workload { name: "parsec3/freqmine" },
    Workload { name: "parsec3/raytrace" },
    Workload { name: "parsec3/streamcluster" },
    Workload { name: "parsec3/swaptions" },
    Workload { name: "parsec3/vips" },
    Workload { name: "parsec3/x264" },
    Workload { name: "splash2x/barnes" },
    Workload { name: "splash2x/fft" },
    Workload { name: "splash2x/lu_cb" },
    Workload { name: "splash2x/lu_ncb" },
    Workload { name: "splash2x/ocean_cp" },
    Workload { name: "splash2x/ocean_ncp" },
    Workload { name: "splash2x/radiosity" },
    Workload { name: "splash2x/radix" },
    Workload { name: "splash2x/raytrace" },
    Workload { name: "splash2x/volrend" },
    Workload { name: "splash2x/water_nsquared" },
    Workload { name: "splash2x/water_spatial" },
];

impl Workload {
    fn of(&self, published: &Published, column: &str) -> f64 {
        measured(published, DAY, self.name, column)
    }

    /// The shares that the scheme on virtual addresses tells of.
    fn shares(&self, published: &Published) -> Shares {
        let of = |column: &str| self.of(published, column);
        let (runtime, pages) = (of("runtime"), of("rss") / 4.0);
        let faults = (of("majfaults_prcl") - of("majfaults")).max(0.0);
        let taken = (1.0 - of("rss_prcl") / of("rss")).max(0.0);
        let longest = COLD + taken * pages * runtime / faults.max(1.0);
        let period = longest.clamp(PERIODS.0, PERIODS.1);
        let swept = (faults * period / (pages * runtime)).min(1.0);
        let idle = (taken - swept * (1.0 - COLD / period)) / (1.0 - 2.0 * COLD / runtime);
        Shares { swept, period, idle: idle.clamp(0.0, 1.0 - swept) }
    }
}

/// A published figure of a workload.
pub(super) fn measured(published: &Published, table: &str, name: &str, column: &str) -> f64 {
    let t = published.table(table);
    let is = |c: &super::Cell<'_>| c.key("workload") == name && c.column() == column;
    published.cells(t).find(is).map(|c| c.value()).unwrap_or_else(|| panic!("{table}: no {name}"))
}

/// Settings of the scenario for a workload.
pub(super) fn sets(
    lab: &Lab<'_>,
    study: &Study,
    published: &Published,
    workload: &Workload,
) -> Sets {
    let shares = workload.shares(published);
    let of = |column: &str| workload.of(published, column);
    let runtime = of("runtime") * 1e9;
    let resident = of("rss") / 4.0;
    // What is read at constant speed is in memory for half of the run, and the published figure a mean.
    let other = 2.0 * (of("memused") / 4.0 - resident).max(0.0);

    // Blocks of about a second, of which a twentieth is a whole number; turns that fill a block.
    let first = (runtime / 20e9).round().max(1.0);
    let blocks = 20.0 * first;
    let turns = (runtime / blocks / (value(lab, study, "turn") * 1e6)).ceil();
    let turn = runtime / blocks / turns;

    let part = |share: f64| (resident * share).round();
    let spread = value(lab, study, "spread") / 100.0;
    let half = (part(shares.swept) / 2.0).round().max(1.0);
    let window = |period: f64| (half * turn / (period * 1e9)).round().clamp(1.0, half);
    let fast = window(shares.period * (1.0 - spread));
    let slow = window(shares.period * (1.0 + spread));
    let idle = (part(shares.idle) / first).round().max(1.0);
    let hot = (part(1.0 - shares.swept - shares.idle)).max(1.0);
    let file = (other / blocks).floor().max(1.0);
    let compute = turn - (fast + slow + hot) * value(lab, study, "hit");

    let mut sets: Sets = Vec::new();
    let mut set = |path: &str, value: f64, unit: &str| {
        sets.push((path.to_string(), format!("{value}{unit}")));
    };
    for (region, pages) in [
        ("file", file * blocks),
        ("idle", idle * first),
        ("fast", half),
        ("slow", half),
        ("hot", hot),
    ] {
        set(&format!("task[0].regions.{region}.memory"), pages, " pages");
    }
    for (step, times, inner) in [(4, first, 2), (5, blocks - first, 1)] {
        let step = format!("task[0].steps[{step}]");
        set(&format!("{step}.times"), times, "");
        set(&format!("{step}.steps[0].size"), file, " pages");
        if inner == 2 {
            set(&format!("{step}.steps[1].size"), idle, " pages");
        }
        let turn = format!("{step}.steps[{inner}]");
        set(&format!("{turn}.times"), turns, "");
        set(&format!("{turn}.steps[0].size"), fast, " pages");
        set(&format!("{turn}.steps[1].size"), slow, " pages");
        set(&format!("{turn}.steps[3].time"), compute.round(), "ns");
    }
    sets
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shares are shares, and every workload of the tables has its own.
    #[test]
    fn shares_are_of_a_whole() {
        let published = Published::read(super::super::family().published);
        let rows = &published.table(DAY).rows;
        for (w, row) in WORKLOADS.iter().zip(rows) {
            assert_eq!(row.keys["workload"].as_str(), Some(w.name));
            let s = w.shares(&published);
            assert!(
                s.swept >= 0.0 && s.idle >= 0.0 && s.swept + s.idle <= 1.0,
                "{}: {s:?}",
                w.name
            );
        }
        assert_eq!(rows.len(), WORKLOADS.len());
    }

    /// facesim lost 0.3752 of 77,941 pages, with 858,877 faults in 353.18 s: 0.312 is swept in 10
    /// s, which accounts for half as much, and 0.2252 idle. Of bodytrack all is swept, in 6 s,
    /// since 964,841 faults are more than its 8109 pages can have in 10 s.
    #[test]
    fn shares_are_solved_from_faults() {
        let published = Published::read(super::super::family().published);
        let of = |name: &str| {
            let w = WORKLOADS.iter().find(|w| w.name == name).expect("a workload");
            w.shares(&published)
        };
        let s = of("parsec3/facesim");
        let near = |a: f64, b: f64| (a - b).abs() < 0.001;
        assert!(near(s.swept, 0.312) && near(s.period, 10.0) && near(s.idle, 0.2255), "{s:?}");
        let s = of("parsec3/bodytrack");
        assert!(near(s.swept, 1.0) && near(s.period, 6.0) && near(s.idle, 0.0), "{s:?}");
    }
}
