//! Quantities as people write them: sizes, durations and rates with their units.
//!
//! A number without a unit is refused rather than guessed at, and so are `MB` and `GB`
//! for memory, which half of the world reads as powers of ten. Fractions are exact:
//! `"1.5GiB"` is fine, `"0.3ns"` is not.

pub use mmsim_core::base::id::PAGE_SIZE;
pub use mmsim_core::base::settings::show_pages;
use mmsim_core::base::time::SimDuration;

use mmsim_base::nearest::nearest;

/// A yes or no in the words of the kernel's files and of damo: `kstrtobool` of Linux 7.3
/// `lib/kstrtox.c` looks at the first letter, two of `on` and `off`; here whole words are read.
pub fn yes_or_no(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" | "t" | "true" | "on" | "1" => Some(true),
        "n" | "no" | "f" | "false" | "off" | "0" => Some(false),
        _ => None,
    }
}

/// Error in a quantity, and the text to write instead.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{found}, write {write}")]
pub struct BadQuantity {
    pub(super) found: String,
    pub(super) write: String,
    /// The text that `write` quotes, where it quotes one.
    instead: Option<String>,
}

impl BadQuantity {
    /// With words about what to write.
    pub(super) fn told(found: impl Into<String>, write: impl Into<String>) -> BadQuantity {
        BadQuantity { found: found.into(), write: write.into(), instead: None }
    }

    /// With the text to write.
    fn instead(found: String, text: String) -> BadQuantity {
        BadQuantity { found, write: format!("\"{text}\""), instead: Some(text) }
    }

    /// The same, and what `read` refuses it does not advise: then its own advice counts.
    pub(super) fn advised<T>(
        mut self,
        read: impl Fn(&str) -> Result<T, BadQuantity>,
    ) -> BadQuantity {
        // An advice leads to another once or twice.
        for _ in 0..4 {
            let Some(Err(worse)) = self.instead.as_deref().map(&read) else { break };
            (self.write, self.instead) = (worse.write, worse.instead);
        }
        self
    }
}

