//! One HTML file: it opens from a mail or a file share, loads nothing else, and is the same bytes
//! for the same runs.
//!
//! The page holds a table and a drawing as plain HTML, so that it says something without its
//! script. The script unpacks the data (`data.rs`: JSON, deflated, base64), replaces both, and adds
//! charts over time. A content policy in the page itself forbids every request. Charts of time are
//! drawn by uPlot, whose licence stands in the page.

mod damon;
mod data;
mod film;
mod script;
mod validation;
mod why;

use std::fmt::Write as _;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use mmsim::report::derived::Figure;
use mmsim::report::groups::Group;
use mmsim::report::{Report, RunReport, closing};
use mmsim::why::life::Life;

use crate::chart;
use crate::damon::Picture;
use crate::figure::{self, escaped};
use crate::film::Film;
use crate::generations::Generations;
use crate::over;
use crate::pages::Grid;
use crate::rows::rows;
use crate::series::Series;

use script::Part;

pub use validation::validation;

const STYLE: &str = include_str!("viewer.css");
const UPLOT: &str = include_str!("uplot.min.js");
const UPLOT_STYLE: &str = include_str!("uplot.min.css");
const UPLOT_LICENCE: &str = include_str!("uplot.LICENSE");

/// Data kept of one run while it went on; for missing data the page says how to record them.
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct Observed {
    /// Counters and gauges.
    pub series: Option<Series>,
    /// Generations of MGLRU.
    pub generations: Option<Generations>,
    /// Evictions and refaults of pages.
    pub pages: Option<Grid>,
    /// Pageblocks and scanners.
    pub film: Option<Film>,
    /// Records of monitors of accesses.
    pub damon: Vec<Picture>,
    /// Lives of the pages that are examples of classes of refaults, in the order of the report.
    pub lives: Vec<Life>,
}

/// A report of the page.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Its name; empty where the page has one report only.
    pub name: &'a str,
    /// The report.
    pub report: &'a Report,
    /// Data kept of its runs, in their order; may be empty.
    pub observed: &'a [Observed],
}

/// JSON whose texts show the characters that act: the script puts them into the page as they are.
/// Controls of ASCII do nothing in a page.
fn visible(json: String) -> Vec<u8> {
    let shown = |c: char| match mmsim::error::acts(c) {
        true => mmsim::error::escape(c).replace('\\', "\\\\"),
        false => c.to_string(),
    };
    match json.contains(mmsim::error::acts) {
        true => json.chars().map(shown).collect::<String>().into_bytes(),
        false => json.into_bytes(),
    }
}

/// Bytes as the page has them: deflated, with the header of zlib, in base64.
fn packed(bytes: &[u8]) -> String {
    let mut out = ZlibEncoder::new(Vec::new(), Compression::best());
    out.write_all(bytes).expect("a vector takes all");
    base64(&out.finish().expect("a vector takes all"))
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4 + bytes.len() / 57);
    for (i, chunk) in bytes.chunks(3).enumerate() {
        // Lines that editors and mail can hold.
        if i % 32 == 0 {
            out.push('\n');
        }
        let byte = |i: usize| u32::from(chunk.get(i).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            match digit <= chunk.len() {
                true => out.push(DIGITS[(word >> (18 - 6 * digit) & 63) as usize].into()),
                false => out.push('='),
            }
        }
    }
    out
}

/// The values of a property over all runs, each once.
fn each(report: &Report, property: impl Fn(&RunReport) -> String) -> String {
    let mut all: Vec<String> = Vec::new();
    for run in &report.runs {
        let value = property(run);
        if !all.contains(&value) {
            all.push(value);
        }
    }
    all.join(", ")
}

fn facts(out: &mut String, report: &Report) {
    let swap = |run: &RunReport| {
        let mib = |bytes: u64| mmsim::report::numbers::grouped(bytes as f64 / (1 << 20) as f64);
        run.swap.as_ref().map_or("none".into(), |s| format!("{} MiB on {}", mib(s.bytes), s.device))
    };
    let all = [
        ("kernel", each(report, |run| run.kernel.clone())),
        ("CPUs", each(report, |run| run.cpus.to_string())),
        ("swap", each(report, swap)),
        ("seeds", each(report, |run| run.seed.to_string())),
        ("runs", report.runs.len().to_string()),
        ("mmsim", report.mmsim.clone()),
    ];
    out.push_str("<dl class=\"facts\">");
    for (name, value) in all {
        let _ = write!(out, "<div><dt>{name}</dt><dd>{}</dd></div>", escaped(&value));
    }
    out.push_str("</dl>\n");
}

