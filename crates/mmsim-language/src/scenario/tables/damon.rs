//! Monitors of accesses and their schemes.

use mmsim_core::base::time::SimDuration;
use mmsim_core::config::Kernel;
use mmsim_damon::IntervalsGoal;
use mmsim_damon::MonitoringAttrs;
use mmsim_damon::Pause;
use mmsim_damon::damos::filter::{Filter, FilterType};
use mmsim_damon::damos::goal::{Goal, Metric, Tuner};
use mmsim_damon::damos::quota::Quota;
use mmsim_damon::damos::scheme::{AccessPattern, Action, Scheme, SchemeState};
use mmsim_damon::damos::watermark::{Watermarks, WmarkMetric};
use mmsim_damon::ops::OpsId;

use super::key;
use super::settings::{DAMON_RULES, PARAMETERS};
use crate::scenario::fields::{each, within};
use crate::scenario::keys::{Fallback, Kind, MANY, TableSpec, U32};
use crate::scenario::read::Reader;
use crate::scenario::rows::{Words, rows, words};
use crate::scenario::units::PAGE_SIZE;
use mmsim_base::error::Error;

use Fallback::{Auto, Is, Required};
use Kind::{Choice, Count, Flag, Rows, Size, Table, Tables, Text, Time};

/// Whose addresses a monitor watches.
pub(in crate::scenario) const OPS: Words<OpsId> =
    words! { "vaddr" => OpsId::Vaddr, "fvaddr" => OpsId::Fvaddr, "paddr" => OpsId::Paddr };

/// Whole microseconds.
pub(in crate::scenario) fn micros(t: SimDuration) -> u64 {
    t.0 / 1000
}

rows! {
    /// `[[damon]]`.
    DAMON,
    "[[damon]]",
    "A kdamond with one context. Give `module` and its `parameters`, or the context itself.";
    keys {
        ("name", Text, Auto("`kdamond.0` and so on"), "name in reports")
        ("rules", Rows(&DAMON_RULES), Auto("the preset of `machine.kernel`"),
            "what that DAMON does differently from others")
        ("module", Choice(&["damon-reclaim", "damon-lru-sort", "damon-stat"]), Auto("none"),
            "a context that the kernel has ready")
        ("parameters", Rows(&PARAMETERS), Auto("the kernel's"),
            "parameters of the module, in the kernel's units")
        ("ops", Choice(OPS.names), Auto("`paddr`"),
            "whose addresses: of a process, whose ranges follow its mappings or are fixed, or physical ones")
        ("task", Text, Auto("none"), "the process, for `vaddr` and `fvaddr`")
        ("region", Tables(&DAMON_REGION), Auto("for `paddr` all frames; for `vaddr` the mappings"),
            "what is watched at first")
        ("start", Time, Is("\"0ns\""), "when it is switched on")
        ("sample", Time, Auto("`5ms`"), "time between two samples")
        ("aggr", Time, Auto("`100ms`"), "time of an aggregation")
        ("ops-update", Time, Auto("`60s`"), "time between two looks at the mappings")
        ("intervals-goal", Table(&DAMON_INTERVALS_GOAL), Auto("none"),
            "what `sample` and `aggr` are tuned for (6.18 and later)")
        ("min-nr-regions", Count(3, U32), Auto("10"), "regions there should at least be")
        ("max-nr-regions", Count(3, U32), Auto("1000"), "regions there may be at most")
        ("pause", Tables(&DAMON_PAUSE), Auto("never"), "when it is paused (7.3)")
        ("scheme", Tables(&DAMOS), Auto("none"), "what is done, one `[[damon.scheme]]` each")
        ("truth", Flag, Is("false"),
            "run it again to see every access, and report how far the monitor is off; for processes, implies `record`")
        ("record", Flag, Is("false"),
            "keep all regions at the end of every aggregation, for `--damon-record`")
    }
}

rows! {
    /// `[[damon.region]]`.
    DAMON_REGION,
    "[[damon.region]]",
    "A range of addresses, in whole pages.";
    keys {
        ("start", Size(0), Required, "first address")
        ("end", Size(1), Required, "address behind the last")
    }
}

