//! Recordings that are of the form and cannot be.
//!
//! A replay of a contradictory recording would give figures that mean nothing, or a panic far from
//! the cause. So every point of a folder is checked against itself before anything runs: such a
//! machine is possible, the commands can be read, the phases are those of the commands, and the
//! counts fit the set-up.

use mmsim::nearest::nearest;
use mmsim_workload::script::{LruGen, Script, ScriptError, ScriptSetup};

use super::boot;
use super::machine::{self, Knob};
use super::patched::{PATCHED, Patched};
use super::place::Step;
use super::point::{Experiment, Phase, Point, Recorded, ZoneState};
use super::problem::{Found, Problem, found, within};

/// Most managed pages of all zones together (256 GiB): a simulated frame takes two dozen
/// bytes of the host.
const MAX_MANAGED: u64 = 1 << 26;
/// Most repetitions of a point.
const MAX_REPETITIONS: u64 = 1000;

/// Checks that all points of a file are possible.
pub(super) fn experiment(e: &Experiment) -> Result<(), Problem> {
    for (i, p) in e.points.iter().enumerate() {
        let problem = |(way, what): Found| Problem {
            way: [Step::from("points"), i.into()].into_iter().chain(way).collect(),
            point: p.id.clone(),
            what,
        };
        if e.points[..i].iter().any(|q| q.id == p.id) {
            return Err(problem(found(["id".into()], twice(&e.experiment))));
        }
        point(p).map_err(problem)?;
    }
    Ok(())
}

fn twice(experiment: &str) -> String {
    format!("a point of \"{experiment}\" has this name already, write another")
}

/// A point of `e` that a file before it has too.
pub(super) fn repeated_point(before: &[Experiment], e: &Experiment) -> Option<Problem> {
    let known = |id: &str| {
        let same = before.iter().filter(|b| b.experiment == e.experiment);
        same.flat_map(|b| &b.points).any(|q| q.id == id)
    };
    let i = e.points.iter().position(|p| known(&p.id))?;
    Some(Problem {
        way: vec!["points".into(), i.into(), "id".into()],
        point: e.points[i].id.clone(),
        what: twice(&e.experiment),
    })
}

fn point(p: &Point) -> Result<(), Found> {
    if p.id.is_empty() {
        return Err(found(["id".into()], "it is empty, write a name"));
    }
    if !p.kernel_series().starts_with(|c: char| c.is_ascii_digit()) {
        let what = format!("\"{}\", write what `uname -r` prints, as in 6.12.117", p.kernel);
        return Err(found(["kernel".into()], what));
    }
    if Patched::is_written_so(&p.kernel) && p.patched().is_none() {
        let known: Vec<&str> = PATCHED.iter().map(|x| x.name).collect();
        let near = nearest(&p.kernel, &known);
        let near = near.map_or(".".into(), |n| format!(", did you mean `{n}`?"));
        let what = format!(
            "\"{}\" is no patched kernel{near} Write one of {}, or what `uname -r` prints",
            p.kernel,
            known.join(", ")
        );
        return Err(found(["kernel".into()], what));
    }
    within(["repetitions".into()], p.repetitions as u64, 1, MAX_REPETITIONS)?;
    if let Some(cpus) = p.vm.get("cpus") {
        let way = || ["vm".into(), "cpus".into()];
        let n = cpus.as_u64().ok_or_else(|| found(way(), format!("{cpus}, write a number")))?;
        within(way(), n, 1, 1024)?;
    }
    zones(p)?;
    boot::check(p)?;
    changes(p)?;
    for phase in p.phases.iter().enumerate() {
        counts(phase)?;
    }
    for (i, (_, values)) in p.results.iter().enumerate() {
        for (key, each) in values.iter().filter(|(key, _)| key.ends_with("_each")) {
            let numbers =
                each.as_array().filter(|all| all.iter().all(serde_json::Value::is_number));
            if numbers.is_none_or(|all| all.len() != p.repetitions) {
                let what = format!("{each}, write the numbers of {} repetitions", p.repetitions);
                return Err(found(
                    ["results".into(), i.into(), 1.into(), key.as_str().into()],
                    what,
                ));
            }
        }
    }
    let mut setup = None;
    for repetition in 0..p.repetitions {
        // Repetitions without changes of their own are like the first.
        if repetition > 0 && p.script_changes.get(repetition - 1).is_none_or(Vec::is_empty) {
            continue;
        }
        match commands(p, repetition)? {
            Some(script) => {
                knobs(p, &script.setup)?;
                snapshots(p, &script.phases).map_err(|(i, what)| match p.phases.get(i) {
                    Some(_) => found(["phases".into(), i.into(), "phase".into()], what),
                    None => found(["phases".into()], what),
                })?;
                setup.get_or_insert(script.setup);
            }
            // Its result is not known, so nothing can be compared with it.
            None => return Ok(()),
        }
    }
    let Some(setup) = setup else { return Ok(()) };
    lru(p, &setup)?;
    swapping(p, &setup)
}

