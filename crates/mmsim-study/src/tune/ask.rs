//! A search by another program: settings come in and figures go out, a JSON value on a line each.
//!
//! The first line that goes out describes the possible questions: knobs with their values,
//! objectives, constraints, seeds. Then each line that comes in is a setting, and is answered by
//! one line before the next is read:
//!
//! ```text
//! {"id": 7, "knobs": {"machine.vm.swappiness": 60}}
//! {"id": 7, "objectives": {"pswpin": 411.5}, ..}
//! ```
//!
//! `seeds` limits a setting to a number of first seeds; `held-out: true` takes the held-out ones.
//! An answer has the change from the scenario's own setting, which therefore runs with the same
//! seeds once. `{"advise": true}` is answered by the advice on all settings that were run with
//! every seed, as `mmsim tune` gives it. A line that makes no sense ends it with an error that
//! names line and column.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::ops::Range;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::advice::{self, Change, Measured, Offered};
use super::means::means;
use super::measure;
use super::pareto::{self, Point};
use super::search::{Figures, OWN, own, turn};
use super::{Knob, Takes, TunePlan, present, writes};
use crate::runner::Runner;
use mmsim_base::error::{Error, ErrorKind};
use mmsim_base::files::{DEEPEST_JSON, too_deep};
use mmsim_language::machines;
use mmsim_language::scenario::RunSpec;
use mmsim_language::scenario::tune::KnobValue;
use mmsim_report::Pairs;
use mmsim_report::statistics::Estimate;

