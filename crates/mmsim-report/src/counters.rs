//! Counters of a report: in JSON one that the policy does not keep is `null`, in memory it is not
//! there.
//!
//! Zero would say that what it counts did not happen. All counters of this version have their
//! place, so that documents of different policies have the same keys.

use mmsim_core::base::vmstat::{VmEvent, VmStat};
use serde::de::{Deserialize, Deserializer};
use serde::ser::Serializer;

use super::pairs::Pairs;

impl Pairs<u64> {
    /// The value of a counter; `None`: the policy does not keep it.
    pub fn count(&self, counter: VmEvent) -> Option<u64> {
        self.get(counter.name()).copied()
    }
    /// The sum of some counters; `None`: the policy does not keep one of them.
    pub fn sum(&self, counters: &[VmEvent]) -> Option<u64> {
        counters.iter().try_fold(0, |sum, &e| Some(sum + self.count(e)?))
    }
    /// True if any of these counters is kept and not zero.
    pub fn any(&self, counters: &[VmEvent]) -> bool {
        counters.iter().any(|&e| self.count(e) > Some(0))
    }
}

/// Counters without those that are not kept.
pub(super) fn kept(vmstat: &VmStat, not_kept: &[VmEvent]) -> Pairs<u64> {
    let kept = VmEvent::ALL.iter().filter(|e| !not_kept.contains(e));
    kept.map(|&e| (e.name(), vmstat[e])).collect()
}

/// Every counter in the order of reports with its value, if it has one; then those that this
/// version does not know.
pub(super) fn all(vmstat: &Pairs<u64>) -> impl Iterator<Item = (&str, Option<u64>)> {
    // They are in that order already, so each is the one behind the last.
    let (mut place, mut nth) = (0, 0);
    let known = VmEvent::ALL.iter().map(move |e| {
        let name = e.name();
        (name, vmstat.get_from(&mut place, name).copied())
    });
    let others = vmstat.iter().filter(move |(name, _)| {
        let (before, from) = VmEvent::ALL.split_at(nth);
        let found = from.iter().chain(before).position(|e| e.name() == *name);
        nth = found.map_or(nth, |n| (nth + n + 1) % VmEvent::ALL.len());
        found.is_none()
    });
    known.chain(others.map(|(name, &value)| (name, Some(value))))
}

/// As `null` what is not there.
pub(super) fn serialize<S: Serializer>(vmstat: &Pairs<u64>, to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(all(vmstat))
}

/// `null` is not there.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Pairs<u64>, D::Error> {
    Ok(Pairs::<Option<u64>>::deserialize(from)?.filter_map(|&value| value))
}

#[cfg(test)]
mod tests {
    use super::super::document::RunReport;
    use super::super::{Report, samples};
    use super::*;

    /// Random eviction has no refaults: null in JSON and back, an empty value in CSV.
    #[test]
    fn what_is_not_kept_is_absent() {
        let mut result = samples::result(7, 0);
        result.not_kept = vec![VmEvent::WorkingsetRefaultAnon, VmEvent::PgFault];
        let run = RunReport::from_result(samples::meta("random", 1), &result);
        assert_eq!(run.vmstat.get("workingset_refault_anon"), None);
        assert_eq!(run.vmstat.get("workingset_refault_file"), Some(&0));
        assert_eq!(run.memory_stat.get("batch").unwrap().get("pgfault"), Some(&None));
        let report = Report::new("x", "", vec![run]);
        let json = report.to_json();
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        for vmstat in [&value["runs"][0]["vmstat"], &value["runs"][0]["phases"][1]["vmstat"]] {
            let vmstat = vmstat.as_object().unwrap();
            assert_eq!(vmstat.len(), VmEvent::ALL.len());
            assert!(vmstat["workingset_refault_anon"].is_null());
            assert_eq!(vmstat["pswpin"], 7);
        }
        assert_eq!(Report::from_json(&json).unwrap(), report);
        let csv = report.to_csv();
        let ends = |end: &str| csv.lines().filter(|l| l.ends_with(end)).count();
        assert_eq!(ends(",vmstat,workingset_refault_anon,"), 3, "the run and both phases");
        assert_eq!(ends(",memory_stat,batch.pgfault,"), 1);
    }
}