fn zones(p: &Point) -> Result<(), Found> {
    if p.zones().iter().all(|(_, z)| z.values().all(|z| z.managed == 0)) {
        return Err(found(["zones_at_start".into()], "missing, write the zones of the machine"));
    }
    for (key, all) in p.zones() {
        let mut managed = 0;
        for (name, z) in all {
            zone(key, name, z)?;
            managed += u64::from(z.managed);
            if managed > MAX_MANAGED {
                let what = format!("{managed} managed pages together, write at most {MAX_MANAGED}");
                return Err(found([key.into()], what));
            }
        }
    }
    Ok(())
}

fn zone(key: &str, name: &str, z: &ZoneState) -> Result<(), Found> {
    let at = |field: &str| [key.into(), name.into(), field.into()];
    let of_list = |field: &str| [key.into(), name.into(), "pcp".into(), field.into()];
    // Kernels print zones that have no memory too.
    if z.managed == 0 {
        return Ok(());
    }
    within(at("managed"), z.managed.into(), 0, MAX_MANAGED)?;
    within(of_list("count"), z.pcp.count.into(), 0, z.managed.into())?;
    within(of_list("high"), z.pcp.high.into(), 0, z.managed.into())?;
    within(of_list("batch"), z.pcp.batch.into(), 1, z.managed.into())?;
    within(at("free"), z.free.into(), 0, (z.managed - z.pcp.count).into())?;
    within(at("high"), z.high.into(), 0, z.managed.into())?;
    within(at("low"), z.low.into(), 0, z.high.into())?;
    within(at("min"), z.min.into(), 0, z.low.into())
}

fn changes(p: &Point) -> Result<(), Found> {
    if p.script_changes.len() >= p.repetitions {
        let what = format!(
            "changes for {} repetitions after the first, but `repetitions` is {}",
            p.script_changes.len(),
            p.repetitions
        );
        return Err(found(["script_changes".into()], what));
    }
    for (r, lines) in p.script_changes.iter().enumerate() {
        for (i, (line, _)) in lines.iter().enumerate() {
            if *line >= p.script.len() {
                let what =
                    format!("{line}, but the script has {} lines, counted from 0", p.script.len());
                let way = ["script_changes".into(), r.into(), i.into(), 0.into()];
                return Err(found(way, what));
            }
        }
    }
    Ok(())
}

/// Counters count up, and means lie between the extremes.
fn counts((i, phase): (usize, &Phase)) -> Result<(), Found> {
    let tables = [("counters", &phase.counters), ("gauges", &phase.gauges)];
    for (table, values) in tables {
        for (name, value) in values {
            let way = || ["phases".into(), i.into(), table.into(), name.as_str().into()];
            let [mean, min, max] = value.spread();
            if min < 0.0 {
                return Err(found(way(), format!("{min}, write a number of at least 0")));
            }
            if let Recorded::Spread(_) = value
                && !(min <= mean && mean <= max)
            {
                let what = format!(
                    "mean {mean}, smallest {min}, largest {max}, write a mean between the others"
                );
                return Err(found(way(), what));
            }
        }
    }
    Ok(())
}

