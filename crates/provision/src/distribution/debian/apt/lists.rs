//! The package lists: which suites can be used, and when to refresh them.

use std::{
    collections::BTreeSet,
    fs, io,
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use preemptlab_model::{Digest, Platform};
use serde::{Deserialize, Serialize};

use super::{
    AptError, LeftOut, LeftOutNote, Trouble, config,
    config::Trust,
    machine::Machine,
    own::{self, Own},
    run::{Programs, Root},
};
use crate::{Event, Mirror, Options, Store, StoreError, StoreLock};

/// Lists older than this are refreshed.
const AGE_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// Folders that apt expects in its root.
const FOLDERS: [&str; 6] = [
    "state/lists/partial",
    "cache/archives/partial",
    "etc/apt.conf.d",
    "etc/preferences.d",
    "log",
    "sources.d",
];

/// The version of [`Stamp`].
const STAMP_FORMAT: u32 = 1;

/// The package lists of a private apt root, ready for use.
#[derive(Debug)]
pub(crate) struct Lists {
    /// The suites that take no part.
    pub(crate) left_out: Vec<LeftOut>,
    /// The apt that reads them.
    pub(super) programs: Programs,
    /// The archive that packages are downloaded from without the machine's apt.
    pub(super) own: Option<Own>,
}

/// The way in which lists and packages come here.
pub(super) enum Way<'a> {
    /// Through the machine's apt: its archives, its reason to trust them and its settings.
    Machine(&'a Mirror, &'a Trust, &'a str),
    /// By this program alone.
    Own(Own),
}

/// Written after the lists were refreshed.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stamp {
    format: u32,
    /// Digest of the sources and settings that the lists were fetched with.
    inputs: Digest,
    /// Time of the last refresh, in seconds since 1970.
    refreshed_unix_s: u64,
    left_out: Vec<LeftOut>,
}

