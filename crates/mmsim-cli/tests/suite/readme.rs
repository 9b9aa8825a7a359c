//! README.md and documents of docs/ show what the commands print. A block after
//! `<!-- checked -->` begins with a command line; the rest is its standard output, word by word,
//! or those of its lines that a `grep` behind it would leave. Long runs are for `.ci/run`, the longest
//! for `tools/deep-check documents`. Both ask the program of the release (`MMSIM_PROGRAM`).
//!
//! `MMSIM_BLESS=1 cargo test --workspace --test suite readme -- --include-ignored` rewrites them.

use mmsim::report::blocks::Attempts;
use mmsim::report::derived::Figure;

use crate::documents::{END, blocks, output_of, read, root};
use crate::tunes::of_document;

/// The first fenced block of a language.
fn fenced<'a>(text: &'a str, language: &str) -> &'a str {
    let block = text.split_once(&format!("```{language}\n")).and_then(|t| t.1.split_once("```"));
    block.unwrap_or_else(|| panic!("no block of {language}")).0
}

/// The README's commands run the README's scenario and plan, and compare what its commands made.
#[test]
#[ignore = "`.ci/run` asks the program of the release"]
fn blocks_of_the_readme() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let text = read("README.md");
    let (before, after) = text.split_once("<!-- file swappiness.toml -->").expect("a plan");
    for (name, text) in [("first.toml", before), ("swappiness.toml", after)] {
        std::fs::write(folder.path().join(name), fenced(text, "toml")).expect("writing a file");
    }
    std::fs::create_dir(folder.path().join("traces")).expect("a folder");
    let trace = root().join("traces/cc1.mmt");
    std::fs::copy(trace, folder.path().join("traces/cc1.mmt")).expect("a trace");
    let commands = fenced(after, "sh").replace("\\\n", " ");
    let reports = commands.lines().map(|command| output_of(command, folder.path()));
    assert!(reports.eq(["", ""]), "both write to files");
    assert_eq!(blocks("README.md", folder.path()), 5);
}

/// The README quotes a part of an example: that part is in the example, line by line.
#[test]
fn the_readme_quotes_the_example() {
    let lines = |text: &str| -> Vec<String> { text.lines().map(|l| l.trim().into()).collect() };
    let (readme, example) = (read("README.md"), lines(&read("examples/own_policy.rs")));
    let (_, rest) = readme.split_once("<!-- from examples/own_policy.rs -->").expect("a mark");
    let quoted = lines(fenced(rest, "rust"));
    assert!(quoted.len() > 5, "a quote of {} lines", quoted.len());
    let found = example.windows(quoted.len()).any(|w| w == quoted);
    assert!(found, "examples/own_policy.rs has changed: quote it anew in README.md");
}

/// The README's headline is that of the documents, which other tests hold.
#[test]
fn the_headline_is_that_of_the_documents() {
    let readme = read("README.md");
    let one_line = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let accuracy = one_line(read("docs/accuracy.md"));
    let between = |text: &str, from: &str, to: &str| -> String {
        let rest = text.split_once(from).unwrap_or_else(|| panic!("no {from}")).1;
        rest.split_once(to).unwrap_or_else(|| panic!("no {to}")).0.to_string()
    };
    let all = between(&accuracy, "## Predicted Of ", " counters judged");
    let met = between(&accuracy, "each in one experiment and kernel, **", " are as close");
    let looked_at = between(&accuracy, "far off. ", " more were looked at");
    let held_out = between(&read("docs/recording.md"), "\nRules: ", " met");
    let decisions = between(&read("docs/dev/validation.md"), "\n7.3     classic", "\n");
    let alike = decisions.split_whitespace().nth(1).expect("the share that is alike");
    let published = read("docs/published.md");
    let families = ["ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen"];
    let rows = between(&published, "|---|---|---|\n", "\n\n").lines().count();
    let family = families.get(rows - 10).expect("a number of families");
    let (_, summary) = published.split_once("\n| experiment | sizes |").expect("a summary");
    let sizes = |of: &str| {
        let row = between(summary, &format!("\n| `{of}` | "), " |");
        row.replace('/', " of ")
    };
    let [anon, compaction] = ["anon-workingset", "compaction-redesign"].map(sizes);
    for claim in [
        format!("in at least {alike} % of them"),
        format!("reruns {family} families of published experiments"),
        format!(
            "Of the anonymous series these are {anon} sizes, of the redesign of compaction {compaction}."
        ),
        format!("**{met} of {all}** counters agree"),
        format!("The {all} leave out {looked_at} counters whose recordings were looked at"),
        format!("**{held_out}** counters agree on sixteen held-out points"),
    ] {
        assert!(one_line(readme.clone()).contains(&claim), "README.md: {claim}");
    }
}

