//! Mistakes on the command line, with an example of the missing value.

use clap::{
    Arg, Command, CommandFactory, Error, ValueEnum,
    builder::StyledStr,
    error::{ContextKind, ContextValue, ErrorKind},
};

use crate::{args::Format, command_line::Cli};

/// A value for each kind of value, by the name that the help calls it.
const VALUES: [(&str, &str); 53] = [
    ("ARCH", "arm64"),
    ("EXPERIMENT", "studies/quick.toml"),
    ("FILE|RUN", "studies/quick.toml"),
    ("RUN", "runs/quick"),
    ("BACKEND", "vm"),
    ("BASELINE", "debian:6.12/none"),
    ("CELL", "'debian:6.12 none #1'"),
    ("CONFIGURATION", "debian:6.12/none"),
    ("CPUS", "2-7"),
    ("FILE", "report.html"),
    ("FOLDER", "runs/mine"),
    ("FORMAT", "text"),
    ("FORMAT[=FILE]", "json=result.json"),
    ("KERNEL", "debian:6.12-rt"),
    ("METRIC", "wakeup.fifo.p99"),
    ("MODE", "full"),
    ("MODES", "none,full"),
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
    ("KEY=VALUE", "mirror=http://mirror.example/debian"),
    ("WHEN", "never"),
    ("WHETHER", "on"),
    ("WORD", "threadirqs"),
    ("SHELL", "bash"),
    ("WORKLOAD", "hackbench"),
    ("ARG", "--partition=short"),
    ("ENGINE", "slurm"),
    ("I/N", "3/8"),
    ("KIND", "slurm"),
    ("PART", "runs/part"),
    ("[METRIC=]SHARE|TIME", "3%"),
    ("BASE", "debian:6.12"),
    ("NEW", "debian:7.2"),
    ("CELLS", "'debian:6.12 none'"),
    ("COUNT|TIME", "60"),
    ("PROFILE", "instructions"),
    ("CONFIG", "lab"),
    ("GOOD..BAD", "v6.12..v6.13"),
    ("FUNCTION", "exit_mmap"),
    ("preemptible=FUNCTION|cut=FUNCTION:TIME", "preemptible=exit_mmap"),
    ("[LABEL=]KERNEL", "debian:6.12-rt"),
    ("COMMAND", "'xz --version' --package xz-utils"),
    ("PACKAGE", "xz-utils --command 'xz --version'"),
    ("SECONDS", "10s"),
    ("RUN|CAPSULE", "runs/quick"),
];

/// A value for an option of one verb, where the kind of its value says too little: the verb, the option, and the value.
const VALUES_OF_VERBS: [(&str, &str, &str); 6] = [
    ("explain", "svg", "late.svg"),
    ("export", "out", "runs/quick-csv"),
    ("trace", "out", "late.pftrace"),
    ("calibrate", "by", "'ssh pi ./micro'"),
    ("calibrate", "out", "workstation.toml"),
    ("pack", "out", "quick.capsule"),
];

