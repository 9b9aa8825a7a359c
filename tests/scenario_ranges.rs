//! Every key of every table with values just outside of its range and of other forms: each
//! is one message that names the key by its path, stands at the value, and says what to
//! write. The ends of ranges are inside.
//!
//! The cases are made from the tables of keys, so that a key that is added is asked as well.

mod scenario_support;

use mmsim::Scenario;
use mmsim::error::Colour;
use mmsim::scenario::keys::{self, Fallback, KeySpec, Kind, TableSpec};
use scenario_support::Names;

const MACHINE: &str = "[machine]\nmemory = \"64MiB\"\n";
const ZONE: &str = "[machine]\n[[machine.zone]]\nkind = \"Normal\"\nmanaged = \"64MiB\"\n";
const TASK: &str = "[[task]]\nworkload = \"sequential\"\nmemory = \"1MiB\"\n";
const PHASED: &str = "[[task]]\nworkload = \"phased\"\n";
const REGIONS: &str = "regions = { a = { pages = 10 }, log = { pages = 4, kind = \"read\" } }\n";

const SCHEME: &str =
    "[machine]\nmemory = \"64MiB\"\n[[damon]]\n[[damon.scheme]]\naction = \"stat\"\n";

/// Where a table is in a file that is right: the text before its keys, its path, what its
/// keys need that is not said by their kinds, and the text after them.
struct Place {
    before: String,
    path: &'static str,
    given: Vec<(&'static str, String)>,
    after: &'static str,
}

fn place(t: &TableSpec) -> Place {
    let at = |before: String, path, given: &[(&'static str, &str)], after| {
        let given = given.iter().map(|(k, v)| (*k, v.to_string())).collect();
        Place { before, path, given, after }
    };
    let file = |name: &str| format!("\"{}/{name}\"", env!("CARGO_MANIFEST_DIR"));
    let memory = ("memory", "\"64MiB\"");
    if let Some(name) = t.title.strip_prefix("workload = ") {
        let (traces, masim) = (file("traces/cc1.mmt"), file("scenarios/masim-stairs.cfg"));
        let given: &[(&str, &str)] = match name {
            "\"ebizzy\"" => &[("records", "1"), ("memory", "\"1MiB\"")],
            "\"zipf\"" | "\"uniform\"" => &[("accesses", "1")],
            "\"build\"" => &[("records", "1")],
            "\"fragment\"" => &[("keep-permille", "250")],
            "\"apps\"" => &[("records", "1"), ("reread-min", "0"), ("reread-max", "1000")],
            "\"reader\"" => &[
                ("records", "1"),
                ("item", "\"1 pages\""),
                ("block", "\"1 pages\""),
                ("index", "\"1 pages\""),
                ("stale-min", "1"),
                ("stale-max", "1000"),
            ],
            "\"phased\"" => &[
                ("regions", "{ a = { pages = 10 } }"),
                ("steps", "[{ do = \"touch\", region = \"a\" }]"),
            ],
            "\"replay\"" => &[("trace", &traces)],
            "\"script\"" => &[("commands", "[\"anon 0 100\", \"snap end\"]")],
            "\"masim\"" => &[("config", &masim)],
            _ => &[],
        };
        let workload = ("workload", name);
        return at(format!("{MACHINE}[[task]]\n"), "task[0].", &[&[workload], given].concat(), "");
    }
    if let Some(step) = t.title.strip_prefix("do = ") {
        let region = if ["\"read\"", "\"write\""].contains(&step) { "\"log\"" } else { "\"a\"" };
        let mut given = vec![("do", step), ("steps", "[{ do = \"drop-caches\" }]")];
        given.push(("region", region));
        given.retain(|g| t.key(g.0).is_some());
        let before = format!("{MACHINE}{PHASED}{REGIONS}[[task.steps]]\n");
        return at(before, "task[0].steps[0].", &given, "");
    }
    match t.title {
        "Top level" => at(
            String::new(),
            "",
            &[],
            "[machine]\nmemory = \"64MiB\"\n[[task]]\nworkload = \"sequential\"\nmemory = \"1MiB\"\n",
        ),
        "[machine]" => at("[machine]\n".into(), "machine.", &[memory], TASK),
        "[[machine.node]]" => {
            at("[machine]\n[[machine.node]]\n".into(), "machine.node[0].", &[memory], TASK)
        }
        "[[machine.zone]]" => {
            let given = [("kind", "\"Normal\""), ("managed", "\"64MiB\"")];
            at("[machine]\n[[machine.zone]]\n".into(), "machine.zone[0].", &given, TASK)
        }
        "pcp of a zone" => {
            at(format!("{ZONE}[machine.zone.pcp]\n"), "machine.zone[0].pcp.", &[], TASK)
        }
        "machine.swap" => at(format!("{MACHINE}[machine.swap]\n"), "machine.swap.", &[], TASK),
        "A device of one's own" => {
            let before =
                format!("{MACHINE}[machine.swap]\nsize = \"1GiB\"\n[machine.swap.device]\n");
            at(before, "machine.swap.device.", &[], TASK)
        }
        "[machine.vm]" => at(format!("{MACHINE}[machine.vm]\n"), "machine.vm.", &[], TASK),
        "[[machine.memcg]]" => {
            at(format!("{MACHINE}[[machine.memcg]]\n"), "machine.memcg[0].", &[], TASK)
        }
        "[[variant]]" => at(format!("{MACHINE}[[variant]]\n"), "variant[0].", &[], TASK),
        "[[task]]" => {
            let given = [("workload", "\"sequential\""), ("memory", "\"1MiB\"")];
            at(format!("{MACHINE}[[task]]\n"), "task[0].", &given, "")
        }
        "Regions of `phased`" => {
            let steps = "steps = [{ do = \"drop-caches\" }]\n";
            let before = format!("{MACHINE}{PHASED}{steps}[task.regions.a]\n");
            at(before, "task[0].regions.a.", &[("pages", "10")], "")
        }
        "target of workload = \"fragment\"" => {
            let before = format!("{MACHINE}[[task]]\nworkload = \"fragment\"\n[task.target]\n");
            at(before, "task[0].target.", &[("unusable", "800")], "")
        }
        "[[damon]]" => at(format!("{MACHINE}[[damon]]\n"), "damon[0].", &[], TASK),
        "[[damon.region]]" => {
            let before = format!("{MACHINE}[[damon]]\n[[damon.region]]\n");
            at(before, "damon[0].region[0].", &[], TASK)
        }
        "[[damon.scheme]]" => {
            at(format!("{MACHINE}[[damon]]\n[[damon.scheme]]\n"), "damon[0].scheme[0].", &[], TASK)
        }
        "[[damon.scheme.goal]]" => {
            at(format!("{SCHEME}[[damon.scheme.goal]]\n"), "damon[0].scheme[0].goal[0].", &[], TASK)
        }
        "[damon.scheme.wmarks]" => {
            at(format!("{SCHEME}[damon.scheme.wmarks]\n"), "damon[0].scheme[0].wmarks.", &[], TASK)
        }
        "[[damon.scheme.filter]]" => {
            let before = format!("{SCHEME}[[damon.scheme.filter]]\n");
            at(before, "damon[0].scheme[0].filter[0].", &[], TASK)
        }
        other => panic!("say where {other} is"),
    }
}

/// A value that the kind takes.
fn some(kind: Kind) -> Option<String> {
    Some(match kind {
        Kind::Size(n) => format!("\"{} pages\"", n.max(1)),
        Kind::Time => "\"1ms\"".into(),
        Kind::Count(lo, _) => lo.to_string(),
        Kind::Number(lo, _) => lo.to_string(),
        Kind::Text => "\"a\"".into(),
        Kind::Choice(words) => format!("{:?}", words[0]),
        _ => return None,
    })
}

/// Values that the kind does not take.
fn outside(kind: Kind) -> Vec<String> {
    let all: &[&str] = match kind {
        Kind::Size(_) => &["64", "\"64\"", "\"-1 pages\"", "\"1ms\"", "\"1 byte\"", "true"],
        Kind::Limit => &["64", "\"most\"", "\"-1MiB\"", "[]"],
        Kind::Time => &["5", "\"5\"", "\"-1ms\"", "\"64MiB\"", "\"1 h\"", "\"0.1ns\"", "false"],
        Kind::Rate => &["5", "\"150MB\"", "\"0B/s\"", "\"-1MB/s\"", "\"fast\"", "{}"],
        Kind::Count(..) => &["-1", "1.5", "\"1\"", "true", "[1]", "inf"],
        Kind::Number(..) => &["-0.1", "nan", "inf", "\"1\"", "true", "[]"],
        Kind::Flag => &["1", "\"true\"", "[]"],
        Kind::Text | Kind::File => &["3", "true", "[\"a\"]"],
        Kind::Choice(_) | Kind::Kernel => &["\"no such word\"", "\"\"", "5.5", "true"],
        Kind::Texts => &["\"a\"", "3"],
        Kind::Device => &["\"no such device\"", "3"],
        _ => &["3", "\"a\"", "true"],
    };
    let mut all: Vec<String> = all.iter().map(|v| v.to_string()).collect();
    match kind {
        Kind::Size(n) if n > 0 => all.push(format!("\"{} pages\"", n - 1)),
        Kind::Count(lo, hi) => {
            all.extend(lo.checked_sub(1).map(|n| n.to_string()));
            all.push((hi + 1).to_string());
        }
        Kind::Number(_, hi) => all.push((hi + 0.1).to_string()),
        _ => {}
    }
    all
}

/// The ends of the range.
fn ends(kind: Kind) -> Vec<String> {
    match kind {
        Kind::Size(n) => vec![format!("\"{n} pages\"")],
        Kind::Count(lo, hi) => vec![lo.to_string(), hi.to_string()],
        Kind::Number(lo, hi) => vec![format!("{lo:?}"), format!("{hi:?}")],
        Kind::Limit => vec!["\"max\"".into(), "\"0 pages\"".into()],
        _ => Vec::new(),
    }
}

/// The file with this key, and the line and column of its value.
fn with(t: &TableSpec, key: &KeySpec, value: &str) -> (String, (usize, usize)) {
    let p = place(t);
    // What says the same in another way goes.
    let instead: &[&str] = match (t.title, key.name) {
        (_, "duration") => &["accesses", "records"],
        ("Regions of `phased`", "memory") => &["pages"],
        (_, "file") => &["commands"],
        (_, "text") => &["config"],
        (_, "load") => &["keep-permille"],
        ("target of workload = \"fragment\"", "index") => &["unusable"],
        (_, "zone" | "node") => &["memory"],
        _ => &[],
    };
    let mut text = p.before.clone();
    for k in t.keys().filter(|k| k.name != key.name && !instead.contains(&k.name)) {
        let given = p.given.iter().find(|g| g.0 == k.name).map(|g| g.1.clone());
        let needed = || matches!(k.fallback, Fallback::Required).then(|| some(k.kind)).flatten();
        if let Some(value) = given.or_else(needed) {
            text += &format!("{} = {value}\n", k.name);
        }
    }
    let extra = p.given.iter().filter(|g| t.key(g.0).is_none());
    extra.for_each(|(k, v)| text += &format!("{k} = {v}\n"));
    let at = (text.lines().count() + 1, key.name.len() + 4);
    text += &format!("{} = {value}\n{}", key.name, p.after);
    (text, at)
}

fn read(text: &str) -> Result<(), mmsim::Error> {
    Scenario::from_str(text, "x.toml").and_then(|s| s.expand(&Names)).map(drop)
}

/// All keys, but for the two that every file has anyway.
fn all() -> impl Iterator<Item = (&'static TableSpec, &'static KeySpec)> {
    let of = |t: &'static TableSpec| t.keys().map(move |k| (t, k));
    let all = keys::all_tables().into_iter().flat_map(of);
    all.filter(|(t, k)| t.title != "Top level" || !["machine", "task"].contains(&k.name))
}

#[test]
fn what_is_outside_is_one_message_at_its_place() {
    let mut wrong = Vec::new();
    let mut asked = 0;
    for (t, key) in all() {
        for value in outside(key.kind) {
            asked += 1;
            let (text, at) = with(t, key, &value);
            let path = format!("{}{}", place(t).path, key.name);
            let case = format!("{path} = {value} in {}", t.title);
            let Err(e) = read(&text) else {
                wrong.push(format!("{case} is accepted"));
                continue;
            };
            let place = e.position().map(|(_, line, column)| (line, column));
            let rendered = e.render(Colour::Never);
            assert_eq!(rendered.matches("error: ").count(), 1, "{rendered}");
            let named = e.title().starts_with(&format!("{path}: "));
            // Of a word that is not known all that are stand below.
            let remedy = rendered.contains("write ") || rendered.contains("known: ");
            if !named || !remedy || place != Some(at) {
                wrong.push(format!("{case} at {place:?}:\n{rendered}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {asked}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(asked > 800, "only {asked}");
}

#[test]
fn the_ends_of_ranges_are_inside() {
    let mut asked = 0;
    for (t, key) in all() {
        for value in ends(key.kind) {
            let (text, at) = with(t, key, &value);
            // Other rules may forbid a value, but not as out of its range.
            if let Err(e) = read(&text) {
                let range = ["out of range", "negative", "at least"];
                let place = e.position().map(|(_, line, column)| (line, column));
                let refused = place == Some(at) && range.iter().any(|r| e.title().contains(r));
                assert!(!refused, "{}.{} = {value}: {}", t.title, key.name, e.title());
            } else {
                asked += 1;
            }
        }
    }
    assert!(asked > 80, "only {asked}");
}
