//! Phrases that documents, comments, help and messages do not use, and first words of doc comments.

use crate::manifests::{below, read, root};
use std::path::{Path, PathBuf};

/// Phrases in lower case, each with the words to write instead.
const PHRASES: &[(&str, &str)] = &[
    ("is told", "the actor and the verb: \"the policy gets\", \"the report has\""),
    ("are told", "the actor and the verb: \"observers get\", \"the report has\""),
    ("was told", "the actor and the verb: \"got\", \"the user gave\""),
    ("were told", "the actor and the verb: \"got\", \"the user gave\""),
    ("be told", "the actor and the verb: \"must get\", \"the error names\""),
    ("told apart", "\"distinguished\", \"differ\""),
    ("comes to", "\"amounts to\", \"reaches\", \"results in\""),
    ("what it all", "\"summary\""),
    ("be had", "\"exist\", \"be allocated\", \"be measured\""),
    ("by itself", "\"separately\", \"alone\""),
    ("by themselves", "\"separately\", \"alone\""),
    ("is said", "who says it: \"the report says\", \"the user sets\""),
    ("are said", "who says it: \"the report says\", \"the user sets\""),
    ("was said", "who says it: \"the report says\", \"the user sets\""),
    ("were said", "who says it: \"the report says\", \"the user sets\""),
    ("be said", "who says it: \"the report says\", \"the user sets\""),
    ("is asked", "who asks for it: \"the demand is\", \"comes first\", \"checks\""),
    ("are asked", "who asks for it: \"the demands are\", \"come first\", \"checks\""),
    ("was asked", "who asked for it: \"the request\", \"the last call\""),
    ("were asked", "who asked for it: \"the request\", \"the last call\""),
    ("be asked", "who asks for it: \"can be read\", \"can be requested\""),
    ("so many", "the number: a parameter's name, \"this number of\", \"N\""),
    ("somebody", "the actor: \"a thread\", \"a process\", \"an observer\", \"the user\""),
    ("nobody", "the actor: \"no thread\", \"no process\", \"no observer\"; or the passive"),
    ("held against", "\"compared with\", \"checked against\""),
    ("set otherwise", "\"settings that differ\""),
];

/// First words of doc comments that are not those of the thing or the verb.
const FIRST_WORDS: &[(&str, &str)] = &[
    ("What", "the thing: \"Result of ..\", \"Contents of ..\""),
    ("Whether", "\"True if ..\", or the verb: \"Checks that ..\""),
    ("How", "the thing: \"Number of ..\", \"Kind of ..\""),
];

/// A run of lines, or a literal: its first line, and the texts of its lines.
type Text = (usize, Vec<String>);

/// Comments and literals of a Rust file.
#[derive(Default)]
struct Rust {
    /// Each block of comments, without slashes, with true for doc comments.
    comments: Vec<(bool, Text)>,
    /// Literals of strings, line by line.
    literals: Vec<Text>,
}

/// The end of the literal that begins at `at`, behind its last quote, if one does.
fn end_of_literal(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let in_word = at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_');
    let prefix = text[at..].trim_start_matches('b');
    let raw = prefix.strip_prefix('r').map(|r| (r, r.len() - r.trim_start_matches('#').len()));
    if let Some((rest, hashes)) = raw
        && !in_word
        && rest[hashes..].starts_with('"')
    {
        let begin = text.len() - rest.len() + hashes + 1;
        let close = format!("\"{}", "#".repeat(hashes));
        return text[begin..].find(&close).map(|n| begin + n + close.len());
    }
    if bytes[at] != b'"' {
        return None;
    }
    let mut i = at + 1;
    while i < bytes.len() && bytes[i] != b'"' {
        i += 1 + usize::from(bytes[i] == b'\\');
    }
    Some(i + 1)
}

/// The length of a literal of a character, which may be a quote; 0 for a lifetime.
fn character(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    match chars.next() {
        Some((_, '\\')) => text[3..].find('\'').map_or(0, |n| n + 4),
        Some(_) => chars.next().filter(|c| c.1 == '\'').map_or(0, |c| c.0 + 1),
        None => 0,
    }
}

fn rust(text: &str) -> Rust {
    let mut found = Rust::default();
    let (mut i, mut line, mut last) = (0, 1, ("", 0));
    while i < text.len() {
        let rest = &text[i..];
        if rest.starts_with("//") {
            let end = rest.find('\n').unwrap_or(rest.len());
            let comment = &rest[..end];
            let body = comment.trim_start_matches(['/', '!']);
            let slashes = &comment[..comment.len() - body.len()];
            let whole = text[..i].rsplit('\n').next().is_none_or(|l| l.trim().is_empty());
            let kind = if whole { slashes } else { "" };
            match found.comments.last_mut() {
                Some((_, (_, lines))) if whole && last == (kind, line - 1) => {
                    lines.push(body.to_string());
                }
                _ => {
                    let doc = matches!(slashes, "///" | "//!");
                    found.comments.push((doc, (line, vec![body.to_string()])));
                }
            }
            last = (kind, line);
            i += end;
            continue;
        }
        if let Some(end) = end_of_literal(text, i) {
            let lines: Vec<String> = text[i..end].split('\n').map(str::to_string).collect();
            let first = line;
            line += lines.len() - 1;
            found.literals.push((first, lines));
            i = end;
            continue;
        }
        line += usize::from(rest.starts_with('\n'));
        let quoted = if rest.starts_with('\'') { character(rest) } else { 0 };
        i += quoted.max(rest.chars().next().map_or(1, char::len_utf8));
    }
    found
}

