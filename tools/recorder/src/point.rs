//! A point of the form of `evidence/reference/`, made of the recordings of its repetitions.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::groups::Group;
use crate::record::{Look, Phase, Recording};
use crate::vmstat::Vmstat;

/// A number that all repetitions agree on, or `[mean, smallest, largest]`.
fn spread(all: &[u64]) -> Value {
    let (min, max) = (all.iter().min().unwrap_or(&0), all.iter().max().unwrap_or(&0));
    if min == max {
        return json!(min);
    }
    let mean = all.iter().sum::<u64>() as f64 / all.len() as f64;
    json!([(mean * 10.0).round() / 10.0, min, max])
}

/// All names of the tables of several repetitions, each with its number in each.
fn numbers(tables: &[&Vmstat]) -> BTreeMap<String, Vec<u64>> {
    let names = tables.iter().flat_map(|t| t.keys());
    let number = |name: &String| tables.iter().map(|t| t.get(name).copied().unwrap_or(0)).collect();
    names.map(|name| (name.clone(), number(name))).collect()
}

/// All names of a table of several repetitions with their numbers.
fn table(tables: &[&Vmstat]) -> Value {
    numbers(tables).into_iter().map(|(name, all)| (name, spread(&all))).collect()
}

/// Each group of a phase of several repetitions, by path.
fn groups(all: &[&Phase]) -> Value {
    let none = Group::default();
    let one = |path: &String| {
        let of = |part: fn(&Group) -> &Vmstat| {
            let each = |p: &&Phase| part(p.groups.get(path).unwrap_or(&none)).clone();
            let tables: Vec<Vmstat> = all.iter().map(each).collect();
            table(&tables.iter().collect::<Vec<_>>())
        };
        (path.clone(), json!({"counters": of(|g| &g.counters), "gauges": of(|g| &g.gauges)}))
    };
    all[0].groups.keys().map(one).collect()
}

/// Result of a command. Where repetitions differ, each one's value stands there as well.
fn returned(tables: &[&Vmstat]) -> Value {
    let all = numbers(tables).into_iter().flat_map(|(name, all)| {
        let differs = all.iter().any(|n| *n != all[0]);
        let each = differs.then(|| (format!("{name}_each"), json!(all)));
        [Some((name, spread(&all))), each].into_iter().flatten()
    });
    all.collect()
}

fn zones(start: &Phase) -> Value {
    let zone = |z: &crate::zones::Zone| {
        let ([min, low, high], [count, pcp_high, batch]) = (z.marks, z.pcp);
        let value = json!({
            "managed": z.managed, "free": z.free, "min": min, "low": low, "high": high,
            "lowmem_reserve": z.reserve,
            "pcp": {"count": count, "high": pcp_high, "batch": batch},
        });
        (z.name.clone(), value)
    };
    Value::Object(start.zones.iter().map(zone).collect())
}

/// The snapshots that a workload may begin with.
const STARTS: [&str; 4] = ["start", "frag", "spawned", "on"];

/// DAMON's regions of a repetition, each time that they were looked at.
fn regions(r: &Recording) -> Value {
    let one = |(label, look): &(String, Look)| {
        let Look::Regions { ms, regions } = look else { return None };
        let each = regions.iter().map(|r| json!([r.start, r.pages, r.nr_accesses, r.age]));
        Some(json!([label, ms, each.collect::<Value>()]))
    };
    r.looks.iter().filter_map(one).collect()
}

/// Observations of a child, each time, with the numbers of the same label. A label is `t` and the
/// second.
fn series(r: &Recording) -> Value {
    let numbers = |wanted: &str| {
        let of = |(label, look): &(String, Look)| match look {
            Look::Numbers(all) if label == wanted => Some(json!(all)),
            _ => None,
        };
        r.looks.iter().find_map(of).unwrap_or_else(|| json!({}))
    };
    let one = |(label, look): &(String, Look)| {
        let Look::Child { resident, swapped, free } = look else { return None };
        let second: u64 = label.trim_start_matches('t').parse().ok()?;
        Some(json!([second, resident, swapped, free, numbers(label)]))
    };
    r.looks.iter().filter_map(one).collect()
}

/// `classic` or `mglru`, by the last write to `lru_gen/enabled`; without one, `classic`.
fn lru(script: &[String]) -> &'static str {
    let mut writes =
        script.iter().filter_map(|l| l.strip_prefix("write /sys/kernel/mm/lru_gen/enabled "));
    match writes.next_back().map(str::trim) {
        None | Some("0") => "classic",
        Some(_) => "mglru",
    }
}

