//! `mmsim ablate`.

use mmsim::ablate::{Ablation, Depth, Effect, Noise, PairEffect, SwitchEffect, Trial, Wanted};
use mmsim::config::Kernel;
use mmsim::report::derived::Figure;
use mmsim::report::numbers::grouped;
use mmsim::scenario::RunSpec;
use mmsim::selection::variants_of;
use mmsim::{Error, RunError, Runner};

use crate::args::AblateArgs;
use crate::document::document;
use crate::plan::{Overrides, Plan};
use crate::runner::{Heard, options, store};
use crate::table;
use mmsim_terminal::exit::{Ending, Failure};

/// Prints which switch does what.
pub(crate) fn ablate(args: &AblateArgs) -> Result<Ending, Failure> {
    args.output.ready(&[&args.scenario])?;
    let (name, trials) = trials(args)?;
    let nr_runs = trials.iter().map(|t| t.runs().len()).sum();
    let heard = Heard::of("runs", nr_runs);
    let runner = Runner::watched(&options(args.jobs, false), &heard);
    let runner = runner.with_store(store("ablate", &name, args.store.as_deref())?);
    let figure = args.figure.unwrap_or(Figure::SwapIns);
    let of_trial = |trial: &Trial| trial.run(figure, &runner);
    let all: Result<Vec<Ablation>, RunError> = trials.iter().map(of_trial).collect();
    drop(runner);
    drop(heard);
    let all = all?;
    args.output.emit(
        || all.iter().map(of_setting).collect::<Vec<_>>().join("\n"),
        || format!("{:#}\n", document("ablations", &all)),
        || mmsim::ablate::cells(&all).to_csv(),
    )?;
    Ok(Ending::Done)
}

/// The name of the scenario, and a trial for each setting of its axes.
fn trials(args: &AblateArgs) -> Result<(String, Vec<Trial>), Failure> {
    let variants: Vec<String> = args.variant.iter().cloned().collect();
    let overrides = Overrides {
        sets: &args.sets,
        seed: args.seed,
        seeds: args.seeds,
        variants: &variants,
        at: &args.at,
        policies: &[],
    };
    let plan = Plan::read(&args.scenario, &overrides)?;
    let names = variants_of(&plan.specs);
    let of = |name: &str| plan.specs.iter().filter(|s| s.variant == name).collect::<Vec<_>>();
    let first = of(names[0]);
    let alike = |a: &RunSpec, b: &RunSpec| {
        (&a.machine, &a.tasks, &a.compaction, &a.damon, args.from.is_some() || a.policy == b.policy)
            == (&b.machine, &b.tasks, &b.compaction, &b.damon, true)
            && (&a.daemons, &a.choosers) == (&b.daemons, &b.choosers)
    };
    let all_alike = names.iter().all(|name| {
        let of = of(name);
        of.len() == first.len() && of.iter().zip(&first).all(|(a, b)| alike(a, b))
    });
    if !all_alike {
        let what = if args.from.is_some() { "machine or work" } else { "policy" };
        let title = format!("{}: its variants differ in {what}", args.scenario.display());
        let help = format!("write --variant NAME: {}", names.join(", "));
        return Err(Failure::Input(Error::plain(title).help(help)));
    }
    let own_kernel = first.first().map_or(Kernel::LAST, |run| run.machine.kernel);
    let wanted = match (&args.to, &args.stage, args.to_kernel) {
        (Some(name), ..) => Wanted::To(name),
        (_, Some(name), _) => Wanted::Stage(name),
        (.., Some(to)) => Wanted::Kernels(args.from_kernel.unwrap_or(own_kernel), to),
        (None, None, None) => Wanted::Switches(&args.switches),
    };
    let mut settings: Vec<Vec<RunSpec>> = Vec::new();
    for spec in first {
        match settings.iter_mut().find(|s| s[0].axes == spec.axes) {
            Some(seeds) => seeds.push(spec.clone()),
            None => settings.push(vec![spec.clone()]),
        }
    }
    let depth = match args.orders {
        _ if args.all_sets => Depth::AllSets,
        Some(n) => Depth::Orders(n),
        None => Depth::Usual,
    };
    let trial = |seeds| {
        let trial = Trial::new(&plan.scenario, seeds, args.from.as_deref(), wanted, depth)?;
        Ok(trial.anyway(args.anyway))
    };
    let trials = settings.into_iter().map(trial).collect::<Result<_, Error>>()?;
    Ok((plan.name, trials))
}

/// A mean with its interval; signed if it is a change.
fn shown(effect: &Effect, signed: bool) -> String {
    let effect = effect.estimate;
    let sign = if signed && effect.mean > 0.0 { "+" } else { "" };
    // What rounding leaves of equal values is nothing.
    let whole = |x: f64| if (x - x.round()).abs() < 0.005 { x.round() } else { x };
    let interval = effect.ci95.map_or(String::new(), |half| format!(" ±{}", grouped(whole(half))));
    format!("{sign}{}{interval}", grouped(whole(effect.mean)))
}

/// The part of the difference, where there is one to speak of.
fn part(a: &Ablation, effect: &Effect) -> String {
    let whole = a.difference.estimate;
    match whole.differs_from_zero() {
        // Adding 0 takes the sign off a zero.
        true => format!("{:.0} %", (effect.estimate.mean / whole.mean * 100.0).round() + 0.0),
        false => "-".to_string(),
    }
}

