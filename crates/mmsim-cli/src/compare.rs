//! `mmsim compare`.

use mmsim::report::acts::First;
use mmsim::report::compare::{self, Acts, Compared, Comparison, Moved, Row, Setting, Side};
use mmsim::report::numbers::{grouped, grouped_row, per_cent};
use mmsim::why::{Class, Counted};

use crate::args::CompareArgs;
use crate::{input, table};
use mmsim_terminal::exit::{Ending, Failure};

/// Prints what moved between two reports. With `--fail-above` that can be a check that does
/// not hold; otherwise it is a result, whatever it is.
pub(crate) fn compare(args: &CompareArgs) -> Result<Ending, Failure> {
    args.output.ready(&[&args.a, &args.b])?;
    let ((name_a, a), (name_b, b)) = (input::report(&args.a)?, input::report(&args.b)?);
    let mut options = compare::Options::default();
    (options.phase, options.per_work) = (args.phase.as_deref(), args.per_work);
    let comparison = compare::compare(Side::new(&name_a, &a), Side::new(&name_b, &b), options)?;
    args.output.emit(
        || text(&comparison, if args.all { usize::MAX } else { args.top }, args.all),
        || comparison.to_json(),
        || comparison.to_csv(),
    )?;
    match args.fail_above {
        Some(pct) => check(&comparison, pct),
        None => Ok(Ending::Done),
    }
}

/// Checks that all runs ended as before, and nothing moved by more than `pct` per cent.
fn check(comparison: &Comparison, pct: f64) -> Result<Ending, Failure> {
    if let Some(c) = comparison.ended_otherwise().next() {
        let Compared { outcome_a, outcome_b, .. } = c;
        let how = format!("{outcome_a} in A, {outcome_b} in B");
        return Err(Failure::Check(format!("runs ended otherwise: {how} ({})", c.label())));
    }
    let nothing = |c: &&Compared| c.seeds.is_empty() && !c.identical;
    if let Some(c) = comparison.comparisons.iter().find(nothing) {
        let why = "nothing could be compared, as no pair of runs did all its work";
        return Err(Failure::Check(format!("{why} ({})", c.label())));
    }
    let above = comparison.moved_above(pct);
    let Some((compared, row)) =
        above.iter().copied().max_by(|x, y| x.1.movement().total_cmp(&y.1.movement()))
    else {
        return Ok(Ending::Done);
    };
    let values = if above.len() == 1 { "1 value" } else { &format!("{} values", above.len()) };
    Err(Failure::Check(format!(
        "{values} moved by more than {pct} %, most of all {} by {} ({})",
        name(row),
        per_cent(row.movement()),
        compared.label()
    )))
}

/// Counters need no word before their name.
fn name(row: &Row) -> String {
    match row.kind {
        "vmstat" | "figure" | "run" => row.name.clone(),
        kind => format!("{kind} {}", row.name),
    }
}

fn change(row: &Row) -> String {
    match row.change.map(|c| (c.mean, c.ci95)) {
        None => "from 0".to_string(),
        Some((change, None)) => per_cent(change),
        Some((change, Some(half))) => {
            let cell = format!("{} ±{half:.1}", per_cent(change));
            table::change(cell, &row.name, change, Some(half))
        }
    }
}

fn line(row: &Row) -> Vec<String> {
    let mut line = vec![name(row)];
    line.extend(grouped_row(&[Some(row.a), Some(row.b)]));
    line.push(change(row));
    line
}

fn rows(title: &str, rows: impl Iterator<Item = Vec<String>>) -> String {
    table::grid(Some(&[title, "A", "B", "change"]), rows, 1)
}

/// Settings that differ. Knobs that one of two LRUs alone has say no more than that the LRUs differ,
/// so without `each` they are counted.
fn settings(all: &[Setting], each: bool) -> String {
    if all.is_empty() {
        return table::wrap(
            "All settings are the same. If anything differs, it is a file that a task reads, or \
             the mmsim that ran it.",
            0,
        );
    }
    let knob = |s: &&Setting| s.name.starts_with("reclaim.");
    let of_a = all.iter().filter(knob).filter(|s| s.b == "-").count();
    let of_b = all.iter().filter(knob).filter(|s| s.a == "-").count();
    let counted = !each && of_a > 0 && of_b > 0;
    let alone = |s: &Setting| knob(&s) && (s.a == "-" || s.b == "-");
    let line = |s: &Setting| vec![s.name.clone(), s.a.clone(), s.b.clone()];
    table::left_aligned(
        std::iter::once(vec!["settings that differ".into(), "A".into(), "B".into()])
            .chain(all.iter().filter(|s| !(counted && alone(s))).map(line))
            .chain(counted.then(|| {
                vec!["knobs of one LRU (--all)".into(), of_a.to_string(), of_b.to_string()]
            })),
    )
}