/// Why answering ended early.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// A line makes no sense, or its runs cannot be made.
    #[error("{0}")]
    Input(#[from] Error),
    /// A line cannot be read, or an answer not be written.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// Answers until there are no more lines. Gives how many runs were made.
///
/// # Errors
///
/// The plan cannot be run, a line makes no sense, or the answers have no reader.
pub fn answer(
    plan: &TunePlan,
    runner: &Runner<'_>,
    lines: impl BufRead,
    out: &mut impl Write,
) -> Result<u64, AskError> {
    let present = own(plan, runner.registry())?;
    measure::check(plan, &present)?;
    let mut session = Session::new(plan, runner, &present);
    let say = |value: &Value, out: &mut dyn Write| -> io::Result<()> {
        writeln!(out, "{value}")?;
        out.flush()
    };
    say(&session.greeting(), out)?;
    let mut runs = 0;
    for (n, line) in lines.lines().enumerate() {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        let said = Said { text: line.as_str().into(), n: n + 1 };
        let (answer, made) = match asked(plan, &said)? {
            Asked::Setting { id, values, seeds } => session.setting(id, values, seeds, &said)?,
            Asked::Advice { id } => session.advice(&id, &said)?,
        };
        runs += made;
        say(&answer, out)?;
    }
    Ok(runs)
}

/// A line that came in.
struct Said {
    text: Arc<str>,
    n: usize,
}

impl Said {
    /// An error of the line, at the first place of a word in it.
    fn wrong(&self, word: &str, title: String, write: &str) -> Error {
        let start = self.text.find(word).unwrap_or(0);
        // The line stands where it stood in the input.
        let before = "\n".repeat(self.n - 1);
        let text: Arc<str> = format!("{before}{}", self.text).into();
        let start = before.len() + start;
        Error::new(ErrorKind::Option, title).at("stdin", &text, start..start + word.len(), write)
    }
}

/// A request.
enum Asked {
    /// The figures of a setting: a value of each knob, or none for that of the scenario.
    Setting { id: Value, values: Vec<Option<KnobValue>>, seeds: Range<u64> },
    /// The advice on all settings so far.
    Advice { id: Value },
}

fn asked(plan: &TunePlan, said: &Said) -> Result<Asked, Error> {
    let value: Value = serde_json::from_str(&said.text).map_err(|e| {
        if too_deep(&e) {
            let title = format!("line {}: nested more than {DEEPEST_JSON} levels deep", said.n);
            let rest = said.text.get(e.column().saturating_sub(1)..).unwrap_or_default();
            let write = format!("write at most {DEEPEST_JSON} levels of [ and {{");
            return said.wrong(rest, title, &write);
        }
        let what = e.to_string();
        let what = what.split(" at line").next().unwrap_or_default();
        let rest = said.text.get(e.column().saturating_sub(1)..).unwrap_or_default();
        said.wrong(rest, format!("line {}: no JSON: {what}", said.n), "write one object on a line")
    })?;
    let Some(map) = value.as_object() else {
        let title = format!("line {}: no object", said.n);
        return Err(said.wrong("", title, "write {\"id\": 1, \"knobs\": {..}}"));
    };
    let known = ["id", "knobs", "seeds", "held-out", "advise"];
    if let Some(key) = map.keys().find(|k| !known.contains(&k.as_str())) {
        let title = format!("line {}: unknown key `{key}`", said.n);
        return Err(said.wrong(key, title, &format!("known: {}", known.join(", "))));
    }
    let id = map.get("id").cloned().unwrap_or(Value::Null);
    match map.get("advise") {
        None => {}
        Some(Value::Bool(true)) => {
            if let Some(key) = map.keys().find(|k| !["id", "advise"].contains(&k.as_str())) {
                let title = format!("line {}: {key}: advice is on all settings so far", said.n);
                return Err(said.wrong(key, title, "leave it out"));
            }
            return Ok(Asked::Advice { id });
        }
        Some(_) => {
            let title = format!("line {}: advise: found no `true`", said.n);
            return Err(said.wrong("advise", title, "write true, or leave it out"));
        }
    }
    let empty = Map::new();
    let knobs = match map.get("knobs") {
        Some(Value::Object(knobs)) => knobs,
        Some(_) => {
            let title = format!("line {}: knobs: no object", said.n);
            return Err(said.wrong("knobs", title, "write a value for each knob by its path"));
        }
        None => &empty,
    };
    let paths: Vec<&str> = plan.knobs().iter().map(|k| k.path()).collect();
    if let Some(path) = knobs.keys().find(|k| !paths.contains(&k.as_str())) {
        let near = mmsim_base::nearest::nearest(path, &paths);
        let near = near.map_or(String::new(), |n| format!(", did you mean `{n}`?"));
        let title = format!("line {}: unknown knob `{path}`{near}", said.n);
        return Err(said.wrong(path, title, &format!("known: {}", paths.join(", "))));
    }
    let mut values = Vec::new();
    for knob in plan.knobs() {
        values.push(match knobs.get(knob.path()) {
            None => None,
            Some(given) => Some(knob.value_of(given).map_err(|what| {
                let title = format!("line {}: {}: {what}", said.n, knob.path());
                said.wrong(knob.path(), title, "a value of the range")
            })?),
        });
    }
    let all = match map.get("held-out") {
        None | Some(Value::Bool(false)) => plan.seeds(),
        Some(Value::Bool(true)) => plan.held_out(),
        Some(_) => {
            let title = format!("line {}: held-out: no flag", said.n);
            return Err(said.wrong("held-out", title, "write true or false"));
        }
    };
    let most = all.end - all.start;
    let n = match map.get("seeds").map(Value::as_u64) {
        None => most,
        Some(Some(n)) if (1..=most).contains(&n) => n,
        Some(_) => {
            let title = format!("line {}: seeds: there are 1 to {most}", said.n);
            return Err(said.wrong("seeds", title, &format!("write 1 to {most}, or leave it out")));
        }
    };
    Ok(Asked::Setting { id, values, seeds: all.start..all.start + n })
}

/// A requested setting, with all its runs.
struct Known {
    id: Value,
    values: Vec<Option<KnobValue>>,
    /// Figures by seed, with their own signs.
    runs: BTreeMap<u64, Figures>,
}

impl Known {
    /// The figures with these seeds; `None` if a run is missing or did not do its work.
    fn figures(&self, seeds: Range<u64>) -> Option<Vec<Vec<f64>>> {
        seeds.map(|seed| self.runs.get(&seed)?.as_ref().ok().cloned()).collect()
    }
}

/// All settings that were requested so far. The scenario's own setting is the first.
struct Session<'a> {
    plan: &'a TunePlan,
    runner: &'a Runner<'a>,
    /// Names of the scenario's own values, as far as they are known.
    own: Vec<Option<String>>,
    all: Vec<Known>,
    /// Settings by the names of their values.
    places: BTreeMap<Vec<Option<String>>, usize>,
}

