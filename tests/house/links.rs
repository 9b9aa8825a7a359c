//! Links between documents lead somewhere, and the book has every document.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use crate::manifests::{below, read, root};

/// Lines of a document outside blocks of code.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fence && !fenced
    })
}

/// The name that a heading has in links: lower case, hyphens for blanks, no punctuation.
fn anchor(heading: &str) -> String {
    let mut text = heading.trim();
    let mut shown = String::new();
    // Of a link the text is shown.
    while let Some((before, rest)) = text.split_once("](") {
        shown += before;
        text = rest.split_once(')').map_or("", |r| r.1);
    }
    shown += text;
    let kept = shown.to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Names of all headings; one that is there already gets a number.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for (_, line) in prose(text) {
        let Some((_, heading)) = line.split_once("# ").filter(|h| h.0.chars().all(|c| c == '#'))
        else {
            continue;
        };
        let name = anchor(heading);
        let numbered = (1..).map(|n| format!("{name}-{n}"));
        let new = std::iter::once(name.clone()).chain(numbered).find(|n| !all.contains(n));
        all.extend(new);
    }
    all
}

/// Targets of links, each with its line.
fn links(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (i, line) in prose(text) {
        for piece in line.split("](").skip(1) {
            found.extend(piece.split_once(')').map(|(target, _)| (i + 1, target)));
        }
    }
    found
}

/// The path without `..`, which need not exist.
fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(out.pop()),
            part => out.push(part),
        }
    }
    out
}

/// Documents of the repository for readers, each once: crates have some by another path.
fn documents() -> BTreeSet<PathBuf> {
    let mut files = Vec::new();
    for folder in ["crates", "docs", "evidence", "fuzz", "scenarios", "tests", "tools", "traces"] {
        below(&root().join(folder), &mut files);
    }
    let here = std::fs::read_dir(root()).expect("the repository");
    files.extend(here.map(|e| e.expect("an entry").path()).filter(|p| p.is_file()));
    files.retain(|f| f.extension().is_some_and(|e| e == "md"));
    files.iter().map(|f| f.canonicalize().expect("a file")).collect()
}

#[test]
fn anchors_are_those_of_a_reader() {
    let text =
        "# A `b-c` d, %\n```\n# no\n```\n## [Title](x.md#y): two\n## Twice\n## Twice\n#!no\n";
    let expected = ["a-b-c-d-", "title-two", "twice", "twice-1"];
    assert_eq!(anchors(text), expected.map(String::from).into());
    let found = links("a [b](c.md#d), [e](f) and\n```\n[g](h)\n```\n![i](j.svg)\n");
    assert_eq!(found, [(1, "c.md#d"), (1, "f"), (5, "j.svg")]);
}

#[test]
fn links_lead_to_files_and_headings() {
    let documents = documents();
    let (mut broken, mut checked) = (Vec::new(), 0);
    for path in &documents {
        let text = read(path);
        for (line, target) in links(&text) {
            if target.contains("://") || target.starts_with("mailto:") || target.contains(' ') {
                continue;
            }
            checked += 1;
            let (file, name) = target.split_once('#').unwrap_or((target, ""));
            let folder = path.parent().expect("a folder");
            let to = if file.is_empty() { path.clone() } else { plain(&folder.join(file)) };
            let there = to.exists()
                && (name.is_empty()
                    || to.extension().is_none_or(|e| e != "md")
                    || anchors(&read(&to)).contains(name));
            if !there {
                let path = path.strip_prefix(root()).unwrap_or(path).display();
                broken.push(format!("{path}:{line}: {target}"));
            }
        }
    }
    assert!(documents.len() > 60 && checked > 500, "{checked} links");
    assert!(broken.is_empty(), "{} links lead nowhere:\n{}", broken.len(), broken.join("\n"));
}

/// docs/SUMMARY.md is the table of contents of the book that `tools/book` makes.
#[test]
fn the_book_has_every_document() {
    let docs = root().join("docs");
    let mut files = Vec::new();
    below(&docs, &mut files);
    let name = |path: &PathBuf| {
        let name = path.strip_prefix(&docs).expect("below docs").display().to_string();
        (name.ends_with(".md") && name != "SUMMARY.md").then_some(name)
    };
    let there: BTreeSet<String> = files.iter().filter_map(name).collect();
    let summary = read(&docs.join("SUMMARY.md"));
    let listed: Vec<&str> = links(&summary).into_iter().map(|l| l.1).collect();
    let all: BTreeSet<String> = listed.iter().map(|l| l.to_string()).collect();
    assert_eq!(all.len(), listed.len(), "docs/SUMMARY.md lists a document twice");
    assert_eq!(all, there, "docs/SUMMARY.md lists each document, and nothing else");
}

/// The gallery's commands name files that are there, and each writes a page of its own.
#[test]
fn the_gallery_has_commands() {
    let text = read(&root().join("docs/gallery.md"));
    let blocks = text.split("```sh\n").skip(1).filter_map(|b| b.split_once("\n```"));
    let commands: Vec<&str> = blocks.map(|b| b.0).collect();
    let mut pages = BTreeSet::new();
    for command in &commands {
        let words: Vec<&str> = command.split_whitespace().collect();
        let input = words.iter().find(|w| w.starts_with("scenarios/") || w.starts_with("traces/"));
        let input = input.unwrap_or_else(|| panic!("no file: {command}"));
        assert!(root().join(input).exists(), "{input}");
        let page = words.windows(2).find(|w| w[0] == "--html").expect("a page")[1];
        assert!(page.starts_with("gallery/") && page.ends_with(".html"), "{page}");
        assert!(words[0] == "mmsim" && pages.insert(page), "{command}");
    }
    assert!(commands.len() >= 5, "{commands:?}");
}
