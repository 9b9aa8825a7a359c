//! `mmsim tune`: thin over the facade's module of that name.

use std::io;
use std::path::Path;

use mmsim::Runner;
use mmsim::report::Pairs;
use mmsim::report::numbers::grouped;
use mmsim::report::statistics::Estimate;
use mmsim::tune::advice::{Advised, Change, Moved};
use mmsim::tune::ask::{self, AskError};
use mmsim::tune::writes::Write;
use mmsim::tune::{Aim, Failed, Mean, Setting, TunePlan, Tuning};

use crate::args::TuneArgs;
use crate::runner::{Heard, options, store};
use crate::table;
use mmsim_terminal::exit::{self, Ending, Failure};
use mmsim_terminal::shell;

/// Searches and prints the front, or answers what others ask.
pub(crate) fn tune(args: &TuneArgs) -> Result<Ending, Failure> {
    args.output.ready(&[&args.plan])?;
    let mut plan = TunePlan::from_path(&args.plan)?;
    let (options, folder) = (options(args.jobs, args.check), args.store.as_deref());
    if args.ask_tell {
        let runner = Runner::new(&options);
        return answer(&plan, &runner.with_store(store("tune", plan.name(), folder)?));
    }
    if let Some(budget) = args.budget {
        plan = plan.with_budget(budget)?;
    }
    let heard = Heard::later("runs");
    let runner = Runner::watched(&options, &heard);
    let runner = runner.with_store(store("tune", plan.name(), folder)?);
    let tuning = mmsim::tune::tune(&plan, &runner);
    drop(runner);
    drop(heard);
    let tuning = tuning?;
    args.output.emit(|| of_tuning(&tuning), || tuning.to_json(), || tuning.cells().to_csv())?;
    Ok(match (tuning.spent.panicked, tuning.front.is_empty()) {
        (1.., _) => Ending::Panicked,
        (0, true) => {
            exit::remark(match (tuning.spent.with_all_seeds, &tuning.own) {
                (0, None) => "no setting did all of its work on all seeds",
                _ => "no setting that was finished keeps all constraints",
            });
            Ending::Missed
        }
        (0, false) => Ending::Done,
    })
}

fn answer(plan: &TunePlan, runner: &Runner<'_>) -> Result<Ending, Failure> {
    match ask::answer(plan, runner, io::stdin().lock(), &mut io::stdout().lock()) {
        Ok(runs) => {
            exit::remark(&format!("{} runs", grouped(runs as f64)));
            Ok(Ending::Done)
        }
        Err(AskError::Input(e)) => Err(e.into()),
        Err(AskError::Io(e)) => Err(Failure::file("write", Path::new("-"), &e)),
    }
}

/// A number that people can read: whole from 100 on, else with some decimals.
fn number(x: f64) -> String {
    match x.abs() {
        size if size >= 100.0 || size == 0.0 => grouped(x.round()),
        size if size >= 1.0 => format!("{x:.2}"),
        _ => format!("{x:.4}"),
    }
}

fn with_interval(e: Estimate) -> String {
    number(e.mean) + &e.ci95.map_or(String::new(), |half| format!(" ±{}", number(half)))
}

