//! `[[daemon.oomd]]`: rulesets of plug-ins.

use mmsim_core::base::id::{Idx as _, MemcgId, PAGE_SIZE};
use mmsim_daemons::oomd::{ACTIONS, DETECTORS, Detector, Kill, Ruleset, STOP, SWAP_USAGE};

use super::fields::{each, one_or_more};
use super::read::Reader;
use super::tables::{OOMD, OOMD_DETECTOR, OOMD_KILL};
use super::watched::{group_named, group_names, groups_like, in_one_list};
use mmsim_base::error::Error;
use mmsim_core::base::time::SimDuration;

/// Detectors of a ruleset.
const MOST_DETECTORS: usize = 64;

/// Reads rulesets.
pub(super) fn rulesets(r: &Reader<'_>, groups: &[String]) -> Result<Vec<Ruleset>, Error> {
    let mut all = each(r, "oomd", &OOMD, |o| ruleset(o, groups))?;
    for (n, ruleset) in all.iter_mut().enumerate().filter(|(_, r)| r.name.is_empty()) {
        ruleset.name = format!("ruleset {n}");
    }
    Ok(all)
}

fn ruleset(r: &Reader<'_>, groups: &[String]) -> Result<Ruleset, Error> {
    let detectors = each(r, "detector", &OOMD_DETECTOR, |d| detector(d, groups))?;
    if detectors.is_empty() {
        return Err(r.error("detector", "it detects nothing", "a detector"));
    }
    if detectors.len() > MOST_DETECTORS {
        let found = format!("{} detectors", detectors.len());
        return Err(r.error("detector", found, format!("at most {MOST_DETECTORS}")));
    }
    r.need("kill")?;
    let name = r.opt_name("name")?.unwrap_or("").to_string();
    let actions = one_or_more(r, "kill", &OOMD_KILL, |k| kill(k, groups))?;
    if actions.is_empty() {
        return Err(r.error("kill", "it does nothing", "a plug-in that kills"));
    }
    chain(r, &actions)?;
    let hook: SimDuration = r.get("hook")?;
    if hook == SimDuration::ZERO && !r.is_default("hook-timeout") {
        return Err(r.error("hook-timeout", "there is no hook to wait for", "a `hook` too"));
    }
    Ok(Ruleset { name, detectors, actions, hook, hook_timeout: r.get("hook-timeout")? })
}

/// Refuses a chain that never kills, and plug-ins behind a `stop`.
fn chain(r: &Reader<'_>, actions: &[Kill]) -> Result<(), Error> {
    let name = |kill: &Kill| ACTIONS[kill.plugin].0;
    let end = actions.iter().position(|kill| name(kill) == STOP).unwrap_or(actions.len());
    if let Some(behind) = actions.get(end + 1) {
        let found = format!("`{}` stands behind `{STOP}` and never acts", name(behind));
        return Err(r.error("kill", found, format!("`{STOP}` last, or leave it out")));
    }
    if actions[..end].iter().all(|kill| ACTIONS[kill.plugin].2.is_empty()) {
        let found = match end {
            0 => format!("`{STOP}` comes first, so none kills"),
            _ => format!("`{}` alone kills no group", name(&actions[0])),
        };
        return Err(r.error("kill", found, "a plug-in that kills too"));
    }
    Ok(())
}

fn detector(r: &Reader<'_>, groups: &[String]) -> Result<Detector, Error> {
    let plugin = r.position("plugin")?;
    let row = &DETECTORS[plugin];
    for (key, takes) in ["memcg", "threshold", "duration"].into_iter().zip(row.takes) {
        if takes {
            r.need(key)?;
        } else if r.has(key) {
            let found = format!("`{}` takes none", row.name);
            return Err(r.error(key, found, "nothing: leave it out"));
        }
    }
    if r.has("memcg") {
        group_named(r, "memcg", groups)?;
    }
    for (key, of) in [("anon", "memory_above"), ("swap-out", "swap_free")] {
        if row.name != of && !r.is_default(key) {
            let found = format!("it is of `{of}`, not of `{}`", row.name);
            return Err(r.error(key, found, "nothing: leave it out"));
        }
    }
    Ok(Detector {
        plugin,
        group: r.opt_name("group")?.unwrap_or("").to_string(),
        memcg: r.opt_name("memcg")?.unwrap_or("/").to_string(),
        threshold: r.opt_number("threshold")?.unwrap_or(0.0),
        duration: r.opt_time("duration")?.unwrap_or_default(),
        anon: r.get("anon")?,
        swap_out: r.get::<u64>("swap-out")? * PAGE_SIZE,
    })
}

fn kill(r: &Reader<'_>, groups: &[String]) -> Result<Kill, Error> {
    let plugin = r.position("plugin")?;
    let (name, _, keys) = ACTIONS[plugin];
    let among = if keys.is_empty() {
        for key in ["among", "recursive", "prefer", "avoid", "pause", "always-continue"] {
            if r.has(key) && !r.is_default(key) {
                let found = format!("`{name}` kills no group");
                return Err(r.error(key, found, "nothing: leave it out"));
            }
        }
        Vec::new()
    } else {
        r.need("among")?;
        groups_like(r, "among", groups, &[])?
    };
    let biased = r.get("biased-swap-kill")?;
    if biased && name != SWAP_USAGE {
        let found = format!("it is of `{SWAP_USAGE}`, not of `{name}`");
        return Err(r.error("biased-swap-kill", found, "nothing: leave it out"));
    }
    let recursive = r.get("recursive")?;
    let (prefer, avoid) = (group_names(r, "prefer", groups)?, group_names(r, "avoid", groups)?);
    in_one_list(r, ("prefer", &prefer), ("avoid", &avoid))?;
    Ok(Kill {
        plugin,
        among: if recursive { tops(among, groups) } else { among },
        recursive,
        prefer,
        avoid,
        biased,
        pause: r.get("pause")?,
        goes_on: r.get("always-continue")?,
    })
}

/// Groups without those that stand below another of them.
fn tops(all: Vec<MemcgId>, groups: &[String]) -> Vec<MemcgId> {
    let name = |m: MemcgId| groups[m.index() - 1].as_str();
    let below = |m: MemcgId, top: MemcgId| {
        name(m).strip_prefix(name(top)).is_some_and(|rest| rest.starts_with('/'))
    };
    all.iter().copied().filter(|&m| !all.iter().any(|&top| below(m, top))).collect()
}
