//! The programs that a kernel is built with: those of packages, or the machine's own.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use preemptlab_model::{Digest, Platform};

use crate::{
    Event, PackageError, Store, StoreLock,
    distribution::Distribution,
    kernel::toolchain::{HOST_COMPILER, MACHINE_PATH, Programs, Toolchain},
    platform::HOST,
    process::tied,
};

/// Programs that the machine must have to build a kernel.
const PROGRAMS: [&str; 9] = ["make", "gcc", "ld", "objcopy", "bison", "flex", "bc", "gzip", "perl"];

/// The program that writes the kernel's types, which traces are read with.
const TYPES: &str = "pahole";

/// Headers of libraries that programs of the build are compiled with.
const HEADERS: &str = "#include <gelf.h>\n#include <openssl/ssl.h>\n";

/// The programs of a build that has finished.
#[derive(Clone, Debug)]
pub(crate) enum BuiltWith {
    /// They are here.
    Here(Tools),
    /// Packages hold them, with a compiler such as `gcc-14`.
    Packages(Toolchain, String),
}

impl BuiltWith {
    /// Returns the programs, which are downloaded and unpacked unless the store has them.
    pub(crate) fn tools(
        &self,
        distribution: &dyn Distribution,
        (store, lock): (&Store, &StoreLock),
        on_event: &dyn Fn(Event),
    ) -> Result<Tools, PackageError> {
        match self {
            Self::Here(tools) => Ok(tools.clone()),
            Self::Packages(toolchain, compiler) => {
                let programs = toolchain.unpacked(distribution, store, lock, on_event)?;
                Ok(Tools::of_packages(&programs, compiler))
            }
        }
    }
}

/// Programs that make starts, and how it is told about them.
#[derive(Clone, Debug)]
pub(crate) struct Tools {
    /// Names of the architecture that they build for.
    pub(crate) guest: &'static Platform,
    pub(super) make: PathBuf,
    pub(super) path: OsString,
    pub(super) environment: Vec<(&'static str, OsString)>,
    /// Prefix of the names of the compiler's tools.
    pub(super) prefix: String,
    pub(super) compiler: String,
    pub(super) host_compiler: String,
    /// The folder of the programs, which no log tells.
    pub(super) root: Option<PathBuf>,
}

impl Tools {
    /// Returns the programs of a toolchain, whose compiler is one such as `gcc-14`.
    pub(crate) fn of_packages(programs: &Programs, compiler: &str) -> Self {
        let guest = programs.guest();
        Self {
            guest,
            make: programs.program("make"),
            path: programs.path(),
            environment: programs.environment(),
            prefix: format!("{}-", guest.triplet),
            compiler: format!("{}-{compiler}", guest.triplet),
            host_compiler: HOST_COMPILER.to_owned(),
            root: Some(programs.root().to_owned()),
        }
    }

    /// Returns the machine's own programs, if nothing is missing and they build for guests.
    pub(crate) fn of_machine(guest: &'static Platform) -> Option<Self> {
        if guest != HOST {
            return None;
        }
        let is_there =
            |name: &&str| env::split_paths(MACHINE_PATH).any(|folder| folder.join(name).is_file());
        if !PROGRAMS.iter().chain([&TYPES]).all(is_there) {
            return None;
        }
        let tools = Self {
            guest,
            make: "make".into(),
            path: MACHINE_PATH.into(),
            environment: Vec::new(),
            prefix: String::new(),
            compiler: "gcc".to_owned(),
            host_compiler: "gcc".to_owned(),
            root: None,
        };
        tools.has_headers().then_some(tools)
    }

    /// Returns the folder of the programs; `None` for the machine's own.
    pub(crate) fn root(&self) -> Option<&Path> {
        self.root.as_deref()
    }

    /// Returns the compiler's name and version.
    pub(crate) fn compiler_version(&self) -> String {
        self.version(&self.compiler)
    }

    /// Computes a digest of the machine's programs by their versions.
    pub(crate) fn digest(&self) -> Digest {
        let versions = ["gcc", "ld", TYPES, "make"].map(|program| self.version(program));
        Digest::of_json(&versions)
    }

    /// Returns the first line that a program says about its version.
    fn version(&self, program: &str) -> String {
        let mut command = self.command(Path::new(program));
        let output = tied(command.arg("--version")).stderr(Stdio::null()).output();
        let text = output.map(|output| output.stdout).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        text.lines().next().unwrap_or_default().chars().take(200).collect()
    }

    fn has_headers(&self) -> bool {
        let mut command = self.command(Path::new(&self.compiler));
        command.args(["-E", "-xc", "-", "-o", "/dev/null"]).stdout(Stdio::null());
        command.stdin(Stdio::piped()).stderr(Stdio::null());
        let Ok(mut child) = tied(&mut command).spawn() else { return false };
        if let Some(mut input) = child.stdin.take() {
            let _ = std::io::Write::write_all(&mut input, HEADERS.as_bytes());
        }
        child.wait().is_ok_and(|status| status.success())
    }

    fn command(&self, program: &Path) -> Command {
        let program = match &self.root {
            Some(root) => root.join("usr/bin").join(program),
            None => program.to_owned(),
        };
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", &self.path)
            .env("LC_ALL", "C")
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null());
        command
    }
}