/// The table of a group as plain HTML.
fn table(out: &mut String, group: &Group<'_>) {
    let rows = rows(group);
    out.push_str("<div class=\"scroll\"><table class=\"num\"><thead><tr><th scope=\"col\"></th>");
    for (i, v) in group.variants.iter().enumerate() {
        let _ = write!(out, "<th scope=\"col\">{}</th>", escaped(v.name));
        out.push_str(if i > 0 { "<th scope=\"col\">change</th>" } else { "" });
    }
    out.push_str("</tr></thead><tbody>\n");
    for row in &rows {
        let inner = if row.label.starts_with(' ') { " class=\"in\"" } else { "" };
        let _ = write!(out, "<tr><th scope=\"row\"{inner}>{}</th>", escaped(row.label.trim()));
        for (i, (value, change)) in row.values.iter().zip(&row.changes).enumerate() {
            let _ = write!(out, "<td>{}</td>", escaped(value));
            if i > 0 {
                let _ = write!(out, "<td>{}</td>", escaped(change));
            }
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
}

/// Contents of a page besides its script.
struct Document<'a> {
    title: &'a str,
    /// HTML at the top.
    header: String,
    /// HTML that stands for the views until the script has run.
    plain: String,
    /// HTML below the views.
    footer: String,
    /// Data for the script, as JSON.
    data: Vec<u8>,
    /// The label of the figure that the script begins with.
    figure: &'a str,
    parts: &'a [Part],
}

impl Document<'_> {
    fn html(&self) -> String {
        let (title, header, plain, footer) =
            (escaped(self.title), &self.header, &self.plain, &self.footer);
        // Only charts over time are drawn by it.
        let runs = self.parts.contains(&Part::Runs);
        let charts = match runs {
            true => {
                format!("<script>\n/*\n{}\n*/\n{UPLOT}\n</script>\n", UPLOT_LICENCE.trim_end())
            }
            false => String::new(),
        };
        let mut out = String::with_capacity(200_000);
        let _ = write!(
            out,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
             script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:\">\n\
             <link rel=\"icon\" href=\"data:,\">\n<title>{title} - mmsim</title>\n\
             <style>\n{}{STYLE}</style>\n</head>\n<body>\n\
             <a class=\"skip\" href=\"#main\">To the results</a>\n<header>\n<h1>{title}</h1>\n\
             {header}</header>\n<div id=\"bar\"></div>\n<main id=\"main\">\n<div id=\"plain\">\n\
             {plain}</div>\n<div id=\"views\"></div>\n{footer}</main>\n\
             <script type=\"text/plain\" id=\"data\" data-figure=\"{}\">{}\n</script>\n\
             {charts}<script>\n{}</script>\n</body>\n</html>\n",
            if runs { format!("{UPLOT_STYLE}\n") } else { String::new() },
            escaped(self.figure),
            packed(&self.data),
            script::script(self.parts),
        );
        out
    }
}

/// Views that only some pages have: what they are about, and how it is recorded.
const RECORDED: &[(Part, &str, &str)] = &[
    (Part::Pages, "Which pages were evicted and wanted again", "--html-pages"),
    (Part::Why, "Why pages came back", "--why"),
    (Part::Film, "Pageblocks and compaction's scanners over time", "--html-blocks"),
    (
        Part::Damon,
        "What DAMON saw",
        "a [[damon]] of the scenario with record = true or truth = true",
    ),
];

/// Data that a page does not show, and how they are recorded.
fn missing(parts: &[Part], series: bool) -> String {
    let mut out = String::new();
    let mut line = |what: &str, how: &str| {
        let _ = writeln!(out, "<li>{what}: <code>{how}</code></li>");
    };
    if !series {
        line("What happened over time", "mmsim run SCENARIO --html FILE");
        line("The same of a report", "mmsim view REPORT --series FILE");
    }
    for (_, what, how) in RECORDED.iter().filter(|r| !parts.contains(&r.0)) {
        let run = if how.starts_with("--") { "mmsim run SCENARIO --html FILE " } else { "" };
        line(what, &format!("{run}{how}"));
    }
    match out.is_empty() {
        true => out,
        false => {
            format!("<section id=\"more\"><h2>Not in this page</h2>\n<ul>\n{out}</ul></section>\n")
        }
    }
}

