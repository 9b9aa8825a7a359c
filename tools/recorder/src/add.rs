//! Further repetitions of a point that is recorded already.
//!
//! A point keeps of each number what all repetitions agree on, or `[mean, smallest, largest]`. So
//! another repetition can be added without the recordings of those before: the mean of `n` and its
//! `n` give their sum. The mean has one decimal, which leaves the new one exact to a tenth for up to
//! two earlier repetitions. A gauge of the machine that the point has in no phase was not recorded
//! then, and is left out.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::groups::Group;
use crate::record::{Phase, Recording};
use crate::vmstat::Vmstat;

/// Adds a number to the spread of `n` before.
fn wider(before: &Value, n: u64, number: u64) -> Value {
    let (mean, min, max) = match before {
        Value::Array(all) => {
            let at = |i: usize| all.get(i).and_then(Value::as_u64).unwrap_or(0);
            (all.first().and_then(Value::as_f64).unwrap_or(0.0), at(1), at(2))
        }
        one => {
            let one = one.as_u64().unwrap_or(0);
            (one as f64, one, one)
        }
    };
    let (min, max) = (min.min(number), max.max(number));
    if min == max {
        return json!(min);
    }
    let mean = (mean * n as f64 + number as f64) / (n + 1) as f64;
    json!([(mean * 10.0).round() / 10.0, min, max])
}

/// Adds the numbers of a table. A name that stands on one side alone is 0 on the other.
fn table(before: &mut Value, n: u64, numbers: &Vmstat) {
    if before.is_null() {
        *before = json!({});
    }
    let Some(before) = before.as_object_mut() else { return };
    for name in numbers.keys() {
        before.entry(name).or_insert(json!(0));
    }
    for (name, value) in before {
        *value = wider(value, n, numbers.get(name).copied().unwrap_or(0));
    }
}

fn phase(before: &mut Value, n: u64, new: &Phase, gauges: &BTreeSet<String>) {
    table(&mut before["counters"], n, &new.counters);
    let known = new.gauges.iter().filter(|g| gauges.contains(g.0));
    table(&mut before["gauges"], n, &known.map(|(name, n)| (name.clone(), *n)).collect());
    let none = Group::default();
    if let Some(groups) = before.get_mut("groups").and_then(Value::as_object_mut) {
        for (path, group) in groups {
            let new = new.groups.get(path).unwrap_or(&none);
            table(&mut group["counters"], n, &new.counters);
            table(&mut group["gauges"], n, &new.gauges);
        }
    }
}

/// Adds the result of a command, and each one's value where they differ.
fn result(before: &mut Map<String, Value>, n: u64, new: &Vmstat) {
    for (name, number) in new {
        let old = before.get(name).cloned().unwrap_or(json!(0));
        let all = wider(&old, n, *number);
        let each = format!("{name}_each");
        if all.is_array() {
            let same = vec![old; n as usize];
            let list = before.entry(each).or_insert(Value::Array(same));
            list.as_array_mut().into_iter().for_each(|list| list.push(json!(number)));
        }
        before.insert(name.clone(), all);
    }
}

/// Adds a recording to a point, in the order in which it stands there: as the last repetition.
///
/// # Errors
/// It is of another kernel, script or phases, or the point lists what this does not add: regions,
/// series, layouts.
pub fn add(point: &mut Value, new: &Recording) -> Result<(), String> {
    if point["kernel"] != json!(new.kernel) {
        return Err(format!("it is of kernel {}, the point of {}", new.kernel, point["kernel"]));
    }
    if point["script"] != json!(new.script) {
        return Err("it is of another script".into());
    }
    if let Some(key) = ["regions", "series", "boot"].into_iter().find(|k| !point[*k].is_null()) {
        return Err(format!("the point has `{key}`: record all repetitions anew"));
    }
    let n = point["repetitions"].as_u64().ok_or("the point has no `repetitions`")?;
    let phases = point["phases"].as_array_mut().ok_or("the point has no phases")?;
    let first = phases.first().map(|p| p["phase"].clone()).ok_or("the point has no phases")?;
    let from = new.phases.iter().position(|p| json!(p.name) == first);
    let of = &new.phases[from.ok_or("it lacks the first phase")?..];
    if !phases.iter().map(|p| p["phase"].as_str()).eq(of.iter().map(|p| Some(p.name.as_str()))) {
        return Err("it has other phases".into());
    }
    let gauges = phases.iter().filter_map(|p| p["gauges"].as_object()).flat_map(Map::keys);
    let gauges: BTreeSet<String> = gauges.cloned().collect();
    phases.iter_mut().zip(of).for_each(|(before, new)| phase(before, n, new, &gauges));
    let results = point["results"].as_array_mut().ok_or("the point has no results")?;
    for (before, (_, numbers)) in results.iter_mut().zip(&new.results) {
        before[1].as_object_mut().into_iter().for_each(|b| result(b, n, numbers));
    }
    let changes = point["script_changes"].as_array_mut().ok_or("it has no script_changes")?;
    changes.push(json!([]));
    point["repetitions"] = json!(n + 1);
    Ok(())
}