/// Words that commands and options were called by, with their present form. The former option of one verb alone
/// stands behind that verb.
const RENAMED: [(&str, &str); 46] = [
    ("plan", "preemptlab run EXPERIMENT --dry-run"),
    ("scenario", "preemptlab run SCENARIO..."),
    ("history", "preemptlab compare RUN... --by kernel"),
    ("report", "preemptlab compare RUN... -o report.html"),
    ("search", "preemptlab explain RUN search"),
    ("census", "preemptlab explain RUN census"),
    ("atlas", "preemptlab explain RUN atlas"),
    ("merge", "preemptlab cluster merge RUN"),
    ("doctor", "preemptlab system show"),
    ("apply", "preemptlab system apply"),
    ("revert", "preemptlab system revert"),
    ("calibrate", "preemptlab system calibrate"),
    ("completions", "preemptlab util completions SHELL"),
    ("man", "preemptlab util man FOLDER"),
    // Former options of most commands, which the configuration has today.
    ("--mirror", "--set mirror=URL, or mirror = \"URL\" in the file of `preemptlab util config`"),
    ("--qemu", "--set qemu=PATH, or qemu = \"PATH\" in the file of `preemptlab util config`"),
    ("--allow-expired", "--set allow_expired=true"),
    ("--offline", "--set offline=true"),
    (
        "--snapshot",
        "--set snapshot=URL, or snapshot = \"URL\" in the file of `preemptlab util config`",
    ),
    ("--refresh", "preemptlab kernels --refresh"),
    ("--volume", "--set kubernetes.volume=CLAIM=FOLDER"),
    ("--image", "--set kubernetes.image=IMAGE"),
    // Former options of `explain`.
    ("fair", "preemptlab explain RUN --fair"),
    ("worst", "preemptlab explain RUN search"),
    ("--response", "preemptlab explain RUN response"),
    ("--ranking", "preemptlab explain RUN ranking"),
    ("--confirm", "preemptlab explain RUN confirm"),
    ("--what-if", "preemptlab explain RUN what-if CHANGE..."),
    ("--zoom", "preemptlab explain RUN zoom TIME"),
    ("--export", "preemptlab explain RUN trace --format FORM --out FILE"),
    // Former options of `run`, `scenario` and `verify` for several machines.
    ("--prepare", "preemptlab cluster prepare EXPERIMENT"),
    ("--shard", "preemptlab cluster work RUN I/N"),
    ("--emit", "preemptlab cluster emit KIND EXPERIMENT"),
    ("--engine", "preemptlab cluster submit ENGINE EXPERIMENT, or cluster verify ENGINE RUN"),
    ("--attach", "preemptlab cluster attach ENGINE RUN"),
    ("--detach", "preemptlab cluster submit ENGINE EXPERIMENT --detach"),
    ("--twice", "preemptlab cluster submit ENGINE EXPERIMENT --twice 1%"),
    ("--tasks", "preemptlab cluster submit ENGINE EXPERIMENT --tasks N"),
    ("--engine-arg", "preemptlab cluster submit ENGINE EXPERIMENT --engine-arg ARG"),
    // Former options of `scenario` and `run`.
    ("--compare", "--preempt MODES"),
    ("--mode", "--preempt MODES"),
    ("--svg", "--format svg=FOLDER"),
    ("--html", "--format html=FILE"),
    // Former options of `bisect`.
    ("bisect --good", "preemptlab bisect GOOD..BAD"),
    ("bisect --bad", "preemptlab bisect GOOD..BAD"),
    ("bisect --kernels", "preemptlab bisect debian:6.12..7.2"),
];

/// Adds advice to a mistake: the new spelling of an old word, the formats that there are, or an example
/// of a value that is missing or invalid.
pub fn with_help(mut error: Error, arguments: &[String]) -> Error {
    let tip = mistaken_for_a_subject(&error, arguments)
        .or_else(|| renamed(&error, arguments))
        .or_else(|| unwritten(&error));
    if let Some(tip) = tip {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip)]));
        error.remove(ContextKind::SuggestedSubcommand);
        error.remove(ContextKind::SuggestedArg);
        return error;
    }
    let mut command = Cli::command();
    command.build();
    with_example(with_usage(error, &command, arguments), &command, arguments)
}

/// Shows the usage of the verb: clap's own names the options that are given, and those of the environment.
fn with_usage(mut error: Error, command: &Command, arguments: &[String]) -> Error {
    if error.get(ContextKind::Usage).is_some() {
        let below = |verb: Command, argument: &String| {
            verb.find_subcommand(argument).cloned().unwrap_or(verb)
        };
        let usage = arguments.iter().fold(command.clone(), below).render_usage();
        error.insert(ContextKind::Usage, ContextValue::StyledStr(usage));
    }
    error
}

/// Says how to name a recording whose folder has the name of a subject of `explain`.
fn mistaken_for_a_subject(error: &Error, arguments: &[String]) -> Option<String> {
    let [verb, name, ..] = arguments else { return None };
    let ContextValue::String(word) = error.get(ContextKind::InvalidArg)? else { return None };
    let is_mistaken = error.kind() == ErrorKind::UnknownArgument
        && !word.starts_with('-')
        && Cli::command().find_subcommand(verb)?.find_subcommand(name).is_some();
    is_mistaken.then(|| format!("a recording in the folder `{name}` is written `./{name}`"))
}

/// Names the present form of an old word.
fn renamed(error: &Error, arguments: &[String]) -> Option<String> {
    let word = match error.kind() {
        ErrorKind::InvalidSubcommand => error.get(ContextKind::InvalidSubcommand)?,
        ErrorKind::UnknownArgument => error.get(ContextKind::InvalidArg)?,
        _ => return None,
    };
    let ContextValue::String(word) = word else { return None };
    let is_old = |old: &str| match old.split_once(' ') {
        Some((verb, option)) => option == word && arguments.iter().any(|argument| argument == verb),
        None => old == word,
    };
    let (_, new) = RENAMED.into_iter().find(|(old, _)| is_old(old))?;
    Some(format!("this is written today as `{new}`"))
}

