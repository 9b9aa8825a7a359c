//! `[[pod]]` and `[daemon.kubelet]`: the groups of pods, and the kubelet that watches them.
//!
//! Groups of pods stand behind those of `machine.memcg`. A task names its pod, and gets the group and
//! the `oom_score_adj` of the container.

use std::collections::BTreeSet;

use mmsim_core::base::id::{MemcgId, PAGE_SIZE};
use mmsim_core::base::time::SimDuration;
use mmsim_core::config::{Kernel, MachineConfig};
use mmsim_daemons::kubelet::tree::{Container, KUBEPODS, Node, Pod, Version};
use mmsim_daemons::kubelet::{Active, Available, Kubelet, Threshold};
use mmsim_workload::since::since;

use super::fields::each;
use super::read::Reader;
use super::tables::{
    DAEMON, KUBELET, MOST_GROUPS, POD, POD_CONTAINER, RESERVATIONS, ROOT_USAGE, SWAP_BEHAVIORS,
    VERSIONS,
};
use mmsim_base::error::Error;

/// The pods of a node.
#[derive(Clone, Debug)]
pub(super) struct Pods {
    node: Node,
    /// The number of the group of all pods.
    first: usize,
    /// Entries of the document: the pods that one makes differ in their numbers only.
    entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    pod: Pod,
    count: u64,
    grace: SimDuration,
}

impl Entry {
    fn pods(&self) -> impl Iterator<Item = Pod> + '_ {
        (0..self.count).map(|nth| {
            let number = if self.count > 1 { format!("-{nth}") } else { String::new() };
            Pod { name: format!("{}{number}", self.pod.name), ..self.pod.clone() }
        })
    }
}

impl Pods {
    /// Group and `oom_score_adj` of the container that a task names, as in `web` or `web/nginx`.
    pub(super) fn container(&self, r: &Reader<'_>, key: &str) -> Result<(String, i16), Error> {
        let written = r.name(key)?;
        let (name, container) = match written.split_once('/') {
            Some((name, container)) => (name, Some(container)),
            None => (written, None),
        };
        let Some(entry) = self.entries.iter().find(|e| e.pod.name == name) else {
            let known: Vec<&str> = self.entries.iter().map(|e| e.pod.name.as_str()).collect();
            return Err(r.unknown_word(key, "pod", name, &known));
        };
        let pod = &entry.pod;
        let known: Vec<&str> = pod.containers.iter().map(|c| c.name.as_str()).collect();
        let found = match (container, &pod.containers[..]) {
            (None, [one]) => one,
            (None, _) => {
                let found = format!("pod `{name}` has several containers");
                return Err(r.error(key, found, format!("\"{name}/{}\"", known[0])));
            }
            (Some(c), all) => match all.iter().find(|of| of.name == c) {
                Some(container) => container,
                None => return Err(r.unknown_word(key, "container", c, &known)),
            },
        };
        Ok((pod.scope(found), pod.oom_score_adj(found, self.node.capacity)))
    }

