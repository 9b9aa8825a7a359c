//! Estimate of a sweep in words, and the texts that start it on a cluster.

use mmsim::report::numbers::grouped;
use mmsim::sweep::{Estimate, SweepPlan, Trial};

use crate::args::SweepPlace;
use crate::table;
use mmsim_terminal::progress::span;
use mmsim_terminal::shell;

/// Memory of the program itself.
const PROGRAM: u64 = 64 << 20;

pub(super) fn bytes(n: u64) -> String {
    match n as f64 {
        n if n < 1e4 => format!("{n:.0} B"),
        n if n < 1e7 => format!("{:.0} KiB", n / 1024.0),
        n if n < 1e10 => format!("{:.0} MiB", n / (1 << 20) as f64),
        n => format!("{:.1} GiB", n / (1_u64 << 30) as f64),
    }
}

/// Memory that each unit needs, in words.
fn memory(n: u64) -> String {
    match n {
        // No system but Linux tells what the trials took.
        0 => "not known, neither the scenarios nor this system tell it".to_string(),
        n => format!("about {} for each unit at the same time", bytes(n)),
    }
}

/// Whole MiB for a task: one and a half times what its units need, and the program.
fn mib(e: &Estimate) -> u64 {
    let units = u64::from(e.cpus) * e.memory;
    (units + units / 2 + PROGRAM).div_ceil(64 << 20) * 64
}

/// Minutes for a task: three times what it should take, since units differ, and ten at least.
fn minutes(e: &Estimate) -> u64 {
    let seconds = e.cpu_s / f64::from(e.shards) / f64::from(e.cpus);
    ((seconds * 3.0 / 60.0).ceil() as u64).max(10)
}

/// A name as Kubernetes takes it.
fn dns(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let text: String = name.chars().map(letter).take(50).collect();
    let text = text.trim_matches('-');
    if text.is_empty() { "sweep".to_string() } else { text.to_string() }
}

/// All of it.
pub(super) fn text(
    plan: &SweepPlan,
    place: &SweepPlace,
    trials: &[(Trial, f64)],
    e: &Estimate,
) -> String {
    let Estimate { shards: n, cpus, .. } = *e;
    let count = |n: u64| grouped(n as f64);
    let each = e.cpu_s / f64::from(n) / f64::from(cpus);
    let rows = [
        ("units", count(e.units)),
        ("settings", count(plan.settings())),
        ("time", format!("about {} of one CPU", span(e.cpu_s))),
        ("memory", memory(e.memory)),
        ("disk", format!("about {}", bytes(e.disk))),
        ("shards", format!("{n} of {cpus} CPUs, about {} each", span(each))),
    ];
    let mut out = format!("{}\n", plan.name());
    out += &table::left_aligned(rows.map(|(name, value)| vec![name.to_string(), value]));
    out += "\ntried\n";
    out += &table::left_aligned(trials.iter().map(|(t, seconds)| {
        vec![t.label.clone(), t.outcome.name().to_string(), span(*seconds), bytes(t.disk)]
    }));
    let file = shell::word(&place.plan().display().to_string());
    let store = match &place.store {
        Some(store) => format!(" --store {}", shell::word(&store.display().to_string())),
        None => String::new(),
    };
    let sweep = format!("mmsim sweep {file}{store}");
    let (last, mib, minutes) = (n - 1, mib(e), minutes(e));
    out += &format!(
        "
On this machine:

{sweep}

Slurm, as sweep.sbatch, started by `sbatch sweep.sbatch`:

#!/bin/sh
#SBATCH --job-name={name}
#SBATCH --array=0-{last}
#SBATCH --cpus-per-task={cpus}
#SBATCH --mem={mib}M
#SBATCH --time={minutes}
{sweep} --shards {n} --jobs {cpus}

HyperQueue:

hq submit --array=0-{last} --cpus={cpus} --stdout=none --stderr=none \\
    {sweep} --shards {n} --jobs {cpus}

Kubernetes, with your image and a volume that all pods share:

apiVersion: batch/v1
kind: Job
metadata:
  name: {name}
spec:
  completions: {n}
  parallelism: {n}
  completionMode: Indexed
  template:
    spec:
      restartPolicy: OnFailure
      containers:
      - name: mmsim
        image: IMAGE
        workingDir: /sweep
        command: [\"/bin/sh\", \"-c\", \"{escaped} --shards {n} --jobs {cpus}\"]
        resources:
          requests: {{cpu: {cpus}, memory: {mib}Mi}}
        volumeMounts:
        - {{name: sweep, mountPath: /sweep}}
      volumes:
      - name: sweep
        persistentVolumeClaim: {{claimName: CLAIM}}

Whatever ended early goes on by the same command. Then, anywhere:

mmsim sweep merge {file}{store}
",
        name = dns(plan.name()),
        escaped = sweep.replace('\\', "\\\\").replace('"', "\\\""),
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_suit_kubernetes() {
        assert_eq!(dns("My sweep_1"), "my-sweep-1");
        assert_eq!(dns("§"), "sweep");
    }
}
