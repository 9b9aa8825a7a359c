//! The form of recorded decisions, and what is wrong with a file that is not of it.

use mmsim_lru::classic::formulas::PerList;
use mmsim_lru::index::{ANON, FILE, PerType};
use serde::Deserialize;

use super::ROOM;
use crate::validate::point::{Experiment, Point};

/// First priority of a reclaim (`DEF_PRIORITY`).
pub(super) const DEF_PRIORITY: u64 = 12;

/// Most generations of a type (`MAX_NR_GENS`).
const MAX_NR_GENS: u64 = 4;

/// More than any number of pages or generations.
const MOST: u64 = 1 << 40;

/// One recording of decisions, as its file has it.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Recording {
    pub kernel: String,
    pub lru: String,
    pub experiment: String,
    pub point: String,
    pub repetition: usize,
    pub swappiness: u64,
    pub phases: Vec<String>,
    pub columns: Vec<String>,
    pub calls: Vec<Vec<u64>>,
}

/// Inputs and results of the classic LRU in one call of `shrink_lruvec()`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Scan {
    pub sizes: PerList,
    pub cost: PerType<u64>,
    pub trim: bool,
    pub tiny: bool,
    pub targets: PerList,
}

/// Inputs and results of MGLRU in one step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Step {
    pub kind: Kind,
    pub max_seq: u64,
    pub min_seq: PerType<u64>,
    /// By place of the generation, anonymous pages first.
    pub sizes: [[u64; 2]; 4],
    pub nr_to_scan: u64,
    pub scanned: u64,
}

/// Steps of MGLRU that are recorded, by their number in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// `shrink_one()` begins.
    Visit,
    /// `evict_folios()`.
    Evict,
    /// `try_to_inc_max_seq()`.
    Age,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum What {
    Scan(Scan),
    Step(Step),
}

/// One recorded call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Call {
    /// Its place in the file, from 1.
    pub number: usize,
    pub phase: usize,
    pub kswapd: bool,
    pub priority: u64,
    pub what: What,
    pub result: Done,
}

/// Result of a call, in pages: looked at by the classic LRU or isolated by MGLRU, and evicted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Done {
    /// Looked at (classic LRU) or isolated (MGLRU).
    pub scanned: u64,
    /// Evicted.
    pub reclaimed: u64,
}

impl Done {
    /// Within 10 % or [`ROOM`] pages.
    pub(super) fn near(self, recorded: Done) -> bool {
        let near = |a: u64, b: u64| a.abs_diff(b) <= ROOM.max(b / 10);
        near(self.scanned, recorded.scanned) && near(self.reclaimed, recorded.reclaimed)
    }
}

impl Recording {
    /// Its calls, checked.
    pub(super) fn read(&self) -> Result<Vec<Call>, String> {
        let at = |name: &str| {
            let place = self.columns.iter().position(|c| c == name);
            place.ok_or_else(|| format!("`columns` has no \"{name}\""))
        };
        let mglru = match self.lru.as_str() {
            "classic" => false,
            "mglru" => true,
            other => return Err(format!("`lru` is \"{other}\", write \"classic\" or \"mglru\"")),
        };
        if self.calls.is_empty() {
            return Err("`calls` is empty".into());
        }
        if self.swappiness > 200 {
            return Err(format!("`swappiness` is {}, 0 to 200 are possible", self.swappiness));
        }
        let common = [at("phase")?, at("kswapd")?, at("priority")?];
        let own: Vec<usize> = match mglru {
            false => SCAN.iter().map(|n| at(n)).collect::<Result<_, _>>()?,
            true => STEP.iter().map(|n| at(n)).collect::<Result<_, _>>()?,
        };
        let read = |(i, row): (usize, &Vec<u64>)| {
            if row.len() != self.columns.len() {
                let (n, all) = (row.len(), self.columns.len());
                return Err(format!("call {} has {n} numbers for {all} columns", i + 1));
            }
            if let Some(c) = row.iter().position(|&n| n > MOST) {
                let name = &self.columns[c];
                return Err(format!(
                    "call {}: `{name}` is {}, at most 2^40 is possible",
                    i + 1,
                    row[c]
                ));
            }
            let [phase, kswapd, priority] = common.map(|c| row[c]);
            if phase as usize >= self.phases.len() {
                return Err(format!("call {}: there is no phase {phase}", i + 1));
            }
            if priority > DEF_PRIORITY {
                return Err(format!("call {}: priority {priority}, 0 to 12 are possible", i + 1));
            }
            let of: Vec<u64> = own.iter().map(|&c| row[c]).collect();
            let (what, result) = if mglru { step(&of, i)? } else { scan(&of) };
            if result.reclaimed > result.scanned {
                let Done { scanned, reclaimed } = result;
                return Err(format!("call {}: {reclaimed} pages evicted of {scanned}", i + 1));
            }
            Ok(Call {
                number: i + 1,
                phase: phase as usize,
                kswapd: kswapd != 0,
                priority,
                what,
                result,
            })
        };
        self.calls.iter().enumerate().map(read).collect()
    }