/// A file of points with further repetitions of one of them.
///
/// # Errors
/// It is no such file, has no such point, or a recording is not of it.
pub fn with(file: &str, id: &str, recordings: &[Recording]) -> Result<String, String> {
    let begin = format!("{{\"id\":{},", json!(id));
    let mut found = false;
    let mut out = String::new();
    for line in file.lines() {
        let body = line.strip_suffix(',').unwrap_or(line);
        if !body.starts_with(&begin) {
            out += line;
        } else {
            found = true;
            let mut point: Value = serde_json::from_str(body).map_err(|e| e.to_string())?;
            for new in recordings {
                add(&mut point, new)?;
            }
            out += &crate::point::line(&point);
            out += &line[body.len()..];
        }
        out.push('\n');
    }
    if found { Ok(out) } else { Err(format!("there is no point `{id}` with a line of its own")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recording(pswpin: u32) -> Recording {
        let text = format!(
            "@kernel 6.12.1\n@script write /sys/kernel/mm/lru_gen/enabled 7\n@snap boot 1 pgfault=9\n\
             @snap start 1\n@zone start DMA 3840 3808 26 32 38 0 0 1 0 316\n\
             @snap a 5 pgfault=7 pswpin={pswpin}\n@gauges a nr_free_pages=1\n\
             @group a g/h anon=4 | pgscan={pswpin}\n@result thp tried=400 got={pswpin}\n@done"
        );
        Recording::read(&text).unwrap_or_else(|e| panic!("{e}"))
    }

    /// One repetition and another are two, and two and a third are three, but for the order of keys.
    #[test]
    fn added_repetitions_are_as_recorded_together() {
        for last in [10, 17, 0] {
            let all = [recording(10), recording(13), recording(last)];
            let together = |n: usize| {
                crate::point::experiment("mine", "p", 384, &[], &all[..n])
                    .unwrap_or_else(|e| panic!("{e}"))
            };
            for n in 1..3 {
                assert_eq!(with(&together(n), "p", &all[n..=n]), Ok(together(n + 1)));
            }
            assert_eq!(with(&together(1), "p", &all[1..]), Ok(together(3)));
        }
    }

    /// A recorder that knows more gauges than the one before.
    #[test]
    fn gauges_that_were_not_recorded_are_left_out() {
        let file = crate::point::experiment("mine", "p", 384, &[], &[recording(1)]);
        let file = file.unwrap_or_else(|e| panic!("{e}"));
        let mut other = recording(1);
        other.phases[2].gauges.insert("nr_zspages".into(), 1);
        assert_eq!(with(&file, "p", &[other]), with(&file, "p", &[recording(1)]));
    }

    #[test]
    fn other_recordings_are_refused() {
        let file = crate::point::experiment("mine", "p", 384, &[], &[recording(1)]);
        let file = file.unwrap_or_else(|e| panic!("{e}"));
        let other = Recording { kernel: "6.1".into(), ..recording(1) };
        assert!(with(&file, "p", &[other]).is_err_and(|e| e.contains("of kernel 6.1")));
        assert!(with(&file, "q", &[recording(1)]).is_err());
        let mut other = recording(1);
        other.phases.pop();
        assert!(with(&file, "p", &[other]).is_err_and(|e| e.contains("other phases")));
    }
}
