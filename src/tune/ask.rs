//! Somebody else searches: settings come in and figures go out, a JSON value on a line each.
//!
//! The first line that goes out says what can be asked: knobs with their values, objectives,
//! constraints, seeds. Then each line that comes in is a setting, and is answered by one line before
//! the next is read:
//!
//! ```text
//! {"id": 7, "knobs": {"machine.vm.swappiness": 60}}
//! {"id": 7, "objectives": {"pswpin": 411.5}, ..}
//! ```
//!
//! `seeds` limits a setting to so many first seeds; `held-out: true` takes the held-out ones. A line
//! that makes no sense ends it with an error that names line and column.

use std::io::{self, BufRead, Write};
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::measure::{self, Measure};
use super::search::{own, report_of};
use super::{Takes, TuneOptions, TunePlan};
use crate::error::{Error, ErrorKind};
use crate::files::{DEEPEST_JSON, too_deep};
use crate::machines::{self, Catalogue};
use crate::report::statistics::estimate;
use crate::run::side_by_side;
use crate::scenario::RunSpec;

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
/// The plan cannot be run, a line makes no sense, or nobody reads the answers.
pub fn answer(
    plan: &TunePlan,
    options: &TuneOptions,
    lines: impl BufRead,
    out: &mut impl Write,
) -> Result<u64, AskError> {
    measure::check(plan, &own(plan)?)?;
    let say = |value: &Value, out: &mut dyn Write| -> io::Result<()> {
        writeln!(out, "{value}")?;
        out.flush()
    };
    say(&greeting(plan), out)?;
    let mut runs = 0;
    for (n, line) in lines.lines().enumerate() {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        let said = Said { text: line.as_str().into(), n: n + 1 };
        let asked = asked(plan, &said)?;
        let (answer, made) = answered(plan, options, &asked, &said)?;
        runs += made;
        say(&answer, out)?;
    }
    Ok(runs)
}

/// What can be asked.
fn greeting(plan: &TunePlan) -> Value {
    let knobs: Map<String, Value> = plan
        .knobs()
        .iter()
        .map(|k| {
            let takes = match k.takes() {
                Takes::OneOf(words) => json!({ "choices": words }),
                Takes::Range { from, to, log, whole, unit } => {
                    let number = |x: f64| if whole { json!(x as i64) } else { json!(x) };
                    json!({
                        "low": number(from), "high": number(to), "log": log, "whole": whole,
                        "unit": unit,
                    })
                }
            };
            (k.path().to_string(), takes)
        })
        .collect();
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
        "tune": plan.name(), "knobs": knobs, "objectives": objectives, "constraints": constraints,
        "seeds": seeds, "held-out": held_out,
    })
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

/// A setting that was asked for.
struct Asked {
    id: Value,
    spec: RunSpec,
    seeds: Vec<u64>,
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
    let known = ["id", "knobs", "seeds", "held-out"];
    if let Some(key) = map.keys().find(|k| !known.contains(&k.as_str())) {
        let title = format!("line {}: unknown key `{key}`", said.n);
        return Err(said.wrong(key, title, &format!("known: {}", known.join(", "))));
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
        let near = crate::nearest::nearest(path, &paths);
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
    let spec = plan.run_of(&values, &Catalogue, machines::sound)?;
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
    let id = map.get("id").cloned().unwrap_or(Value::Null);
    Ok(Asked { id, spec, seeds: (all.start..all.start + n).collect() })
}

fn answered(
    plan: &TunePlan,
    options: &TuneOptions,
    asked: &Asked,
    said: &Said,
) -> Result<(Value, u64), Error> {
    let specs: Vec<RunSpec> =
        asked.seeds.iter().map(|&seed| RunSpec { seed, ..asked.spec.clone() }).collect();
    let measures = measure::all(plan);
    let made = side_by_side(&specs, options.jobs, |_, spec| {
        let report = report_of(spec, options.check)?;
        let figures: Option<Vec<f64>> = match report.outcome.is_whole() {
            true => measures.iter().map(|m: &Measure| m.value(&report)).collect(),
            false => None,
        };
        Ok::<_, Error>(figures)
    });
    let made = made.map_err(|e| match e.position() {
        None => said.wrong("knobs", format!("line {}: {}", said.n, e.title()), "other values"),
        Some(_) => e,
    })?;
    let whole: Vec<&Vec<f64>> = made.iter().flatten().collect();
    let done = whole.len() == made.len();
    let of = |m: usize| estimate(&whole.iter().map(|v| v[m]).collect::<Vec<_>>());
    let (mut objectives, mut ci95) = (Map::new(), Map::new());
    let (mut constraints, mut kept) = (Map::new(), done);
    for (m, o) in plan.objectives().iter().enumerate() {
        let e = of(m).filter(|_| done);
        objectives.insert(o.wanted.to_string(), json!(e.map(|e| e.mean)));
        ci95.insert(o.wanted.to_string(), json!(e.and_then(|e| e.ci95)));
    }
    for (c, m) in plan.constraints().iter().zip(plan.objectives().len()..) {
        let mean = of(m).filter(|_| done).map(|e| e.mean);
        kept &= mean.is_some_and(|x| {
            c.above.is_none_or(|bound| x > bound) && c.below.is_none_or(|bound| x < bound)
        });
        constraints.insert(c.to_string(), json!(mean));
    }
    let answer = json!({
        "id": asked.id, "objectives": objectives, "ci95": ci95, "constraints": constraints,
        "keeps": kept, "done": done, "runs": made.len(),
    });
    Ok((answer, made.len() as u64))
}