rows! {
    /// `[[damon.pause]]`.
    DAMON_PAUSE,
    "[[damon.pause]]",
    "A time in which a monitor neither samples nor applies schemes.";
    check pause_ends;
    fn pause(r, _cx: ()) -> Pause {
        from: ("from", Time, Required, "when it begins, after the start of the run");
        until: {r.opt_time("until")?;
            ("until", Time, Auto("the end of the run"), "when it ends")};
    }
}

fn pause_ends(r: &Reader<'_>, pause: &Pause) -> Result<(), Error> {
    if pause.until.is_some_and(|until| until <= pause.from) {
        return Err(r.error("until", "it is not after `from`", "a later time"));
    }
    Ok(())
}

rows! {
    /// `[damon.intervals-goal]`.
    DAMON_INTERVALS_GOAL,
    "[damon.intervals-goal]",
    "Goal that the intervals of a monitor are tuned for. Both keep their ratio.";
    check bounds_of_tuning;
    fn intervals_goal(r, _cx: ()) -> IntervalsGoal {
        access_bp: ("access-bp", Count(1, 10_000), Required,
            "accesses to be seen, in 1/10000 of all that could be");
        aggrs: ("aggrs", Count(1, U32), Required, "aggregations between two changes");
        sample_us: {(micros(r.get("min-sample")?), micros(r.get("max-sample")?));
            ("min-sample", Time, Required, "shortest `sample`"),
            ("max-sample", Time, Required, "longest `sample`")};
    }
}

fn bounds_of_tuning(r: &Reader<'_>, goal: &IntervalsGoal) -> Result<(), Error> {
    match goal.sample_us {
        (0, _) => Err(r.error("min-sample", "no time at all", "a duration of at least \"1us\"")),
        (min, max) if max < min => {
            Err(r.error("max-sample", "it is shorter than `min-sample`", "a longer one"))
        }
        _ => Ok(()),
    }
}

/// Monitor and machine, for a scheme.
pub(in crate::scenario) struct SchemeCx<'a> {
    pub(in crate::scenario) attrs: &'a MonitoringAttrs,
    pub(in crate::scenario) memcgs: &'a [&'a str],
    /// The kernel whose DAMON it is.
    pub(in crate::scenario) kernel: Kernel,
    pub(in crate::scenario) ops: OpsId,
}

impl SchemeCx<'_> {
    /// Checks for features of a later DAMON: the first modelled kernel with it, and Linux's.
    fn since(&self, r: &Reader<'_>, key: &str, first: Kernel, linux: &str) -> Result<(), Error> {
        if self.kernel >= first {
            return Ok(());
        }
        let found = format!("this DAMON has no such thing (Linux has it since {linux})");
        let write = format!("rules or a kernel of {} too, or leave it out", first.name());
        Err(r.error(key, found, write))
    }
}

