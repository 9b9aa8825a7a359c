//! The groups of a node's pods, and what the kubelet writes to their files.
//!
//! `kubepods.slice` holds the slices of guaranteed pods, and beside them those of the burstable and of
//! the best-effort class with their pods. Below the slice of a pod each container has a scope. A
//! container is guaranteed if its request is its limit, best effort if it has neither. A pod is what
//! all its containers are, else burstable.
//!
//! Source: Kubernetes pkg/kubelet/cm (`node_container_manager_linux.go`, `qos_container_manager_linux.go`,
//! `helpers_linux.go`), pkg/kubelet/kuberuntime (`kuberuntime_container_linux.go`), pkg/kubelet/qos
//! (`policy.go`), KEP-2570, KEP-2400. Left out: requests of CPU, which count for the class too; the
//! minute after which the values of classes are written anew.

use mmsim_core::base::id::PAGE_SIZE;
use mmsim_core::config::MemcgConfig;

/// The group of all pods.
pub const KUBEPODS: &str = "kubepods.slice";

/// Which release's rules of memory protection hold.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Version {
    /// Up to 1.35: `memory.min` for every request.
    V1_35,
    /// 1.36: by a policy of reservation, without `memory.low` of all pods.
    V1_36,
    /// 1.37, with the repair of July 2026 (pull request 140267).
    V1_37,
}

/// Quality of service of a pod.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// Each container's request is its limit.
    Guaranteed,
    /// All others.
    Burstable,
    /// No container has a request or a limit.
    BestEffort,
}

/// A container; sizes in bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Container {
    /// Its name.
    pub name: String,
    /// `resources.requests.memory`.
    pub request: u64,
    /// `resources.limits.memory`.
    pub limit: Option<u64>,
}

/// A pod.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pod {
    /// Its name.
    pub name: String,
    /// Its containers, at least one.
    pub containers: Vec<Container>,
    /// `priority`: the higher, the later it is evicted.
    pub priority: i64,
    /// It is never evicted, and its processes have the `oom_score_adj` of guaranteed ones.
    pub critical: bool,
}

/// A node and its kubelet's settings of groups; sizes in bytes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Node {
    /// The rules of protection.
    pub version: Version,
    /// The feature `MemoryQoS`.
    pub memory_qos: bool,
    /// `memoryReservationPolicy: TieredReservation`, from 1.36 on.
    pub tiered: bool,
    /// `memoryThrottlingFactor`, 0 to 1.
    pub throttling: f64,
    /// `swapBehavior: LimitedSwap` instead of `NoSwap`.
    pub limited_swap: bool,
    /// `singleProcessOOMKill`.
    pub single_process_oom_kill: bool,
    /// `MemTotal`.
    pub capacity: u64,
    /// `SwapTotal`.
    pub swap: u64,
    /// `kubeReserved` and `systemReserved`.
    pub reserved: u64,
    /// The hard threshold of `memory.available`.
    pub eviction_hard: u64,
}

impl Container {
    fn class(&self) -> Class {
        match (self.request, self.limit) {
            (0, None | Some(0)) => Class::BestEffort,
            (request, Some(limit)) if request == limit => Class::Guaranteed,
            _ => Class::Burstable,
        }
    }
}

impl Pod {
    /// Its class.
    pub fn class(&self) -> Class {
        let first = self.containers.first().map_or(Class::BestEffort, Container::class);
        let same = self.containers.iter().all(|c| c.class() == first);
        if same { first } else { Class::Burstable }
    }
    /// Requests of all containers.
    pub fn request(&self) -> u64 {
        self.containers.iter().fold(0, |all, c| all.saturating_add(c.request))
    }
    /// The path of its slice. systemd takes a dash for a level, so the kubelet writes `_` for it.
    pub fn slice(&self) -> String {
        let name = self.name.replace('-', "_");
        match self.class() {
            Class::Guaranteed => format!("{KUBEPODS}/kubepods-pod{name}.slice"),
            Class::Burstable => {
                format!("{}/kubepods-burstable-pod{name}.slice", slice_of("burstable"))
            }
            Class::BestEffort => {
                format!("{}/kubepods-besteffort-pod{name}.slice", slice_of("besteffort"))
            }
        }
    }
    /// The path of a container's scope.
    pub fn scope(&self, container: &Container) -> String {
        format!("{}/cri-containerd-{}.scope", self.slice(), container.name)
    }
    /// `oom_score_adj` of a container's processes.
    pub fn oom_score_adj(&self, container: &Container, capacity: u64) -> i16 {
        match self.class() {
            Class::Guaranteed => -997,
            _ if self.critical => -997,
            Class::BestEffort => 1000,
            Class::Burstable => {
                let part = u128::from(container.request) * 1000 / u128::from(capacity.max(1));
                // Less than 3 would be a guaranteed pod's, 1000 a best-effort one's.
                (1000 - part.min(1000) as i16).clamp(3, 999)
            }
        }
    }
}

