//! Decisions of MGLRU by numbers alone: the need for a generation, and the amount that may be
//! evicted.
//!
//! Source: Linux 6.12 and 7.3 mm/vmscan.c (`should_run_aging`, `get_nr_to_scan`,
//! `try_to_shrink_lruvec`, `set_initial_priority`).

use super::config::{AgingRule, AgingSite};
use crate::classic::formulas::inactive_is_low;
use crate::index::{ANON, Evictable, FILE, LruType, MIN_NR_GENS, PerType};

/// Summary of the distribution of pages over generations (`should_run_aging`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outlook {
    /// A new generation is wanted.
    pub wanted: bool,
    /// Pages that could be evicted; 0 if there are too few generations.
    pub total: u64,
}

/// Need of an lruvec with these generations for a new one, and the number of its pages that can be
/// evicted. `size`: pages of a generation, by its sequence number and type.
pub fn outlook(
    rule: AgingRule,
    max_seq: u64,
    min_seq: PerType<u64>,
    types: Evictable,
    size: impl Fn(u64, LruType) -> u64,
) -> Outlook {
    let leader = match (types, rule) {
        (Evictable::Both, AgingRule::GensOnly | AgingRule::Ratio) => {
            min_seq[ANON].min(min_seq[FILE])
        }
        (Evictable::Both, AgingRule::Distribution) | (Evictable::Anon, _) => min_seq[ANON],
        (Evictable::File, _) => min_seq[FILE],
    };
    let (mut total, mut young, mut old, mut active) = (0, 0, 0, 0);
    for &t in types.types() {
        for seq in min_seq[t]..=max_seq {
            let size = size(seq, t);
            total += size;
            active += if seq + 1 >= max_seq { size } else { 0 };
            if seq == max_seq {
                young += size;
            } else if seq + MIN_NR_GENS == max_seq {
                old += size;
            }
        }
    }
    let lead = max_seq - leader;
    if lead < MIN_NR_GENS {
        return Outlook { wanted: true, total: 0 };
    }
    let wanted = match rule {
        _ if lead > MIN_NR_GENS => false,
        AgingRule::GensOnly => true,
        AgingRule::Ratio => inactive_is_low(total - active, active),
        // Ideally each of three generations holds a third; reasonable is from a quarter to a half.
        AgingRule::Distribution => young * MIN_NR_GENS > total || old * (MIN_NR_GENS + 2) < total,
    };
    Outlook { wanted, total }
}

/// True if eviction ages an lruvec first. `at_first`: the pass has the first priority, at which
/// aging is put off; the loop of 7.2 does not put it off when there are too few generations.
pub fn ages_first(site: AgingSite, outlook: Outlook, at_first: bool) -> bool {
    match site {
        AgingSite::Loop => outlook.wanted && (outlook.total == 0 || !at_first),
        AgingSite::Evictor | AgingSite::Kswapd => outlook.wanted && !at_first,
    }
}

/// First priority of kswapd from what can be reclaimed (`set_initial_priority`).
pub fn initial_priority(reclaimable: u64, to_reclaim: u64, first: u8) -> u8 {
    let fls = |n: u64| i64::from(64 - n.leading_zeros());
    let priority = fls(reclaimable) - 1 - fls(to_reclaim.saturating_sub(1));
    priority.clamp(i64::from(first / 2), i64::from(first)) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kswapd_begins_where_it_will_find_enough() {
        assert_eq!(initial_priority(100_000, 1024, 12), 6);
        assert_eq!(initial_priority(1_000_000, 128, 12), 12);
        assert_eq!(initial_priority(5000, 5000, 12), 6);
    }

    /// (generations beyond the youngest, young, old) of 8192 anonymous pages.
    #[test]
    fn generations_are_wanted_when_cold_pages_run_out() {
        let rule = |rule, lead: u64, young: u64, old: u64| {
            let size = |seq: u64, t: LruType| match (7 - seq, t) {
                (_, FILE) => 0,
                (0, _) => young,
                (1, _) => 8192 - young - old,
                (2, _) => old,
                _ => 0,
            };
            outlook(rule, 7, PerType::new([7 - lead; 2]), Evictable::Both, size)
        };
        let of = |lead, young, old| rule(AgingRule::Distribution, lead, young, old);
        assert_eq!(of(1, 0, 0), Outlook { wanted: true, total: 0 });
        assert_eq!(of(2, 2000, 3000), Outlook { wanted: false, total: 8192 });
        assert!(of(2, 5000, 2500).wanted, "more than half of the pages are young");
        assert!(of(2, 2000, 2000).wanted, "less than a quarter is old");
        assert!(!of(3, 8000, 0).wanted, "four generations are enough");
        // Below a gigabyte an older page may face one younger.
        assert!(!rule(AgingRule::Ratio, 2, 2000, 4096).wanted);
        assert!(rule(AgingRule::Ratio, 2, 2000, 4095).wanted);
        assert!(rule(AgingRule::GensOnly, 2, 2000, 3000).wanted);
        assert!(!rule(AgingRule::GensOnly, 3, 2000, 3000).wanted);
    }

    /// The first priority puts aging off, but not in the loop of 7.2 when nothing can be evicted.
    #[test]
    fn aging_is_put_off_at_the_first_priority() {
        let (few, none) = (Outlook { wanted: true, total: 9 }, Outlook { wanted: true, total: 0 });
        for site in [AgingSite::Evictor, AgingSite::Loop] {
            assert!(!ages_first(site, few, true) && ages_first(site, few, false), "{site:?}");
        }
        assert!(ages_first(AgingSite::Loop, none, true));
        assert!(!ages_first(AgingSite::Evictor, none, true));
    }
}
