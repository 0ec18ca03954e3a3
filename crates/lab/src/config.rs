//! Settings that are written once: where the store is, where packages come from, what an engine needs.

use std::{
    fmt::{self, Write as _},
    io,
    num::NonZeroU16,
    os::unix::fs::MetadataExt,
    path::{Component, Path, PathBuf},
};

use preemptlab_cluster::emit::Line;
use preemptlab_experiment::SpecError;
use preemptlab_model::{in_words_of_files, nearest, plain};
use preemptlab_provision::{FedoraRepositories, UbuntuArchive};
use preemptlab_stats::{GivenMargin, Margins};
use serde::{Deserialize, Deserializer, de::Error as _};

use crate::{Error, Mistake, Result, Volume, wanted::TEXT_BYTES_MAX};

/// Name of a project's file.
const PROJECT_FILE: &str = "preemptlab.toml";

/// Form of a key's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// A text, or a path.
    Text,
    /// A number, true or false.
    Plain,
    /// A list of texts. Each assignment on the command line adds one.
    List,
}

/// A key, and its default.
#[derive(Debug)]
struct Key {
    name: &'static str,
    form: Form,
    /// A value, as an example and as the default.
    example: &'static str,
    /// The default, in words.
    default: &'static str,
    /// Whether a project may set it. A project's files may be a stranger's, so it may set nothing that
    /// names a program, a place or an address.
    is_of_projects: bool,
}

impl Key {
    /// Returns its section, which may be none, and its name there.
    fn place(&self) -> (&'static str, &'static str) {
        self.name.rsplit_once('.').unwrap_or(("", self.name))
    }

    /// Returns its value in the text of a place.
    fn of<'a>(&self, table: &'a toml::Table) -> Option<&'a toml::Value> {
        match self.place() {
            ("", name) => table.get(name),
            (section, name) => table.get(section)?.get(name),
        }
    }
}

/// Every key, in the order in which they are shown.
static KEYS: [Key; 17] = [
    Key {
        name: "store",
        form: Form::Text,
        example: "\"~/.cache/preemptlab\"",
        default: "$XDG_CACHE_HOME/preemptlab, or ~/.cache/preemptlab",
        is_of_projects: false,
    },
    Key {
        name: "mirror",
        form: Form::Text,
        example: "\"http://mirror.example/debian\"",
        default: "that of this machine's apt",
        is_of_projects: false,
    },
    Key {
        name: "snapshot",
        form: Form::Text,
        example: "\"https://snapshot.example\"",
        default: "none; versions that the mirror no longer has are not found",
        is_of_projects: false,
    },
    Key {
        name: "allow_expired",
        form: Form::Plain,
        example: "false",
        default: "lists of packages are refused after their validity date",
        is_of_projects: false,
    },
    Key {
        name: "offline",
        form: Form::Plain,
        example: "false",
        default: "what the store lacks is downloaded",
        is_of_projects: false,
    },
    Key {
        name: "qemu",
        form: Form::Text,
        example: "\"/usr/bin/qemu-system-x86_64\"",
        default: "that of Debian 13, from its packages",
        is_of_projects: false,
    },
    Key {
        name: "jobs",
        form: Form::Plain,
        example: "2",
        default: "the number of CPUs",
        is_of_projects: true,
    },
    Key {
        name: "margins",
        form: Form::List,
        example: "[\"3%\", \"20us\"]",
        default: "each command's own",
        is_of_projects: true,
    },
    Key {
        name: "ubuntu.mirror",
        form: Form::Text,
        example: "\"http://mirror.example/ubuntu\"",
        default: "none; `ubuntu:` kernels need one",
        is_of_projects: false,
    },
    Key {
        name: "ubuntu.suites",
        form: Form::List,
        example: "[\"noble\", \"noble-updates\"]",
        default: "those of 24.04",
        is_of_projects: false,
    },
    Key {
        name: "ubuntu.keys",
        form: Form::Text,
        example: "\"/usr/share/keyrings/ubuntu-archive-keyring.gpg\"",
        default: "the archive's key of 2018 alone",
        is_of_projects: false,
    },
    Key {
        name: "fedora.repositories",
        form: Form::List,
        example: "[\"http://mirror.example/fedora/releases/42/Everything/x86_64/os\"]",
        default: "none; `fedora:` kernels need one",
        is_of_projects: false,
    },
    Key {
        name: "fedora.keys",
        form: Form::Text,
        example: "\"/etc/pki/rpm-gpg/RPM-GPG-KEY-fedora-47-primary\"",
        default: "those of Fedora 41 to 46 alone",
        is_of_projects: false,
    },
    Key {
        name: "slurm.arguments",
        form: Form::List,
        example: "[\"--partition=short\"]",
        default: "none",
        is_of_projects: false,
    },
    Key {
        name: "kubernetes.arguments",
        form: Form::List,
        example: "[\"--namespace=lab\"]",
        default: "none",
        is_of_projects: false,
    },
    Key {
        name: "kubernetes.volume",
        form: Form::Text,
        example: "\"lab=/mnt/lab\"",
        default: "none; pods need one",
        is_of_projects: false,
    },
    Key {
        name: "kubernetes.image",
        form: Form::Text,
        example: "\"registry.example/preemptlab\"",
        default: "none; pods need one",
        is_of_projects: false,
    },
];

