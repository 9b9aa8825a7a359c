//! Mistakes in arguments, told as mistakes in scenarios are: what was found, and what to write.

use std::error::Error as _;
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, Parser};
use mmsim::Error;
use mmsim::nearest::nearest;

use crate::exit::{self, Ending, Failure};
use crate::moved::Moved;
use crate::output;

/// Reads the arguments of the process. `moved` are verbs that another program has now.
///
/// # Errors
///
/// The exit code of the process, which has printed help, the version, or the mistake.
pub fn arguments<C: Parser>(moved: Moved) -> Result<C, ExitCode> {
    exit::name_program(C::command().get_name());
    C::try_parse().map_err(|e| {
        if e.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
            // The help comes first: the mistake is read last.
            let _ = e.print();
        }
        let asked = Asked::of(C::command(), moved, std::env::args_os().skip(1));
        match retold(&e, &asked) {
            Some(error) => exit::code(Err(Failure::Input(error))),
            None if e.use_stderr() => e.exit(),
            None => exit::code(shown(&e)),
        }
    })
}

/// Prints help or the version.
fn shown(asked_for: &clap::Error) -> Result<Ending, Failure> {
    let printed = asked_for.print().and_then(|()| io::stdout().flush());
    output::written_to_stdout(printed).map(|()| Ending::Done)
}

/// The verb that arguments name, as far as they name any.
struct Asked {
    /// As people write it: `mmsim trace import`.
    name: String,
    command: Command,
    /// Words behind it.
    rest: Vec<String>,
    /// True if the words begin with the verb `help`.
    help: bool,
    /// Verbs beside its own that another program has.
    moved: Moved,
}

impl Asked {
    fn of(
        mut command: Command,
        mut moved: Moved,
        arguments: impl Iterator<Item = OsString>,
    ) -> Asked {
        let (mut name, mut help) = (command.get_name().to_string(), false);
        let mut rest = arguments.map(|word| word.to_string_lossy().into_owned()).peekable();
        while let Some(word) = rest.peek() {
            if let Some(verb) = command.find_subcommand(word) {
                (name, moved) = (format!("{name} {}", verb.get_name()), Moved::NONE);
                command = verb.clone();
            } else if word == "help" && command.has_subcommands() {
                help = true;
            } else {
                break;
            }
            rest.next();
        }
        Asked { name, command, rest: rest.collect(), help, moved }
    }

    /// An error that `--help` helps with.
    fn error(&self, title: String) -> Error {
        Error::of_option(title).help(format!("`{} --help` says what it takes", self.name))
    }

    /// A word that is none of its verbs.
    fn unknown_verb(&self, verb: &str) -> Error {
        let help = self.help.then_some("help");
        let words: Vec<&str> =
            help.into_iter().chain(self.rest.iter().map(String::as_str)).collect();
        let near = self.nearest_verb(verb);
        let elsewhere = || near.is_none().then(|| self.moved.meant(verb)).flatten();
        if let Some(error) = self.moved.named(verb, &words).or_else(elsewhere) {
            return error;
        }
        let near = near.map_or(String::new(), |n| format!(", did you mean `{n}`?"));
        Error::of_option(format!("unknown verb `{verb}`{near}"))
            .help(format!("`{} --help` lists all verbs", self.name))
    }

    /// An option that it does not take, or one word too many.
    fn unknown_argument(&self, word: &str) -> Error {
        if !word.starts_with('-') {
            return self.error(format!("found `{word}`, and `{}` takes no more", self.name));
        }
        let near = self.nearest_option(word);
        let near = near.map_or(String::new(), |n| format!(", did you mean `--{n}`?"));
        let of_verb = |verb: &&Command| verb.get_arguments().any(|arg| is_option(arg, word));
        let error = self.error(format!("unknown argument `{word}`{near}"));
        match self.command.get_subcommands().find(of_verb).filter(|_| near.is_empty()) {
            Some(verb) => error.help(format!("`{} {}` takes it", self.name, verb.get_name())),
            None => error,
        }
    }

