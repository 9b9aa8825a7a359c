//! Results of choosers of groups.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use mmsim_core::policy::chooser::{ChooserResult, Refusal};

use crate::pairs::Pairs;

/// Results of the policy that a group has by `cache-ext`. Numbers are of folios, which are pages, but
/// for calls.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct CacheExtReport {
    /// Its name.
    pub name: String,
    /// The group; empty: the root, which cache_ext does not serve.
    pub memcg: String,
    /// Events that it got: folios that came, were used, or left.
    pub told: u64,
    /// Calls for folios.
    pub asks: u64,
    /// Folios that these asked for.
    pub wanted: u64,
    /// Folios that it offered.
    pub offered: u64,
    /// Folios that it offered and that were evicted.
    pub evicted: u64,
    /// Folios that it offered and that stayed, by the reason.
    pub refused: Pairs<u64>,
    /// Evicted ones with an accessed bit set: they were used through a mapping, which it is not told.
    pub used: u64,
    /// Passes over the group that it ended: it freed more than 80 % of what they were to scan.
    pub ended: u64,
    /// Passes that had nothing to ask for, since the inactive list was too short.
    pub spared: u64,
    /// File pages of the group that the LRU evicted behind it.
    pub fallback: u64,
    /// Reads that asked it whether their pages may be cached; 0 if it does not answer that.
    #[serde(default)]
    pub admit_asks: u64,
    /// Asks of these that it answered with no.
    #[serde(default)]
    pub turned_away: u64,
    /// Pages that were read past the cache for that.
    #[serde(default)]
    pub past: u64,
    /// Counts of its own.
    #[serde(default, skip_serializing_if = "Pairs::is_empty")]
    pub tallies: Pairs<u64>,
    /// Reason for which it was detached in the run, such as a trap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
}

impl CacheExtReport {
    /// A policy of a group that was never asked.
    pub fn idle(memcg: &str) -> CacheExtReport {
        let none = Refusal::ALL.iter().map(|&(_, name)| (name, 0)).collect();
        CacheExtReport { memcg: memcg.to_string(), refused: none, ..CacheExtReport::default() }
    }

    /// Its numbers with their names: `search.offered`, `search.refused.dirty`.
    pub(crate) fn named(&self) -> Vec<(String, u64)> {
        let counts = [
            ("told", self.told),
            ("asks", self.asks),
            ("wanted", self.wanted),
            ("offered", self.offered),
            ("evicted", self.evicted),
            ("used", self.used),
            ("ended", self.ended),
            ("spared", self.spared),
            ("fallback", self.fallback),
            ("admit_asks", self.admit_asks),
            ("turned_away", self.turned_away),
            ("past", self.past),
        ];
        let counts = counts.into_iter().map(|(name, n)| (name.to_string(), n));
        let refused = self.refused.iter().map(|(why, &n)| (format!("refused.{why}"), n));
        let tallies = self.tallies.iter().map(|(name, &n)| (format!("tallies.{name}"), n));
        let all = counts.chain(refused).chain(tallies);
        all.map(|(name, n)| (format!("{}.{name}", self.memcg), n)).collect()
    }

    /// The share of the LRU in the evictions of file pages of the group; `None`: there were none.
    pub fn fallback_share(&self) -> Option<f64> {
        let all = self.evicted + self.fallback;
        (all > 0).then(|| self.fallback as f64 / all as f64)
    }

    /// Folios that it offered and that stayed.
    pub fn all_refused(&self) -> u64 {
        self.refused.iter().map(|(_, n)| n).sum()
    }
}

impl From<&ChooserResult> for CacheExtReport {
    fn from(r: &ChooserResult) -> Self {
        let c = &r.counts;
        let refused = Refusal::ALL.iter().map(|&(why, name)| (name, c.refused[why as usize]));
        CacheExtReport {
            name: r.name.clone(),
            memcg: r.group.clone(),
            told: c.told,
            asks: c.asks,
            wanted: c.wanted,
            offered: c.offered,
            evicted: c.evicted,
            refused: refused.collect(),
            used: c.used,
            ended: c.ended,
            spared: c.spared,
            fallback: c.fallback,
            admit_asks: c.admit_asks,
            turned_away: c.turned_away,
            past: c.past,
            tallies: r.tallies.iter().copied().collect(),
            stopped: r.stopped.clone(),
        }
    }
}
