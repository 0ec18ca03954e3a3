//! The machine's own apt: where it finds Debian's archives, and how it reaches them.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use preemptlab_model::Digest;
use serde::{Deserialize, Serialize};

use super::{AptError, Trouble, run::PROGRAMS};
use crate::{
    Mirror,
    distribution::debian::mirror::Archives,
    store::{kept, seen},
};

/// The version of [`Machine`].
const FORMAT: u32 = 1;

/// Most bytes of a file of the configuration; package lists are larger.
const CONFIG_BYTES_MAX: u64 = 64 << 10;

/// Settings of the machine's apt that it may need to reach the network: proxies, certificates and
/// the like. Settings that weaken apt's checks are not among them.
const SETTINGS: [&str; 4] = ["Acquire::http", "Acquire::Force", "Acquire::Retries", "Acquire::tor"];

/// Settings of apt that name the files with passwords of mirrors and proxies.
const PASSWORDS: [(&str, &str); 2] =
    [("Dir::Etc::netrc", "Dir::Etc::netrc/f"), ("Dir::Etc::netrcparts", "Dir::Etc::netrcparts/d")];

/// Settings of apt that name its settings, its sources, and the lists that tell the vendor of an
/// archive.
const SOURCES: [&str; 5] = [
    "Dir::Etc::main/f",
    "Dir::Etc::parts/d",
    "Dir::Etc::sourcelist/f",
    "Dir::Etc::sourceparts/d",
    "Dir::State::lists/d",
];

/// Configuration of the machine's apt.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Machine {
    /// The settings that are taken over, as lines of `apt.conf`.
    settings: String,
    /// The settings that say where passwords are, with these files and folders.
    passwords: Vec<(String, PathBuf)>,
    archives: Archives,
    /// Files that the configuration was read from, with their digest.
    read_from: Vec<PathBuf>,
    seen: Digest,
}

impl Machine {
    /// Asks the machine's apt, unless its answer is kept in the private root and no file that it
    /// read has changed since. `config` is the file that `APT_CONFIG` names.
    pub(super) fn find(root: &Path, config: Option<&Path>) -> Result<Self, AptError> {
        let path = root.join("machine");
        let question = Digest::of_json(&(FORMAT, config));
        if let Some(machine) = kept::read::<Self>(&path, question)
            && seen::digest(&machine.read_from)? == machine.seen
        {
            return Ok(machine);
        }
        let machine = Self::ask(config)?;
        // An answer whose files changed meanwhile, or that includes unknown files, is not kept.
        if seen::digest(&machine.read_from)? == machine.seen && !machine.includes() {
            kept::write(&path, question, &machine);
        }
        Ok(machine)
    }

    fn ask(config: Option<&Path>) -> Result<Self, AptError> {
        let mut read_from: Vec<_> = PROGRAMS.map(PathBuf::from).into();
        read_from.extend(config.map(Path::to_owned));
        read_from.extend(paths(config, &SOURCES)?);
        let seen = seen::digest(&read_from)?;
        let settings = query(config, &["dump"])?
            .lines()
            .filter(|line| SETTINGS.iter().any(|prefix| line.starts_with(prefix)))
            .flat_map(|line| [line, "\n"])
            .collect();
        let mut passwords = Vec::new();
        for (setting, as_path) in PASSWORDS {
            passwords
                .extend(paths(config, &[as_path])?.pop().map(|path| (setting.to_owned(), path)));
        }
        let archives = Archives::of_machine(config)?;
        Ok(Self { settings, passwords, archives, read_from, seen })
    }

    /// Returns whether a file of the configuration includes others, which apt does not name.
    fn includes(&self) -> bool {
        let includes = |path: &Path| {
            preemptlab_files::read(path, CONFIG_BYTES_MAX)
                .is_ok_and(|text| String::from_utf8_lossy(&text).contains("#include"))
        };
        self.read_from.iter().filter(|path| !path.starts_with("/usr/bin")).any(|path| {
            match fs::read_dir(path) {
                Ok(entries) => entries.flatten().any(|entry| includes(&entry.path())),
                Err(_) => includes(path),
            }
        })
    }

