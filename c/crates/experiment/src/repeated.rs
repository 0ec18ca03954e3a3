use preemptlab_model::{Digest, Name, PackageName, PreemptMode};
use preemptlab_workload::{CommandLine, Folder, Seconds};

use crate::{Experiment, KernelLevel, Replicates, definition};

/// A command of packages, to be repeated for a window under each mode of a kernel.
#[derive(Clone, Debug)]
pub struct Repeated<'a> {
    /// The command.
    pub command: &'a CommandLine,
    /// The whole path of its program in the guest.
    pub program: &'a str,
    /// The packages that hold it.
    pub packages: &'a [PackageName],
    /// Time for which it is repeated.
    pub window: Seconds,
    /// The kernels to compare.
    pub kernels: &'a [KernelLevel],
    /// The modes to compare.
    pub modes: &'a [PreemptMode],
    /// The replicates of the experiment.
    pub replicates: Replicates,
    /// The program that repeats it, on which the name depends.
    pub repeat: &'a [u8],
}

/// The files that repeat a command: those that a person would write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepeatedFiles {
    /// Name of the experiment, which differs between different commands.
    pub name: Name,
    /// Text of the folder's `workload.toml`.
    pub definition: String,
    experiment: String,
}

/// Place of the folder's path in the text of the experiment.
const PATH: &str = "@PATH@";

/// The longest part of a name that comes from the program.
const PROGRAM_CHARS_MAX: usize = 24;

/// Virtual time that a cell may take besides twice its window, in seconds.
const AROUND_WINDOW_S: u32 = 60;

/// The longest window, for which a cell's limit is an hour.
const WINDOW_MAX: Seconds = Seconds::new((Seconds::MOST.get() - AROUND_WINDOW_S) / 2).unwrap();

impl Repeated<'_> {
    /// Writes the files that repeat the command.
    ///
    /// # Errors
    ///
    /// When no experiment has such a command, in words: it is too long.
    pub fn files(&self) -> Result<RepeatedFiles, String> {
        if self.window.get() > WINDOW_MAX.get() {
            return Err(format!("a command is repeated for at most {WINDOW_MAX}"));
        }
        let definition = self.definition();
        self::definition(&definition).map_err(|error| error.message)?;
        let program = program_name(self.program);
        let experiment = self.experiment(&program);
        let digest = Digest::of_json(&(&definition, &experiment, Digest::of(self.repeat))).short();
        let name: Name =
            format!("{program}-{digest}").parse().map_err(|error| format!("{error}"))?;
        let experiment = experiment.replacen(NAME, &name, 1);
        Experiment::parse(&experiment).map_err(|error| error.message)?;
        Ok(RepeatedFiles { name, definition, experiment })
    }

    fn definition(&self) -> String {
        let Self { command, program, packages, window, .. } = self;
        let repeat = format!("{}/{}", Folder::PLACE, Folder::REPEAT);
        let argv = [repeat.as_str(), program].into_iter();
        let argv = argv.chain(command.words()[1..].iter().map(String::as_str));
        let packages = packages.iter().map(PackageName::as_str);
        let limit = Seconds::new(2 * window.get() + AROUND_WINDOW_S).unwrap_or(Seconds::MOST);
        format!(
            r#"format = 1
description = {description}
packages = {packages}
window = "{window}"
limit = "{limit}"
cyclictest = "both"

# `repeat` executes the command again and again, and prints a line after each run, such as
# `12345678 ns; 80.906417 runs/s`. A run with another status than 0 ends it.
[[load]]
name = "command"
argv = {argv}

[[metric]]
name = "throughput"
unit = "runs/s"
better = "higher"
from = "command.stdout"
pattern = '(?s)\A(?:.*\s)?(\S+) runs/s\s*\z'

# The time of each run.
[latency]
from = "command.stdout"
unit = "ns"
pattern = '^(\d+) ns'
"#,
            description = quoted(&format!("{command}, again and again")),
            packages = list(packages),
            argv = list(argv),
        )
    }

    /// Returns the text of the experiment, with [`NAME`] and [`PATH`] in it.
    fn experiment(&self, workload: &str) -> String {
        let Self { command, kernels, modes, replicates: Replicates { count, seed }, .. } = self;
        let kernels: Vec<String> = kernels.iter().map(ToString::to_string).collect();
        let modes: Vec<String> = modes.iter().map(ToString::to_string).collect();
        format!(
            r#"format = 1
name = "{NAME}"
description = {description}

[factors]
kernel = [{kernels}]
preempt = {modes}

[replicates]
count = {count}
seed = {seed}

[workload.{workload}]
kind = "folder"
path = "{PATH}"
"#,
            description =
                quoted(&format!("What preemption does to {command}, and latency beside it")),
            kernels = kernels.join(", "),
            modes = list(modes.iter().map(String::as_str)),
            workload = quoted(workload),
        )
    }
}

