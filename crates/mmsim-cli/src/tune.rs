//! `mmsim tune`: thin over the facade's module of that name.

use std::io;
use std::path::Path;

use mmsim::Runner;
use mmsim::report::numbers::grouped;
use mmsim::report::statistics::Estimate;
use mmsim::report::{Pairs, nearness};
use mmsim::tune::advice::{Advised, Change, Moved};
use mmsim::tune::ask::{self, AskError};
use mmsim::tune::length;
use mmsim::tune::writes::Write;
use mmsim::tune::{Aim, Failed, Mean, TunePlan, Tuning};

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
    let text = || of_tuning(&plan, &tuning, args.verbose);
    args.output.emit(text, || tuning.to_json(), || tuning.cells().to_csv())?;
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

/// The last part of a path, where it says enough; with the name of the entry whose key it is, as in
/// `work/web.low` for `machine.memcg[work/web].low`.
fn short(path: &str) -> String {
    if let Some((entry, key)) = path.rsplit_once("].")
        && let Some((_, name)) = entry.rsplit_once('[')
        && name.parse::<u32>().is_err()
    {
        return format!("{name}.{key}");
    }
    path.rsplit('.').next().unwrap_or(path).to_string()
}

fn of_tuning(plan: &TunePlan, t: &Tuning, verbose: bool) -> String {
    let mut out = String::new();
    let about = if t.about.is_empty() { String::new() } else { format!(": {}", t.about) };
    out += &table::wrap(&format!("{}{about}", t.name), 0);
    out += &table::wrap(&spent(t), 0);
    out.push('\n');
    out += &advice(t);
    out += &not_judged(plan, t);
    out.push('\n');
    out += &front(t);
    out += &legend(t);
    if !t.failed.is_empty() {
        out.push('\n');
        out += &failed(t);
    }
    let figures = plan.objectives().iter().map(|o| &o.wanted.of);
    out += &table::near(&[nearness::of_figures(&t.kernel, &t.policy, figures)]);
    out.push('\n');
    if verbose {
        out += &held(t);
        out += &hypervolume(t);
        out.push('\n');
        out += &contributions(t);
    } else {
        out += &table::wrap("-v adds the hypervolume and what each knob contributes.", 0);
    }
    out
}

