//! Errors in the user's input: place, problem, and the text to write instead.
//!
//! An [`Error`] carries the text that it complains about, so it renders itself at any
//! later time: `Display` gives plain text, [`Error::render`] colour on request. In the
//! simulated world nothing fails; errors are for input alone.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

/// Kind of the wrong input.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ErrorKind {
    /// A file cannot be read.
    File,
    /// A text is not TOML.
    Syntax,
    /// A scenario says something that has no meaning.
    Scenario,
    /// A policy preset or knob does not exist or does not fit.
    Policy,
    /// An option of the command line (`--set`).
    Option,
}

impl ErrorKind {
    /// The exit code of a program that ends because of it: 2, bad usage or bad input.
    pub const fn exit_code(self) -> u8 {
        2
    }
}

/// Permission to use escape sequences.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Colour {
    /// Plain text.
    Never,
    /// For a terminal.
    Always,
}

/// Bad input. `Display` renders it over several lines, without a newline at the end.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}", .0.render(Colour::Never))]
pub struct Error(Box<Diagnostic>);

/// A place in a text.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Place {
    /// File name or option.
    origin: String,
    text: Arc<str>,
    /// The number of the text's first line.
    first_line: usize,
    span: Range<usize>,
    label: String,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Diagnostic {
    kind: ErrorKind,
    title: String,
    place: Option<Place>,
    help: Option<String>,
    /// The key of a task that it is about, such as `steps[0]`.
    key: Option<String>,
}

impl Error {
    /// An error without a place in a text.
    pub fn new(kind: ErrorKind, title: impl Into<String>) -> Error {
        Error(Box::new(Diagnostic {
            kind,
            title: title.into(),
            place: None,
            help: None,
            key: None,
        }))
    }

    /// An error that needs no place: the message says it all.
    pub fn plain(title: impl Into<String>) -> Error {
        Error::new(ErrorKind::Scenario, title)
    }
    /// The same, pointing at `span` (bytes) of `text`, which came from `origin`.
    pub fn at(
        self,
        origin: &str,
        text: &Arc<str>,
        span: Range<usize>,
        label: impl Into<String>,
    ) -> Error {
        self.at_line(origin, 1, text, span, label)
    }

    /// The same where `text` is a part only, which begins with the line of this number.
    pub fn at_line(
        mut self,
        origin: &str,
        first_line: usize,
        text: &Arc<str>,
        span: Range<usize>,
        label: impl Into<String>,
    ) -> Error {
        let (text, origin) = (Arc::clone(text), origin.to_string());
        let span = on_boundaries(&text, span);
        self.0.place = Some(Place { origin, text, first_line, span, label: label.into() });
        self
    }

    /// A mistake in an option of the command line; `title` names the option.
    pub fn of_option(title: impl Into<String>) -> Error {
        Error::new(ErrorKind::Option, title)
    }

    /// A word of the command line that is none of `known`, with the nearest of them. `what` says what
    /// it should have been: `unknown variant`.
    pub fn unknown_word(what: &str, word: &str, known: &[&str]) -> Error {
        let near = crate::nearest::nearest(word, known);
        let near = near.map_or(String::new(), |n| format!(", did you mean `{n}`?"));
        let title = format!("{what} `{word}`{near}");
        Error::of_option(title).help(format!("known: {}", crate::nearest::listed(known)))
    }

    /// The same with a further line of help.
    pub fn help(mut self, help: impl Into<String>) -> Error {
        self.0.help = Some(help.into());
        self
    }

    /// The same, about a key of a task such as `steps[0]`: its place is that of the key.
    pub fn about(mut self, key: impl Into<String>) -> Error {
        self.0.key = Some(key.into());
        self
    }

    /// The key of a task that it is about.
    pub fn key(&self) -> Option<&str> {
        self.0.key.as_deref()
    }

    /// The same with another name for what was read, wherever it stands.
    pub fn renamed(mut self, from: &str, to: &str) -> Error {
        let Diagnostic { title, place, help, .. } = &mut *self.0;
        let origin = place.as_mut().map(|p| [&mut p.origin, &mut p.label]);
        for text in [title].into_iter().chain(origin.into_iter().flatten()).chain(help) {
            *text = text.replace(from, to);
        }
        self
    }

    /// Kind of the wrong input.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The first line alone, without the place.
    pub fn title(&self) -> &str {
        &self.0.title
    }