/// Place of the name in the text of the experiment.
const NAME: &str = "@NAME@";

impl RepeatedFiles {
    /// Returns the text of the experiment whose folder has this path, seen from its file.
    pub fn experiment(&self, folder: &str) -> String {
        self.experiment.replacen(&quoted(PATH), &quoted(folder), 1)
    }
}

/// Returns the characters of a program's name that may be part of a name.
fn program_name(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or_default();
    let name: String = name
        .chars()
        .map(|char| if char.is_ascii_alphanumeric() || "-_.".contains(char) { char } else { '_' })
        .take(PROGRAM_CHARS_MAX)
        .collect();
    // Only the first sign of a name must not be one of these.
    match name.trim_start_matches(['-', '.']) {
        "" => "command".to_owned(),
        name => name.to_owned(),
    }
}

/// Returns a text as TOML writes it.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn list<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    format!("[{}]", texts.map(quoted).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(command: &str, program: &str, window: &str) -> Result<RepeatedFiles, String> {
        Repeated {
            command: &command.parse().unwrap(),
            program,
            packages: &["xz-utils".parse().unwrap(), "dash".parse().unwrap()],
            window: window.parse().unwrap(),
            kernels: &["base=debian:6.12".parse().unwrap(), "debian:7.2".parse().unwrap()],
            modes: &[PreemptMode::None, PreemptMode::Full],
            replicates: Replicates { count: 3, seed: 9 },
            repeat: b"\x7fELF",
        }
        .files()
    }

    #[test]
    fn a_command_becomes_an_experiment_that_a_person_can_read() {
        let files = files("xz -9 'a \"b\"\n{seed}'", "/usr/bin/xz", "3s").unwrap();
        assert!(files.name.starts_with("xz-"), "{}", files.name);
        let text = files.experiment("x.workload");
        let experiment = Experiment::parse(&text).unwrap();
        assert_eq!(experiment.name, files.name);
        assert_eq!(experiment.factors.modes(&experiment.factors.kernel[1]).len(), 2);
        assert_eq!(experiment.factors.kernel[0].to_string(), "\"base=debian:6.12\"");
        assert_eq!(experiment.replicates, Replicates { count: 3, seed: 9 });
        assert!(text.ends_with("kind = \"folder\"\npath = \"x.workload\"\n"), "{text}");
        let definition = definition(&files.definition).unwrap();
        let folder = Folder::with_content(Digest::of(b""), definition);
        assert!(folder.repeats_command());
        for line in ["window = \"3s\"", "limit = \"66s\"", "packages = [\"xz-utils\", \"dash\"]"] {
            assert!(files.definition.contains(line), "{}", files.definition);
        }
        let table: toml::Table = files.definition.parse().unwrap();
        let argv: Vec<&str> = table["load"][0]["argv"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|it| it.as_str())
            .collect();
        assert_eq!(argv, ["/workload/repeat", "/usr/bin/xz", "-9", "a \"b\"\n{seed}"]);
    }

    #[test]
    fn another_command_or_window_is_another_experiment() {
        let name = |command, program, window| files(command, program, window).unwrap().name;
        let first = name("xz -9", "/usr/bin/xz", "1s");
        assert_eq!(first, name("xz -9", "/usr/bin/xz", "1s"));
        assert_ne!(first, name("xz -8", "/usr/bin/xz", "1s"));
        assert_ne!(first, name("xz -9", "/usr/bin/xz", "2s"));
        assert_ne!(first, name("xz -9", "/usr/games/xz", "1s"));
        assert!(name("'[' 1", "/usr/bin/[", "1s").starts_with("_-"));
        assert!(name("x", "/usr/bin/-.", "1s").starts_with("command-"));
        let long = "y".repeat(99);
        assert!(name("y", &format!("/usr/bin/{long}"), "1s").starts_with(&long[..24]));
    }

    #[test]
    fn what_no_cell_can_have_is_refused() {
        let long = format!("xz {}", "x".repeat(9000));
        let said = files(&long, "/usr/bin/xz", "1s").unwrap_err();
        assert!(said.contains("8 KiB in all"), "{said}");
        let said = files("xz", "/usr/bin/xz", "1771s").unwrap_err();
        assert_eq!(said, "a command is repeated for at most 1770s");
        files("xz", "/usr/bin/xz", "1770s").unwrap();
    }
}