/// Paragraphs of a document; blocks of code are left out.
fn paragraphs(text: &str) -> Vec<Text> {
    let mut found: Vec<Text> = Vec::new();
    let (mut fenced, mut open) = (false, false);
    for (i, line) in text.lines().enumerate() {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        if fence || fenced || line.trim().is_empty() {
            open = false;
            continue;
        }
        let alone = line.trim_start().starts_with(['|', '#']);
        if open && !alone {
            found.last_mut().expect("a paragraph").1.push(line.to_string());
        } else {
            found.push((i + 1, vec![line.to_string()]));
        }
        open = !alone;
    }
    found
}

/// Phrases in a text, each with its line, also where it is broken between two lines.
fn phrases_in((first, lines): &Text) -> Vec<(usize, &'static str, &'static str)> {
    let (mut joined, mut begins) = (String::new(), Vec::new());
    for line in lines {
        begins.push(joined.len());
        joined.push_str(line.trim().trim_end_matches('\\').trim_end());
        joined.push(' ');
    }
    let joined = joined.to_ascii_lowercase();
    let is_letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let mut found = Vec::new();
    for &(phrase, instead) in PHRASES {
        for (at, _) in joined.match_indices(phrase) {
            let before = joined[..at].chars().next_back();
            let after = joined[at + phrase.len()..].chars().next();
            if !is_letter(before) && !is_letter(after) {
                let line = begins.partition_point(|&b| b <= at) - 1;
                found.push((first + line, phrase, instead));
            }
        }
    }
    found
}

fn is_product(path: &Path) -> bool {
    path.components().any(|c| c.as_os_str() == "src")
}

/// Files of the repository with an ending, but for those for developers and build artefacts.
fn files(ending: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for folder in [
        "benches",
        "crates",
        "docs",
        "evidence",
        "examples",
        "fuzz",
        "scenarios",
        "src",
        "tests",
        "tools",
        "traces",
    ] {
        if root().join(folder).is_dir() {
            below(&root().join(folder), &mut files);
        }
    }
    files.extend(["ARCHITECTURE.md", "NOTICE.md", "README.md"].map(|name| root().join(name)));
    let built = |f: &Path| f.components().any(|c| c.as_os_str() == "target");
    files.retain(|f| f.extension().is_some_and(|e| e == ending) && !built(f));
    files.retain(|f| !f.starts_with(root().join("docs/dev")));
    files
}

fn place(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

#[test]
fn comments_and_literals_are_found() {
    let text = "/// What\n/// it is told\nfn f<'a>(c: char) {\n    let s = \"a \\\n     so\"; // nobody\n    \
                let t = (r#\"// \"no\"\"#, '\"', '\\'', b\"\\\"\");\n}\n";
    let found = rust(text);
    let comments: Vec<_> =
        found.comments.iter().map(|(doc, (line, text))| (*doc, *line, text.join("|"))).collect();
    assert_eq!(
        comments,
        [(true, 1, " What| it is told".to_string()), (false, 5, " nobody".to_string())]
    );
    let literals: Vec<_> = found.literals.iter().map(|l| (l.0, l.1.len())).collect();
    assert_eq!(literals, [(4, 2), (6, 1), (6, 1)]);
    let of = |lines: &[&str]| {
        phrases_in(&(7, lines.iter().map(|l| l.to_string()).collect()))
            .iter()
            .map(|f| (f.0, f.1))
            .collect::<Vec<_>>()
    };
    assert_eq!(of(&["It is", "told, and Nobody", "besought"]), [(7, "is told"), (8, "nobody")]);
    assert_eq!(of(&["so \\", "   many"]), [(7, "so many")]);
    assert_eq!(of(&["thistold, so manyfold"]), []);
}

#[test]
fn phrases_are_plain() {
    let mut found = Vec::new();
    let mut note = |path: &Path, text: &Text| {
        for (line, phrase, instead) in phrases_in(text) {
            found.push(format!("{}:{line}: \"{phrase}\": write {instead}", place(path)));
        }
    };
    let documents = files("md");
    let sources = files("rs");
    assert!(documents.len() > 40 && sources.len() > 800, "{} files", sources.len());
    for path in &documents {
        paragraphs(&read(path)).iter().for_each(|p| note(path, p));
    }
    for path in sources.iter().filter(|path| !path.ends_with("tests/house/words.rs")) {
        let found = rust(&read(path));
        found.comments.iter().for_each(|(_, c)| note(path, c));
        // A literal without a blank is a name.
        let sentences = found.literals.iter().filter(|l| l.1.join(" ").contains(' '));
        sentences.filter(|_| is_product(path)).for_each(|l| note(path, l));
    }
    assert!(found.is_empty(), "{} places:\n{}", found.len(), found.join("\n"));
}

#[test]
fn doc_comments_begin_with_the_thing_or_the_verb() {
    let mut found = Vec::new();
    for path in files("rs") {
        let docs = rust(&read(&path)).comments.into_iter().filter(|c| c.0);
        for (_, (line, text)) in docs {
            let first = text[0].trim().split(|c: char| !c.is_alphanumeric()).next();
            let wrong = FIRST_WORDS.iter().find(|(word, _)| first == Some(word));
            found.extend(wrong.map(|(word, instead)| {
                format!("{}:{line}: begins with \"{word}\": write {instead}", place(&path))
            }));
        }
    }
    assert!(found.is_empty(), "{} places:\n{}", found.len(), found.join("\n"));
}