rows! {
    /// `[[damon.scheme]]`.
    DAMOS,
    "[[damon.scheme]]",
    "Regions of this pattern, and what is done with them. All bounds are included.";
    check quota_and_target;
    fn scheme(r, cx: &SchemeCx<'_>) -> Scheme {
        action: {action(r, cx)?; ("action", one of ACTIONS, Required,
            "what is done; `lru_prio` and `lru_deprio` are of 6.1 and later, migrations of 6.12")};
        pattern: {pattern(r, cx.attrs)?;
            ("min-size", Size(0), Is("\"0 pages\""), "smallest region"),
            ("max-size", Size(0), Auto("any"), "largest region"),
            ("min-nr-accesses", Count(0, U32), Is("0"), "least samples with an access"),
            ("max-nr-accesses", Count(0, U32), Auto("any"), "most samples with an access"),
            ("min-age", Time, Is("\"0ns\""), "least age, rounded down to aggregations"),
            ("max-age", Time, Auto("any"), "largest age")};
        apply_interval_us: {apply_interval(r, cx)?;
            ("apply-interval", Time, Auto("an aggregation"),
                "time between two passes (6.12 and later)")};
        quota: (struct Quota {
            ms: {r.opt_time("quota-time")?.map_or(0, |t| micros(t) / 1000);
                ("quota-time", Time, Auto("no limit"), "time of work in a charge window")};
            sz: {r.opt_pages("quota-size")?.unwrap_or(0) * PAGE_SIZE;
                ("quota-size", Size(0), Auto("no limit"), "memory that is tried in a charge window")};
            reset_interval_ms: {micros(r.get("quota-reset")?) / 1000;
                ("quota-reset", Time, Is("\"0ns\""),
                    "length of a charge window; 0: every pass has its own")};
            weight_sz: ("weight-size", Count(0, U32), Is("0"), "weight in the score; nothing uses it");
            weight_nr_accesses: ("weight-nr-accesses", Count(0, U32), Is("0"),
                "weight of the accesses in the score");
            weight_age: ("weight-age", Count(0, U32), Is("0"), "weight of the age in the score");
            goals: {each(r, "goal", &DAMOS_GOAL, |g| goal(g, cx))?;
                ("goal", Tables(&DAMOS_GOAL), Auto("none"),
                    "what the quota is to achieve (6.12 and later)")};
            tuner: {tuner(r, cx)?;
                ("goal-tuner", Choice(&["consist", "temporal"]), Auto("`consist`"),
                    "how the quota follows its goals: in proportion, or all until one is achieved and then \
                     nothing (7.3)")};
            fail_charge: {fail_charge(r, cx)?;
                ("fail-charge", Table(&DAMOS_FAIL_CHARGE), Auto("all of it"),
                    "share of the quota that memory costs for which the action fails (7.3)")};
        });
        wmarks: {within(r, "wmarks", &DAMOS_WMARKS, |w| wmarks(w, ()))?.unwrap_or(Watermarks::NONE);
            ("wmarks", Table(&DAMOS_WMARKS), Auto("always on"),
                "when it works at all, by free memory")};
        filters: {each(r, "filter", &DAMOS_FILTER, |f| filter(f, cx))?;
            ("filter", Tables(&DAMOS_FILTER), Auto("none"),
                "what it leaves out, or takes (6.6 and later)")};
        max_nr_snapshots: {max_nr_snapshots(r, cx)?;
            ("max-nr-snapshots", Count(0, MANY), Is("0"),
                "snapshots after which it stops; 0: it goes on (7.3)")};
        target_nid: ("target-node", Count(0, 255), Auto("none"), "where migrations go");
        state: {SchemeState::default()};
    }
}

/// Actions of schemes.
const ACTIONS: Words<Action> = words! {
    "willneed" => Action::Willneed,
    "cold" => Action::Cold,
    "pageout" => Action::Pageout,
    "hugepage" => Action::Hugepage,
    "nohugepage" => Action::Nohugepage,
    "lru_prio" => Action::LruPrio,
    "lru_deprio" => Action::LruDeprio,
    "migrate_hot" => Action::MigrateHot,
    "migrate_cold" => Action::MigrateCold,
    "stat" => Action::Stat,
};

fn action(s: &Reader<'_>, cx: &SchemeCx<'_>) -> Result<Action, Error> {
    let action = s.word("action", &ACTIONS)?;
    match action {
        Action::LruPrio | Action::LruDeprio => cx.since(s, "action", Kernel::V6_1, "6.0")?,
        Action::MigrateHot | Action::MigrateCold => {
            cx.since(s, "action", Kernel::V6_12, "6.11")?;
        }
        _ => {}
    }
    Ok(action)
}

fn apply_interval(s: &Reader<'_>, cx: &SchemeCx<'_>) -> Result<u64, Error> {
    let Some(interval) = s.opt_time("apply-interval")? else { return Ok(0) };
    cx.since(s, "apply-interval", Kernel::V6_12, "6.7")?;
    Ok(micros(interval))
}

