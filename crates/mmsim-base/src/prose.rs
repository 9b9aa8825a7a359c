//! Text in lines that end before column 100.

use std::iter::once;

/// A text as lines that end before column 100; all but the first begin with `indent`.
pub fn wrapped(text: &str, indent: &str) -> String {
    let mut out = String::new();
    let mut column = 0;
    for word in text.split_whitespace() {
        let width = word.chars().count();
        if column > 0 && column + 1 + width < 100 {
            out.push(' ');
            column += 1;
        } else if column > 0 {
            out.push('\n');
            out.push_str(indent);
            column = indent.len();
        }
        out.push_str(word);
        column += width;
    }
    out
}

/// A Markdown document whose paragraphs and items of lists are [`wrapped`]; all else stays.
pub fn wrapped_document(text: &str) -> String {
    let (mut out, mut prose, mut code) = (String::new(), String::new(), false);
    for line in text.lines().map(Some).chain(once(None)) {
        let fence = line.is_some_and(|l| l.starts_with("```"));
        code ^= fence;
        let other = |l: &str| code || fence || l.is_empty() || l.starts_with(['|', '#', '<']);
        if line.is_none_or(|l| other(l) || l.starts_with("- ")) && !prose.is_empty() {
            out += &wrapped(&prose, if prose.starts_with("- ") { "  " } else { "" });
            out.push('\n');
            prose.clear();
        }
        match line {
            Some(l) if other(l) => {
                out += l;
                out.push('\n');
            }
            Some(l) => {
                prose += l;
                prose.push(' ');
            }
            None => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_wrapped_and_nothing_else() {
        let long = "word ".repeat(30);
        let (twenty, ten) = ("word ".repeat(19) + "word", "word ".repeat(9) + "word");
        let table = format!("| {long}|");
        let block = format!("```\n{long}\n```");
        let text = format!("# Head\n\n{long}\n\n- {long}\n- short\n{table}\n{block}\n");
        // 19 words after the mark of an item: 2 + 19 * 5 - 1 columns.
        let (first, rest) = ("word ".repeat(18) + "word", "word ".repeat(10) + "word");
        let expected = format!(
            "# Head\n\n{twenty}\n{ten}\n\n- {first}\n  {rest}\n- short\n{table}\n{block}\n"
        );
        assert_eq!(wrapped_document(&text), expected);
        assert_eq!(wrapped_document(&expected), expected);
    }
}