    /// A verb behind other arguments, or what clap takes for one.
    fn misplaced_verb(&self, verb: &str) -> Error {
        let first = self.rest.iter().find(|word| !word.starts_with('-'));
        match first.filter(|word| self.nearest_verb(word).is_some()) {
            Some(word) => self.unknown_verb(word),
            None if self.command.find_subcommand(verb).is_some() => {
                let name = &self.name;
                self.error(format!(
                    "found `{verb}` behind other arguments, write `{name} {verb} ..`"
                ))
            }
            None => self.unknown_argument(verb),
        }
    }

    /// Purpose of the options that are missing.
    fn about(&self, missing: &[&str]) -> String {
        let of = |option: &&str| {
            let word = option.split(' ').next().filter(|word| word.starts_with("--"))?;
            let arg = self.command.get_arguments().find(|arg| is_option(arg, word))?;
            Some(format!(". {option}: {}", arg.get_help()?))
        };
        missing.iter().filter_map(of).collect()
    }

    /// Its verb that is probably meant.
    fn nearest_verb(&self, word: &str) -> Option<&str> {
        nearest(word, &self.command.get_subcommands().map(Command::get_name).collect::<Vec<_>>())
    }

    /// Its option that is probably meant, without dashes.
    fn nearest_option(&self, word: &str) -> Option<&str> {
        let word = word.strip_prefix("--")?;
        let options: Vec<&str> =
            self.command.get_arguments().filter_map(|arg| arg.get_long()).collect();
        nearest(word, &options)
    }
}

/// True if an argument is written like this: `--output` or `-o`.
fn is_option(arg: &Arg, word: &str) -> bool {
    match word.strip_prefix("--") {
        Some(long) => arg.get_long() == Some(long),
        None => word.strip_prefix('-').is_some_and(|s| s.chars().next() == arg.get_short()),
    }
}

/// Error of clap about arguments in mmsim's words; `None`: it is no mistake, or its words are
/// complete.
fn retold(e: &clap::Error, asked: &Asked) -> Option<Error> {
    let text = |kind| match e.get(kind) {
        Some(ContextValue::String(s)) => Some(s.as_str()),
        _ => None,
    };
    let words = |kind| match e.get(kind) {
        Some(ContextValue::Strings(all)) => all.iter().map(String::as_str).collect(),
        _ => Vec::new(),
    };
    match e.kind() {
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            let (option, value) =
                (text(ContextKind::InvalidArg)?, text(ContextKind::InvalidValue)?);
            let known: Vec<&str> = words(ContextKind::ValidValue);
            let option = option.trim_end_matches("...");
            if value.is_empty() && !known.is_empty() {
                let title = format!("{option}: found nothing, write one of {}", known.join(", "));
                return Some(Error::of_option(title));
            }
            if !known.is_empty() {
                return Some(Error::unknown_word(
                    &format!("{option}: unknown value"),
                    value,
                    &known,
                ));
            }
            let shown = if value.is_empty() { "nothing".into() } else { format!("\"{value}\"") };
            let why = e.source().map_or_else(|| "write a value".to_string(), ToString::to_string);
            Some(Error::of_option(format!("{option}: found {shown}, {why}")))
        }
        ErrorKind::UnknownArgument => Some(asked.unknown_argument(text(ContextKind::InvalidArg)?)),
        ErrorKind::InvalidSubcommand => {
            Some(asked.unknown_verb(text(ContextKind::InvalidSubcommand)?))
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let title = format!("found no verb behind `{}`, write one of those above", asked.name);
            Some(Error::of_option(title))
        }
        ErrorKind::MissingRequiredArgument => {
            let missing = words(ContextKind::InvalidArg);
            let title = format!("found nothing for {}, write it", missing.join(" and "));
            Some(asked.error(title + &asked.about(&missing)))
        }
        ErrorKind::ArgumentConflict => {
            if let Some(verb) = text(ContextKind::InvalidSubcommand) {
                return Some(asked.misplaced_verb(verb));
            }
            let option = text(ContextKind::InvalidArg)?;
            let others: Vec<&str> = words(ContextKind::PriorArg);
            let other = text(ContextKind::PriorArg).or(others.first().copied())?;
            let title = match option == other {
                true => format!("{option}: found more than once, write it once"),
                false => format!("{option}: found together with {other}, write one of them"),
            };
            Some(Error::of_option(title))
        }
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => None,
        _ => {
            let said = e.render().to_string();
            let first = said.lines().next().unwrap_or_default();
            Some(asked.error(first.trim_start_matches("error: ").to_string()))
        }
    }
}