fn pattern(s: &Reader<'_>, attrs: &MonitoringAttrs) -> Result<AccessPattern, Error> {
    let bounds = |low: u64, high: u64, key: &str| match low <= high {
        true => Ok(low..=high),
        false => Err(s.error(key, "the range is empty", "a bound not below the other one")),
    };
    let age = |t: SimDuration| micros(t) / attrs.aggr_us;
    let most = u64::from(u32::MAX);
    let sizes = bounds(
        s.get::<u64>("min-size")?.saturating_mul(PAGE_SIZE),
        s.opt_pages("max-size")?.map_or(u64::MAX, |n| n.saturating_mul(PAGE_SIZE)),
        "max-size",
    )?;
    let most_accesses = s.opt_count("max-nr-accesses")?.unwrap_or(most);
    let accesses = bounds(s.get("min-nr-accesses")?, most_accesses, "max-nr-accesses")?;
    let ages = bounds(
        age(s.get("min-age")?).min(most),
        s.opt_time("max-age")?.map_or(most, age).min(most),
        "max-age",
    )?;
    let narrow = |r: std::ops::RangeInclusive<u64>| *r.start() as u32..=*r.end() as u32;
    Ok(AccessPattern { sz_region: sizes, nr_accesses: narrow(accesses), age_region: narrow(ages) })
}

fn quota_and_target(s: &Reader<'_>, scheme: &Scheme) -> Result<(), Error> {
    if s.has("quota-time") && scheme.quota.ms == 0 {
        return Err(s.error("quota-time", "less than a millisecond", "at least \"1ms\""));
    }
    let migrates = matches!(scheme.action, Action::MigrateHot | Action::MigrateCold);
    if migrates && scheme.target_nid.is_none() {
        return Err(s.error("action", "the target is missing", "`target-node` too"));
    }
    Ok(())
}

rows! {
    /// `[[damon.scheme.goal]]`.
    DAMOS_GOAL,
    "[[damon.scheme.goal]]",
    "A quota that finds its own size.";
    keys {
        ("metric", Choice(&Metric::NAMES), Required,
            "what is looked at; the first two are of 6.12 and later, `node_mem_*` of 6.18, those of \
             groups and lists and `node_eligible_mem_bp` of 7.3")
        ("target", Count(1, MANY), Required, "the value that is wanted; `_bp` are 1/10000")
        ("current", Count(0, MANY), Auto("0"), "the value that the user gives, for `user_input`")
        ("node", Count(0, 255), Auto("none"), "the node, for `node_*`")
        ("memcg", Text, Auto("none"), "name of the group, for `node_memcg_*`")
    }
}

fn goal(g: &Reader<'_>, cx: &SchemeCx<'_>) -> Result<Goal, Error> {
    let metric = g.choice("metric")?;
    let (of_node, of_group) = (metric.starts_with("node_"), metric.starts_with("node_memcg_"));
    for (key, used, of) in [
        ("current", metric == "user_input", "user_input"),
        ("node", of_node, "node_mem_used_bp"),
        ("memcg", of_group, "node_memcg_used_bp"),
    ] {
        if g.has(key) && !used {
            let found = format!("{metric} does not look at it");
            return Err(g.error(key, found, format!("`metric = \"{of}\"`, or leave it out")));
        }
    }
    for (key, needed) in [("node", of_node), ("memcg", of_group)] {
        if needed && !g.has(key) {
            let write = format!("`{key}` too");
            return Err(g.error("metric", format!("its {key} is missing"), write));
        }
    }
    let (first, linux) = match metric {
        "user_input" => (Kernel::V6_12, "6.8"),
        "some_mem_psi_us" => (Kernel::V6_12, "6.9"),
        "node_mem_used_bp" | "node_mem_free_bp" => (Kernel::V6_18, "6.16"),
        "node_memcg_used_bp" | "node_memcg_free_bp" => (Kernel::V7_3, "6.19"),
        "node_eligible_mem_bp" => (Kernel::V7_3, "7.2"),
        _ => (Kernel::V7_3, "7.1"),
    };
    cx.since(g, "metric", first, linux)?;
    if metric == "node_eligible_mem_bp" && cx.ops != OpsId::Paddr {
        let found = "only regions of physical memory lie on nodes";
        return Err(g.error("metric", found, "`ops = \"paddr\"`, or another metric"));
    }
    let node = if of_node { g.get::<u64>("node")? as u16 } else { 0 };
    let memcg = if of_group { memcg(g, cx.memcgs)? } else { 0 };
    let target = g.get("target")?;
    let metric = match metric {
        "user_input" => return Ok(Goal::user_input(target, g.opt_count("current")?.unwrap_or(0))),
        "some_mem_psi_us" => Metric::SomeMemPsiUs,
        "node_mem_used_bp" => Metric::NodeMemUsedBp(node),
        "node_mem_free_bp" => Metric::NodeMemFreeBp(node),
        "node_memcg_used_bp" => Metric::NodeMemcgUsedBp(node, memcg),
        "node_memcg_free_bp" => Metric::NodeMemcgFreeBp(node, memcg),
        "node_eligible_mem_bp" => Metric::NodeEligibleMemBp(node),
        "active_mem_bp" => Metric::ActiveMemBp,
        _ => Metric::InactiveMemBp,
    };
    Ok(Goal::new(metric, target))
}