fn slice_of(class: &str) -> String {
    format!("{KUBEPODS}/kubepods-{class}.slice")
}

impl Node {
    /// Memory for pods, without the hard threshold of eviction: `memory.max` of all pods.
    pub fn limit(&self) -> u64 {
        self.capacity.saturating_sub(self.reserved)
    }

    /// `memory.high` of a container.
    pub fn high(&self, container: &Container) -> Option<u64> {
        let Container { request, limit, .. } = *container;
        let most = limit.unwrap_or_else(|| self.limit().saturating_sub(self.eviction_hard));
        let (least, most) = (request as f64, most as f64);
        let page = PAGE_SIZE as f64;
        let high = ((least + (most - least) * self.throttling) / page).floor() * page;
        (self.memory_qos && limit != Some(request) && high > least).then_some(high as u64)
    }

    /// `memory.swap.max` of a container.
    pub fn swap_max(&self, pod: &Pod, container: &Container) -> u64 {
        let some = pod.class() == Class::Burstable
            && !pod.critical
            && container.request > 0
            && container.limit != Some(container.request);
        if !self.limited_swap || !some {
            return 0;
        }
        let share = u128::from(container.request) * u128::from(self.swap);
        u64::try_from(share / u128::from(self.capacity.max(1))).unwrap_or(u64::MAX)
    }

    /// `memory.min` and `memory.low` for requests of a class.
    fn protection(&self, class: Class, request: u64) -> [u64; 2] {
        match (self.version, class) {
            _ if !self.memory_qos => [0, 0],
            (Version::V1_35, _) => [request, 0],
            _ if !self.tiered => [0, 0],
            (_, Class::Guaranteed) => [request, 0],
            (_, _) => [0, request],
        }
    }

    /// The groups of pods in the order of their creation.
    pub fn groups(&self, pods: &[Pod]) -> Vec<MemcgConfig> {
        let of = |class: Class| -> u64 {
            let of_class = pods.iter().filter(|p| p.class() == class);
            of_class.fold(0, |all, p| all.saturating_add(p.request()))
        };
        let (guaranteed, burstable) = (of(Class::Guaranteed), of(Class::Burstable));
        let requests = guaranteed.saturating_add(burstable);
        let [min, _] = self.protection(Class::Guaranteed, requests);
        let low = match self.version {
            Version::V1_35 | Version::V1_36 => 0,
            Version::V1_37 => self.protection(Class::Burstable, burstable)[1],
        };
        let mut all = vec![
            group(KUBEPODS.into(), [min, low], Some(self.limit())),
            group(slice_of("burstable"), self.protection(Class::Burstable, burstable), None),
            group(slice_of("besteffort"), [0, 0], None),
        ];
        for pod in pods {
            let limits = pod.containers.iter().map(|c| c.limit);
            let limits = limits.reduce(|a, b| Some(a?.saturating_add(b?))).flatten();
            all.push(group(pod.slice(), self.protection(pod.class(), pod.request()), limits));
            for c in &pod.containers {
                let scope = group(pod.scope(c), self.protection(pod.class(), c.request), c.limit);
                all.push(MemcgConfig {
                    high: self.high(c).map(|bytes| bytes / PAGE_SIZE),
                    swap_max: Some(self.swap_max(pod, c) / PAGE_SIZE),
                    oom_group: !self.single_process_oom_kill,
                    ..scope
                });
            }
        }
        all
    }
}