impl<'a> Session<'a> {
    fn new(plan: &'a TunePlan, runner: &'a Runner<'a>, present: &RunSpec) -> Session<'a> {
        let found = present::values(plan.knobs(), present).into_iter().zip(plan.knobs());
        let own: Vec<Option<String>> = found.map(|(v, k)| v.map(|v| k.present(&v).1)).collect();
        let values = vec![None; own.len()];
        let first = Known { id: Value::from("own"), values, runs: BTreeMap::new() };
        Session {
            plan,
            runner,
            places: BTreeMap::from([(own.clone(), OWN)]),
            own,
            all: vec![first],
        }
    }

    /// Description of the possible questions.
    fn greeting(&self) -> Value {
        let plan = self.plan;
        let takes = |k: &Knob| match k.takes() {
            Takes::OneOf(words) => json!({ "choices": words }),
            Takes::Range { from, to, log, whole, unit } => {
                let number = |x: f64| if whole { json!(x as i64) } else { json!(x) };
                json!({
                    "low": number(from), "high": number(to), "log": log, "whole": whole,
                    "unit": unit,
                })
            }
        };
        let knobs: Map<String, Value> =
            plan.knobs().iter().map(|k| (k.path().to_string(), takes(k))).collect();
        let known = plan.knobs().iter().zip(&self.own);
        let known = known.filter_map(|(k, label)| Some((k, k.given(label.as_deref()?))));
        let present: Map<String, Value> = known.map(|(k, v)| (k.path().to_string(), v)).collect();
        let objectives: Vec<Value> = plan
            .objectives()
            .iter()
            .map(|o| {
                let goal = if o.max { "max" } else { "min" };
                json!({ "figure": o.wanted.to_string(), "goal": goal, "reference": o.reference })
            })
            .collect();
        let constraints: Vec<String> = plan.constraints().iter().map(ToString::to_string).collect();
        let (seeds, held_out) = (plan.seeds().count(), plan.held_out().count());
        json!({
            "tune": plan.name(), "knobs": knobs, "own": present, "objectives": objectives,
            "constraints": constraints, "seeds": seeds, "held-out": held_out,
        })
    }

    /// The place of a setting among all, which may be that of the own one.
    fn place(&mut self, id: &Value, values: Vec<Option<KnobValue>>) -> usize {
        let labels = self.labels(&values);
        let own = values.iter().all(Option::is_none);
        let next = self.all.len();
        let place = if own { OWN } else { *self.places.entry(labels).or_insert(next) };
        if place == next {
            self.all.push(Known { id: id.clone(), values, runs: BTreeMap::new() });
        }
        place
    }

    /// Names of the values of a setting, as far as they are known.
    fn labels(&self, values: &[Option<KnobValue>]) -> Vec<Option<String>> {
        let value = |(value, own): (&Option<KnobValue>, &Option<String>)| {
            value.as_ref().map(|v| v.label.clone()).or(own.clone())
        };
        values.iter().zip(&self.own).map(value).collect()
    }

    /// Makes the runs of some settings with these seeds that were not made yet; says how many.
    fn make(&mut self, who: &[usize], seeds: Range<u64>, said: &Said) -> Result<u64, Error> {
        let (mut lacking, mut specs) = (Vec::new(), Vec::new());
        let mut who = who.to_vec();
        who.sort_unstable();
        who.dedup();
        for c in who {
            let known = &self.all[c];
            let missing: Vec<u64> =
                seeds.clone().filter(|seed| !known.runs.contains_key(seed)).collect();
            if missing.is_empty() {
                continue;
            }
            let spec = self.plan.run_of(&known.values, self.runner.registry(), machines::sound)?;
            for seed in missing {
                lacking.push((c, seed));
                specs.push(RunSpec { seed, ..spec.clone() });
            }
        }
        let made = self.runner.run(specs).map_err(Error::from);
        let made = made.map_err(|e| match e.position() {
            None => said.wrong("knobs", format!("line {}: {}", said.n, e.title()), "other values"),
            Some(_) => e,
        })?;
        for (&(c, seed), report) in lacking.iter().zip(&made) {
            let figures = measure::figures(self.plan, report);
            self.all[c].runs.insert(seed, figures);
        }
        Ok(lacking.len() as u64)
    }

    /// Answers for a setting.
    fn setting(
        &mut self,
        id: Value,
        values: Vec<Option<KnobValue>>,
        seeds: Range<u64>,
        said: &Said,
    ) -> Result<(Value, u64), Error> {
        let plan = self.plan;
        // What is wrong with the values is wrong before anything is kept of them.
        plan.run_of(&values, self.runner.registry(), machines::sound)?;
        let c = self.place(&id, values);
        let made = self.make(&[c, OWN], seeds.clone(), said)?;
        let (own, known) = (&self.all[OWN], &self.all[c]);
        let figures = known.figures(seeds.clone());
        let column = |all: &[Vec<f64>], m: usize| all.iter().map(|v| v[m]).collect::<Vec<f64>>();
        let of = |m: usize| figures.as_ref().and_then(|all| Estimate::of(column(all, m)));
        let (mut objectives, mut ci95) = (Map::new(), Map::new());
        let (mut constraints, mut kept) = (Map::new(), figures.is_some());
        let mut changes = Map::new();
        let beside = own.figures(seeds.clone()).filter(|_| c != OWN);
        for (m, o) in plan.objectives().iter().enumerate() {
            let (name, e) = (o.wanted.to_string(), of(m));
            let change = figures
                .as_ref()
                .zip(beside.as_ref())
                .and_then(|(all, own)| Change::of(&column(own, m), &column(all, m), o.max));
            objectives.insert(name.clone(), json!(e.map(|e| e.mean)));
            ci95.insert(name.clone(), json!(e.and_then(|e| e.ci95)));
            changes.insert(name, json!(change));
        }
        for (c, m) in plan.constraints().iter().zip(plan.objectives().len()..) {
            let mean = of(m).map(|e| e.mean);
            kept &= mean.is_some_and(|x| c.claim.test.holds(x));
            constraints.insert(c.to_string(), json!(mean));
        }
        let failed: Vec<Value> = seeds
            .filter_map(|seed| Some((seed, known.runs.get(&seed)?.as_ref().err()?)))
            .map(|(seed, f)| {
                json!({
                    "seed": seed, "outcome": f.outcome.name(), "at_ns": f.at_ns,
                    "cause": f.cause, "detail": f.detail,
                })
            })
            .collect();
        let answer = json!({
            "id": id, "objectives": objectives, "ci95": ci95, "change": changes,
            "constraints": constraints, "keeps": kept, "done": figures.is_some(),
            "failed": failed, "runs": made,
        });
        Ok((answer, made))
    }

    /// Answers with the advice on all settings that were run with every seed: their front runs with
    /// the held-out seeds, as far as it has not yet.
    fn advice(&mut self, id: &Value, said: &Said) -> Result<(Value, u64), Error> {
        let plan = self.plan;
        let mut made = self.make(&[OWN], plan.seeds(), said)?;
        let whole = |c: &usize| self.all[*c].figures(plan.seeds());
        let all: Vec<(usize, Vec<f64>)> = (0..self.all.len())
            .filter_map(|c| Some((c, means(&whole(&c)?))))
            .map(|(c, mut means)| {
                turn(plan, &mut means);
                (c, means)
            })
            .collect();
        let point = |(_, means): &(usize, Vec<f64>)| Point {
            values: means[..plan.objectives().len()].to_vec(),
            violation: plan.violation(means),
        };
        let points: Vec<Point> = all.iter().map(point).collect();
        let best = all.iter().zip(pareto::ranks(&points)).zip(&points);
        let best = best.filter(|((_, rank), point)| *rank == 0 && point.violation == 0.0);
        let mut front: Vec<(usize, Vec<f64>)> = best.map(|((one, _), _)| one.clone()).collect();
        front.sort_by(|a, b| a.1[0].total_cmp(&b.1[0]));

        let mut shown: Vec<usize> = front.iter().map(|f| f.0).collect();
        shown.push(OWN);
        made += self.make(&shown, plan.held_out(), said)?;
        let measured = |c: usize| {
            let search = self.all[c].figures(plan.seeds())?;
            Some(Measured { search, held_out: self.all[c].figures(plan.held_out()) })
        };
        let of_front: Vec<Measured> = front.iter().filter_map(|f| measured(f.0)).collect();
        let front_means: Vec<Vec<f64>> = front.iter().map(|f| f.1.clone()).collect();
        let distances = advice::distances(&front_means, plan.objectives().len());
        let (mut offered, mut rows) = (Vec::new(), Vec::new());
        for (place, (c, _)) in front.iter().enumerate() {
            let known = &self.all[*c];
            let labels = self.labels(&known.values);
            let named = || plan.knobs().iter().zip(&labels);
            let named = || named().filter_map(|(k, label)| Some((k, label.as_deref()?)));
            let knobs: Pairs<String> =
                named().map(|(k, label)| (k.path().to_string(), label.to_string())).collect();
            rows.push(json!({ "id": known.id, "own": *c == OWN, "knobs": knobs }));
            if *c != OWN {
                let registry = self.runner.registry();
                let spec = plan.run_of(&known.values, registry, machines::sound)?;
                offered.push(Offered {
                    place,
                    measured: &of_front[place],
                    distance: distances[place],
                    knobs,
                    writes: writes::of(named(), &spec),
                });
            }
        }
        let advice = advice::decide(plan, measured(OWN).as_ref(), offered);
        Ok((json!({ "id": id, "advice": advice, "front": rows, "runs": made }), made))
    }
}