/// The number of the group that `memcg` names.
fn memcg(r: &Reader<'_>, memcgs: &[&str]) -> Result<u16, Error> {
    let name = r.name("memcg")?;
    match memcgs.iter().position(|m| *m == name) {
        Some(i) => Ok(i as u16 + 1),
        None => Err(r.unknown_word("memcg", "group", name, memcgs)),
    }
}

fn max_nr_snapshots(s: &Reader<'_>, cx: &SchemeCx<'_>) -> Result<u64, Error> {
    let n = s.get("max-nr-snapshots")?;
    if n > 0 {
        cx.since(s, "max-nr-snapshots", Kernel::V7_3, "7.0 or 7.1")?;
    }
    Ok(n)
}

fn tuner(s: &Reader<'_>, cx: &SchemeCx<'_>) -> Result<Tuner, Error> {
    if !s.has("goal-tuner") {
        return Ok(Tuner::Consist);
    }
    cx.since(s, "goal-tuner", Kernel::V7_3, "7.1")?;
    if !s.has("goal") {
        return Err(s.error("goal-tuner", "there is no goal to follow", "a `goal` too"));
    }
    Ok(if s.choice("goal-tuner")? == "temporal" { Tuner::Temporal } else { Tuner::Consist })
}

rows! {
    /// `[damon.scheme.fail-charge]`.
    DAMOS_FAIL_CHARGE,
    "[damon.scheme.fail-charge]",
    "The share that is charged of memory for which an action fails.";
    keys {
        ("num", Count(0, U32), Required, "numerator")
        ("denom", Count(1, U32), Required, "denominator")
    }
}

fn fail_charge(s: &Reader<'_>, cx: &SchemeCx<'_>) -> Result<Option<(u32, u32)>, Error> {
    if s.has("fail-charge") {
        cx.since(s, "fail-charge", Kernel::V7_3, "7.2")?;
    }
    within(s, "fail-charge", &DAMOS_FAIL_CHARGE, |f| {
        let (num, denom): (u64, u64) = (f.get("num")?, f.get("denom")?);
        Ok((num as u32, denom as u32))
    })
}

rows! {
    /// `[damon.scheme.wmarks]`.
    DAMOS_WMARKS,
    "[damon.scheme.wmarks]",
    "Thousandths of memory that are free.";
    check falling;
    fn wmarks(r, _cx: ()) -> Watermarks {
        interval_us: {micros(r.get("interval")?);
            ("interval", Time, Required, "time between two looks while it is off")};
        high: ("high", Count(0, 1000), Required, "above this it is off");
        mid: ("mid", Count(0, 1000), Required, "below this it comes back");
        low: ("low", Count(0, 1000), Required, "below this it is off");
        metric: {WmarkMetric::FreeMemRate};
    }
}

