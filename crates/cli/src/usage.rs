//! Mistakes on the command line, with an example of the missing value.

use clap::{
    Arg, Command, CommandFactory, Error,
    builder::StyledStr,
    error::{ContextKind, ContextValue, ErrorKind},
};

use crate::command_line::Cli;

/// A value for each kind of value, by the name that the help calls it.
const VALUES: [(&str, &str); 57] = [
    ("EXPERIMENT", "studies/quick.toml"),
    ("SCENARIO", "scenarios/driver-demo.toml"),
    ("RUN", "runs/quick"),
    ("BACKEND", "vm"),
    ("BASELINE", "debian:6.12/none"),
    ("CELL", "'debian:6.12 none #1'"),
    ("CONFIGURATION", "debian:6.12/none"),
    ("CPUS", "2-7"),
    ("FILE", "report.html"),
    ("FOLDER", "runs/mine"),
    ("FORM", "perfetto"),
    ("FORMAT", "text"),
    ("FORMAT[=FILE]", "junit=gate.xml"),
    ("KERNEL", "debian:6.12-rt"),
    ("METRIC", "wakeup.fifo.p99"),
    ("MODE", "full"),
    ("MODEL", "full"),
    ("MODELS", "none,full,rt"),
    ("N", "2"),
    ("NAME", "NO_HRTICK"),
    ("NAME=VALUE", "kernel.sched_rt_runtime_us=-1"),
    ("PATH", "pictures"),
    ("PATTERN", "'debian:7.2*'"),
    ("PERCENT", "5%"),
    ("REQUIREMENT", "'wakeup.max<=100us'"),
    ("TARGET", "grub"),
    ("TIME", "30m"),
    ("TIME[±WINDOW]", "9118.023ms±20us"),
    ("URL", "http://mirror.example/debian"),
    ("WHEN", "never"),
    ("WHETHER", "on"),
    ("WORD", "threadirqs"),
    ("SHELL", "bash"),
    ("WORKLOAD", "hackbench"),
    ("ARG", "--partition=short"),
    ("CLAIM[=FOLDER]", "recordings"),
    ("ENGINE", "slurm"),
    ("I/N", "3/8"),
    ("IMAGE", "registry.example/preemptlab"),
    ("KIND", "slurm"),
    ("PART", "runs/part"),
    ("[METRIC=]SHARE|TIME", "3%"),
    ("BASE", "debian:6.12"),
    ("NEW", "debian:7.2"),
    ("CELLS", "'debian:6.12 none'"),
    ("CELLS|TIME", "60"),
    ("EXECUTIONS|TIME", "12"),
    ("PROFILE", "instructions"),
    ("CONFIG", "lab"),
    ("REV", "v6.12"),
    ("FIRST..LAST", "debian:6.12..7.2"),
    ("FUNCTION", "exit_mmap"),
    ("preemptible=FUNCTION|cut=FUNCTION:TIME", "preemptible=exit_mmap"),
    ("[LABEL=]KERNEL", "debian:6.12-rt"),
    ("COMMAND", "'xz --version' --package xz-utils"),
    ("PACKAGE", "xz-utils --command 'xz --version'"),
    ("SECONDS", "10s"),
];

/// Adds an example to a mistake where a value is missing or invalid.
pub fn with_example(mut error: Error, arguments: &[String]) -> Error {
    let is_of_value = match error.kind() {
        ErrorKind::MissingRequiredArgument | ErrorKind::ValueValidation => true,
        // Of a value that is there clap lists the valid ones.
        ErrorKind::InvalidValue => {
            matches!(error.get(ContextKind::InvalidValue), Some(ContextValue::String(value)) if value.is_empty())
                && error.get(ContextKind::ValidValue).is_none_or(
                    |valid| matches!(valid, ContextValue::Strings(valid) if valid.is_empty()),
                )
        }
        _ => false,
    };
    let wanted = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(argument)) => vec![argument.clone()],
        Some(ContextValue::Strings(arguments)) => arguments.clone(),
        _ => Vec::new(),
    };
    let mut command = Cli::command();
    command.build();
    if let Some(example) = example(&command, arguments, &wanted).filter(|_| is_of_value) {
        let tip = StyledStr::from(format!("for example: {example}"));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
    error
}