/// The last part of a path, where it says enough.
fn short(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

fn of_tuning(t: &Tuning) -> String {
    let mut out = String::new();
    let about = if t.about.is_empty() { String::new() } else { format!(": {}", t.about) };
    out += &table::wrap(&format!("{}{about}", t.name), 0);
    out += &table::wrap(&spent(t), 0);
    out.push('\n');
    out += &front(t);
    out += &judged(t);
    out.push('\n');
    out += &advice(t);
    out.push('\n');
    if !t.failed.is_empty() {
        out += &failed(t);
        out.push('\n');
    }
    out += &hypervolume(t);
    out.push('\n');
    out += &contributions(t);
    out
}

fn spent(t: &Tuning) -> String {
    let s = &t.spent;
    let n = |n: u64| grouped(n as f64);
    let mut text = format!(
        "{} of {}: {} runs of {} settings in {} rounds; {} got one seed, {} all {}",
        t.variant,
        t.scenario,
        n(s.runs),
        n(s.settings),
        n(s.rounds),
        n(s.with_one_seed),
        n(s.with_all_seeds),
        t.seeds.len()
    );
    for (count, words) in [
        (s.beaten, "out of the race by paired seeds"),
        (s.failed, "did not do all work (below)"),
        (s.impossible, "cannot be, and took no run"),
        (s.as_miniatures, "were miniatures only"),
    ] {
        if count > 0 {
            text += &format!("; {} {words}", n(count));
        }
    }
    format!("{text}; {} runs with held-out seeds", n(s.held_out))
}

fn head(aim: &Aim) -> String {
    format!("{} ({})", aim.figure, if aim.max { "max" } else { "min" })
}

fn front(t: &Tuning) -> String {
    let mut header = vec!["".to_string()];
    header.extend(t.knobs.iter().map(|(path, _)| short(path).to_string()));
    for aim in &t.objectives {
        header.extend([head(aim), "change".to_string()]);
    }
    header.extend(t.constraints.iter().map(|c| short(c).to_string()));
    let row = |(name, s): (String, &Setting)| {
        let mut row = vec![name];
        let value = |path: &str| s.knobs.get(path).map_or("as it is", String::as_str).to_string();
        row.extend(t.knobs.iter().map(|(path, _)| value(path)));
        for m in &s.objectives {
            row.push(with_interval(m.search));
            row.push(match (&m.change, s.own) {
                (Some(change), _) => of_change(change),
                (None, true) => String::new(),
                (None, false) => "-".to_string(),
            });
        }
        row.extend(s.constraints.iter().map(|m| with_interval(m.search)));
        row
    };
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    table::grid(Some(&header), t.rows().into_iter().map(row), 1)
}

/// A change in per cent, or in the unit of its figure where the present value is zero.
fn of_change(c: &Change) -> String {
    let half = |half: Option<String>| half.map_or(String::new(), |h| format!(" ±{h}"));
    let plus = if c.difference.mean > 0.0 { "+" } else { "" };
    let Some(percent) = c.percent else {
        return plus.to_string() + &with_interval(c.difference);
    };
    let per_cent = |x: f64| match (percent.mean.abs(), percent.mean == 0.0) {
        (100.0.., _) => grouped(x.round()),
        // Enough digits that a proven change is not printed as zero.
        (..0.1, false) => format!("{x:.3}"),
        _ => format!("{x:.1}"),
    };
    format!("{plus}{} %{}", per_cent(percent.mean), half(percent.ci95.map(per_cent)))
}

/// Meaning of the columns, with the place of the own setting relative to the front, and the verdict
/// of held-out seeds on the front.
fn judged(t: &Tuning) -> String {
    let (mut all, mut held) = (0, 0);
    for holds in t.front.iter().flat_map(|s| &s.objectives).filter_map(|m: &Mean| m.holds) {
        all += 1;
        held += u32::from(holds);
    }
    let seeds = |s: &[u64]| match (s.first(), s.last()) {
        (Some(first), Some(last)) => format!("{first} to {last}"),
        _ => String::new(),
    };
    let mut text = format!(
        "Means over seeds {} ± 95 % confidence. Changes are from `own` on seeds {}, which the search \
         did not use: means over pairs of equal seeds ± 95 % confidence.",
        seeds(&t.seeds),
        seeds(&t.held_out)
    );
    text += match (&t.own, t.front.iter().any(|s| s.own)) {
        (None, _) => " `own` has no figures: a run of it did not do its work.",
        (Some(_), true) => " `own` is in the front.",
        (Some(_), false) => " `own` is not in the front.",
    };
    if all > 0 {
        text += &format!(
            " {held} of {all} means over held-out seeds are within what the others let expect, at \
             95 %."
        );
    }
    let breaks = t.names().into_iter().zip(&t.front).filter(|(_, s)| !s.keeps);
    let breaks: Vec<String> = breaks.map(|(name, _)| name).collect();
    if !breaks.is_empty() {
        text += &format!(" On held-out seeds a constraint is broken by {}.", breaks.join(", "));
    }
    table::wrap(&text, 0)
}

/// Knobs with their values, by short names.
fn values(knobs: &Pairs<String>) -> String {
    let one = |(path, value): (&str, &String)| format!("{} {value}", short(path));
    knobs.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// The decision, a line for each setting that is advised, and what to write for the first.
fn advice(t: &Tuning) -> String {
    let advice = &t.advice;
    let mut out = table::wrap(&format!("Advice: {}. {}", advice.decision.name(), advice.why), 0);
    let Some(first) = advice.settings.first() else { return out };
    let names = t.names();
    for s in &advice.settings {
        let (name, values) = (&names[s.setting], values(&s.knobs));
        out += &table::wrap(&format!("- {name} ({values}): {}", effects(s)), 2);
    }
    out += &format!("Writes for {}:\n", names[first.setting]);
    for write in &first.writes {
        out += &match write {
            Write::File { path, value } => {
                format!("echo {} > {}\n", shell::word(value), shell::word(path))
            }
            Write::Damo { arguments } => format!("damo start {arguments}\n"),
            Write::Nothing { knob, why } => format!("# {knob}: {why}\n"),
        };
    }
    out
}

/// Effects of a setting, better and worse, and those that are not proven.
fn effects(s: &Advised) -> String {
    let list = |words: &str, all: &[Moved]| {
        let one = |m: &Moved| format!("{} ({})", m.figure, of_change(&m.change));
        let all: Vec<String> = all.iter().map(one).collect();
        (!all.is_empty()).then(|| format!("{words} {}", all.join(", ")))
    };
    let parts = [
        list("better in", &s.better),
        list("worse in", &s.worse),
        list("no change proven in", &s.unproven),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "it does all of its work".to_string() } else { parts.join("; ") }
}

/// Settings that are named before the rest is counted.
const MOST_FAILED: usize = 12;

/// Settings that killed a process or did not finish: a line for each cause, then the settings.
fn failed(t: &Tuning) -> String {
    let mut out = table::wrap("Settings that did not do all of their work:", 0);
    let mut causes: Vec<(&str, &str)> = Vec::new();
    for f in &t.failed {
        let cause = (f.outcome.as_str(), f.cause.as_str());
        if !causes.contains(&cause) {
            causes.push(cause);
        }
    }
    let several = causes.len() > 1;
    for (outcome, cause) in causes {
        let same = |f: &&Failed| (f.outcome.as_str(), f.cause.as_str()) == (outcome, cause);
        let n = t.failed.iter().filter(same).count();
        let outcome = if outcome == "completed" { "no figure" } else { outcome };
        out += &table::wrap(&format!("- {} {outcome}: {cause}", grouped(n as f64)), 2);
    }
    let mut header = vec![""];
    header.extend(t.knobs.iter().map(|(path, _)| short(path)));
    header.extend(["seed", "after"]);
    // Where all have one cause, it stands above.
    if several {
        header.push("cause");
    }
    let row = |f: &Failed| {
        let mut row = vec![if f.own { "own".to_string() } else { String::new() }];
        let value = |path: &str| f.knobs.get(path).map_or("as it is", String::as_str).to_string();
        row.extend(t.knobs.iter().map(|(path, _)| value(path)));
        let after = f.at_ns.map_or("-".to_string(), |at| format!("{:.3} s", at as f64 / 1e9));
        row.extend([f.seed.to_string(), after]);
        if several {
            row.push(f.cause.clone());
        }
        row
    };
    // The own setting is named in any case.
    let (own, others): (Vec<&Failed>, Vec<&Failed>) = t.failed.iter().partition(|f| f.own);
    let shown = own.into_iter().chain(others);
    out += &table::grid(Some(&header), shown.take(MOST_FAILED).map(row), 1);
    if t.failed.len() > MOST_FAILED {
        let more = grouped((t.failed.len() - MOST_FAILED) as f64);
        out += &table::wrap(&format!("{more} more are in --format json."), 0);
    }
    out
}

fn hypervolume(t: &Tuning) -> String {
    let h = &t.hypervolume;
    let point: Vec<String> =
        t.objectives.iter().map(|a| format!("{} {}", a.figure, number(a.reference))).collect();
    let text = format!(
        "Hypervolume up to {}: {} of the means, {} by seed; {} and {} on held-out seeds; {} of the \
         scenario's own setting.",
        point.join(", "),
        number(h.of_means),
        with_interval(h.search),
        number(h.held_out_of_means),
        with_interval(h.held_out),
        number(h.own)
    );
    table::wrap(&text, 0)
}

fn contributions(t: &Tuning) -> String {
    let mut header = vec!["knob".to_string(), "range".to_string()];
    header.extend(t.objectives.iter().map(|a| a.figure.clone()));
    let row = |(path, range): (&str, &String)| {
        let mut row = vec![path.to_string(), range.clone()];
        let own = t.contributions.iter().filter(|c| c.knob == path);
        row.extend(own.map(|c| {
            let way = c.correlation.map_or(String::new(), |r| format!(", {r:+.2}"));
            format!("{:.0} %{way}", c.share * 100.0)
        }));
        row
    };
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let mut out = table::grid(Some(&header), t.knobs.iter().map(row), 2);
    out += &table::wrap(
        "Share of the variance of ranks between groups of a knob's values, and its rank correlation, \
         over all settings that were tried. The search tries good settings more often than others.",
        0,
    );
    out
}
