//! Builds the guest's `/init` (the crate `preemptlab-guest`), its `/player` (the crate
//! `preemptlab-player`), `/cell`, the init of cells on the machine's own kernel, `micro`, the
//! micro-benchmarks (the crate `preemptlab-micro`), `repeat`, which repeats a command (the crate
//! `preemptlab-repeat`), and `method`, which apt starts on a machine without apt (the crate
//! `preemptlab-method`), for the sources to include.

use std::error::Error;

use preemptlab_embed::{Embedded, Target, Workspace};

/// The programs of guests, and of machines that are measured, for each of their processors.
const OF_GUESTS: [Embedded<'_>; 3] = [
    Embedded::Program { package: "preemptlab-micro", name: "micro" },
    Embedded::Program { package: "preemptlab-guest", name: "init" },
    Embedded::Program { package: "preemptlab-player", name: "player" },
];

const OF_HOST: [Embedded<'_>; 3] = [
    Embedded::Program { package: "preemptlab-guest", name: "cell" },
    Embedded::Program { package: "preemptlab-repeat", name: "repeat" },
    Embedded::Program { package: "preemptlab-method", name: "method" },
];

/// The toolchain's own linker, static, at a fixed address: a guest's bytes do not depend on this
/// machine's C library or linker either.
const FLAGS: [&str; 4] = [
    "-Clinker=rust-lld",
    "-Clinker-flavor=ld.lld",
    "-Crelocation-model=static",
    "-Ctarget-feature=+crt-static",
];

fn main() -> Result<(), Box<dyn Error>> {
    let workspace = Workspace::of_build_script(&["guest", "crates/protocol", "embed"])?;
    workspace.build(Target::X86_64, &OF_HOST, "guest", &FLAGS)?;
    for target in [Target::X86_64, Target::Aarch64] {
        workspace.build(target, &OF_GUESTS, "guest", &FLAGS)?;
    }
    Ok(())
}
