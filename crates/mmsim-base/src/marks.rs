//! Marks around a part of a text that a terminal shows in bold, with or without a colour. A mark is a
//! character that takes no column, so that tables are laid out with it; what writes to the terminal
//! puts the sequences in its place.

/// A mark and the sequence that a terminal gets for it.
pub type Mark = (char, &'static str);

/// Before what is better: green.
pub const BETTER: Mark = ('\u{2061}', "\u{1b}[1;32m");
/// Before what is worse: red.
pub const WORSE: Mark = ('\u{2062}', "\u{1b}[1;31m");
/// Before what stands out and is neither.
pub const STRONG: Mark = ('\u{2063}', "\u{1b}[1m");
/// Behind each of these.
pub const END: Mark = ('\u{2064}', "\u{1b}[0m");

const ALL: [Mark; 4] = [BETTER, WORSE, STRONG, END];

/// Characters of a text without marks.
pub fn columns(text: &str) -> usize {
    text.chars().filter(|c| ALL.iter().all(|mark| mark.0 != *c)).count()
}

/// The text between a mark and its end.
pub fn marked(mark: Mark, text: &str) -> String {
    format!("{}{text}{}", mark.0, END.0)
}

/// The text with sequences in place of marks.
pub fn painted(text: &str) -> String {
    ALL.iter().fold(text.to_string(), |text, (mark, sequence)| text.replace(*mark, sequence))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_take_no_column_and_become_sequences() {
        let text = format!("a {} b", marked(WORSE, "+1 %"));
        assert_eq!(columns(&text), "a +1 % b".len());
        assert_eq!(painted(&text), "a \u{1b}[1;31m+1 %\u{1b}[0m b");
    }
}
