//! `mmsim tune`: thin over the facade's module of that name.

use std::io;
use std::path::Path;
use std::sync::OnceLock;

use mmsim::report::csv_field;
use mmsim::report::numbers::grouped;
use mmsim::tune::ask::{self, AskError};
use mmsim::tune::writes::Write;
use mmsim::tune::{Aim, Mean, Setting, TuneOptions, TunePlan, Tuning, Watcher};

use crate::args::{Format, TuneArgs};
use crate::backend::{self, input};
use crate::exit::{self, Ending, Failure};
use crate::progress::Progress;
use crate::{output, table};

/// Searches and prints the front, or answers what others ask.
pub(crate) fn tune(args: &TuneArgs) -> Result<Ending, Failure> {
    let file = args.output.output.as_deref();
    output::distinct(&[&args.plan], &[("--output", file)])?;
    output::check(file)?;
    let mut plan = TunePlan::from_path(&args.plan).map_err(input)?;
    let mut options = TuneOptions::default();
    (options.jobs, options.check) = (args.jobs, args.check);
    if args.ask_tell {
        return answer(&plan, &options);
    }
    if let Some(budget) = args.budget {
        plan = plan.with_budget(budget).map_err(input)?;
    }
    let heard = Heard(OnceLock::new());
    let tuning = mmsim::tune::tune(&plan, &options, &heard);
    drop(heard);
    let tuning = tuning.map_err(input)?;
    let text = match args.output.form() {
        Format::Json => format!("{:#}\n", backend::document("tuning", &tuning)),
        Format::Csv => rows(&tuning),
        Format::Table => of_tuning(&tuning),
    };
    args.output.show(&text)?;
    Ok(match (tuning.spent.panicked, tuning.front.is_empty()) {
        (1.., _) => Ending::Panicked,
        (0, true) => {
            exit::remark(match tuning.spent.with_all_seeds {
                0 => "no setting did all of its work on all seeds",
                _ => "no setting that was finished keeps all constraints",
            });
            Ending::Missed
        }
        (0, false) => Ending::Done,
    })
}

fn answer(plan: &TunePlan, options: &TuneOptions) -> Result<Ending, Failure> {
    match ask::answer(plan, options, io::stdin().lock(), &mut io::stdout().lock()) {
        Ok(runs) => {
            exit::remark(&format!("{} runs", grouped(runs as f64)));
            Ok(Ending::Done)
        }
        Err(AskError::Input(e)) => Err(input(e)),
        Err(AskError::Io(e)) => Err(Failure::file("write", Path::new("-"), &e)),
    }
}

/// What is heard of a search.
struct Heard(OnceLock<Progress>);

impl Watcher for Heard {
    fn begins(&self, runs: u64) {
        self.0.get_or_init(|| Progress::new("runs", runs as usize));
    }

    fn finished(&self, label: &str) {
        if let Some(progress) = self.0.get() {
            progress.finished(label);
        }
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

fn with_interval(mean: Option<f64>, ci95: Option<f64>) -> String {
    let half = |half: f64| format!(" ±{}", number(half));
    mean.map_or("-".into(), |m| number(m) + &ci95.map_or(String::new(), half))
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
    out += &hypervolume(t);
    out.push('\n');
    out += &contributions(t);
    if let Some(nth) = t.balanced {
        out.push('\n');
        out += &writes(t, nth);
    }
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
        (s.failed, "did not do all work"),
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
        header.extend([head(aim), "held out".to_string()]);
    }
    header.extend(t.constraints.iter().map(|c| short(c).to_string()));
    let row = |name: String, s: &Setting| {
        let mut row = vec![name];
        let value = |path: &str| s.knobs.get(path).map_or("as it is", String::as_str).to_string();
        row.extend(t.knobs.iter().map(|(path, _)| value(path)));
        for m in &s.objectives {
            row.push(with_interval(Some(m.mean), m.ci95));
            row.push(with_interval(m.held_out, None));
        }
        row.extend(s.constraints.iter().map(|m| with_interval(Some(m.mean), m.ci95)));
        row
    };
    let own = t.own.iter().map(|s| row("own".into(), s));
    let rows = t.front.iter().enumerate().map(|(i, s)| row((i + 1).to_string(), s));
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    table::grid(Some(&header), own.chain(rows), 1)
}

/// Whether the front holds on held-out seeds.
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
        "Means over seeds {} ± 95 % confidence, and over held-out seeds {}. {held} of {all} means \
         of held-out seeds are within what the others let expect, at 95 %.",
        seeds(&t.seeds),
        seeds(&t.held_out)
    );
    let breaks: Vec<String> =
        (1..).zip(&t.front).filter(|(_, s)| !s.keeps).map(|(i, _)| i.to_string()).collect();
    if !breaks.is_empty() {
        text += &format!(" On held-out seeds a constraint is broken by {}.", breaks.join(", "));
    }
    table::wrap(&text, 0)
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
        with_interval(Some(h.mean), h.ci95),
        number(h.held_out_of_means),
        with_interval(Some(h.held_out), h.held_out_ci95),
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

/// What to write for a setting of the front.
fn writes(t: &Tuning, nth: usize) -> String {
    let mut out = table::wrap(
        &format!("What to write for {}, the nearest to the best of all objectives:", nth + 1),
        0,
    );
    for write in &t.front[nth].writes {
        out += &match write {
            Write::File { path, value } => format!("echo {value} > {path}\n"),
            Write::Damo { arguments } => format!("damo start {arguments}\n"),
            Write::Nothing { knob, why } => format!("# {knob}: {why}\n"),
        };
    }
    out
}

/// The front as rows.
fn rows(t: &Tuning) -> String {
    let mut heads = vec!["setting".to_string()];
    heads.extend(t.knobs.iter().map(|(path, _)| path.to_string()));
    let figures = t.objectives.iter().map(|a| &a.figure).chain(&t.constraints);
    for figure in figures {
        let parts = ["", " ci95", " held-out", " held-out ci95"];
        heads.extend(parts.map(|part| format!("{figure}{part}")));
    }
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|c| csv_field(c).to_string()).collect();
        cells.join(",") + "\n"
    };
    let mut out = line(&heads);
    let own = t.own.iter().map(|s| ("own".to_string(), s));
    let front = t.front.iter().enumerate().map(|(i, s)| ((i + 1).to_string(), s));
    for (name, setting) in own.chain(front) {
        let mut cells = vec![name];
        let value = |path: &str| setting.knobs.get(path).cloned().unwrap_or_default();
        cells.extend(t.knobs.iter().map(|(path, _)| value(path)));
        for m in setting.objectives.iter().chain(&setting.constraints) {
            let or_nothing = |x: Option<f64>| x.map_or(String::new(), |x| x.to_string());
            cells.push(m.mean.to_string());
            cells.extend([m.ci95, m.held_out, m.held_out_ci95].map(or_nothing));
        }
        out += &line(&cells);
    }
    out
}
