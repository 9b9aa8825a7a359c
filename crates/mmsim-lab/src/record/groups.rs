//! The tree of memory cgroups of a scenario, as commands of the recorder.

use mmsim_core::config::{MachineConfig, MemcgConfig, PAGE_COUNTER_MAX};

use super::program::Refusal;

/// A key of a group, whether the group sets it, and why it is not carried over.
type Unlike = (&'static str, fn(&MemcgConfig) -> bool, &'static str);

const UNLIKE: &[Unlike] = &[
    ("swap-high", |g| g.swap_high.is_some(), "the recorder does not set it, leave it out"),
    ("zswap-max", |g| g.zswap_max.is_some(), "zswap is not carried over, leave it out"),
    ("zswap-writeback", |g| !g.zswap_writeback, "zswap is not carried over, leave it out"),
    ("lazyfreeness", |g| g.lazyfreeness.is_some(), "no released kernel has it"),
    ("from", |g| g.from.0 != 0, "recorded groups are there from the start, leave it out"),
    ("until", |g| g.until.is_some(), "recorded groups stay, leave it out"),
    ("empty", |g| g.empty.is_some(), "the recorder makes no such groups, leave them out"),
];

/// Commands that mount the file system of groups and make them with their limits.
pub(super) fn groups(machine: &MachineConfig) -> Result<Vec<String>, Refusal> {
    let all = &machine.memcgs;
    if all.is_empty() {
        return Ok(Vec::new());
    }
    for g in all {
        if let Some((key, _, what)) = UNLIKE.iter().find(|(_, is, _)| is(g)) {
            return Err((format!("machine.memcg[{}].{key}", g.entry), format!(": {what}")));
        }
    }
    let mount = &machine.memcg_mount;
    let option = match (mount.recursive_protection, mount.local_events) {
        (false, false) => "none",
        (true, false) => "memory_recursiveprot",
        (false, true) => "memory_localevents",
        (true, true) => {
            let what = ": the recorder mounts with one option at most, write one";
            return Err(("machine.memcg-mount".into(), what.into()));
        }
    };
    let control = |folder: &str| format!("write {folder}/cgroup.subtree_control +memory");
    let mut lines = vec![format!("mount cgroup2 none /cg {option}"), control("/cg")];
    for g in all {
        let folder = format!("/cg/{}", g.name);
        lines.push(format!("mkdir {folder}"));
        let below = format!("{}/", g.name);
        lines.extend(all.iter().any(|o| o.name.starts_with(&below)).then(|| control(&folder)));
        let bytes = |pages: u64| match pages {
            PAGE_COUNTER_MAX => "max".to_string(),
            pages => (pages * 4096).to_string(),
        };
        let some = |pages: u64| (pages > 0).then_some(pages);
        let files = [
            ("min", some(g.min)),
            ("low", some(g.low)),
            ("high", g.high),
            ("max", g.max),
            ("swap.max", g.swap_max),
        ];
        let written = files.into_iter().filter_map(|(file, pages)| Some((file, pages?)));
        lines.extend(
            written.map(|(f, pages)| format!("write {folder}/memory.{f} {}", bytes(pages))),
        );
        lines.extend(g.oom_group.then(|| format!("write {folder}/memory.oom.group 1")));
    }
    Ok(lines)
}
