//! Pictures of documents that are drawn from the documents themselves, or from manifests: the crates
//! in ARCHITECTURE.md, and the figures of each fact of docs/facts.md, whose numbers another test holds
//! against the program.
//!
//! `MMSIM_BLESS=1 cargo test -p mmsim-cli --test suite drawings` draws them anew.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use mmsim::report::numbers::grouped;
use mmsim_view::figure::{COLOURS, escaped};

use crate::harness::repository;

/// A picture is what is drawn now, or becomes it.
fn is_current(path: &str, drawn: &str) {
    let path = repository(path);
    if std::env::var_os("MMSIM_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(&path, drawn).expect("a picture is written");
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(there == drawn, "{}: draw it anew with MMSIM_BLESS=1", path.display());
}

fn begin(width: f64, height: f64, title: &str) -> String {
    let title = escaped(title);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" role=\"img\" aria-label=\"{title}\" font-family=\"system-ui,sans-serif\" \
         font-size=\"11\" fill=\"#1b1f24\">\n<title>{title}</title>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    )
}

/// A phase with its counter, and what was counted; none: it is not kept.
type Counted = (String, Option<f64>);

/// A fact: what its heading says, and of each variant its figures by their names.
struct Fact {
    heading: String,
    variants: Vec<(String, Vec<Counted>)>,
}

/// The facts of the document: rows of CSV below their headings.
fn facts(text: &str) -> Vec<Fact> {
    let mut all: Vec<Fact> = Vec::new();
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("## ").filter(|h| h.as_bytes()[0].is_ascii_digit())
        {
            all.push(Fact { heading: heading.to_string(), variants: Vec::new() });
        }
        if !line.starts_with("fact-") {
            continue;
        }
        let cells: Vec<&str> = line.split(',').collect();
        let ["vmstat", counter, value] = cells[cells.len().saturating_sub(3)..] else { continue };
        let [_, variant, axes, _, _, phase] = cells[..6] else { continue };
        let setting = axes.rsplit('.').next().unwrap_or_default();
        let name = if setting.is_empty() { variant } else { setting };
        let fact = all.last_mut().expect("a heading before its rows");
        if fact.variants.last().is_none_or(|v| v.0 != name) {
            fact.variants.push((name.to_string(), Vec::new()));
        }
        let figures = &mut fact.variants.last_mut().expect("a variant").1;
        figures.push((format!("{phase}: {counter}"), value.parse().ok()));
    }
    all
}

/// A bar for each figure, variant by variant, on one scale: a longer bar is a larger number.
fn bars(fact: &Fact) -> String {
    const LEFT: f64 = 200.0;
    const WIDTH: f64 = 400.0;
    let names: Vec<&str> = fact.variants[0].1.iter().map(|f| f.0.as_str()).collect();
    let row = 13.0;
    let group = row * names.len() as f64 + 12.0;
    let height = 72.0 + 14.0 * names.len() as f64 + group * fact.variants.len() as f64;
    let mut out = begin(760.0, height, &fact.heading);
    let _ = writeln!(
        out,
        "<text x=\"12\" y=\"22\" font-size=\"13\" font-weight=\"600\">{}</text>",
        escaped(&fact.heading)
    );
    for (i, name) in names.iter().enumerate() {
        let y = 42.0 + 14.0 * i as f64;
        let _ = writeln!(
            out,
            "<rect x=\"{LEFT}\" y=\"{}\" width=\"9\" height=\"9\" fill=\"{}\"/>\
             <text x=\"{}\" y=\"{y}\">{}</text>",
            y - 8.5,
            COLOURS[i],
            LEFT + 14.0,
            escaped(name)
        );
    }
    let all = fact.variants.iter().flat_map(|v| &v.1).filter_map(|f| f.1);
    let most = all.fold(1.0, f64::max);
    let mut y = 52.0 + 14.0 * names.len() as f64;
    for (variant, figures) in &fact.variants {
        let middle = y + row * figures.len() as f64 / 2.0 + 4.0;
        let _ = writeln!(
            out,
            "<text x=\"{}\" y=\"{middle:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 8.0,
            escaped(variant)
        );
        for (i, (name, value)) in figures.iter().enumerate() {
            assert_eq!(name, names[i], "{}: figures in another order", fact.heading);
            let width = value.unwrap_or_default() / most * WIDTH;
            let _ = writeln!(
                out,
                "<rect x=\"{LEFT}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"11\" fill=\"{}\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                COLOURS[i],
                LEFT + width + 5.0,
                y + 9.5,
                value.map_or("not counted".into(), grouped)
            );
            y += row;
        }
        y += 12.0;
    }
    let below = "All bars share one scale.";
    let _ =
        writeln!(out, "<text x=\"{LEFT}\" y=\"{:.1}\" fill=\"#5b6570\">{below}</text>", y + 6.0);
    out + "</svg>\n"
}