/// A unit and how many base units (bytes, nanoseconds, bytes per second) it has.
type Unit = (&'static str, u128);

const SIZE: &[Unit] = &[
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("page", PAGE_SIZE as u128),
    ("pages", PAGE_SIZE as u128),
];
const TIME: &[Unit] = &[
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
];
const RATE: &[Unit] = &[
    ("B/s", 1),
    ("kB/s", 1_000),
    ("MB/s", 1_000_000),
    ("GB/s", 1_000_000_000),
    ("KiB/s", 1 << 10),
    ("MiB/s", 1 << 20),
    ("GiB/s", 1 << 30),
];

/// A family of units: its name for messages, its units, an example.
struct Family {
    name: &'static str,
    base: &'static str,
    units: &'static [Unit],
    usual: &'static str,
    example: &'static str,
    /// About the largest value, for messages.
    most: &'static str,
    /// The largest value, in the base unit.
    limit: u64,
}

/// The longest duration: 11 days and a half. Clocks are 64 bits of nanoseconds, which last for 584
/// years; no sum of a run's durations comes near, and a slip of units is reported.
pub(super) const LONGEST: SimDuration = SimDuration::from_secs(1_000_000);

const SIZES: Family = Family {
    name: "a size",
    base: "bytes",
    units: SIZE,
    usual: "MiB",
    example: "64MiB",
    most: "16383GiB",
    limit: u64::MAX,
};
const TIMES: Family = Family {
    name: "a duration",
    base: "nanoseconds",
    units: TIME,
    usual: "ms",
    example: "5ms",
    most: "1000000s",
    limit: LONGEST.as_nanos(),
};
const RATES: Family = Family {
    name: "a rate",
    base: "bytes per second",
    units: RATE,
    usual: "MB/s",
    example: "150MB/s",
    most: "18446744073GB/s",
    limit: u64::MAX,
};

/// For each family of units its name in the schema, a regular expression of what it takes,
/// and an example.
pub(super) fn patterns() -> [(&'static str, String, &'static str); 3] {
    [("size", &SIZES), ("duration", &TIMES), ("rate", &RATES)].map(|(name, family)| {
        let units: Vec<&str> = family.units.iter().map(|u| u.0).collect();
        let pattern = format!(r"^\s*[0-9]+(\.[0-9]+)?\s*({})\s*$", units.join("|"));
        (name, pattern, family.example)
    })
}

/// Pages of a size such as `64MiB` or `100 pages`.
pub fn pages(text: &str) -> Result<u64, BadQuantity> {
    let bytes = SIZES.parse(text)?;
    if bytes % PAGE_SIZE != 0 {
        let next = (bytes / PAGE_SIZE + 1).min(u64::MAX / PAGE_SIZE);
        let found = format!("\"{text}\" is not a whole number of pages of 4KiB");
        return Err(BadQuantity::instead(found, show_pages(next)));
    }
    Ok(bytes / PAGE_SIZE)
}

/// Bytes of a size such as `1GiB`.
///
/// # Errors
///
/// It is no size; the text says what was found and what to write.
pub fn bytes(text: &str) -> Result<u64, BadQuantity> {
    SIZES.parse(text)
}

/// A duration such as `5ms`.
///
/// # Errors
///
/// It is none; the text says what was found and what to write.
pub fn duration(text: &str) -> Result<SimDuration, BadQuantity> {
    TIMES.parse(text).map(SimDuration::from_nanos)
}

/// Bytes per second of a rate such as `150MB/s`.
pub(super) fn rate(text: &str) -> Result<u64, BadQuantity> {
    RATES.parse(text)
}

/// Number by which values of one kind are put in order: a plain number, or a quantity in its base
/// unit.
pub fn measure(text: &str) -> Option<f64> {
    let quantity = || [&SIZES, &TIMES, &RATES].iter().find_map(|f| f.parse(text).ok());
    text.parse().ok().or_else(|| quantity().map(|n| n as f64))
}

/// Text to write for a bare number.
/// A quantity as a number, and the unit of that: bytes, nanoseconds, or bytes per second. `None`:
/// it is none, such as a plain number.
pub fn in_base_units(text: &str) -> Option<(u64, &'static str)> {
    let families = [(&SIZES, "bytes"), (&TIMES, "ns"), (&RATES, "bytes_per_s")];
    families.iter().find_map(|(family, unit)| Some((family.parse(text).ok()?, *unit)))
}

pub(super) fn size_of_bare(number: &str) -> BadQuantity {
    SIZES.bare(number)
}

/// Text to write for a bare number.
pub(super) fn duration_of_bare(number: &str) -> BadQuantity {
    TIMES.bare(number)
}

/// Text to write for a bare number.
pub(super) fn rate_of_bare(number: &str) -> BadQuantity {
    RATES.bare(number)
}

impl Family {
    fn bare(&self, number: &str) -> BadQuantity {
        let digits = number.trim_start_matches('-');
        if !is_number(digits) {
            return self.no_quantity(format!("{number} is not {}", self.name));
        }
        let what = if digits == number { "has no unit" } else { "is negative" };
        BadQuantity::instead(format!("{number} {what}"), self.with_unit(digits))
    }

    /// Error for a text that is no quantity at all, or none that can be guessed.
    fn no_quantity(&self, found: String) -> BadQuantity {
        BadQuantity::told(found, format!("a number with a unit, such as \"{}\"", self.example))
    }

    /// A number with the unit that is probably meant: of sizes, so large a one is in bytes.
    fn with_unit(&self, number: &str) -> String {
        let unit = if self.has("B") && number.len() > 5 { "B" } else { self.usual };
        format!("{number}{unit}")
    }

    fn parse(&self, text: &str) -> Result<u64, BadQuantity> {
        let body = text.trim();
        let (negative, body) = match body.strip_prefix('-') {
            Some(rest) => (true, rest.trim_start()),
            None => (false, body),
        };
        let split = body.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(body.len());
        let (number, unit) = (&body[..split], body[split..].trim());
        let none = || self.no_quantity(format!("\"{text}\" is not {}", self.name));
        if !is_number(number) {
            return Err(none());
        }
        if let Some(rest) = unit.strip_prefix(',')
            && rest.starts_with(|c: char| c.is_ascii_digit())
        {
            let found = format!("\"{text}\" has a comma for its point");
            return Err(BadQuantity::instead(found, body.replacen(',', ".", 1)));
        }
        if unit.starts_with(|c: char| c.is_alphabetic())
            && unit.contains(|c: char| c.is_ascii_digit())
        {
            return Err(none());
        }
        if unit.is_empty() && !negative {
            let found = format!("\"{text}\" has no unit");
            return Err(BadQuantity::instead(found, self.with_unit(number)));
        }
        let Some(&(unit_name, scale)) = self.units.iter().find(|u| u.0 == unit) else {
            return Err(self.unknown_unit(text, number, unit));
        };
        let space = if unit_name.starts_with("page") { " " } else { "" };
        if negative {
            let found = format!("\"{text}\" is negative");
            return Err(BadQuantity::instead(found, format!("{number}{space}{unit_name}")));
        }
        let too_large = || {
            let most = format!("at most \"{}\"", self.most);
            BadQuantity::told(format!("\"{text}\" is too large"), most)
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let fraction = fraction.trim_end_matches('0');
        let digits: u128 = format!("{whole}{fraction}").parse().map_err(|_| too_large())?;
        let over = 10u128.checked_pow(fraction.len() as u32).ok_or_else(too_large)?;
        let scaled = digits.checked_mul(scale).ok_or_else(too_large)?;
        if scaled % over != 0 {
            let found = format!("\"{text}\" is not a whole number of {}", self.base);
            let write = format!("fewer decimals, such as \"{}\"", self.example);
            return Err(BadQuantity::told(found, write));
        }
        u64::try_from(scaled / over).ok().filter(|n| *n <= self.limit).ok_or_else(too_large)
    }

    fn unknown_unit(&self, text: &str, number: &str, unit: &str) -> BadQuantity {
        let other = [&SIZES, &TIMES, &RATES].into_iter().find(|f| f.has(unit));
        let found = match other {
            Some(f) => format!("\"{text}\" is {}, not {}", f.name, self.name),
            None => {
                let known: Vec<&str> = self.units.iter().map(|u| u.0).collect();
                let known = known.join(", ");
                format!("\"{text}\" has the unknown unit \"{unit}\" (known: {known})")
            }
        };
        match self.nearest(unit).filter(|_| other.is_none()) {
            Some(near) => BadQuantity::instead(found, format!("{number}{near}")),
            None => self.no_quantity(found),
        }
    }

    fn has(&self, unit: &str) -> bool {
        self.units.iter().any(|u| u.0 == unit)
    }

    /// The unit that is certainly meant: in another case, cut off, or written out, where only one is
    /// like that, or misspelt by a letter.
    fn nearest(&self, unit: &str) -> Option<&'static str> {
        let lower = unit.to_ascii_lowercase();
        let like = |known: &str| {
            let known = known.to_ascii_lowercase();
            known.starts_with(&lower) || lower.starts_with(&known)
        };
        // Bytes and single pages are no likely units of such numbers.
        let units = || self.units.iter().map(|u| u.0).filter(|u| !["B", "page"].contains(u));
        let alike: Vec<&str> = units().filter(|u| like(u)).collect();
        match alike[..] {
            [one] => Some(one),
            [] => nearest(unit, &units().collect::<Vec<_>>()),
            _ => alike.iter().copied().find(|u| u.eq_ignore_ascii_case(unit)),
        }
    }
}

/// Digits, perhaps with one point between digits.
fn is_number(s: &str) -> bool {
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    match s.split_once('.') {
        Some((whole, fraction)) => digits(whole) && digits(fraction),
        None => digits(s),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint<T>(r: Result<T, BadQuantity>) -> String {
        let b = r.err().expect("must be refused");
        format!("{}, write {}", b.found, b.write)
    }

    #[test]
    fn good_quantities() {
        assert_eq!(pages("64MiB"), Ok(16384));
        assert_eq!(pages("1.5GiB"), Ok(393_216));
        assert_eq!(pages("100 pages"), Ok(100));
        assert_eq!(pages("1 page"), Ok(1));
        assert_eq!(pages("8192B"), Ok(2));
        assert_eq!(pages("0 pages"), Ok(0));
        assert_eq!(duration("2.5us"), Ok(SimDuration(2_500)));
        assert_eq!(duration("10s"), Ok(SimDuration(10_000_000_000)));
        assert_eq!(duration("1000000s"), Ok(LONGEST));
        assert_eq!(rate("1.5GB/s"), Ok(1_500_000_000));
    }

    #[test]
    fn refused_quantities_say_what_to_write() {
        for (text, expected) in [
            ("64", "\"64\" has no unit, write \"64MiB\""),
            ("67108864", "\"67108864\" has no unit, write \"67108864B\""),
            (
                "64MB",
                "\"64MB\" has the unknown unit \"MB\" \
             (known: B, KiB, MiB, GiB, TiB, page, pages), write \"64MiB\"",
            ),
            (
                "64kb",
                "\"64kb\" has the unknown unit \"kb\" \
             (known: B, KiB, MiB, GiB, TiB, page, pages), write \"64KiB\"",
            ),
            (
                "64mib",
                "\"64mib\" has the unknown unit \"mib\" \
             (known: B, KiB, MiB, GiB, TiB, page, pages), write \"64MiB\"",
            ),
            (
                "64ms",
                "\"64ms\" is a duration, not a size, write a number with a unit, such as \"64MiB\"",
            ),
            (
                "64 parsecs",
                "\"64 parsecs\" has the unknown unit \"parsecs\" (known: B, KiB, MiB, GiB, TiB, \
             page, pages), write a number with a unit, such as \"64MiB\"",
            ),
            ("-64MiB", "\"-64MiB\" is negative, write \"64MiB\""),
            ("-3 pages", "\"-3 pages\" is negative, write \"3 pages\""),
            ("1KiB", "\"1KiB\" is not a whole number of pages of 4KiB, write \"1 page\""),
            ("16,5MiB", "\"16,5MiB\" has a comma for its point, write \"16.5MiB\""),
            ("0x10MiB", "\"0x10MiB\" is not a size, write a number with a unit, such as \"64MiB\""),
            ("1e3MiB", "\"1e3MiB\" is not a size, write a number with a unit, such as \"64MiB\""),
            ("+64MiB", "\"+64MiB\" is not a size, write a number with a unit, such as \"64MiB\""),
            ("-+64MiB", "\"-+64MiB\" is not a size, write a number with a unit, such as \"64MiB\""),
            ("", "\"\" is not a size, write a number with a unit, such as \"64MiB\""),
            ("much", "\"much\" is not a size, write a number with a unit, such as \"64MiB\""),
            ("1..5GiB", "\"1..5GiB\" is not a size, write a number with a unit, such as \"64MiB\""),
            ("99999999999999TiB", "\"99999999999999TiB\" is too large, write at most \"16383GiB\""),
        ] {
            assert_eq!(complaint(pages(text)), expected);
        }
        assert_eq!(
            complaint(rate("99999999999999999999GB/s")),
            "\"99999999999999999999GB/s\" is too large, write at most \"18446744073GB/s\""
        );
        for odd in ["1e99", "NaN", "inf"] {
            let bare = size_of_bare(odd);
            assert_eq!(bare.found, format!("{odd} is not a size"));
            assert_eq!(bare.write, "a number with a unit, such as \"64MiB\"");
        }
        assert_eq!(complaint(duration("5")), "\"5\" has no unit, write \"5ms\"");
        assert_eq!(
            complaint(duration("5MiB")),
            "\"5MiB\" is a size, not a duration, write a number with a unit, such as \"5ms\""
        );
        assert_eq!(
            complaint(duration("0.5ns")),
            "\"0.5ns\" is not a whole number of nanoseconds, write fewer decimals, such as \"5ms\""
        );
    }

    #[test]
    fn units_are_guessed_where_one_alone_is_like_what_was_written() {
        for (unit, near) in [
            ("seconds", Some("s")),
            ("minutes", Some("min")),
            ("msec", Some("ms")),
            ("MS", Some("ms")),
            ("m", None),
            ("h", None),
            ("parsecs", None),
        ] {
            assert_eq!(TIMES.nearest(unit), near, "{unit}");
        }
        for (unit, near) in [("G", Some("GiB")), ("gb", Some("GiB")), ("p", Some("pages"))] {
            assert_eq!(SIZES.nearest(unit), near, "{unit}");
        }
        assert_eq!(RATES.nearest("KB/s"), Some("kB/s"));
    }

    /// Whatever is quoted as advice is taken by the reader that gave it.
    #[test]
    fn what_is_advised_is_taken() {
        let least = |text: &str| match pages(text)? {
            n if n < 256 => Err(BadQuantity::told("too small", "at least \"1MiB\"")),
            n => Ok(n),
        };
        for (text, write) in [
            ("64p", "at least \"1MiB\""),
            ("1.5 page", "at least \"1MiB\""),
            ("300.5 pagez", "\"301 pages\""),
            ("64", "\"64MiB\""),
        ] {
            assert_eq!(least(text).unwrap_err().advised(least).write, write, "{text}");
        }
    }

    #[test]
    fn pages_print_as_they_parse() {
        for n in [0, 1, 2, 255, 256, 3840, 262_144, 1 << 28, 1 << 40] {
            assert_eq!(pages(&show_pages(n)), Ok(n));
        }
        assert_eq!(show_pages(393_216), "1536MiB");
        assert_eq!(show_pages(3840), "15MiB");
        assert_eq!(show_pages(3841), "3841 pages");
    }
}
