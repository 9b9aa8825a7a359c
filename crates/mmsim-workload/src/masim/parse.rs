//! From text to a configuration, with the strictness of masim and better messages.
//!
//! Where masim would crash, hang or silently do something else (a last line without its
//! newline is dropped, a size of 0 divides by zero, `10MB` is ten bytes), there is an
//! error here. Blanks are allowed around numbers and modes; names are what stands before
//! the comma.

use super::{MasimConfig, MasimError, Mode, PAGE, Pattern, Phase, Region, Walk};
use mmsim_core::base::time::SimDuration;
use std::collections::BTreeMap;
use std::ops::Range;

/// The largest number of masim's `int`.
const INT: u64 = i32::MAX as u64;
/// Pages of all regions together at most: 8 TiB.
const MAX_PAGES: u64 = 1 << 31;
/// Regions and phases at most: the machine numbers them in 16 bits.
const MAX_ENTRIES: usize = u16::MAX as usize;
/// Bytes of a region's name at most.
const MAX_NAME: usize = 255;

impl MasimConfig {
    /// Reads the text of a configuration file.
    ///
    /// # Errors
    /// The first place where the text is not of the form that the module tells, with
    /// what to write instead.
    pub fn parse(text: &str) -> Result<MasimConfig, MasimError> {
        Parser { text, at: 0, names: BTreeMap::new() }.config()
    }
}

/// A piece of the text with its place.
#[derive(Clone, Copy)]
struct Piece<'a> {
    at: usize,
    text: &'a str,
}

impl<'a> Piece<'a> {
    fn span(self) -> Range<usize> {
        self.at..self.at + self.text.len()
    }
    /// Without the blanks at its ends.
    fn trim(self) -> Piece<'a> {
        let start = self.text.trim_start();
        Piece { at: self.at + self.text.len() - start.len(), text: start.trim_end() }
    }
    /// Texts between commas.
    fn fields(self) -> Vec<Piece<'a>> {
        let mut at = self.at;
        self.text
            .split(',')
            .map(|text| {
                let piece = Piece { at, text };
                at += text.len() + 1;
                piece
            })
            .collect()
    }
}

struct Parser<'a> {
    text: &'a str,
    /// Number of bytes read so far.
    at: usize,
    /// Regions by name.
    names: BTreeMap<&'a str, usize>,
}

const REGION_FORM: &str = "write `name, bytes` and perhaps a file to fill it from";
const PATTERN_FORM: &str =
    "write `region, random, stride, weight` and perhaps `, ro`, `, wo` or `, rw`";

impl<'a> Parser<'a> {
    fn config(mut self) -> Result<MasimConfig, MasimError> {
        let mut regions = Vec::new();
        let mut pages = 0;
        for line in self.paragraph("region")? {
            let region = self.region(line)?;
            pages += u64::from(region.pages());
            if pages > MAX_PAGES {
                let what = format!("with region `{}` there are more than 8 TiB", region.name);
                return Err(self.error(line, what, "write smaller regions"));
            }
            if regions.len() == MAX_ENTRIES {
                let what = format!("more than {MAX_ENTRIES} regions");
                return Err(self.error(line, what, "leave some out"));
            }
            regions.push(region);
        }
        let mut phases = Vec::new();
        while phases.is_empty() || self.at < self.text.len() {
            let lines = self.paragraph("phase")?;
            if phases.len() == MAX_ENTRIES {
                let what = format!("more than {MAX_ENTRIES} phases");
                return Err(self.error(lines[0], what, "leave some out"));
            }
            phases.push(self.phase(&lines)?);
            self.skip_comments();
        }
        Ok(MasimConfig { regions, phases })
    }

    fn error(
        &self,
        piece: Piece<'_>,
        what: impl Into<String>,
        instead: impl Into<String>,
    ) -> MasimError {
        MasimError::new(self.text, piece.span(), what, instead)
    }