/// The parts of a page of these reports.
fn parts(sources: &[Source<'_>]) -> Vec<Part> {
    let kept = |of: fn(&Observed) -> bool| sources.iter().flat_map(|s| s.observed).any(of);
    let why = sources.iter().flat_map(|s| &s.report.runs).any(|run| run.why.is_some());
    let several = sources.iter().map(|s| s.report.groups().len()).sum::<usize>() > 1;
    let all = [
        (Part::Runs, true),
        (Part::Curve, data::OverData::of(sources).is_some()),
        (Part::Pages, kept(|o| o.pages.is_some())),
        (Part::Why, why),
        (Part::Film, kept(|o| o.film.is_some())),
        (Part::Damon, kept(|o| !o.damon.is_empty())),
        (Part::Settings, several),
    ];
    all.into_iter().filter(|p| p.1).map(|p| p.0).collect()
}

/// Text as it stands in HTML, with names between backticks as code.
fn coded(text: &str) -> String {
    let parts = text.split('`').enumerate();
    let part = |(i, part): (usize, &str)| match i % 2 {
        0 => escaped(part),
        _ => format!("<code>{}</code>", escaped(part)),
    };
    parts.map(part).collect()
}

/// The figure that the page of a report begins with.
fn shown(source: &Source<'_>, shown: Option<Figure>) -> Figure {
    shown.unwrap_or_else(|| figure::main_of(source.report))
}

/// Writes the top of the page of a report.
fn about(out: &mut String, source: &Source<'_>) {
    let (name, about) = (source.name, source.report.about.as_str());
    if !about.is_empty() || !name.is_empty() {
        let colon = if name.is_empty() || about.is_empty() { "" } else { ": " };
        let _ = writeln!(out, "<p>{}{colon}{}</p>", escaped(name), escaped(about));
    }
    facts(out, source.report);
    for note in &source.report.notes {
        let _ = writeln!(out, "<p class=\"note\">{}</p>", coded(note));
    }
    for e in source.report.expect.iter() {
        let holds = if e.holds { "As expected" } else { "Not as expected" };
        let line = format!("{holds}: {}; found: {}", e.expected, e.found);
        let _ = writeln!(out, "<p class=\"note\">{}</p>", coded(&line));
    }
}

/// Writes the parts of a report that a page shows without its script.
fn plain(out: &mut String, source: &Source<'_>, figure: Figure) {
    let groups = source.report.groups();
    let said = match groups.as_slice() {
        [group] => closing::sentences(group),
        _ => over::sentences(source.report, figure),
    };
    for sentence in said {
        let _ = writeln!(out, "<p class=\"lead\">{}</p>", coded(&sentence));
    }
    out.push_str(&chart::svg(source.report, figure));
    if let Some(group) = groups.first() {
        let heading = figure::heading(group);
        if !heading.is_empty() {
            let _ = writeln!(out, "<h2>{}</h2>", escaped(&heading));
        }
        table(out, group);
    }
    if groups.len() > 1 {
        let more = groups.len() - 1;
        let _ = writeln!(out, "<p>{more} more settings are there with the page's script.</p>");
    }
}

/// The page of these reports. `by`: the figure that its drawing begins with.
pub fn html(sources: &[Source<'_>], by: Option<Figure>) -> String {
    let names: Vec<&str> = sources.iter().map(|s| s.report.scenario.as_str()).collect();
    let (mut header, mut below) = (String::new(), String::new());
    for source in sources {
        about(&mut header, source);
        plain(&mut below, source, shown(source, by));
    }
    below.push_str(
        "<noscript><p>Charts over time, other settings and other seeds need the page's script, \
         which is switched off here.</p></noscript>\n",
    );
    let parts = parts(sources);
    let series = sources.iter().flat_map(|s| s.observed).any(|o| o.series.is_some());
    let main = |s: &Source<'_>| figure::label_of(s.report, shown(s, by));
    Document {
        title: &names.join(", "),
        header,
        plain: below,
        footer: missing(&parts, series),
        data: visible(
            serde_json::to_string(&data::Data::of(sources, by)).expect("names and numbers"),
        ),
        figure: sources.first().map_or("", main),
        parts: &parts,
    }
    .html()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_gets_what_acts_as_text() {
        let json = visible(serde_json::to_string(&["a\u{202e}", "\u{ffff}b"]).unwrap());
        let texts: Vec<String> = serde_json::from_slice(&json).unwrap();
        assert_eq!(texts, ["a\\u202e", "\\uffffb"]);
    }

    #[test]
    fn base64_as_others_write_it() {
        let of = |bytes: &[u8]| base64(bytes).replace('\n', "");
        assert_eq!(of(b""), "");
        assert_eq!(of(b"f"), "Zg==");
        assert_eq!(of(b"fo"), "Zm8=");
        assert_eq!(of(b"foobar"), "Zm9vYmFy");
        assert_eq!(of(&[0xfb, 0xff]), "+/8=");
    }

    /// Size of a page besides data: the code that the browser needs to draw it.
    #[test]
    fn the_page_is_small() {
        let rest = [
            Part::Runs,
            Part::Curve,
            Part::Pages,
            Part::Why,
            Part::Film,
            Part::Damon,
            Part::Settings,
        ];
        let validation = script::script(&[Part::Validation]).len();
        assert!(validation < 40_000, "the script of a validation has {validation} bytes");
        let script = script::script(&rest);
        assert!(script.len() < 70_000, "the script has {} bytes", script.len());
        let fixed = script.len() + STYLE.len() + UPLOT.len() + UPLOT_STYLE.len();
        assert!(fixed < 135_000, "{fixed} bytes");
        for part in [script.as_str(), UPLOT, UPLOT_LICENCE] {
            assert!(!part.contains("</script") && !part.contains("<!--"));
        }
    }
}
