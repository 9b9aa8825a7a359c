//! Writes on a machine: the file of each knob, or the arguments of damo.
//!
//! Only keys that a kernel has have a file. Settings of a scenario for the work, for devices or for
//! rules of kernels are no settings of a machine, and the result says so.

use mmsim_damon::damos::filter::Filter;
use mmsim_damon::damos::scheme::Scheme;
use mmsim_damon::damos::watermark::WmarkMetric;
use schemars::JsonSchema;
use serde::Serialize;

use mmsim_formats::system;
use mmsim_language::scenario::tune::Knob;
use mmsim_language::scenario::{DamonContext, DamonSpec, PAGE_SIZE, RunSpec, by_numbers, pages};

/// Form of a knob on a machine.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Write {
    /// A file and what is written into it.
    File {
        /// The file.
        path: String,
        /// Value to write.
        value: String,
    },
    /// Arguments of `damo start`, which say all of a monitor.
    Damo {
        /// They.
        arguments: String,
    },
    /// A key that is no setting of a kernel, and why.
    Nothing {
        /// The key.
        knob: String,
        /// Why.
        why: String,
    },
}

const DAMON: &str = "/sys/module/damon_";

/// Writes for values of knobs, which made this run.
pub(crate) fn of<'a>(
    values: impl Iterator<Item = (&'a Knob, &'a str)>,
    run: &RunSpec,
) -> Vec<Write> {
    let mut all: Vec<Write> = Vec::new();
    let mut add = |write: Write| {
        if !all.contains(&write) {
            all.push(write);
        }
    };
    for (knob, label) in values {
        of_knob(&by_numbers(run, knob.path()), label, run).into_iter().for_each(&mut add);
    }
    // A module that runs takes its parameters on command.
    let folders: Vec<String> = all
        .iter()
        .filter_map(|w| match w {
            Write::File { path, .. } => path
                .starts_with(DAMON)
                .then(|| path.rsplit_once('/').map(|(f, _)| f.to_string()))?,
            _ => None,
        })
        .collect();
    for folder in folders {
        let commit =
            Write::File { path: format!("{folder}/commit_inputs"), value: "Y".to_string() };
        if !all.contains(&commit) {
            all.push(commit);
        }
    }
    all
}

fn of_knob(knob: &str, label: &str, run: &RunSpec) -> Vec<Write> {
    match entry(knob, "machine.memcg") {
        Some((i, key)) => of_groups(i, key, label, run),
        None => of_one(knob, label, run).into_iter().collect(),
    }
}

/// The file of each group that an entry makes.
fn of_groups(entry: usize, key: &str, label: &str, run: &RunSpec) -> Vec<Write> {
    let value = match (pages(label), label) {
        (Ok(n), _) => (n * PAGE_SIZE).to_string(),
        (_, "true") => "1".to_string(),
        (_, "false") => "0".to_string(),
        (_, label) => label.to_string(),
    };
    let name = key.replacen('-', ".", 1);
    let groups = run.machine.memcgs.iter().filter(|g| g.entry == entry);
    let path = |group: &str| format!("/sys/fs/cgroup/{group}/memory.{name}");
    groups.map(|g| Write::File { path: path(&g.name), value: value.clone() }).collect()
}

fn of_one(knob: &str, label: &str, run: &RunSpec) -> Option<Write> {
    let file = |path: String, value: &str| Write::File { path, value: value.to_string() };
    let none = |why: &str| Write::Nothing { knob: knob.to_string(), why: why.to_string() };
    if let Some(name) = knob.strip_prefix("machine.vm.") {
        return Some(file(system::file_of_sysctl(name), label));
    }
    if let Some(key) = knob.strip_prefix("machine.zswap.") {
        return Some(match system::file_of_zswap(key, label) {
            Some((path, value)) => Write::File { path, value },
            None => none("it is what the compressor makes of the pages"),
        });
    }
    if let Some((i, "size")) = entry(knob, "machine.swap")
        && let Some(disk) = zram_of(i, run)
    {
        return Some(match pages(label) {
            Ok(0) | Err(_) => none("there is no zram then"),
            Ok(n) => file(format!("/sys/block/{disk}/disksize"), &(n * PAGE_SIZE).to_string()),
        });
    }
    if let Some(name) = knob.strip_prefix("reclaim.") {
        let files = system::lru_files(run);
        return Some(match files.iter().find(|f| f.1.contains(&name)) {
            Some((path, _, value)) => file(format!("/{path}"), value),
            None => none("a kernel has no file for it: it is what its code does"),
        });
    }
    if knob.ends_with("].oom_score_adj") {
        return Some(none("it is /proc/PID/oom_score_adj of each process"));
    }
    if let Some((i, key)) = entry(knob, "damon") {
        let monitor = run.damon.get(i)?;
        let module = match &monitor.what {
            DamonContext::Reclaim(_) => "reclaim",
            DamonContext::LruSort(_) => "lru_sort",
            DamonContext::Stat => "stat",
            DamonContext::Own { .. } => {
                return Some(match damo(monitor) {
                    Ok(arguments) => Write::Damo { arguments },
                    Err(why) => none(why),
                });
            }
        };
        if let Some(name) = key.strip_prefix("parameters.") {
            return Some(file(format!("{DAMON}{module}/parameters/{name}"), label));
        }
    }
    Some(none("it is of the scenario, not a setting of a kernel"))
}

/// The name of a swap device, if it is a zram: they are counted in their order.
fn zram_of(device: usize, run: &RunSpec) -> Option<String> {
    let is_zram = |i: &usize| run.machine.swap[*i].device.stored_bytes_per_page > 0;
    let here = (0..run.machine.swap.len()).filter(is_zram).position(|i| i == device)?;
    Some(format!("zram{here}"))
}