    /// Its settings, with pods by their groups.
    pub(super) fn kubelet(&self, r: &Reader<'_>, groups: &[String]) -> Result<Kubelet, Error> {
        let memcg = |path: String| {
            MemcgId(1 + groups.iter().position(|g| *g == path).unwrap_or_default() as u16)
        };
        let active = |e: &Entry, pod: Pod| Active {
            memcg: memcg(pod.slice()),
            request: pod.request(),
            priority: pod.priority,
            critical: pod.critical,
            grace: e.grace,
        };
        let hard = self.node.eviction_hard;
        let of = |of, below, grace| Threshold { of, below, grace };
        let mut thresholds =
            vec![of(Available::Node, hard, None), of(Available::Allocatable, hard, None)];
        let grace = r.opt_time("eviction-soft-grace")?;
        match (r.opt_pages("eviction-soft")?, grace) {
            (None, None) => {}
            (None, Some(_)) => {
                let found = "a grace of no threshold";
                return Err(r.error("eviction-soft-grace", found, "`eviction-soft` too"));
            }
            (Some(_), None) => {
                let found = "a soft threshold without grace";
                return Err(r.error("eviction-soft", found, "`eviction-soft-grace` too"));
            }
            (Some(pages), _) if bytes(pages) <= hard => {
                let found = "it is not above `eviction-hard`, which acts at once";
                return Err(r.error("eviction-soft", found, "a larger size"));
            }
            (Some(pages), grace) => thresholds.push(of(Available::Node, bytes(pages), grace)),
        }
        Ok(Kubelet {
            kubepods: (MemcgId(1 + self.first as u16), self.node.limit()),
            thresholds,
            by_free: r.word("root-usage", &ROOT_USAGE)?,
            minimum_reclaim: bytes(r.get("eviction-minimum-reclaim")?),
            max_pod_grace: r.get("eviction-max-pod-grace")?,
            pods: self.entries.iter().flat_map(|e| e.pods().map(|p| active(e, p))).collect(),
        })
    }

