use preemptlab_experiment::NotOfExperiment;
use preemptlab_model::{Digest, KernelRef};
use preemptlab_provision::{
    AptError, ArchiveError, ImageError, KbuildError, KernelError, KmodError, ModuleError,
    PackageError, ProgramError, QemuError, TreeError, capsule::CapsuleError, seed::SeedError,
};
use preemptlab_runner::Stop;

use super::build::Build;

/// Reason why an experiment cannot be prepared.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// The plan of a recording is not that of its experiment.
    #[error(transparent)]
    NotOfExperiment(#[from] NotOfExperiment),
    /// A kernel is unavailable.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// A kernel module is unavailable.
    #[error(transparent)]
    Module(#[from] ModuleError),
    /// A kernel lacks a module that the files of a workload need.
    #[error("{0}; with `filesystem = \"tmpfs\"` the files need no module")]
    NoDisk(ModuleError),
    /// QEMU is unavailable.
    #[error(transparent)]
    Qemu(#[from] QemuError),
    /// A package of the guest image is unavailable.
    #[error(transparent)]
    Packages(#[from] AptError),
    /// The program of a command is in no package.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The guest image cannot be built.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// A recording was made with another kernel than the present one of its name.
    #[error(
        "the recording was made with {name} as {release}, which cannot be had any more: {reason}; \
         name a mirror that has it with --set mirror=URL, or run the experiment anew into another folder"
    )]
    KernelGone {
        /// Name of the kernel in the experiment.
        name: KernelRef,
        /// Release that was recorded.
        release: String,
        /// Error of looking for it.
        reason: Box<KernelError>,
    },
    /// A file of the user's own is not the one that a recording was made with.
    #[error(
        "{what} is not what the recording was made with: {how}; put it back, or run the experiment \
         into another folder with --out"
    )]
    Changed {
        /// The file or the folder.
        what: String,
        /// Difference, in words.
        how: String,
    },
    /// A recording was made with another QEMU.
    #[error(
        "the recording was made with QEMU {recorded}, and this is {present}; name the same build \
         with --set qemu=PATH, or run the experiment anew into another folder"
    )]
    OtherQemu {
        /// Build of the recording.
        recorded: String,
        /// The present build.
        present: String,
    },
    /// A recording was made with a guest image that this preemptlab does not build.
    #[error(
        "the recording was made with another guest image; run it with the preemptlab that made \
         it, or run the experiment anew into another folder"
    )]
    OtherImage,
    /// The limits of this process are too small for virtual machines.
    #[error(transparent)]
    NotAllowed(#[from] preemptlab_backend_qemu::NotAllowed),
    /// The files of a workload's folder are missing.
    #[error("the files of a workload's folder ({}) are missing", .0.short())]
    FilesMissing(Digest),
    /// A kernel of the machine is not there.
    #[error(transparent)]
    NotInstalled(#[from] preemptlab_system::host::NotInstalled),
    /// Something that only a virtual machine can do.
    #[error(
        "{what}; the machine's own kernel is given no module: leave it out, or use --backend vm"
    )]
    NeedsModules {
        /// Part of the experiment that needs a module.
        what: String,
    },
    /// An experiment holds a setting that no machine is given.
    #[error(transparent)]
    NotSettable(#[from] preemptlab_model::NotSettable),
    /// An experiment says a topology, and its cells run on the machine itself.
    #[error("[machine.topology] is of virtual machines alone; leave it away, or --backend host")]
    OwnTopology,
    /// Cells cannot run on the machine's own kernel.
    #[error(transparent)]
    Live(#[from] preemptlab_backend_host::LiveError),
    /// A kernel cannot be traced.
    #[error(transparent)]
    Untraceable(#[from] preemptlab_trace::KernelError),
    /// A kernel cannot be traced, for a reason that was found before.
    #[error("{0}")]
    NoLayout(String),
    /// A kernel's layout cannot be found out.
    #[error("the kernel's layout cannot be found out: {0}")]
    Layout(String),
    /// The guest that was asked for its kernel's layout was not executed.
    #[error("{}", stop_reason(.0))]
    Stopped(Stop),
    /// A seed cannot be made or used.
    #[error(transparent)]
    Seed(#[from] SeedError),
    /// A seed belongs to another recording.
    #[error(
        "the seed {} is of another recording: make it again with `preemptlab cluster prepare`, or name the recording \
         beside it", .0.display()
    )]
    OtherSeed(std::path::PathBuf),
    /// A worker runs another preemptlab than the machine that prepared the recording.
    #[error(
        "this preemptlab is {this}, and the recording was prepared by {prepared}: put the same \
         program on every machine, or prepare the recording again with `preemptlab cluster prepare`"
    )]
    OtherBuild {
        /// Build that prepared the recording.
        prepared: Build,
        /// This build.
        this: Build,
    },
    /// A seed cannot hold a QEMU of the user's own.
    #[error(
        "a QEMU of your own cannot be packed with what it needs: without `qemu` in the configuration \
         every worker gets Debian's"
    )]
    OwnQemu,
    /// The cells of a machine's own time belong to that machine.
    #[error("only virtual time is the same on several machines: leave --backend out")]
    NotSpread,
    /// A capsule cannot be made or opened.
    #[error(transparent)]
    Capsule(#[from] CapsuleError),
    /// A recording cannot be in a capsule.
    #[error("{} cannot be in a capsule: {reason}", path.display())]
    NotPacked {
        /// Path of the recording.
        path: std::path::PathBuf,
        /// Reason, in words.
        reason: &'static str,
    },
    /// A recording's files cannot be used.
    #[error(transparent)]
    Recording(#[from] preemptlab_recording::RecordingError),
}

impl PrepareError {
    /// Returns whether the recording and the present inputs do not belong together, which neither
    /// the machine nor a mirror can mend.
    pub fn is_of_other_inputs(&self) -> bool {
        matches!(
            self,
            Self::Changed { .. }
                | Self::OtherQemu { .. }
                | Self::OtherImage
                | Self::OtherSeed(_)
                | Self::OtherBuild { .. }
                | Self::Seed(SeedError::Absent(_) | SeedError::Damaged { .. })
                | Self::NotPacked { .. }
                | Self::Capsule(
                    CapsuleError::Damaged { .. }
                        | CapsuleError::Newer { .. }
                        | CapsuleError::NotVouched { .. }
                )
        )
    }

    /// Returns whether the experiment was refused for its own content, and not for a lack of this
    /// machine.
    pub fn is_refused(&self) -> bool {
        matches!(
            self,
            Self::Module(ModuleError::Build(
                KmodError::NotAllowed { .. } | KmodError::Foreign { .. }
            )) | Self::NotSettable(_)
                | Self::OwnQemu
                | Self::OwnTopology
                | Self::NotSpread
                | Self::Capsule(CapsuleError::Own { .. })
                | Self::Packages(AptError::Name(_) | AptError::Unknown { .. })
                | Self::Program(
                    ProgramError::Unknown { .. }
                        | ProgramError::Packages(PackageError::Apt(
                            AptError::Name(_) | AptError::Unknown { .. }
                        ))
                )
                | Self::Kernel(
                    KernelError::Own { .. }
                        | KernelError::Image { .. }
                        | KernelError::Package { .. }
                )
        ) || matches!(
            self,
            Self::Kernel(KernelError::Build(KbuildError::Tree(error)))
                if !matches!(error, TreeError::NoGit(_))
        ) || self.packages().is_some_and(AptError::is_refused)
            || self.archive().is_some_and(ArchiveError::is_refused)
    }

    /// Returns the error about the archive of another distribution than Debian from which this one comes.
    fn archive(&self) -> Option<&ArchiveError> {
        let packages = match self {
            Self::Kernel(error) => of_kernel(error)?,
            Self::KernelGone { reason, .. } => of_kernel(reason)?,
            _ => return None,
        };
        match packages {
            PackageError::Archive(error) => Some(error),
            _ => None,
        }
    }

    /// Returns the error about packages from which this one comes, whatever they are needed for.
    fn packages(&self) -> Option<&AptError> {
        let packages = match self {
            Self::Packages(error) | Self::Capsule(CapsuleError::Apt(error)) => return Some(error),
            Self::Kernel(error) => of_kernel(error)?,
            Self::KernelGone { reason, .. } => of_kernel(reason)?,
            Self::Qemu(QemuError::Packages(error))
            | Self::Program(ProgramError::Packages(error))
            | Self::Image(ImageError::Packages(error))
            | Self::Module(
                ModuleError::Packages(error) | ModuleError::Build(KmodError::Packages(error)),
            ) => error,
            _ => return None,
        };
        match packages {
            PackageError::Apt(error) => Some(error),
            _ => None,
        }
    }

    /// Returns whether the user ended the preparation.
    pub fn is_interrupted(&self) -> bool {
        matches!(
            self,
            Self::Stopped(Stop::Cancelled)
                | Self::Kernel(KernelError::Build(KbuildError::Interrupted))
        )
    }
}

fn of_kernel(error: &KernelError) -> Option<&PackageError> {
    match error {
        KernelError::Packages(error) | KernelError::Build(KbuildError::Packages(error)) => {
            Some(error)
        }
        _ => None,
    }
}

fn stop_reason(stop: &Stop) -> &str {
    match stop {
        Stop::Cancelled => "interrupted",
        Stop::Failed { reason, .. } | Stop::Host { reason } => reason,
    }
}

#[cfg(test)]
mod tests {
    use preemptlab_provision::{LeftOut, Other, Trouble};

    use super::*;
    use crate::{Blame, Error};

    /// A mirror's or an archive's answers that are refused are the user's to mend, whatever they were for.
    #[test]
    fn answers_of_mirrors_that_are_refused_are_bad_input() {
        let needed_for = |error: &dyn Fn() -> AptError| -> [PrepareError; 9] {
            let of = || PackageError::from(error());
            let name: KernelRef = "debian:6.12".parse().unwrap();
            let reason = Box::new(KernelError::Packages(of()));
            [
                error().into(),
                CapsuleError::from(error()).into(),
                QemuError::Packages(of()).into(),
                KernelError::Packages(of()).into(),
                KernelError::Build(KbuildError::Packages(of())).into(),
                PrepareError::KernelGone { name, release: "6.12.1".to_owned(), reason },
                ModuleError::Packages(of()).into(),
                ImageError::Packages(of()).into(),
                ProgramError::Packages(of()).into(),
            ]
        };
        let blames = |error: &dyn Fn() -> AptError, wanted: Blame| {
            for error in needed_for(error) {
                let text = error.to_string();
                assert_eq!(Error::from(error).blame(), wanted, "{text}");
            }
        };
        let name = || "tool 1.0".to_owned();
        let snapshot = |trouble| {
            let archive = "https://snapshot.invalid".to_owned();
            AptError::Snapshot { name: name(), archive, trouble }
        };
        let mirror = |trouble| {
            let left_out = vec![LeftOut { suite: "trixie".to_owned(), trouble }];
            AptError::NoStable { mirror: "https://mirror.invalid".to_owned(), left_out }
        };
        let corrupted = || Trouble::Corrupted("its SHA-256 starts with 01, not 02".to_owned());
        let away = || Trouble::Unreachable("refused".to_owned());
        blames(&|| snapshot(Trouble::Missing), Blame::User);
        blames(&|| snapshot(away()), Blame::Machine);
        blames(&|| AptError::Gone { name: name(), left_out: Vec::new() }, Blame::User);
        blames(&|| mirror(Trouble::Signature("it is not signed".to_owned())), Blame::User);
        blames(&|| mirror(Trouble::Expired { since: "2d".to_owned() }), Blame::User);
        blames(&|| mirror(away()), Blame::Machine);
        blames(&|| AptError::Download { name: name(), trouble: corrupted() }, Blame::User);
        blames(&|| AptError::Download { name: name(), trouble: away() }, Blame::Machine);
    }

    /// So are those of the archives of other distributions, and what a person said about these.
    #[test]
    fn answers_of_other_archives_that_are_refused_are_bad_input() {
        let of = Other::Fedora;
        let list = |trouble| ArchiveError::List { of, name: "repository".to_owned(), trouble };
        let package = |trouble| {
            let file = "kernel-core.rpm".to_owned();
            ArchiveError::Package { of, file, trouble }
        };
        let text = || "text".to_owned();
        for (error, wanted) in [
            (ArchiveError::NoMirror(of), Blame::User),
            (ArchiveError::Url { of, text: text() }, Blame::User),
            (ArchiveError::Suite(text()), Blame::User),
            (ArchiveError::Gone { of, name: text() }, Blame::User),
            (list(Trouble::Other(text())), Blame::User),
            (package(Trouble::Signature(text())), Blame::User),
            (package(Trouble::Corrupted(text())), Blame::User),
            (package(Trouble::Missing), Blame::Machine),
            (list(Trouble::Unreachable(text())), Blame::Machine),
            (list(Trouble::DiskFull), Blame::Machine),
        ] {
            let text = error.to_string();
            let error = KernelError::Packages(PackageError::Archive(error));
            assert_eq!(Error::from(PrepareError::from(error)).blame(), wanted, "{text}");
        }
    }
}
