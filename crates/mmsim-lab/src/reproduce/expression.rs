//! Expressions of figures and of settings in the files of studies.
//!
//! `100 * (pswpin - pswpin@base) / pswpin@base` is a change, `sim_candidates[end/survey]` a counter
//! of one phase. There are numbers, names, `+ - * /`, parentheses, and:
//!
//! - `x@variant` is `x` under another variant with the same seed, `x@"two words"` under one whose
//!   name has blanks, `x@runs:variant` in another experiment of the file;
//! - `x[phase]` is `x` in the phases of that name, whichever task they are of, `x[a ..]` in all
//!   that end after phase `a`, and `x[a .. b]` in those up to `b`;
//! - `round(x)`, `floor(x)`, `min(x, y)`, `max(x, y)`, and `change(x, y)`, from x to y in per cent.
//!
//! A name may have hyphens and dots, so a minus stands between blanks. A number divided by nothing
//! is infinite, and what is not known is not a number; the reader of the figure decides.

/// An expression.
#[derive(Clone, PartialEq, Debug)]
pub enum Expression {
    /// A number.
    Number(f64),
    /// A counter, a figure of the study, a constant or a key.
    Name(String),
    /// An expression under another variant.
    Of(Box<Expression>, String),
    /// An expression in some phases.
    During(Box<Expression>, String),
    /// A function or an operator with its arguments.
    Apply(Function, Vec<Expression>),
}

/// A function of numbers.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    name: &'static str,
    arguments: usize,
    apply: fn(&[f64]) -> f64,
}

impl PartialEq for Function {
    fn eq(&self, other: &Function) -> bool {
        self.name == other.name
    }
}

const FUNCTIONS: [Function; 5] = [
    Function { name: "round", arguments: 1, apply: |x| x[0].round() },
    Function { name: "floor", arguments: 1, apply: |x| x[0].floor() },
    Function { name: "min", arguments: 2, apply: |x| least(x[0], x[1]) },
    Function { name: "max", arguments: 2, apply: |x| -least(-x[0], -x[1]) },
    Function { name: "change", arguments: 2, apply: |x| change(x[0], x[1]) },
];

const OPERATORS: [(char, Function); 4] = [
    ('+', Function { name: "+", arguments: 2, apply: |x| x[0] + x[1] }),
    ('-', Function { name: "-", arguments: 2, apply: |x| x[0] - x[1] }),
    ('*', Function { name: "*", arguments: 2, apply: |x| x[0] * x[1] }),
    ('/', Function { name: "/", arguments: 2, apply: |x| x[0] / x[1] }),
];

/// The smaller of two numbers, or neither if one is not known.
fn least(a: f64, b: f64) -> f64 {
    if a.is_nan() || a < b { a } else { b }
}

/// The change in per cent; none between equal figures, whatever they are.
fn change(before: f64, after: f64) -> f64 {
    if before == after { 0.0 } else { (after - before) / before * 100.0 }
}

impl Expression {
    /// Reads an expression.
    ///
    /// # Errors
    /// What was found and what may stand there.
    pub(super) fn read(text: &str) -> Result<Expression, String> {
        let mut reader = Reader { text, at: 0 };
        let all = reader.sum()?;
        match reader.peek() {
            None => Ok(all),
            Some(c) => Err(format!("found `{c}` after the expression, write an operator")),
        }
    }

    /// Its value, where `leaf` gives that of names, and of parts under other variants or in phases.
    pub fn value(&self, leaf: &dyn Fn(&Expression) -> f64) -> f64 {
        match self {
            Expression::Number(n) => *n,
            Expression::Apply(f, arguments) => {
                let values: Vec<f64> = arguments.iter().map(|a| a.value(leaf)).collect();
                (f.apply)(&values)
            }
            other => leaf(other),
        }
    }

