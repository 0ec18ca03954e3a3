//! The configuration of the private apt root: apt.conf(5), sources.list(5), apt_preferences(5).

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use preemptlab_model::Platform;

use crate::{Mirror, StoreError, distribution::debian::signature::DEBIAN, needs::KEYRINGS};

/// Release 13: without it nothing works, because QEMU and the guest's programs come from it.
pub(super) const STABLE: &str = "trixie";

/// The suites of the main archive.
const MAIN_SUITES: [&str; 6] =
    [STABLE, "trixie-updates", "trixie-backports", "bookworm", "bookworm-updates", "experimental"];

/// The suites of the security archive.
const SECURITY_SUITES: [&str; 2] = ["trixie-security", "bookworm-security"];

/// Preferences among the suites that offer a package: release 13 first, so that every user gets the
/// same build whatever the machine runs. They are codenames, because suites move with releases.
const PRIORITIES: [(&str, u16); 8] = [
    (STABLE, 900),
    ("trixie-updates", 900),
    ("trixie-security", 900),
    ("trixie-backports", 800),
    ("bookworm", 700),
    ("bookworm-updates", 700),
    ("bookworm-security", 700),
    ("rc-buggy", 100),
];

/// Reason for which apt trusts a mirror.
#[derive(Clone, Debug)]
pub(super) enum Trust {
    /// The keyring with Debian's signing keys.
    Keyring(PathBuf),
    /// The lists were checked before apt reads them.
    Checked,
    /// No check, for tests with archives of their own.
    #[cfg(test)]
    Blind,
}

impl Trust {
    /// Finds the file of Debian's archive keys, or puts the one that this program brings into the private
    /// root.
    pub(super) fn debian(root: &Path) -> Result<Self, StoreError> {
        if let Some(path) = KEYRINGS.map(PathBuf::from).into_iter().find(|path| path.is_file()) {
            return Ok(Self::Keyring(path));
        }
        let path = root.join("debian-archive-keyring.gpg");
        write(&path, DEBIAN)?;
        Ok(Self::Keyring(path))
    }
}

/// Returns whether a suite is of the security archive.
pub(super) fn is_security(suite: &str) -> bool {
    SECURITY_SUITES.contains(&suite)
}

/// Returns every suite.
pub(super) fn suites() -> impl Iterator<Item = &'static str> {
    MAIN_SUITES.into_iter().chain(SECURITY_SUITES)
}

/// Returns the package sources of the wanted suites.
pub(super) fn sources(
    mirror: &Mirror,
    trust: &Trust,
    of: &Platform,
    wanted: impl Fn(&str) -> bool,
) -> String {
    let trust = match trust {
        Trust::Keyring(path) => format!("Signed-By: {}", path.display()),
        Trust::Checked => "Trusted: yes".to_owned(),
        #[cfg(test)]
        Trust::Blind => "Trusted: yes".to_owned(),
    };
    [(&mirror.main, &MAIN_SUITES[..]), (&mirror.security, &SECURITY_SUITES[..])]
        .into_iter()
        .filter_map(|(url, suites)| {
            let suites: Vec<_> = suites.iter().copied().filter(|suite| wanted(suite)).collect();
            (!suites.is_empty()).then(|| {
                format!(
                    "Types: deb\nURIs: {url}\nSuites: {}\nComponents: main\n\
                     Architectures: {}\n{trust}\n\n",
                    suites.join(" "),
                    of.debian
                )
            })
        })
        .collect()
}

/// Returns the pins.
pub(super) fn preferences() -> String {
    PRIORITIES
        .iter()
        .map(|(codename, priority)| {
            format!("Package: *\nPin: release n={codename}\nPin-Priority: {priority}\n\n")
        })
        .collect()
}

/// Returns the content of `apt.conf` for a private root.
pub(super) fn apt_conf(root: &Path, allow_expired: bool, machine: &str, of: &Platform) -> String {
    let (root, debian) = (root.display(), of.debian);
    format!(
        r#"{machine}Dir "{root}/";
Dir::State "state";
Dir::State::status "{root}/status";
Dir::Cache "cache";
Dir::Log "log";
Dir::Etc "etc";
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "{root}/sources.d";
Dir::Etc::preferences "{root}/preferences";
Dir::Etc::trusted "/dev/null";
Dir::Etc::trustedparts "/dev/null";
APT::Architecture "{debian}";
APT::Architectures {{ "{debian}"; }};
APT::Install-Recommends "false";
APT::Sandbox::User "";
Acquire::Languages "none";
Acquire::PDiffs "false";
Acquire::Check-Valid-Until "{}";
"#,
        !allow_expired
    )
}

/// Gives a file of the private root this content. A process that is killed here leaves no file,
/// and then the next one writes it.
pub(super) fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<(), StoreError> {
    let content = content.as_ref();
    if fs::read(path).is_ok_and(|present| present == content) {
        return Ok(());
    }
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(StoreError::new(path, error));
        }
        _ => {}
    }
    preemptlab_files::write_new(path, content).map(drop).map_err(StoreError::at(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::HOST;

    #[test]
    fn suites_that_are_left_out_are_not_in_the_sources() {
        let mirror = Mirror { main: "http://m.invalid/d".into(), security: "file:/s".into() };
        let trust = Trust::Keyring("/k.gpg".into());
        let text = sources(&mirror, &trust, HOST, |suite| suite != "experimental");
        assert!(text.contains(
            "URIs: http://m.invalid/d\nSuites: trixie trixie-updates trixie-backports bookworm \
             bookworm-updates\n"
        ));
        assert!(text.contains("URIs: file:/s\nSuites: trixie-security bookworm-security\n"));
        assert_eq!(text.matches("Signed-By: /k.gpg\n").count(), 2);
        assert_eq!(sources(&mirror, &trust, HOST, |_| false), "");
    }

    #[test]
    fn every_suite_has_a_priority() {
        for suite in suites() {
            let codename = if suite == "experimental" { "rc-buggy" } else { suite };
            assert!(PRIORITIES.iter().any(|(name, _)| *name == codename), "{suite}");
        }
    }
}
