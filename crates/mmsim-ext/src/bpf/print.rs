//! `bpf_printk`: lines are counted, and the first ones of a run are kept.

use crate::bpf::access::{Halt, word};

/// Lines that are kept.
pub(crate) const MOST_LINES: usize = 100;
/// Bytes of a text that a line can contain.
const MOST_TEXT: usize = 256;

/// The lines of a policy.
#[derive(Clone, Debug, Default)]
pub(crate) struct Prints {
    /// All of them.
    pub count: u64,
    /// The first ones, with their times in nanoseconds.
    pub lines: Vec<(u64, String)>,
}

impl Prints {
    /// Takes a line, and gives its bytes.
    pub(crate) fn take(
        &mut self,
        data: &[u8],
        now: u64,
        format: u64,
        values: impl Fn(u64) -> Result<u64, Halt>,
    ) -> Result<i64, Halt> {
        self.count += 1;
        if self.lines.len() == MOST_LINES {
            return Ok(0);
        }
        let line = formatted(data, &text(data, format), values)?;
        let bytes = line.len() as i64;
        self.lines.push((now, line.trim_end().to_string()));
        Ok(bytes)
    }
}

/// The `i`-th value behind a format in the memory of a module.
pub(crate) fn value(data: &[u8], at: u64, n: u32, i: u64) -> Result<u64, Halt> {
    if i < u64::from(n) { word(data, at.wrapping_add(8 * i)) } else { Ok(0) }
}

/// A text that ends with a zero.
fn text(data: &[u8], at: u64) -> String {
    let rest = data.get(at as usize..).unwrap_or_default();
    let rest = &rest[..rest.len().min(MOST_TEXT)];
    let end = rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len());
    String::from_utf8_lossy(&rest[..end]).into_owned()
}

/// `%d %i %u %x %p %s %c`, with flags, widths and lengths.
fn formatted(
    data: &[u8],
    format: &str,
    values: impl Fn(u64) -> Result<u64, Halt>,
) -> Result<String, Halt> {
    let (mut out, mut next, mut chars) = (String::new(), 0, format.chars().peekable());
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let mut options = String::new();
        let is_option = |c: &char| matches!(c, '-' | '0'..='9' | 'l' | 'h' | 'z' | '#');
        while let Some(option) = chars.next_if(is_option) {
            options.push(option);
        }
        let kind = chars.next().unwrap_or('%');
        if kind == '%' {
            out.push('%');
            continue;
        }
        let value = values(next)?;
        next += 1;
        let long = options.contains(['l', 'z']);
        let text = match kind {
            'd' | 'i' if long => (value as i64).to_string(),
            'd' | 'i' => (value as i32).to_string(),
            'x' if long => format!("{value:x}"),
            'x' => format!("{:x}", value as u32),
            'p' => format!("{value:x}"),
            's' => text(data, value),
            'c' => char::from(value as u8).to_string(),
            _ if long => value.to_string(),
            _ => (value as u32).to_string(),
        };
        out += &padded(&text, &options);
    }
    Ok(out)
}

/// A text at the width that its options ask for.
fn padded(text: &str, options: &str) -> String {
    let digits = options.trim_matches(|c: char| !c.is_ascii_digit());
    let width = digits.parse().unwrap_or(0).min(MOST_TEXT);
    match (options.starts_with('-'), digits.starts_with('0')) {
        (true, _) => format!("{text:<width$}"),
        (false, true) => format!("{text:0>width$}"),
        (false, false) => format!("{text:>width$}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_those_of_the_kernel() {
        let data = b"\0page\0";
        for (format, values, line) in [
            ("%d %i", vec![u64::MAX, 7], "-1 7"),
            ("%u of %llu", vec![u64::MAX, u64::MAX], "4294967295 of 18446744073709551615"),
            ("%x %lx %p", vec![1 << 40 | 255, 1 << 40, 4096], "ff 10000000000 1000"),
            ("%s|%c|%%|%5d|%-5d|%05d", vec![1, 65, 42, 42, 42], "page|A|%|   42|42   |00042"),
            ("%d %d", vec![3], "3 0"),
            ("100%", vec![], "100%"),
        ] {
            let n = values.len() as u32;
            let given: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
            let made = formatted(data, format, |i| value(&given, 0, n, i));
            assert_eq!(made.as_deref(), Ok(line), "{format}");
        }
    }
}
