//! The sources of the project's own modules, embedded.

use preemptlab_model::Digest;

/// First part of the names of the project's own modules.
pub(crate) const PREFIX: &str = "preemptlab_";

/// The source of a module.
#[derive(Debug)]
pub(crate) struct Source {
    /// Name of the module.
    pub(crate) name: &'static str,
    /// The folder with its `Kbuild`, among the files.
    pub(crate) folder: &'static str,
    /// Every file that it is compiled from, by its path in `kmod/`, and its text.
    pub(crate) files: &'static [(&'static str, &'static str)],
}

/// A file of `kmod/` with its path there.
macro_rules! file {
    ($path:literal) => {
        ($path, include_str!(concat!("../../../../../kmod/", $path)))
    };
}

/// Sources of all modules.
const SOURCES: [Source; 4] = [
    Source {
        name: "preemptlab_hold",
        folder: "hold",
        files: &[file!("preemptlab.h"), file!("hold/Kbuild"), file!("hold/preemptlab_hold.c")],
    },
    Source {
        name: "preemptlab_micro",
        folder: "micro",
        files: &[
            file!("micro/Kbuild"),
            file!("micro/file.c"),
            file!("micro/interrupts.c"),
            file!("micro/meter.c"),
            file!("micro/micro.h"),
            file!("micro/registers.c"),
            file!("micro/switches.c"),
        ],
    },
    Source {
        name: "preemptlab_pgzero",
        folder: "pgzero",
        files: &[
            file!("preemptlab.h"),
            file!("pgzero/Kbuild"),
            file!("pgzero/preemptlab_pgzero.c"),
        ],
    },
    Source {
        name: "preemptlab_scenario",
        folder: "scenario",
        files: &[
            file!("scenario/Kbuild"),
            file!("scenario/busy.c"),
            file!("scenario/call.c"),
            file!("scenario/check.c"),
            file!("scenario/device.c"),
            file!("scenario/interrupt.c"),
            file!("scenario/preemptlab_scenario.h"),
            file!("scenario/scenario.h"),
        ],
    },
];

impl Source {
    /// Finds the module of that name.
    pub(crate) fn find(name: &str) -> Option<&'static Self> {
        const { &SOURCES }.iter().find(|source| source.name == name)
    }

    /// Returns the names of all modules.
    pub(crate) fn names() -> Vec<&'static str> {
        SOURCES.iter().map(|source| source.name).collect()
    }

    /// Computes the digest of every file and its path.
    pub(crate) fn digest(&self) -> Digest {
        Digest::of_json(&self.files)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_is_whole() {
        for source in &SOURCES {
            assert!(source.name.starts_with(PREFIX), "{}", source.name);
            // The kernel's MODULE_NAME_LEN.
            assert!(source.name.len() < 56, "{}", source.name);
            let text = |path: String| source.files.iter().find(|(p, _)| *p == path).unwrap().1;
            let kbuild = text(format!("{}/Kbuild", source.folder));
            assert!(kbuild.contains(&format!("obj-m := {}.o", source.name)), "{kbuild}");
            assert!(source.files.iter().all(|(_, text)| text.contains("SPDX-License-Identifier")));
        }
    }

    /// A module that is busy during the snapshot would make the snapshot a matter of chance.
    #[test]
    fn modules_are_quiet_until_the_snapshot_is_taken() {
        let header = include_str!("../../../../../kmod/preemptlab.h");
        let quiet_ms = header
            .lines()
            .find_map(|line| line.strip_prefix("#define PREEMPTLAB_QUIET_MS "))
            .and_then(|value| value.parse::<u64>().ok())
            .unwrap();
        // The guest settles for a second and then waits for a place between two ticks.
        let snapshot_ms = 1000 + 23 + preemptlab_protocol::SNAPSHOT_DELAY_NS / 1_000_000;
        assert!(quiet_ms >= snapshot_ms + 150, "{quiet_ms} ms");
    }
}