/// Place that sets values.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Origin {
    /// `--set`, and `--store` or its variable.
    CommandLine,
    /// A project's file.
    Project(PathBuf),
    /// The user's file.
    User(PathBuf),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CommandLine => f.write_str("the command line or the environment"),
            // A line, whatever the names of folders hold.
            Self::Project(path) | Self::User(path) => {
                f.write_str(&plain::line(&path.to_string_lossy()))
            }
        }
    }
}

/// The values of one place.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Values {
    store: Option<PathBuf>,
    mirror: Option<String>,
    snapshot: Option<String>,
    allow_expired: Option<bool>,
    offline: Option<bool>,
    qemu: Option<PathBuf>,
    jobs: Option<NonZeroU16>,
    #[serde(default, deserialize_with = "margins")]
    margins: Option<Vec<GivenMargin>>,
    #[serde(default)]
    ubuntu: Ubuntu,
    #[serde(default)]
    fedora: Fedora,
    #[serde(default)]
    slurm: Slurm,
    #[serde(default)]
    kubernetes: Kubernetes,
}

/// Archive of Ubuntu's kernels.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ubuntu {
    mirror: Option<String>,
    suites: Option<Vec<String>>,
    keys: Option<PathBuf>,
}

/// Repositories of Fedora's kernels.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fedora {
    repositories: Option<Vec<String>>,
    keys: Option<PathBuf>,
}

/// Options of Slurm.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Slurm {
    arguments: Option<Vec<String>>,
}

/// Options of Kubernetes, and what its pods need.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kubernetes {
    arguments: Option<Vec<String>>,
    #[serde(default, deserialize_with = "parsed")]
    volume: Option<Volume>,
    #[serde(default, deserialize_with = "parsed")]
    image: Option<Line>,
}

/// Reads a value from its text.
fn parsed<'de, D, T>(from: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: std::str::FromStr<Err: fmt::Display>,
{
    String::deserialize(from)?.parse().map(Some).map_err(D::Error::custom)
}

/// Reads margins. One of a metric would be a mistake in each recording without that metric.
fn margins<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<GivenMargin>>, D::Error> {
    let given = Vec::<String>::deserialize(from)?;
    let given = given.iter().map(|text| text.parse::<GivenMargin>().map_err(D::Error::custom));
    let given: Vec<GivenMargin> = given.collect::<Result<_, _>>()?;
    if let Some(GivenMargin { metric: Some(metric), margin }) =
        given.iter().find(|given| given.metric.is_some())
    {
        return Err(D::Error::custom(format!(
            "`{}={margin}` is the margin of one metric, which not every recording has: give it to a command, \
             with --margin",
            metric.to_string().escape_debug()
        )));
    }
    Margins::default().with(&given).map_err(D::Error::custom)?;
    Ok(Some(given))
}

/// One place with its values, as they are written and as they are meant.
#[derive(Clone, Debug)]
struct Layer {
    origin: Origin,
    table: toml::Table,
    values: Values,
}

