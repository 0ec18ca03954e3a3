//! Names of kernels that are built, and the description in a recording of one from a tree of the
//! user's own.

use std::{fmt, path::PathBuf};

use serde::{Deserialize, Serialize};

use crate::{Digest, Distro, Flavour, Symbols, nearest, plain};

/// The configuration that a kernel starts from.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConfigBase {
    /// A small one with everything that cells need.
    #[default]
    Lab,
    /// Debian's for the kernel's series, or for the one nearest to a tree's.
    Debian(Flavour),
    /// A file.
    File(PathBuf),
}

/// A kernel's configuration as its name says it: `[,config=BASE][+SYMBOL=VALUE...]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Configured {
    /// The configuration that it starts from.
    pub base: ConfigBase,
    /// Symbols that differ from it.
    pub symbols: Symbols,
}

/// The parts of a name after its prefix.
pub(super) struct TreeName<'a> {
    pub(super) path: &'a str,
    pub(super) clean: bool,
    pub(super) nodiff: bool,
    pub(super) configured: Configured,
}

const CONFIG: &str = "config";
const CLEAN: &str = "clean";
const NODIFF: &str = "nodiff";

/// The longest name of a revision, in bytes.
const REVISION_BYTES_MAX: usize = 200;

/// Splits `PATH[,config=BASE][,clean][,nodiff][+SYMBOL=VALUE...]`. The error is a reason, and the
/// name that was probably meant.
pub(super) fn split(name: &str) -> Result<TreeName<'_>, (&'static str, Option<String>)> {
    if name.contains(plain::is_steering) {
        return Err(("it holds a character that cannot be shown", None));
    }
    let (mut path, symbols) = name.split_at(symbols_at(name));
    let symbols: Symbols = symbols.parse().map_err(|reason| (reason, None))?;
    let (mut base, mut clean, mut nodiff) = (None, false, false);
    loop {
        if let (false, Some(rest)) = (clean, path.strip_suffix(",clean")) {
            (path, clean) = (rest, true);
        } else if let (false, Some(rest)) = (nodiff, path.strip_suffix(",nodiff")) {
            (path, nodiff) = (rest, true);
        } else if let (None, Some((rest, text))) = (&base, path.rsplit_once(",config=")) {
            base = Some(base_of(text)?);
            path = rest;
        } else {
            break;
        }
    }
    // A path can hold commas; a word that is nearly an option is more likely a slip.
    if let Some((before, last)) = path.rsplit_once(',') {
        let (word, value) = last.split_once('=').unwrap_or((last, ""));
        let meant = match nearest(word, [CONFIG, CLEAN, NODIFF]) {
            Some(CONFIG) if !value.is_empty() => Some(format!("{before},{CONFIG}={value}")),
            Some(option) if option != CONFIG && value.is_empty() => {
                Some(format!("{before},{option}"))
            }
            _ => None,
        };
        if let Some(meant) = meant.filter(|meant| meant != path) {
            let meant = name.replacen(path, &meant, 1);
            return Err((
                "a kernel's tree has the options `config=`, `clean` and `nodiff` only",
                Some(meant),
            ));
        }
        if [CONFIG, CLEAN, NODIFF].contains(&word) {
            return Err(("each option is said once, as in `,config=debian,clean`", None));
        }
    }
    let configured = Configured { base: base.unwrap_or_default(), symbols };
    Ok(TreeName { path, clean, nodiff, configured })
}

/// Splits `VERSION[-FLAVOUR][,config=BASE][+SYMBOL=VALUE...]` into the version, whatever it is, and
/// the configuration. The error is a reason, and the name that was probably meant.
pub(super) fn split_source(
    name: &str,
) -> Result<(&str, Configured), (&'static str, Option<String>)> {
    const OPTIONS: &str = "a kernel of Debian's source has the option `config=` only, as in \
                           `source:6.12,config=lab`";
    let (version, rest) = name.split_at(name.find([',', '+']).unwrap_or(name.len()));
    let (version, flavour) = flavoured(version, Distro::Debian);
    let configured = if rest.starts_with(',') {
        let meant =
            |meant: Option<String>| Some(format!("{version}{}{}", flavour.suffix(), meant?));
        let name = split(rest).map_err(|(reason, it)| match it {
            Some(it) => (OPTIONS, meant(Some(it))),
            None => (reason, None),
        })?;
        if name.clean || name.nodiff || !name.path.is_empty() {
            return Err((OPTIONS, None));
        }
        name.configured
    } else {
        let symbols = rest.parse().map_err(|reason| (reason, None))?;
        Configured { base: ConfigBase::Debian(flavour), symbols }
    };
    let base = match (configured.base, flavour) {
        (ConfigBase::Debian(Flavour::Generic), flavour) => ConfigBase::Debian(flavour),
        (base, Flavour::Generic) => base,
        (ConfigBase::Debian(other), flavour) if other == flavour => ConfigBase::Debian(flavour),
        (base, flavour) => {
            let rt = "+EXPERT=y+PREEMPT_RT=y";
            let is_rt = flavour == Flavour::Rt && configured.symbols == Symbols::default();
            let meant = is_rt.then(|| format!("{version},{CONFIG}={base}{rt}"));
            return Err((
                "only Debian's own configuration has a flavour: leave it out beside `config=`, and \
                 write `+EXPERT=y+PREEMPT_RT=y` for PREEMPT_RT",
                meant,
            ));
        }
    };
    Ok((version, Configured { base, symbols: configured.symbols }))
}

