//! Sentences of the documents are short.

use crate::manifests::{below, read, root};
use std::path::PathBuf;

/// Most words of a sentence; code spans and punctuation are none.
const MOST_WORDS: usize = 35;

/// Paragraphs and list items, each with the number of its first line. Headings, tables, blocks of
/// code and HTML are left out.
fn paragraphs(text: &str) -> Vec<(usize, String)> {
    let (mut found, mut at): (Vec<(usize, String)>, Option<usize>) = (Vec::new(), None);
    let (mut fenced, mut indented) = (false, false);
    for (i, line) in text.lines().enumerate() {
        let words = line.trim();
        let fence = words.starts_with("```");
        fenced ^= fence;
        indented = line.starts_with("    ") && (at.is_none() || indented) && !words.is_empty();
        let other = words.is_empty() || words.starts_with(['|', '#', '<']);
        if fence || fenced || indented || other {
            at = None;
            continue;
        }
        let digits = words.trim_start_matches(|c: char| c.is_ascii_digit());
        let number = if digits.len() < words.len() { digits.strip_prefix(". ") } else { None };
        let item = words.strip_prefix("- ").or(words.strip_prefix("* ")).or(number);
        match at {
            Some(open) if item.is_none() => {
                found[open].1.push(' ');
                found[open].1.push_str(words);
            }
            _ => {
                at = Some(found.len());
                found.push((i + 1, item.unwrap_or(words).to_string()));
            }
        }
    }
    found
}

/// Words of each sentence of a paragraph.
fn sentences(paragraph: &str) -> Vec<Vec<&str>> {
    let mut all = vec![Vec::new()];
    let (mut code, mut target) = (false, false);
    for word in paragraph.split(' ') {
        // A word is prose if some letter or digit is outside code and outside a link's target.
        let (mut prose, mut last) = (false, ' ');
        let mut before = ' ';
        for c in word.chars() {
            code ^= c == '`';
            target = if before == ']' && c == '(' { true } else { target && c != ')' };
            if !code && !target {
                prose |= c.is_alphanumeric();
                last = if matches!(c, '`' | '*' | ')' | '"' | '_') { last } else { c };
            }
            before = c;
        }
        if prose {
            all.last_mut().expect("a sentence").push(word);
        }
        if matches!(last, '.' | '!' | '?') {
            all.push(Vec::new());
        }
    }
    all
}

#[test]
fn sentences_are_counted() {
    let text = "# Head\n\nOne two `a b. c` [three](x.md#y). Four\nfive.\n\n- Six.\n1. Seven eight!\n\n\
                ```\nno. code\n```\n\n    nor this\n";
    let found: Vec<(usize, Vec<usize>)> = paragraphs(text)
        .iter()
        .map(|(line, p)| (*line, sentences(p).iter().map(Vec::len).filter(|&n| n > 0).collect()))
        .collect();
    assert_eq!(found, [(3, vec![3, 2]), (6, vec![1]), (7, vec![2])]);
}

/// `mmsim-lab accuracy` writes docs/accuracy.md; docs/dev is for those who change mmsim.
#[test]
fn no_sentence_has_more_than_35_words() {
    let names = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "fuzz/README.md"];
    let mut files: Vec<PathBuf> = names.map(|name| root().join(name)).into();
    below(&root().join("docs"), &mut files);
    files.retain(|f| f.extension().is_some_and(|e| e == "md"));
    files.retain(|f| !f.ends_with("accuracy.md") && !f.starts_with(root().join("docs/dev")));
    assert!(files.len() > 20, "only {} documents", files.len());
    let mut long = Vec::new();
    for path in files {
        for (line, paragraph) in paragraphs(&read(&path)) {
            let words = sentences(&paragraph).into_iter().filter(|s| s.len() > MOST_WORDS);
            let place = path.strip_prefix(root()).unwrap_or(&path).display();
            long.extend(words.map(|s| format!("{place}:{line}: {}: {}", s.len(), s.join(" "))));
        }
    }
    assert!(long.is_empty(), "sentences of more than {MOST_WORDS} words: {long:#?}");
}
