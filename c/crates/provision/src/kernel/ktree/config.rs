//! The parts of a repository's configuration that count: how objects are named, and which reference
//! a branch follows. git reads the text, without the files that it includes, and starts nothing.

use super::{Git, TreeError, object_id::Format};

/// The values that are taken over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Config {
    pub(super) format: Format,
    pub(super) is_partial: bool,
    /// Keys with their values, of branches and of their fetched references.
    follows: Vec<(String, String)>,
}

/// Reads the text of a configuration.
pub(super) fn read(git: &Git, text: &[u8]) -> Result<Config, TreeError> {
    const KEYS: &str = r"^(extensions|branch|remote)\.";
    let listed = ["config", "--file", "-", "--no-includes", "-z", "--get-regexp", KEYS];
    match git.told(&listed, text)? {
        Ok(said) => values(&said),
        // Without any of them git fails, and says nothing.
        Err(complaint) if complaint == "it did not say why" => Ok(Config::default()),
        Err(complaint) => Err(TreeError::Git(complaint)),
    }
}

/// Reads git's rows: a key, a line's end and its value.
pub(super) fn values(said: &[u8]) -> Result<Config, TreeError> {
    let mut config = Config::default();
    for row in said.split(|byte| *byte == 0).filter(|row| !row.is_empty()) {
        let Ok(row) = std::str::from_utf8(row) else { continue };
        let (key, value) = row.split_once('\n').unwrap_or((row, "true"));
        match (key, value) {
            ("extensions.objectformat", "sha1") => config.format = Format::Sha1,
            ("extensions.objectformat", "sha256") => config.format = Format::Sha256,
            ("extensions.objectformat", _) => {
                return Err(TreeError::Refused("it names objects in a way that is not known"));
            }
            ("extensions.refstorage", "files") => {}
            ("extensions.refstorage", _) => {
                return Err(TreeError::Refused(
                    "it keeps its references in another way than as files; name a clone that keeps them so",
                ));
            }
            ("extensions.partialclone", _) => config.is_partial = true,
            _ if key.starts_with("remote.") && key.ends_with(".promisor") => {
                config.is_partial = true
            }
            _ if follows(key) => config.follows.push((key.to_owned(), value.to_owned())),
            _ => {}
        }
    }
    Ok(config)
}

/// Returns whether a key says which reference a branch follows.
fn follows(key: &str) -> bool {
    let last = key.rsplit('.').next().unwrap_or_default();
    key.matches('.').count() >= 2
        && match key.split('.').next() {
            Some("branch") => ["remote", "merge"].contains(&last),
            Some("remote") => last == "fetch",
            _ => false,
        }
}

impl Config {
    /// Returns the text of a configuration with these values, and none other.
    pub(super) fn text(&self) -> String {
        let mut text = match self.format {
            Format::Sha1 => "[core]\n\trepositoryformatversion = 0\n\tbare = true\n".to_owned(),
            Format::Sha256 => {
                "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\
                               \tobjectformat = sha256\n"
                    .to_owned()
            }
        };
        for (key, value) in &self.follows {
            let Some((section, rest)) = key.split_once('.') else { continue };
            let Some((name, last)) = rest.rsplit_once('.') else { continue };
            // No quoting names a section with a line's end.
            if name.contains(char::is_control) || value.contains(char::is_control) {
                continue;
            }
            let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
            let (name, value) = (quoted(name), quoted(value));
            text.push_str(&format!("[{section} \"{name}\"]\n\t{last} = \"{value}\"\n"));
        }
        text
    }
}
