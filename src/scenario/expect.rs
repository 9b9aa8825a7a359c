//! `[[expect]]`: what a scenario says of its own runs.

use mmsim_core::base::vmstat::VmEvent;

use super::expand::Plan;
use super::raw::{Node, Sources, Table, Value, inline};
use super::read::{Reader, unknown};
use super::tables::{EXPECT, THAN};
use crate::error::Error;
use crate::report::expect::{COMPLETED, Expectation, Subject};

/// What a figure's path may begin with, besides the names of counters: what a run's report holds.
const PARTS: &[&str] = &[
    "sim_time_ns",
    "accesses",
    "records",
    "throughput",
    "pressure",
    "latency",
    "compaction",
    "damon",
    "memory_stat",
    "tasks",
    "threads",
    "peak_resident",
    "cache_misses",
    "mean_resident_bytes",
    "replayed",
    "aims",
    "bounds",
    COMPLETED,
];

/// Gauges of a machine, in the order of reports.
pub(crate) const GAUGES: &[&str] = &[
    "nr_free_pages",
    "nr_anon_pages",
    "nr_anon_transparent_hugepages",
    "nr_mapped",
    "nr_file_pages",
    "nr_dirty",
    "nr_writeback",
    "nr_page_table_pages",
    "nr_slab_reclaimable",
    "nr_swapcached",
    "nr_swap_used",
    "nr_zram_store",
    "workingset_nodes",
    "nr_inactive_anon",
    "nr_active_anon",
    "nr_inactive_file",
    "nr_active_file",
    "nr_unevictable",
];

/// What is wrong with a comparison that can show nothing.
const SAME: &str = "the same as what it is compared with";

/// Reads all expectations; variants and axes that they name must be those of `plans`.
pub(super) fn expectations(
    sources: &Sources,
    doc: &Table,
    plans: &[Plan],
) -> Result<Vec<Expectation>, Error> {
    let Some(node) = doc.get("expect") else { return Ok(Vec::new()) };
    let mut all = Vec::new();
    // What is no list was refused with the rest of the file.
    for (i, n) in node.list().unwrap_or_default().iter().enumerate() {
        let path = format!("expect[{i}]");
        let r = Reader::open(sources, n, &EXPECT, &path)?;
        if !r.has("above") && !r.has("below") {
            let title = format!("{path}: needs `above` or `below`");
            return Err(sources.error(r.at, title, "add `above`: a number"));
        }
        r.name("figure")?;
        let of = subject(&r, plans)?;
        let than = match r.find("than") {
            None => None,
            Some(n) => {
                let path = r.name_of("than");
                let t = Reader::open(sources, n, &THAN, &path)?;
                let mut than = subject(&t, plans)?;
                if than == Subject::default() {
                    return Err(r.error("than", SAME, "`{ variant = \"..\" }`, or `at`"));
                }
                if than.figure.is_empty() {
                    than.figure.clone_from(&of.figure);
                }
                than.phase = than.phase.or_else(|| of.phase.clone());
                // With one variant, naming it names no other one.
                if plans.iter().all(|p| p.variant == plans[0].variant) {
                    than.variant.clone_from(&of.variant);
                }
                if than == of {
                    return Err(r.error(
                        "than",
                        SAME,
                        "another `variant`, or other values in `at`",
                    ));
                }
                Some(than)
            }
        };
        let (above, below) = (r.opt_number("above")?, r.opt_number("below")?);
        if let (Some(above), Some(below)) = (above, below)
            && above >= below
        {
            let found = format!("{below}, and nothing is above {above} and below that");
            return Err(r.error("below", found, format!("a number above {above}")));
        }
        all.push(Expectation { of, above, below, than });
    }
    Ok(all)
}

/// Drops the expectations of the file whose variants or values of axes are not there.
pub(super) fn retain(sources: &Sources, doc: &mut Table, plans: &[Plan]) {
    let Some(Value::List(list)) = doc.get_mut("expect").map(|n| &mut n.value) else { return };
    let is_there = |node: &Node, spec| {
        let r = Reader::open(sources, node, spec, "expect");
        r.is_ok_and(|r| variant(&r, plans).is_ok() && at(&r, plans).is_ok())
    };
    list.retain(|n| {
        let than = n.table().and_then(|t| t.get("than"));
        sources.is_option(n.at) || is_there(n, &EXPECT) && than.is_none_or(|t| is_there(t, &THAN))
    });
}

