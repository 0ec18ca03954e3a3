use std::{
    fs,
    os::unix::fs::{PermissionsExt, chown},
};

use super::*;

/// A user's folder with a project in it.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(home.path("work/tree")).unwrap();
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn read(&self, assignments: &[&str]) -> Result<Config> {
        Config::read(Places {
            store: None,
            assignments: assignments.iter().map(|text| text.parse().unwrap()).collect(),
            folder: Some(self.path("work/tree")),
            user_file: Some(self.path("config.toml")),
            home: Some(self.0.path().to_owned()),
        })
    }

    #[track_caller]
    fn refuses(&self, said: &[&str]) {
        let error = self.read(&[]).unwrap_err();
        assert_eq!(error.blame(), crate::Blame::User);
        let help = error.mistake().and_then(|mistake| mistake.help.clone()).unwrap_or_default();
        let text = format!("{error}\n{help}");
        for part in said {
            assert!(text.contains(part), "{part:?} is not in {text}");
        }
    }
}

#[test]
fn the_command_line_holds_before_the_project_and_the_project_before_the_user() {
    let home = Home::new();
    home.write(
        "config.toml",
        "jobs = 1\nmargins = [\"1%\"]\nmirror = \"http://user.invalid/debian\"\n",
    );
    home.write("work/preemptlab.toml", "jobs = 2\nmargins = [\"2%\", \"20us\"]\n");
    let config = home.read(&["jobs=3"]).unwrap();
    assert_eq!(config.jobs(), Some(3));
    assert_eq!(config.margins(), ["2%".parse().unwrap(), "20us".parse().unwrap()]);
    assert_eq!(config.mirror(), Some("http://user.invalid/debian"));
    // The nearest file of a project is the only one.
    home.write("work/tree/preemptlab.toml", "");
    assert_eq!(home.read(&[]).unwrap().jobs(), Some(1));
}

#[test]
fn without_files_everything_is_the_default() {
    let home = Home::new();
    let config = home.read(&[]).unwrap();
    assert_eq!((config.store(), config.mirror(), config.qemu()), (None, None, None));
    assert_eq!((config.jobs(), config.allow_expired()), (None, false));
    assert!(config.margins().is_empty() && config.slurm_arguments().is_empty());
    assert!(config.volume().is_none() && config.image().is_none());
}

#[test]
fn the_printed_configuration_is_one_that_reads_the_same() {
    let home = Home::new();
    home.write(
        "config.toml",
        "store = \"~/lab\"\nqemu = \"bin/qemu\"\nallow_expired = true\n\
         [ubuntu]\nkeys = \"~/ubuntu.pgp\"\nsuites = [\"noble\"]\n[fedora]\nkeys = \"keys/fedora.pgp\"\n\
         [kubernetes]\nvolume = \"lab=/mnt/lab\"\nimage = \"registry.example/preemptlab\"\n",
    );
    let config =
        home.read(&["margins=3%", "margins=20us", "slurm.arguments=--nodelist=a,b"]).unwrap();
    assert_eq!(config.ubuntu().keys, Some(home.path("ubuntu.pgp")));
    assert_eq!(config.fedora().keys, Some(home.path("keys/fedora.pgp")));
    assert_eq!(config.store(), Some(&*home.path("lab")));
    assert_eq!(config.qemu(), Some(&*home.path("bin/qemu")));
    assert_eq!(config.slurm_arguments(), ["--nodelist=a,b"]);
    let printed = config.to_toml();
    home.write("config.toml", &printed);
    let again = home.read(&[]).unwrap();
    assert_eq!(again.store(), config.store());
    assert_eq!(again.qemu(), config.qemu());
    assert_eq!(again.ubuntu().keys, config.ubuntu().keys);
    assert_eq!((again.ubuntu().suites, again.ubuntu().mirror), (vec!["noble".to_owned()], None));
    assert_eq!(again.fedora().keys, config.fedora().keys);
    assert_eq!(again.allow_expired(), config.allow_expired());
    assert_eq!(again.margins(), config.margins());
    assert_eq!(again.volume(), config.volume());
    assert_eq!(again.image(), config.image());
    assert_eq!(again.slurm_arguments(), config.slurm_arguments());
    for key in &KEYS {
        let (_, name) = key.place();
        assert!(printed.contains(&format!("{name} = ")), "{name}: {printed}");
    }
}

/// Returns a file with one key.
fn example(key: &Key) -> String {
    match key.place() {
        ("", name) => format!("{name} = {}\n", key.example),
        (section, name) => format!("[{section}]\n{name} = {}\n", key.example),
    }
}

#[test]
fn the_example_of_every_key_is_taken() {
    for key in &KEYS {
        let home = Home::new();
        let text = example(key);
        home.write("config.toml", &text);
        home.read(&[]).unwrap_or_else(|error| panic!("{text}: {error}"));
    }
}