    /// The first line and the help behind it, for those who put it into an error of their own.
    pub fn sentence(&self) -> String {
        match &self.0.help {
            Some(help) => format!("{}; {help}", self.0.title),
            None => self.0.title.clone(),
        }
    }

    /// File or option, line and column, both from 1 and the column in characters.
    pub fn position(&self) -> Option<(&str, usize, usize)> {
        let place = self.0.place.as_ref()?;
        let before = &place.text[..place.span.start];
        let line = before.matches('\n').count() + place.first_line;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        Some((&place.origin, line, column))
    }

    /// The whole message.
    pub fn render(&self, colour: Colour) -> String {
        self.0.render(colour)
    }
}

impl Diagnostic {
    fn render(&self, colour: Colour) -> String {
        let renderer = match colour {
            Colour::Never => Renderer::plain(),
            Colour::Always => Renderer::styled(),
        }
        .decor_style(DecorStyle::Ascii);
        let mut group = Level::ERROR.primary_title(printable(&brief(&self.title))).elements(
            self.place.as_ref().map(|p| {
                let (text, span) = match p.text.contains(|c| acts(c) && !c.is_ascii()) {
                    true => source(&p.text, &p.span),
                    false => (p.text.to_string(), p.span.clone()),
                };
                let here = AnnotationKind::Primary.span(span).label(printable(&p.label));
                let text = Snippet::source(text).line_start(p.first_line);
                text.path(printable(&p.origin)).annotation(here)
            }),
        );
        if let Some(help) = &self.help {
            group = group.element(Level::HELP.message(printable(help)));
        }
        renderer.render(&[group])
    }
}

/// Characters of a line of a message. What is quoted may be a line of a megabyte.
const LONGEST_LINE: usize = 1000;
/// Characters of a word of a first line; paths are shorter.
const LONGEST_WORD: usize = 200;
/// Lines of a message.
const MOST_LINES: usize = 100;