    /// The next line that is no comment, without its newline; `None` at the end.
    fn line(&mut self) -> Result<Option<Piece<'a>>, MasimError> {
        self.skip_comments();
        let rest = &self.text[self.at..];
        let Some(end) = rest.find('\n') else {
            if rest.is_empty() {
                return Ok(None);
            }
            let last = Piece { at: self.at, text: rest };
            let what = "the last line has no newline, and masim would leave it out";
            return Err(self.error(last, what, "end it with a newline"));
        };
        let line = Piece { at: self.at, text: &rest[..end] };
        if let Some(i) = line.text.find('\r') {
            let what = "a carriage return, which masim takes for part of the line";
            let at = Piece { at: line.at + i, text: "\r" };
            return Err(self.error(at, what, "end lines with a newline alone"));
        }
        self.at += end + 1;
        Ok(Some(line))
    }

    fn skip_comments(&mut self) {
        while self.text[self.at..].starts_with('#') {
            let rest = &self.text[self.at..];
            self.at += rest.find('\n').map_or(rest.len(), |i| i + 1);
        }
    }

    /// The lines up to the next empty one, which is taken too; at least one. `what` is
    /// what they should say.
    fn paragraph(&mut self, what: &str) -> Result<Vec<Piece<'a>>, MasimError> {
        let mut lines = Vec::new();
        while let Some(line) = self.line()? {
            if !line.text.is_empty() {
                lines.push(line);
            } else if lines.is_empty() {
                return Err(self.error(
                    line,
                    format!("an empty line where a {what} should begin"),
                    "write exactly one empty line between paragraphs and none at the ends",
                ));
            } else {
                self.skip_comments();
                if what == "phase" && self.at == self.text.len() {
                    let what = "an empty line at the end of the file, after which a phase should \
                                begin";
                    return Err(self.error(line, what, "delete it"));
                }
                return Ok(lines);
            }
        }
        if lines.is_empty() {
            let end = Piece { at: self.text.len(), text: "" };
            let instead = match what {
                "phase" => "write an empty line, then its name, its milliseconds and its patterns",
                _ => REGION_FORM,
            };
            return Err(self.error(end, format!("the file ends without a {what}"), instead));
        }
        Ok(lines)
    }

    fn region(&mut self, line: Piece<'a>) -> Result<Region, MasimError> {
        let fields = line.fields();
        let (&[name, bytes] | &[name, bytes, _]) = fields.as_slice() else {
            let what = format!("{} fields in the line of a region", fields.len());
            return Err(self.error(line, what, REGION_FORM));
        };
        if name.text.trim().is_empty() {
            return Err(self.error(line, "a region without a name", REGION_FORM));
        }
        if name.text.len() > MAX_NAME {
            let what = format!("a name of {} bytes", name.text.len());
            return Err(self.error(name, what, format!("write at most {MAX_NAME}")));
        }
        let number = self.names.len();
        if self.names.insert(name.text, number).is_some() {
            let what = format!("a second region `{}`, which no pattern could name", name.text);
            return Err(self.error(name, what, "write another name"));
        }
        let bytes = self.number(bytes, "bytes of the region", 1..=MAX_PAGES * PAGE)?;
        let filled = match fields.get(2).map(|f| f.trim().text) {
            None | Some("none") => false,
            Some("") => {
                let what = "no file after the last comma";
                return Err(self.error(fields[2], what, "write `none` or leave the comma out"));
            }
            Some(_) => true,
        };
        Ok(Region { name: name.text.into(), bytes, filled })
    }

    fn phase(&self, lines: &[Piece<'a>]) -> Result<Phase, MasimError> {
        let &[name, time, ref patterns @ ..] = lines else {
            let what = format!("phase `{}` ends with its name", lines[0].text);
            return Err(self.error(lines[0], what, "write its milliseconds and its patterns"));
        };
        let ms = self.number(time, "milliseconds of the phase", 0..=INT)?;
        if patterns.is_empty() {
            let what = format!("phase `{}` has no pattern", name.text);
            return Err(self.error(time, what, PATTERN_FORM));
        }
        let mut weights = 0;
        let mut read = Vec::with_capacity(patterns.len());
        for &line in patterns {
            let pattern = self.pattern(line)?;
            weights += u64::from(pattern.weight);
            if weights > INT {
                let what = format!("the weights of phase `{}` exceed {INT}", name.text);
                return Err(self.error(line, what, "write smaller weights of the same ratio"));
            }
            read.push(pattern);
        }
        let name = name.text.trim().into();
        Ok(Phase { name, time: SimDuration::from_millis(ms), patterns: read })
    }

    fn pattern(&self, line: Piece<'a>) -> Result<Pattern, MasimError> {
        let fields = line.fields();
        let (&[name, random, stride, weight] | &[name, random, stride, weight, _]) =
            fields.as_slice()
        else {
            let what = format!("{} fields in the line of a pattern", fields.len());
            return Err(self.error(line, what, PATTERN_FORM));
        };
        let Some(&region) = self.names.get(name.text) else {
            return Err(self.no_region(name));
        };
        let random = self.number(random, "0 for sequential or 1 for random", 0..=INT)? != 0;
        let stride = self.number(stride, "bytes of the stride", 0..=INT)? as u32;
        let walk = if random { Walk::Random } else { Walk::Sequential(stride) };
        let weight = self.number(weight, "the weight", 0..=INT)? as u32;
        let mode = match fields.get(4).map(|f| f.trim()) {
            None => None,
            Some(word) => Some(Mode::of(word.text).ok_or_else(|| {
                let what = format!("`{}` for what an access does", word.text);
                self.error(
                    if word.text.is_empty() { line } else { word },
                    what,
                    "write ro, wo or rw",
                )
            })?),
        };
        Ok(Pattern { region, walk, weight, mode })
    }

    fn no_region(&self, name: Piece<'a>) -> MasimError {
        let what = format!("there is no region `{}`", name.text);
        let alike = self.names.keys().find(|r| r.trim() == name.text.trim());
        let instead = match alike {
            Some(r) => format!("write `{r}`: blanks belong to the name"),
            None => {
                let names: Vec<&str> = self.names.keys().take(10).copied().collect();
                let more = if self.names.len() > 10 { ", ..." } else { "" };
                format!("write one of {}{more}", names.join(", "))
            }
        };
        let place = if name.text.is_empty() { Piece { at: name.at, text: "," } } else { name };
        self.error(place, what, instead)
    }

    /// A decimal number within a range.
    fn number(
        &self,
        field: Piece<'a>,
        what: &str,
        range: std::ops::RangeInclusive<u64>,
    ) -> Result<u64, MasimError> {
        let word = field.trim();
        let digits = !word.text.is_empty() && word.text.bytes().all(|b| b.is_ascii_digit());
        match word.text.parse() {
            Ok(n) if digits && range.contains(&n) => Ok(n),
            _ => {
                let place = if word.text.is_empty() { field } else { word };
                let instead = format!(
                    "write {what}, a number without unit from {} to {}",
                    range.start(),
                    range.end()
                );
                Err(self.error(place, format!("found `{}`", word.text), instead))
            }
        }
    }
}

