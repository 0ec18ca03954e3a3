//! Builds, from build scripts, the programs and libraries that the binary holds.
//!
//! Their bytes are part of every cell's identity or of the store's keys, so they may depend on the
//! sources, the lock file and the toolchain alone: not on a folder's name, nor on the environment or a
//! cargo configuration, nor on the target of the binary that holds them.

use std::{
    env,
    error::Error,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::Value;

/// The processor that something is built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// That of the host, whose QEMU loads the libraries, and of guests.
    X86_64,
    /// That of guests alone.
    Aarch64,
}

impl Target {
    /// Returns rustc's name of it.
    const fn triple(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64-unknown-linux-gnu",
            Self::Aarch64 => "aarch64-unknown-linux-gnu",
        }
    }

    /// Returns the folder below `OUT_DIR` for what is built for it.
    const fn folder(self) -> &'static str {
        match self {
            Self::X86_64 => "",
            Self::Aarch64 => "aarch64",
        }
    }
}

/// Variables of cargo and rustc that say where things are; every other one is kept from the build.
const PASSED_ON: [&str; 9] = [
    "CARGO_HOME",
    "CARGO_HTTP_",
    "CARGO_MAKEFLAGS",
    "CARGO_NET_",
    "CARGO_REGISTRIES_",
    "CARGO_REGISTRY_",
    "CARGO_SOURCE_",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
];

/// A file to build.
#[derive(Clone, Copy, Debug)]
pub enum Embedded<'a> {
    /// A binary of a package, behind the feature of its own name.
    Program {
        /// The package.
        package: &'a str,
        /// The name of binary, feature and file.
        name: &'a str,
    },
    /// A package's library, which another program loads.
    Library {
        /// The package.
        package: &'a str,
        /// The name of the file.
        file: &'a str,
    },
}

impl<'a> Embedded<'a> {
    /// Returns the file's name.
    const fn file(&self) -> &'a str {
        match self {
            Self::Program { name, .. } => name,
            Self::Library { file, .. } => file,
        }
    }
}

/// The workspace, as a build script of one of its crates sees it.
#[derive(Debug)]
pub struct Workspace {
    root: PathBuf,
    out: PathBuf,
}