/// Returns the verb with values for these arguments, which are in the form of the usage:
/// `--jobs <N>`, `<RUN>...`.
fn example(command: &Command, arguments: &[String], wanted: &[String]) -> Option<String> {
    let verb = arguments.iter().find_map(|argument| command.find_subcommand(argument))?;
    let wanted: Vec<&Arg> =
        verb.get_arguments().filter(|argument| wanted.contains(&argument.to_string())).collect();
    let is_required = |positional: &&Arg| {
        let instead = verb.get_arg_conflicts_with(positional);
        // Where options may stand in its place, clap requires it only without them.
        positional.is_required_set()
            || !instead.is_empty() && !instead.iter().any(|argument| wanted.contains(argument))
    };
    let required: Vec<&Arg> = verb.get_positionals().filter(is_required).collect();
    let (positionals, options): (Vec<&Arg>, Vec<&Arg>) =
        wanted.into_iter().partition(|argument| argument.is_positional());
    let positionals = if positionals.is_empty() { required } else { positionals };
    let mut words = vec!["preemptlab".to_owned(), verb.get_name().to_owned()];
    for argument in positionals.into_iter().chain(options) {
        let value = value(argument)?;
        match argument.get_long() {
            Some(name) if argument.is_require_equals_set() => {
                words.push(format!("--{name}={value}"))
            }
            Some(name) => words.extend([format!("--{name}"), value]),
            None => words.push(value),
        }
    }
    Some(words.join(" "))
}

fn value(argument: &Arg) -> Option<String> {
    if let Some(possible) = argument.get_possible_values().first() {
        return Some(possible.get_name().to_owned());
    }
    let name = argument.get_value_names()?.first()?;
    VALUES.into_iter().find(|(known, _)| known == name).map(|(_, value)| value.to_owned())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn built() -> Command {
        let mut command = Cli::command();
        command.build();
        command
    }

    /// Splits an example into words like a shell.
    fn words(example: &str) -> Vec<String> {
        example.split('\'').enumerate().fold(Vec::new(), |mut words, (index, part)| {
            match index % 2 {
                0 => {
                    words.extend(part.split(' ').filter(|word| !word.is_empty()).map(str::to_owned))
                }
                _ => words.push(part.to_owned()),
            }
            words
        })
    }

    #[test]
    fn every_value_of_every_verb_has_an_example_that_is_taken() {
        for verb in built().get_subcommands().filter(|verb| verb.get_name() != "help") {
            for argument in verb.get_arguments().filter(|it| it.get_action().takes_values()) {
                let wanted = [argument.to_string()];
                let arguments = [verb.get_name().to_owned()];
                let example = example(&built(), &arguments, &wanted);
                let example = example.unwrap_or_else(|| panic!("{} {wanted:?}", verb.get_name()));
                let Err(error) = Cli::try_parse_from(words(&example)) else { continue };
                let needs_more = [ErrorKind::MissingRequiredArgument, ErrorKind::ArgumentConflict];
                assert!(needs_more.contains(&error.kind()), "{example}: {error}");
            }
        }
    }

    #[track_caller]
    fn tip(arguments: &[&str], wanted: &str) {
        let arguments: Vec<String> =
            ["preemptlab"].iter().chain(arguments).map(ToString::to_string).collect();
        let error = Cli::try_parse_from(&arguments).unwrap_err();
        let said = with_example(error, &arguments[1..]).to_string();
        assert!(said.contains(&format!("for example: preemptlab {wanted}\n")), "{said}");
    }

    #[test]
    fn a_missing_value_comes_with_an_example() {
        tip(&["compare"], "compare runs/quick");
        tip(&["run"], "run studies/quick.toml");
        tip(&["run", "x.toml", "--jobs"], "run studies/quick.toml --jobs 2");
        tip(&["run", "x.toml", "--until"], "run studies/quick.toml --until 5%");
        tip(&["run", "x.toml", "--budget=30"], "run studies/quick.toml --budget 30m");
        tip(&["explain", "x", "--zoom", "now"], "explain runs/quick --zoom 9118.023ms±20us");
        tip(&["apply", "--preempt"], "apply --preempt full");
        tip(&["man"], "man runs/mine");
    }

    #[test]
    fn other_mistakes_come_without_one() {
        for arguments in [["preemptlab", "runn"], ["preemptlab", "--colour"]] {
            let error = Cli::try_parse_from(arguments).unwrap_err();
            let said = with_example(error, &["runn".to_owned()]).to_string();
            assert!(!said.contains("for example"), "{said}");
        }
    }
}
