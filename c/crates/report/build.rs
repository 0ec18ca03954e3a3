//! Bundles the page's script and style (`web/`) for `src/page/html.rs` to include, where the feature
//! `bundle` asks for them.

use std::{
    env,
    error::Error,
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    process::Command,
};

/// Files that the bundle is made of; it needs neither tests nor types.
const SOURCES: [&str; 5] = ["package.json", "package-lock.json", ".npmrc", "build.mjs", "src"];

fn main() -> Result<(), Box<dyn Error>> {
    if env::var_os("CARGO_FEATURE_BUNDLE").is_none() {
        return Ok(());
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or("no manifest")?);
    let web = manifest.ancestors().nth(2).ok_or("the workspace is two folders up")?.join("web");
    let copy = out.join("web");
    let sources = copy.join("src");
    if sources.exists() {
        // A file that was removed from the sources must not stay in the copy.
        fs::remove_dir_all(sources)?;
    }
    for source in SOURCES {
        println!("cargo::rerun-if-changed=../../web/{source}");
        copy_all(&web.join(source), &copy.join(source))?;
    }
    // esbuild needs no script of its own to be installed: node finds its program by itself.
    let install = ["ci", "--omit=dev", "--ignore-scripts", "--prefer-offline"];
    run("npm", Command::new("npm").args(install).current_dir(&copy))?;
    run("node", Command::new("node").arg("build.mjs").arg(&out).current_dir(&copy))
}

/// Copies a file, or a folder with all that is in it.
fn copy_all(from: &Path, to: &Path) -> Result<(), Box<dyn Error>> {
    if from.is_dir() {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let name = entry?.file_name();
            copy_all(&from.join(&name), &to.join(&name))?;
        }
    } else {
        to.parent().map(fs::create_dir_all).transpose()?;
        fs::copy(from, to).map_err(|error| format!("{}: {error}", from.display()))?;
    }
    Ok(())
}

fn run(program: &str, command: &mut Command) -> Result<(), Box<dyn Error>> {
    let output = command.output().map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            format!("the HTML report is built with {program}, which is missing: tests/install-deps installs it")
        }
        _ => format!("{program}: {error}"),
    })?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    Err(format!("{program} failed:\n{}", String::from_utf8_lossy(&said)).into())
}
