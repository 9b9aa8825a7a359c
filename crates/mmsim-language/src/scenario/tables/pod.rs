//! Pods, and the kubelet that runs them.

use crate::scenario::keys::{Fallback, KeySpec, Kind, TableSpec};
use crate::scenario::rows::{Words, rows, words};
use mmsim_daemons::kubelet::tree::Version;

use super::key;

use Fallback::{Auto, Is, Required};
use Kind::{Choice, Count, Flag, Number, Size, Tables, Text, Time, Whole};

/// Releases whose rules of protection differ.
pub(in crate::scenario) const VERSIONS: Words<Version> = words! {
    "1.35" => Version::V1_35,
    "1.36" => Version::V1_36,
    "1.37" => Version::V1_37,
};

/// `swapBehavior`; true: limited swap.
pub(in crate::scenario) const SWAP_BEHAVIORS: Words<bool> =
    words! { "NoSwap" => false, "LimitedSwap" => true };

/// `memoryReservationPolicy`; true: by tiers.
pub(in crate::scenario) const RESERVATIONS: Words<bool> =
    words! { "None" => false, "TieredReservation" => true };

/// Use of the root group; true: all that is not free.
pub(in crate::scenario) const ROOT_USAGE: Words<bool> =
    words! { "memory.stat" => false, "meminfo" => true };

rows! {
    /// `[daemon.kubelet]`.
    KUBELET,
    "[daemon.kubelet]",
    "The kubelet, which makes groups for each `[[pod]]` and evicts pods. Keys are those of its \
     configuration.";
    keys {
        ("version", Choice(VERSIONS.names), Is("\"1.37\""),
            "rules of memory protection; \"1.35\" holds for older releases too")
        ("memory-qos", Flag, Is("false"), "the feature `MemoryQoS`")
        ("memory-reservation-policy", Choice(RESERVATIONS.names), Is("\"None\""),
            "protection of requests, from 1.36 on; with `memory-qos`")
        ("memory-throttling-factor", Number(0.0, 1.0), Is("0.9"),
            "`memory.high` on the way from request to limit; with `memory-qos`")
        ("swap-behavior", Choice(SWAP_BEHAVIORS.names), Is("\"NoSwap\""),
            "`memory.swap.max` of containers")
        ("single-process-oom-kill", Flag, Is("false"), "containers without `memory.oom.group`")
        ("reserved", Size(0), Is("\"0 pages\""), "`kubeReserved` and `systemReserved`")
        ("root-usage", Choice(ROOT_USAGE.names), Is("\"memory.stat\""),
            "what the node uses: `anon` and `file`, or all that is not free, as older releases had it")
        ("eviction-hard", Size(0), Is("\"100MiB\""),
            "`memory.available` below which a pod is evicted at once; 0: never")
        ("eviction-soft", Size(1), Auto("no soft threshold"),
            "`memory.available` below which a pod is evicted after a grace")
        ("eviction-soft-grace", Time, Auto("none"), "that grace; needed with `eviction-soft`")
        ("eviction-max-pod-grace", Time, Is("\"0ns\""),
            "longest time to SIGKILL of a pod that a soft threshold evicts")
        ("eviction-minimum-reclaim", Size(0), Is("\"0 pages\""),
            "free memory beyond a threshold that ends it")
    }
}

/// Memory of a container.
const RESOURCES: [KeySpec; 2] = [
    key("request", Size(0), Auto("`limit`, or nothing"), "`resources.requests.memory`"),
    key("limit", Size(1), Auto("none"), "`resources.limits.memory`"),
];

rows! {
    /// `[[pod]]`.
    POD,
    "[[pod]]",
    "A pod, whose groups the kubelet makes: `[[daemon]]` with `kubelet`. Its class follows from \
     requests and limits of memory.";
    keys {
        ("name", Text, Required, "name for `task.pod`")
        ("count", Count(1, 10_000), Is("1"),
            "pods of this name, with `-0`, `-1` and so on behind it")
        {..&RESOURCES}
        ("container", Tables(&POD_CONTAINER), Auto("one, with the name of the pod"),
            "its containers, instead of `request` and `limit`")
        ("priority", Whole(-2_147_483_648, 2_000_001_000), Is("0"),
            "pods of lower priority are evicted first")
        ("critical", Flag, Is("false"), "it is never evicted")
        ("grace", Time, Is("\"30s\""), "`terminationGracePeriodSeconds`")
    }
}

rows! {
    /// `[[pod.container]]`.
    POD_CONTAINER,
    "[[pod.container]]",
    "A container of a pod.";
    keys {
        ("name", Text, Required, "name for `task.pod`, as in `web/nginx`")
        {..&RESOURCES}
    }
}