/// The text of a file with this one point: its name, the memory of the machine, the states that it was
/// read out in if it was, and one recording for each repetition.
///
/// # Errors
/// The repetitions are not of one kernel or have other phases, or there is no `snapx start` (`frag`, `spawned`, `on`).
pub fn experiment(
    experiment: &str,
    id: &str,
    mem_mib: u64,
    boot: &[Value],
    repetitions: &[Recording],
) -> Result<String, String> {
    let [first, further @ ..] = repetitions else {
        return Err("no recording is named".into());
    };
    let names = |r: &Recording| {
        let results = r.results.iter().map(|(command, _)| command);
        r.phases.iter().map(|p| &p.name).chain(results).cloned().collect::<Vec<_>>()
    };
    let mut script_changes = Vec::new();
    for (i, r) in further.iter().enumerate() {
        if (&r.kernel, names(r), r.script.len())
            != (&first.kernel, names(first), first.script.len())
        {
            return Err(format!("repetition {} is of another kernel or script", i + 1));
        }
        let lines = r.script.iter().enumerate().filter(|(l, text)| first.script[*l] != **text);
        script_changes.push(lines.collect::<Vec<_>>());
    }
    let begins = |p: &Phase| STARTS.contains(&p.name.as_str()) && !p.zones.is_empty();
    let start = first.phases.iter().position(begins).ok_or_else(|| {
        format!("the script has no `snapx start` (or another of {})", STARTS.join(", "))
    })?;
    let zones_at = format!("zones_at_{}", first.phases[start].name);
    let looked = |of: fn(&Recording) -> Value| -> Value {
        let all: Vec<Value> = repetitions.iter().map(of).collect();
        let none = all.iter().all(|v| v.as_array().is_none_or(Vec::is_empty));
        if none { Value::Null } else { json!(all) }
    };
    let phase = |i: usize| {
        let all: Vec<&Phase> = repetitions.iter().map(|r| &r.phases[i]).collect();
        let mut phase = json!({
            "phase": all[0].name,
            "counters": table(&all.iter().map(|p| &p.counters).collect::<Vec<_>>()),
            "gauges": table(&all.iter().map(|p| &p.gauges).collect::<Vec<_>>()),
        });
        if !all[0].groups.is_empty() {
            phase["groups"] = groups(&all);
        }
        phase
    };
    let free = |r: &Recording| json!(r.phases[start].zones.iter().map(|z| z.free).sum::<u64>());
    let memcg = first.script.iter().any(|l| l.starts_with("mount cgroup2 "));
    let cpus = first.cpus.max(1);
    let if_read_out = |value: Value| if boot.is_empty() { Value::Null } else { value };
    let result = |(i, (command, _)): (usize, &(String, Vmstat))| {
        let all: Vec<&Vmstat> = repetitions.iter().map(|r| &r.results[i].1).collect();
        json!([command, returned(&all)])
    };
    let keys = [
        ("id", json!(id)),
        ("kernel", json!(first.kernel)),
        ("lru", json!(lru(&first.script))),
        ("repetitions", json!(repetitions.len())),
        (
            "vm",
            json!({"mem_mib": mem_mib, "cpus": cpus, "icount": true, "pti": true, "memcg": memcg}),
        ),
        (zones_at.as_str(), zones(&first.phases[start])),
        ("boot", if_read_out(json!(boot))),
        ("free_at_start_each", if_read_out(repetitions.iter().map(free).collect())),
        ("script", json!(first.script)),
        ("script_changes", json!(script_changes)),
        ("phases", (start..first.phases.len()).map(phase).collect()),
        ("regions", looked(regions)),
        ("series", looked(series)),
        ("results", first.results.iter().enumerate().map(result).collect()),
    ];
    let point: Value = keys.into_iter().collect();
    let name = json!(experiment);
    Ok(format!("{{\"experiment\":{name},\"points\":[\n{}\n]}}\n", line(&point)))
}

/// Keys of a point in their order. What stands at its start is by the name of that snapshot.
const KEYS: [&str; 5] = ["id", "kernel", "lru", "repetitions", "vm"];
const KEYS_BEHIND: [&str; 8] = [
    "boot",
    "free_at_start_each",
    "script",
    "script_changes",
    "phases",
    "regions",
    "series",
    "results",
];

/// A point on one line.
pub fn line(point: &Value) -> String {
    let zones = STARTS.map(|s| format!("zones_at_{s}"));
    let keys = KEYS.into_iter().chain(zones.iter().map(String::as_str));
    let written = keys.chain(KEYS_BEHIND).filter(|k| !point[*k].is_null());
    let keys: Vec<String> = written.map(|k| format!("\"{k}\":{}", point[k])).collect();
    format!("{{{}}}", keys.join(","))
}

