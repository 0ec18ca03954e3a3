use std::ffi::OsString;

/// Options of sbatch that the loop sets itself: each by its letter, or its name.
const OWN: [&str; 18] = [
    "-a",
    "--array",
    "-D",
    "--chdir",
    "-e",
    "--error",
    "-h",
    "--help",
    "-J",
    "--job-name",
    "-M",
    "--clusters",
    "-o",
    "--output",
    "-V",
    "--version",
    "-W",
    "--wait",
];

/// Options of sbatch without a letter, likewise.
const OWN_NAMES: [&str; 6] =
    ["--cluster", "--open-mode", "--parsable", "--test-only", "--usage", "--wrap"];

/// Options of a user's own for sbatch, which are passed on as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arguments(Vec<String>);

/// Error of an argument that sbatch is not given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentsError {
    /// It would be taken for a script.
    #[error(
        "`{0}` is no option of sbatch: write each with its value, such as --engine-arg=--partition=short"
    )]
    NoOption(String),
    /// Preemptlab sets it.
    #[error("preemptlab itself sets sbatch's {0}: leave it out")]
    Own(String),
}

impl Arguments {
    /// Takes options for sbatch.
    ///
    /// # Errors
    ///
    /// [`ArgumentsError`].
    pub fn new(arguments: &[String]) -> Result<Self, ArgumentsError> {
        for argument in arguments {
            let shown = || argument.escape_debug().to_string();
            let name = argument.split('=').next().unwrap_or_default();
            let is_option = match name.strip_prefix("--") {
                Some(name) => name.len() > 1 && !argument.contains('\0'),
                None => name.len() > 1 && name.starts_with('-') && !argument.contains('\0'),
            };
            if !is_option {
                return Err(ArgumentsError::NoOption(shown()));
            }
            // getopt_long(3) takes an unambiguous beginning for the whole name.
            let names = OWN.iter().chain(&OWN_NAMES);
            let is_own = match name.starts_with("--") {
                true => names.filter(|own| own.starts_with("--")).any(|own| own.starts_with(name)),
                false => OWN.iter().any(|own| own.len() == 2 && name.starts_with(own)),
            };
            let is_exact_other = ["--time", "--export"].contains(&name);
            if is_own && !is_exact_other {
                return Err(ArgumentsError::Own(name.escape_debug().to_string()));
            }
        }
        Ok(Self(arguments.to_vec()))
    }

    /// Returns the options as arguments.
    pub fn iter(&self) -> impl Iterator<Item = OsString> {
        self.0.iter().map(OsString::from)
    }

    /// Returns the partitions that they name; `None` for the cluster's default one.
    pub fn partitions(&self) -> Option<Vec<&str>> {
        let named = |argument: &'_ String| -> Option<usize> {
            match argument.split_once('=') {
                Some((name, _)) if name.len() > 4 && "--partition".starts_with(name) => {
                    Some(name.len() + 1)
                }
                _ if argument.starts_with("-p") => Some(2),
                _ => None,
            }
        };
        let last = self.0.iter().rev().find_map(|it| Some(&it[named(it)?..]))?;
        Some(last.split(',').collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(texts: &[&str]) -> Result<Arguments, ArgumentsError> {
        Arguments::new(&texts.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn options_are_passed_on_and_nothing_else() {
        for text in
            ["--partition=short", "-pshort", "--time=10", "-t10", "--no-requeue", "--mem=2G"]
        {
            assert!(arguments(&[text]).is_ok(), "{text}");
        }
        for text in ["", "-", "--", "short", "/tmp/script", "--mem=2\0G", "=x"] {
            let error = arguments(&[text]).unwrap_err();
            assert!(matches!(error, ArgumentsError::NoOption(_)), "{text}: {error}");
        }
        for text in [
            "--array=1-3",
            "-a1",
            "--arr=1",
            "--wrap=rm",
            "--parsable",
            "-W",
            "-o/x",
            "--outp=x",
            "-Jx",
        ] {
            let error = arguments(&[text]).unwrap_err();
            assert!(matches!(error, ArgumentsError::Own(_)), "{text}: {error}");
        }
    }

    #[test]
    fn the_last_partition_counts() {
        let partitions = |texts: &[&str]| -> Option<Vec<String>> {
            let arguments = arguments(texts).unwrap();
            let partitions = arguments.partitions()?;
            Some(partitions.iter().map(ToString::to_string).collect())
        };
        assert_eq!(partitions(&["--mem=1G"]), None);
        assert_eq!(partitions(&["-pa", "--partition=b,c"]).unwrap(), ["b", "c"]);
        assert_eq!(partitions(&["--part=d"]).unwrap(), ["d"]);
    }
}