impl Layer {
    /// Reads paths as they are meant: below the file's folder, or below the user's.
    fn place(&mut self, folder: &Path, home: Option<&Path>) {
        let Values { store, qemu, ubuntu, fedora, .. } = &mut self.values;
        let paths = [
            ("", "store", store),
            ("", "qemu", qemu),
            ("ubuntu", "keys", &mut ubuntu.keys),
            ("fedora", "keys", &mut fedora.keys),
        ];
        for (section, name, path) in paths {
            let Some(path) = path else { continue };
            let mut parts = path.components();
            *path = match (parts.next(), home) {
                (Some(Component::Normal(first)), Some(home)) if first == "~" => {
                    home.join(parts.as_path())
                }
                _ => folder.join(&*path),
            };
            let table = match section {
                "" => Some(&mut self.table),
                section => self.table.get_mut(section).and_then(toml::Value::as_table_mut),
            };
            if let Some(table) = table {
                table.insert(name.to_owned(), path.display().to_string().into());
            }
        }
    }
}

/// The places where settings may be, which the caller takes from its environment.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// The store of `--store`, or of its variable.
    pub store: Option<PathBuf>,
    /// The assignments of `--set`, each `KEY=VALUE`.
    pub assignments: Vec<Assignment>,
    /// The folder from which a project's file is looked for, here and above.
    pub folder: Option<PathBuf>,
    /// The user's file.
    pub user_file: Option<PathBuf>,
    /// The user's folder, which `~/` means.
    pub home: Option<PathBuf>,
}

/// The settings of the command line, the project and the user, the first of which holds.
#[derive(Clone, Debug, Default)]
pub struct Config {
    layers: Vec<Layer>,
    user_file: Option<PathBuf>,
}

impl Config {
    /// Reads the settings of every place.
    ///
    /// # Errors
    ///
    /// When a file cannot be read, is another user's, or has a mistake; when an assignment has one; when a
    /// project sets what only its user may set.
    pub fn read(places: Places) -> Result<Self> {
        let Places { store, assignments, folder, user_file, home } = places;
        let mut layers = vec![of_command_line(store, &assignments, home.as_deref())?];
        if let Some(path) = folder.as_deref().and_then(project_file) {
            layers.extend(of_file(Origin::Project(path), home.as_deref())?);
        }
        if let Some(path) = &user_file {
            layers.extend(of_file(Origin::User(path.clone()), home.as_deref())?);
        }
        Ok(Self { layers, user_file })
    }

