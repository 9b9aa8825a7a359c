//! `mmsim-lab reproduce`.

use mmsim::report::numbers::grouped;
use mmsim::report::proc::LEGEND;
use mmsim_lab::reproduce::document::{
    Asks, ExperimentReport, FigureRow, KernelScore, Picture, Reproduction, Score, Sensitivity,
};
use mmsim_terminal::exit::{Ending, Failure};
use mmsim_terminal::output;
use mmsim_terminal::progress::Progress;

use crate::args::ReproduceArgs;
use crate::table;

/// Reruns and prints. A figure that is missed is a result and no failure unless `--gate`
/// makes it one.
pub(crate) fn reproduce(args: &ReproduceArgs) -> Result<Ending, Failure> {
    output::check(args.output.output.as_deref())?;
    let progress = Progress::new("runs", 0);
    let reproduction = mmsim_lab::reproduce::reproduce(&args.wanted, &|what, done, total| {
        progress.show(done, total, what);
    })?;
    drop(progress);
    args.output.emit(
        || text(&reproduction, args.brief),
        || reproduction.to_json(),
        || reproduction.to_csv(),
    )?;
    let (failures, (_, of)) = (reproduction.failures(), reproduction.score());
    match args.gate && failures > 0 {
        true => Err(Failure::Check(format!("{failures} of {of} figures are missed"))),
        false => Ok(Ending::Done),
    }
}

/// A figure with as many digits as its size bears.
fn figure(x: f64) -> String {
    match x.abs() {
        a if a >= 1000.0 || x.fract() == 0.0 => grouped(x.round()),
        a if a >= 100.0 => format!("{x:.0}"),
        a if a >= 10.0 => format!("{x:.1}"),
        _ => format!("{x:.2}"),
    }
}

fn verdict(row: &FigureRow) -> &'static str {
    match row.met {
        Some(true) => "met",
        Some(false) if row.gates => "MISSED",
        Some(false) => "missed",
        None => "-",
    }
}

fn cells(row: &FigureRow) -> Vec<String> {
    let number = |x: Option<f64>| x.map_or("-".to_string(), figure);
    let interval = row.ci95.map_or(String::new(), |c| format!("±{}", figure(c)));
    vec![
        row.id.clone(),
        row.quantity.clone(),
        row.unit.clone(),
        number(row.published),
        number(row.simulated),
        interval,
        row.demand.clone(),
        verdict(row).to_string(),
        if row.asks == Asks::Paper { "on paper" } else { row.basis.name() }.to_string(),
    ]
}

const HEADER: [&str; 9] =
    ["figure", "quantity", "unit", "published", "simulated", "95 %", "demand", "", "basis"];

fn text(r: &Reproduction, brief: bool) -> String {
    let mut out = String::new();
    for e in &r.experiments {
        out += &format!("{}: {}\n", e.name, e.about);
        if r.quick {
            out += "quick: a few figures, on smaller machines\n";
        }
        out += "\nWhat the sources leave open\n";
        let constants = e.constants.iter().map(|c| {
            vec![c.name.clone(), format!("{} {}", figure(c.value), c.unit), c.basis.clone()]
        });
        out += &table::left_aligned(constants);
        for rows in e.rows.chunk_by(same_table).filter(|_| !brief) {
            out += &format!("\n{}\n", ExperimentReport::table_of(&rows[0]));
            out += &table::grid(Some(&HEADER), rows.iter().map(short).map(|r| cells(&r)), 3);
            let notes = rows.iter().map(|r| &r.note).filter(|n| !n.is_empty());
            let mut notes: Vec<&String> = notes.collect();
            notes.dedup();
            notes.iter().for_each(|n| out += &format!("{n}\n"));
        }
        if !brief {
            out += &pictures(&e.pictures);
        }
        out += &summary(e);
        out += &misses(e);
        for finding in &e.findings {
            out += &format!("\n{}\n", table::wrap(finding, 0));
        }
        if let Some(s) = &e.sensitivity {
            out += &sensitivity(s);
        }
    }
    out + &comes_to(&r.experiments)
}