impl Lists {
    /// Prepares the private root and refreshes its lists where that is due or wanted.
    pub(crate) fn prepare(
        here: (&Store, &StoreLock),
        of: &'static Platform,
        options: &Options,
        on_event: &dyn Fn(Event),
    ) -> Result<Self, AptError> {
        let root = here.0.apt(of);
        let machine = match Machine::find(&root, options.apt_config.as_deref()) {
            Err(AptError::Tool { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                let way = Way::Own(Own::of_debian(of, options)?);
                return Self::prepare_from(here, of, way, options, on_event);
            }
            machine => machine?,
        };
        let mirror = machine.mirror(options.mirror.as_deref())?;
        let (trust, settings) = (Trust::debian(&root)?, machine.settings());
        Self::prepare_from(here, of, Way::Machine(&mirror, &trust, &settings), options, on_event)
    }

    pub(super) fn prepare_from(
        (store, lock): (&Store, &StoreLock),
        of: &'static Platform,
        way: Way<'_>,
        options: &Options,
        on_event: &dyn Fn(Event),
    ) -> Result<Self, AptError> {
        let root = &*store.apt(of);
        for folder in FOLDERS {
            let folder = root.join(folder);
            fs::create_dir_all(&folder).map_err(StoreError::at(&folder))?;
        }
        let in_sources = Own::in_sources();
        let (mirror, trust, settings) = match &way {
            Way::Machine(mirror, trust, settings) => (*mirror, *trust, (*settings).to_owned()),
            Way::Own(_) => (&in_sources, &Trust::Checked, Own::settings(root)?),
        };
        let all = config::sources(mirror, trust, of, |_| true);
        let conf = config::apt_conf(root, options.allow_expired, &settings, of);
        config::write(&root.join("apt.conf"), &conf)?;
        config::write(&root.join("preferences"), config::preferences())?;
        config::write(&root.join("status"), "")?;
        let sources_path = root.join("sources.d/debian.sources");

        let stamp_path = root.join("refreshed.json");
        let inputs = match &way {
            Way::Machine(..) => Digest::of_json(&(&all, options.allow_expired)),
            Way::Own(own) => {
                let Mirror { main, security } = own.mirror();
                Digest::of_json(&(&all, options.allow_expired, main, security))
            }
        };
        let stamp = Stamp::read(&stamp_path).filter(|stamp| stamp.inputs == inputs);
        let is_fresh = |stamp: &Stamp| !options.refresh && stamp.is_fresh(SystemTime::now());
        let mut left_out = match stamp {
            Some(stamp) if options.offline || is_fresh(&stamp) => stamp.left_out,
            None if options.offline => {
                return Ok(Self { left_out: Vec::new(), programs: Programs::None, own: None });
            }
            _ => {
                config::write(&sources_path, &all)?;
                on_event(Event::Refreshing);
                let (left_out, final_) = match &way {
                    Way::Machine(mirror, ..) => {
                        let apt = Root { path: root, lock, programs: &Programs::Machine };
                        judged(mirror, refresh(&apt)?, on_event)?
                    }
                    Way::Own(own) => {
                        let troubles = own.refresh(root, options);
                        let is_there = |suite: &&str| own::list_of(root, of, suite).is_file();
                        let present =
                            config::suites().filter(is_there).map(str::to_owned).collect();
                        let found = Found { troubles, present, unnamed: Trouble::Missing };
                        judged(own.mirror(), found, on_event)?
                    }
                };
                if final_ {
                    let stamp = Stamp::new(inputs, left_out.clone());
                    let json = serde_json::to_string(&stamp).map_err(std::io::Error::from);
                    let json = json.map_err(StoreError::at(&stamp_path))?;
                    config::write(&stamp_path, &json)?;
                }
                left_out
            }
        };
        left_out.sort_by(|a, b| a.suite.cmp(&b.suite));
        // Lists of a suite that has expired since may still be here, and must not be used.
        let wanted = |suite: &str| left_out.iter().all(|out| out.suite != suite);
        config::write(&sources_path, config::sources(mirror, trust, of, wanted))?;
        let (programs, own) = match way {
            Way::Machine(..) => (Programs::Machine, None),
            Way::Own(own) => (own.programs((store, lock), options, on_event)?, Some(own)),
        };
        Ok(Self { left_out, programs, own })
    }
}

/// The state of the lists after a refresh.
struct Found {
    /// The suites that could not be refreshed.
    troubles: Vec<LeftOut>,
    /// The suites whose lists are here, of whatever age.
    present: BTreeSet<String>,
    /// The cause for a suite that is neither here nor among the troubles.
    unnamed: Trouble,
}

/// Refreshes the lists through the machine's apt.
fn refresh(apt: &Root<'_>) -> Result<Found, AptError> {
    let output = apt.run("apt-get", &["update", "-q"])?;
    let troubles = troubles(&output.stdout, &output.stderr);
    let targets = ["indextargets", "--format", "$(RELEASE)", "Created-By: Packages"];
    let listed = apt.run("apt-get", &targets)?;
    let present = listed.stdout.lines().map(str::to_owned).collect();

    // A full disk hits every suite, and only some of them with words.
    let unnamed = match troubles.iter().any(|out| out.trouble == Trouble::DiskFull) {
        true => Trouble::DiskFull,
        false => Trouble::classify(&output.stderr),
    };
    Ok(Found { troubles, present, unnamed })
}

/// Returns the suites that cannot be used, and whether trying again soon would make no difference.
fn judged(
    mirror: &Mirror,
    Found { troubles, present, unnamed }: Found,
    on_event: &dyn Fn(Event),
) -> Result<(Vec<LeftOut>, bool), AptError> {
    let mut left_out = Vec::new();
    let mut is_final = true;
    for suite in config::suites() {
        let trouble = troubles.iter().find(|out| out.suite == suite).map(|out| &out.trouble);
        if matches!(
            trouble,
            Some(Trouble::Unreachable(_) | Trouble::Corrupted(_) | Trouble::DiskFull)
        ) {
            is_final = false;
        }
        match trouble {
            None if present.contains(suite) => {}
            Some(trouble)
                if present.contains(suite) && !matches!(trouble, Trouble::Expired { .. }) =>
            {
                on_event(Event::Warning(format!(
                    "the package list of {suite} stays as it was: {trouble}"
                )));
            }
            trouble => {
                let trouble = trouble.cloned().unwrap_or_else(|| unnamed.clone());
                left_out.push(LeftOut { suite: suite.to_owned(), trouble });
            }
        }
    }
    if left_out.iter().any(|out| out.suite == config::STABLE) {
        return Err(AptError::NoStable { mirror: mirror.main.clone(), left_out });
    }
    if !left_out.is_empty() {
        let note = LeftOutNote(&left_out).to_string();
        on_event(Event::Warning(note.trim_start_matches("; ").to_owned()));
    }
    Ok((left_out, is_final))
}

/// Returns the complaints of `apt-get update` about suites that it could not refresh: blocks of
/// `Err:` on standard output, lines on standard error.
pub(super) fn troubles(stdout: &str, stderr: &str) -> Vec<LeftOut> {
    let mut troubles = Vec::new();
    let mut add = |suite: &str, complaint: &str| {
        if !complaint.trim().is_empty() {
            let trouble = Trouble::classify(complaint);
            troubles.push(LeftOut { suite: suite.to_owned(), trouble });
        }
    };
    let mut lines = stdout.lines().peekable();
    while let Some(line) = lines.next() {
        if !line.starts_with("Err:") {
            continue;
        }
        let suite = line.split_whitespace().nth(2).and_then(|word| word.split('/').next());
        let mut complaint = String::new();
        while let Some(more) = lines.next_if(|line| line.starts_with(' ')) {
            complaint.push_str(more);
            complaint.push('\n');
        }
        add(suite.unwrap_or_default(), &complaint);
    }
    for line in stderr.lines() {
        for suite in config::suites() {
            let named = [
                format!("/dists/{suite}/"),
                format!(" {suite} InRelease"),
                format!(" {suite} Release"),
            ];
            if named.iter().any(|name| line.contains(name.as_str())) {
                add(suite, line);
            }
        }
    }
    troubles
}

impl Stamp {
    fn new(inputs: Digest, left_out: Vec<LeftOut>) -> Self {
        Self { format: STAMP_FORMAT, inputs, refreshed_unix_s: unix_s(SystemTime::now()), left_out }
    }

