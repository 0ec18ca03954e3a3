use std::fs;

use crate::host::kernel_config;
use crate::tune::{Elsewhere, KernelFacts, Settings, entry, grub};
use preemptlab_model::Cpus;

use crate::apply::{Error, Journal, Loader, Machine, Result, loader::entries};

/// Returns the facts about the kernel that settings are for: the one that they name, else the one
/// that runs, else the newest of the machine's.
///
/// # Errors
///
/// When that kernel is not installed.
pub fn facts(
    machine: &Machine,
    loader: &Loader,
    journal: &Journal,
    settings: &Settings,
) -> Result<KernelFacts> {
    let running = machine.running();
    let release = match (settings.release(), &running) {
        (Some(release), _) => {
            installed(machine, loader, release, settings)?;
            release.to_owned()
        }
        (None, Some(running)) => running.clone(),
        (None, None) => newest(machine).unwrap_or_default(),
    };
    let runs = running.as_deref() == Some(release.as_str());
    let features = machine.line("/sys/kernel/debug/sched/features").ok().filter(|_| runs);
    let features = features.map(|text| {
        let names = text.split_whitespace().map(|it| it.strip_prefix("NO_").unwrap_or(it));
        names.map(str::to_owned).collect()
    });
    let lazy = machine.path("/sys/module/rcutree/parameters/enable_rcu_lazy").exists();
    Ok(KernelFacts {
        config: kernel_config(machine.root(), &release).map(|(_, config)| config),
        possible: possible(machine),
        features,
        lazy_parameter: runs.then_some(lazy),
        elsewhere: elsewhere(machine, loader, journal),
        cmdline_bytes: cmdline_bytes(machine, loader, journal),
        release,
    })
}

impl Machine {
    /// Returns the release of the running kernel, if the machine is the running one.
    pub(crate) fn running(&self) -> Option<String> {
        let release = || rustix::system::uname().release().to_string_lossy().into_owned();
        self.is_live().then(release)
    }
}

/// Returns the CPUs that the machine can have, of which some may be offline.
fn possible(machine: &Machine) -> Option<Cpus> {
    let text = machine.line("/sys/devices/system/cpu/possible").ok()?;
    Cpus::parse(&text, 0).ok()
}

fn installed(machine: &Machine, loader: &Loader, release: &str, settings: &Settings) -> Result<()> {
    let is_there = machine.path(&format!("/boot/vmlinuz-{release}")).exists()
        || match loader {
            Loader::Grub { .. } => false,
            Loader::Entries { folder, .. } => {
                entries(machine, folder).iter().any(|(_, text)| entry::boots(text, release))
            }
        };
    if is_there {
        return Ok(());
    }
    let next = match settings.install() {
        Some(install) => format!("`{install}` installs it"),
        None => "no package of it is known: install it by hand".to_owned(),
    };
    Err(Error::NoKernel { release: release.to_owned(), next })
}

/// Returns the newest release in /boot, by the numbers in the names, as versions are compared.
fn newest(machine: &Machine) -> Option<String> {
    let names = fs::read_dir(machine.path("/boot")).ok()?;
    let releases = names.filter_map(|entry| {
        let name = entry.ok()?.file_name().into_string().ok()?;
        name.strip_prefix("vmlinuz-").map(str::to_owned)
    });
    let numbers = |release: &String| -> Vec<u64> {
        release.split(|c: char| !c.is_ascii_digit()).filter_map(|it| it.parse().ok()).collect()
    };
    releases.max_by_key(|release| (numbers(release), release.clone()))
}

/// Returns the length of the longest command line of the boot entries, without the words that
/// preemptlab added. GRUB puts the image before the words, and systemd-boot the initrds
/// (`BOOT_IMAGE=`, `initrd=`).
fn cmdline_bytes(machine: &Machine, loader: &Loader, journal: &Journal) -> usize {
    let ours = journal.applied.as_ref().map(|applied| applied.settings.words()).unwrap_or_default();
    let others = |words: &mut dyn Iterator<Item = &str>| -> usize {
        let words = words.filter(|word| !ours.iter().any(|it| it == word));
        words.map(|word| word.len() + 1).sum()
    };
    let lines: Vec<usize> = match loader {
        Loader::Grub { config } => {
            let text = fs::read_to_string(machine.path(config)).unwrap_or_default();
            let line = |line: grub::LinuxLine<'_>| {
                "BOOT_IMAGE=".len() + line.image.len() + others(&mut line.words.into_iter())
            };
            grub::linux_lines(&text).map(line).collect()
        }
        Loader::Entries { folder, .. } => {
            let line = |(_, text): (String, String)| {
                let initrds = text.lines().filter_map(|line| {
                    let path = line.trim().strip_prefix("initrd")?;
                    path.starts_with(char::is_whitespace).then(|| "initrd=".len() + path.len())
                });
                let initrds: usize = initrds.sum();
                (initrds + others(&mut entry::words(&text))).saturating_sub(1)
            };
            entries(machine, folder).into_iter().map(line).collect()
        }
    };
    lines.into_iter().max().unwrap_or_default()
}

/// Returns the words of the boot entries that preemptlab did not add, each with its file.
fn elsewhere(machine: &Machine, loader: &Loader, journal: &Journal) -> Vec<Elsewhere> {
    let ours = journal.applied.as_ref().map(|applied| applied.settings.words()).unwrap_or_default();
    let mut found: Vec<Elsewhere> = Vec::new();
    let mut add = |word: &str, place: &str| {
        let is_known = found.iter().any(|it| it.word == word) || ours.iter().any(|it| it == word);
        if !is_known {
            found.push(Elsewhere { word: word.to_owned(), place: place.to_owned() });
        }
    };
    let texts = |paths: Vec<String>| -> Vec<(String, String)> {
        let read =
            |path: String| Some((path.clone(), fs::read_to_string(machine.path(&path)).ok()?));
        paths.into_iter().filter_map(read).collect()
    };
    match loader {
        Loader::Grub { config } => {
            let mut sources = vec!["/etc/default/grub".to_owned()];
            let drop_ins = fs::read_dir(machine.path("/etc/default/grub.d")).into_iter().flatten();
            let mut drop_ins: Vec<String> = drop_ins
                .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
                .map(|name| format!("/etc/default/grub.d/{name}"))
                .filter(|path| path != grub::PATH)
                .collect();
            drop_ins.sort();
            sources.extend(drop_ins);
            let sources = texts(sources);
            let text = fs::read_to_string(machine.path(config)).unwrap_or_default();
            for word in grub::linux_lines(&text).flat_map(|line| line.words) {
                let source = sources.iter().rev().find(|(_, text)| text.contains(word));
                add(word, source.map_or(config, |(path, _)| path));
            }
        }
        Loader::Entries { folder, .. } => {
            for (path, text) in entries(machine, folder) {
                entry::words(&text).for_each(|word| add(word, &path));
            }
        }
    }
    found
}
