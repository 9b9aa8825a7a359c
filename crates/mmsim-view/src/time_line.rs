//! One run over time as SVG: free memory between its watermarks, reclaim, swap, pressure, what the host
//! of a guest holds, and who acts on whom: the OOM killer and daemons.

use std::fmt::Write as _;

use mmsim::base::vmstat::VmEvent;
use mmsim::report::RunReport;
use mmsim::report::acts::Acted;

use crate::axis::{step, tick};
use crate::figure::{COLOURS, DASHES, escaped};
use crate::series::Series;

const WIDTH: f64 = 760.0;
const LEFT: f64 = 78.0;
const RIGHT: f64 = 744.0;
const HEIGHT: f64 = 92.0;
const GAP: f64 = 34.0;
const MIB: f64 = 4096.0 / (1 << 20) as f64;

/// A line of a chart: its name, its place among the colours, its values, and whether it is a
/// watermark.
struct Line {
    name: &'static str,
    colour: usize,
    values: Vec<f64>,
    mark: bool,
}

/// Changes per second, each from the sample before it; totals begin at 0 with the run.
pub(crate) fn rate(series: &Series, column: &str, scale: f64) -> Vec<f64> {
    let Some(totals) = series.column(column) else { return Vec::new() };
    let (mut time, mut total) = (0, 0);
    let of = |(&now, &to): (&u64, &u64)| {
        let (was, from) = (time, total);
        (time, total) = (now, to);
        let seconds = now.saturating_sub(was) as f64 / 1e9;
        if seconds > 0.0 { (to.saturating_sub(from)) as f64 / seconds * scale } else { 0.0 }
    };
    series.time_ns.iter().zip(totals).map(of).collect()
}

fn charts(run: &RunReport, series: &Series) -> Vec<(&'static str, Vec<Line>)> {
    let level = |column: &str| -> Vec<f64> {
        series.column(column).unwrap_or(&[]).iter().map(|&v| v as f64 * MIB).collect()
    };
    let line = |name, colour, values| Line { name, colour, values, mark: false };
    let mark = |name, colour, pages: u64| {
        let values = vec![pages as f64 * MIB; series.time_ns.len()];
        Line { name, colour, values, mark: true }
    };
    let [mut min, mut low, mut high] = [0; 3];
    for zone in &run.zones {
        (min, low, high) = (min + zone.min, low + zone.low, high + zone.high);
    }
    let free = vec![
        line("free", 2, level("nr_free_pages")),
        mark("high", 5, high),
        mark("low", 4, low),
        mark("min", 1, min),
    ];
    let mut charts = vec![
        ("free memory and watermarks, MiB", free),
        (
            "reclaimed, pages per s",
            vec![
                line("kswapd", 0, rate(series, VmEvent::PgStealKswapd.name(), 1.0)),
                line("direct", 1, rate(series, VmEvent::PgStealDirect.name(), 1.0)),
            ],
        ),
        (
            "swap, pages per s",
            vec![
                line("in", 0, rate(series, VmEvent::PswpIn.name(), 1.0)),
                line("out", 1, rate(series, VmEvent::PswpOut.name(), 1.0)),
            ],
        ),
        (
            "memory pressure, % of time",
            vec![
                line("some", 0, rate(series, "sim_pressure_some_us", 1e-4)),
                line("full", 1, rate(series, "sim_pressure_full_us", 1e-4)),
            ],
        ),
    ];
    if series.column("sim_host_held").is_some() {
        let held = line("held by the host", 0, level("sim_host_held"));
        let free = line("free in the guest", 2, level("nr_free_pages"));
        charts.push(("memory that the host holds, MiB", vec![held, free]));
    }
    charts
}

