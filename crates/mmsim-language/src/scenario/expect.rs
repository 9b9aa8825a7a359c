//! `[[expect]]`: what a scenario says of its own runs.

use std::collections::BTreeSet;

use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::memory::SizeEvent;

use super::expand::{Plan, label};
use super::raw::{Entry, Node, Sources, Table, Value};
use super::read::{Reader, unknown};
use super::tables::{EXPECT, THAN};
use mmsim_base::error::Error;
use mmsim_report::expect::{Expectation, Subject};
use mmsim_report::path::{COMPLETED, Path};

/// Beginnings of the path of a figure, besides the names of counters: parts of a run's report.
const PARTS: &[&str] = &[
    "sim_time_ns",
    "accesses",
    "records",
    "throughput",
    "pressure",
    "latency",
    "compaction",
    "damon",
    "daemons",
    "cache_ext",
    "memory_stat",
    "transparent_hugepage",
    "tasks",
    "threads",
    "peak_resident",
    "cache_misses",
    "mean_resident_bytes",
    "replayed",
    "aims",
    "bounds",
    "swap",
    "zones",
    COMPLETED,
];

/// Gauges of a machine, in the order of reports.
pub const GAUGES: &[&str] = &[
    "nr_free_pages",
    "nr_anon_pages",
    "nr_anon_transparent_hugepages",
    "nr_mapped",
    "nr_file_pages",
    "nr_shmem",
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
    "nr_lazyfree",
    "sim_easy_pool",
    "sim_host_held",
    "zswap_pool_pages",
    "zswap_stored_pages",
    "zswap_stored_incompressible_pages",
];

/// Error of a comparison that can show nothing.
const SAME: &str = "the same as what it is compared with";

/// The variants and the values of axes that expectations can name.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    variants: Vec<String>,
    axes: Vec<(String, Vec<String>)>,
}

impl Known {
    /// Nothing but these variants.
    pub(super) fn of_variants<'a>(variants: impl Iterator<Item = &'a str>) -> Known {
        let mut known = Known::default();
        let mut seen = BTreeSet::new();
        known.variants.extend(variants.filter(|v| seen.insert(*v)).map(str::to_string));
        known
    }

    /// Those of runs.
    pub(super) fn of(plans: &[Plan]) -> Known {
        let mut known = Known::of_variants(plans.iter().map(|p| p.variant.as_str()));
        for (i, (path, _)) in plans.first().iter().flat_map(|p| p.axes.iter().enumerate()) {
            let values = plans.iter().filter_map(|p| p.axes.get(i)).map(|a| a.1.clone());
            known.add(path, values);
        }
        known
    }

    /// Further values of an axis.
    pub(super) fn add(&mut self, path: &str, values: impl Iterator<Item = String>) {
        let axis = match self.axes.iter().position(|a| a.0 == path) {
            Some(i) => i,
            None => {
                self.axes.push((path.to_string(), Vec::new()));
                self.axes.len() - 1
            }
        };
        let all = &mut self.axes[axis].1;
        let mut seen: BTreeSet<String> = all.iter().cloned().collect();
        all.extend(values.filter(|v| seen.insert(v.clone())));
    }
}

/// Reads all expectations; variants and axes that they name must be known.
pub(super) fn expectations(
    sources: &Sources,
    doc: &Table,
    known: &Known,
) -> Result<Vec<Expectation>, Error> {
    let Some(node) = doc.get("expect") else { return Ok(Vec::new()) };
    // What is no list was refused with the rest of the file.
    let list = node.list().unwrap_or_default().iter().enumerate();
    list.map(|(i, n)| expectation(sources, n, &format!("expect[{i}]"), known)).collect()
}

