//! Capsules: recordings that anybody can check without a network.

use std::path::Path;

use preemptlab_analysis::verification::OfCapsule;
use preemptlab_experiment::{Derived, NotOfExperiment, Recording};
use preemptlab_provision::{
    Options,
    capsule::{Bytes, Capsule as Opened, CapsuleError, Trust, Vouched},
};
use preemptlab_recording::RecordingError;
use preemptlab_runner::RunError;

use crate::{Blame, Build, Event, Lab, OrBlame, PrepareError, Result, children, prepare::needs};

/// Packs a recording with everything that its cells need into a file, and returns its size in bytes.
///
/// # Errors
///
/// When something that they need is unavailable, the file cannot be written, or the user ends it.
pub fn pack(lab: &Lab<'_>, recording: &Recording, out: &Path) -> Result<u64> {
    // Before anything is asked for in its name.
    let recording = Derived::check(recording).or_blame(Blame::User)?;
    let cancel = lab.watch.cancel()?;
    let folders = recording.folders()?;
    let guest = recording.manifest().experiment.machine.arch;
    let contents = lab.provide(lab.open_store()?, guest, |provision| {
        Ok(lab.preparation(provision).with_folders(&folders).capsule(recording)?)
    })?;
    lab.note(format!(
        "packing {}: {}",
        out.display(),
        said(&contents.bytes().or_blame(Blame::Machine)?)
    ));
    if let Some(reason) = contents.unlisted() {
        let warning = format!(
            "the capsule will not show that its QEMU is Debian's: {reason}; whoever opens it needs --trust-qemu"
        );
        lab.watch.on(Event::Warning(warning));
    }
    lab.watch.on(Event::Providing);
    let on_event = |event| lab.watch.on(Event::Provision(event));
    let is_over = || cancel.is_cancelled();
    let written = contents.write(Build::this().to_string(), out, &on_event, &is_over);
    lab.watch.on(Event::Provided);
    match cancel.is_cancelled() {
        true => Err(RunError::Cancelled.into()),
        false => Ok(written.map_err(PrepareError::from)?),
    }
}

fn said(bytes: &Bytes) -> String {
    let mb = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
    let Bytes { qemu, kernels, images, lists, recording } = *bytes;
    format!(
        "about {} (QEMU {}, kernels {}, guest images {}, Debian's signed lists {}, recording and licences {})",
        mb(bytes.all()),
        mb(qemu),
        mb(kernels),
        mb(images),
        mb(lists),
        mb(recording)
    )
}

/// A recording out of a capsule, whose files are removed with this value.
#[derive(Debug)]
pub struct Capsule {
    opened: Opened,
    recording: Recording,
}

impl Capsule {
    /// Opens a capsule. Nothing in it is executed.
    ///
    /// # Errors
    ///
    /// When it is damaged, or of a newer format, or its recording is not what its experiment comes to.
    pub fn open(lab: &Lab<'_>, path: &Path) -> Result<Self> {
        let store = lab.open_store()?;
        lab.watch.on(Event::Providing);
        let opened = Opened::open(&store, path, &|event| lab.watch.on(Event::Provision(event)));
        lab.watch.on(Event::Provided);
        let opened = opened.map_err(PrepareError::from)?;
        let of_recording = |error: RecordingError| {
            let path = path.to_owned();
            PrepareError::from(match error {
                RecordingError::OtherFormat { found, known, .. } if found > known => {
                    CapsuleError::Newer { path, found, known }
                }
                RecordingError::Absent(_) => {
                    CapsuleError::Damaged { path, reason: "it lacks recording.json".to_owned() }
                }
                error => CapsuleError::Damaged { path, reason: error.to_string() },
            })
        };
        let recording = Recording::open(&opened.recording()).map_err(of_recording)?;
        if !recording.manifest().backend.is_vm() {
            let reason = "its recording is of a machine's own time, which no execution repeats";
            let (path, reason) = (path.to_owned(), reason.to_owned());
            return Err(PrepareError::from(CapsuleError::Damaged { path, reason }).into());
        }
        Derived::check(&recording)
            .map_err(|error| NotOfExperiment { path: path.to_owned(), ..error })
            .or_blame(Blame::User)?;
        Ok(Self { opened, recording })
    }

    /// Returns the recording.
    pub fn recording(&self) -> &Recording {
        &self.recording
    }

    /// Checks everything that the cells of the recording need, and returns a lab whose store has it and nothing else,
    /// with a word about where it came from. Whoever trusts the QEMU of the capsule needs no signature of Debian.
    ///
    /// # Errors
    ///
    /// When something is missing or is something else, or nobody vouches for QEMU.
    pub fn lab<'a>(&self, lab: &Lab<'a>, trusts_qemu: bool) -> Result<(Lab<'a>, OfCapsule)> {
        let cancel = lab.watch.cancel()?;
        let needs = needs(&self.recording)?;
        let names: Vec<String> = self.recording.files().into_iter().map(|(name, _)| name).collect();
        let trust = if trusts_qemu { Trust::User } else { Trust::Debian };
        lab.watch.on(Event::Providing);
        let on_event = |event| lab.watch.on(Event::Provision(event));
        let provided = children::ended_when(
            || cancel.is_cancelled(),
            || self.opened.provide(&needs, &names, trust, &on_event),
        );
        lab.watch.on(Event::Provided);
        if cancel.is_cancelled() {
            return Err(RunError::Cancelled.into());
        }
        let (store, vouched) = provided.map_err(PrepareError::from)?;
        let root = store.root().to_owned();
        let own = Lab {
            store: Some(root),
            cache: None,
            // The store has all that is asked for.
            packages: Options { offline: true, ..Options::default() },
            qemu: None,
            jobs: lab.jobs,
            allow_build_scripts: false,
            watch: lab.watch,
        };
        let of = OfCapsule {
            packed_by: self.opened.packed_by().to_owned(),
            qemu_signed_in: match vouched {
                Vouched::Debian(releases) => releases,
                Vouched::User => Vec::new(),
            },
            network: false,
        };
        Ok((own, of))
    }
}
