//! A script without what only people need: comments, white space, and long names.
//!
//! A name becomes short wherever it stands, so two variables of one name keep one. That is right as
//! long as no other code knows the name. Names that stand behind a dot, before a colon, or in
//! braces as a property of their own name may be known to the browser, to uPlot or to the data, and
//! stay. So does whatever the script does not declare.
//!
//! Literals of regular expressions stand behind a mark, never behind a name or a closing bracket.

use std::collections::{BTreeMap, BTreeSet};

/// Gap before something.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Gap {
    None,
    Blank,
    Line,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Name,
    /// A literal; of a template a piece between two of its values.
    Text,
    /// A number, or one character of what is between names.
    Mark,
}

#[derive(Clone, Copy, Debug)]
struct Token<'a> {
    kind: Kind,
    text: &'a str,
    gap: Gap,
}

impl Token<'_> {
    fn is(&self, text: &str) -> bool {
        self.text == text
    }
    fn first(&self) -> u8 {
        self.text.as_bytes()[0]
    }
    fn last(&self) -> u8 {
        self.text.as_bytes()[self.text.len() - 1]
    }
}

fn of_name(c: u8) -> bool {
    c.is_ascii_alphanumeric() || c == b'_' || c == b'$' || !c.is_ascii()
}

/// The end of a string or of a regular expression.
fn literal(text: &[u8], from: usize) -> usize {
    let mark = text[from];
    let (mut i, mut class) = (from + 1, false);
    while i < text.len() {
        match text[i] {
            b'\\' => i += 1,
            // Within the brackets of a regular expression its mark is a character.
            b'[' if mark == b'/' => class = true,
            b']' if mark == b'/' => class = false,
            c if c == mark && !class => return i + 1,
            _ => {}
        }
        i += 1;
    }
    i
}

/// The end of a piece of a template: behind its last mark, or behind `${`.
fn piece(text: &[u8], from: usize) -> usize {
    let mut i = from + 1;
    while i < text.len() {
        match text[i] {
            b'\\' => i += 1,
            b'`' => return i + 1,
            b'$' if text.get(i + 1) == Some(&b'{') => return i + 2,
            _ => {}
        }
        i += 1;
    }
    i
}

fn tokens(script: &str) -> Vec<Token<'_>> {
    let text = script.as_bytes();
    let mut all: Vec<Token<'_>> = Vec::new();
    // How deep braces are, and where values of templates began.
    let (mut depth, mut values) = (0, Vec::new());
    let (mut i, mut gap) = (0, Gap::None);
    while i < text.len() {
        let c = text[i];
        if c.is_ascii_whitespace() {
            gap = gap.max(if c == b'\n' { Gap::Line } else { Gap::Blank });
            i += 1;
            continue;
        }
        if text[i..].starts_with(b"/*") {
            i = script[i..].find("*/").map_or(text.len(), |at| i + at + 2);
            gap = gap.max(Gap::Blank);
            continue;
        }
        // A slash behind a mark begins a literal; behind a value it divides.
        let divides = all.last().is_some_and(|t| of_name(t.last()) || b")]}".contains(&t.last()));
        let (kind, end) = match c {
            b'\'' | b'"' => (Kind::Text, literal(text, i)),
            b'/' if !divides => (Kind::Text, literal(text, i)),
            b'`' => (Kind::Text, piece(text, i)),
            b'}' if values.last() == Some(&depth) => {
                values.pop();
                (Kind::Text, piece(text, i))
            }
            c if of_name(c) => {
                let length = text[i..].iter().take_while(|&&c| of_name(c)).count();
                (if c.is_ascii_digit() { Kind::Mark } else { Kind::Name }, i + length)
            }
            c => {
                match c {
                    b'{' => depth += 1,
                    b'}' => depth -= 1,
                    _ => {}
                }
                (Kind::Mark, i + 1)
            }
        };
        let token = Token { kind, text: &script[i..end], gap };
        if kind == Kind::Text && token.text.ends_with("${") {
            values.push(depth);
        }
        all.push(token);
        (i, gap) = (end, Gap::None);
    }
    all
}

/// The names that the script declares, and those that others may know.
fn declared<'a>(all: &[Token<'a>]) -> (BTreeSet<&'a str>, BTreeSet<&'a str>) {
    let (mut ours, mut known) = (BTreeSet::new(), BTreeSet::new());
    // Brackets that are open: where, and which.
    let mut open: Vec<(usize, u8)> = Vec::new();
    let at = |i: usize, text: &str| all.get(i).is_some_and(|t| t.is(text));
    let before = |i: usize, text: &str| i > 0 && at(i - 1, text);
    let arrow = |i: usize| at(i, "=") && at(i + 1, ">");
    // What a list of parameters, or of places of a list, declares.
    let list = |ours: &mut BTreeSet<&'a str>, from: usize, to: usize| {
        for (i, token) in all.iter().enumerate().take(to).skip(from + 1) {
            let begins = ["(", ",", "[", "."].iter().any(|mark| before(i, mark));
            let ends = [",", ")", "]", "[", "="].iter().any(|mark| at(i + 1, mark));
            if token.kind == Kind::Name && begins && ends {
                ours.insert(token.text);
            }
        }
    };
    for (i, token) in all.iter().enumerate() {
        match token.kind {
            Kind::Name => {
                let property = before(i, ".") && !(i > 1 && before(i - 1, "."));
                let braces = open.last().is_some_and(|b| b.1 == b'{');
                let short = braces
                    && (before(i, "{") || before(i, ","))
                    && [",", "}", "="].iter().any(|mark| at(i + 1, mark));
                if property || short || at(i + 1, ":") {
                    known.insert(token.text);
                }
                let named = ["const", "let", "function"].iter().any(|word| before(i, word));
                if named || arrow(i + 1) {
                    ours.insert(token.text);
                }
            }
            Kind::Text => {
                if token.text.starts_with('}') {
                    open.pop();
                }
                if token.text.ends_with("${") {
                    open.push((i, b'$'));
                }
            }
            Kind::Mark => match token.first() {
                c @ (b'(' | b'[' | b'{') => open.push((i, c)),
                b')' | b']' | b'}' => {
                    let Some((from, bracket)) = open.pop() else { continue };
                    let function = from > 1 && all[from - 2].is("function");
                    let places = bracket == b'[' && (before(from, "const") || before(from, "let"));
                    if arrow(i + 1) || function || places {
                        list(&mut ours, from, i);
                    }
                }
                _ => {}
            },
        }
    }
    (ours, known)
}

