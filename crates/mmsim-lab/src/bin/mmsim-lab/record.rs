//! `mmsim-lab record`.

use mmsim::error::Error;
use mmsim::machines;
use mmsim::report::numbers::{grouped, per_cent};
use mmsim::report::statistics::quantile;
use mmsim::scenario::Scenario;
use mmsim::selection::Selection;
use mmsim_core::config;
use mmsim_lab::record::{Planned, plan};
use mmsim_lab::validate::decisions::{DecisionRow, ROOM, of_files};
use mmsim_lab::validate::document::Validation;
use mmsim_lab::validate::point::{Experiment, Point};
use mmsim_lab::validate::rows::PointRow;
use mmsim_lab::validate::rules::MANY;
use mmsim_lab::validate::{TELLING, replayed};
use mmsim_terminal::exit::{self, Ending, Failure};
use mmsim_terminal::output;
use mmsim_terminal::progress::Progress;

use crate::args::RecordArgs;
use crate::emulator::{self, Kernel};
use crate::table;

/// Records what is not kept, replays it, and prints both sides.
pub(crate) fn record(args: &RecordArgs) -> Result<Ending, Failure> {
    args.output.ready(&[&args.scenario])?;
    let kernel = Kernel::of(&args.kernel)?;
    let known = config::Kernel::ALL.into_iter().find(|k| k.name() == kernel.series);
    let known = known.ok_or_else(|| {
        let names: Vec<&str> = config::Kernel::ALL.iter().map(|k| k.name()).collect();
        Error::unknown_word("--kernel: mmsim does not model Linux", &kernel.series, &names)
    })?;
    let scenario = Scenario::load(&args.scenario, &args.sets)?;
    let name = args.scenario.display().to_string();
    let runs = Selection::new(&args.variants, &args.at).of(machines::specs(&scenario)?, &name)?;
    let plan = plan(&scenario, &runs, known, args.repetitions)?;
    let planned = plan.runs;
    for (variant, why) in plan.left_out {
        exit::remark(&format!("variant `{variant}` is left out: {why}"));
    }
    if args.dry_run {
        let text: String = planned.iter().map(dry).collect();
        output::show(&text, args.output.output.as_deref())?;
        return Ok(Ending::Done);
    }
    let mut found = Vec::new();
    for p in &planned {
        found.push(emulator::kept(&args.keep, p, &kernel)?);
    }
    let missing: Vec<&Planned> =
        planned.iter().zip(&found).filter(|(_, e)| e.is_none()).map(|(p, _)| p).collect();
    if !missing.is_empty() {
        let dir = emulator::ready(&kernel)?;
        let seconds: u64 = missing.iter().map(|p| p.seconds * p.scripts.len() as u64).sum();
        let n: usize = missing.iter().map(|p| p.scripts.len()).sum();
        exit::remark(&format!("{n} recordings take a core at most about {}", time(seconds)));
        for (p, e) in planned.iter().zip(&mut found) {
            if e.is_none() {
                *e = Some(emulator::record(&args.keep, p, &kernel, dir)?);
            }
        }
    }
    let experiments: Vec<Experiment> = found.into_iter().flatten().collect();
    let points = experiments.iter().flat_map(|e| e.points.iter().map(move |p| (e, p)));
    let progress = Progress::new("replays", 0);
    let told = |done, total| progress.show(done, total, "");
    let validation = replayed(points.collect(), args.jobs, &told)?;
    drop(progress);
    let decided = match &args.decisions {
        Some(phase) => Some(decided(args, &planned, &experiments, &kernel, phase)?),
        None => None,
    };
    let for_people = || {
        report(&planned, &experiments, &validation, args.brief) + decided.as_deref().unwrap_or("")
    };
    args.output.emit(for_people, || validation.to_json(), || validation.to_csv())?;
    Ok(Ending::Done)
}

/// Single decisions of each run: how many are as the kernel's, and the first that differs.
fn decided(
    args: &RecordArgs,
    planned: &[Planned],
    experiments: &[Experiment],
    kernel: &Kernel,
    phase: &str,
) -> Result<String, Failure> {
    let mut files = Vec::new();
    for p in planned {
        let snapshots = p.snapshots();
        let phase = match phase {
            "" => snapshots.get(1).or(snapshots.last()).copied().unwrap_or("end"),
            phase if snapshots.contains(&phase) || phase == "end" => phase,
            phase => {
                let names: Vec<&str> = snapshots.iter().copied().chain(["end"]).collect();
                return Err(Error::unknown_word("--decisions: no phase", phase, &names).into());
            }
        };
        if p.in_groups() {
            return Err(Failure::said(format!(
                "--decisions: {} has groups, whose decisions are not distinguished; leave it out",
                p.id
            )));
        }
        files.push(emulator::decisions(&args.keep, p, kernel, phase)?);
    }
    let shown = args.keep.display().to_string();
    let all = of_files(experiments, &shown, &files, args.jobs)?;
    Ok(all.recordings.iter().map(first_other).collect())
}

