use preemptlab_model::{Arch, Digest};

use crate::arch::{self, ArchInfo};

/// The program that runs a cell on the machine's own kernel, as the build script made it: static,
/// and alone in its namespaces.
pub const CELL: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/cell"));

/// The program that repeats a command, as the build script made it: static, for the folder of a workload.
pub const REPEAT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/repeat"));

/// Returns the program of micro-benchmarks of an architecture, as the build script made it: static, for machines and
/// guests. No cell executes it, but for those of a calibration.
pub fn micro(of: Arch) -> &'static [u8] {
    arch::of(of).micro
}

/// Computes a digest of the guests' programs, which cells execute.
pub fn guest_sha256() -> Digest {
    let of_guests = Arch::ALL.map(arch::of).into_iter();
    let programs = of_guests.flat_map(|ArchInfo { init, player, .. }| [*init, *player]);
    Digest::of_json(&programs.chain([CELL]).map(Digest::of).collect::<Vec<_>>())
}