/// True for characters that are shown and not done: controls except line ends and tabs, separators
/// of lines and paragraphs, those that turn the direction of writing (Unicode's Bidi_Control), and
/// noncharacters, which no text should have.
pub fn acts(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t')
        || matches!(
            c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
        || matches!(c, '\u{fdd0}'..='\u{fdef}')
        || u32::from(c) & 0xfffe == 0xfffe
}

/// A character as JSON escapes it: `\u001b`; one of two units has two of them.
pub fn escape(c: char) -> String {
    c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect()
}

/// A text whose characters that [act](acts) are shown, as in JSON: `\u001b`. Line ends and tabs
/// stay. Names come from input, and must not reach a terminal as they are.
pub fn escaped(text: &str) -> Cow<'_, str> {
    // Most texts have nothing else, and a report may have hundreds of megabytes. Piece by piece,
    // without a branch in between, so that many bytes are looked at together.
    let plain = |b: &u8| matches!(b, b'\n' | b'\t' | b' '..=b'~');
    let all_plain = |piece: &[u8]| piece.iter().fold(true, |all, b| all & plain(b));
    if text.as_bytes().chunks(256).all(all_plain) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match acts(c) {
            true => out += &escape(c),
            false => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// A text that a message shows, and the place in it: each character that acts is U+FFFD, so that
/// columns stay. What is drawn for controls of ASCII, the renderer decides.
fn source(text: &str, span: &Range<usize>) -> (String, Range<usize>) {
    let hidden = |c: char| acts(c) && !c.is_ascii();
    let safe = |part: &str| -> String {
        part.chars().map(|c| if hidden(c) { char::REPLACEMENT_CHARACTER } else { c }).collect()
    };
    let (before, within) = (safe(&text[..span.start]), safe(&text[span.clone()]));
    let place = before.len()..before.len() + within.len();
    (before + &within + &safe(&text[span.end..]), place)
}

/// A message as it may be printed: [`escaped`], and cut where it quotes too much.
pub fn printable(message: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in message.split('\n') {
        if lines.len() == MOST_LINES {
            lines.push("..".into());
            break;
        }
        // An escaped character has six characters at most; the rest of a long line is not read.
        let mut chars = line.chars();
        let kept: String = chars.by_ref().take(LONGEST_LINE).collect();
        lines.push(match chars.next() {
            Some(_) => format!("{}..", escaped(whole_words(&kept))),
            None => escaped(&kept).into_owned(),
        });
    }
    lines.join("\n")
}

/// A beginning of a line without the word that was cut, if that is one of usual length.
fn whole_words(beginning: &str) -> &str {
    match beginning.rfind(' ') {
        Some(end) if beginning.len() - end <= LONGEST_WORD => &beginning[..=end],
        _ => beginning,
    }
}

/// A first line, which quotes what was found: words without end are cut to their beginnings.
fn brief(title: &str) -> String {
    let word = |w: &str| match w.char_indices().nth(LONGEST_WORD) {
        Some((end, _)) => {
            let tail = w.trim_end_matches(['`', '\'', '"', ',', ';', ':', ')']).len();
            format!("{}..{}", &w[..end], &w[tail.max(end)..])
        }
        None => w.to_string(),
    };
    title.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// The span cut to the text and widened to whole characters.
fn on_boundaries(text: &str, span: Range<usize>) -> Range<usize> {
    let mut start = span.start.min(text.len());
    let mut end = span.end.clamp(start, text.len());
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    while !text.is_char_boundary(end) {
        end += 1;
    }
    start..end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_quoted_is_cut_and_does_nothing() {
        assert_eq!(
            escaped("a\u{1b}[31m\u{7}\r\tµ\n\u{202e}"),
            "a\\u001b[31m\\u0007\\u000d\tµ\n\\u202e"
        );
        // A noncharacter of two units is one character for readers of JSON too.
        let shown = escaped("\u{61c}\u{2028}\u{fdd0}\u{fffe}\u{ffff}\u{1ffff}\u{fffd}\u{200d}");
        assert_eq!(shown, "\\u061c\\u2028\\ufdd0\\ufffe\\uffff\\ud83f\\udfff\u{fffd}\u{200d}");
        let json = format!("\"{}\"", escaped("\u{10ffff}"));
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), "\u{10ffff}");
        let long = "x".repeat(300_000);
        let e = Error::plain(format!("no number: {long}")).help(long.as_str());
        assert!(e.to_string().len() < 1400, "{}", e.to_string().len());
        assert!(e.to_string().contains("xx.."));
        let quoted = Error::plain(format!("found `{long}`, write 1")).to_string();
        assert_eq!(quoted, format!("error: found `{}..`, write 1", &long[..199]));
        let words = printable(&"known, ".repeat(200));
        assert!(words.ends_with("known, known, .."), "{words}");
        let lines = "y\n".repeat(300_000);
        assert!(Error::plain(lines).to_string().len() < 2200);
        let text: Arc<str> = format!("a = {long}\u{1b}[31m\n").into();
        let e = Error::plain("x").at("a\u{7}.toml", &text, 4..9, long.clone());
        assert!(e.to_string().len() < 4000 && !e.to_string().contains(['\u{1b}', '\u{7}']));
    }

    /// The quoted line of a file does nothing either, and its columns stay.
    #[test]
    fn a_quoted_line_does_nothing() {
        let text: Arc<str> = "a = \"\u{202e}\u{61c}\u{1ffff}\" # bc\n".into();
        let at = text.find("bc").unwrap();
        let e = Error::plain("x").at("x.toml", &text, at..at + 2, "here");
        let shown = e.to_string();
        assert!(shown.contains("--> x.toml:1:13"), "{shown}");
        assert!(shown.contains("a = \"\u{fffd}\u{fffd}\u{fffd}\" # bc"), "{shown}");
        assert!(!shown.contains(acts));
    }

    #[test]
    fn spans_are_made_safe() {
        assert_eq!(on_boundaries("aµb", 2..2), 1..3);
        assert_eq!(on_boundaries("ab", 7..9), 2..2);
    }

    #[test]
    fn an_error_renders_itself() {
        let text: Arc<str> = "a = 1\nbc = 2\n".into();
        let e = Error::new(ErrorKind::Scenario, "unknown key `bc`")
            .at("x.toml", &text, 6..8, "write `b`")
            .help("known keys: a, b");
        assert_eq!(
            e.to_string(),
            "error: unknown key `bc`\n --> x.toml:2:1\n  |\n2 | bc = 2\n  | ^^ write `b`\n  |\n  = help: known keys: a, b"
        );
        assert_eq!(e.position(), Some(("x.toml", 2, 1)));
        let part =
            Error::plain("unknown key `bc`").at_line("x.toml", 7, &"bc = 2".into(), 5..6, "2");
        assert_eq!(part.position(), Some(("x.toml", 7, 6)));
        assert!(part.to_string().contains(" --> x.toml:7:6\n  |\n7 | bc = 2\n"), "{part}");
        assert!(e.render(Colour::Always).contains("\u{1b}["));
        assert_eq!(e.kind().exit_code(), 2);
    }
}