/// A group with `memory.min`, `memory.low` and `memory.max` in bytes.
fn group(name: String, [min, low]: [u64; 2], max: Option<u64>) -> MemcgConfig {
    let (min, low) = (min / PAGE_SIZE, low / PAGE_SIZE);
    MemcgConfig { min, low, max: max.map(|bytes| bytes / PAGE_SIZE), ..MemcgConfig::new(name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;
    const GIB: u64 = 1 << 30;

    fn node(version: Version) -> Node {
        Node {
            version,
            memory_qos: true,
            tiered: true,
            throttling: 0.9,
            limited_swap: true,
            single_process_oom_kill: false,
            capacity: 64 * GIB,
            swap: 4 * GIB,
            reserved: 0,
            eviction_hard: 100 * MIB,
        }
    }

    fn pod(name: &str, request: u64, limit: Option<u64>) -> Pod {
        let containers = vec![Container { name: "app".into(), request, limit }];
        Pod { name: name.into(), containers, priority: 0, critical: false }
    }

    /// Kubernetes' own test values of `LimitedSwap`; guaranteed, best-effort and critical pods have 0.
    #[test]
    fn swap_is_shared_by_requests() {
        let of = |request: u64, capacity: u64, swap: u64| {
            let node = Node { capacity: capacity * GIB, swap: swap * GIB, ..node(Version::V1_35) };
            let pod = pod("p", request * GIB, None);
            node.swap_max(&pod, &pod.containers[0])
        };
        assert_eq!(
            [of(1, 80, 4), of(2, 40, 2), of(5, 150, 40)],
            [53_687_091, 107_374_182, 1_431_655_765]
        );
        let none = |pod: Pod| node(Version::V1_35).swap_max(&pod, &pod.containers[0]);
        assert_eq!(none(pod("p", GIB, Some(GIB))), 0);
        assert_eq!(none(pod("p", 0, None)), 0);
        assert_eq!(none(Pod { critical: true, ..pod("p", GIB, None) }), 0);
    }

    /// Worked by hand: 90 % of the way from the request to the limit, in whole pages.
    #[test]
    fn high_lies_between_request_and_limit() {
        let high = |request: u64| {
            let c = &pod("p", request * MIB, Some(1000 * MIB)).containers[0];
            node(Version::V1_35).high(c).map(|bytes| bytes / MIB)
        };
        let all = [0, 100, 500, 900, 1000].map(high);
        assert_eq!(all, [Some(900), Some(910), Some(950), Some(990), None]);
        // Without a limit it is on the way to what the node gives to pods.
        let c = &pod("p", 0, None).containers[0];
        let allocatable = (64 * GIB - 100 * MIB) as f64 * 0.9;
        assert_eq!(node(Version::V1_35).high(c), Some(allocatable as u64 / 4096 * 4096));
        assert_eq!(Node { memory_qos: false, ..node(Version::V1_35) }.high(c), None);
    }

    /// 8 of 64 GiB are 125 thousandths; a burstable pod is never what the other classes are.
    #[test]
    fn oom_scores_follow_the_request() {
        let adj = |p: Pod| p.oom_score_adj(&p.containers[0], 64 * GIB);
        assert_eq!(adj(pod("p", 8 * GIB, None)), 875);
        assert_eq!(adj(pod("p", 64 * GIB, None)), 3);
        assert_eq!(adj(pod("p", 1, None)), 999);
        assert_eq!(adj(pod("p", GIB, Some(GIB))), -997);
        assert_eq!(adj(pod("p", 0, None)), 1000);
        assert_eq!(adj(Pod { critical: true, ..pod("p", 0, None) }), -997);
    }

    /// One pod of each class, and their protection by release: `memory.min` and `memory.low` in GiB.
    #[test]
    fn three_releases_protect_differently() {
        let pods = [pod("g", GIB, Some(GIB)), pod("b", 2 * GIB, None), pod("e", 0, None)];
        let of = |version| -> Vec<(String, [u64; 2])> {
            let all = node(version).groups(&pods);
            let gib = |pages: u64| pages * PAGE_SIZE / GIB;
            let last = |name: &str| name.rsplit('/').next().unwrap_or_default().to_string();
            all.iter().map(|g| (last(&g.name), [gib(g.min), gib(g.low)])).collect()
        };
        let named = |values: [[u64; 2]; 9]| -> Vec<(String, [u64; 2])> {
            let names = [
                "kubepods.slice",
                "kubepods-burstable.slice",
                "kubepods-besteffort.slice",
                "kubepods-podg.slice",
                "cri-containerd-app.scope",
                "kubepods-burstable-podb.slice",
                "cri-containerd-app.scope",
                "kubepods-besteffort-pode.slice",
                "cri-containerd-app.scope",
            ];
            names.iter().map(|n| (*n).to_string()).zip(values).collect()
        };
        let none = [0, 0];
        let [g, b] = [[1, 0], [2, 0]];
        assert_eq!(of(Version::V1_35), named([[3, 0], b, none, g, g, b, b, none, none]));
        let b = [0, 2];
        assert_eq!(of(Version::V1_36), named([[3, 0], b, none, g, g, b, b, none, none]));
        assert_eq!(of(Version::V1_37), named([[3, 2], b, none, g, g, b, b, none, none]));
        let without = Node { tiered: false, ..node(Version::V1_36) };
        assert!(without.groups(&pods).iter().all(|g| g.min + g.low == 0));
    }

    /// A pod has a limit if each container has one; dashes are no levels.
    #[test]
    fn limits_of_pods_are_sums() {
        let mut two = pod("my-web", GIB, Some(2 * GIB));
        two.containers.push(Container { name: "b".into(), request: 0, limit: Some(GIB) });
        let all = node(Version::V1_37).groups(&[two.clone()]);
        let slice = "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podmy_web.slice";
        assert_eq!((all[3].name.as_str(), all[3].max), (slice, Some(3 * GIB / PAGE_SIZE)));
        two.containers[1].limit = None;
        assert_eq!(node(Version::V1_37).groups(&[two])[3].max, None);
        assert_eq!(all[0].max, Some(64 * GIB / PAGE_SIZE));
    }
}
