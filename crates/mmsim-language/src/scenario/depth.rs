//! Where a TOML document is nested too deep. The parser stops there, and does not say where.

use std::ops::Range;

/// The first place of a TOML text at which more than `most` lists and inline tables are open, or a
/// key has more than `most` parts; and what there is more of.
pub(super) fn beyond(text: &str, most: usize) -> Option<(Range<usize>, &'static str)> {
    let bytes = text.as_bytes();
    let (mut depth, mut parts, mut at) = (0_usize, 1_usize, 0_usize);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'#' => at += text[at..].find('\n').unwrap_or(text.len() - at),
            b'"' | b'\'' => at = end_of_string(bytes, at),
            _ => {
                match byte {
                    b'[' | b'{' => depth += 1,
                    b']' | b'}' => depth = depth.saturating_sub(1),
                    b'.' => parts += 1,
                    _ => {}
                }
                if b"[]{}=,\n".contains(&byte) {
                    parts = 1;
                }
                if depth > most {
                    return Some((at..at + 1, "levels of lists and tables"));
                }
                if parts > most {
                    return Some((at..at + 1, "parts of a key"));
                }
                at += 1;
            }
        }
    }
    None
}

/// The byte behind a string that begins at `at`, or the end of the text.
fn end_of_string(bytes: &[u8], at: usize) -> usize {
    let quote = bytes[at];
    let length = if bytes[at..].starts_with(&[quote; 3]) { 3 } else { 1 };
    let mut i = at + length;
    while i < bytes.len() {
        match bytes[i] {
            b'\\' if quote == b'"' => i += 1,
            // Without its end it ends with the line: that is an error of its own.
            b'\n' if length == 1 => return i,
            _ if bytes[i..].starts_with(&[quote; 3][..length]) => return i + length,
            _ => {}
        }
        i += 1;
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_level_too_many_is_found() {
        let found = |text: &str| beyond(text, 3).map(|(span, what)| (span.start, what));
        for text in [
            "a = [[[1]], [[2]]]",
            "a = \"[[[[\" # [[[[",
            "a = '''\n[[[[''' ",
            "a = \"\"\"\\\"\"\" [[[[ \"\"\"",
            "[[a]]\nb.c.d = 1.5\n[[a]]\n",
            "a = [1.5, 2.5, 3.5, 4.5]",
        ] {
            assert_eq!(found(text), None, "{text}");
        }
        assert_eq!(found("a = [[[\n[1]]]]"), Some((8, "levels of lists and tables")));
        assert_eq!(
            found("a = \"x\"\nb = [{ c = [[] ] }]"),
            Some((20, "levels of lists and tables"))
        );
        assert_eq!(found("a.b . c.\"d\" = 1"), Some((7, "parts of a key")));
        assert_eq!(found("[a.b.c.d]"), Some((6, "parts of a key")));
    }
}