/// The script of a point of a file of `evidence/reference/`, for one of its repetitions.
///
/// # Errors
/// It is no such file, or has no such point or repetition.
pub fn script_of(file: &str, id: &str, repetition: usize) -> Result<String, String> {
    let file: Value = serde_json::from_str(file).map_err(|e| e.to_string())?;
    let points = file["points"].as_array().ok_or("there is no list `points`")?;
    let point = points.iter().find(|p| p["id"] == id).ok_or_else(|| {
        let all: Vec<&str> = points.iter().filter_map(|p| p["id"].as_str()).collect();
        format!("there is no point `{id}`, there are {}", all.join(", "))
    })?;
    let lines = point["script"].as_array().ok_or("the point has no script")?;
    let mut script: Vec<&str> = lines.iter().filter_map(Value::as_str).collect();
    if repetition > 0 {
        let changes = point["script_changes"][repetition - 1]
            .as_array()
            .ok_or_else(|| format!("the point has no repetition {repetition}"))?;
        for change in changes {
            let line = change[0].as_u64().and_then(|i| script.get_mut(i as usize));
            *line.ok_or("a change names a line that the script lacks")? =
                change[1].as_str().ok_or("a change has no text")?;
        }
    }
    Ok(script.iter().flat_map(|l| [l, "\n"]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recording(seed: u32, pswpin: u32) -> Recording {
        let text = format!(
            "@kernel 6.12.1\n@script write /sys/kernel/mm/lru_gen/enabled 7\n@script seed {seed}\n\
             @snap boot 1 pgfault=9\n@snap start 1\n@zone start DMA 3840 3808 26 32 38 0 0 1 0 316\n\
             @snap a 5 pgfault=7 pswpin={pswpin}\n@gauges a nr_free_pages=1\n\
             @group a g/h anon=4 | pgscan={pswpin}\n@result thp tried=400 got={pswpin}\n@look t3 child 8 {pswpin} 7\n@look t3 numbers 1 2\n\
             @look t1 regions 0 -4:8:2:1\n@done"
        );
        Recording::read(&text).unwrap_or_else(|e| panic!("{e}"))
    }

    #[test]
    fn repetitions_become_one_point() {
        let boot = json!({"zone": []});
        let both = [recording(1, 10), recording(2, 13)];
        let boot = [boot];
        let text = experiment("mine", "p", 384, &boot, &both).unwrap_or_else(|e| panic!("{e}"));
        let file: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}"));
        let point = &file["points"][0];
        assert_eq!((&file["experiment"], &point["lru"]), (&json!("mine"), &json!("mglru")));
        assert_eq!(point["script_changes"], json!([[[1, "seed 2"]]]));
        assert_eq!(point["zones_at_start"]["DMA"]["lowmem_reserve"], json!([0, 316]));
        assert_eq!(point["phases"].as_array().map(Vec::len), Some(2));
        let counters = json!({"pgfault": 7, "pswpin": [11.5, 10, 13]});
        assert_eq!(point["phases"][1]["counters"], counters);
        let group = json!({"counters": {"pgscan": [11.5, 10, 13]}, "gauges": {"anon": 4}});
        assert_eq!(point["phases"][1]["groups"], json!({"g/h": group}));
        assert_eq!(point["boot"], json!(boot));
        assert_eq!(point["free_at_start_each"], json!([3808, 3808]));
        let without = experiment("mine", "p", 384, &[], &both).unwrap_or_else(|e| panic!("{e}"));
        assert!(!without.contains("boot\":") && !without.contains("free_at_start_each"));
        let got = json!({"tried": 400, "got": [11.5, 10, 13], "got_each": [10, 13]});
        assert_eq!(point["results"], json!([["thp", got]]));
        assert_eq!(point["series"], json!([[[3, 8, 10, 7, [1, 2]]], [[3, 8, 13, 7, [1, 2]]]]));
        assert_eq!(point["regions"][0], json!([["t1", 0, [[-4, 8, 2, 1]]]]));
        assert_eq!(script_of(&text, "p", 1).as_deref().map(|s| s.ends_with("seed 2\n")), Ok(true));
        assert!(script_of(&text, "q", 0).is_err_and(|e| e.ends_with("there are p")));
        assert!(script_of(&text, "p", 2).is_err());
    }

    #[test]
    fn repetitions_of_other_kernels_are_refused() {
        let other = Recording { kernel: "6.1".into(), ..recording(2, 1) };
        assert!(experiment("mine", "p", 384, &[], &[recording(1, 1), other]).is_err());
        assert!(experiment("mine", "p", 384, &[], &[]).is_err());
    }
}
