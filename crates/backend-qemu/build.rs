//! Builds the libraries that QEMU loads, for the sources to include: the tracing plugin and the
//! turnstile.

use std::error::Error;

use preemptlab_embed::{Embedded, Target, Workspace};

const LIBRARIES: [Embedded<'_>; 2] = [
    Embedded::Library { package: "preemptlab-plugin", file: "libpreemptlab_plugin.so" },
    Embedded::Library { package: "preemptlab-turnstile", file: "libpreemptlab_turnstile.so" },
];

fn main() -> Result<(), Box<dyn Error>> {
    let workspace =
        Workspace::of_build_script(&["plugin", "turnstile", "crates/protocol", "embed"])?;
    workspace.build(Target::X86_64, &LIBRARIES, "library", &[])
}