fn falling(w: &Reader<'_>, wmarks: &Watermarks) -> Result<(), Error> {
    let Watermarks { high, mid, low, .. } = *wmarks;
    if high < mid || mid < low {
        let found = format!("high {high}, mid {mid}, low {low}");
        return Err(w.error("high", found, "high >= mid >= low"));
    }
    if wmarks.interval_us == 0 {
        return Err(w.error("interval", "no time at all", "a duration such as \"5s\""));
    }
    Ok(())
}

rows! {
    /// `[[damon.scheme.filter]]`.
    DAMOS_FILTER,
    "[[damon.scheme.filter]]",
    "Memory that a scheme leaves out, or takes. The first filter that speaks about it decides.";
    keys {
        ("type", Choice(&FilterType::NAMES), Required,
            "what it speaks about; `young` is of 6.12 and later, the last three of 6.18")
        ("matching", Flag, Is("true"), "`false`: it speaks about all other memory")
        ("allow", Flag, Is("false"),
            "`true`: it takes what it speaks about; after a last such filter all else is left out (6.18 and \
             later)")
        ("min", Size(0), Auto("none"), "smallest folio, for `hugepage_size`")
        ("max", Size(0), Auto("none"), "largest folio, for `hugepage_size`")
        ("memcg", Text, Auto("none"), "name of the group, for `memcg`")
        ("start", Size(0), Auto("none"), "first address, for `addr`")
        ("end", Size(0), Auto("none"), "address behind the last, for `addr`")
        ("target", Count(0, 0), Auto("none"), "index of the target, for `target`")
    }
}

fn filter(f: &Reader<'_>, cx: &SchemeCx<'_>) -> Result<Filter, Error> {
    let kind = f.choice("type")?;
    for (key, of) in [
        ("memcg", "memcg"),
        ("start", "addr"),
        ("end", "addr"),
        ("target", "target"),
        ("min", "hugepage_size"),
        ("max", "hugepage_size"),
    ] {
        if f.has(key) && of != kind {
            let found = format!("a filter of type {kind} does not look at it");
            return Err(f.error(key, found, format!("`type = \"{of}\"`, or leave it out")));
        }
    }
    let (first, linux) = match kind {
        "anon" | "memcg" => (Kernel::V6_6, "6.3"),
        "addr" | "target" => (Kernel::V6_6, "6.6"),
        "young" => (Kernel::V6_12, "6.10"),
        _ => (Kernel::V6_18, "6.14 to 6.16"),
    };
    cx.since(f, "type", first, linux)?;
    let allow: bool = f.get("allow")?;
    if allow {
        cx.since(f, "allow", Kernel::V6_18, "6.14")?;
    }
    let kind = match kind {
        "anon" => FilterType::Anon,
        "young" => FilterType::Young,
        "active" => FilterType::Active,
        "unmapped" => FilterType::Unmapped,
        "hugepage_size" if !(f.has("min") && f.has("max")) => {
            return Err(f.error("type", "its sizes are missing", "`min` and `max` too"));
        }
        "hugepage_size" => {
            let (min, max) = (f.get::<u64>("min")? * PAGE_SIZE, f.get::<u64>("max")? * PAGE_SIZE);
            if max < min {
                return Err(f.error("max", "it is smaller than `min`", "a size from `min` up"));
            }
            FilterType::HugepageSize(min, max)
        }
        "memcg" => FilterType::Memcg(memcg(f, cx.memcgs)?),
        "addr" => {
            let (start, end) =
                (f.get::<u64>("start")? * PAGE_SIZE, f.get::<u64>("end")? * PAGE_SIZE);
            if end < start {
                return Err(f.error(
                    "end",
                    "it lies before the start",
                    "an address from `start` up",
                ));
            }
            FilterType::Addr(start..end)
        }
        _ => FilterType::Target(f.get::<u64>("target")? as usize),
    };
    let filter = Filter::new(kind, f.get("matching")?);
    Ok(if allow { filter.allowing() } else { filter })
}
