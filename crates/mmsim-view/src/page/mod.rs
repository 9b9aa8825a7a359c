//! One HTML file: it opens from a mail or a file share, asks nobody for anything, and is the same
//! bytes for the same runs.
//!
//! The page holds a table and a drawing as plain HTML, so that it says something without its
//! script. The script unpacks the data (`data.rs`: JSON, deflated, base64), replaces both, and adds
//! charts over time. A content policy in the page itself forbids every request. Charts of time are
//! drawn by uPlot, whose licence stands in the page.

mod data;

use std::fmt::Write as _;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use mmsim::report::derived::Figure;
use mmsim::report::groups::Group;
use mmsim::report::{Report, RunReport, closing};

use crate::figure::{self, escaped};
use crate::generations::Generations;
use crate::pages::Grid;
use crate::rows::rows;
use crate::series::Series;

const STYLE: &str = include_str!("viewer.css");
const SCRIPT: &str = include_str!("viewer.js");
const UPLOT: &str = include_str!("uplot.min.js");
const UPLOT_STYLE: &str = include_str!("uplot.min.css");
const UPLOT_LICENCE: &str = include_str!("uplot.LICENSE");

/// What was kept of one run while it went on; what is missing, the page says how to record.
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct Observed {
    /// Counters and gauges.
    pub series: Option<Series>,
    /// Generations of MGLRU.
    pub generations: Option<Generations>,
    /// Evictions and refaults of pages.
    pub pages: Option<Grid>,
}

/// A report of the page.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Its name; empty where the page has one report only.
    pub name: &'a str,
    /// The report.
    pub report: &'a Report,
    /// What was kept of its runs, in their order; may be empty.
    pub observed: &'a [Observed],
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

/// The script as the page has it: without the blanks that lines begin with.
fn script() -> String {
    SCRIPT.lines().map(|line| format!("{}\n", line.trim_start())).collect()
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
    for sentence in closing::sentences(group) {
        let _ = writeln!(out, "<p>{}</p>", escaped(&sentence));
    }
}

/// The page of these reports. `shown`: the figure that its drawing begins with.
pub fn html(sources: &[Source<'_>], shown: Option<Figure>) -> String {
    let names: Vec<&str> = sources.iter().map(|s| s.report.scenario.as_str()).collect();
    let title = names.join(", ");
    let data = serde_json::to_vec(&data::Data::of(sources)).expect("names and numbers");
    let mut out = String::with_capacity(200_000);
    let _ = write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:\">\n\
         <link rel=\"icon\" href=\"data:,\">\n<title>{} - mmsim</title>\n\
         <style>\n{UPLOT_STYLE}\n{STYLE}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#main\">To the results</a>\n<header>\n<h1>{}</h1>\n",
        escaped(&title),
        escaped(&title)
    );
    for source in sources {
        let (name, about) = (source.name, source.report.about.as_str());
        if !about.is_empty() || !name.is_empty() {
            let colon = if name.is_empty() || about.is_empty() { "" } else { ": " };
            let _ = writeln!(out, "<p>{}{colon}{}</p>", escaped(name), escaped(about));
        }
        facts(&mut out, source.report);
        for note in &source.report.notes {
            let _ = writeln!(out, "<p class=\"note\">{}</p>", escaped(note));
        }
        for e in source.report.expect.iter() {
            let holds = if e.holds { "As expected" } else { "Not as expected" };
            let line = format!("{holds}: {}; found: {}", e.expected, e.found);
            let _ = writeln!(out, "<p class=\"note\">{}</p>", escaped(&line));
        }
    }
    out.push_str("</header>\n<div id=\"bar\"></div>\n<main id=\"main\">\n<div id=\"plain\">\n");
    for source in sources {
        let figure = shown.unwrap_or_else(|| figure::main_of(source.report));
        out.push_str(&figure::svg(source.report, figure));
        let groups = source.report.groups();
        if let Some(group) = groups.first() {
            let heading = figure::heading(group);
            if !heading.is_empty() {
                let _ = writeln!(out, "<h2>{}</h2>", escaped(&heading));
            }
            table(&mut out, group);
        }
        if groups.len() > 1 {
            let more = groups.len() - 1;
            let _ = writeln!(out, "<p>{more} more settings are there with the page's script.</p>");
        }
    }
    out.push_str(
        "<noscript><p>Charts over time, other settings and other seeds need the page's script, \
         which is switched off here.</p></noscript>\n</div>\n<div id=\"views\"></div>\n</main>\n",
    );
    let figure = shown
        .map(|f| f.label())
        .or_else(|| sources.first().map(|s| figure::main_of(s.report).label()));
    let _ = write!(
        out,
        "<script type=\"text/plain\" id=\"data\" data-figure=\"{}\">{}\n</script>\n\
         <script>\n/*\n{}\n*/\n{UPLOT}\n</script>\n<script>\n{}</script>\n</body>\n</html>\n",
        escaped(figure.unwrap_or_default()),
        packed(&data),
        UPLOT_LICENCE.trim_end(),
        script(),
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_as_others_write_it() {
        let of = |bytes: &[u8]| base64(bytes).replace('\n', "");
        assert_eq!(of(b""), "");
        assert_eq!(of(b"f"), "Zg==");
        assert_eq!(of(b"fo"), "Zm8=");
        assert_eq!(of(b"foobar"), "Zm9vYmFy");
        assert_eq!(of(&[0xfb, 0xff]), "+/8=");
    }

    /// What the page carries besides data: what the browser needs to draw it.
    #[test]
    fn the_page_is_small() {
        let script = script();
        assert!(script.len() < 40_000, "the script has {} bytes", script.len());
        let fixed = script.len() + STYLE.len() + UPLOT.len() + UPLOT_STYLE.len();
        assert!(fixed < 110_000, "{fixed} bytes");
        for part in [SCRIPT, UPLOT, UPLOT_LICENCE] {
            assert!(!part.contains("</script") && !part.contains("<!--"));
        }
    }
}