/// The first act of the kernel and of each daemon.
fn acts(c: &Compared) -> String {
    if c.acts.is_empty() {
        return String::new();
    }
    let first = |first: &Option<First>| match first {
        None => "-".to_string(),
        Some(f) => {
            let at = format!("{} at {:.2} s", f.told, f.at_ns as f64 / 1e9);
            if f.acts > 1 { format!("{at}, {} acts", grouped(f.acts as f64)) } else { at }
        }
    };
    let head = ["first acts", "A", "B"].map(str::to_string).to_vec();
    let line = |acts: &Acts| vec![acts.who.clone(), first(&acts.a), first(&acts.b)];
    table::left_aligned(std::iter::once(head).chain(c.acts.iter().map(line)))
}

/// Assumptions of one of two runs alone, a line each.
fn assumed(c: &Compared) -> String {
    let line = |letter: &str, sentence: &String| {
        table::wrap(&format!("Assumed only in {letter}: {sentence}"), 3)
    };
    let of_a = c.assumed_in_a.iter().map(|s| line("A", s));
    of_a.chain(c.assumed_in_b.iter().map(|s| line("B", s))).collect()
}

/// The whole comparison; of each pair of variants the `top` values that moved most, or all
/// values there are.
fn text(c: &Comparison, top: usize, all: bool) -> String {
    let mut out = String::new();
    for (letter, source) in [("A", &c.a), ("B", &c.b)] {
        let what = format!("{}: {}, by mmsim {}", source.name, source.scenario, source.mmsim);
        out += &format!("{letter}  {}", table::wrap(&what, 3));
    }
    if c.across_variants {
        out += "Each has one variant, so runs are paired by axes and seed whatever its name.\n";
    }
    for (letter, source) in [("A", &c.a), ("B", &c.b)] {
        if !source.left_out.is_empty() {
            let n = source.left_out.len();
            let runs = if n == 1 { "1 run".to_string() } else { format!("{n} runs") };
            let first = source.left_out[..n.min(3)].join("; ");
            let more = if n > 3 { "; ..." } else { "" };
            let text = format!("Only in {letter}, and left out: {runs} ({first}{more})");
            out += &table::wrap(&text, 0);
        }
    }
    if let Some(phase) = &c.phase {
        out += &format!("Only phase {phase}.\n");
    }
    if c.per_work {
        out += "Counts are for each 1,000 records (accesses, where there are no records).\n";
    }
    // Mostly all pairs differ in the same: then one table has it for all.
    let shared = c.comparisons.windows(2).all(|w| {
        w[0].settings == w[1].settings
            && w[0].assumed_in_a == w[1].assumed_in_a
            && w[0].assumed_in_b == w[1].assumed_in_b
    });
    if let Some(first) = c.comparisons.first().filter(|_| shared) {
        out += &format!("\n{}{}", settings(&first.settings, all), assumed(first));
    }
    for compared in &c.comparisons {
        out.push('\n');
        out += &table::wrap(&compared.label(), 0);
        if !shared {
            out += &settings(&compared.settings, all);
            out += &assumed(compared);
        }
        out += &one(compared, top, all);
    }
    out
}

/// The change of each counter that has classes, class by class.
fn classes(c: &Compared) -> String {
    let mut out = String::new();
    if let Some(only) = c.classes_only_in {
        let only = only.to_uppercase();
        let text = format!("Only {only} says why pages came back: write both with `run --why`.");
        out += &table::wrap(&text, 0);
    }
    for (kind, title, of) in [
        ("refaults", "why pages came back", None),
        ("failed_allocations", "why blocks were not allocated", Some(Counted::Allocations)),
        ("failed_compactions", "why compaction failed", Some(Counted::Compactions)),
        ("direct_stalls", "direct reclaim", Some(Counted::Stalls)),
    ] {
        let mut of_kind = c.classes.iter().filter(|r| r.kind == kind).peekable();
        if of_kind.peek().is_none() {
            continue;
        }
        let line = |row: &Row| {
            let mut line = vec![class(of, &row.name)];
            line.extend(grouped_row(&[Some(row.a), Some(row.b)]));
            line.push(difference(row));
            line
        };
        out.push('\n');
        out += &table::grid(Some(&[title, "A", "B", "B - A"]), of_kind.map(line), 1);
    }
    out
}