#[test]
#[ignore = "`.ci/run` asks the program of the release"]
fn blocks_about_curves() {
    assert_eq!(blocks("docs/curves.md", &root()), 1);
}

#[test]
fn blocks_about_guests() {
    assert_eq!(blocks("docs/guests.md", &root()), 1);
}

#[test]
#[ignore = "`.ci/run` asks the program of the release"]
fn blocks_about_compressed_swap() {
    assert_eq!(blocks("docs/compressed-swap.md", &root()), 1);
}

#[test]
fn blocks_about_cache_ext() {
    assert_eq!(blocks("docs/cache-ext.md", &root()), 1);
}

#[test]
fn blocks_about_groups() {
    assert_eq!(blocks("docs/groups.md", &root()), 1);
}

#[test]
#[ignore = "`tools/deep-check documents` asks the program of the release"]
fn blocks_about_results() {
    assert_eq!(blocks("docs/results.md", &root()), 2);
}

#[test]
fn blocks_about_observing() {
    assert!(blocks("docs/observing.md", &root()) >= 1);
}

/// The lines of events in docs/observing.md are the first of their kinds that its command writes.
#[test]
fn events_of_the_command_beside_them() {
    let path = root().join("docs/observing.md");
    let text = std::fs::read_to_string(&path).expect("the file");
    let (before, rest) = text.split_once("```sh\n").expect("a command");
    let (command, rest) = rest.split_once("```\n\n```text\n").expect("lines");
    let (old, after) = rest.split_once(END).expect("the end of the block");
    let folder = tempfile::tempdir().expect("a temporary folder");
    output_of(command.replace("\\\n", " ").trim(), folder.path());
    let events = std::fs::read_to_string(folder.path().join("e.jsonl")).expect("events");
    let first = |kind: &str| {
        let kind = format!("\"event\":\"{kind}\"");
        events.lines().find(|l| l.contains(&kind)).expect("an event of this kind")
    };
    let new = format!("{}\n{}\n", first("sim_evict"), first("sim_refault"));
    if std::env::var_os("MMSIM_BLESS").is_some() {
        let text = format!("{before}```sh\n{command}```\n\n```text\n{new}{END}{after}");
        std::fs::write(&path, text).expect("rewriting the file");
    } else {
        assert_eq!(old, new, "run with MMSIM_BLESS=1 and look at the difference");
    }
}

#[test]
fn blocks_about_facts() {
    assert_eq!(blocks("docs/facts.md", &root()), 6);
}

#[test]
#[ignore = "`tools/deep-check documents` asks the program of the release"]
fn blocks_about_the_anonymous_workingset() {
    assert_eq!(blocks("docs/dev/anon-workingset.md", &root()), 1);
}

#[test]
fn blocks_about_compaction() {
    assert_eq!(blocks("docs/compaction.md", &root()), 2);
    assert_eq!(blocks("docs/damon.md", &root()), 1);
    assert_eq!(blocks("docs/policies.md", &root()), 2);
}