    /// Returns the given main archive or the machine's own, and the security archive that belongs
    /// to it.
    pub(super) fn mirror(&self, given: Option<&str>) -> Result<Mirror, AptError> {
        Ok(self.archives.mirror(given)?)
    }

    /// Returns the settings that are taken over, with the files of passwords that this user may
    /// read.
    pub(super) fn settings(&self) -> String {
        let mut settings = self.settings.clone();
        for (setting, path) in &self.passwords {
            // A folder opens like a file.
            if fs::File::open(path).is_ok() {
                settings.push_str(&format!("{setting} \"{}\";\n", path.display()));
            }
        }
        settings
    }
}

/// Returns apt's values of settings that are paths, such as `Dir::Etc::main/f`.
fn paths(config: Option<&Path>, settings: &[&str]) -> Result<Vec<PathBuf>, AptError> {
    let mut arguments = vec!["shell"];
    arguments.extend(settings.iter().flat_map(|setting| ["path", setting]));
    let said = query(config, &arguments)?;
    let path = |line: &str| PathBuf::from(line.trim_start_matches("path=").trim_matches('\''));
    Ok(said.lines().map(path).collect())
}

fn query(config: Option<&Path>, arguments: &[&str]) -> Result<String, AptError> {
    let program = "apt-config";
    let output = Command::new(program)
        .args(arguments)
        .envs(config.map(|config| ("APT_CONFIG", config)))
        .env("LC_ALL", "C")
        .output()
        .map_err(|source| AptError::Tool { program, source })?;
    if !output.status.success() {
        let trouble = Trouble::classify(&String::from_utf8_lossy(&output.stderr));
        return Err(AptError::Failed { program, trouble });
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_is_asked_again_when_its_settings_change() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let write = |name: &str, text: &str| fs::write(path(name), text).unwrap();
        for name in ["root", "parts", "lists", "sources.d"] {
            fs::create_dir(path(name)).unwrap();
        }
        let own = folder.path().display();
        let conf = format!(
            "Dir::Etc::main \"{own}/main\";\nDir::Etc::parts \"{own}/parts\";\n\
             Dir::Etc::sourcelist \"{own}/sources.list\";\n\
             Dir::Etc::sourceparts \"{own}/sources.d\";\nDir::State::lists \"{own}/lists\";\n"
        );
        write("apt.conf", &conf);
        write("sources.list", "deb http://one.invalid/debian trixie main\n");
        let config = path("apt.conf");
        let find = || Machine::find(&path("root"), Some(&config)).unwrap();
        let main = |machine: &Machine| machine.mirror(None).unwrap().main;
        assert_eq!(main(&find()), "http://one.invalid/debian");

        // Nothing has changed, so the stored answer is used.
        let kept = Machine { settings: "kept".to_owned(), ..find() };
        kept::write(&path("root/machine"), Digest::of_json(&(FORMAT, &config)), &kept);
        assert!(find().settings().starts_with("kept"));
        // Only apt's own user may look into the folder of partial downloads.
        fs::create_dir(path("lists/partial")).unwrap();
        write("lists/partial/Packages", "");
        write("lists/lock", "");
        assert!(find().settings().starts_with("kept"));

        write("sources.list", "deb http://two.invalid/debian trixie main\n");
        let machine = find();
        assert_eq!(main(&machine), "http://two.invalid/debian");
        assert!(!machine.settings().starts_with("kept"));
        write("parts/99proxy", "Acquire::http::Proxy \"http://proxy.invalid:1\";\n");
        assert!(find().settings().contains("proxy.invalid:1"));
        write("apt.conf", &format!("{conf}Acquire::Retries \"7\";\n"));
        assert!(find().settings().contains("Acquire::Retries \"7\";"));
        assert_eq!(main(&find()), "http://two.invalid/debian");
    }
}