/// A chart: its name and scale, the ends of phases, its lines and what they are called.
fn chart(
    out: &mut String,
    (name, lines): (&str, &[Line]),
    top: f64,
    (run, series): (&RunReport, &Series),
    x: impl Fn(u64) -> f64,
) {
    let bottom = top + HEIGHT;
    let values = || lines.iter().flat_map(|l| l.values.iter().copied());
    let mut most = values().fold(0.0, f64::max);
    let marks = lines.iter().filter(|l| l.mark).flat_map(|l| &l.values);
    let cut = 4.0 * marks.fold(0.0, |m, v| v.max(m));
    let near = lines.iter().filter(|l| !l.mark).flat_map(|l| &l.values).any(|v| *v < cut);
    if cut > 0.0 && near {
        most = most.min(cut);
    }
    let most = if most > 0.0 { most } else { 1.0 };
    let y = |v: f64| bottom - (v / most).clamp(0.0, 1.0) * HEIGHT;
    let _ = writeln!(
        out,
        "<text x=\"{LEFT}\" y=\"{:.1}\" font-weight=\"600\">{name}</text>",
        top - 6.0
    );
    // Two or three round numbers find room.
    let apart = step(most * 2.0);
    for v in (0..).map(|i| f64::from(i) * apart).take_while(|v| *v <= most) {
        let at = y(v);
        let _ = writeln!(
            out,
            "<path d=\"M{LEFT} {at:.1}H{RIGHT}\" stroke=\"#d5dae0\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 6.0,
            at + 4.0,
            tick(v, apart)
        );
    }
    phases(out, run, (top, bottom), &x);
    let shown = lines.iter().filter(|l| l.values.iter().any(|&v| v > 0.0));
    let mut legend = RIGHT;
    for (nth, line) in shown.enumerate() {
        let mut path = String::new();
        for (j, v) in line.values.iter().enumerate() {
            let pen = if j == 0 { 'M' } else { 'L' };
            let _ = write!(path, "{pen}{:.1} {:.1}", x(series.time_ns[j]), y(*v));
        }
        let colour = COLOURS[line.colour];
        let dash = match DASHES[nth % DASHES.len()] {
            "" => String::new(),
            dash => format!(" stroke-dasharray=\"{dash}\""),
        };
        let (above, width) = (top - 6.0, line.name.len() as f64 * 6.5);
        let _ = writeln!(
            out,
            "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.3\"{dash}/>\
             <path d=\"M{:.1} {:.1}h22\" stroke=\"{colour}\" stroke-width=\"2\"{dash}/>\
             <text x=\"{legend:.1}\" y=\"{above:.1}\" text-anchor=\"end\">{}</text>",
            legend - width - 26.0,
            above - 4.0,
            line.name
        );
        legend -= width + 44.0;
    }
}

/// The ends of phases, and their names where there is room.
fn phases(out: &mut String, run: &RunReport, (top, bottom): (f64, f64), x: &impl Fn(u64) -> f64) {
    for phase in &run.phases {
        let at = x(phase.begin_ns + phase.sim_time_ns);
        let _ = writeln!(
            out,
            "<path d=\"M{at:.1} {top:.1}V{bottom:.1}\" stroke=\"#5b6570\" stroke-dasharray=\"3 4\">\
             <title>{0} ends</title></path>",
            escaped(&phase.name)
        );
        // Its name, where the phase is wide enough for it.
        let from = x(phase.begin_ns);
        if at - from > phase.name.chars().count() as f64 * 6.5 + 8.0 {
            let _ = writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"#5b6570\">{}</text>",
                from + 4.0,
                top + 10.0,
                escaped(&phase.name)
            );
        }
    }
}

/// Distance of the rows of acts.
const ROW: f64 = 20.0;
/// Characters of the name of an actor that find room beside its row.
const MOST_NAME: usize = 12;
/// The colour of kills, and that of other acts.
const INK: [&str; 2] = [COLOURS[1], COLOURS[0]];