/// The number and the key of a path such as `damon[0].sample`.
pub(super) fn entry<'a>(path: &'a str, list: &str) -> Option<(usize, &'a str)> {
    let (number, key) = path.strip_prefix(list)?.strip_prefix('[')?.split_once("].")?;
    Some((number.parse().ok()?, key))
}

/// A monitor as arguments of `damo start` and `damo args damon`, of damo 3.
fn damo(monitor: &DamonSpec) -> Result<String, &'static str> {
    let DamonContext::Own { ops, ranges, attrs, schemes, .. } = &monitor.what else {
        return Err("a module has parameters");
    };
    if attrs.tuning.is_some() || !ranges.is_empty() || !monitor.pauses.is_empty() {
        return Err(
            "a monitor with ranges, pauses or a goal of intervals is not written as arguments",
        );
    }
    let mut words = format!("--ops {}", ops.name());
    let (sample, aggr, update) = (attrs.sample_us, attrs.aggr_us, attrs.ops_update_us);
    words += &format!(" --monitoring_intervals {sample}us {aggr}us {update}us");
    let (least, most) = (attrs.min_nr_regions, attrs.max_nr_regions);
    words += &format!(" --monitoring_nr_regions_range {least} {most}");
    let ends = schemes.iter().any(|s| s.max_nr_snapshots > 0);
    for scheme in schemes {
        words += &of_scheme(scheme, sample, aggr)?;
        // By position, so that each scheme has one.
        if ends {
            words += &format!(" --damos_max_nr_snapshots {}", scheme.max_nr_snapshots);
        }
    }
    Ok(words)
}

fn of_scheme(s: &Scheme, sample: u64, aggr: u64) -> Result<String, &'static str> {
    let plain = s.quota.goals.is_empty()
        && s.quota.fail_charge.is_none()
        && s.filters == Vec::<Filter>::new()
        && s.target_nid.is_none();
    if !plain {
        return Err("a scheme with filters, goals or a target is not written as arguments");
    }
    let most = |n: u64, end: u64, unit: &str| match n >= end {
        true => "max".to_string(),
        false => format!("{n}{unit}"),
    };
    let mut words = format!(" --damos_action {}", s.action.name());
    let (low, high) = (*s.pattern.sz_region.start(), *s.pattern.sz_region.end());
    words += &format!(" --damos_sz_region {low}B {}", most(high, u64::MAX, "B"));
    // Hundredths of a per cent, rounded up: damo cuts to whole samples.
    let of_all = (aggr / sample.max(1)).max(1);
    let rate = |n: u32| {
        let hundredths = (u64::from(n).min(of_all) * 10_000).div_ceil(of_all);
        format!("{}.{:02}%", hundredths / 100, hundredths % 100)
    };
    let (low, high) = (*s.pattern.nr_accesses.start(), *s.pattern.nr_accesses.end());
    words += &format!(" --damos_access_rate {} {}", rate(low), rate(high));
    let (low, high) = (*s.pattern.age_region.start(), *s.pattern.age_region.end());
    let age = |n: u32| u64::from(n) * aggr;
    let end = age(u32::MAX);
    words += &format!(" --damos_age {}us {}", age(low), most(age(high), end, "us"));
    if s.apply_interval_us > 0 {
        words += &format!(" --damos_apply_interval {}us", s.apply_interval_us);
    }
    let q = &s.quota;
    if q.ms > 0 || q.sz > 0 {
        let (ms, sz, reset) = (q.ms, q.sz, q.reset_interval_ms);
        let (a, b, c) = (q.weight_sz, q.weight_nr_accesses, q.weight_age);
        words += &format!(" --damos_quotas {ms}ms {sz}B {reset}ms {a} {b} {c}");
    }
    if s.wmarks.metric != WmarkMetric::None {
        let w = &s.wmarks;
        let (interval, high, mid, low) = (w.interval_us, w.high, w.mid, w.low);
        words += &format!(" --damos_wmarks free_mem_rate {interval}us {high} {mid} {low}");
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mmsim_language::Scenario;
    use mmsim_language::machines::specs;

    /// A knob of an entry that makes two groups is written to both, whether it is named or numbered.
    #[test]
    fn limits_are_written_to_each_group_of_an_entry() {
        let text = "[machine]\nmemory = \"64MiB\"\n\
                    memcg = [{ name = \"a.slice\" }, { name = \"a.slice/pod\", count = 2 }]\n\
                    [[task]]\nworkload = \"zipf\"\nmemory = \"1MiB\"\naccesses = 10\n";
        let scenario = Scenario::from_str(text, "x.toml").unwrap_or_else(|e| panic!("{e}"));
        let run = &specs(&scenario).unwrap_or_else(|e| panic!("{e}"))[0];
        let files = |knob: &str, label: &str| -> Vec<String> {
            let of = |write| match write {
                Write::File { path, value } => format!("{value} > {path}"),
                other => format!("{other:?}"),
            };
            of_knob(&by_numbers(run, knob), label, run).into_iter().map(of).collect()
        };
        let low = |i| format!("8388608 > /sys/fs/cgroup/a.slice/pod-{i}/memory.low");
        assert_eq!(files("machine.memcg[a.slice/pod].low", "8MiB"), [low(0), low(1)]);
        assert_eq!(files("machine.memcg[1].low", "8MiB"), [low(0), low(1)]);
        let swap = "max > /sys/fs/cgroup/a.slice/memory.swap.max";
        assert_eq!(files("machine.memcg[a.slice].swap-max", "max"), [swap]);
        let whole = "1 > /sys/fs/cgroup/a.slice/memory.oom.group";
        assert_eq!(files("machine.memcg[0].oom-group", "true"), [whole]);
    }
}
