//! A scheme of damo: its pattern, quotas, goals, watermarks and filters.

use std::fmt::Write as _;

use mmsim_damon::damos::filter::FilterType;
use mmsim_damon::damos::goal::Metric;

use super::members::{At, MAX, bytes, flag, number, plain, ratio, time};
use super::{Import, Intervals, LONGEST_US, PAGE, duration, quoted};
use mmsim_base::error::Error;

/// Members of a scheme.
const KNOWN: [&str; 18] = [
    "action",
    "access_pattern",
    "apply_interval_us",
    "quotas",
    "watermarks",
    "filters",
    "core_filters",
    "ops_filters",
    "dests",
    "target_nid",
    // What it did.
    "stats",
    "tried_regions",
    "tried_bytes",
    "sz_tried_regions",
    "nr_tried",
    "sz_tried",
    "nr_applied",
    "sz_applied",
];

/// Members of the statistics of a scheme.
const STATS: [&str; 8] = [
    "max_nr_snapshots",
    "nr_snapshots",
    "nr_tried",
    "sz_tried",
    "nr_applied",
    "sz_applied",
    "sz_ops_filter_passed",
    "qt_exceeds",
];

impl Import<'_> {
    pub(super) fn scheme(&mut self, scheme: &At<'_>, intervals: &Intervals) -> Result<(), Error> {
        let action = scheme.get("action").map_or("stat".to_string(), |a| a.text());
        self.out += "\n[[damon.scheme]]\n";
        self.key("action", quoted(&action));
        let dests = self.list(scheme, "dests")?;
        if let Some(second) = dests.get(1) {
            return Err(
                self.wrong(second, "migrations have one node here, but `dests` names several")
            );
        }
        for dest in &dests {
            self.object(dest, &["id", "weight"])?;
        }
        if action.starts_with("migrate") {
            let dest = dests.first().and_then(|d| d.get("id"));
            let Some(node) = scheme.get("target_nid").or(dest) else {
                return Err(self.missing(scheme, "target_nid"));
            };
            let n = number(&node).ok_or_else(|| self.wrong(&node, "expected a node"))?;
            self.key("target-node", n as u64);
        }
        self.object(scheme, &KNOWN)?;
        if let Some(pattern) = scheme.get("access_pattern") {
            self.pattern(&pattern, intervals)?;
        }
        let apply =
            self.take(scheme, "apply_interval_us", 0.0, "expected a time", |m| time(m, 1e3))?;
        if apply > 0.0 {
            self.key("apply-interval", duration(apply));
        }
        if let Some(stats) = scheme.get("stats") {
            self.object(&stats, &STATS)?;
            let what = "expected a number";
            let most = self.take(&stats, "max_nr_snapshots", 0.0, what, number)?;
            if most > 0.0 {
                self.key("max-nr-snapshots", most as u64);
            }
        }
        if let Some(quotas) = scheme.get("quotas") {
            self.quotas(&quotas)?;
        }
        if let Some(marks) = scheme.get("watermarks") {
            self.watermarks(&marks)?;
        }
        if let Some(quotas) = scheme.get("quotas") {
            for goal in self.list(&quotas, "goals")? {
                self.goal(&goal)?;
            }
        }
        for list in ["filters", "core_filters", "ops_filters"] {
            for filter in self.list(scheme, list)? {
                self.filter(&filter)?;
            }
        }
        Ok(())
    }

    fn pattern(&mut self, pattern: &At<'_>, intervals: &Intervals) -> Result<(), Error> {
        self.object(pattern, &["sz_bytes", "nr_accesses", "age"])?;
        if let Some(at) = pattern.get("sz_bytes") {
            self.object(&at, &["min", "max"])?;
            let what = "expected bytes such as \"4 KiB\", or max";
            let min = self.take(&at, "min", 0.0, what, bytes)?;
            let max = self.take(&at, "max", MAX, what, bytes)?;
            if min > 0.0 {
                self.key("min-size", format!("\"{} pages\"", (min as u64).div_ceil(PAGE)));
            }
            if max < MAX {
                self.key("max-size", format!("\"{} pages\"", max as u64 / PAGE));
            }
        }
        if let Some(at) = pattern.get("nr_accesses") {
            self.object(&at, &["min", "max"])?;
            let what = "expected per cent such as \"5 %\", or \"1 samples\"";
            let samples = |m: &At<'_>| {
                let of_samples = m.value.as_str().and_then(|t| t.trim().strip_suffix("samples"));
                if let Some(text) = of_samples {
                    return plain(text);
                }
                let percent = ratio(m, 100.0)?;
                // As damo does: a share of the samples of an aggregation, cut to a whole number.
                let most = intervals.aggr / intervals.sample.max(1.0);
                Some(if percent >= MAX { MAX } else { (percent * most / 100.0).floor() })
            };
            let min = self.take(&at, "min", 0.0, what, samples)?;
            let max = self.take(&at, "max", MAX, what, samples)?;
            if min > 0.0 {
                self.key("min-nr-accesses", min as u64);
            }
            if max < f64::from(u32::MAX) {
                self.key("max-nr-accesses", max as u64);
            }
        }
        if let Some(at) = pattern.get("age") {
            self.object(&at, &["min", "max"])?;
            let what = "expected a time such as \"5 s\", or \"50 aggr_intervals\"";
            let age = |m: &At<'_>| {
                let text = m.value.as_str().and_then(|t| t.trim().strip_suffix("aggr_intervals"));
                match text {
                    Some(text) => {
                        plain(text).map(|n| if n >= MAX { MAX } else { n * intervals.aggr })
                    }
                    None => time(m, 1e3),
                }
            };
            let min = self.take(&at, "min", 0.0, what, age)?;
            let max = self.take(&at, "max", MAX, what, age)?;
            if min > 0.0 {
                self.key("min-age", duration(min));
            }
            // Longer is any age.
            if max <= LONGEST_US {
                self.key("max-age", duration(max));
            }
        }
        Ok(())
    }

    fn quotas(&mut self, quotas: &At<'_>) -> Result<(), Error> {
        self.object(
            quotas,
            &[
                "time_ms",
                "sz_bytes",
                "reset_interval_ms",
                "goals",
                "goal_tuner",
                "weights",
                "fail_charge_num",
                "fail_charge_denom",
                // What the goals made of it.
                "effective_sz_bytes",
            ],
        )?;
        let ms = |key: &str| self.take(quotas, key, 0.0, "expected a time", |m| time(m, 1e6));
        let (work, reset) = (ms("time_ms")?, ms("reset_interval_ms")?);
        let size = self.take(quotas, "sz_bytes", 0.0, "expected bytes", bytes)?;
        // Without a quota there is nothing to reset.
        let limited = work > 0.0 || size > 0.0 || !self.list(quotas, "goals")?.is_empty();
        if work > 0.0 && work < MAX {
            self.key("quota-time", duration(work * 1e3));
        }
        if size > 0.0 && size < MAX {
            self.key("quota-size", format!("\"{} pages\"", (size as u64).div_ceil(PAGE)));
        }
        if limited && reset > LONGEST_US / 1e3 {
            self.comment("reset_interval_ms is without end; a million seconds here.");
            self.key("quota-reset", duration(LONGEST_US));
        } else if limited && reset > 0.0 {
            self.key("quota-reset", duration(reset * 1e3));
        }
        if let Some(tuner) = quotas.get("goal_tuner").map(|t| t.text()).filter(|t| t != "consist") {
            self.key("goal-tuner", quoted(&tuner));
        }
        let count = |key: &str| self.take(quotas, key, 0.0, "expected a number", number);
        let (num, denom) = (count("fail_charge_num")?, count("fail_charge_denom")?);
        if denom > 0.0 {
            let share = format!("{{ num = {}, denom = {} }}", num as u64, denom as u64);
            self.key("fail-charge", share);
        }
        let Some(weights) = quotas.get("weights") else { return Ok(()) };
        self.object(&weights, &["sz_permil", "nr_accesses_permil", "age_permil"])?;
        for (key, member) in [
            ("weight-size", "sz_permil"),
            ("weight-nr-accesses", "nr_accesses_permil"),
            ("weight-age", "age_permil"),
        ] {
            let what = "expected thousandths or per cent";
            let weight = self.take(&weights, member, 0.0, what, |m| ratio(m, 1000.0))?;
            if weight > 0.0 {
                self.key(key, weight.round() as u64);
            }
        }
        Ok(())
    }

    fn goal(&mut self, goal: &At<'_>) -> Result<(), Error> {
        let metric = goal.get("metric").map_or("user_input".to_string(), |m| m.text());
        if !Metric::NAMES.contains(&metric.as_str()) {
            let at = goal.get("metric").unwrap_or_else(|| goal.clone());
            return Err(self.wrong(&at, &format!("goals here are {}", Metric::NAMES.join(", "))));
        }
        if self.take(goal, "complement", false, "expected true or false", flag)? {
            let at = goal.get("complement").unwrap_or_else(|| goal.clone());
            return Err(self.wrong(&at, "goals here are of the metric itself: write false"));
        }
        let value = |key: &str, old: &str| {
            let Some(at) = goal.get(key).or_else(|| goal.get(old)) else { return Ok(0.0) };
            let read = match &metric[..] {
                "some_mem_psi_us" => time(&at, 1e3),
                m if m.ends_with("_bp") => ratio(&at, 10_000.0),
                _ => number(&at),
            };
            read.ok_or_else(|| self.wrong(&at, "expected a number"))
        };
        let target = value("target_value", "target_value_bp")?;
        let current = value("current_value", "current_value_bp")?;
        self.out += "\n[[damon.scheme.goal]]\n";
        self.object(
            goal,
            &[
                "metric",
                "target_value",
                "current_value",
                "nid",
                "memcg_path",
                "complement",
                "target_value_bp",
                "current_value_bp",
            ],
        )?;
        self.key("metric", quoted(&metric));
        self.key("target", target as u64);
        if current > 0.0 && metric == "user_input" {
            self.key("current", current as u64);
        }
        if metric.starts_with("node_") {
            let node = self.take(goal, "nid", 0.0, "expected the number of a node", number)?;
            self.key("node", node as u64);
        }
        if metric.starts_with("node_memcg_") {
            self.memcg(goal)?;
        }
        Ok(())
    }

    fn watermarks(&mut self, marks: &At<'_>) -> Result<(), Error> {
        self.object(marks, &["metric", "interval_us", "high_permil", "mid_permil", "low_permil"])?;
        match marks.get("metric").map(|m| m.text()).as_deref() {
            None | Some("none") => return Ok(()),
            Some("free_mem_rate") => {}
            Some(_) => {
                let at = marks.get("metric").unwrap_or_else(|| marks.clone());
                return Err(self.wrong(&at, "expected none or free_mem_rate"));
            }
        }
        let interval = self.take(marks, "interval_us", 0.0, "expected a time", |m| time(m, 1e3))?;
        let what = "expected thousandths or per cent";
        let mark = |key: &str| self.take(marks, key, 0.0, what, |m| ratio(m, 1000.0));
        let (high, mid, low) = (mark("high_permil")?, mark("mid_permil")?, mark("low_permil")?);
        let [high, mid, low] = [high, mid, low].map(|n| n.round() as u64);
        let interval = duration(interval);
        self.key(
            "wmarks",
            format!("{{ interval = {interval}, high = {high}, mid = {mid}, low = {low} }}"),
        );
        Ok(())
    }

    /// The group that a path names, by its last part.
    fn memcg(&mut self, of: &At<'_>) -> Result<(), Error> {
        let path = of.get("memcg_path").ok_or_else(|| self.missing(of, "memcg_path"))?.text();
        let group = path.rsplit('/').find(|part| !part.is_empty()).unwrap_or("").to_string();
        let _ = writeln!(self.out, "memcg = {} # {}", quoted(&group), quoted(&path));
        Ok(())
    }

    fn filter(&mut self, filter: &At<'_>) -> Result<(), Error> {
        // Renamed from `filter_pass`.
        let yes = |key: &str| self.take(filter, key, false, "expected true or false", flag);
        let allow = yes("allow")? || yes("filter_pass")?;
        let Some(kind) = filter.get("filter_type") else {
            return Err(self.missing(filter, "filter_type"));
        };
        let word = kind.text();
        if !FilterType::NAMES.contains(&word.as_str()) {
            return Err(
                self.wrong(&kind, &format!("filters here are {}", FilterType::NAMES.join(", ")))
            );
        }
        self.out += "\n[[damon.scheme.filter]]\n";
        self.object(
            filter,
            &[
                "filter_type",
                "matching",
                "allow",
                "filter_pass",
                "memcg_path",
                "address_range",
                "damon_target_idx",
                "hugepage_size",
                "probe_hits_wsum_range",
            ],
        )?;
        self.key("type", quoted(&word));
        let matching = self.take(filter, "matching", true, "expected true or false", flag)?;
        self.key("matching", matching);
        if allow {
            self.key("allow", true);
        }
        match word.as_str() {
            "memcg" => self.memcg(filter)?,
            "hugepage_size" => {
                let sizes = self.list(filter, "hugepage_size")?;
                let [min, max] = &sizes[..] else {
                    return Err(self.missing(filter, "hugepage_size"));
                };
                for (key, at) in [("min", min), ("max", max)] {
                    let size = bytes(at).ok_or_else(|| self.wrong(at, "expected bytes"))?;
                    self.key(key, format!("\"{} pages\"", (size as u64).div_ceil(PAGE)));
                }
            }
            "addr" => {
                let range = filter.get("address_range");
                let (start, end) =
                    self.range(&range.ok_or_else(|| self.missing(filter, "address_range"))?)?;
                self.key("start", format!("\"{} pages\"", start / PAGE));
                self.key("end", format!("\"{} pages\"", end.div_ceil(PAGE)));
            }
            "target" => {
                let at = filter.get("damon_target_idx");
                let at = at.ok_or_else(|| self.missing(filter, "damon_target_idx"))?;
                if number(&at) != Some(0.0) {
                    return Err(self.wrong(&at, "each target has a context of its own here: 0"));
                }
                self.key("target", 0);
            }
            _ => {}
        }
        Ok(())
    }
}