/// Splits a name into the name without the suffix of one of a distribution's flavours, and the flavour.
pub(super) fn flavoured(name: &str, distribution: Distro) -> (&str, Flavour) {
    let of = |flavour: &Flavour| Some((name.strip_suffix(flavour.suffix())?, *flavour));
    let mut flavours = distribution.flavours().iter().filter(|it| !it.suffix().is_empty());
    flavours.find_map(of).unwrap_or((name, Flavour::Generic))
}

/// Splits `PATH@REVISION`, whose revision may end with `@{...}`.
pub(super) fn split_revision(text: &str) -> Result<(&str, &str), &'static str> {
    const EXPECTED: &str = "a repository and a revision are expected after `git:`, as in \
                            `git:.@v6.12` or `git:/src/linux@HEAD~1`";
    let is_at = |(place, _): &(usize, &str)| !text[place + 1..].starts_with('{');
    let (at, _) = text.rmatch_indices('@').find(is_at).ok_or(EXPECTED)?;
    let (path, revision) = (&text[..at], &text[at + 1..]);
    if path.is_empty() || revision.is_empty() {
        return Err(EXPECTED);
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._/~^{}@+-".contains(c);
    if revision.starts_with('-') || !revision.chars().all(is_plain) {
        return Err(
            "a revision holds letters, digits and `._/~^{}@+-`, and does not begin with `-`",
        );
    }
    match revision.len() > REVISION_BYTES_MAX {
        true => Err("a revision has 200 letters at most"),
        false => Ok((path, revision)),
    }
}

/// Returns where a name's symbols begin: at the first `+` before a word with a value.
fn symbols_at(name: &str) -> usize {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let begins = |place: &usize| {
        let rest = &name[place + 1..];
        let word = rest.bytes().take_while(|byte| is_word(*byte)).count();
        word > 0 && rest[word..].starts_with('=')
    };
    name.match_indices('+').map(|(place, _)| place).find(begins).unwrap_or(name.len())
}

fn base_of(text: &str) -> Result<ConfigBase, (&'static str, Option<String>)> {
    let debian = |flavour: &&Flavour| text.strip_prefix("debian") == Some(flavour.suffix());
    if let Some(flavour) = Distro::Debian.flavours().iter().find(debian) {
        return Ok(ConfigBase::Debian(*flavour));
    }
    match text {
        "lab" => Ok(ConfigBase::Lab),
        file if file.contains(['/', '.']) => Ok(ConfigBase::File(file.into())),
        _ => Err((
            "`config=` is `lab`, `debian`, `debian-rt`, `debian-cloud` or the path of a file, as \
             `./my-config`",
            None,
        )),
    }
}

impl fmt::Display for ConfigBase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lab => f.write_str("lab"),
            Self::Debian(flavour) => write!(f, "debian{}", flavour.suffix()),
            Self::File(path) => write!(f, "{}", path.display()),
        }
    }
}

/// Writes a tree's options after its path.
pub(super) fn write_options(
    f: &mut fmt::Formatter<'_>,
    configured: &Configured,
    options: &[(bool, &str)],
) -> fmt::Result {
    if configured.base != ConfigBase::Lab {
        write!(f, ",{CONFIG}={}", configured.base)?;
    }
    let mut on = options.iter().filter(|(is_on, _)| *is_on);
    on.try_for_each(|(_, option)| write!(f, ",{option}"))?;
    write!(f, "{}", configured.symbols)
}

/// Writes the flavour and the options of a kernel of Debian's source after its version.
pub(super) fn write_source(f: &mut fmt::Formatter<'_>, configured: &Configured) -> fmt::Result {
    match &configured.base {
        ConfigBase::Debian(flavour) => write!(f, "{}", flavour.suffix())?,
        base => write!(f, ",{CONFIG}={base}")?,
    }
    write!(f, "{}", configured.symbols)
}

/// The source of a kernel that was built from a tree of the user's own. The identity of a cell
/// does not hold it: equal images are equal kernels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelSource {
    /// The commit, where the tree is of a git repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// The commit's name by `git describe`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub describe: Option<String>,
    /// Whether files differ from the commit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dirty: bool,
    /// The digest of every file of the source.
    pub tree_sha256: Digest,
    /// The compiler, as its first line of `--version` has it.
    pub compiler: String,
    /// SHA-256 of the whole configuration.
    pub config_sha256: Digest,
    /// The configuration as `make savedefconfig` shortens it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub defconfig: Option<String>,
    /// The difference from the commit, as `git diff HEAD` has it; none where the name leaves it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}