    /// Shows each part of it that is neither a number nor a function to `see`.
    pub fn leaves<E>(&self, see: &mut dyn FnMut(&Expression) -> Result<(), E>) -> Result<(), E> {
        match self {
            Expression::Number(_) => Ok(()),
            Expression::Apply(_, arguments) => arguments.iter().try_for_each(|a| a.leaves(see)),
            other => see(other),
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.text[self.at..].chars().next()
    }

    fn take(&mut self, wanted: char) -> bool {
        let is = self.peek() == Some(wanted);
        self.at += if is { wanted.len_utf8() } else { 0 };
        is
    }

    /// The longest text of such characters.
    fn word(&mut self, of: impl Fn(char) -> bool) -> &'a str {
        let rest = &self.text[self.at..];
        let end = rest.find(|c| !of(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// The text up to `end`, which is passed.
    fn until(&mut self, end: char) -> Result<&'a str, String> {
        let rest = &self.text[self.at..];
        let n = rest.find(end).ok_or_else(|| format!("`{end}` is missing after `{rest}`"))?;
        self.at += n + end.len_utf8();
        Ok(&rest[..n])
    }

    fn chain(
        &mut self,
        operators: &[(char, Function)],
        part: impl Fn(&mut Self) -> Result<Expression, String>,
    ) -> Result<Expression, String> {
        let mut all = part(self)?;
        while let Some(o) = operators.iter().find(|o| self.take(o.0)) {
            all = Expression::Apply(o.1, vec![all, part(self)?]);
        }
        Ok(all)
    }

    fn sum(&mut self) -> Result<Expression, String> {
        self.chain(&OPERATORS[..2], |r| r.chain(&OPERATORS[2..], Reader::part))
    }

    /// A primary expression, with its variants and phases.
    fn part(&mut self) -> Result<Expression, String> {
        let mut part = self.primary()?;
        loop {
            part = if self.take('@') {
                let variant = match self.take('"') {
                    true => self.until('"')?,
                    false => self.word(|c| is_of_name(c) || c == ':'),
                };
                Expression::Of(Box::new(part), variant.to_string())
            } else if self.take('[') {
                Expression::During(Box::new(part), self.until(']')?.to_string())
            } else {
                return Ok(part);
            }
        }
    }

    fn primary(&mut self) -> Result<Expression, String> {
        match self.peek() {
            Some('(') => {
                self.at += 1;
                let inner = self.sum()?;
                if self.take(')') { Ok(inner) } else { Err("`)` is missing".into()) }
            }
            Some(c) if c.is_ascii_digit() => {
                let digits = self.word(|c| c.is_ascii_alphanumeric() || c == '.');
                let number = digits.parse().map_err(|_| format!("`{digits}` is no number"))?;
                Ok(Expression::Number(number))
            }
            Some(c) if c.is_ascii_alphabetic() => {
                let name = self.word(is_of_name);
                if self.take('(') { self.call(name) } else { Ok(Expression::Name(name.into())) }
            }
            Some(c) => Err(format!("found `{c}`, write a number, a name or `(`")),
            None => Err("it ends where a number, a name or `(` should follow".into()),
        }
    }

    fn call(&mut self, name: &str) -> Result<Expression, String> {
        let known = FUNCTIONS.map(|f| f.name).join(", ");
        let function = FUNCTIONS.into_iter().find(|f| f.name == name);
        let function = function.ok_or_else(|| format!("no function `{name}`, write {known}"))?;
        let mut arguments = vec![self.sum()?];
        while self.take(',') {
            arguments.push(self.sum()?);
        }
        match (self.take(')'), arguments.len() == function.arguments) {
            (true, true) => Ok(Expression::Apply(function, arguments)),
            (true, false) => Err(format!("`{name}` takes {} values", function.arguments)),
            (false, _) => Err(format!("`)` is missing after the values of `{name}`")),
        }
    }
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_.-".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> f64 {
        let expression = Expression::read(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        expression.value(&|leaf| match leaf {
            Expression::Name(name) => [("a", 2.0), ("b-c.d", 3.0)]
                .into_iter()
                .find(|n| n.0 == name)
                .map_or(f64::NAN, |n| n.1),
            Expression::Of(_, variant) => variant.len() as f64,
            Expression::During(_, phase) => 100.0 + phase.len() as f64,
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn operators_bind_as_usual() {
        assert_eq!(value("1 + 2 * 3 - 4 / 2"), 5.0);
        assert_eq!(value("8 / 2 / 2"), 2.0);
        assert_eq!(value("(1 + a) * b-c.d"), 9.0);
        assert_eq!(value("7 - a - 1e1"), -5.0);
        assert_eq!(value("max(min(a, 9), 1.5) + round(0.5) + floor(2.9)"), 5.0);
        assert_eq!(value("change(4, 5)"), 25.0);
        assert_eq!((value("change(0, 0)"), value("change(0, 1)")), (0.0, f64::INFINITY));
        assert!(value("min(x, 1) + min(1, x)").is_nan() && value("1 - x").is_nan());
    }

    #[test]
    fn variants_and_phases_follow_what_they_are_said_of() {
        assert_eq!(value("1 + a@base"), 5.0);
        assert_eq!(value("(a - a)@\"two words\" * 2"), 18.0);
        assert_eq!(value("a@sync:base"), 9.0);
        assert_eq!(value("a[x/y ..] + 1"), 107.0);
    }

    #[test]
    fn mistakes_say_what_to_write() {
        let said = |text: &str| Expression::read(text).expect_err(text);
        assert_eq!(said("1 +"), "it ends where a number, a name or `(` should follow");
        assert_eq!(said("a b"), "found `b` after the expression, write an operator");
        assert_eq!(said("(1 + 2"), "`)` is missing");
        assert_eq!(said("2x"), "`2x` is no number");
        assert!(said("sqrt(2)").ends_with("write round, floor, min, max, change"));
        assert_eq!(said("min(2)"), "`min` takes 2 values");
        assert_eq!(said("a[x"), "`]` is missing after `x`");
        assert!(said("* 2").starts_with("found `*`"));
    }
}
