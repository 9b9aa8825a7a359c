//! Width of tables, and the fitting of tables to it.

use mmsim::marks::columns;

/// Default number of columns of the terminal.
const DEFAULT: usize = 100;
/// Columns that a text has at least.
const LEAST: usize = 40;

/// Columns that there are. A pipe or a file has none: tables of numbers are made for 100 columns
/// then, and lists are as long as they are, so that each entry stays one line. A terminal may have
/// colours too.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Width {
    columns: Option<usize>,
    colours: bool,
}

impl Width {
    /// A width of `columns` columns, but at least 40.
    pub fn of(columns: usize) -> Width {
        Width { columns: Some(columns.max(LEAST)), colours: false }
    }

    /// The same with colours, if the terminal has them.
    #[must_use]
    pub fn coloured(self, colours: bool) -> Width {
        Width { colours, ..self }
    }

    /// True if changes beyond the noise have a colour.
    pub(super) fn has_colours(self) -> bool {
        self.colours
    }

    /// Columns of tables of numbers and of text.
    pub(super) fn of_numbers(self) -> usize {
        self.columns.unwrap_or(DEFAULT)
    }

    /// Columns of lists; `None`: as many as it takes.
    pub(super) fn of_lists(self) -> Option<usize> {
        self.columns
    }
}

/// No name is cut below this.
const LEAST_NAME: usize = 12;
/// Between two columns.
pub(super) const GAP: usize = 2;

/// A name in at most `most` characters. Its end stays: names often differ there.
pub(super) fn cut(name: &str, most: usize) -> String {
    let chars: Vec<char> = name.chars().collect();
    if chars.len() <= most {
        return name.to_string();
    }
    let kept = most.saturating_sub(1);
    let tail = kept / 3;
    let head = chars[..kept - tail].iter().collect::<String>();
    head + "…" + &chars[chars.len() - tail..].iter().collect::<String>()
}

/// Width of each column.
fn widths(rows: &[Vec<String>]) -> Vec<usize> {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let of = |i: usize| rows.iter().filter_map(|r| r.get(i)).map(|c| columns(c)).max();
    (0..count).map(|i| of(i).unwrap_or(0)).collect()
}

fn total(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
}

/// Cuts the first `names` columns of a table, the longest first, so that it is no wider than
/// `limit`. Numbers are never cut.
pub(super) fn fit(rows: &mut [Vec<String>], names: usize, limit: usize) {
    let mut widths = widths(rows);
    while total(&widths) > limit {
        let longest = widths.iter_mut().take(names).max_by_key(|w| **w);
        match longest {
            Some(w) if *w > LEAST_NAME => *w -= 1,
            _ => break,
        }
    }
    for row in rows {
        for (cell, &most) in row.iter_mut().zip(&widths).take(names) {
            *cell = cut(cell, most);
        }
    }
}

/// Breaks the last column of a list between words, below itself, so that the list is no wider
/// than `limit`.
pub(super) fn fold(rows: Vec<Vec<String>>, limit: usize) -> Vec<Vec<String>> {
    let widths = widths(&rows);
    let last = widths.len().saturating_sub(1);
    let before = total(&widths[..last]) + GAP;
    if total(&widths) <= limit || before + LEAST > limit {
        return rows;
    }
    let room = limit - before;
    let folded = |row: Vec<String>| {
        let lines = match row.get(last) {
            Some(text) if text.chars().count() > room => words(text, room),
            _ => return vec![row],
        };
        let names =
            |i: usize| if i == 0 { row[..last].to_vec() } else { vec![String::new(); last] };
        let line = |(i, text)| names(i).into_iter().chain([text]).collect();
        lines.into_iter().enumerate().map(line).collect()
    };
    rows.into_iter().flat_map(folded).collect()
}

/// Units that stay on the line of their number.
const UNITS: [&str; 10] = ["%", "s", "ms", "us", "ns", "B", "KiB", "MiB", "GiB", "TiB"];

/// Words of a text, a number with its unit and its interval as one.
pub(super) fn glued(text: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let unit = UNITS.contains(&word.trim_end_matches([',', '.', ';', ':', ')']));
        match all.last_mut() {
            Some(last) if unit && last.ends_with(|c: char| c.is_ascii_digit()) => {
                *last += &format!(" {word}");
            }
            Some(last) if word.starts_with('±') && word.len() > '±'.len_utf8() => {
                *last += &format!(" {word}");
            }
            _ => all.push(word.to_string()),
        }
    }
    all
}

/// Lines of at most `room` characters, broken between words.
fn words(text: &str, room: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in &glued(text) {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.clone()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &[&[&str]]) -> Vec<Vec<String>> {
        text.iter().map(|row| row.iter().map(|c| c.to_string()).collect()).collect()
    }

    #[test]
    fn names_keep_both_ends() {
        assert_eq!(cut("machine", 7), "machine");
        assert_eq!(cut("protection of anon 0.9", 10), "protec…0.9");
        assert_eq!(cut("protection of anon 0.5", 10), "protec…0.5");
    }

    #[test]
    fn the_longest_name_gives_way_and_numbers_do_not() {
        let name = "a very long name of a variant";
        let mut all = rows(&[&["row", name, "123,456,789"], &["another row", "b", "1"]]);
        fit(&mut all, 2, 40);
        assert_eq!(
            all,
            rows(&[&["row", "a very lo…iant", "123,456,789"], &["another row", "b", "1"]])
        );
        assert!(total(&widths(&all)) <= 40);
        // What does not fit with names of twelve stays wider than asked for.
        fit(&mut all, 2, 5);
        assert_eq!(all[0], ["row", "a very l…ant", "123,456,789"].map(str::to_string));
    }

    /// `+38.5 %` and its interval are on one line; a sign for itself is a word.
    #[test]
    fn a_number_keeps_its_unit() {
        assert_eq!(glued("by +38.5 % ±8.5, in 3 s."), ["by", "+38.5 % ±8.5,", "in", "3 s."]);
        assert_eq!(glued("seeds ± 95 % or s"), ["seeds", "±", "95 %", "or", "s"]);
        assert_eq!(words("one two 38.5 % ±8.5", 9), ["one two", "38.5 % ±8.5"]);
    }

    #[test]
    fn text_goes_on_below_itself() {
        let text = "one two three four five six seven eight nine ten eleven twelve";
        let folded = fold(rows(&[&["name", text], &["b", "short"]]), 48);
        let lines = rows(&[
            &["name", "one two three four five six seven eight"],
            &["", "nine ten eleven twelve"],
            &["b", "short"],
        ]);
        assert_eq!(folded, lines);
        assert_eq!(fold(lines.clone(), 48), lines);
    }
}