fn first_other(r: &DecisionRow) -> String {
    let number = |n: u64| grouped(n as f64);
    let told = |first: &Option<String>, none: &str| match first {
        Some(first) => table::wrap(&format!("- The first that differs: {first}\n"), 2),
        None => format!("- {none}\n"),
    };
    let mut out = format!(
        "\n{} {}: single decisions\n{} of {} are as the kernel's, from what the kernel was given.\n",
        r.experiment,
        r.point,
        number(r.alike),
        number(r.decided)
    );
    out += &told(&r.first_other, "None differs.");
    out += &format!(
        "{} of {} calls have results within 10 % or {ROOM} pages of the kernel's.\n",
        number(r.near),
        number(r.calls)
    );
    out + &told(&r.first_parting, "None is farther off.")
}

fn time(seconds: u64) -> String {
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7199 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h", seconds.div_ceil(3600)),
    }
}

/// A run that is not recorded: its scripts, and how long each takes.
fn dry(p: &Planned) -> String {
    let first = &p.scripts[0];
    let mut out = format!(
        "{} {}: {} accesses, {} MiB, at most about {} of a core for each of {} repetitions\n",
        p.scenario,
        p.id,
        grouped(p.accesses as f64),
        p.mem_mib,
        time(p.seconds),
        p.scripts.len()
    );
    p.own.iter().for_each(|own| out += &format!("- {own}\n"));
    first.iter().for_each(|line| out += &format!("  {line}\n"));
    for (nth, script) in p.scripts.iter().enumerate().skip(1) {
        let other = script.iter().zip(first).filter(|(a, b)| a != b).map(|(a, _)| a.as_str());
        out += &format!("  repetition {nth}: {}\n", other.collect::<Vec<_>>().join(", "));
    }
    out
}

/// Every run: recorded and simulated, phase by phase, and how near they are.
fn report(planned: &[Planned], recorded: &[Experiment], v: &Validation, brief: bool) -> String {
    let mut out = String::new();
    for (p, e) in planned.iter().zip(recorded) {
        for point in &e.points {
            out += &of_point(p, point, v, brief);
        }
    }
    out.trim_start().to_string()
}

fn of_point(p: &Planned, point: &Point, v: &Validation, brief: bool) -> String {
    let n = point.repetitions;
    let s = if n == 1 { "" } else { "s" };
    let mut out = format!(
        "\n{} {}: Linux {}, {}, {n} repetition{s}\n",
        p.scenario, p.id, point.kernel, point.lru
    );
    if let Some(not) = v.not_modelled.iter().find(|n| n.point == p.id) {
        return out + &format!("mmsim cannot replay it: {}\n", not.why);
    }
    let telling = |c: &str| TELLING.iter().any(|(_, parts)| parts.contains(&c));
    let of = |r: &&PointRow| r.experiment == p.scenario && r.point == p.id && !r.is_nothing();
    let all: Vec<&PointRow> = v.points.iter().filter(of).collect();
    let shown: Vec<&PointRow> =
        all.iter().copied().filter(|r| !brief || telling(&r.counter)).collect();
    let row = |r: &PointRow| {
        let error = r.rel_error.map_or("-".to_string(), |e| per_cent(e * 100.0));
        let within = match (n, r.inside) {
            (1, _) => "-",
            (_, true) => "yes",
            (_, false) => "no",
        };
        let recorded = [grouped(r.recorded), interval(r.min, r.max)];
        let simulated = [grouped(r.simulated), interval(r.replays[0], r.replays[1])];
        let rest = [error, within.to_string()];
        [format!("  {}", r.counter)]
            .into_iter()
            .chain(recorded)
            .chain(simulated)
            .chain(rest)
            .collect()
    };
    // The name of a phase has a line of its own, so that counters have room for theirs.
    let rows = shown.chunk_by(|a, b| a.phase == b.phase).flat_map(|phase| {
        let name = [phase[0].phase.as_str(), "", "", "", "", "", ""].map(str::to_string).to_vec();
        [name].into_iter().chain(phase.iter().map(|r| row(r)))
    });
    let header = ["counter", "recorded", "from-to", "simulated", "from-to", "error", "within"];
    out += &table::grid(Some(&header), rows, 1);
    out += &table::wrap(&summary(&all, n), 0);
    p.own.iter().for_each(|own| out += &table::wrap(&format!("- {own}\n"), 2));
    out
}

fn interval(least: f64, most: f64) -> String {
    if least == most { "-".to_string() } else { format!("{}-{}", grouped(least), grouped(most)) }
}

/// Number of values within the spread and quantiles of the differences, over all phases.
fn summary(all: &[&PointRow], repetitions: usize) -> String {
    let inside = all.iter().filter(|r| r.inside).count();
    let many = all.iter().filter(|r| r.recorded >= MANY);
    let mut errors: Vec<f64> = many.filter_map(|r| r.rel_error.map(f64::abs)).collect();
    errors.sort_by(f64::total_cmp);
    let share = |q: f64| quantile(&errors, q).map_or("-".into(), |e| format!("{:.1} %", e * 100.0));
    let spread = match repetitions {
        1 => "One repetition has no spread.".to_string(),
        _ => format!("{inside} of {} values lie within the recorded spread.", all.len()),
    };
    format!(
        "{spread} Where the kernel counted {MANY:.0} events or more ({} values), half of the \
         differences are at most {}, and all at most {}.\n",
        errors.len(),
        share(0.5),
        share(1.0)
    )
}
