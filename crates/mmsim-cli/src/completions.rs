//! `mmsim completions`: the script of a shell, which knows presets, knobs, kernels and devices too.
//!
//! Options that take one of these check it themselves, with messages of their own. For the script
//! alone they become options with possible values.

use clap::builder::PossibleValuesParser;
use clap::{Arg, Command};
use mmsim::backing::device::DEVICE_PRESETS;
use mmsim::config::Kernel;
use mmsim::knobs;
use mmsim::machines::Catalogue;
use mmsim_terminal::exit::{Ending, Failure};
use mmsim_terminal::man::{self, CompletionsArgs};

/// Prints the script.
pub(crate) fn completions(args: &CompletionsArgs, command: Command) -> Result<Ending, Failure> {
    let command = known(command);
    let more = match args.shell.to_string().as_str() {
        "bash" => more_of_bash(&command),
        _ => String::new(),
    };
    man::completions(args, command, &more)
}

/// The command with the values that its options take.
fn known(command: Command) -> Command {
    let with_values = |arg: Arg| {
        let values = values_of(&arg);
        // The program ends with the script.
        let values = values.into_iter().map(|value| &*value.leak());
        match values.len() {
            0 => arg,
            _ => arg.value_parser(PossibleValuesParser::new(values)),
        }
    };
    command.mut_args(with_values).mut_subcommands(known)
}

/// The values that an option takes; none: anything.
fn values_of(arg: &Arg) -> Vec<String> {
    let name = arg.get_value_names().and_then(|names| names.first());
    let knobs = || knobs::knobs(&Catalogue).into_iter().map(|knob| knob.path);
    let mut values: Vec<String> = match (arg.get_long(), name.map_or("", |name| name.as_str())) {
        (Some("set"), _) => knobs().map(|path| path + "=").collect(),
        (_, "KNOB=VALUE") => {
            let of_reclaim = |path: String| Some(format!("{}=", path.strip_prefix("reclaim.")?));
            knobs().filter_map(of_reclaim).collect()
        }
        (_, "PRESET" | "PRESET,..") => super::list::presets(),
        (_, "VERSION") => Kernel::ALL.map(|kernel| kernel.name().to_string()).to_vec(),
        (_, "DEVICE") => DEVICE_PRESETS.iter().map(|preset| preset.0.to_string()).collect(),
        _ => Vec::new(),
    };
    values.sort();
    values.dedup();
    values
}

/// No blank behind `KEY=`, and scenario files where a verb takes them.
fn more_of_bash(command: &Command) -> String {
    let takes_scenario = |verb: &&Command| {
        let mut names = verb.get_positionals().filter_map(|arg| arg.get_value_names()).flatten();
        names.any(|name| name.contains("SCENARIO"))
    };
    let verbs = command.get_subcommands().filter(takes_scenario).map(Command::get_name);
    format!(
        r#"
_mmsim_more() {{
    local cur="${{COMP_WORDS[COMP_CWORD]}}" prev="${{COMP_WORDS[COMP_CWORD-1]}}"
    _mmsim "$@"
    if [[ "${{COMPREPLY-}}" == *= ]]; then
        compopt -o nospace 2> /dev/null
    fi
    case "${{COMP_WORDS[1]}}" in
        {verbs})
            if [[ $COMP_CWORD -gt 1 && "$cur" != -* && "$prev" != -* ]]; then
                local IFS=$'\n'
                COMPREPLY=($(compgen -f -X '!*.toml' -- "$cur") $(compgen -d -- "$cur"))
                compopt -o filenames 2> /dev/null
            fi
            ;;
    esac
}}
complete -F _mmsim_more -o bashdefault -o default mmsim
"#,
        verbs = verbs.collect::<Vec<_>>().join("|"),
    )
}