    fn first<'a, T: ?Sized>(&'a self, of: impl Fn(&'a Values) -> Option<&'a T>) -> Option<&'a T> {
        self.layers.iter().find_map(|layer| of(&layer.values))
    }

    /// Returns the folder of packages, kernels, snapshots and finished cells.
    pub fn store(&self) -> Option<&Path> {
        self.first(|values| values.store.as_deref())
    }

    /// Returns the address of Debian's main archive.
    pub fn mirror(&self) -> Option<&str> {
        self.first(|values| values.mirror.as_deref())
    }

    /// Returns the address of the archive that keeps every version of every package.
    pub fn snapshot(&self) -> Option<&str> {
        self.first(|values| values.snapshot.as_deref())
    }

    /// Returns whether nothing is downloaded.
    pub fn offline(&self) -> bool {
        self.first(|values| values.offline.as_ref()).copied().unwrap_or_default()
    }

    /// Returns whether lists of packages are used after their validity date.
    pub fn allow_expired(&self) -> bool {
        self.first(|values| values.allow_expired.as_ref()).copied().unwrap_or_default()
    }

    /// Returns the QEMU that replaces Debian's.
    pub fn qemu(&self) -> Option<&Path> {
        self.first(|values| values.qemu.as_deref())
    }

    /// Returns the archive of Ubuntu's kernels.
    pub fn ubuntu(&self) -> UbuntuArchive {
        UbuntuArchive {
            mirror: self.first(|values| values.ubuntu.mirror.as_ref()).cloned(),
            suites: self.first(|values| values.ubuntu.suites.as_ref()).cloned().unwrap_or_default(),
            keys: self.first(|values| values.ubuntu.keys.as_ref()).cloned(),
        }
    }

    /// Returns the repositories of Fedora's kernels.
    pub fn fedora(&self) -> FedoraRepositories {
        let repositories = self.first(|values| values.fedora.repositories.as_ref());
        FedoraRepositories {
            repositories: repositories.cloned().unwrap_or_default(),
            keys: self.first(|values| values.fedora.keys.as_ref()).cloned(),
        }
    }

    /// Returns the number of virtual machines at a time.
    pub fn jobs(&self) -> Option<u16> {
        self.first(|values| values.jobs.as_ref()).map(|jobs| jobs.get())
    }

    /// Returns the margins of every metric, one of each kind at most.
    pub fn margins(&self) -> &[GivenMargin] {
        self.first(|values| values.margins.as_deref()).unwrap_or_default()
    }

    /// Returns the arguments of sbatch.
    pub fn slurm_arguments(&self) -> &[String] {
        self.first(|values| values.slurm.arguments.as_deref()).unwrap_or_default()
    }

    /// Returns the arguments of kubectl.
    pub fn kubernetes_arguments(&self) -> &[String] {
        self.first(|values| values.kubernetes.arguments.as_deref()).unwrap_or_default()
    }

    /// Returns the claim that holds recordings, and where it is mounted here.
    pub fn volume(&self) -> Option<&Volume> {
        self.first(|values| values.kubernetes.volume.as_ref())
    }

    /// Returns the image that pods execute.
    pub fn image(&self) -> Option<&Line> {
        self.first(|values| values.kubernetes.image.as_ref())
    }

    /// Returns the settings as the text of a file, each with the place that sets it. A default is a comment,
    /// so that the text can be kept as a file.
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        let mut section = "";
        for key in &KEYS {
            let (of, name) = key.place();
            if of != section {
                section = of;
                let _ = write!(text, "\n[{of}]\n");
            }
            let set = self.layers.iter().find_map(|layer| Some((key.of(&layer.table)?, layer)));
            let _ = match set {
                Some((value, layer)) => writeln!(text, "{name} = {value}    # {}", layer.origin),
                None => writeln!(text, "# {name} = {}    # default: {}", key.example, key.default),
            };
        }
        let is_read = |layer: &&Layer| layer.origin != Origin::CommandLine;
        let read: Vec<String> =
            self.layers.iter().filter(is_read).map(|layer| layer.origin.to_string()).collect();
        text.push('\n');
        if !read.is_empty() {
            let _ = writeln!(text, "# read: {}", read.join(", "));
        }
        let user_file = self.user_file.clone().map(|path| Origin::User(path).to_string());
        if let Some(path) = user_file.filter(|path| !read.contains(path)) {
            let _ = writeln!(text, "# not there: {path}");
        }
        text
    }
}

/// One setting of the command line, `KEY=VALUE`.
#[derive(Clone, Debug)]
pub struct Assignment {
    key: &'static Key,
    value: toml::Value,
}

impl std::str::FromStr for Assignment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        let Some(key) = KEYS.iter().find(|key| key.name == name) else {
            let names = KEYS.iter().map(|key| key.name);
            let meant = nearest(name, names.clone());
            let name: String = name.chars().take(80).collect();
            return Err(match meant {
                Some(meant) => {
                    format!("there is no `{}`; did you mean `{meant}`?", name.escape_debug())
                }
                None => format!(
                    "there is no `{}`; there are {}",
                    name.escape_debug(),
                    names.collect::<Vec<_>>().join(", ")
                ),
            });
        };
        if value.is_empty() {
            return Err(format!(
                "`{name}` has no value; a file has it as `{} = {}`",
                key.name, key.example
            ));
        }
        let value = match key.form {
            Form::Text | Form::List => toml::Value::String(value.to_owned()),
            Form::Plain => match (value.parse(), value.parse()) {
                (Ok(number), _) => toml::Value::Integer(number),
                (_, Ok(is_on)) => toml::Value::Boolean(is_on),
                _ => return Err(format!("`{name}` takes a value such as {}", key.example)),
            },
        };
        Ok(Self { key, value })
    }
}