#[test]
fn a_mistake_in_a_file_is_shown_in_its_place() {
    let home = Home::new();
    for (text, said) in [
        ("jobs = 0\n", &["nonzero"][..]),
        ("jobs = \"2\"\n", &["invalid type: string"]),
        ("mirro = \"x\"\n", &["unknown field `mirro`", "did you mean `mirror`?"]),
        ("[slurm]\nvolume = \"x\"\n", &["unknown field `volume`"]),
        ("margins = [\"3\"]\n", &["`3` is not a margin"]),
        ("margins = [\"3%\", \"4%\"]\n", &["given twice"]),
        ("margins = [\"throughput=2%\"]\n", &["margin of one metric", "--margin"]),
        ("[kubernetes]\nvolume = \"La b\"\n", &["`La b` is no claim"]),
        ("[kubernetes]\nimage = \"a\\nb\"\n", &["one line of plain text"]),
        ("jobs = \n", &[""]),
        ("jobs = 1\njobs = 2\n", &["duplicate key"]),
    ] {
        home.write("config.toml", text);
        home.refuses(said);
        let error = home.read(&[]).unwrap_err();
        let mistake = error.mistake().unwrap_or_else(|| panic!("{text}: {error}"));
        assert_eq!(mistake.path, home.path("config.toml"));
        assert!(mistake.span.end <= text.len(), "{text}");
    }
}

#[test]
fn hostile_files_are_refused_within_bounds() {
    let home = Home::new();
    let nested = format!("jobs = {}{}\n", "[".repeat(100_000), "]".repeat(100_000));
    for (text, said) in [(nested.as_str(), ""), (&"#".repeat(2 << 20), "larger than 1 MiB")] {
        home.write("config.toml", text);
        home.refuses(&[said]);
    }
    fs::write(home.path("config.toml"), b"jobs = \"\xff\"").unwrap();
    home.refuses(&["cannot read", "utf-8"]);
    fs::remove_file(home.path("config.toml")).unwrap();
    fs::create_dir(home.path("config.toml")).unwrap();
    home.refuses(&["cannot read", "directory"]);
}

#[test]
fn a_project_sets_nothing_that_names_a_program_a_place_or_an_address() {
    for key in &KEYS {
        let home = Home::new();
        let text = example(key);
        home.write("work/preemptlab.toml", &text);
        match ["jobs", "margins"].contains(&key.name) {
            true => drop(home.read(&[]).unwrap()),
            false => home.refuses(&[&format!("a project cannot set `{}`", key.name), "your own"]),
        }
    }
}

#[test]
fn a_folder_that_everybody_can_write_to_has_no_project() {
    let home = Home::new();
    home.write("preemptlab.toml", "jobs = 7\n");
    assert_eq!(home.read(&[]).unwrap().jobs(), Some(7));
    fs::set_permissions(home.path("work"), fs::Permissions::from_mode(0o777)).unwrap();
    home.write("work/preemptlab.toml", "jobs = 8\n");
    assert_eq!(home.read(&[]).unwrap().jobs(), None, "nor has any folder above it");
}

#[test]
fn a_file_of_another_user_is_refused() {
    if !rustix::process::geteuid().is_root() {
        // Only root can give a file away.
        return;
    }
    let home = Home::new();
    home.write("config.toml", "jobs = 1\n");
    chown(home.path("config.toml"), Some(12_345), None).unwrap();
    home.refuses(&["belongs to another user (id 12345)", "make it yours"]);
}

#[test]
fn an_assignment_names_a_key_and_a_value_of_its_form() {
    let refused = |text: &str| text.parse::<Assignment>().unwrap_err();
    assert_eq!(refused("mirro=x"), "there is no `mirro`; did you mean `mirror`?");
    assert!(
        refused("nothing-like-it=1")
            .starts_with("there is no `nothing-like-it`; there are store, ")
    );
    assert_eq!(refused("jobs"), "`jobs` has no value; a file has it as `jobs = 2`");
    assert_eq!(refused("jobs=two"), "`jobs` takes a value such as 2");
    assert_eq!(refused("a\u{1b}[2J=1").matches('\u{1b}').count(), 0);
    let home = Home::new();
    for (assignment, said) in
        [("jobs=0", "nonzero"), ("jobs=true", "invalid type"), ("kubernetes.volume=A", "no claim")]
    {
        let error = home.read(&[assignment]).unwrap_err().to_string();
        assert!(error.starts_with("--set: ") && error.contains(said), "{error}");
    }
    // The last one holds.
    assert_eq!(home.read(&["jobs=1", "jobs=2"]).unwrap().jobs(), Some(2));
}