/// Who acts on whom: a row for each actor from `top` on. A kill is a bar with the name of its victim,
/// where that finds room, and any other act a ring.
fn acts(
    out: &mut String,
    (actors, acts): (&[&str], &[Acted<'_>]),
    top: f64,
    x: impl Fn(u64) -> f64,
) {
    let _ = writeln!(
        out,
        "<text x=\"{LEFT}\" y=\"{:.1}\" font-weight=\"600\">who acts on whom</text>",
        top - 6.0
    );
    for (nth, who) in actors.iter().enumerate() {
        let middle = top + (nth as f64 + 0.5) * ROW;
        let short: String = match who.chars().count() > MOST_NAME {
            true => who.chars().take(MOST_NAME - 1).chain(['\u{2026}']).collect(),
            false => (*who).to_string(),
        };
        let _ = writeln!(
            out,
            "<path d=\"M{LEFT} {middle:.1}H{RIGHT}\" stroke=\"#d5dae0\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}<title>{}</title></text>",
            LEFT - 6.0,
            middle + 4.0,
            escaped(&short),
            escaped(who)
        );
        let mut taken = f64::MIN;
        for act in acts.iter().filter(|act| act.who == *who) {
            let at = x(act.at_ns);
            let told = format!("{:.3} s: {} {}", act.at_ns as f64 / 1e9, act.who, act.told());
            let told = escaped(&format!("{told}, {}", act.why));
            let _ = match act.kills {
                true => writeln!(
                    out,
                    "<path d=\"M{at:.1} {:.1}v12\" stroke=\"{}\" stroke-width=\"2.4\">\
                     <title>{told}</title></path>",
                    middle - 6.0,
                    INK[0]
                ),
                false => writeln!(
                    out,
                    "<circle cx=\"{at:.1}\" cy=\"{middle:.1}\" r=\"2.6\" fill=\"#fff\" stroke=\"{}\">\
                     <title>{told}</title></circle>",
                    INK[1]
                ),
            };
            let width = act.target.chars().count() as f64 * 6.5 + 4.0;
            // Near the right end the name stands before the bar.
            let from = if at + 5.0 + width > RIGHT { at - 5.0 - width } else { at + 5.0 };
            if act.kills && from > taken && !act.target.is_empty() {
                let _ = writeln!(
                    out,
                    "<text x=\"{:.1}\" y=\"{:.1}\" stroke=\"#fff\" stroke-width=\"3\" \
                     paint-order=\"stroke\">{}</text>",
                    from + 2.0,
                    middle + 4.0,
                    escaped(act.target)
                );
                taken = from + width;
            }
            taken = taken.max(at + 4.0);
        }
    }
}

/// Lines through a chart where processes are killed.
fn kills(out: &mut String, acts: &[Acted<'_>], (top, bottom): (f64, f64), x: &impl Fn(u64) -> f64) {
    let mut last = f64::MIN;
    for act in acts.iter().filter(|act| act.kills) {
        let at = x(act.at_ns);
        if at - last < 1.0 {
            continue;
        }
        last = at;
        let _ = writeln!(
            out,
            "<path d=\"M{at:.1} {top:.1}V{bottom:.1}\" stroke=\"{}\" stroke-opacity=\"0.6\">\
             <title>{}</title></path>",
            INK[0],
            escaped(&format!("{} {}", act.who, act.told()))
        );
    }
}

/// A run over time. Free memory is cut at four times the high watermark, below which reclaim is
/// what moves it.
pub fn svg(scenario: &str, run: &RunReport, series: &Series) -> String {
    let charts = charts(run, series);
    let (acted, actors) = (run.acts(), run.actors());
    // Without an act there is nothing to show of those who look.
    let actors = if acted.is_empty() { Vec::new() } else { actors };
    let rows = match actors.len() {
        0 => 0.0,
        n => n as f64 * ROW + GAP,
    };
    let height = 58.0 + charts.len() as f64 * (HEIGHT + GAP) + rows;
    let title = format!("{scenario}, {}, seed {}", run.variant, run.seed);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         width=\"{WIDTH}\" height=\"{height}\" role=\"img\" aria-label=\"{0} over time\" \
         font-family=\"system-ui,sans-serif\" font-size=\"11\" fill=\"#1b1f24\">\n\
         <title>{0} over time</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <text x=\"10\" y=\"20\" font-size=\"13\" font-weight=\"600\">{0}</text>\n",
        escaped(&title)
    );
    let end = series.time_ns.last().copied().unwrap_or(1).max(1) as f64;
    let x = |ns: u64| LEFT + ns as f64 / end * (RIGHT - LEFT);
    for (i, (name, lines)) in charts.iter().enumerate() {
        let top = 46.0 + i as f64 * (HEIGHT + GAP);
        chart(&mut out, (name, lines), top, (run, series), x);
        kills(&mut out, &acted, (top, top + HEIGHT), &x);
    }
    let top = 46.0 + charts.len() as f64 * (HEIGHT + GAP);
    if !actors.is_empty() {
        acts(&mut out, (&actors, &acted), top, x);
    }
    let y = top + rows - GAP + 16.0;
    let seconds = end / 1e9;
    let apart = step(seconds);
    for t in (0..).map(|i| f64::from(i) * apart).take_while(|t| *t <= seconds) {
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{}</text>",
            x((t * 1e9) as u64),
            tick(t, apart)
        );
    }
    let middle = (LEFT + RIGHT) / 2.0;
    let _ = writeln!(
        out,
        "<text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">simulated time, s</text>",
        y + 16.0
    );
    out + "</svg>\n"
}