    pub(super) fn point_of<'a>(&self, experiments: &'a [Experiment]) -> Result<&'a Point, String> {
        let own = experiments.iter().filter(|e| e.experiment == self.experiment);
        let point = own.flat_map(|e| &e.points).find(|p| p.id == self.point);
        let point = point.ok_or_else(|| {
            format!("there is no point `{}` of `{}`", self.point, self.experiment)
        })?;
        if (&point.lru, &point.kernel) != (&self.lru, &self.kernel) {
            return Err(format!(
                "it is of Linux {} ({}), and the point `{}` of Linux {} ({})",
                self.kernel, self.lru, self.point, point.kernel, point.lru
            ));
        }
        if self.repetition >= point.repetitions {
            let n = point.repetitions;
            return Err(format!("`repetition` is {}, the point has {n}, from 0", self.repetition));
        }
        let mut names = point.phases.iter();
        for phase in &self.phases {
            if !names.any(|p| p.phase == *phase) {
                return Err(format!("`phases`: the point has no phase \"{phase}\" in this order"));
            }
        }
        Ok(point)
    }
}

impl Call {
    /// True if it scans: visits and agings do not.
    pub(super) fn scans(&self) -> bool {
        !matches!(self.what, What::Step(Step { kind: Kind::Visit | Kind::Age, .. }))
    }
}

/// Columns of the classic LRU, in the order of [`scan`].
pub(super) const SCAN: [&str; 16] = [
    "inactive_anon",
    "active_anon",
    "inactive_file",
    "active_file",
    "target_inactive_anon",
    "target_active_anon",
    "target_inactive_file",
    "target_active_file",
    "anon_cost",
    "file_cost",
    "cache_trim_mode",
    "file_is_tiny",
    "scanned_anon",
    "scanned_file",
    "reclaimed_anon",
    "reclaimed_file",
];

fn scan(of: &[u64]) -> (What, Done) {
    let scan = Scan {
        sizes: [of[0], of[1], of[2], of[3]],
        targets: [of[4], of[5], of[6], of[7]],
        cost: PerType::new([of[8], of[9]]),
        trim: of[10] != 0,
        tiny: of[11] != 0,
    };
    (What::Scan(scan), Done { scanned: of[12] + of[13], reclaimed: of[14] + of[15] })
}

/// Columns of MGLRU, in the order of [`step`].
pub(super) const STEP: [&str; 17] = [
    "step",
    "max_seq",
    "min_seq_anon",
    "min_seq_file",
    "n00",
    "n01",
    "n10",
    "n11",
    "n20",
    "n21",
    "n30",
    "n31",
    "nr_to_scan",
    "scanned_anon",
    "scanned_file",
    "taken",
    "reclaimed",
];