fn subject(r: &Reader<'_>, plans: &[Plan]) -> Result<Subject, Error> {
    let figure = r.opt_name("figure")?.unwrap_or_default().to_string();
    for part in figure.split('+').map(str::trim).filter(|_| !figure.is_empty()) {
        let known =
            |name: &str| VmEvent::ALL.iter().any(|e| e.name() == name) || GAUGES.contains(&name);
        let first = part.split(['.', '[']).next().unwrap_or_default();
        if !known(part) && !PARTS.contains(&first) {
            let counters = VmEvent::ALL.iter().map(|e| e.name());
            let all: Vec<&str> =
                PARTS.iter().copied().chain(counters).chain(GAUGES.iter().copied()).collect();
            return Err(r.unknown_word("figure", "figure", part, &all));
        }
    }
    let phase = r.opt_name("phase")?.map(str::to_string);
    Ok(Subject { figure, variant: variant(r, plans)?, at: at(r, plans)?, phase })
}

fn variant(r: &Reader<'_>, plans: &[Plan]) -> Result<Option<String>, Error> {
    let variant = r.opt_name("variant")?;
    if let Some(name) = variant.filter(|v| !plans.iter().any(|p| p.variant == *v)) {
        let mut names: Vec<&str> = plans.iter().map(|p| p.variant.as_str()).collect();
        let mut seen = Vec::new();
        names.retain(|n| !seen.contains(n) && (seen.push(*n), true).1);
        return Err(r.unknown_word("variant", "variant", name, &names));
    }
    Ok(variant.map(str::to_string))
}

fn at(r: &Reader<'_>, plans: &[Plan]) -> Result<Vec<(String, String)>, Error> {
    let mut at = Vec::new();
    for e in r.table("at")?.map_or(&[][..], |t| &t.entries) {
        at.push((e.key.clone(), value(r, plans, &e.key, e.key_at, &e.node)?));
    }
    Ok(at)
}