fn of_setting(a: &Ablation) -> String {
    let axes: String = a.axes.iter().map(|(k, v)| format!(", {k} = {v}")).collect();
    let seeds = match a.seeds.len() {
        1 => format!("seed {}", a.seeds[0]),
        n => format!("means over {n} seeds ± 95 % confidence"),
    };
    let mut out = table::wrap(&format!("{}{axes}: {seeds}", a.figure), 0);
    let mut ends = vec![("all off", &a.off, false), ("all on", &a.on, false)];
    ends.extend(a.noise.map(|_| ("difference", &a.difference, true)));
    let lines = ends.iter().map(|(name, e, signed)| vec![name.to_string(), shown(e, *signed)]);
    out += &table::grid(None, lines, 1);
    out.push('\n');
    if let Some(noise) = a.noise {
        return out + &table::wrap(&not_taken_apart(a, noise), 0);
    }
    let header = ["switch", &a.base, "to", "alone", "share", "of it"];
    let mut lines: Vec<Vec<String>> = Vec::new();
    for s in a.switches.iter().filter(|s| !s.does_nothing) {
        lines.extend(of_switch(a, s));
    }
    let whole = shown(&a.difference, true);
    let of_it = part(a, &a.difference);
    lines.push(vec!["all".into(), String::new(), String::new(), String::new(), whole, of_it]);
    out += &table::grid(Some(&header), lines, 3);
    let idle: Vec<&str> =
        a.switches.iter().filter(|s| s.does_nothing).map(|s| s.switch.name.as_str()).collect();
    if !idle.is_empty() {
        out += &table::wrap(
            &format!("Does nothing, in any set that was run: {}.", idle.join(", ")),
            0,
        );
    }
    out += &table::wrap(&sums(a), 0);
    out + &of_pairs(a)
}

/// Reason why nothing was taken apart, and what would help.
fn not_taken_apart(a: &Ablation, noise: Noise) -> String {
    let (why, enough) = match noise.enough_seeds {
        _ if a.difference.of_seeds.iter().all(|d| *d == 0.0) => (
            "With every seed the figure is the same with all switches on as with none".to_string(),
            String::new(),
        ),
        Some(n) => (
            format!("The difference is within the noise of {} seeds", a.seeds.len()),
            format!(" About {n} seeds would tell the ends apart: `--seeds {n}`."),
        ),
        None => (
            format!("The difference is within the noise of {} seeds", a.seeds.len()),
            " Not even 10,000 seeds would tell the ends apart.".to_string(),
        ),
    };
    format!(
        "{why}, so only the ends were run, and none of the {} switches.{enough} `--anyway` takes them \
         apart all the same.",
        noise.switches
    )
}

/// The lines of a switch, one for each knob.
fn of_switch(a: &Ablation, s: &SwitchEffect) -> Vec<Vec<String>> {
    let line = |(nth, k): (usize, &mmsim::ablate::switches::Setting)| {
        let more = nth > 0;
        let name = if more { format!("+ {}", k.knob) } else { k.knob.clone() };
        let values = [&s.alone, &s.share].map(|e| shown(e, true));
        let [alone, share] = if more { Default::default() } else { values };
        let of_it = if more { String::new() } else { part(a, &s.share) };
        vec![name, k.off.clone(), k.on.clone(), alone, share, of_it]
    };
    s.switch.settings.iter().enumerate().map(line).collect()
}

/// Statement of the sums of an ablation.
fn sums(a: &Ablation) -> String {
    let noise = match a.difference.estimate.ci95 {
        Some(_) if !a.difference.estimate.is_proven() => " The difference is within its noise.",
        None => " With one seed there are no intervals: run with `--seeds 5`.",
        _ => "",
    };
    let (runs, k) = (grouped(a.runs as f64), a.switches.len());
    match a.exact {
        true => format!(
            "Shares are Shapley values of all {} sets ({runs} runs); they sum to the difference, \
             seed by seed.{noise}",
            1 << k
        ),
        false => format!(
            "With {k} switches singles, pairs and {} orders of each seed were run ({runs} runs). A \
             share is the mean step of the switch over these orders, an estimate of its Shapley \
             value; shares sum to the difference, seed by seed.{noise}",
            a.orders
        ),
    }
}

/// Pairs that do more or less than their sum, beyond noise; the largest first.
fn of_pairs(a: &Ablation) -> String {
    const SHOWN: usize = 12;
    let told = |p: &&PairEffect| p.together.estimate.differs_from_zero();
    let mut pairs: Vec<&PairEffect> = a.pairs.iter().filter(told).collect();
    if pairs.is_empty() {
        let none = "No two switches do more or less together than their sum, beyond noise.";
        return if a.pairs.is_empty() { String::new() } else { table::wrap(none, 0) };
    }
    let size = |p: &PairEffect| p.together.estimate.mean.abs();
    pairs.sort_by(|x, y| size(y).total_cmp(&size(x)));
    let line = |p: &&PairEffect| {
        vec![p.switches[0].clone(), p.switches[1].clone(), shown(&p.together, true)]
    };
    let header = ["two together", "", "beyond their sum"];
    let mut out = String::from("\n");
    out += &table::grid(Some(&header), pairs.iter().take(SHOWN).map(line), 2);
    if pairs.len() > SHOWN {
        let more = pairs.len() - SHOWN;
        out += &format!("and {more} smaller ones; `--format csv` has all\n");
    }
    out
}
