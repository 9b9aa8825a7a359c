//! The kubelet, which evicts a pod when a node's memory runs short.
//!
//! Every 10 s it compares two figures with thresholds. `memory.available` is the node's memory without
//! anonymous and file pages, but for inactive file pages. `allocatableMemory.available` is the same
//! within the limit of all pods. A hard threshold acts at once, a soft one after its grace. One pod is
//! evicted, then the kubelet waits for its end and looks anew. First come pods that use more than they
//! request, then those of lower priority, then those that exceed their request most.
//!
//! A file page that was read twice is active and counts as used. Slab, stacks and page tables count as
//! available, unless a release takes all that is not free for used. Swap is part of no figure.
//!
//! Source: Kubernetes pkg/kubelet/eviction (`eviction_manager.go`, `helpers.go`), 1.33. Left out: the
//! age of statistics, up to 15 s in cAdvisor; the node's condition `MemoryPressure`, which keeps new
//! pods away; signals of disks and processes; thresholds in per cent.

pub mod tree;

use mmsim_core::base::digest::Digest;
use mmsim_core::base::id::{MemcgId, PAGE_SIZE};
use mmsim_core::base::time::{SimDuration, SimTime};
use mmsim_core::policy::daemon::{Action, Daemon, GroupFiles, Reason, Signal, System};
use std::cmp::Reverse;

/// Time between two looks (`monitoringInterval`).
const PERIOD: SimDuration = SimDuration::from_secs(10);
/// Time between two looks at a pod that was evicted, and the longest wait for it
/// (`podCleanupPollFreq`, `podCleanupTimeout`).
const CLEANUP: [SimDuration; 2] = [SimDuration::from_secs(1), SimDuration::from_secs(30)];
/// Grace of a pod that a hard threshold evicts (`immediateEvictionGracePeriodSeconds`).
pub const HARD_GRACE: SimDuration = SimDuration::from_secs(1);
/// The default hard threshold of `memory.available`, in bytes.
pub const EVICTION_HARD: u64 = 100 << 20;

/// A figure that thresholds are of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Available {
    /// `memory.available`.
    Node,
    /// `allocatableMemory.available`.
    Allocatable,
}

/// A threshold; sizes in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Threshold {
    /// Its figure.
    pub of: Available,
    /// It is met below this.
    pub below: u64,
    /// `None`: hard; else for how long it has to be met.
    pub grace: Option<SimDuration>,
}

/// A pod on the node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Active {
    /// Its slice.
    pub memcg: MemcgId,
    /// Its request in bytes.
    pub request: u64,
    /// Its priority.
    pub priority: i64,
    /// It is never evicted.
    pub critical: bool,
    /// Time from SIGTERM to SIGKILL if a soft threshold evicts it.
    pub grace: SimDuration,
}

/// Its settings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kubelet {
    /// The group of all pods, and its limit in bytes.
    pub kubepods: (MemcgId, u64),
    /// Thresholds, in the order in which they act.
    pub thresholds: Vec<Threshold>,
    /// `memory.available` is free memory and inactive file pages, as older releases have it.
    pub by_free: bool,
    /// Bytes above a threshold from which on it is met no more (`evictionMinimumReclaim`).
    pub minimum_reclaim: u64,
    /// The longest grace of a soft threshold (`evictionMaxPodGracePeriod`).
    pub max_pod_grace: SimDuration,
    /// Its pods.
    pub pods: Vec<Active>,
}

/// A pod that was evicted.
#[derive(Clone, Copy, Debug)]
struct Evicted {
    memcg: MemcgId,
    /// When SIGKILL follows; `None`: it was sent.
    kill: Option<SimTime>,
    /// Until when the kubelet waits for it.
    until: SimTime,
    since: SimTime,
}

/// The kubelet at work.
#[derive(Clone, Debug)]
pub struct Running {
    options: Kubelet,
    /// For each threshold, since when it has been met.
    met: Vec<Option<SimTime>>,
    waiting: Option<Evicted>,
}

/// The order of eviction: the first is the least. `usage` is the working set, in bytes.
fn rank(pod: &Active, usage: u64) -> (bool, i64, Reverse<i64>) {
    let over = usage as i64 - pod.request as i64;
    (over <= 0, pod.priority, Reverse(over))
}

/// The working set of a group in bytes.
fn working_set(files: &GroupFiles) -> u64 {
    files.current.saturating_sub(files.lists[2]) * PAGE_SIZE
}

impl Running {
    /// A run of it.
    pub fn new(options: Kubelet) -> Running {
        Running { met: vec![None; options.thresholds.len()], options, waiting: None }
    }