/// The commands of a repetition. None: they cannot be read to the end, and a command
/// before that needs a mechanism that is not modelled, which may have made what is missing.
fn commands(p: &Point, repetition: usize) -> Result<Option<Script>, Found> {
    let lines = p.script_of(repetition);
    let error = match Script::parse(&lines) {
        Ok(script) => return Ok(Some(script)),
        Err(e) => e,
    };
    let before = lines.get(..error.line).unwrap_or(&[]);
    let unknown = error.instead.starts_with("which is no command");
    if !unknown && Script::parse(before).is_ok_and(|s| !s.not_yet.is_empty()) {
        return Ok(None);
    }
    let ScriptError { line, found: word, instead } = error;
    let changed = repetition.checked_sub(1).and_then(|r| {
        let at = p.script_changes.get(r)?.iter().rposition(|(l, _)| *l == line)?;
        Some(["script_changes".into(), r.into(), at.into(), 1.into()])
    });
    let what = format!("found `{word}`, {instead}");
    Err(match changed {
        Some(way) => found(way, what),
        None => found(["script".into(), line.into()], what),
    })
}

/// The phases are snapshots of the script, in its order, and some of them are compared.
/// Gives the number of each among the snapshots.
///
/// # Errors
/// The number of a phase and what is wrong with it.
pub(super) fn snapshots(p: &Point, script: &[String]) -> Result<Vec<usize>, (usize, String)> {
    let mut from = 0;
    let mut numbers = Vec::new();
    for (i, phase) in p.phases.iter().enumerate() {
        let name = &phase.phase;
        let Some(at) = script.iter().skip(from).position(|s| s == name) else {
            let what = match script.contains(name) {
                true => "stands after a phase whose snapshot the script takes later",
                false => "is no snapshot of the script (`snap` or `snapx`)",
            };
            return Err((i, format!("\"{name}\" {what}")));
        };
        numbers.push(from + at);
        from += at + 1;
    }
    if p.first_compared() >= p.phases.len() {
        return Err((p.phases.len(), "no phase is left after those that set up".into()));
    }
    Ok(numbers)
}

fn lru(p: &Point, setup: &ScriptSetup) -> Result<(), Found> {
    let classic = match &setup.lru_gen {
        None => return Ok(()),
        Some(g) => *g == LruGen::Classic,
    };
    let wrong = match p.lru.as_str() {
        "classic" => !classic,
        "mglru" => classic,
        _ => false,
    };
    if wrong {
        let what = format!("\"{}\", but the script writes lru_gen/enabled otherwise", p.lru);
        return Err(found(["lru".into()], what));
    }
    Ok(())
}

/// Nothing can be swapped where there is no swap.
fn swapping(p: &Point, setup: &ScriptSetup) -> Result<(), Found> {
    if !setup.swap.is_empty() {
        return Ok(());
    }
    for (i, phase) in p.phases.iter().enumerate() {
        for name in ["pswpout", "pswpin"] {
            let n = phase.counters.get(name).map_or(0.0, |c| c.spread()[2]);
            if n > 0.0 {
                let what = format!("{n}, but the script sets up no swap (`zram` or `swapon`)");
                return Err(found(
                    ["phases".into(), i.into(), "counters".into(), name.into()],
                    what,
                ));
            }
        }
    }
    Ok(())
}