/// A class of a kind in words.
fn class(of: Option<Counted>, key: &str) -> String {
    let words = match of {
        None => Class::ALL.iter().find(|c| c.key() == key).map(|c| c.words()),
        Some(of) => of.classes().into_iter().find(|named| named.0 == key).map(|named| named.1),
    };
    words.unwrap_or(key).to_string()
}

/// Difference, with half the interval where there are several seeds.
fn difference(row: &Row) -> String {
    let sign = if row.difference.mean > 0.0 { "+" } else { "" };
    let more = format!("{sign}{}", grouped(row.difference.mean));
    match row.difference.ci95 {
        None => more,
        Some(half) => format!("{more} ±{}", grouped(half)),
    }
}

fn one(c: &Compared, top: usize, all: bool) -> String {
    let mut out = String::new();
    if c.seeds.len() > 1 {
        let n = c.seeds.len();
        out += &format!(
            "means over {n} seeds; changes are means over pairs of equal seeds ± 95 % confidence\n"
        );
    }
    if c.identical && !all {
        return out + "Nothing moved: all runs ended in the same state.\n";
    }
    if !c.ended_early.is_empty() {
        let seeds: Vec<String> = c.ended_early.iter().map(u64::to_string).collect();
        out += &table::wrap(
            &format!("not compared, as a run did not do all its work: seed {}", seeds.join(", ")),
            0,
        );
    }
    out += &acts(c);
    let outcome = ["outcome", &c.outcome_a, &c.outcome_b, ""].map(str::to_string).to_vec();
    out += &rows("", std::iter::once(outcome).chain(c.figures.iter().map(line)));
    out += &classes(c);
    let moved = c.moved().count();
    let shown = if all { c.values.len() } else { moved.min(top) };
    if shown > 0 {
        out.push('\n');
        out += &rows(
            if all { "all values" } else { "moved most" },
            c.values.iter().take(shown).map(line),
        );
    }
    if !all {
        let quiet = [
            (moved - shown, "more moved"),
            (c.count(Moved::WithinNoise), "not beyond their noise"),
            (c.count(Moved::No), "not at all"),
        ];
        let quiet: Vec<String> =
            quiet.iter().filter(|q| q.0 > 0).map(|(n, what)| format!("{n} {what}")).collect();
        if !quiet.is_empty() {
            out += &format!("and of the other values {}; --all shows them\n", quiet.join(", "));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{self, golden};
    use mmsim::report::compare::{Options, Side, compare};
    use mmsim::report::{Ending as RunEnding, KnobValue, Report};

    /// A report of the variant at this place of the samples.
    fn report(names: &[&str], name: &str, seeds: &[u64]) -> Report {
        let mut report = samples::report(names, seeds);
        report.runs.retain(|r| r.variant == name);
        report
    }

    fn with(a: &Report, b: &Report) -> Comparison {
        compare(Side::new("a.json", a), Side::new("b.json", b), Options::default()).unwrap()
    }

    #[test]
    fn one_seed_under_two_names() {
        let a = report(&["v5.5", "v5.9"], "v5.5", &[1]);
        let mut b = report(&["v5.5", "v5.9"], "v5.9", &[1]);
        b.runs[0].kernel = "5.9".into();
        b.runs[0].policy = "classic-v5.9".into();
        b.runs[0].knobs.set("reclaim.anon-start", KnobValue::from("inactive"));
        golden("compare_one_seed", &text(&with(&a, &b), 20, false));
    }

    /// Knobs of another LRU are counted, one that both have is shown, and `--all` has each.
    #[test]
    fn two_lrus() {
        let mut a = report(&["v5.5"], "v5.5", &[1]);
        let mut b = a.clone();
        for name in ["reclaim.anon-start", "reclaim.ws-split"] {
            a.runs[0].knobs.set(name, KnobValue::from("no"));
        }
        b.runs[0].knobs.set("reclaim.walk-mmu", KnobValue::from("yes"));
        for (run, place) in [(&mut a, "classic"), (&mut b, "base")] {
            run.runs[0].knobs.set("reclaim.lazyfree", KnobValue::from(place));
        }
        let counted = text(&with(&a, &b), 20, false);
        let line = counted.lines().find(|l| l.starts_with("knobs of one LRU"));
        let cells: Vec<&str> = line.expect("a line").split_whitespace().collect();
        assert_eq!(cells[5..], ["2", "1"]);
        assert!(counted.contains("reclaim.lazyfree") && !counted.contains("walk-mmu"), "{counted}");
        let each = text(&with(&a, &b), 20, true);
        assert!(each.contains("reclaim.walk-mmu") && !each.contains("knobs of one LRU"), "{each}");
    }

    #[test]
    fn several_seeds_and_what_is_left_out() {
        let names = ["v5.5", "protection"];
        let a = samples::report(&names, &[1, 2, 3]);
        let mut b = samples::report(&["v5.5", "other"], &[1, 2, 3, 4]);
        for (i, run) in b.runs.iter_mut().enumerate() {
            let swap_ins = run.vmstat.get("pswpin").copied().unwrap_or_default();
            run.vmstat.set("pswpin", swap_ins - 100_000 - 1000 * i as u64);
            run.vmstat.set("pgdeactivate", if i % 2 == 0 { 390_000 } else { 410_000 });
        }
        golden("compare_several_seeds", &text(&with(&a, &b), 1, false));
    }

    #[test]
    fn traces_that_were_made_otherwise() {
        let mut a = report(&["v5.5"], "v5.5", &[1]);
        let mut b = a.clone();
        let both = "io: all pages are anonymous memory".to_string();
        a.runs[0].assumed = vec![both.clone(), "io: no times, so none pass".into()];
        b.runs[0].assumed = vec![
            both,
            "io: times are arrivals, in units of 1000 ns since the first record; a thread that \
             is late does not wait for the next"
                .into(),
        ];
        golden("compare_assumed", &text(&with(&a, &b), 20, false));
    }

    #[test]
    fn nothing_moved() {
        let a = samples::report(&["v5.5"], &[1]);
        golden("compare_nothing", &text(&with(&a, &a), 20, false));
        let all = text(&with(&a, &a), usize::MAX, true);
        assert!(all.contains("pswpin") && all.contains("gauge nr_free_pages"), "{all}");
    }

    /// A run that died is not compared; its death is a check that does not hold.
    #[test]
    fn a_run_that_died() {
        let a = samples::report(&["v5.5", "v5.9"], &[1, 2, 3]);
        let mut b = a.clone();
        let swap_ins = b.runs[0].vmstat.get("pswpin").copied().unwrap_or_default();
        b.runs[0].vmstat.set("pswpin", swap_ins / 2);
        b.runs[1].outcome = RunEnding::OutOfMemory;
        for run in &mut b.runs[3..] {
            run.outcome = RunEnding::OutOfMemory;
            run.digest = "0".into();
        }
        let c = with(&a, &b);
        golden("compare_died", &text(&c, 1, false));
        assert_eq!(
            check(&c, 1000.0),
            Err(Failure::Check(
                "runs ended otherwise: completed in A, 1 of 3 out of memory in B (v5.5)".into()
            ))
        );
        let mut a = a;
        a.runs.iter_mut().for_each(|run| run.outcome = RunEnding::OutOfMemory);
        b.runs.iter_mut().for_each(|run| run.outcome = RunEnding::OutOfMemory);
        let nothing = "nothing could be compared, as no pair of runs did all its work (v5.5)";
        assert_eq!(check(&with(&a, &b), 1000.0), Err(Failure::Check(nothing.into())));
    }

    #[test]
    fn a_check_names_what_moved_most() {
        let a = report(&["v5.5", "v5.9"], "v5.5", &[1]);
        let b = report(&["v5.5", "v5.9"], "v5.9", &[1]);
        let c = with(&a, &b);
        assert_eq!(check(&c, 1000.0), Ok(Ending::Done));
        // 400,100 / 40,100 and twice 1,501,100 / 751,100, with 100 added.
        assert_eq!(
            check(&c, 100.0),
            Err(Failure::Check(
                "1 value moved by more than 100 %, most of all pgdeactivate by +897.8 % \
                 (v5.5 (A) and v5.9 (B))"
                    .into()
            ))
        );
    }
}
