//! The parts of this crate that depend on the guest's processor: one file for each architecture.

mod aarch64;
mod info;
mod x86_64;

use preemptlab_model::Arch;

pub(crate) use self::info::ArchInfo;

/// Returns what depends on an architecture of guests.
pub(crate) fn of(arch: Arch) -> &'static ArchInfo {
    match arch {
        Arch::Amd64 => &x86_64::INFO,
        Arch::Arm64 => &aarch64::INFO,
    }
}

/// Lists the profiles that preemptlab has, by their names.
pub(crate) fn profiles() -> impl Iterator<Item = (&'static str, &'static str)> {
    Arch::ALL.into_iter().flat_map(|arch| of(arch).profiles).copied()
}
