//! Mistakes in arguments, told as mistakes in scenarios are: what was found, and what to write.

use std::error::Error as _;
use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory, Parser};
use mmsim::Error;
use mmsim::nearest::nearest;

use crate::args::Cli;
use crate::exit::{self, Failure};

/// The arguments of the process. A mistake in them, or a wish for help, ends it.
pub(crate) fn arguments() -> Result<Cli, std::process::ExitCode> {
    Cli::try_parse().map_err(|e| {
        if e.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
            // The help comes first: the mistake is read last.
            let _ = e.print();
        }
        let asked = Asked::of(std::env::args_os().skip(1));
        match retold(&e, &asked) {
            Some(error) => exit::code(Err(Failure::Input(error))),
            None => e.exit(),
        }
    })
}

/// The verb that arguments name, as far as they name any.
struct Asked {
    /// As people write it: `mmsim trace import`.
    name: String,
    command: Command,
}

impl Asked {
    fn of(arguments: impl Iterator<Item = OsString>) -> Asked {
        let mut asked = Asked { name: "mmsim".into(), command: Cli::command() };
        for word in arguments {
            let Some(verb) = asked.command.find_subcommand(&word) else { break };
            let name = format!("{} {}", asked.name, verb.get_name());
            asked = Asked { name, command: verb.clone() };
        }
        asked
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

/// What clap says of a value, an option or a verb in mmsim's words; `None`: it says it well, or it
/// is no mistake.
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
        ErrorKind::UnknownArgument => {
            let option = text(ContextKind::InvalidArg)?;
            let near = asked.nearest_option(option);
            let near = near.map_or(String::new(), |n| format!(", did you mean `--{n}`?"));
            let title = format!("unknown argument `{option}`{near}");
            Some(
                Error::of_option(title)
                    .help(format!("`{} --help` lists what it takes", asked.name)),
            )
        }
        ErrorKind::InvalidSubcommand => {
            let verb = text(ContextKind::InvalidSubcommand)?;
            let near = asked.nearest_verb(verb);
            let near = near.map_or(String::new(), |n| format!(", did you mean `{n}`?"));
            let title = format!("unknown verb `{verb}`{near}");
            Some(Error::of_option(title).help(format!("`{} --help` lists all verbs", asked.name)))
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let title = format!("found no verb behind `{}`, write one of those above", asked.name);
            Some(Error::of_option(title))
        }
        ErrorKind::MissingRequiredArgument => {
            let missing = words(ContextKind::InvalidArg);
            let title = format!("found nothing for {}, write it", missing.join(" and "));
            let help = format!("`{} --help` says what it takes", asked.name);
            Some(Error::of_option(title).help(help))
        }
        ErrorKind::ArgumentConflict => {
            let option = text(ContextKind::InvalidArg)?;
            let others: Vec<&str> = words(ContextKind::PriorArg);
            let other = text(ContextKind::PriorArg).or(others.first().copied())?;
            let title = match option == other {
                true => format!("{option}: found more than once, write it once"),
                false => format!("{option}: found together with {other}, write one of them"),
            };
            Some(Error::of_option(title))
        }
        _ => None,
    }
}
