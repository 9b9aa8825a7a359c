//! Notes on policies of `cache-ext`: what they offered, what went, and what the LRU did behind
//! them.

use crate::document::CacheExtReport;
use crate::groups::Group;
use crate::numbers::grouped;

/// Notes of this kind before the rest is counted.
const MOST: usize = 16;

/// A note for each policy of the first run of each variant at each point.
pub(super) fn policies(groups: &[&Group<'_>]) -> Vec<String> {
    let mut notes = Vec::new();
    for group in groups {
        let point: String = group.axes.iter().map(|(k, x)| format!(", {k} = {x}")).collect();
        for v in &group.variants {
            let policies = v.runs.first().map_or(&[][..], |run| &run.cache_ext);
            notes.extend(policies.iter().map(|p| format!("{}{point}: {}", v.name, of(p))));
        }
    }
    if notes.len() > MOST {
        let more = notes.len() - MOST;
        notes.truncate(MOST);
        let noun = if more == 1 { "policy" } else { "policies" };
        notes.push(format!("{more} more {noun} of cache_ext; --format json has all"));
    }
    notes
}

fn of(p: &CacheExtReport) -> String {
    let number = |n: u64| grouped(n as f64);
    let group = match p.memcg.as_str() {
        "" => "the root, which cache_ext does not serve".to_string(),
        name => format!("group `{name}`"),
    };
    let fallback = match p.fallback_share() {
        None => "the group lost no file page".to_string(),
        Some(share) => format!("fallback {:.1} %", 100.0 * share),
    };
    let refused: Vec<String> = p
        .refused
        .iter()
        .filter(|(_, n)| **n > 0)
        .map(|(why, &n)| format!("{} {}", number(n), why.replace('_', " ")))
        .collect();
    let refused = match refused[..] {
        [] => String::new(),
        _ => format!("; refused {}", refused.join(", ")),
    };
    let used = match p.used {
        0 => String::new(),
        n => format!("; {} of the evicted ones were in use through mappings", number(n)),
    };
    let away = match p.admit_asks {
        0 => String::new(),
        asks => format!(
            "; of {} reads that missed it turned {} away, {} pages past the cache",
            number(asks),
            number(p.turned_away),
            number(p.past)
        ),
    };
    let stopped = p.stopped.as_ref().map_or(String::new(), |why| format!("; DETACHED: {why}"));
    format!(
        "policy {} of {group}: asked {} times for {} folios, offered {}, evicted {}, \
         {fallback}{refused}{used}{away}{stopped}",
        p.name,
        number(p.asks),
        number(p.wanted),
        number(p.offered),
        number(p.evicted),
    )
}
