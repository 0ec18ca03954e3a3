//! The addresses of Debian's archives, from the machine's own apt configuration.

use std::{
    io,
    path::Path,
    process::{Command, Stdio},
};

use serde::{Deserialize, Serialize};

/// Addresses of Debian's archives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mirror {
    /// The main archive's URL.
    pub main: String,
    /// The security archive's URL.
    pub security: String,
}

/// Reason why no mirror is known.
#[derive(Debug, thiserror::Error)]
pub enum MirrorError {
    /// apt is not there.
    #[error("`apt-get` cannot be run: {0}")]
    Tool(io::Error),
    /// apt cannot read its own configuration.
    #[error("apt cannot read the machine's package sources: {0}")]
    Sources(String),
    /// The machine's sources name no Debian archive.
    #[error(
        "no Debian archive is among the machine's package sources; name a mirror with \
         `--set mirror=URL`"
    )]
    None,
    /// There is no apt whose sources could name one.
    #[error(
        "this machine has no apt, whose sources would name a Debian archive; name a mirror with \
         `--set mirror=URL`, or with `mirror = \"URL\"` in the file that `preemptlab util config` names"
    )]
    WithoutApt,
    /// The given text is no URL.
    #[error("`{0}` is no mirror's URL; it should look like `http://HOST/debian`")]
    Url(String),
}

/// The fields of an index target, one line each target.
const FORMAT: &str = "$(REPO_URI)\t$(RELEASE)\t$(COMPONENT)\t$(ORIGIN)\t$(LABEL)\t$(SIGNED_BY)";

/// The main archive for machines without apt, which the build of this program may have named.
const BUILT: Option<&str> = option_env!("PREEMPTLAB_MIRROR");

/// Returns whether the machine has an apt.
pub fn has_apt() -> bool {
    let mut command = Command::new("apt-get");
    let version = command.arg("--version").stdin(Stdio::null()).output();
    !version.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

impl Mirror {
    /// Returns the given main archive or the machine's own.
    ///
    /// # Errors
    ///
    /// [`MirrorError`]
    pub fn find(given: Option<&str>) -> Result<Self, MirrorError> {
        if has_apt() { Archives::of_machine(None)?.mirror(given) } else { Self::without_apt(given) }
    }

    /// Returns the given main archive, or the one that the build of this program named.
    pub(crate) fn without_apt(given: Option<&str>) -> Result<Self, MirrorError> {
        let main = given.or(BUILT).ok_or(MirrorError::WithoutApt)?;
        let archives = Archives { main: None, security: None };
        archives.mirror(Some(main))
    }
}

/// Debian's archives among the machine's package sources.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Archives {
    main: Option<String>,
    security: Option<String>,
}

impl Archives {
    /// Asks the machine's apt for its archives. apt reads `config` first, unless `APT_CONFIG` names
    /// that file already.
    pub(crate) fn of_machine(config: Option<&Path>) -> Result<Self, MirrorError> {
        // Without `--no-release-info` apt names only sources with downloaded lists, but for these
        // it knows the vendor.
        match Self::choose(&targets(config, &[])?) {
            Self { main: None, .. } => Ok(Self::choose(&targets(config, &["--no-release-info"])?)),
            found => Ok(found),
        }
    }

    /// Returns the given main archive or the machine's own, and the security archive.
    pub(crate) fn mirror(&self, given: Option<&str>) -> Result<Mirror, MirrorError> {
        let given = given.map(checked).transpose()?;
        let main = given.or_else(|| self.main.clone()).ok_or(MirrorError::None)?;
        let security = self.security.clone().unwrap_or_else(|| format!("{main}-security"));
        Ok(Mirror { main, security })
    }

    /// Chooses the best main archive and the best security archive among index targets.
    pub(crate) fn choose(targets: &str) -> Self {
        let best = |security: bool| {
            targets
                .lines()
                .filter_map(Target::parse)
                .filter(|target| target.is_security() == security)
                .filter_map(|target| Some((target.rank()?, target.uri)))
                // Of equals the first wins, because the order of sources is a preference.
                .min_by_key(|(rank, _)| *rank)
                .map(|(_, uri)| uri.trim_end_matches('/').to_owned())
        };
        Self { main: best(false), security: best(true) }
    }
}

fn checked(url: &str) -> Result<String, MirrorError> {
    sound(url).ok_or_else(|| MirrorError::Url(url.to_owned()))
}

/// Returns the address of an archive without the slashes at its end; `None` where it is none.
pub(crate) fn sound(url: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_graphic() && !"\"'<>`".contains(c);
    let (scheme, rest) = url.split_once(":/")?;
    let is_sound = !scheme.is_empty() && !rest.trim_matches('/').is_empty();
    (is_sound && url.chars().all(plain)).then(|| url.trim_end_matches('/').to_owned())
}