/// Says that a command does not write a format which others write.
fn unwritten(error: &Error) -> Option<String> {
    let Some(ContextValue::String(value)) = error.get(ContextKind::InvalidValue) else {
        return None;
    };
    let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let is_format = argument.starts_with("--format ") && Format::from_str(value, false).is_ok();
    is_format.then(|| format!("this command cannot write {value}, which others can"))
}

/// Adds an example to a mistake where a value is missing or invalid.
fn with_example(mut error: Error, command: &Command, arguments: &[String]) -> Error {
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
    if let Some(example) = example(command, arguments, &wanted).filter(|_| is_of_value) {
        let tip = StyledStr::from(format!("for example: {example}"));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
    error
}

/// Returns the verb with values for these arguments, which are in the form of the usage:
/// `--jobs <N>`, `<RUN>...`.
fn example(command: &Command, arguments: &[String], wanted: &[String]) -> Option<String> {
    let mut words = vec!["preemptlab".to_owned()];
    let mut verb = command;
    for argument in arguments {
        let Some(below) = verb.find_subcommand(argument) else { continue };
        if words.len() > 1 {
            // Arguments before a verb's own verb.
            for positional in
                verb.get_positionals().filter(|positional| positional.is_required_set())
            {
                words.push(value(positional)?);
            }
        }
        words.push(below.get_name().to_owned());
        verb = below;
    }
    if words.len() == 1 {
        return None;
    }
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
    // Those before a wanted one are required, too.
    let last = verb.get_positionals().position(|it| Some(it) == positionals.last().copied());
    let before = verb.get_positionals().take(last.map_or(0, |last| last + 1));
    let mut shown: Vec<&Arg> =
        before.filter(|it| it.is_required_set() || positionals.contains(it)).collect();
    if shown.is_empty() {
        shown = required;
    }
    for argument in shown.into_iter().chain(options) {
        let own = VALUES_OF_VERBS
            .into_iter()
            .find(|(of, name, _)| *of == verb.get_name() && argument.get_long() == Some(*name));
        let value = own.map(|(.., value)| value.to_owned()).or_else(|| value(argument))?;
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
    use std::{collections::BTreeSet, fs, path::Path};

    use clap::Parser;

    use super::*;

    /// The most verbs, options of all of them, and options of `run`. A further one replaces another
    /// (docs/figures.md).
    const VERBS_MAX: usize = 12;
    const OPTIONS_MAX: usize = 145;
    const OPTIONS_OF_RUN_MAX: usize = 23;

    /// The documents that each verb with `--format` prints as JSON, by a line without that option. `gate` has
    /// one more, `kcidb`, whose schema is KernelCI's.
    const PRINTED: [(&str, &[&str]); 22] = [
        ("run x.toml", &["comparison", "plan", "scenarios"]),
        ("compare x", &["comparison", "fidelity", "history"]),
        ("explain x", &["explanation"]),
        ("explain x wakeup", &["explanation"]),
        ("explain x response", &["responses"]),
        ("explain x ranking", &["ranking"]),
        ("explain x atlas", &["atlas"]),
        ("explain x census", &["census"]),
        ("explain x search", &["worst-wakeups"]),
        ("explain x confirm", &["confirmation"]),
        ("explain x what-if preemptible=f", &["patched"]),
        ("explain x trace --out y", &[]),
        ("gate x y", &["gate"]),
        ("bisect x..y", &["bisection"]),
        ("recommend x", &["recommendation"]),
        ("verify x", &["verification", "comparison"]),
        ("export x", &[]),
        ("kernels", &["kernels"]),
        ("cluster submit slurm x", &["comparison", "scenarios"]),
        ("cluster attach slurm x", &["comparison", "scenarios"]),
        ("cluster verify slurm x", &["verification"]),
        ("system show", &["system"]),
    ];

    fn built() -> Command {
        let mut command = Cli::command();
        command.build();
        command
    }

    /// Splits an example into words like a shell.
    fn split(example: &str) -> Vec<String> {
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

    /// Returns every verb by its words, and with it those below it.
    fn verbs(command: &Command, words: &[String]) -> Vec<(Vec<String>, Command)> {
        let below = command.get_subcommands().filter(|verb| verb.get_name() != "help");
        let of = |verb: &Command| {
            let words = [words, &[verb.get_name().to_owned()]].concat();
            let below = verbs(verb, &words);
            [vec![(words, verb.clone())], below].concat()
        };
        below.flat_map(of).collect()
    }

    #[test]
    fn every_value_of_every_verb_has_an_example_that_is_taken() {
        for (words, verb) in verbs(&built(), &[]) {
            for argument in verb.get_arguments().filter(|it| it.get_action().takes_values()) {
                let wanted = [argument.to_string()];
                let example = example(&built(), &words, &wanted);
                let example = example.unwrap_or_else(|| panic!("{words:?} {wanted:?}"));
                let Err(error) = Cli::try_parse_from(split(&example)) else { continue };
                let needs_more = [
                    ErrorKind::MissingRequiredArgument,
                    ErrorKind::ArgumentConflict,
                    ErrorKind::MissingSubcommand,
                    ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand,
                ];
                assert!(needs_more.contains(&error.kind()), "{example}: {error}");
            }
        }
    }

    /// Returns the names of a verb's options, those of its own verbs included; each name counts once.
    fn options(verb: &Command) -> BTreeSet<String> {
        let own = verb.get_arguments().filter(|it| !it.is_global_set());
        let own = own.filter_map(|it| it.get_long()).filter(|name| *name != "help");
        let own: Vec<String> = own.map(str::to_owned).collect();
        let below = verb.get_subcommands().filter(|verb| verb.get_name() != "help");
        own.into_iter().chain(below.flat_map(options)).collect()
    }

    #[test]
    fn the_command_line_stays_small() {
        let command = built();
        let verbs = command.get_subcommands().filter(|verb| verb.get_name() != "help");
        let counts: Vec<(String, usize)> =
            verbs.map(|verb| (verb.get_name().to_owned(), options(verb).len())).collect();
        let all: usize = counts.iter().map(|(_, count)| count).sum();
        assert!(counts.len() <= VERBS_MAX && all <= OPTIONS_MAX, "{all}: {counts:?}");
        let of_run = counts.iter().find(|(verb, _)| verb == "run").unwrap().1;
        assert!(of_run <= OPTIONS_OF_RUN_MAX, "{of_run}");
    }

    #[test]
    fn every_document_that_a_verb_prints_has_a_schema() {
        let has_format =
            |verb: &Command| verb.get_arguments().any(|it| it.get_long() == Some("format"));
        let with_format: BTreeSet<String> = verbs(&built(), &[])
            .into_iter()
            .filter_map(|(words, verb)| has_format(&verb).then(|| words.join(" ")))
            .collect();
        let mut named = BTreeSet::new();
        let mut documents = BTreeSet::new();
        for (line, schemas) in PRINTED {
            let words = split(&format!("preemptlab {line} --format json"));
            let read = Cli::try_parse_from(&words);
            assert_eq!(read.is_ok(), !schemas.is_empty(), "{line}: {:?}", read.err());
            let line = built();
            let mut verb = &line;
            let mut name = Vec::new();
            for word in &words {
                if let Some(below) = verb.find_subcommand(word) {
                    verb = below;
                    name.push(word.as_str());
                }
            }
            named.insert(name.join(" "));
            documents.extend(schemas.iter().map(|schema| format!("{schema}.json")));
        }
        assert_eq!(named, with_format, "PRINTED does not name the verbs that have --format");
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas");
        let files = fs::read_dir(folder).unwrap();
        let files: BTreeSet<String> =
            files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        assert_eq!(documents, files, "schemas/ does not hold the schemas of PRINTED");
    }

    #[test]
    fn old_words_are_answered_with_the_new_ones() {
        for (line, new) in [
            ("plan x.toml", "run EXPERIMENT --dry-run"),
            ("report runs/x", "compare RUN... -o report.html"),
            ("doctor", "system show"),
            ("run x.toml --engine slurm", "cluster submit ENGINE EXPERIMENT"),
            ("run x --shard 1/2", "cluster work RUN I/N"),
            ("search runs/x", "explain RUN search"),
            ("census runs/x", "explain RUN census"),
            ("explain runs/x --ranking", "explain RUN ranking"),
            ("explain runs/x --zoom 1ms", "explain RUN zoom TIME"),
            ("explain runs/x --what-if cut=a:1us", "explain RUN what-if CHANGE..."),
            ("explain runs/x --export ftrace --out x", "explain RUN trace"),
            ("explain runs/x fair", "explain RUN --fair"),
            ("bisect --good v6.12 --bad HEAD", "bisect GOOD..BAD"),
            ("bisect x.toml --bad HEAD --good v6.12", "bisect GOOD..BAD"),
            ("bisect --kernels debian:6.12..7.2", "bisect debian:6.12..7.2"),
        ] {
            let said = mistake(line);
            let tip = format!("tip: this is written today as `preemptlab {new}");
            assert!(said.contains(&tip), "{line}: {said}");
        }
        let known: Vec<String> =
            verbs(&built(), &[]).into_iter().map(|(words, _)| words.concat()).collect();
        for (old, _) in RENAMED {
            assert!(!known.contains(&old.to_owned()), "{old} is a verb of today");
        }
    }

    #[test]
    fn a_recording_with_the_name_of_a_subject_is_told_from_it() {
        for line in ["explain atlas atlas", "explain atlas ranking", "explain census atlas"] {
            let said = mistake(line);
            let name = line.split(' ').nth(1).unwrap();
            let tip = format!("a recording in the folder `{name}` is written `./{name}`");
            assert!(said.contains(&tip), "{line}: {said}");
        }
        let said = mistake("explain runs/x atlas extra");
        assert!(!said.contains("is written `./"), "{said}");
        let said = mistake("explain atlas --ranking");
        assert!(said.contains("this is written today as"), "{said}");
    }

    #[test]
    fn a_format_that_a_command_cannot_write_is_refused() {
        for (line, value) in [
            ("explain runs/x --format csv", "csv"),
            ("explain runs/x trace --format json --out x", "json"),
            ("bisect debian:6.12..7.2 --format markdown", "markdown"),
            ("export runs/x --format json", "json"),
        ] {
            let said = mistake(line);
            assert!(said.contains(&format!("this command cannot write {value}")), "{said}");
            assert!(said.contains("[possible values: "), "{said}");
        }
        let said = mistake("explain runs/x zoom 1ms --format json");
        assert!(said.contains("unexpected argument '--format'"), "{said}");
    }

    #[test]
    fn options_before_what_is_explained_are_not_dropped() {
        for line in [
            "explain x --cell a ranking",
            "explain x --worst 3 response",
            "explain x --fair wakeup",
        ] {
            let said = mistake(line);
            assert!(said.contains("whose own options stand behind it"), "{said}");
        }
        let store = split("preemptlab --store s explain x ranking");
        assert!(Cli::read(store.into_iter().map(Into::into)).is_ok());
    }

    /// Returns the message about a refused command line.
    #[track_caller]
    fn mistake(line: &str) -> String {
        let words = split(&format!("preemptlab {line}"));
        let error = Cli::read(words.iter().map(Into::into)).unwrap_err();
        with_help(error, &words[1..]).to_string()
    }

    #[track_caller]
    fn tip(arguments: &[&str], wanted: &str) {
        let arguments: Vec<String> =
            ["preemptlab"].iter().chain(arguments).map(ToString::to_string).collect();
        let error = Cli::try_parse_from(&arguments).unwrap_err();
        let said = with_help(error, &arguments[1..]).to_string();
        assert!(said.contains(&format!("for example: preemptlab {wanted}\n")), "{said}");
    }

    #[test]
    fn a_missing_value_comes_with_an_example() {
        tip(&["compare"], "compare runs/quick");
        tip(&["run"], "run studies/quick.toml");
        tip(&["run", "x.toml", "--jobs"], "run studies/quick.toml --jobs 2");
        tip(&["run", "x.toml", "--until"], "run studies/quick.toml --until 3%");
        tip(&["run", "x.toml", "--until=5%", "--budget=x"], "run studies/quick.toml --budget 60");
        tip(&["explain", "x", "zoom", "now"], "explain runs/quick zoom 9118.023ms±20us");
        tip(&["explain", "x", "trace"], "explain runs/quick trace --out late.pftrace");
        tip(&["system", "apply", "--preempt"], "system apply --preempt full");
        tip(&["util", "man"], "util man runs/mine");
        tip(&["cluster", "work", "x"], "cluster work runs/quick 3/8");
    }

    #[test]
    fn other_mistakes_come_without_one() {
        for arguments in [["preemptlab", "runn"], ["preemptlab", "--colour"]] {
            let error = Cli::try_parse_from(arguments).unwrap_err();
            let said = with_help(error, &["runn".to_owned()]).to_string();
            assert!(!said.contains("for example"), "{said}");
        }
    }
}
