//! Who acted first in runs with daemons: the OOM killer or a daemon, when, on whom and why.

use mmsim_core::base::id::PAGE_SIZE;

use crate::document::{ActReport, RunReport};
use crate::groups::Group;
use crate::numbers::grouped;

/// Notes of this kind before the rest is counted.
const MOST: usize = 16;

/// A note for each daemon of the first run of each variant at each point.
pub(super) fn acts(groups: &[&Group<'_>]) -> Vec<String> {
    let mut notes = Vec::new();
    for group in groups {
        for v in group.variants.iter() {
            let Some(run) = v.runs.first().filter(|r| !r.daemons.is_empty()) else { continue };
            let point: Vec<String> =
                group.axes.iter().map(|(k, x)| format!(", {k} = {x}")).collect();
            let who = format!("{}{}", v.name, point.concat());
            notes.extend(of_run(run).into_iter().map(|note| format!("{who}: {note}")));
        }
    }
    if notes.len() > MOST {
        let more = notes.len() - MOST;
        notes.truncate(MOST);
        let noun = if more == 1 { "note" } else { "notes" };
        notes.push(format!("{more} more {noun} on acts of daemons; --format json has all"));
    }
    notes
}

fn of_run(run: &RunReport) -> Vec<String> {
    let daemon = |d: &crate::DaemonReport| match d.acts.first() {
        None => format!("{} never acted in {} looks", d.name, grouped(d.looks as f64)),
        Some(act) => {
            let first = if d.first == 1 { " first" } else { "" };
            let more = match d.acted {
                1 => String::new(),
                n => format!("; {} acts in all", grouped(n as f64)),
            };
            format!("{} acted{first}, {}{more}", d.name, told(act))
        }
    };
    let mut notes: Vec<String> = run.daemons.iter().map(daemon).collect();
    notes.extend(run.daemons.iter().filter_map(of_absent_groups));
    notes.extend(run.daemons.iter().filter_map(of_limits_below_use));
    if let Some(oom) = &run.oom {
        let first = if run.daemons.iter().all(|d| d.first == 0) { " first" } else { "" };
        notes.push(format!("the OOM killer acted{first}, at {}: {}", at(oom.at_ns), oom.victim));
    }
    notes
}

/// A daemon read files of groups that were not there.
fn of_absent_groups(d: &crate::DaemonReport) -> Option<String> {
    let absent = d.absent.as_ref()?;
    let (at, of) = (at(absent.at_ns), &absent.memcg);
    let times = match absent.reads {
        1 => "once".to_string(),
        n => format!("{} times", grouped(n as f64)),
    };
    Some(format!(
        "{} read files of groups that are not there {times}, first of `{of}` at {at}: it found zeros",
        d.name
    ))
}

/// A daemon wrote `memory.max` below what the group was charged.
fn of_limits_below_use(d: &crate::DaemonReport) -> Option<String> {
    let below = |a: &&ActReport| a.below_use.is_some();
    let act = d.acts.iter().find(below)?;
    let of = act.below_use.as_ref()?;
    let mib = |bytes: u64| grouped(bytes as f64 / f64::from(1 << 20));
    let more = match d.acts.iter().filter(below).count() {
        1 => String::new(),
        n => format!("; it did so {} times", grouped(n as f64)),
    };
    Some(format!(
        "{} wrote memory.max of {} below its use, {} MiB of {}, at {}: reclaim freed {} MiB, and the OOM \
         killer ended {}{more}",
        d.name,
        act.target,
        mib(of.limit_bytes),
        mib(of.charged_bytes),
        at(act.at_ns),
        mib(act.done * PAGE_SIZE),
        match of.killed {
            1 => "1 process".to_string(),
            n => format!("{} processes", grouped(n as f64)),
        }
    ))
}

/// An act in one sentence.
fn told(act: &ActReport) -> String {
    let on = if act.target.is_empty() { "the machine" } else { &act.target };
    let held = match act.held_ns {
        ..10_000_000 => String::new(),
        ns => format!(", which held for {}", at(ns)),
    };
    let read: Vec<String> = act.read.iter().map(|(n, v)| format!("{n} {}", grouped(*v))).collect();
    let bytes = grouped((act.resident_bytes + act.swapped_bytes) as f64 / f64::from(1 << 20));
    let lost = match act.lost_accesses {
        0 => String::new(),
        n => format!(", {bytes} MiB and {} accesses lost", grouped(n as f64)),
    };
    format!(
        "at {}: {} to {on} by rule `{}`{held} ({}); {} refaults until then{lost}",
        at(act.at_ns),
        act.what,
        act.rule,
        read.join(", "),
        grouped(act.refaults as f64)
    )
}

/// An instant in seconds.
fn at(ns: u64) -> String {
    format!("{:.2} s", ns as f64 / 1e9)
}