/// Short names for those that only the script knows: the more it saves, the shorter.
fn names<'a>(all: &[Token<'a>]) -> BTreeMap<&'a str, String> {
    let (ours, known) = declared(all);
    let mut saved: BTreeMap<&str, usize> = BTreeMap::new();
    let mut taken: BTreeSet<&str> = ["do", "if", "in", "of", "as"].into();
    for token in all.iter().filter(|t| t.kind == Kind::Name) {
        let may = token.text.len() > 2 && ours.contains(token.text) && !known.contains(token.text);
        match may {
            true => *saved.entry(token.text).or_default() += token.text.len(),
            false => {
                taken.insert(token.text);
            }
        }
    }
    let mut order: Vec<(&str, usize)> = saved.into_iter().collect();
    order.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let letters = || (b'a'..=b'z').chain(b'A'..=b'Z').map(char::from);
    let two = letters().flat_map(|a| letters().map(move |b| format!("{a}{b}")));
    let free = letters().map(String::from).chain(two).filter(|n| !taken.contains(n.as_str()));
    order.into_iter().map(|o| o.0).zip(free).collect()
}

/// The script without comments, white space that it can do without, and long names. A line ends
/// where the script's does, unless that is behind a mark after which a statement goes on.
pub(super) fn shortened(script: &str) -> String {
    let all = tokens(script);
    let names = names(&all);
    let mut out = String::with_capacity(script.len());
    for token in &all {
        let text = names.get(token.text).filter(|_| token.kind == Kind::Name);
        let text = text.map_or(token.text, String::as_str);
        if let (Some(&last), true) = (out.as_bytes().last(), token.gap > Gap::None) {
            let first = text.as_bytes()[0];
            let goes_on =
                b";{}(,[=&|?:+-*<>!.\n".contains(&last) || b")]}.?:&|+,=".contains(&first);
            let sign = matches!(first, b'+' | b'-') && first == last;
            if token.gap == Gap::Line && !goes_on {
                out.push('\n');
            } else if of_name(last) && of_name(first) || sign {
                out.push(' ');
            }
        }
        out.push_str(text);
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_people_need_is_left_out() {
        for (long, want) in [
            ("let a = 1;  /* one */\n\n  let b = a - -1;\n", "let a=1;let b=a- -1;"),
            ("return a / b / c", "return a/b/c"),
            ("x.replace(/ \\/[/ ]/g, ' / ')", "x.replace(/ \\/[/ ]/g,' / ')"),
            ("`a  ${ f(`b  }`) }  c`;", "`a  ${f(`b  }`)}  c`;"),
            ("a('it\\'s  ' + x in y)", "a('it\\'s  '+x in y)"),
            ("return 'a'", "return'a'"),
            ("f()\n  .g()", "f().g()"),
            ("a\nb", "a\nb"),
            ("i++ + ++j", "i++ + ++j"),
            ("'±' + é", "'±'+é"),
        ] {
            assert_eq!(shortened(long), format!("{want}\n"));
        }
    }

    /// Shortens only a name that the script declares, and that no other code can know.
    #[test]
    fn names_are_short_where_only_the_script_knows_them() {
        for (long, want) in [
            ("const long = 1; f(long);", "const a=1;f(a);"),
            ("function sum(left, right) { return left + right; }", "function c(b,a){return b+a;}"),
            ("list.map(([one, two]) => one * two)", "list.map(([a,b])=>a*b)"),
            ("const say = 1; `${say} say`", "const a=1;`${a} say`"),
            // The browser's, the data's, or a property that others read.
            ("document.title", "document.title"),
            ("const width = 1; o.width = width;", "const width=1;o.width=width;"),
            ("const title = 1; f({title});", "const title=1;f({title});"),
            ("const {rows} = data; rows.f()", "const{rows}=data;rows.f()"),
            ("const tall = 1; f({tall: 2}, tall);", "const tall=1;f({tall:2},tall);"),
            // Names that are taken.
            ("const long = a + b;", "const c=a+b;"),
            ("f(...rest); const rest = []", "f(...a);const a=[]"),
        ] {
            assert_eq!(shortened(long), format!("{want}\n"));
        }
    }
}