/// A value of an axis, as runs are labelled with it.
fn value(
    r: &Reader<'_>,
    plans: &[Plan],
    path: &str,
    key_at: super::raw::At,
    node: &Node,
) -> Result<String, Error> {
    let prefix = format!("{}: ", r.name_of("at"));
    let axes = plans.first().map_or(&[][..], |p| &p.axes);
    if !axes.iter().any(|a| a.0 == path) {
        let known: Vec<&str> = axes.iter().map(|a| a.0.as_str()).collect();
        return Err(unknown(r.sources, key_at, &prefix, "axis", path, &known));
    }
    let text = node.as_text().map_or_else(|| inline(&node.value), str::to_string);
    let of_axis = plans.iter().flat_map(|p| &p.axes).filter(|a| a.0 == path);
    let mut known: Vec<&str> = of_axis.map(|a| a.1.as_str()).collect();
    let mut seen = Vec::new();
    known.retain(|n| !seen.contains(n) && (seen.push(*n), true).1);
    if !known.contains(&text.as_str()) {
        return Err(unknown(r.sources, node.at, &prefix, "value of the axis", &text, &known));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RunOptions, Scenario};

    const SCENARIO: &str = "[machine]\nmemory = \"4MiB\"\nswap = { size = \"8MiB\" }\n\
        [[task]]\nworkload = \"sequential\"\nmemory = \"6MiB\"\nwrite = true\n\
        [[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\n\
        set = { \"machine.vm.swappiness\" = 1 }\n\
        [axes]\n\"task[0].memory\" = [\"1MiB\", \"6MiB\"]\n";

    #[test]
    fn gauges_are_those_of_reports() {
        let report = crate::run(&read(""), &RunOptions::default()).unwrap();
        let gauges: Vec<&str> = report.runs[0].gauges.iter().map(|g| g.0).collect();
        assert_eq!(gauges, GAUGES);
    }

    fn read(expect: &str) -> Scenario {
        Scenario::from_str(&format!("{SCENARIO}{expect}"), "x.toml").unwrap()
    }

    /// A run of what was read: of each expectation whether it holds, or that it was not asked.
    #[test]
    fn expectations_are_asked_of_the_runs() {
        let all = "[[expect]]\nfigure = \"pswpout\"\nat = { \"task[0].memory\" = \"6MiB\" }\nabove = 0\n\
            [[expect]]\nfigure = \"pswpout\"\nvariant = \"a\"\nabove = 0\n\
            [[expect]]\nfigure = \"pgfault\"\nvariant = \"b\"\nabove = 0.9\nbelow = 1.1\nthan = { variant = \"a\" }\n\
            [[expect]]\nfigure = \"completed\"\nabove = 0\n";
        let report = crate::run(&read(all), &RunOptions::default()).unwrap();
        let holds: Vec<bool> = report.expect.iter().map(|e| e.holds).collect();
        assert_eq!(holds, [true, false, true, true], "{:?}", report.expect);
        assert_eq!(report.expect[1].found, "a, task[0].memory = 1MiB: 0");
        // What is read back is asked again.
        let again = read(all).resolved();
        let again = Scenario::from_str(&again, "x.toml").unwrap();
        assert_eq!(again.expect(), read(all).expect());
    }

    /// Options that change axes and variants take along what was expected of them.
    #[test]
    fn expectations_of_what_is_gone_are_not_asked() {
        let all = "[[expect]]\nfigure = \"pswpout\"\nat = { \"task[0].memory\" = \"6MiB\" }\nabove = 0\n\
            [[expect]]\nfigure = \"pswpout\"\nvariant = \"a\"\nbelow = 1\n";
        let with = |path: &str, value: &str| {
            let s = read(all).with_sets(&[(path.into(), value.into())]).unwrap();
            let again = Scenario::from_str(&s.resolved(), "x.toml").unwrap();
            assert_eq!(again.expect(), s.expect());
            s.expect().len()
        };
        assert_eq!(with("axes", "{ \"task[0].memory\" = [\"2MiB\"] }"), 1);
        assert_eq!(with("machine.cpus", "2"), 2);
        assert_eq!(with("variant[0].name", "c"), 1);
    }

    #[test]
    fn what_cannot_be_asked_is_an_error_at_its_place() {
        for (text, title, place) in [
            (
                "figure = \"pswpim\"\nabove = 1",
                "unknown figure `pswpim`, did you mean `pswpin`?",
                (16, 10),
            ),
            ("figure = \"pswpin\"", "expect[0]: needs `above` or `below`", (15, 1)),
            ("figure = \"pswpin\"\nabove = 1\nvariant = \"c\"", "unknown variant `c`", (18, 11)),
            (
                "figure = \"pswpin\"\nabove = 1\nat = { x = 1 }",
                "expect[0].at: unknown axis `x`",
                (18, 8),
            ),
            (
                "figure = \"pswpin\"\nabove = 1\nat = { \"task[0].memory\" = \"2MiB\" }",
                "expect[0].at: unknown value of the axis `2MiB`",
                (18, 27),
            ),
            (
                "figure = \"pswpin\"\nabove = 2\nbelow = 2",
                "expect[0].below: 2, and nothing is above 2 and below that, write a number above 2",
                (18, 9),
            ),
            ("figure = \"pswpin\"\nabove = 1\nthan = {}", "expect[0].than: the same as", (18, 8)),
            (
                "figure = \"pswpin\"\nvariant = \"a\"\nabove = 1\nthan = { variant = \"a\" }",
                "expect[0].than: the same as what it is compared with, write another `variant`",
                (19, 8),
            ),
        ] {
            let file = format!("{SCENARIO}[[expect]]\n{text}\n");
            let e = Scenario::from_str(&file, "x.toml").unwrap_err();
            assert!(e.title().contains(title), "{}", e.title());
            let found = e.position().map(|(_, line, column)| (line, column));
            assert_eq!(found, Some(place), "{}", e.title());
        }
    }
}