#[test]
#[ignore = "`tools/deep-check documents` asks the program of the release"]
fn blocks_about_why() {
    assert_eq!(blocks("docs/why.md", &root()), 4);
    assert_eq!(blocks("docs/ablate.md", &root()), 5);
    assert_eq!(blocks("docs/dev/lazily-activate.md", &root()), 4);
}

#[test]
fn blocks_about_miniatures() {
    assert_eq!(blocks("docs/miniatures.md", &root()), 1);
}

/// The commands of its blocks of shell commands make the reports that are compared.
#[test]
fn blocks_about_comparing() {
    let text = std::fs::read_to_string(root().join("docs/comparing.md")).expect("the file");
    let shell = text.split("```sh\n").skip(1).filter_map(|t| t.split("```").next());
    let shell: String = shell.collect();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let commands = shell.replace("\\\n", " ");
    let made: Vec<String> = commands.lines().map(|c| output_of(c, folder.path())).collect();
    assert_eq!(made, [""; 4], "all write to files");
    assert_eq!(blocks("docs/comparing.md", folder.path()), 2);
}

/// Pages for first questions: a machine's files, the files that the page shows, its shell commands,
/// then its blocks.
#[test]
#[ignore = "`.ci/run` asks the program of the release"]
fn blocks_about_first_questions() {
    let pages = [
        ("kernel", 2),
        ("performance", 1),
        ("research", 1),
        ("damon", 2),
        ("cache", 1),
        ("teaching", 3),
        ("containers", 1),
    ];
    for (page, checked) in pages {
        let file = format!("docs/start-{page}.md");
        let text = read(&file);
        let f = of_document(&text);
        std::fs::create_dir(f.path("traces")).expect("a folder");
        for (from, to) in [
            ("tests/formats/boxes/7.3.txt", "box.txt"),
            ("tests/formats/boxes/7.3-table.txt.gz", "table.txt.gz"),
            ("traces/cc1.mmt", "traces/cc1.mmt"),
            ("tests/formats/boxes/groups.txt", "node.txt"),
        ] {
            std::fs::copy(root().join(from), f.path(to)).expect("a file of the repository");
        }
        let shell = text.split("```sh\n").skip(1).filter_map(|t| t.split("```").next());
        let path = std::env::var_os("PATH").unwrap_or_default();
        let program = crate::program();
        let folder = program.parent().expect("its folder").to_path_buf();
        let path = std::iter::once(folder).chain(std::env::split_paths(&path));
        let run = std::process::Command::new("sh")
            .args(["-euc", &shell.collect::<String>()])
            .current_dir(f.path(""))
            .env("PATH", std::env::join_paths(path).expect("a path"))
            .output()
            .expect("starting sh");
        assert!(run.status.success(), "{file}: {}", String::from_utf8_lossy(&run.stderr));
        assert_eq!(blocks(&file, &f.path("")), checked, "{file}");
    }
}

/// docs/glossary.md has an entry for each figure of tables, under its label, with the name that
/// options take; the first paragraph of an entry says what is counted.
#[test]
fn the_glossary_has_all_figures() {
    let text = read("docs/glossary.md");
    let entries: Vec<(&str, &str)> =
        text.split("\n### ").skip(1).map(|e| e.split_once("\n\n").expect("a paragraph")).collect();
    for (i, (label, body)) in entries.iter().enumerate() {
        assert!(body.starts_with(char::is_alphanumeric), "{label}: no sentence");
        assert!(!entries[..i].iter().any(|e| e.0 == *label), "{label}: two entries");
    }
    let has = |label: &str, needle: &str| {
        let also = format!("`{label}`");
        entries
            .iter()
            .any(|(l, body)| (*l == label || body.contains(&also)) && body.contains(needle))
    };
    for figure in Figure::ALL {
        let name = format!("\nName: `{}`.\n", figure.name());
        assert!(has(figure.label(), &name), "{}: no entry with its name", figure.label());
    }
    for (label, _) in Attempts::FIGURES {
        assert!(has(label.trim(), ""), "{label}: no entry");
    }
}