/// Knobs that are times which a run of this length is too short for.
fn not_judged(plan: &TunePlan, t: &Tuning) -> String {
    let time = |ns: f64| match ns < 1e9 {
        true => format!("{:.0} ms", ns / 1e6),
        false => format!("{:.1} s", ns / 1e9),
    };
    let line = |(path, longest): (&str, f64)| {
        let text = format!(
            "{}: a run of {} of simulated time cannot judge values above {}, and the range ends at {}: \
             make the work longer, or the range shorter.",
            short(path),
            time(t.run_ns as f64),
            time(t.run_ns as f64 / length::TIMES),
            time(longest)
        );
        table::wrap(&text, 2)
    };
    length::too_long(plan.knobs(), t.run_ns).into_iter().map(line).collect()
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

/// Columns that the words of a header may take before it goes on below.
const HEADER: usize = 12;

/// A header in lines, broken behind hyphens, underscores, dots and blanks.
fn folded(header: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for part in header.split_inclusive(['_', '-', '.', ' ']) {
        let last = lines.last_mut().expect("there is one");
        if !last.is_empty() && last.len() + part.trim_end().len() > HEADER {
            lines.push(part.to_string());
        } else {
            *last += part;
        }
    }
    lines.into_iter().map(|line| line.trim_end().to_string()).collect()
}

/// Rows below headers of several lines; in two tables where one would be too wide.
fn columns(header: &[String], rows: &[Vec<String>], knobs: usize) -> String {
    let lines: Vec<Vec<String>> = header.iter().map(|h| folded(h)).collect();
    let most = lines.iter().map(Vec::len).max().unwrap_or(0);
    let line = |n: usize| -> Vec<String> {
        let of = |l: &Vec<String>| (n + l.len()).checked_sub(most).and_then(|i| l.get(i).cloned());
        lines.iter().map(|l| of(l).unwrap_or_default()).collect()
    };
    let all: Vec<Vec<String>> = (0..most).map(line).chain(rows.iter().cloned()).collect();
    let widest = |i: usize| all.iter().map(|row| row[i].chars().count()).max().unwrap_or(0) + 2;
    if (0..header.len()).map(widest).sum::<usize>() <= WIDTH + 2 || knobs + 1 == header.len() {
        return table::grid(None, all, 1);
    }
    let some = |columns: &dyn Fn(usize) -> bool| {
        let cut = |row: &Vec<String>| -> Vec<String> {
            let kept = row.iter().enumerate().filter(|(i, _)| *i == 0 || columns(*i));
            kept.map(|(_, cell)| cell.clone()).collect()
        };
        let rows: Vec<Vec<String>> = all.iter().map(cut).collect();
        let rows = rows.into_iter().filter(|row| row.iter().any(|cell| !cell.is_empty()));
        table::grid(None, rows, 1)
    };
    format!("{}\n{}", some(&|i| i <= knobs), some(&|i| i > knobs))
}

/// Columns of a table that any terminal and any letter has room for.
const WIDTH: usize = 80;

/// The settings: knobs, then figures. Below those of the own setting stand their intervals, below
/// those of others the changes from it.
fn front(t: &Tuning) -> String {
    let mut header = vec![String::new()];
    header.extend(t.knobs.iter().map(|(path, _)| short(path)));
    let goal = |aim: &Aim| if aim.max { "(max)" } else { "(min)" };
    header.extend(t.objectives.iter().map(|aim| format!("{} {}", aim.figure, goal(aim))));
    header.extend(t.constraints.iter().map(|c| short(c)));
    let mut rows = Vec::new();
    for (name, s) in t.rows() {
        let (mut row, mut below) = (vec![name], vec![String::new()]);
        let value = |path: &str| s.knobs.get(path).map_or("not known", String::as_str).to_string();
        row.extend(t.knobs.iter().map(|(path, _)| value(path)));
        below.resize(row.len(), String::new());
        for m in s.objectives.iter().chain(&s.constraints) {
            row.push(number(m.search.mean));
            below.push(match (&m.change, s.own) {
                (Some(change), _) => of_change(change),
                (None, true) => m.search.ci95.map_or(String::new(), |h| format!("±{}", number(h))),
                (None, false) => "-".to_string(),
            });
        }
        rows.extend([row, below]);
    }
    columns(&header, &rows, t.knobs.iter().count())
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

/// Meaning of the rows, with the place of the own setting relative to the front.
fn legend(t: &Tuning) -> String {
    let seeds = |s: &[u64]| match (s.first(), s.last()) {
        (Some(first), Some(last)) => format!("{first} to {last}"),
        _ => String::new(),
    };
    let mut text = format!(
        "`own` is the present setting. Means over seeds {}; below `own` their 95 % intervals, below \
         others the changes from it on seeds {}, which the search did not use: means over pairs of \
         equal seeds ± 95 % confidence.",
        seeds(&t.seeds),
        seeds(&t.held_out)
    );
    text += match (&t.own, t.front.iter().any(|s| s.own)) {
        (None, _) => " `own` has no figures: a run of it did not do its work.",
        (Some(_), true) => {
            " `own` is in the front: no other setting is proven better in every objective."
        }
        (Some(_), false) => {
            " `own` is not in the front: another setting is proven better in every objective."
        }
    };
    let breaks = t.names().into_iter().zip(&t.front).filter(|(_, s)| !s.keeps);
    let breaks: Vec<String> = breaks.map(|(name, _)| name).collect();
    if !breaks.is_empty() {
        text += &format!(" On held-out seeds a constraint is broken by {}.", breaks.join(", "));
    }
    table::wrap(&text, 0)
}

/// The verdict of held-out seeds on the means of the front.
fn held(t: &Tuning) -> String {
    let all = t.front.iter().flat_map(|s| &s.objectives);
    let holds: Vec<bool> = all.filter_map(|m: &Mean| m.holds).collect();
    if holds.is_empty() {
        return String::new();
    }
    let text = format!(
        "{} of {} means over held-out seeds are within what the others let expect, at 95 %.",
        holds.iter().filter(|holds| **holds).count(),
        holds.len()
    );
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
    let digits = digits(first);
    let ranged = |value: &str| {
        t.knobs.iter().any(|(path, range)| {
            range.contains(" to ") && first.knobs.get(path).is_some_and(|v| v == value)
        })
    };
    let mut any = false;
    for write in &first.writes {
        out += &match write {
            Write::File { path, value } => {
                let round = rounded(value, digits).filter(|_| ranged(value));
                any |= round.is_some();
                let ran = round.as_ref().map_or(String::new(), |_| format!("  # {value} ran"));
                let value = round.as_ref().unwrap_or(value);
                format!("echo {} > {}{ran}\n", shell::word(value), shell::word(path))
            }
            Write::Damo { arguments } => format!("damo start {arguments}\n"),
            Write::Nothing { knob, why } => format!("# {knob}: {why}\n"),
        };
    }
    if any {
        out += &table::wrap(
            &format!("Values are rounded to {digits} digits: the intervals tell no more apart."),
            0,
        );
    }
    out
}

/// Digits of values that the change of the best proven figure supports: one more than its mean has
/// before the interval begins, from 2 to 4.
fn digits(s: &Advised) -> usize {
    let share = |m: &Moved| Some(m.change.difference.ci95? / m.change.difference.mean.abs());
    let shares = s.better.iter().filter_map(share).filter(|share| share.is_finite());
    match shares.min_by(f64::total_cmp) {
        Some(share) => (2.0 - share.max(1e-9).log10()).floor().clamp(2.0, 4.0) as usize,
        None => 2,
    }
}

/// A whole number with this number of digits that count, if it has more.
fn rounded(value: &str, digits: usize) -> Option<String> {
    let n: u64 = value.parse().ok()?;
    let unit = 10_u64.checked_pow(value.len().checked_sub(digits)? as u32)?;
    let round = (n + unit / 2) / unit * unit;
    (round != n).then(|| round.to_string())
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
        let of = if n == 1 { "setting" } else { "settings" };
        out += &table::wrap(&format!("- {outcome}, {} {of}: {cause}", grouped(n as f64)), 2);
    }
    let knobs: Vec<String> = t.knobs.iter().map(|(path, _)| short(path)).collect();
    let mut header = vec![""];
    header.extend(knobs.iter().map(String::as_str));
    header.extend(["seed", "after"]);
    // Where all have one cause, it stands above.
    if several {
        header.push("cause");
    }
    let row = |f: &Failed| {
        let mut row = vec![if f.own { "own".to_string() } else { String::new() }];
        let value = |path: &str| f.knobs.get(path).map_or("not known", String::as_str).to_string();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_digits_that_count() {
        let of = |value, digits| rounded(value, digits);
        assert_eq!(of("191111896", 3).as_deref(), Some("191000000"));
        assert_eq!(of("146", 2).as_deref(), Some("150"));
        assert_eq!(of("996", 2).as_deref(), Some("1000"));
        // Few digits stay as they are, and so does what is no whole number.
        assert_eq!(
            (of("60", 2), of("150", 2), of("4MiB", 2), of("-1", 2)),
            (None, None, None, None)
        );
    }

    #[test]
    fn knobs_of_two_groups_have_two_names() {
        let of = ["machine.vm.swappiness", "machine.memcg[work/web].low", "task[0].memory"];
        assert_eq!(of.map(short), ["swappiness", "work/web.low", "memory"]);
        assert_eq!(short("machine.memcg[kubepods.slice].max"), "kubepods.slice.max");
    }

    #[test]
    fn headers_go_on_below() {
        assert_eq!(folded("watermark_scale_factor"), ["watermark_", "scale_factor"]);
        assert_eq!(folded("memory-pressure (min)"), ["memory-", "pressure", "(min)"]);
        assert_eq!(folded("swappiness"), ["swappiness"]);
    }

    /// One table if it fits into 80 columns, else one of knobs and one of figures.
    #[test]
    fn tables_fit() {
        let row = |n: usize| -> Vec<String> { (0..n).map(|i| format!("{i:>11}")).collect() };
        let header = |n: usize| vec!["swappiness".to_string(); n];
        let wide = |text: &str| text.lines().map(|l| l.chars().count()).max();
        let one = columns(&header(6), &[row(6)], 2);
        assert!(wide(&one) <= Some(WIDTH) && !one.contains("\n\n"), "{one}");
        let two = columns(&header(9), &[row(9)], 3);
        assert!(wide(&two) <= Some(WIDTH) && two.contains("\n\n"), "{two}");
    }
}