fn step(of: &[u64], i: usize) -> Result<(What, Done), String> {
    let kind = match of[0] {
        0 => Kind::Visit,
        1 => Kind::Evict,
        2 => Kind::Age,
        n => return Err(format!("call {}: step {n}, 0 to 2 are possible", i + 1)),
    };
    let (max_seq, min_seq) = (of[1], PerType::new([of[2], of[3]]));
    for oldest in [min_seq[ANON], min_seq[FILE]] {
        if oldest > max_seq || max_seq - oldest >= MAX_NR_GENS {
            return Err(format!(
                "call {}: generations {oldest} to {max_seq}, 1 to 4 can be",
                i + 1
            ));
        }
    }
    let sizes = [[of[4], of[5]], [of[6], of[7]], [of[8], of[9]], [of[10], of[11]]];
    let scanned = of[13] + of[14];
    let step = Step { kind, max_seq, min_seq, sizes, nr_to_scan: of[12], scanned };
    Ok((What::Step(step), Done { scanned: of[15], reclaimed: of[16] }))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    const HEAD: &str = "\"kernel\":\"6.12.117\",\"experiment\":\"e\",\"point\":\"p\",\
                        \"repetition\":0,\"swappiness\":60,\"phases\":[\"populate\"]";

    pub(crate) fn recording(lru: &str, columns: &[&str], calls: &str) -> Recording {
        let columns = ["phase", "kswapd", "priority"].iter().chain(columns);
        let columns: Vec<String> = columns.map(|c| format!("\"{c}\"")).collect();
        let text = format!(
            "{{{HEAD},\"lru\":\"{lru}\",\"columns\":[{}],\"calls\":[{calls}]}}",
            columns.join(",")
        );
        serde_json::from_str(&text).expect("a recording")
    }

    #[test]
    fn results_are_near_within_a_tenth_or_a_batch() {
        let of = |scanned, reclaimed| Done { scanned, reclaimed };
        assert!(of(64, 0).near(of(0, 64)));
        assert!(!of(65, 0).near(of(0, 0)));
        assert!(of(1100, 1000).near(of(1000, 1000)));
        assert!(!of(1101, 1000).near(of(1000, 1000)));
    }

    #[test]
    fn wrong_calls_are_refused() {
        let said = |lru: &str, columns: &[&str], calls: &str| {
            recording(lru, columns, calls).read().expect_err(calls)
        };
        assert_eq!(said("mglru", &SCAN, "[0]"), "`columns` has no \"step\"");
        assert_eq!(said("lru", &SCAN, "[0]"), "`lru` is \"lru\", write \"classic\" or \"mglru\"");
        assert_eq!(said("classic", &SCAN, "[0,1]"), "call 1 has 2 numbers for 19 columns");
        let row = |head: &str| format!("[{head}{}]", ",0".repeat(16));
        assert_eq!(said("classic", &SCAN, &row("1,0,12")), "call 1: there is no phase 1");
        assert_eq!(said("classic", &SCAN, ""), "`calls` is empty");
        let wide = row("0,0,12").replace(",0]", ",1099511627777]");
        assert_eq!(
            said("classic", &SCAN, &wide),
            "call 1: `reclaimed_file` is 1099511627777, at most 2^40 is possible"
        );
        let evicts = row("0,0,12").replace(",0]", ",1]");
        assert_eq!(said("classic", &SCAN, &evicts), "call 1: 1 pages evicted of 0");
        let gens = "[0,0,12,1,9,5,9,0,0,0,0,0,0,0,0,0,0,0,0,0]";
        assert_eq!(said("mglru", &STEP, gens), "call 1: generations 5 to 9, 1 to 4 can be");
        let said = said("classic", &SCAN, &row("0,0,13"));
        assert_eq!(said, "call 1: priority 13, 0 to 12 are possible");
    }
}