#[test]
fn each_fact_has_its_picture() {
    let text = std::fs::read_to_string(repository("docs/facts.md")).expect("the document");
    let all = facts(&text);
    assert_eq!(all.len(), 6);
    for (i, fact) in all.iter().enumerate() {
        let path = format!("facts/{}.svg", i + 1);
        assert!(text.contains(&format!("]({path})")), "{path} is not shown");
        is_current(&format!("docs/{path}"), &bars(fact));
    }
}

/// Crates by their names, with what they say of themselves and the crates of ours that they use.
fn crates() -> BTreeMap<String, (String, BTreeSet<String>)> {
    let mut all = BTreeMap::new();
    let folders = std::fs::read_dir(repository("crates")).expect("a folder of crates");
    let folders = folders.map(|entry| entry.expect("an entry").path());
    for folder in folders.chain([repository("")]) {
        let text = std::fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
        let manifest: toml::Table = text.parse().expect("a manifest");
        let package = |key: &str| manifest["package"][key].as_str().expect("words").to_string();
        let used = manifest["dependencies"].as_table().expect("a table").keys();
        let ours = used.filter(|name| name.starts_with("mmsim")).cloned().collect();
        all.insert(package("name"), (package("description"), ours));
    }
    all
}

/// The crates in floors: each uses those below that lines lead to, and what those use.
#[test]
fn the_house_has_its_picture() {
    let all = crates();
    let mut floors: BTreeMap<&str, usize> = BTreeMap::new();
    while floors.len() < all.len() {
        for (name, (_, uses)) in &all {
            let below: Option<Vec<usize>> =
                uses.iter().map(|u| floors.get(u.as_str()).copied()).collect();
            if let Some(below) = below {
                floors.insert(name, below.into_iter().max().map_or(0, |floor| floor + 1));
            }
        }
    }
    let top = floors.values().copied().max().expect("a crate");
    let floor = |at: usize| floors.iter().filter(move |f| *f.1 == at).map(|f| *f.0);
    let widest = (0..=top).map(|at| floor(at).count()).max().expect("a floor") as f64;
    let (box_w, box_h, gap, storey) = (146.0, 58.0, 14.0, 96.0);
    let width = widest * (box_w + gap) + gap;
    let place = |name: &str| {
        let at = floors[name];
        let here: Vec<&str> = floor(at).collect();
        let nth = here.iter().position(|n| *n == name).expect("it is on its floor") as f64;
        let left = (width - here.len() as f64 * (box_w + gap) + gap) / 2.0;
        (left + nth * (box_w + gap), 20.0 + (top - at) as f64 * storey)
    };
    let mut out = begin(width, 20.0 + (top + 1) as f64 * storey, "The crates of mmsim");
    for (name, (_, uses)) in &all {
        let implied = |used: &String| uses.iter().any(|other| all[other].1.contains(used));
        for used in uses.iter().filter(|used| !implied(used)) {
            let ((x, y), (to_x, to_y)) = (place(name), place(used));
            let _ = writeln!(
                out,
                "<path d=\"M{:.1} {:.1}L{:.1} {to_y:.1}\" stroke=\"#5b6570\"/>",
                x + box_w / 2.0,
                y + box_h,
                to_x + box_w / 2.0
            );
        }
    }
    for (name, (about, _)) in &all {
        let (x, y) = place(name);
        let _ = write!(
            out,
            "<g><title>{0}: {1}</title><rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{box_w}\" \
             height=\"{box_h}\" rx=\"5\" fill=\"#f5f7f9\" stroke=\"{2}\" stroke-width=\"1.5\"/>\
             <text x=\"{3:.1}\" y=\"{4:.1}\" font-size=\"12\" font-weight=\"600\">{0}</text>",
            escaped(name),
            escaped(about),
            COLOURS[floors[name.as_str()] % COLOURS.len()],
            x + 8.0,
            y + 17.0,
        );
        let words = about.split(':').next().unwrap_or_default();
        let (mut lines, mut line) = (Vec::new(), String::new());
        for word in words.split(' ') {
            if line.len() + word.len() > 25 {
                lines.push(std::mem::take(&mut line));
            }
            line += if line.is_empty() { "" } else { " " };
            line += word;
        }
        lines.push(line);
        for (i, line) in lines.iter().take(3).enumerate() {
            let y = y + 31.0 + 11.5 * i as f64;
            let _ = write!(
                out,
                "<text x=\"{:.1}\" y=\"{y:.1}\" font-size=\"10\" fill=\"#5b6570\">{}</text>",
                x + 8.0,
                escaped(line)
            );
        }
        out.push_str("</g>\n");
    }
    out += "</svg>\n";
    let text = std::fs::read_to_string(repository("ARCHITECTURE.md")).expect("the document");
    assert!(text.contains("](docs/house.svg)"), "docs/house.svg is not shown");
    is_current("docs/house.svg", &out);
}