impl Workspace {
    /// Finds the workspace of the build script that calls, and has cargo run the script again when one
    /// of these paths below the workspace changes.
    ///
    /// # Errors
    ///
    /// A variable that cargo sets is absent.
    #[expect(clippy::print_stdout, reason = "so a build script speaks with cargo")]
    pub fn of_build_script(inputs: &[&str]) -> Result<Self, Box<dyn Error>> {
        let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
        let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or("no manifest")?);
        let root = manifest.ancestors().nth(2).ok_or("the workspace is two folders up")?;
        for input in ["Cargo.toml", "Cargo.lock", "rust-toolchain.toml"].iter().chain(inputs) {
            // Relative, so that a build folder that another checkout has used is not taken for its own.
            println!("cargo::rerun-if-changed=../../{input}");
        }
        Ok(Self { root: root.to_owned(), out })
    }

    /// Builds these files for a processor with one of the workspace's profiles and these flags of rustc, and
    /// leaves them in the build script's `OUT_DIR`: those for another processor than the host's in a folder
    /// of its name. For clippy, which reads sources only and has build scripts of its own, it leaves empty files.
    ///
    /// # Errors
    ///
    /// What cargo or rustc said.
    pub fn build(
        &self,
        target: Target,
        embedded: &[Embedded<'_>],
        profile: &str,
        flags: &[&str],
    ) -> Result<(), Box<dyn Error>> {
        let (built, folder) = (self.out.join(profile), self.out.join(target.folder()));
        fs::create_dir_all(&folder)?;
        // To build them again for clippy took three minutes of two processors.
        let wrapper = env::var_os("RUSTC_WORKSPACE_WRAPPER").unwrap_or_default();
        if Path::new(&wrapper).file_stem().is_some_and(|name| name == "clippy-driver") {
            return embedded
                .iter()
                .try_for_each(|each| Ok(fs::write(folder.join(each.file()), [])?));
        }
        let triple = target.triple();
        let given = flags.iter().map(OsString::from);
        let flags: Vec<OsString> = given.chain(self.remapped_paths(triple)?).collect();
        // One after the other: built together, each would get the features of dependencies that only
        // the other one wants, and so other bytes.
        for each in embedded {
            let mut build = self.cargo()?;
            build.args(["build", "--locked", "--profile", profile]);
            match each {
                Embedded::Program { package, name } => {
                    build.args(["--package", package, "--bin", name, "--features", name])
                }
                Embedded::Library { package, .. } => build.args(["--package", package, "--lib"]),
            };
            build.args(["--target", triple, "--target-dir"]).arg(&built);
            build.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f".as_ref()));
            run(&mut build)?;
            let file = each.file();
            fs::copy(built.join(triple).join(profile).join(file), folder.join(file))?;
        }
        Ok(())
    }

    /// Returns the command of cargo, without the variables that would change the build.
    fn cargo(&self) -> Result<Command, Box<dyn Error>> {
        let mut command = Command::new(env::var_os("CARGO").ok_or("CARGO is not set")?);
        command.current_dir(&self.root);
        for (name, _) in env::vars_os() {
            let text = name.to_string_lossy();
            let adds = text.starts_with("CARGO") || text.starts_with("RUST");
            if adds && !PASSED_ON.iter().any(|prefix| text.starts_with(prefix)) {
                command.env_remove(&name);
            }
        }
        // An empty name overrules a wrapper that a configuration file names.
        command.env("RUSTC_WRAPPER", "").env("RUSTC_WORKSPACE_WRAPPER", "");
        Ok(command)
    }

    /// Returns the flags that keep this machine's paths out of panic messages: those of the workspace, of
    /// every package, wherever a registry, a mirror or a vendored folder has it, and of the standard
    /// library, which has its official name unless the component `rust-src` is installed.
    fn remapped_paths(&self, triple: &str) -> Result<Vec<OsString>, Box<dyn Error>> {
        let metadata = run(self.cargo()?.args([
            "metadata",
            "--locked",
            "--format-version=1",
            "--features=preemptlab-guest/init",
            "--filter-platform",
            triple,
        ]))?;
        let metadata: Value = serde_json::from_slice(&metadata.stdout)?;
        let text = |value: &Value, key: &str| value[key].as_str().map(str::to_owned);
        let mut flags = vec![remap(&self.root, "/preemptlab")];
        for package in metadata["packages"].as_array().ok_or("cargo metadata names no packages")? {
            if package["source"].is_null() {
                continue;
            }
            let name = text(package, "name").ok_or("a package without a name")?;
            let version = text(package, "version").ok_or("a package without a version")?;
            let path = text(package, "manifest_path").ok_or("a package without a manifest")?;
            let folder = Path::new(&path).parent().ok_or("a manifest without a folder")?;
            flags.push(remap(folder, &format!("/{name}-{version}")));
        }
        let rustc = env::var_os("RUSTC").ok_or("RUSTC is not set")?;
        let version = run(Command::new(&rustc).arg("-vV"))?;
        let version = String::from_utf8(version.stdout)?;
        let hash = version.lines().find_map(|line| line.strip_prefix("commit-hash: "));
        let sysroot = run(Command::new(&rustc).args(["--print", "sysroot"]))?;
        let library =
            Path::new(String::from_utf8(sysroot.stdout)?.trim_end()).join("lib/rustlib/src/rust");
        flags.push(remap(&library, &format!("/rustc/{}", hash.ok_or("rustc has no commit hash")?)));
        Ok(flags)
    }
}

fn remap(from: &Path, to: &str) -> OsString {
    let mut flag = OsString::from("--remap-path-prefix=");
    flag.push(from);
    flag.push("=");
    flag.push(to);
    flag
}

fn run(command: &mut Command) -> Result<Output, Box<dyn Error>> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if !output.status.success() {
        let program = command.get_program().display();
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{program} failed ({}):\n{said}", output.status).into());
    }
    Ok(output)
}
