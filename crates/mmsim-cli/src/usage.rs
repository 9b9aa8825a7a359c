//! Mistakes in arguments, told as mistakes in scenarios are: what was found, and what to write.

use std::error::Error as _;

use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use mmsim::Error;

use crate::args::Cli;
use crate::exit::{self, Failure};

/// The arguments of the process. A mistake in them, or a wish for help, ends it.
pub(crate) fn arguments() -> Result<Cli, std::process::ExitCode> {
    Cli::try_parse().map_err(|e| match retold(&e) {
        Some(error) => exit::code(Err(Failure::Input(error.to_string()))),
        None => e.exit(),
    })
}

/// What clap says of a value, an option or a verb in mmsim's words; `None`: it says it well, or it
/// is no mistake.
fn retold(e: &clap::Error) -> Option<Error> {
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
            let near = text(ContextKind::SuggestedArg);
            let near = near.map_or(String::new(), |n| format!(", did you mean `{n}`?"));
            let title = format!("unknown argument `{option}`{near}");
            Some(Error::of_option(title).help("`mmsim VERB --help` lists what a verb takes"))
        }
        ErrorKind::InvalidSubcommand => {
            let verb = text(ContextKind::InvalidSubcommand)?;
            let near: Vec<&str> = words(ContextKind::SuggestedSubcommand);
            let near = mmsim::nearest::nearest(verb, &near).or(near.first().copied());
            let near = near.map_or(String::new(), |n| format!(", did you mean `{n}`?"));
            let title = format!("unknown verb `{verb}`{near}");
            Some(Error::of_option(title).help("`mmsim --help` lists all verbs"))
        }
        ErrorKind::MissingRequiredArgument => {
            let missing = words(ContextKind::InvalidArg);
            let title = format!("found nothing for {}, write it", missing.join(" and "));
            Some(Error::of_option(title).help("`mmsim VERB --help` says what a verb takes"))
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
