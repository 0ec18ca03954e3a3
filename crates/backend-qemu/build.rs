//! Builds the libraries that QEMU loads, for the sources to include: the tracing plugin and the
//! turnstile.

use std::{env, error::Error, fs, path::PathBuf, process::Command};

fn main() -> Result<(), Box<dyn Error>> {
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or("no manifest")?);
    let root = manifest.ancestors().nth(2).ok_or("the workspace is two folders up")?;
    let toolchain = ["Cargo.toml", "Cargo.lock", "rust-toolchain.toml"];
    for input in ["plugin", "turnstile", "crates/protocol"].into_iter().chain(toolchain) {
        // Relative, so that a build folder that another checkout has used is not taken for its own.
        println!("cargo::rerun-if-changed=../../{input}");
    }
    let built = out.join("libraries");
    let mut build = Command::new(env::var_os("CARGO").ok_or("CARGO is not set")?);
    build
        .current_dir(root)
        .args(["build", "--locked", "--release", "--package", "preemptlab-plugin"])
        .args(["--package", "preemptlab-turnstile", "--target-dir"])
        .arg(&built)
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("RUSTC_WORKSPACE_WRAPPER");
    let output = build.output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    for library in ["libpreemptlab_plugin.so", "libpreemptlab_turnstile.so"] {
        fs::copy(built.join("release").join(library), out.join(library))?;
    }
    Ok(())
}