fn targets(config: Option<&Path>, options: &[&str]) -> Result<String, MirrorError> {
    let output = Command::new("apt-get")
        .envs(config.map(|config| ("APT_CONFIG", config)))
        .arg("indextargets")
        .args(options)
        .args(["--format", FORMAT, "Created-By: Packages"])
        .env("LC_ALL", "C")
        .output()
        .map_err(MirrorError::Tool)?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        return Err(MirrorError::Sources(complaint.trim().to_owned()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

struct Target<'a> {
    uri: &'a str,
    release: &'a str,
    origin: Option<&'a str>,
    label: Option<&'a str>,
    signed_by: Option<&'a str>,
}

impl<'a> Target<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let mut fields = line.split('\t');
        let (uri, release, component) = (fields.next()?, fields.next()?, fields.next()?);
        // apt leaves the name of a field that it does not know.
        let mut known =
            || fields.next().filter(|field| !field.is_empty() && !field.starts_with("$("));
        let (origin, label, signed_by) = (known(), known(), known());
        let readable = !uri.starts_with("cdrom:") && component == "main";
        readable.then_some(Self { uri, release, origin, label, signed_by })
    }

    fn is_security(&self) -> bool {
        self.label == Some("Debian-Security")
            || self.release.ends_with("-security")
            || self.release.contains("/updates")
    }

    /// Returns how surely this is an archive of Debian: the lower, the surer; `None` for an archive
    /// of another vendor, which may use Debian's suite names too.
    fn rank(&self) -> Option<u8> {
        const SUITES: [&str; 11] = [
            "bullseye",
            "bookworm",
            "trixie",
            "forky",
            "duke",
            "sid",
            "oldoldstable",
            "oldstable",
            "stable",
            "testing",
            "unstable",
        ];
        let base = self.release.split(['-', '/']).next()?;
        match self.origin {
            Some("Debian") => Some(0),
            Some(_) => None,
            None if !SUITES.contains(&base) => None,
            None if self.signed_by.is_some_and(|key| key.contains("debian-archive")) => Some(1),
            None if self.uri.trim_end_matches('/').ends_with("/debian") => Some(2),
            None if self.uri.trim_end_matches('/').ends_with("/debian-security") => Some(2),
            None if self.signed_by.is_none() => Some(3),
            None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(targets: &str) -> (Option<String>, Option<String>) {
        let Archives { main, security } = Archives::choose(&targets.replace('|', "\t"));
        (main, security)
    }

    #[test]
    fn debian_is_found_among_other_sources() {
        let (main, security) = chosen(
            "https://cloud.invalid/apt/|cloud-sdk-bookworm|main|cloud-sdk|cloud|\n\
             https://node.invalid/node_20.x/|nodistro|main|. nodistro|. nodistro|/k/n.gpg\n\
             https://tools.invalid/debian/12/prod/|bookworm|main|tools|tools|\n\
             http://mirror.invalid/debian-security/|bookworm-security|main|Debian|Debian-Security|\n\
             http://mirror.invalid/debian/|bookworm|main|Debian|Debian|/k/debian-archive.gpg\n\
             http://mirror.invalid/debian/|bookworm-backports|main|Debian|Debian Backports|\n",
        );
        assert_eq!(main.as_deref(), Some("http://mirror.invalid/debian"));
        assert_eq!(security.as_deref(), Some("http://mirror.invalid/debian-security"));
    }

    #[test]
    fn sources_that_were_never_refreshed_are_judged_by_name_and_key() {
        let unknown = "$(ORIGIN)|$(LABEL)";
        let (main, security) = chosen(&format!(
            "https://tools.invalid/prod/|trixie|main|{unknown}|/k/tools.gpg\n\
             https://other.invalid/apt/|trixie|main|{unknown}|$(SIGNED_BY)\n\
             http://m.invalid/mirrors/deb/|trixie|main|{unknown}|/k/debian-archive-keyring.pgp\n\
             http://m.invalid/deb-sec/|trixie-security|main|{unknown}|/k/debian-archive-keyring.pgp\n"
        ));
        assert_eq!(main.as_deref(), Some("http://m.invalid/mirrors/deb"));
        assert_eq!(security.as_deref(), Some("http://m.invalid/deb-sec"));
    }

    #[test]
    fn one_line_sources_without_a_key_are_judged_by_path() {
        let unknown = "$(ORIGIN)|$(LABEL)|$(SIGNED_BY)";
        let (main, security) = chosen(&format!(
            "https://other.invalid/apt/|bookworm|main|{unknown}\n\
             http://m.invalid/debian/|bookworm|main|{unknown}\n\
             http://m.invalid/debian-security/|bookworm-security|main|{unknown}\n"
        ));
        assert_eq!(main.as_deref(), Some("http://m.invalid/debian"));
        assert_eq!(security.as_deref(), Some("http://m.invalid/debian-security"));
    }

    #[test]
    fn another_distribution_is_not_debian() {
        let none = "http://u.invalid/ubuntu/|noble|main|Ubuntu|Ubuntu|\n\
                    cdrom:[disc]/|bookworm|main|Debian|Debian|\n";
        assert_eq!(chosen(none), (None, None));
    }

    #[test]
    fn a_mirror_must_be_a_url() {
        for url in ["http://m.invalid/debian/", "file:/srv/debian", "mirror+file:/etc/list"] {
            assert!(checked(url).is_ok(), "{url}");
        }
        for url in ["", "m.invalid/debian", "http://", "http://a b/", "http://m/\nSigned-By: x"] {
            assert!(checked(url).is_err(), "{url}");
        }
    }
}