    /// Request in bytes, priority and critical of each group of a pod: rules read them.
    pub(super) fn said(&self, groups: &[String]) -> Vec<(MemcgId, [f64; 3])> {
        let of_pod = |pod: Pod| {
            let slice = pod.slice();
            let said = [pod.request() as f64, pod.priority as f64, f64::from(pod.critical)];
            let below = move |path: &String| {
                path.strip_prefix(&slice)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            let all = groups.iter().enumerate().skip(self.first);
            all.filter(move |(_, g)| below(g)).map(move |(i, _)| (MemcgId(1 + i as u16), said))
        };
        self.entries.iter().flat_map(Entry::pods).flat_map(of_pod).collect()
    }
}

fn bytes(pages: u64) -> u64 {
    pages.saturating_mul(PAGE_SIZE)
}

/// Reads pods and their kubelet, and gives the machine their groups.
pub(super) fn pods(r: &Reader<'_>, machine: &mut MachineConfig) -> Result<Option<Pods>, Error> {
    let daemons = if r.has("daemon") { r.list("daemon")? } else { &[] };
    let is_kubelet = |n: &super::raw::Node| n.table().is_some_and(|t| t.get("kubelet").is_some());
    let mut kubelets = daemons.iter().enumerate().filter(|(_, n)| is_kubelet(n));
    let Some((nth, node)) = kubelets.next() else {
        return match r.has("pod") {
            true => Err(r.error("pod", "no kubelet runs pods", "`[[daemon]]` with `kubelet` too")),
            false => Ok(None),
        };
    };
    if let Some((second, node)) = kubelets.next() {
        let path = format!("daemon[{second}]");
        let d = Reader::open(r.sources, node, &DAEMON, &path)?;
        return Err(d.error("kubelet", "a node has one kubelet", "one of them"));
    }
    let path = format!("daemon[{nth}]");
    let d = Reader::open(r.sources, node, &DAEMON, &path)?;
    let path = d.name_of("kubelet");
    let k = Reader::open(r.sources, d.need("kubelet")?, &KUBELET, &path)?;
    let since = since(Kernel::V5_5, "4.19");
    d.dated("kubelet", since.check(machine.kernel, "memory.oom.group", "leave it out"))?;
    let node = of_node(&k, machine)?;
    let entries = each(r, "pod", &POD, entry)?;
    if entries.is_empty() {
        return Err(d.error("kubelet", "it has no pods", "`[[pod]]` too"));
    }
    let first = machine.memcgs.len();
    let all: Vec<Pod> = entries.iter().flat_map(Entry::pods).collect();
    let groups = node.groups(&all);
    if first + groups.len() > MOST_GROUPS as usize {
        let found = format!("with their groups there are more than {MOST_GROUPS}");
        return Err(r.error("pod", found, "fewer of them"));
    }
    let mut taken: BTreeSet<String> = machine.memcgs.iter().map(|g| g.name.clone()).collect();
    if taken.contains(KUBEPODS) {
        let found =
            format!("`machine.memcg` has a group `{KUBEPODS}` too, which the kubelet makes");
        return Err(d.error("kubelet", found, "another name there"));
    }
    if let Some(twice) = groups.iter().find(|g| !taken.insert(g.name.clone())) {
        let found = format!("two pods or containers have the group \"{}\"", twice.name);
        return Err(r.error("pod", found, "another name for one"));
    }
    machine.memcgs.extend(groups);
    Ok(Some(Pods { node, first, entries }))
}

fn of_node(k: &Reader<'_>, machine: &MachineConfig) -> Result<Node, Error> {
    let zones = machine.nodes.iter().flat_map(|n| &n.zones);
    let node = Node {
        version: k.word("version", &VERSIONS)?,
        memory_qos: k.get("memory-qos")?,
        tiered: k.word("memory-reservation-policy", &RESERVATIONS)?,
        throttling: k.get("memory-throttling-factor")?,
        limited_swap: k.word("swap-behavior", &SWAP_BEHAVIORS)?,
        single_process_oom_kill: k.get("single-process-oom-kill")?,
        capacity: bytes(zones.map(|z| u64::from(z.managed)).sum()),
        swap: bytes(machine.swap_slots()),
        reserved: bytes(k.get("reserved")?),
        eviction_hard: bytes(k.get("eviction-hard")?),
    };
    if node.tiered && node.version == Version::V1_35 {
        let found = "kubelet 1.35 has no such policy";
        return Err(k.error(
            "memory-reservation-policy",
            found,
            "`version = \"1.36\"`, or \"None\"",
        ));
    }
    for key in ["memory-reservation-policy", "memory-throttling-factor"] {
        if !node.memory_qos && !k.is_default(key) {
            return Err(k.error(
                key,
                "without MemoryQoS it does nothing",
                "`memory-qos = true` too",
            ));
        }
    }
    for (key, size) in [("reserved", node.reserved), ("eviction-hard", node.eviction_hard)] {
        if size >= node.capacity {
            let found = format!("no memory is left of the node's {} bytes", node.capacity);
            let title = format!("{}: {found}, write a smaller size", k.name_of(key));
            // A default has no place of its own.
            let at = k.find(key).map(|n| n.at).filter(|at| !at.is_default()).unwrap_or(k.at);
            return Err(k.sources.error(at, title, "write a smaller size"));
        }
    }
    Ok(node)
}

fn entry(r: &Reader<'_>) -> Result<Entry, Error> {
    let name = name_of(r)?;
    let mut containers = each(r, "container", &POD_CONTAINER, |c| container(c, name_of(c)?))?;
    if containers.is_empty() {
        containers.push(container(r, name.clone())?);
    } else {
        for key in ["request", "limit"] {
            r.at_most_one(key, "container")?;
        }
    }
    let pod = Pod {
        name,
        containers,
        priority: r.opt_whole("priority")?.unwrap_or(0),
        critical: r.get("critical")?,
    };
    Ok(Entry { pod, count: r.get("count")?, grace: r.get("grace")? })
}

/// The name of a pod or a container, which is part of a path.
fn name_of(r: &Reader<'_>) -> Result<String, Error> {
    let name = r.name("name")?;
    if name.is_empty() || name.contains('/') {
        return Err(r.error("name", format!("\"{name}\" is no name"), "one without slashes"));
    }
    Ok(name.to_string())
}

fn container(r: &Reader<'_>, name: String) -> Result<Container, Error> {
    let limit = r.opt_pages("limit")?.map(bytes);
    let request = r.opt_pages("request")?.map(bytes).or(limit).unwrap_or(0);
    if limit.is_some_and(|limit| request > limit) {
        return Err(r.error("request", "it is above `limit`", "at most that"));
    }
    Ok(Container { name, request, limit })
}