fn expectation(
    sources: &Sources,
    node: &Node,
    path: &str,
    known: &Known,
) -> Result<Expectation, Error> {
    let r = Reader::open(sources, node, &EXPECT, path)?;
    if !r.has("above") && !r.has("below") {
        let title = format!("{path}: needs `above` or `below`");
        return Err(sources.error(r.at, title, "add `above`: a number"));
    }
    r.name("figure")?;
    let of = subject(&r, known)?;
    let than = match r.find("than") {
        None => None,
        Some(n) => {
            let path = r.name_of("than");
            let t = Reader::open(sources, n, &THAN, &path)?;
            let mut than = subject(&t, known)?;
            if than == Subject::default() {
                return Err(r.error("than", SAME, "`{ variant = \"..\" }`, or `at`"));
            }
            let phase = than.path.phase.take().or_else(|| of.path.phase.clone());
            let path = if than.path.is_empty() { of.path.clone() } else { than.path };
            than.path = path.in_phase(phase);
            // With one variant, naming it names no other one.
            if known.variants.len() == 1 {
                than.variant.clone_from(&of.variant);
            }
            if than == of {
                return Err(r.error("than", SAME, "another `variant`, or other values in `at`"));
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
    Ok(Expectation::new(of, above, below, than))
}

/// Drops the expectations of the file whose variants or values of axes are not known.
pub(super) fn retain(sources: &Sources, doc: &mut Table, known: &Known) {
    let Some(Value::List(list)) = doc.get_mut("expect").map(|n| &mut n.value) else { return };
    let is_there = |node: &Node, spec| {
        let r = Reader::open(sources, node, spec, "expect");
        r.is_ok_and(|r| variant(&r, known).is_ok() && at(&r, known).is_ok())
    };
    list.retain(|n| {
        let than = n.table().and_then(|t| t.get("than"));
        sources.is_option(n.at) || is_there(n, &EXPECT) && than.is_none_or(|t| is_there(t, &THAN))
    });
}

/// Drops the expectations that say nothing of what is known; how many these were.
pub(super) fn retain_asked(sources: &Sources, doc: &mut Table, known: &Known) -> usize {
    let Some(Value::List(list)) = doc.get_mut("expect").map(|n| &mut n.value) else { return 0 };
    let before = list.len();
    list.retain(|n| expectation(sources, n, "expect", known).is_ok());
    before - list.len()
}

/// The first part of a figure that no report can have.
pub(super) fn no_figure(figure: &str) -> Option<&str> {
    let counted = |name: &str| {
        VmEvent::named(name).is_some() || GAUGES.contains(&name) || SizeEvent::named(name).is_some()
    };
    let first = |part: &str| PARTS.contains(&part.split(['.', '[']).next().unwrap_or_default());
    figure.split('+').map(str::trim).find(|part| !counted(part) && !first(part))
}

/// Allowed beginnings of a figure's path.
pub(super) fn figures() -> Vec<&'static str> {
    let counters = VmEvent::ALL.iter().map(|e| e.name());
    let sizes = SizeEvent::names().iter().map(String::as_str);
    let others = GAUGES.iter().copied().chain(sizes);
    PARTS.iter().copied().chain(counters).chain(others).collect()
}

fn subject(r: &Reader<'_>, known: &Known) -> Result<Subject, Error> {
    let figure = r.opt_name("figure")?.unwrap_or_default().to_string();
    if let Some(part) = no_figure(&figure).filter(|_| !figure.is_empty()) {
        return Err(r.unknown_word("figure", "figure", part, &figures()));
    }
    let phase = r.opt_name("phase")?.map(str::to_string);
    let mut subject = Subject::default();
    subject.path = Path::read(&figure).in_phase(phase);
    (subject.variant, subject.at) = (variant(r, known)?, at(r, known)?);
    Ok(subject)
}

fn variant(r: &Reader<'_>, known: &Known) -> Result<Option<String>, Error> {
    let variant = r.opt_name("variant")?;
    if let Some(name) = variant.filter(|v| !known.variants.iter().any(|k| k == v)) {
        let names: Vec<&str> = known.variants.iter().map(String::as_str).collect();
        return Err(r.unknown_word("variant", "variant", name, &names));
    }
    Ok(variant.map(str::to_string))
}

/// Values of axes, as runs are labelled with them.
fn at(r: &Reader<'_>, known: &Known) -> Result<Vec<(String, String)>, Error> {
    let prefix = format!("{}: ", r.name_of("at"));
    let value = |e: &Entry| {
        let Some((_, values)) = known.axes.iter().find(|a| a.0 == e.key) else {
            let axes: Vec<&str> = known.axes.iter().map(|a| a.0.as_str()).collect();
            return Err(unknown(r.sources, e.key_at, &prefix, "axis", &e.key, &axes));
        };
        let text = label(&e.node);
        if !values.contains(&text) {
            let (what, all) = ("value of the axis", values.iter().map(String::as_str));
            let all: Vec<&str> = all.collect();
            return Err(unknown(r.sources, e.node.at, &prefix, what, &text, &all));
        }
        Ok((e.key.clone(), text))
    };
    r.table("at")?.map_or(&[][..], |t| &t.entries).iter().map(value).collect()
}

#[cfg(test)]
mod tests {
    use crate::Scenario;

    const SCENARIO: &str = "[machine]\nmemory = \"4MiB\"\nswap = { size = \"8MiB\" }\n\
        [[task]]\nworkload = \"sequential\"\nmemory = \"6MiB\"\nwrite = true\n\
        [[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\n\
        set = { \"machine.vm.swappiness\" = 1 }\n\
        [axes]\n\"task[0].memory\" = [\"1MiB\", \"6MiB\"]\n";

    fn read(expect: &str) -> Scenario {
        Scenario::from_str(&format!("{SCENARIO}{expect}"), "x.toml").unwrap()
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