    fn read(path: &Path) -> Option<Self> {
        let stamp: Self = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
        (stamp.format == STAMP_FORMAT).then_some(stamp)
    }

    /// Returns whether the lists are recent. A stamp from the future is not: the clock was wrong
    /// once.
    fn is_fresh(&self, now: SystemTime) -> bool {
        let age_s = unix_s(now).checked_sub(self.refreshed_unix_s);
        age_s.is_some_and(|age_s| age_s < AGE_MAX.as_secs())
    }
}

fn unix_s(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |duration| duration.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_suite_gets_its_own_trouble() {
        let stdout = "Hit:1 http://m.invalid/debian trixie InRelease\n\
            Err:2 http://m.invalid/debian trixie-updates Release\n  404  Not Found [IP: 1 80]\n\
            Ign:3 http://m.invalid/debian bookworm InRelease\n\
            Err:3 http://m.invalid/debian bookworm InRelease\n  Could not connect to m.invalid:80\n\
            Err:4 http://m.invalid/debian trixie-backports/main amd64 Packages\n  \
            File has unexpected size (1 != 2). Mirror sync in progress?\n  Hashes of expected file:\n\
            Reading package lists...\n";
        let stderr = "E: Release file for http://m.invalid/debian/dists/experimental/InRelease is \
            expired (invalid since 14d). Updates for this repository will not be applied.\n\
            W: GPG error: http://s.invalid trixie-security InRelease: NO_PUBKEY 1\n";
        let troubles = troubles(stdout, stderr);
        let of = |suite: &str| &troubles.iter().find(|out| out.suite == suite).unwrap().trouble;
        assert_eq!(*of("trixie-updates"), Trouble::Missing);
        assert!(matches!(of("bookworm"), Trouble::Unreachable(_)));
        assert!(matches!(of("trixie-backports"), Trouble::Corrupted(_)));
        assert_eq!(*of("experimental"), Trouble::Expired { since: "14d".into() });
        assert!(matches!(of("trixie-security"), Trouble::Signature(_)));
        assert!(troubles.iter().all(|out| out.suite != "trixie"));
    }

    #[test]
    fn lists_stay_fresh_for_a_day() {
        let stamp = Stamp {
            format: STAMP_FORMAT,
            inputs: Digest::of(b""),
            refreshed_unix_s: 1_000_000,
            left_out: vec![],
        };
        let at = |unix_s| UNIX_EPOCH + Duration::from_secs(unix_s);
        assert!(stamp.is_fresh(at(1_000_000)));
        assert!(stamp.is_fresh(at(1_086_399)));
        assert!(!stamp.is_fresh(at(1_086_400)));
        assert!(!stamp.is_fresh(at(999_999)));
    }
}
