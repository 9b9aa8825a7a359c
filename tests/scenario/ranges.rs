//! Every key of every table with values just outside of its range and of other forms: each
//! is one message that names the key by its path, stands at the value, and says what to
//! write. The ends of ranges are inside.
//!
//! The cases are made from the tables of keys, so that a key that is added is tested as well.

mod daemons;
mod groups;

use crate::validator::Validator;
use mmsim::Scenario;
use mmsim::error::Colour;
use mmsim::machines::Catalogue;
use mmsim::scenario::RunSpec;
use mmsim::scenario::keys::{Fallback, KeySpec, Kind, RowsOf, TableSpec};
use mmsim::scenario::tables::all_tables;

const MACHINE: &str = "[machine]\nmemory = \"64MiB\"\n";
const ZONE: &str = "[machine]\n[[machine.zone]]\nkind = \"Normal\"\nmanaged = \"64MiB\"\n";
const TASK: &str = "[[task]]\nworkload = \"sequential\"\nmemory = \"1MiB\"\n";
const PHASED: &str = "[[task]]\nworkload = \"phased\"\n";
const REGIONS: &str = "regions = { a = { pages = 10 }, log = { pages = 4, kind = \"read\" } }\n";

const DAMON_7_3: &str = "[[damon]]\nrules = { preset = \"damon-v7.3\" }\n";
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
        let files = ["\"read\"", "\"write\"", "\"fsync\""];
        let region = if files.contains(&step) { "\"log\"" } else { "\"a\"" };
        let mut given = vec![("do", step), ("steps", "[{ do = \"drop-caches\" }]")];
        given.extend([("region", region), ("vm", "{ swappiness = 1 }"), ("enabled", "7")]);
        given.retain(|g| t.key(g.0).is_some());
        let before = format!("{MACHINE}{PHASED}{REGIONS}[[task.steps]]\n");
        return at(before, "task[0].steps[0].", &given, "");
    }
    if let Some((before, path, given)) = daemons::place(t.title).or_else(|| groups::place(t.title))
    {
        return at(format!("{MACHINE}{before}"), path, given, TASK);
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
        "[machine.zswap]" => {
            let swap = "[machine.swap]\nsize = \"1GiB\"\n";
            at(format!("{MACHINE}{swap}[machine.zswap]\n"), "machine.zswap.", &[], TASK)
        }
        "vm of do = \"sysctl\"" => {
            let step = "[[task.steps]]\ndo = \"sysctl\"\n[task.steps.vm]\n";
            at(format!("{MACHINE}{PHASED}{REGIONS}{step}"), "task[0].steps[0].vm.", &[], "")
        }
        "[machine.vm]" => at(format!("{MACHINE}[machine.vm]\n"), "machine.vm.", &[], TASK),
        "[[machine.disk]]" => {
            let given = [("device", "\"hdd\"")];
            at(format!("{MACHINE}[[machine.disk]]\n"), "machine.disk[0].", &given, TASK)
        }
        "[[variant]]" => at(format!("{MACHINE}[[variant]]\n"), "variant[0].", &[], TASK),
        "[[task]]" => {
            let given = [("workload", "\"sequential\""), ("memory", "\"1MiB\"")];
            at(format!("{MACHINE}[[task]]\n"), "task[0].", &given, "")
        }
        "contents of [[task]]" => {
            let task = "[[task]]\nworkload = \"sequential\"\nmemory = \"1MiB\"\n";
            let given = [("lengths", "[{ permille = 1000, bytes = 1 }]")];
            at(format!("{MACHINE}{task}[task.contents]\n"), "task[0].contents.", &given, "")
        }
        "lengths of contents" => {
            let before = format!("{MACHINE}{TASK}[[task.contents.lengths]]\n");
            let given = [("permille", "1000"), ("bytes", "1")];
            at(before, "task[0].contents.lengths[0].", &given, "")
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
        "[[damon.pause]]" => {
            let before = format!("{MACHINE}{DAMON_7_3}[[damon.pause]]\n");
            at(before, "damon[0].pause[0].", &[], TASK)
        }
        "[[damon.scheme]]" => {
            at(format!("{MACHINE}[[damon]]\n[[damon.scheme]]\n"), "damon[0].scheme[0].", &[], TASK)
        }
        "[damon.intervals-goal]" => {
            let before = format!("{MACHINE}{DAMON_7_3}[damon.intervals-goal]\n");
            let given = [("max-sample", "\"10s\"")];
            at(before, "damon[0].intervals-goal.", &given, TASK)
        }
        "[damon.scheme.fail-charge]" => {
            let scheme = "[[damon.scheme]]\naction = \"stat\"\n[damon.scheme.fail-charge]\n";
            let before = format!("{MACHINE}{DAMON_7_3}{scheme}");
            at(before, "damon[0].scheme[0].fail-charge.", &[], TASK)
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
        "machine.host" => at(format!("{MACHINE}[machine.host]\n"), "machine.host.", &[], TASK),
        "[[expect]]" => at(
            format!("{MACHINE}[[expect]]\n"),
            "expect[0].",
            &[("figure", "\"pswpin\""), ("above", "1")],
            TASK,
        ),
        "than of [[expect]]" => {
            let before =
                format!("{MACHINE}[[expect]]\nfigure = \"pswpin\"\nabove = 1\n[expect.than]\n");
            at(before, "expect[0].than.", &[], TASK)
        }
        "A law of times" => {
            let before = format!(
                "{MACHINE}[[task]]\nworkload = \"uniform\"\nmemory = \"1MiB\"\naccesses = 1\n\
                 [task.think]\n"
            );
            let given = [("law", "\"exponential\""), ("mean", "\"1ms\"")];
            at(before, "task[0].think.", &given, "")
        }
        "A law of counts" => {
            let before = format!(
                "{MACHINE}[[task]]\nworkload = \"reader\"\nrecords = 1\nitems = 1\n\
                 item = \"32KiB\"\nindex = \"1 pages\"\n[task.index-reads]\n"
            );
            at(before, "task[0].index-reads.", &[("law", "\"poisson\""), ("mean", "6")], "")
        }
        "A law of sizes" => {
            let before =
                format!("{MACHINE}[[task]]\nworkload = \"build\"\nrecords = 1\n[task.anon]\n");
            let given = [("law", "\"exponential\""), ("mean", "\"1MiB\"")];
            at(before, "task[0].anon.", &given, "")
        }
        other => panic!("say where {other} is"),
    }
}

/// A value that the kind takes.
fn some(kind: Kind) -> Option<String> {
    Some(match kind {
        Kind::Size(n) | Kind::Sizes(n, _) => format!("\"{} pages\"", n.max(1)),
        Kind::Time | Kind::Times(_) => "\"1ms\"".into(),
        Kind::Count(lo, _) => lo.to_string(),
        Kind::Number(lo, _) => lo.to_string(),
        Kind::Whole(lo, _) => lo.to_string(),
        Kind::Text => "\"a\"".into(),
        Kind::Choice(words) => format!("{:?}", words[0]),
        _ => return None,
    })
}

/// Values that the kind does not take.
fn outside(kind: Kind) -> Vec<String> {
    let all: &[&str] = match kind {
        Kind::Size(_) | Kind::Sizes(..) => {
            &["64", "\"64\"", "\"-1 pages\"", "\"1ms\"", "\"1 byte\"", "true"]
        }
        Kind::Limit => &["64", "\"most\"", "\"-1MiB\"", "[]"],
        Kind::Time | Kind::Times(_) => {
            &["5", "\"5\"", "\"-1ms\"", "\"64MiB\"", "\"1 h\"", "\"0.1ns\"", "false"]
        }
        Kind::Rate => &["5", "\"150MB\"", "\"0B/s\"", "\"-1MB/s\"", "\"fast\"", "{}"],
        Kind::Count(..) | Kind::Counts(..) => &["-1", "1.5", "\"1\"", "true", "[1]", "inf"],
        Kind::CountOr(_) => &["0", "1.5", "\"a\"", "true"],
        Kind::Whole(..) => &["1.5", "\"1\"", "true", "[1]", "inf"],
        Kind::Number(..) => &["-0.1", "nan", "inf", "\"1\"", "true", "[]"],
        Kind::Flag => &["1", "\"true\"", "[]"],
        Kind::Text | Kind::File => &["3", "true", "[\"a\"]"],
        Kind::Choice(_) | Kind::Kernel => &["\"no such word\"", "\"\"", "5.5", "true"],
        Kind::Texts => &["\"a\"", "3"],
        Kind::Device(_) => &["\"no such device\"", "3"],
        _ => &["3", "\"a\"", "true"],
    };
    let mut all: Vec<String> = all.iter().map(|v| v.to_string()).collect();
    match kind {
        Kind::Size(n) | Kind::Sizes(n, _) if n > 0 => all.push(format!("\"{} pages\"", n - 1)),
        Kind::Count(lo, hi) | Kind::Counts(lo, hi, _) => {
            all.extend(lo.checked_sub(1).map(|n| n.to_string()));
            all.push((hi + 1).to_string());
        }
        Kind::Whole(lo, hi) => all.extend([lo - 1, hi + 1].map(|n| n.to_string())),
        Kind::Number(_, hi) => all.push((hi + 0.1).to_string()),
        _ => {}
    }
    all
}

/// The ends of the range.
fn ends(kind: Kind) -> Vec<String> {
    match kind {
        Kind::Size(n) | Kind::Sizes(n, _) => vec![format!("\"{n} pages\"")],
        Kind::Count(lo, hi) | Kind::Counts(lo, hi, _) => vec![lo.to_string(), hi.to_string()],
        Kind::Whole(lo, hi) => vec![lo.to_string(), hi.to_string()],
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
    Scenario::from_str(text, "x.toml").and_then(|s| s.expand(&Catalogue)).map(drop)
}

/// All keys, but for the two that every file has anyway.
fn all() -> impl Iterator<Item = (&'static TableSpec, &'static KeySpec)> {
    let of = |t: &'static TableSpec| t.keys().map(move |k| (t, k));
    let all = all_tables().into_iter().flat_map(of);
    all.filter(|(t, k)| t.title != "Top level" || !["machine", "task"].contains(&k.name))
}

#[test]
fn what_is_outside_is_one_message_at_its_place() {
    let schema = Validator::new(&Catalogue);
    let mut wrong = Vec::new();
    let mut asked = 0;
    for (t, key) in all() {
        for value in outside(key.kind) {
            asked += 1;
            let (text, at) = with(t, key, &value);
            // A pattern knows no least quantity, and a validator no number beyond 2^53.
            let amount = value.trim_matches('"').split_once(' ').is_some_and(|v| v.1 == "pages");
            let beyond = ["\"0.1ns\"", "\"0B/s\"", "9007199254740993"].contains(&value.as_str());
            let unseen = beyond || amount && !value.contains('-');
            if !unseen && schema.judge(&text).is_some_and(|j| j.is_ok()) {
                wrong.push(format!("the schema takes {} = {value} in {}", key.name, t.title));
            }
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

/// Values that the kind takes, more than one where it can.
fn several(path: &str, kind: Kind) -> Vec<String> {
    let words = |all: &[&str]| all.iter().map(|v| v.to_string()).collect::<Vec<_>>();
    let quoted = |all: &[&str]| all.iter().map(|v| format!("{v:?}")).collect::<Vec<_>>();
    match kind {
        Kind::Size(n) | Kind::Sizes(n, _) => {
            let mut all = vec![format!("\"{} pages\"", n.max(1)), format!("\"{} pages\"", n + 2)];
            all.extend(quoted(&["4MiB", "16MiB", "32MiB", "128MiB"]));
            if let Kind::Sizes(..) = kind {
                all.push("{ law = \"gamma\", shape = 2, scale = \"1MiB\", max = \"8MiB\" }".into());
            }
            all
        }
        Kind::Limit => quoted(&["max", "16MiB", "32MiB"]),
        Kind::Time => quoted(&["1ns", "1us", "1ms", "5ms", "1s", "3s"]),
        Kind::Times(_) => words(&[
            "\"1us\"",
            "\"5ms\"",
            "\"20s\"",
            "{ law = \"exponential\", mean = \"5ms\" }",
            "{ law = \"gamma\", shape = 2, scale = \"5ms\", max = \"1s\" }",
        ]),
        Kind::Counts(lo, ..) => words(&[&lo.to_string(), "8", "{ law = \"poisson\", mean = 8 }"]),
        Kind::Rate => quoted(&["100MB/s", "200MB/s"]),
        Kind::Count(lo, hi) => {
            let all = [lo, lo + 1, 2, 3, 8, 16, 100, 4096, 8192, hi];
            let mut all: Vec<u64> = all.into_iter().filter(|n| (lo..=hi).contains(n)).collect();
            all.dedup();
            all.iter().map(u64::to_string).collect()
        }
        Kind::CountOr(_) => words(&["1", "8"]),
        Kind::Whole(lo, hi) => [lo, 0, 1, hi].map(|n| n.to_string()).to_vec(),
        Kind::Number(lo, hi) => [lo, lo + (hi - lo) / 4.0, lo + (hi - lo) / 2.0, hi]
            .iter()
            .map(|x| format!("{x:?}"))
            .collect(),
        Kind::Flag => words(&["true", "false"]),
        Kind::Text if path.ends_with("region") => quoted(&["a", "log"]),
        Kind::Text if path.ends_with("text") => {
            let one = "#regions\na, 4096\n\n#phases\nPhase 1\n100\na, 1, 64, 1\n";
            vec![format!("{one:?}"), format!("{:?}", one.replace("100", "200"))]
        }
        Kind::Text => quoted(&["a", "b"]),
        Kind::File => {
            let file = |name: &str| format!("\"{}/{name}\"", env!("CARGO_MANIFEST_DIR"));
            match path.rsplit('.').next() {
                Some("trace") => ["traces/cc1.mmt", "traces/sort.mmt"].map(file).to_vec(),
                Some("config") => ["scenarios/masim-stairs.cfg", "scenarios/masim-hot-cold.cfg"]
                    .map(file)
                    .to_vec(),
                _ => ["scenarios/uniform.toml", "scenarios/zipf-anon.toml"].map(file).to_vec(),
            }
        }
        Kind::Choice(all) => quoted(all),
        Kind::Kernel => ["4.1", "5.5", "6.1", "6.12"].map(|k| format!("{k:?}")).to_vec(),
        Kind::Device(_) => words(&[
            "\"zram\"",
            "\"nvme\"",
            "\"hdd\"",
            "{ read = \"80us\", write = \"20us\" }",
            "{ read = \"80us\", write = \"20us\", servers = 2 }",
        ]),
        Kind::Texts => words(&["[\"anon 0 100\", \"snap end\"]", "[\"anon 0 200\", \"snap end\"]"]),
        Kind::Rows(t) if t.name == "rules" => {
            words(&["{}", "{ lru-batch = 31 }", "{ highatomic = \"no\" }"])
        }
        Kind::Rows(t) if t.name == "costs" => {
            words(&["{}", "{ t_hit = \"1ns\" }", "{ t_scan = \"1ns\" }"])
        }
        Kind::Rows(t) if t.name == "policy" => {
            words(&["{ preset = \"classic-v5.9\" }", "{ preset = \"mglru-v6.12\" }"])
        }
        Kind::Rows(t) if t.name == "compaction" => {
            words(&["{ preset = \"none\" }", "{ preset = \"compaction-v4.1\" }"])
        }
        Kind::Rows(t) if t.name == "damon-rules" => {
            words(&["{ preset = \"damon-v6.1\" }", "{ preset = \"damon-v6.12\" }"])
        }
        Kind::Regions(_) if path.ends_with("maps") => {
            words(&["{ a = { entries = 10 } }", "{ a = { entries = 11 } }"])
        }
        Kind::Regions(_) => words(&["{ a = { pages = 10 } }", "{ a = { pages = 11 } }"]),
        Kind::Steps(_) => words(&[
            "[{ do = \"touch\", region = \"a\" }]",
            "[{ do = \"touch\", region = \"a\", write = true }]",
            "[{ do = \"drop-caches\" }]",
        ]),
        // Tables have rows of their own; here it is whether they are there.
        Kind::Table(_) | Kind::Tables(_) | Kind::OneOrMore(_) | Kind::Tasks(_) => tables(path),
        Kind::Rows(_) | Kind::Overrides | Kind::Axes | Kind::Quantity => Vec::new(),
    }
}

fn tables(path: &str) -> Vec<String> {
    let all: &[&str] = match path.rsplit('.').next().unwrap_or(path) {
        "zone" => &[
            "[{ kind = \"Normal\", managed = \"64MiB\" }]",
            "[{ kind = \"Normal\", managed = \"32MiB\" }]",
        ],
        "cache-ext" => &["{ module = \"builtin:mru\" }", "{ module = \"builtin:fifo\" }"],
        "node" => &["[{ memory = \"64MiB\" }]", "[{ memory = \"32MiB\" }, { memory = \"32MiB\" }]"],
        "swap" => &["{ size = \"1MiB\" }", "{ size = \"2MiB\" }"],
        "pcp" => &["{ high = 0, batch = 1 }", "{ high = 8, batch = 2 }"],
        "vm" => &["{}", "{ swappiness = 1 }", "{ swappiness = 2 }"],
        "memcg" => &["[]", "[{ name = \"g\" }]"],
        "disk" => &["[]", "[{ name = \"d\", device = \"hdd\" }]"],
        "damon" => &["[]", "[{ ops = \"paddr\" }]"],
        "region" => &["[]", "[{ start = \"0 pages\", end = \"100 pages\" }]"],
        "scheme" => &["[]", "[{ action = \"stat\" }]", "[{ action = \"pageout\" }]"],
        _ => &[],
    };
    all.iter().map(|v| v.to_string()).collect()
}

/// Settings that decide the result of a run, and those that its report prints.
fn run_and_settings(text: &str) -> Option<(RunSpec, String)> {
    let runs = Scenario::from_str(text, "x.toml").ok()?.expand(&Catalogue).ok()?;
    let mut run = runs.into_iter().next()?;
    let m = mmsim::run::meta(&run);
    let told = format!("{} {} {} {:?} {:?}", m.kernel, m.cpus, m.policy, m.knobs, m.setup);
    // Reports have these in fields of their own, or they change no result.
    (run.variant, run.axes, run.seed) = (String::new(), Vec::new(), 0);
    (run.bounds, run.expect_oom) = (false, false);
    (run.given, run.files) = (Vec::new().into(), Vec::new().into());
    Some((run, told))
}

/// True if reports have a key in another place than their list of what was given: the file and how
/// often it runs, the keys that they have fields of their own for, policies knob by knob.
fn elsewhere(t: &TableSpec, key: &KeySpec) -> bool {
    let policy = matches!(key.kind, Kind::Rows(t) if matches!(t.rows, RowsOf::Preset(_)));
    policy
        || matches!(t.title, "Top level" | "[[variant]]" | "[[expect]]" | "than of [[expect]]")
        || (t.title == "[machine]" && ["kernel", "cpus", "vm"].contains(&key.name))
}

/// Every key moves some run. Two runs that differ by one key differ in what their reports say that
/// was set. Whatever is set is there by its path.
#[test]
fn reports_tell_every_key_that_decides_a_result() {
    let (mut hidden, mut idle, mut moved, mut told) = (Vec::new(), Vec::new(), 0, 0);
    for (t, key) in all() {
        let path = format!("{}{}", place(t).path, key.name);
        let shown = path.strip_prefix("machine.").filter(|p| p.starts_with("vm."));
        let shown = format!("\"{}", shown.unwrap_or(&path));
        let runs: Vec<_> = several(&path, key.kind)
            .iter()
            .filter_map(|v| Some((v.clone(), run_and_settings(&with(t, key, v).0)?)))
            .collect();
        let mut moves = false;
        for (i, (a, (run_a, told_a))) in runs.iter().enumerate() {
            let empty = ["[]", "{}"].contains(&a.as_str());
            if !elsewhere(t, key) && !empty {
                told += 1;
                if !told_a.contains(&shown) {
                    hidden.push(format!("{path} = {a} of {} is not told", t.title));
                }
            }
            for (b, (run_b, told_b)) in &runs[..i] {
                moves |= run_a != run_b;
                if run_a != run_b && told_a == told_b {
                    hidden.push(format!("{path} of {}: {b} and {a} look alike", t.title));
                }
            }
        }
        moved += usize::from(moves);
        if runs.len() > 1 && !moves && !elsewhere(t, key) {
            idle.push(path);
        }
    }
    assert!(hidden.is_empty(), "{}", hidden.join("\n"));
    assert!(idle.is_empty(), "no field is filled from\n{}", idle.join("\n"));
    assert!(moved > 250 && told > 1000, "only {moved} keys moved a run, {told} values were taken");
}

/// The same of every knob of every policy.
#[test]
fn reports_tell_every_knob() {
    let mut moved = 0;
    for (table, presets) in [
        ("[reclaim]", Catalogue.presets()),
        ("[compaction]", Catalogue.compaction_presets()),
        ("[[damon]]\n[damon.rules]", Catalogue.damon_presets()),
    ] {
        for preset in presets {
            for knob in Catalogue.knobs(&preset) {
                let words = knob.values.split(" | ").map(|w| format!("{w:?}"));
                let range = knob.values.split_once(" to ");
                let values: Vec<String> = match range {
                    Some((low, high)) => vec![low.to_string(), high.to_string()],
                    None => words.collect(),
                };
                let file = |v: &String| {
                    let knob = format!("{} = {v}", knob.key);
                    format!("{MACHINE}{TASK}{table}\npreset = \"{preset}\"\n{knob}\n")
                };
                let runs: Vec<_> =
                    values.iter().filter_map(|v| run_and_settings(&file(v))).collect();
                for (i, a) in runs.iter().enumerate() {
                    for b in &runs[..i] {
                        moved += 1;
                        assert_ne!(a.1, b.1, "{preset}: {}", knob.key);
                    }
                }
            }
        }
    }
    assert!(moved > 100, "only {moved}");
}

/// The runs of a scenario with values put in, and what `--dry-run` prints of it; none if it is
/// refused.
fn runs_and_text(text: &str, sets: &[(String, String)]) -> Option<(Vec<RunSpec>, String)> {
    let scenario = Scenario::from_str(text, "x.toml").ok()?.with_sets(sets).ok()?;
    Some((scenario.expand(&Catalogue).ok()?, scenario.resolved()))
}

fn reads_back(file: &str, sets: &[(String, String)]) -> bool {
    let Some((runs, text)) = runs_and_text(file, sets) else { return false };
    let again = Scenario::from_str(&text, "x.toml").unwrap_or_else(|e| panic!("{sets:?}: {e}"));
    let again_runs = again.expand(&Catalogue).unwrap_or_else(|e| panic!("{sets:?}: {e}"));
    assert_eq!(again_runs, runs, "{sets:?} of\n{file}");
    assert_eq!(again.resolved(), text, "{sets:?} of\n{file}");
    true
}

/// A scenario that is printed with some keys set by options, as TOML and as plain text, reads back
/// to the same runs.
#[test]
fn whatever_is_set_is_written_out_so_that_it_reads_back() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut draw = |n: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % n as u64) as usize
    };
    let mut taken = 0;
    for (t, key) in all() {
        let path = place(t).path;
        let mut values = several(&format!("{path}{}", key.name), key.kind);
        values.push("6.1".into());
        for value in &values {
            // A quarter of them, which are others with each change of the tables.
            if draw(4) != 0 {
                continue;
            }
            let (file, _) = with(t, key, &values[draw(values.len())]);
            let mut sets = vec![(key, value.clone())];
            let keys: Vec<&'static KeySpec> = t.keys().collect();
            for _ in 0..draw(3) {
                let other = keys[draw(keys.len())];
                let values = several(&format!("{path}{}", other.name), other.kind);
                if !values.is_empty() {
                    sets.push((other, values[draw(values.len())].clone()));
                }
            }
            let plain = |v: &str| v.trim_matches('"').replace("\\n", "\n");
            let set = |(k, v): &(&KeySpec, String), bare: bool| {
                (format!("{path}{}", k.name), if bare { plain(v) } else { v.clone() })
            };
            let bare = draw(2) == 1;
            let [all, first] = [bare, !bare].map(|bare| {
                let sets: Vec<_> = sets.iter().map(|s| set(s, bare)).collect();
                sets
            });
            taken += usize::from(reads_back(&file, &all));
            taken += usize::from(reads_back(&file, &first[..1]));
        }
    }
    assert!(taken > 500, "only {taken}");
}

/// Numbers that are names, wherever options can put them.
#[test]
fn kernels_without_quotes_are_written_with_them() {
    let file = format!("{MACHINE}{TASK}[[variant]]\nname = \"v\"\n");
    let sets = |all: &[(&str, &str)]| -> Vec<(String, String)> {
        all.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect()
    };
    for case in [
        &[("machine.kernel", "6.1")][..],
        &[("machine", "{ kernel = 6.1 }")],
        &[("variant[0].kernel", "6.1")],
        &[("variant", "[{ name = 6.1, kernel = 6.1 }, { name = 5, kernel = 5.5 }]")],
        &[("variant[0].set", "{ \"machine.kernel\" = 6.1 }")],
        &[("axes", "{ \"machine.kernel\" = [5.5, 6.1] }")],
        &[("axes", "{ \"task[0].name\" = [1, 2.50] }")],
        &[("name", "6.1"), ("task[0].name", "7")],
        &[(
            "machine.swap",
            "{ size = \"1MiB\", device = { name = 9, read = \"1us\", write = \"1us\" } }",
        )],
    ] {
        assert!(reads_back(&file, &sets(case)), "{case:?} is refused");
    }
    // In a file they are wrong as ever.
    let wrong = file.replace("[machine]", "[machine]\nkernel = 6.1");
    assert!(Scenario::from_str(&wrong, "x.toml").is_err());
}

/// Axes with more combinations than can be counted, and one more than there may be.
#[test]
fn too_many_combinations_are_counted_before_one_is_made() {
    let axes = |n: usize, values: usize| {
        let mut file = format!("{MACHINE}{TASK}[axes]\n");
        for i in 0..n {
            let values: Vec<String> = (0..values).map(|v| format!("\"{}ns\"", v + 1)).collect();
            let cost = ["t_hit", "t_scan", "t_unmap", "t_evict"].get(i).copied();
            let cost = cost.map_or(format!("t_{i}"), str::to_string);
            file += &format!("\"machine.cost.{cost}\" = [{}]\n", values.join(", "));
        }
        file
    };
    for file in [axes(22, 8), axes(64, 2), axes(65, 2), axes(4, 11), axes(2, 101)] {
        let e = Scenario::from_str(&file, "x.toml").unwrap_err();
        assert_eq!(e.title(), "axes, variants and seeds make more than 10000 runs");
        assert_eq!(e.position(), Some(("x.toml", 6, 2)));
    }
    assert!(Scenario::from_str(&axes(2, 10), "x.toml").is_ok());
}