impl Mode {
    /// The mode of this name: `ro`, `wo` or `rw`.
    pub fn of(word: &str) -> Option<Mode> {
        Some(match word {
            "ro" => Mode::Read,
            "wo" => Mode::Write,
            "rw" => Mode::ReadWrite,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> MasimConfig {
        MasimConfig::parse(text).unwrap_or_else(|e| panic!("{e}"))
    }

    fn message(text: &str) -> String {
        MasimConfig::parse(text).expect_err("must be refused").to_string()
    }

    /// Every form of a line, comments wherever they may stand.
    #[test]
    fn all_forms() {
        let c = parse(
            "# regions\n\
             a, 10000000\n\
             b, 4096, none\n\
             # in between\n\
             c d,4097, /dev/zero\n\
             \n\
             # name, time, patterns\n\
             all of them \n\
             #\n 250 \n\
             a, 0, 4096, 3\n\
             b, 1, 64, 0, rw\n\
             c d,2,0,1,ro\n\
             \n\
             idle\n\
             0\n\
             a, 0, 64, 0, wo\n\
             # the end",
        );
        let region = |name: &str, bytes, filled| Region { name: name.into(), bytes, filled };
        assert_eq!(
            c.regions,
            [region("a", 10_000_000, false), region("b", 4096, false), region("c d", 4097, true)]
        );
        assert_eq!(c.regions.iter().map(Region::pages).collect::<Vec<_>>(), [2442, 1, 2]);
        let first = &c.phases[0];
        assert_eq!((first.name.as_str(), first.time.as_nanos()), ("all of them", 250_000_000));
        let pattern = |region, walk, weight, mode| Pattern { region, walk, weight, mode };
        assert_eq!(
            first.patterns,
            [
                pattern(0, Walk::Sequential(4096), 3, None),
                pattern(1, Walk::Random, 0, Some(Mode::ReadWrite)),
                pattern(2, Walk::Random, 1, Some(Mode::Read)),
            ]
        );
        assert_eq!((first.weights(), c.phases[1].weights()), (4, 0));
        assert_eq!(c.phases[1].patterns, [pattern(0, Walk::Sequential(64), 0, Some(Mode::Write))]);
        assert_eq!(c.phases.len(), 2);
    }

    #[test]
    fn paragraphs() {
        assert_eq!(
            message(""),
            "line 1, column 1: the file ends without a region; write `name, bytes` and perhaps a \
             file to fill it from"
        );
        assert_eq!(
            message("\na, 1\n"),
            "line 1, column 1: an empty line where a region should begin; write exactly one empty \
             line between paragraphs and none at the ends"
        );
        assert_eq!(
            message("a, 1\n"),
            "line 2, column 1: the file ends without a phase; write an empty line, then its name, \
             its milliseconds and its patterns"
        );
        // The comment does not keep the two empty lines apart.
        assert_eq!(
            message("a, 1\n\n# phase\n\np\n1\na, 0, 1, 1\n"),
            "line 4, column 1: an empty line where a phase should begin; write exactly one empty \
             line between paragraphs and none at the ends"
        );
        assert_eq!(
            message("a, 1\n\np\n1\na, 0, 1, 1\n\n# no more\n"),
            "line 6, column 1: an empty line at the end of the file, after which a phase should \
             begin; delete it"
        );
        assert_eq!(
            message("a, 1\n\np\n1\na, 0, 1, 1"),
            "line 5, column 1: the last line has no newline, and masim would leave it out; end it \
             with a newline"
        );
        assert_eq!(
            message("a, 1\r\n\r\n"),
            "line 1, column 5: a carriage return, which masim takes for part of the line; end \
             lines with a newline alone"
        );
    }

    #[test]
    fn regions() {
        let region = |line: &str| message(&format!("{line}\n\np\n1\na, 0, 1, 1\n"));
        let form = "write `name, bytes` and perhaps a file to fill it from";
        assert_eq!(
            region("a"),
            format!("line 1, column 1: 1 fields in the line of a region; {form}")
        );
        assert_eq!(region(" , 5"), format!("line 1, column 1: a region without a name; {form}"));
        assert_eq!(
            region("é, 10MB"),
            "line 1, column 4: found `10MB`; write bytes of the region, a number without unit \
             from 1 to 8796093022208"
        );
        assert!(region("a, 0").contains("found `0`; write bytes"));
        assert!(region("a, -1").contains("found `-1`; write bytes"));
        assert!(region("a, +1").contains("found `+1`; write bytes"));
        assert!(region("a,  , none").starts_with("line 1, column 3: found ``; write bytes"));
        assert!(region("a, 99999999999999999999").contains("found `99999999999999999999`; write"));
        assert_eq!(
            region("a, 1, "),
            "line 1, column 6: no file after the last comma; write `none` or leave the comma out"
        );
        assert_eq!(
            region("b, 1\nb, 1"),
            "line 2, column 1: a second region `b`, which no pattern could name; write another name"
        );
        assert_eq!(
            region("b, 8796093022208\na, 1"),
            "line 2, column 1: with region `a` there are more than 8 TiB; write smaller regions"
        );
        let long = "n".repeat(256);
        assert_eq!(
            region(&format!("{long}, 1")),
            "line 1, column 1: a name of 256 bytes; write at most 255"
        );
    }

    #[test]
    fn phases() {
        let phase = |lines: &str| message(&format!("a, 1\n b, 1\n\n{lines}\n"));
        assert_eq!(
            phase("p"),
            "line 4, column 1: phase `p` ends with its name; write its milliseconds and its \
             patterns"
        );
        assert!(
            phase("p\n5s\na, 0, 1, 1").starts_with("line 5, column 1: found `5s`; write milli")
        );
        let form = "write `region, random, stride, weight` and perhaps `, ro`, `, wo` or `, rw`";
        assert_eq!(phase("p\n5"), format!("line 5, column 1: phase `p` has no pattern; {form}"));
        assert_eq!(
            phase("p\n5\na, 0, 1"),
            format!("line 6, column 1: 3 fields in the line of a pattern; {form}")
        );
        assert_eq!(
            phase("p\n5\nb, 0, 1, 1"),
            "line 6, column 1: there is no region `b`; write ` b`: blanks belong to the name"
        );
        assert_eq!(
            phase("p\n5\nc, 0, 1, 1"),
            "line 6, column 1: there is no region `c`; write one of  b, a"
        );
        assert!(phase("p\n5\n, 0, 1, 1").starts_with("line 6, column 1: there is no region ``"));
        assert_eq!(
            phase("p\n5\na, 0, 1, 1, wr"),
            "line 6, column 13: `wr` for what an access does; write ro, wo or rw"
        );
        assert!(phase("p\n5\na, 0, 1, 1,").contains("write ro, wo or rw"));
        assert!(phase("p\n5\na, x, 1, 1").contains("column 4: found `x`; write 0 for sequential"));
        assert_eq!(
            phase("p\n5\na, 0, 1, 2147483647\na, 0, 1, 1"),
            "line 7, column 1: the weights of phase `p` exceed 2147483647; write smaller weights \
             of the same ratio"
        );
    }
}