/// One row for each experiment: demands by kind, and the number of them that are met.
fn comes_to(experiments: &[ExperimentReport]) -> String {
    let score = |s: Score| match s.of {
        0 => "-".to_string(),
        of => format!("{}/{of}", s.met),
    };
    let kernels = |e: &ExperimentReport| Score::sum(e.summary.kernels.iter().map(|k| k.score));
    let row = |e: &ExperimentReport| {
        let name = std::iter::once(e.name.clone());
        let chosen = std::iter::once(e.summary.constants.len().to_string());
        let scores = e.summary.scores().into_iter().chain([kernels(e)]);
        name.chain(scores.map(score)).chain(chosen).collect()
    };
    let mut rows: Vec<Vec<String>> = experiments.iter().map(row).collect();
    if experiments.len() > 1 {
        let of = |i: usize| Score::sum(experiments.iter().map(|e| e.summary.scores()[i]));
        let chosen = experiments.iter().map(|e| e.summary.constants.len()).sum::<usize>();
        let mut all: Vec<String> = (0..Asks::ALL.len()).map(|i| score(of(i))).collect();
        all.insert(0, "all".into());
        // Two experiments may be compared with the same kernels.
        all.extend(["".into(), chosen.to_string()]);
        rows.push(all);
    }
    let header =
        ["met/asked", "sizes", "signs", "bands", "bounds", "fitted", "paper", "kernels", "chosen"];
    let mut out = format!("\nSummary\n{}", table::grid(Some(&header), rows, 1));
    out += &format!("\n{}\n", table::wrap(LEGEND_OF_SCORES, 0));
    for e in experiments {
        let of = |k: &KernelScore| format!("{} {}", k.kernel, score(k.score));
        let kernels = e.summary.kernels.iter().map(of).collect::<Vec<_>>().join(", ");
        let kernels = if kernels.is_empty() { "no recording".into() } else { kernels };
        let constants = e.summary.constants.join(", ");
        let chosen = if constants.is_empty() { "nothing".into() } else { constants };
        let said = format!("{}: kernels: {kernels}; chosen: {chosen}.", e.name);
        out += &format!("{}\n", table::wrap(&said, 2));
    }
    out
}

const LEGEND_OF_SCORES: &str = "sizes: published figures that a simulated machine gives within the \
                                stated tolerance. signs: directions and orders. bands: so wide \
                                that no effect at all lies in them. bounds: they were not \
                                published. fitted: a constant was chosen by the figure. paper: a \
                                model on paper, no machine. kernels: figures of recorded kernels \
                                that carry the patch or lack it. chosen: constants that were \
                                chosen with figures in view.";

fn pictures(pictures: &[Picture]) -> String {
    let legend = if pictures.is_empty() { String::new() } else { format!("\n{LEGEND}") };
    let shown = pictures.iter().map(|p| format!("\n{}\n{}", p.title, p.text));
    legend + &shown.collect::<String>()
}

fn same_table(a: &FigureRow, b: &FigureRow) -> bool {
    ExperimentReport::table_of(a) == ExperimentReport::table_of(b)
}

/// A row under the heading of its table needs its name no more.
fn short(row: &FigureRow) -> FigureRow {
    let table = ExperimentReport::table_of(row);
    let mut short = row.clone();
    short.id = row.id[table.len()..].trim_start_matches('/').to_string();
    short
}

/// Number of figures of each table that meet their demands.
fn summary(e: &ExperimentReport) -> String {
    let row = |rows: &[FigureRow]| {
        let judged = rows.iter().filter_map(|r| r.met);
        let met = judged.clone().filter(|m| *m).count();
        let [met, of, all] = [met, judged.count(), rows.len()].map(|n| grouped(n as f64));
        vec![ExperimentReport::table_of(&rows[0]).to_string(), all, of, met]
    };
    let header = ["table", "figures", "with a demand", "met"];
    format!("\nSummary\n{}", table::grid(Some(&header), e.rows.chunk_by(same_table).map(row), 1))
}

fn misses(e: &ExperimentReport) -> String {
    let missed: Vec<Vec<String>> =
        e.rows.iter().filter(|r| r.met == Some(false)).map(cells).collect();
    match missed.len() {
        0 => String::new(),
        n => format!("\nMissed: {n}\n{}", table::grid(Some(&HEADER), missed, 3)),
    }
}

fn sensitivity(s: &Sensitivity) -> String {
    let mut out = "\nVerdicts that flip when a constant moves by a quarter\n".to_string();
    let mut rows = Vec::new();
    for v in &s.varied {
        for f in &v.flips {
            let number = |x: Option<f64>| x.map_or("-".to_string(), figure);
            rows.push(vec![
                v.constant.clone(),
                format!("x {}", v.factor),
                f.id.clone(),
                number(f.before),
                number(f.after),
                if f.met { "met" } else { "MISSED" }.to_string(),
            ]);
        }
    }
    let flips = rows.len();
    if flips > 0 {
        let header = ["constant", "by", "figure", "before", "after", "then"];
        out += &table::grid(Some(&header), rows, 3);
    }
    let calm = |c: &&str| s.varied.iter().all(|v| v.constant != *c || v.flips.is_empty());
    let mut names: Vec<&str> = s.varied.iter().map(|v| v.constant.as_str()).collect();
    names.dedup();
    let calm: Vec<&str> = names.iter().copied().filter(|c| calm(c)).collect();
    out += &table::wrap(
        &format!(
            "{flips} flips. Nothing flips with {} of {} constants: {}.",
            calm.len(),
            names.len(),
            calm.join(", ")
        ),
        0,
    );
    out.push('\n');
    out += &table::wrap(
        &format!(
            "Not varied: {} constants that stand in the program; JSON names them.",
            s.fixed.len()
        ),
        0,
    );
    out + "\n"
}
