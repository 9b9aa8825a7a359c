//! Remarks on a sweep, whose runs come one by one and are not kept: settings that changed nothing, and
//! what ended runs early.

use crate::document::RunReport;
use crate::pairs::Pairs;

use super::remarks::is_idle;
use super::without_effect;

/// Fingerprint of a run: two with the same are the same run.
type Print = (String, u64, String, u64, u64);

/// Fingerprints and ends of the runs of a sweep.
#[derive(Debug, Default)]
pub struct Swept {
    /// Scenario and place on its axes, with the runs there.
    points: Vec<(Option<String>, Pairs<String>, Vec<Print>)>,
    /// Causes of early ends, how many runs ended so, and the first of them.
    ends: Vec<(String, u64, String)>,
    /// True if some run reclaimed, or was about something else.
    busy: bool,
}

impl Swept {
    /// One more run. Runs of a point come one behind the other.
    pub fn add(&mut self, run: &RunReport) {
        let counted = |h: u64, n: u64| (h.rotate_left(5) ^ n).wrapping_mul(0x0000_0100_0000_01b3);
        let counters = run.vmstat.iter().fold(0, |h, (_, n)| counted(h, *n));
        let print = (run.variant.clone(), run.seed, run.digest.clone(), run.sim_time_ns, counters);
        self.busy |= !is_idle(run);
        match self.points.last_mut().filter(|p| (&p.0, &p.1) == (&run.scenario, &run.axes)) {
            Some(point) => point.2.push(print),
            None => self.points.push((run.scenario.clone(), run.axes.clone(), vec![print])),
        }
        let cause = match (&run.oom, &run.stuck, &run.panic) {
            _ if run.outcome.is_whole() => return,
            (Some(oom), ..) if !oom.victim.is_empty() => oom.who_was_killed(),
            (_, Some(stuck), _) => stuck.why.clone(),
            (.., Some(message)) => message.clone(),
            _ => run.outcome.name().to_string(),
        };
        match self.ends.iter_mut().find(|e| e.0 == cause) {
            Some(end) => end.1 += 1,
            None => {
                let axes = run.axes.iter().map(|(axis, value)| format!("{axis} = {value}"));
                let place: Vec<String> = [run.variant.clone()].into_iter().chain(axes).collect();
                self.ends.push((cause, 1, format!("{}, seed {}", place.join(", "), run.seed)));
            }
        }
    }

    /// The remarks.
    pub fn remarks(&self) -> Vec<String> {
        let end = |(cause, n, first): &(String, u64, String)| match n {
            1 => format!("1 run ended early: {cause} ({first})"),
            n => format!("{n} runs ended early: {cause} (first: {first})"),
        };
        let mut remarks: Vec<String> = self.ends.iter().map(end).collect();
        if !self.busy && !self.points.is_empty() {
            remarks.push(
                "no run of the sweep reclaimed a page, so it says nothing about reclaim"
                    .to_string(),
            );
        }
        let mut scenarios: Vec<&Option<String>> = self.points.iter().map(|p| &p.0).collect();
        scenarios.dedup();
        for scenario in scenarios {
            let of = self.points.iter().filter(|p| p.0 == *scenario);
            let points: Vec<(&Pairs<String>, Vec<&Print>)> =
                of.map(|p| (&p.1, p.2.iter().collect())).collect();
            let prefix = scenario.as_ref().map_or(String::new(), |s| format!("{s}: "));
            let all = without_effect(&points, |a, b| a == b);
            let of_variants = of_variants(&points, &all);
            let both = all.into_iter().chain(of_variants);
            remarks.extend(both.map(|remark| format!("{prefix}{remark}")));
        }
        remarks
    }
}

/// Remarks on settings that changed nothing in one variant, besides those in `all` of them.
fn of_variants(points: &[(&Pairs<String>, Vec<&Print>)], all: &[String]) -> Vec<String> {
    let mut names: Vec<&str> = Vec::new();
    for print in points.iter().flat_map(|p| &p.1) {
        if !names.contains(&print.0.as_str()) {
            names.push(&print.0);
        }
    }
    let of = |name: &&str| {
        let mut own = points.to_vec();
        own.iter_mut().for_each(|(_, prints)| prints.retain(|print| print.0 == *name));
        let alone = without_effect(&own, |a, b| !a.is_empty() && a == b);
        let alone = alone.into_iter().filter(|remark| !all.contains(remark));
        alone.map(|remark| format!("{name}: {remark}")).collect::<Vec<_>>()
    };
    names.iter().flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ending;
    use crate::samples;
    use mmsim_core::machine::result::OomSummary;

    /// Two values give the same runs, and a third another one, of which a run was killed.
    #[test]
    fn settings_without_effect_and_ends() {
        let base = samples::two_variants(&[1]).runs[0].clone();
        let mut swept = Swept::default();
        for (value, seed) in [("10", 1), ("10", 2), ("60", 1), ("60", 2), ("200", 1), ("200", 2)] {
            let mut run = base.clone();
            run.axes.set("machine.vm.swappiness", value.to_string());
            (run.seed, run.digest) = (seed, format!("{seed}"));
            if value == "200" {
                run.vmstat.set("pgdeactivate", 1);
                let mut oom = OomSummary::default();
                oom.victim = "heap".into();
                (run.outcome, run.oom) = (Ending::OutOfMemory, Some((&oom).into()));
            }
            swept.add(&run);
        }
        assert_eq!(Swept::default().remarks(), [""; 0]);
        let mut idle = Swept::default();
        let mut run = base.clone();
        run.vmstat.set("pgsteal_anon", 0);
        run.vmstat.set("pgsteal_file", 0);
        idle.add(&run);
        assert!(idle.remarks()[0].starts_with("no run of the sweep reclaimed a page"));
        let remarks = swept.remarks();
        assert!(remarks[0].starts_with("2 runs ended early: `heap` was killed: "), "{remarks:?}");
        assert!(
            remarks[0].ends_with(
                "(first: v5.5, task[0].memory = 1536MiB, machine.vm.swappiness = 200, seed 1)"
            ),
            "{remarks:?}"
        );
        let same = "machine.vm.swappiness = 60: identical to 10: it had no effect here";
        assert_eq!(remarks[1..], [same]);
    }

    /// Swappiness moves the first variant and not the second, which is named.
    #[test]
    fn a_setting_without_effect_in_one_variant() {
        let base = samples::two_variants(&[1]).runs[0].clone();
        let mut swept = Swept::default();
        for (value, variant, digest) in
            [("10", "a", "1"), ("10", "b", "9"), ("60", "a", "2"), ("60", "b", "9")]
        {
            let mut run = base.clone();
            run.axes.set("machine.vm.swappiness", value.to_string());
            (run.variant, run.digest) = (variant.to_string(), digest.to_string());
            swept.add(&run);
        }
        let same = "b: machine.vm.swappiness = 60: identical to 10: it had no effect here";
        assert_eq!(swept.remarks(), [same]);
    }
}
