//! docs/observing.md lists the events and gauges that there are. `MMSIM_BLESS=1` rewrites
//! its table of events.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use mmsim::Scenario;
use mmsim::build::{self, Catalogue};
use mmsim::report::events::EVENTS;

const BEGIN: &str = "<!-- events -->\n";
const END: &str = "<!-- end of events -->";

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/observing.md")
}

#[test]
fn the_table_of_events_is_current() {
    let text = std::fs::read_to_string(path()).expect("docs/observing.md");
    let (before, rest) = text.split_once(BEGIN).expect("the marker where the table begins");
    let (old, after) = rest.split_once(END).expect("the marker where the table ends");
    let mut new =
        String::from("| event | tracepoint of Linux | fields | when |\n|---|---|---|---|\n");
    for e in EVENTS {
        let tracepoint = e.tracepoint.map_or("none".to_string(), |t| format!("`{t}`"));
        let fields: Vec<String> = e.fields.split(' ').map(|f| format!("`{f}`")).collect();
        let fields = fields.join(", ");
        writeln!(new, "| `{}` | {tracepoint} | {fields} | {} |", e.name, e.about)
            .expect("writing to a string");
    }
    if std::env::var_os("MMSIM_BLESS").is_some() {
        std::fs::write(path(), format!("{before}{BEGIN}{new}{END}{after}")).expect("rewriting it");
    } else {
        assert_eq!(old, new, "run the test with MMSIM_BLESS=1 and look at the difference");
    }
}

#[test]
fn every_gauge_is_explained() {
    let text = std::fs::read_to_string(path()).expect("docs/observing.md");
    let text_of_scenario = "name = \"x\"\nseed = 1\n[machine]\nmemory = \"16MiB\"\ncpus = 1\n\
                            [[task]]\nworkload = \"sequential\"\nmemory = \"1MiB\"\n";
    let scenario = Scenario::from_str(text_of_scenario, "x.toml").unwrap_or_else(|e| panic!("{e}"));
    let runs = scenario.expand(&Catalogue).unwrap_or_else(|e| panic!("{e}"));
    let machine = build::machine(&runs[0]).unwrap_or_else(|e| panic!("{e}"));
    for (name, _) in machine.gauges() {
        assert!(text.contains(&format!("`{name}`")), "{name} is missing");
    }
}
