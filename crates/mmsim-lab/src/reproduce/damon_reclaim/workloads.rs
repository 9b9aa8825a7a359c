//! The 24 workloads of PARSEC3 and SPLASH-2X as far as they are known: how long each runs, how much memory it
//! has, and how a scheme that paged out what was not used for five seconds fared with it.
//!
//! Runtime, resident set and memory in use without a scheme are published, per workload, with the
//! evaluation of an earlier posting; from there they are read. How the resident set is used is not known.
//! Here a share of it is idle after the first twentieth of the run, a share is swept once in a
//! period, and the rest is hot; page cache is read once. The shares and the period are solved from what the
//! same evaluation says of the scheme, which worked on virtual addresses there: of the resident set
//! it took `idle (1 - 10 s / runtime) + swept (1 - 5 s / period)`, and the runtime grew by 15 us
//! for each page swept. Where no share swept explains the slowdown all is hot. The period is hardly determined
//! (6 to 20 s do for most), and 10 s where nothing says otherwise.

use super::super::lab::{Lab, Sets};
use super::super::published::Published;
use super::value;

/// How a workload uses its resident set.
pub(super) struct Shares {
    /// Its name in the published tables.
    pub(super) name: &'static str,
    /// Swept once in a period, of 100 pages.
    swept: f64,
    /// The period, in seconds.
    period: f64,
    /// Idle after the first twentieth of the run, of 100 pages.
    idle: f64,
}

const fn shares(name: &'static str, swept: f64, period: f64, idle: f64) -> Shares {
    Shares { name, swept, period, idle }
}

pub(super) const WORKLOADS: [Shares; 24] = [
    shares("parsec3/blackscholes", 42.0, 10.0, 41.0),
    shares("parsec3/bodytrack", 66.0, 10.0, 11.0),
    shares("parsec3/canneal", 0.0, 10.0, 2.0),
    shares("parsec3/dedup", 37.0, 15.0, 57.0),
    shares("parsec3/facesim", 59.0, 10.0, 11.0),
    shares("parsec3/fluidanimate", 0.0, 10.0, 18.0),
    shares("parsec3/freqmine", 12.0, 10.0, 88.0),
    shares("parsec3/raytrace", 36.0, 10.0, 55.0),
    shares("parsec3/streamcluster", 0.0, 10.0, 1.0),
    shares("parsec3/swaptions", 0.0, 10.0, 0.0),
    shares("parsec3/vips", 42.0, 6.0, 4.0),
    shares("parsec3/x264", 0.0, 10.0, 1.0),
    shares("splash2x/barnes", 88.0, 12.0, 12.0),
    shares("splash2x/fft", 14.0, 10.0, 29.0),
    shares("splash2x/lu_cb", 56.0, 10.0, 11.0),
    shares("splash2x/lu_ncb", 17.0, 10.0, 12.0),
    shares("splash2x/ocean_cp", 24.0, 10.0, 19.0),
    shares("splash2x/ocean_ncp", 49.0, 10.0, 16.0),
    shares("splash2x/radiosity", 28.0, 30.0, 72.0),
    shares("splash2x/radix", 65.0, 10.0, 6.0),
    shares("splash2x/raytrace", 0.0, 10.0, 46.0),
    shares("splash2x/volrend", 81.0, 8.0, 2.0),
    shares("splash2x/water_nsquared", 0.0, 10.0, 24.0),
    shares("splash2x/water_spatial", 57.0, 10.0, 28.0),
];

/// A published figure of a workload without a scheme.
fn original(published: &Published, table: &str, name: &str) -> f64 {
    let t = published.table(table);
    let is = |c: &super::Cell<'_>| c.key("workload") == name && c.column() == "orig";
    published.cells(t).find(is).map(|c| c.value()).unwrap_or_else(|| panic!("{table}: no {name}"))
}

/// What a workload puts into the scenario.
pub(super) fn sets(lab: &Lab<'_>, published: &Published, shares: &Shares) -> Sets {
    let of = |table: &str| original(published, table, shares.name);
    let runtime = of("v21-vaddr-runtime") * 1e9;
    let resident = of("v21-vaddr-rss") / 4.0;
    // What is read at constant speed is in memory for half of the run, and the published figure a mean.
    let other = 2.0 * (of("v21-vaddr-memused") / 4.0 - resident).max(0.0);

    // Blocks of about a second, of which a twentieth is a whole number; turns that fill a block.
    let first = (runtime / 20e9).round().max(1.0);
    let blocks = 20.0 * first;
    let turns = (runtime / blocks / (value(lab, "turn") * 1e6)).ceil();
    let turn = runtime / blocks / turns;

    let part = |percent: f64| (resident * percent / 100.0).round();
    let spread = value(lab, "spread") / 100.0;
    let half = (part(shares.swept) / 2.0).round().max(1.0);
    let window = |period: f64| (half * turn / (period * 1e9)).round().clamp(1.0, half);
    let fast = window(shares.period * (1.0 - spread));
    let slow = window(shares.period * (1.0 + spread));
    let idle = (part(shares.idle) / first).round().max(1.0);
    let hot = (part(100.0 - shares.swept - shares.idle)).max(1.0);
    let file = (other / blocks).floor().max(1.0);
    let compute = turn - (fast + slow + hot) * value(lab, "hit");

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
        let published = Published::read(super::super::FAMILY.published);
        let rows = &published.table("v21-vaddr-rss").rows;
        for (w, row) in WORKLOADS.iter().zip(rows) {
            assert_eq!(row.keys["workload"].as_str(), Some(w.name));
            assert!(w.swept + w.idle <= 100.0 && w.period > 5.0, "{}", w.name);
        }
        assert_eq!(rows.len(), WORKLOADS.len() + 1, "and the total");
    }
}
