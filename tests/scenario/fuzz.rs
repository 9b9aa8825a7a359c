//! No text, however mangled, makes the reader panic, and each error renders.

use mmsim::Scenario;
use mmsim::error::Colour;
use mmsim::machines::Catalogue;
use proptest::prelude::*;

const FILES: &[&str] = &[
    include_str!("../../scenarios/ebizzy-anon.toml"),
    include_str!("../../scenarios/zipf-anon.toml"),
    include_str!("../../scenarios/phased-50-pages.toml"),
    include_str!("../../scenarios/two-nodes.toml"),
    include_str!("../../scenarios/two-groups.toml"),
    include_str!("../../scenarios/hdd-readahead.toml"),
    include_str!("../../scenarios/kernel-build.toml"),
    include_str!("../../scenarios/apps.toml"),
    include_str!("../../scenarios/reader.toml"),
];

/// Pieces that mean something somewhere.
const PIECES: &[&str] = &[
    "[",
    "]",
    "[[",
    "]]",
    "{",
    "}",
    "=",
    "\"",
    "'",
    ".",
    ",",
    "#",
    "\n",
    "\r\n",
    "\t",
    "-",
    "0",
    "-1",
    "99999999999999999999",
    "1e400",
    "nan",
    "inf",
    "true",
    "\"64MiB\"",
    "\"64\"",
    "\"\"",
    "[]",
    "{}",
    "1979-05-27",
    "machine",
    "[machine]",
    "[[task]]",
    "[[variant]]",
    "[axes]\n",
    "\"machine.cpus\" = [1, 2]",
    "\"task[0]\" = [{}]",
    "\"variant[0].name\" = [\"a\"]",
    "set = { machine = 1 }",
    "set = { \"task[99]\" = 1 }",
    "é",
    "\u{2028}",
    "\u{0}",
    "\u{feff}",
    "\"\\u0000\"",
    "0x7fffffffffffffffffffff",
    "0b2",
    "_",
    "kernel = \"5.5\"",
    "\"\"\"",
    "'''",
];

#[derive(Clone, Debug)]
enum Edit {
    Insert(usize, usize),
    Remove(usize, usize),
    Swap(usize, usize),
    DropLine(usize),
    RepeatLine(usize),
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        (any::<usize>(), 0..PIECES.len()).prop_map(|(a, b)| Edit::Insert(a, b)),
        (any::<usize>(), 1..12usize).prop_map(|(a, b)| Edit::Remove(a, b)),
        (any::<usize>(), any::<usize>()).prop_map(|(a, b)| Edit::Swap(a, b)),
        any::<usize>().prop_map(Edit::DropLine),
        any::<usize>().prop_map(Edit::RepeatLine),
    ]
}

fn apply(text: &str, edits: &[Edit]) -> String {
    let mut text = text.to_string();
    for e in edits {
        let mut chars: Vec<char> = text.chars().collect();
        let mut lines: Vec<&str> = text.split('\n').collect();
        let n = chars.len().max(1);
        text = match *e {
            Edit::Insert(at, piece) => {
                let at = (at % n).min(chars.len());
                chars.splice(at..at, PIECES[piece].chars());
                chars.into_iter().collect()
            }
            Edit::Remove(at, len) => {
                let at = (at % n).min(chars.len());
                let end = (at + len).min(chars.len());
                chars.drain(at..end);
                chars.into_iter().collect()
            }
            Edit::Swap(a, b) => {
                let (a, b) = (a % lines.len(), b % lines.len());
                lines.swap(a, b);
                lines.join("\n")
            }
            Edit::DropLine(i) => {
                let i = i % lines.len();
                lines.remove(i);
                lines.join("\n")
            }
            Edit::RepeatLine(i) => {
                let i = i % lines.len();
                lines.insert(i, lines[i]);
                lines.join("\n")
            }
        };
    }
    text
}

/// Takes a text through everything that a user can do with it.
fn survives(text: &str) -> Result<(), TestCaseError> {
    match Scenario::from_str(text, "x.toml") {
        Err(e) => {
            prop_assert!(e.to_string().starts_with("error: "));
            e.render(Colour::Always);
            let _ = e.position();
        }
        Ok(s) => {
            let resolved = s.resolved();
            let again = Scenario::from_str(&resolved, "x.toml");
            prop_assert!(
                again.is_ok(),
                "{}\n{resolved}",
                again.err().map_or(String::new(), |e| e.to_string())
            );
            if let (Ok(a), Ok(runs)) = (again, s.expand(&Catalogue)) {
                prop_assert_eq!(a.expand(&Catalogue), Ok(runs));
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1500) })]

    #[test]
    fn mangled_files(file in 0..FILES.len(), edits in prop::collection::vec(edit(), 1..6)) {
        survives(&apply(FILES[file], &edits))?;
    }

    #[test]
    fn any_text(text in ".{0,80}") {
        survives(&text)?;
    }

    #[test]
    fn any_option(path in "[a-z.\\[\\]0-9-]{0,20}", value in ".{0,20}") {
        let s = Scenario::from_str(FILES[0], "x.toml").expect("a shipped file");
        if let Err(e) = s.with_sets(&[(path, value)]) {
            prop_assert!(e.to_string().starts_with("error: "));
        }
    }
}