/// Reads the assignments of a command line, of which the last one of a key holds. A list has those of all.
fn of_command_line(
    store: Option<PathBuf>,
    assignments: &[Assignment],
    home: Option<&Path>,
) -> Result<Layer> {
    let mut table = toml::Table::new();
    for Assignment { key, value } in assignments {
        let (of, name) = key.place();
        let section = match of {
            "" => Some(&mut table),
            of => table.entry(of).or_insert_with(|| toml::Table::new().into()).as_table_mut(),
        };
        // A key is either a section or a value.
        let Some(section) = section else { continue };
        match (key.form, section.get_mut(name).and_then(toml::Value::as_array_mut)) {
            (Form::List, Some(before)) => before.push(value.clone()),
            (Form::List, None) => {
                section.insert(name.to_owned(), vec![value.clone()].into());
            }
            _ => {
                section.insert(name.to_owned(), value.clone());
            }
        }
    }
    let values = Values::deserialize(table.clone())
        .map_err(|error| Error::user(format!("--set: {}", in_words_of_files(error.message()))))?;
    let mut layer = Layer { origin: Origin::CommandLine, table, values };
    layer.place(Path::new(""), home);
    // The option of its own has a path that the user's shell has read already.
    if let Some(store) = store {
        layer.table.insert("store".to_owned(), store.display().to_string().into());
        layer.values.store = Some(store);
    }
    Ok(layer)
}

/// Reads a file, if it is there.
fn of_file(origin: Origin, home: Option<&Path>) -> Result<Option<Layer>> {
    let (Origin::Project(path) | Origin::User(path)) = &origin else { return Ok(None) };
    let cannot = |error: io::Error| Error::user(format!("cannot read {}: {error}", path.display()));
    let text = match preemptlab_files::read(path, TEXT_BYTES_MAX) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        bytes => String::from_utf8(bytes.map_err(cannot)?)
            .map_err(|error| cannot(io::Error::new(io::ErrorKind::InvalidData, error)))?,
    };
    let owner = path.metadata().map_err(cannot)?.uid();
    if ![rustix::process::geteuid().as_raw(), 0].contains(&owner) {
        return Err(Error::user(format!(
            "{} belongs to another user (id {owner}), who could name programs in it: make it yours, or move it \
             away",
            path.display()
        )));
    }
    let mistake = |message: String, help: Option<String>, span: std::ops::Range<usize>| {
        Error::from(Mistake { path: path.clone(), text: text.clone(), message, help, span })
    };
    let read =
        toml::from_str::<Values>(&text).and_then(|values| Ok((values, toml::from_str(&text)?)));
    let (values, table): (Values, toml::Table) = read.map_err(|error| {
        let SpecError { message, help, span, .. } = SpecError::new(&text, &error);
        mistake(message, help, span)
    })?;
    if let Origin::Project(_) = origin
        && let Some(key) =
            KEYS.iter().filter(|key| !key.is_of_projects).find(|key| key.of(&table).is_some())
    {
        let (_, word) = key.place();
        let start = text.find(word).unwrap_or(0);
        return Err(mistake(
            format!("a project cannot set `{}`, since its files may be a stranger's", key.name),
            Some(
                "set it in your own configuration; `preemptlab util config` names its file"
                    .to_owned(),
            ),
            start..(start + word.len()).min(text.len()),
        ));
    }
    let folder = path.parent().map(Path::to_owned).unwrap_or_default();
    let mut layer = Layer { origin, table, values };
    layer.place(&folder, home);
    Ok(Some(layer))
}

/// Finds a project's file in a folder or in those above it. The search ends at a folder that is another
/// user's or that every user can write to: somebody else could have put the file there.
fn project_file(folder: &Path) -> Option<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    let is_own = |folder: &&Path| {
        let metadata = folder.metadata();
        metadata.is_ok_and(|metadata| metadata.uid() == user && metadata.mode() & 0o002 == 0)
    };
    let mut files = folder.ancestors().take_while(is_own).map(|folder| folder.join(PROJECT_FILE));
    files.find(|file| file.symlink_metadata().is_ok())
}

#[cfg(test)]
mod tests;