fn knobs(p: &Point, setup: &ScriptSetup) -> Result<(), Found> {
    match machine::sysctls(setup) {
        Err(Knob::Wrong { path, what }) => {
            let starts = format!("write {path} ");
            let line = p.script.iter().rposition(|l| l.starts_with(&starts)).unwrap_or(0);
            Err(found(["script".into(), line.into()], what))
        }
        Ok(_) | Err(Knob::NotModelled(_)) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::place::shown;
    use super::*;

    const FILE: &str = r#"{ "experiment": "e", "points": [ { "id": "p", "kernel": "6.12.1",
  "lru": "classic", "repetitions": 2, "vm": { "cpus": 1 },
  "zones_at_start": { "DMA32": { "managed": 4000, "free": 3997, "min": 20, "low": 25, "high": 30,
    "lowmem_reserve": [0, 0, 0, 0, 0], "pcp": { "count": 3, "high": 10, "batch": 2 } } },
  "script": ["write /proc/sys/vm/swappiness 60", "zram 4194304", "snapx start", "anon 0 100",
    "seed 1", "fill 0 0 100", "snap one", "snap two"],
  "script_changes": [[[4, "seed 2"]]],
  "phases": [{ "phase": "start", "counters": {} },
    { "phase": "one", "counters": { "pgfault": [100.5, 100, 101], "pswpout": 3 } },
    { "phase": "two", "counters": {} }] } ] }"#;

    fn read(text: &str) -> Result<Experiment, String> {
        Experiment::from_json(text).map_err(|e| e.to_string())
    }

    /// Message on a text that is replaced by another.
    fn said(from: &str, to: &str) -> String {
        assert!(FILE.contains(from), "{from}");
        let e = read(&FILE.replacen(from, to, 1)).expect_err(to);
        e.strip_prefix("point \"p\": ").unwrap_or(&e).to_string()
    }

    #[test]
    fn a_machine_that_cannot_be_is_refused() {
        read(FILE).unwrap_or_else(|e| panic!("{e}"));
        let repetitions = |n: &str| said("\"repetitions\": 2", &format!("\"repetitions\": {n}"));
        assert_eq!(repetitions("0"), "repetitions: 0, write a number from 1 to 1000");
        assert!(repetitions("1000000000").ends_with("write a number from 1 to 1000"));
        assert_eq!(
            said("\"cpus\": 1", "\"cpus\": 4294967296"),
            "vm.cpus: 4294967296, write a number from 1 to 1024"
        );
        assert_eq!(said("\"cpus\": 1", "\"cpus\": \"two\""), "vm.cpus: \"two\", write a number");
        let zone = |from: &str, to: &str| {
            said(from, to).strip_prefix("zones_at_start.DMA32.").expect("in the zone").to_string()
        };
        assert_eq!(zone("3997", "3998"), "free: 3998, write a number from 0 to 3997");
        assert_eq!(
            zone("\"count\": 3", "\"count\": 4001"),
            "pcp.count: 4001, write a number from 0 to 4000"
        );
        assert_eq!(
            zone("\"batch\": 2", "\"batch\": 0"),
            "pcp.batch: 0, write a number from 1 to 4000"
        );
        assert_eq!(zone("\"low\": 25", "\"low\": 31"), "low: 31, write a number from 0 to 30");
        assert_eq!(zone("\"min\": 20", "\"min\": 26"), "min: 26, write a number from 0 to 25");
        assert!(zone("4000", "4294967295").ends_with("from 0 to 67108864"));
        let each = |all: &str| {
            said(
                "\"phases\"",
                &format!("\"results\": [[\"thp\", {{\"got_each\": {all}}}]], \"phases\""),
            )
        };
        let two = "write the numbers of 2 repetitions";
        assert_eq!(each("[7]"), format!("results[0][1].got_each: [7], {two}"));
        assert_eq!(each("[7,\"x\"]"), format!("results[0][1].got_each: [7,\"x\"], {two}"));
        assert_eq!(
            said("\"zones_at_start\"", "\"zones\""),
            "zones_at_start: missing, write the zones of the machine"
        );
        // One without memory is no zone.
        let none = "\"zones_at_start\": { \"Movable\": { \"managed\": 0, \"free\": 0, \"min\": 0, \
                    \"low\": 0, \"high\": 0, \"lowmem_reserve\": [], \"pcp\": { \"count\": 0, \
                    \"high\": 0, \"batch\": 1 } }";
        read(&FILE.replacen("\"zones_at_start\": {", &format!("{none}, "), 1))
            .unwrap_or_else(|e| panic!("{e}"));
        let only = FILE.replacen("\"zones_at_start\": {", &format!("{none} }}, \"zones\": {{"), 1);
        assert!(read(&only).expect_err("no memory").contains("zones_at_start: missing"));
        assert_eq!(
            said("6.12.1", "v6.12"),
            "kernel: \"v6.12\", write what `uname -r` prints, as in 6.12.117"
        );
        let patched = said("6.12.1", "6.12+lazyfree-lst");
        let starts = "kernel: \"6.12+lazyfree-lst\" is no patched kernel, did you mean \
                      `6.12+lazyfree-list`? Write one of 6.12+lazyfree-base, ";
        assert!(patched.starts_with(starts), "{patched}");
    }

    #[test]
    fn scripts_are_read_with_every_change() {
        assert_eq!(
            said("seed 1", "sed 1"),
            "script[4]: found `sed`, which is no command; write one of anon, file, unmap, table, \
             seed, fill, scan, zipf, mixscan, mix2, preadscan, direct, dontcache, fadvise, mlock, \
             munlock, madvise, lazy, ebizzy, grow, punch, hugepool, pipes, pring, sleepms, snap, \
             snapx, write, zram, swapon, mount, mlockself, ballast, mkdir, process, on"
        );
        assert_eq!(
            said("seed 2", "seed two"),
            "script_changes[0][0][1]: found `two`, write the seed as a number from 0 to \
             18446744073709551615"
        );
        assert_eq!(
            said("[4, \"seed 2\"]", "[8, \"seed 2\"]"),
            "script_changes[0][0][0]: 8, but the script has 8 lines, counted from 0"
        );
        assert_eq!(
            said("[[[4, \"seed 2\"]]]", "[[], []]"),
            "script_changes: changes for 2 repetitions after the first, but `repetitions` is 2"
        );
        assert_eq!(
            said("swappiness 60", "swappiness 201"),
            "script[0]: /proc/sys/vm/swappiness: \"201\", write a number from 0 to 200"
        );
        // A mechanism that is not modelled may have made what a later line needs.
        read(&FILE.replacen("fill 0 0 100", "thp 7 2\", \"unmap 7", 1))
            .unwrap_or_else(|e| panic!("{e}"));
        assert!(said("fill 0 0 100", "thp 7 2\", \"unmapp 7").contains("is no command"));
    }

    #[test]
    fn counters_and_phases_that_contradict() {
        let counter = |to: &str| said("[100.5, 100, 101]", to);
        let at = "phases[1].counters.pgfault: ";
        assert_eq!(
            counter("[99, 100, 101]"),
            format!("{at}mean 99, smallest 100, largest 101, write a mean between the others")
        );
        assert!(counter("[100, 101, 99]").starts_with(&format!("{at}mean 100")));
        assert_eq!(counter("-1"), format!("{at}-1, write a number of at least 0"));
        assert_eq!(
            said("\"phase\": \"one\"", "\"phase\": \"ome\""),
            "phases[1].phase: \"ome\" is no snapshot of the script (`snap` or `snapx`)"
        );
        assert_eq!(
            said("\"phase\": \"two\"", "\"phase\": \"one\""),
            "phases[2].phase: \"one\" stands after a phase whose snapshot the script takes later"
        );
        let phases = &FILE[FILE.find("\"phases\": [").expect("phases") + 11..FILE.len() - 7];
        assert_eq!(said(phases, ""), "phases: no phase is left after those that set up");
        // Without swap, and with the changed line where it was.
        assert_eq!(
            said("zram 4194304", "snapx boot"),
            "phases[1].counters.pswpout: 3, but the script sets up no swap (`zram` or `swapon`)"
        );
        assert_eq!(
            said("/proc/sys/vm/swappiness 60", "/sys/kernel/mm/lru_gen/enabled 7"),
            "lru: \"classic\", but the script writes lru_gen/enabled otherwise"
        );
    }

    #[test]
    fn a_name_is_told_once_per_experiment() {
        let point = &FILE[FILE.find("{ \"id\"").expect("a point")..FILE.len() - 4];
        assert_eq!(
            said(point, &format!("{point}, {point}")),
            "id: a point of \"e\" has this name already, write another"
        );
        let e = read(FILE).unwrap_or_else(|e| panic!("{e}"));
        let p = repeated_point(std::slice::from_ref(&e), &e).expect("the same file twice");
        assert_eq!(shown(&p.way), "points[0].id");
        let other = Experiment { experiment: "f".into(), ..e.clone() };
        assert_eq!(repeated_point(&[other], &e), None);
    }
}