    /// Both figures in bytes, in the order of [`Available`].
    fn available(&self, system: &mut dyn System) -> [u64; 2] {
        let capacity = system.meminfo().mem_total;
        let root = system.group(MemcgId(0));
        let used = if self.options.by_free { root.current } else { root.anon + root.file };
        let used = used.saturating_sub(root.lists[2]);
        let (kubepods, limit) = self.options.kubepods;
        let of_pods = working_set(&system.group(kubepods));
        [capacity.saturating_sub(used) * PAGE_SIZE, limit.saturating_sub(of_pods)]
    }

    /// The first threshold that acts now, and since when it has been met.
    fn acting(&mut self, now: SimTime, available: [u64; 2]) -> Option<(Threshold, SimTime)> {
        let mut first = None;
        for (t, since) in self.options.thresholds.iter().zip(&mut self.met) {
            let figure = available[t.of as usize];
            // One that was met stays so until enough is free beyond it.
            let more = if since.is_some() { self.options.minimum_reclaim } else { 0 };
            *since = (figure < t.below + more).then(|| since.unwrap_or(now));
            let held = since.filter(|&s| now.since(s) >= t.grace.unwrap_or(SimDuration::ZERO));
            first = first.or(held.map(|since| (*t, since)));
        }
        first
    }

    /// Evicts a pod. Returns false if there is none to evict.
    fn evict(&mut self, system: &mut dyn System, available: [u64; 2]) -> bool {
        let now = system.now();
        let Some((threshold, since)) = self.acting(now, available) else { return false };
        let of_pod = |p: &Active| {
            let files = system.group(p.memcg);
            (files.processes > 0).then(|| (p.clone(), working_set(&files)))
        };
        let mut pods: Vec<(Active, u64)> = self.options.pods.iter().filter_map(of_pod).collect();
        pods.sort_by_key(|(pod, usage)| rank(pod, *usage));
        let Some((pod, usage)) = pods.into_iter().find(|(pod, _)| !pod.critical) else {
            return false;
        };
        let (figure, hard) = match threshold.of {
            Available::Node => ("memory.available", threshold.grace.is_none()),
            Available::Allocatable => ("allocatableMemory.available", true),
        };
        let read = vec![
            (figure.to_string(), available[threshold.of as usize] as f64),
            ("threshold".to_string(), threshold.below as f64),
            ("working_set".to_string(), usage as f64),
            ("request".to_string(), pod.request as f64),
            ("priority".to_string(), pod.priority as f64),
        ];
        let rule = format!("{} {figure}", if hard { "hard" } else { "soft" });
        let reason = Reason { rule, since, read };
        system.act(Action::SignalGroup(pod.memcg, Signal::Term), &reason);
        let grace = if hard { HARD_GRACE } else { pod.grace.min(self.options.max_pod_grace) };
        // It is no active pod any more.
        self.options.pods.retain(|p| p.memcg != pod.memcg);
        let (kill, until) = (Some(now + grace), now + CLEANUP[1]);
        self.waiting = Some(Evicted { memcg: pod.memcg, kill, until, since: now });
        true
    }

    /// Looks after the pod that was evicted; `Some`: when to look at it again.
    fn clean_up(&mut self, system: &mut dyn System) -> Option<SimTime> {
        let mut evicted = self.waiting.take()?;
        let now = system.now();
        if system.group(evicted.memcg).processes == 0 || now >= evicted.until {
            return None;
        }
        if evicted.kill.is_some_and(|at| now >= at) {
            let rule = "grace is over".to_string();
            let reason = Reason { rule, since: evicted.since, read: Vec::new() };
            system.act(Action::SignalGroup(evicted.memcg, Signal::Kill), &reason);
            evicted.kill = None;
        }
        self.waiting = Some(evicted);
        let next = now + CLEANUP[0];
        Some(evicted.kill.map_or(next, |kill| next.min(kill)))
    }
}

impl Daemon for Running {
    fn look(&mut self, system: &mut dyn System, _fired: &[usize]) -> SimTime {
        if let Some(next) = self.clean_up(system) {
            return next;
        }
        let now = system.now();
        let available = self.available(system);
        let evicts = self.evict(system, available);
        if evicts { now + CLEANUP[0] } else { now + PERIOD }
    }

    fn digest(&self, d: &mut Digest) {
        d.words(self.met.iter().map(|since| since.map_or(u64::MAX, |at| at.0)));
        d.words(self.waiting.iter().flat_map(|e| [e.until.0, e.kill.map_or(0, |at| at.0)]));
    }
}

#[cfg(test)]
mod tests;
