//! Where in a JSON text a value stands.
//!
//! A recording can be JSON of the right form and still be wrong: watermarks that fall, a
//! phase that the script does not have. Such a mistake is found after parsing, when the
//! positions are gone. It is named by its way from the root, and this module finds the
//! bytes of that value in the text, which is known to be JSON by then.

use std::ops::Range;

/// One step from a value to a value within it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// The value of this key.
    Key(String),
    /// The element of this number, from 0.
    Index(usize),
}

impl From<&str> for Step {
    fn from(key: &str) -> Step {
        Step::Key(key.to_string())
    }
}

impl From<usize> for Step {
    fn from(index: usize) -> Step {
        Step::Index(index)
    }
}

/// The way as people write it: `points[3].zones_at_start.DMA32.low`.
pub(super) fn shown(way: &[Step]) -> String {
    let mut out = String::new();
    for step in way {
        match step {
            Step::Key(k) if out.is_empty() => out += k,
            Step::Key(k) => out += &format!(".{k}"),
            Step::Index(i) => out += &format!("[{i}]"),
        }
    }
    out
}

/// The bytes of the value at the end of `way`; where the way ends early, those of the last
/// value that there is.
pub(super) fn locate(text: &str, way: &[Step]) -> Range<usize> {
    let mut cursor = Cursor { bytes: text.as_bytes(), at: 0 };
    cursor.blanks();
    let mut found = cursor.value();
    for step in way {
        cursor.at = found.start;
        let Some(inner) = cursor.inner(step) else { break };
        found = inner;
    }
    found
}

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    fn here(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or(0)
    }

    fn blanks(&mut self) {
        while self.here().is_ascii_whitespace() {
            self.at += 1;
        }
    }

    /// Passes over a value without recursion, since depth is the author's choice.
    fn value(&mut self) -> Range<usize> {
        let start = self.at;
        let mut depth = 0usize;
        loop {
            match self.here() {
                b'"' => self.string(),
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' => {
                    depth = depth.saturating_sub(1);
                    self.at += 1;
                }
                0 if self.at >= self.bytes.len() => break,
                c if c.is_ascii_whitespace() || c == b',' || c == b':' => self.at += 1,
                _ => self.word(),
            }
            if depth == 0 {
                break;
            }
        }
        let end = self.bytes.len();
        start.min(end)..self.at.min(end)
    }

    /// A number, `true`, `false` or `null`.
    fn word(&mut self) {
        while self.at < self.bytes.len()
            && !matches!(self.here(), b',' | b':' | b'{' | b'}' | b'[' | b']' | b'"')
            && !self.here().is_ascii_whitespace()
        {
            self.at += 1;
        }
    }

    fn string(&mut self) {
        self.at += 1;
        while self.at < self.bytes.len() && self.here() != b'"' {
            self.at += 1 + usize::from(self.here() == b'\\');
        }
        self.at = (self.at + 1).min(self.bytes.len());
    }

    /// The value one step into the object or array that begins here.
    fn inner(&mut self, step: &Step) -> Option<Range<usize>> {
        let object = match (self.here(), step) {
            (b'{', Step::Key(_)) => true,
            (b'[', Step::Index(_)) => false,
            _ => return None,
        };
        self.at += 1;
        let mut nth = 0;
        loop {
            self.blanks();
            if self.at >= self.bytes.len() || matches!(self.here(), b'}' | b']') {
                return None;
            }
            let mut wanted = *step == Step::Index(nth);
            if object {
                let key = self.value();
                wanted = self.is_key(&key, step);
                self.blanks();
                self.at += 1;
                self.blanks();
            }
            let value = self.value();
            if wanted {
                return Some(value);
            }
            self.blanks();
            if self.here() == b',' {
                self.at += 1;
            }
            nth += 1;
        }
    }

    fn is_key(&self, quoted: &Range<usize>, step: &Step) -> bool {
        let Step::Key(key) = step else { return false };
        let text = self.bytes.get(quoted.clone()).unwrap_or(&[]);
        serde_json::from_slice::<String>(text).is_ok_and(|k| k == *key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_their_way() {
        let text = r#" { "a": [1, {"b\"]": "x, }"}, [ [ ], 7 ] ], "c" : { "d": -2.5e3 } } "#;
        let at = |way: &[Step]| &text[locate(text, way)];
        assert_eq!(at(&["c".into(), "d".into()]), "-2.5e3");
        assert_eq!(at(&["a".into(), 1.into(), "b\"]".into()]), "\"x, }\"");
        assert_eq!(at(&["a".into(), 2.into(), 1.into()]), "7");
        assert_eq!(at(&["a".into(), 0.into()]), "1");
        // What is missing is shown by what should hold it.
        assert_eq!(at(&["c".into(), "e".into(), 4.into()]), r#"{ "d": -2.5e3 }"#);
        assert_eq!(
            at(&["a".into(), 3.into()]),
            r#"[1, {"b\"]": "x, }"}, [ [ ], 7 ]]"#.replace("]]", "] ]")
        );
        assert_eq!(at(&[]), text.trim());
        assert_eq!(shown(&["a".into(), 2.into(), "b".into()]), "a[2].b");
    }

    #[test]
    fn no_text_is_too_short() {
        for text in ["", "{", "[", "\"", "{\"a\"", "{\"a\":", "[1,", "\"\\"] {
            let way = [Step::from("a"), Step::from(1)];
            assert!(locate(text, &way).end <= text.len(), "{text}");
        }
    }
}
