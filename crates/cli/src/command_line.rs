//! The command line, of which completions and the man pages are made. Each verb's arguments are beside what
//! it does.

use std::{ffi::OsString, path::PathBuf};

use clap::{
    ArgMatches, Command as Line, CommandFactory, Error, FromArgMatches, Parser, error::ErrorKind,
    parser::ValueSource,
};

use preemptlab_lab::Assignment;

use crate::{args::Color, commands::Command};

/// Measure Linux preemption models: real kernels, real benchmarks, deterministic virtual time.
///
/// Boots distribution kernels in QEMU without root, runs latency probes beside a load under every
/// preemption model, and compares latency and throughput. The same inputs give the same bytes on
/// any machine.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100, after_long_help = EXIT_CODES)]
pub struct Cli {
    /// Where packages, kernels, snapshots and finished cells are kept
    /// [default: $XDG_CACHE_HOME/preemptlab or ~/.cache/preemptlab]
    #[arg(
        long,
        global = true,
        value_name = "FOLDER",
        env = "PREEMPTLAB_STORE",
        hide_env = true,
        help_heading = FOR_ALL
    )]
    pub store: Option<PathBuf>,
    /// Set a key of the configuration, such as qemu=PATH or mirror=URL, for this command; may be repeated.
    /// `preemptlab util config` shows every key
    #[arg(long, global = true, value_name = "KEY=VALUE", help_heading = FOR_ALL)]
    pub set: Vec<Assignment>,
    /// When to use colour
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        help_heading = FOR_ALL
    )]
    pub color: Color,
    /// Command
    #[command(subcommand)]
    pub command: Command,
}

/// Heading of the options that every command has.
const FOR_ALL: &str = "For every command";

const EXIT_CODES: &str = "\
Exit codes:
  0    everything was done
  1    the answer is no: digests differ, a kernel is worse, or something is missing
  2    the command line, an experiment or a recording cannot be used
  3    some cells failed, or none could be executed; the others are there; a gate is not decided
  4    this machine or a package mirror got in the way
  130  interrupted; the same command resumes from there
  141  the reader of the output has gone before all was written";

impl Cli {
    /// Reads a command line, or returns the mistake in it.
    pub fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, Error> {
        let mut line = Self::command();
        let matches = line.try_get_matches_from_mut(arguments)?;
        match misplaced(&mut line, &matches) {
            Some(mistake) => Err(mistake),
            None => Self::from_arg_matches(&matches).map_err(|error| error.format(&mut line)),
        }
    }
}

/// Returns the mistake of an option that stands before a verb's own verb, which clap would drop.
fn misplaced(line: &mut Line, matches: &ArgMatches) -> Option<Error> {
    let (verb, matches) = matches.subcommand()?;
    let (what, _) = matches.subcommand()?;
    let line = line.find_subcommand_mut(verb)?;
    let is_given = |id: &str| {
        matches.value_source(id).is_some_and(|source| source == ValueSource::CommandLine)
    };
    let before = line.get_arguments().find(|argument| {
        !argument.is_positional()
            && !argument.is_global_set()
            && is_given(argument.get_id().as_str())
    })?;
    let option = before.get_long().unwrap_or_default();
    let message = format!("--{option} stands before `{what}`, whose own options stand behind it");
    Some(line.error(ErrorKind::ArgumentConflict, message))
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::*;

    /// The documents that each verb with `--format` prints as JSON, by a line without that option. `gate` has
    /// one more, `kcidb`, whose schema is KernelCI's.
    const PRINTED: [(&str, &[&str]); 21] = [
        ("run x.toml", &["comparison", "plan", "scenarios"]),
        ("compare x", &["comparison", "history"]),
        ("explain x", &["explanation"]),
        ("explain x wakeup", &["explanation"]),
        ("explain x response", &["responses"]),
        ("explain x ranking", &["ranking"]),
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

    /// Adds the words of each verb that has `--format`.
    fn verbs(line: &Line, words: &str, found: &mut BTreeSet<String>) {
        for verb in line.get_subcommands().filter(|verb| verb.get_name() != "help") {
            let words = format!("{words} {}", verb.get_name());
            if verb.get_arguments().any(|argument| argument.get_long() == Some("format")) {
                found.insert(words.trim_start().to_owned());
            }
            verbs(verb, &words, found);
        }
    }

    #[test]
    fn every_document_that_a_verb_prints_has_a_schema() {
        let mut line = Cli::command();
        line.build();
        let mut with_format = BTreeSet::new();
        verbs(&line, "", &mut with_format);
        let mut named = BTreeSet::new();
        let mut documents = BTreeSet::new();
        for (words, schemas) in PRINTED {
            let words = format!("preemptlab {words} --format json");
            let words: Vec<OsString> = words.split(' ').map(OsString::from).collect();
            let read = line.clone().try_get_matches_from(&words);
            assert_eq!(read.is_ok(), !schemas.is_empty(), "{words:?}: {:?}", read.err());
            let mut verb = &line;
            let mut name = Vec::new();
            for word in words.iter().filter_map(|word| word.to_str()) {
                if let Some(below) = verb.find_subcommand(word) {
                    verb = below;
                    name.push(word);
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
}
