//! Programs that run through the loader and with the libraries of their own packages, because those
//! of the machine may be older. As make and the compiler start each other by name, a script with
//! the program's name does it, and the program itself gets another one.

use std::{
    fs,
    io::{self, Read},
    os::unix::fs::PermissionsExt,
    path::Path,
};

use crate::{
    StoreError,
    platform::{HOST, named},
};

/// Folders of the programs that other programs start.
const PROGRAM_FOLDERS: [&str; 3] = ["usr/bin", "usr/lib", "usr/libexec"];

/// Suffix of a program whose name a script has taken.
const PROGRAM_SUFFIX: &str = ".program";

/// The variable with the folder of the compiler's packages, which the scripts read.
pub(super) const VARIABLE: &str = "PREEMPTLAB_TOOLS";

/// Starts the program beside it.
const SCRIPT: &str = r#"#!/bin/sh
libraries="$PREEMPTLAB_TOOLS/usr/lib/{triplet}"
exec "$libraries/{loader}" --inhibit-cache --library-path "$libraries" \
    --argv0 "$0" "${0%/*}/NAME" OPTIONS"$@"
"#;

/// The compiler and its preprocessor, which must not find the machine's headers and libraries.
const COMPILERS: [&str; 2] = ["{triplet}-gcc-", "{triplet}-cpp-"];
const COMPILER_OPTIONS: &str = r#""--sysroot=$PREEMPTLAB_TOOLS" "#;

/// Depth to which folders of programs are searched.
const DEPTH_MAX: u32 = 16;

/// Puts a script in the place of every program.
pub(crate) fn wrap(root: &Path) -> Result<(), StoreError> {
    for folder in PROGRAM_FOLDERS {
        let folder = root.join(folder);
        if folder.is_dir() {
            wrap_in(&folder, DEPTH_MAX).map_err(StoreError::at(&folder))?;
        }
    }
    Ok(())
}

fn wrap_in(folder: &Path, depth: u32) -> io::Result<()> {
    for entry in fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()? {
        let (kind, path) = (entry.file_type()?, entry.path());
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        if kind.is_dir() && depth > 0 {
            wrap_in(&path, depth - 1)?;
        } else if kind.is_file() && is_program(&path, name)? {
            let program = format!("{name}{PROGRAM_SUFFIX}");
            fs::rename(&path, folder.join(&program))?;
            let options = if is_compiler(name) { COMPILER_OPTIONS } else { "" };
            fs::write(
                &path,
                named(SCRIPT, HOST).replace("NAME", &program).replace("OPTIONS", options),
            )?;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        }
    }
    Ok(())
}

/// Returns whether a name is that of a compiler, such as `x86_64-linux-gnu-gcc-14`, and not of a
/// tool, such as `x86_64-linux-gnu-gcc-ar-14`.
fn is_compiler(name: &str) -> bool {
    let version = COMPILERS.iter().find_map(|compiler| name.strip_prefix(&named(compiler, HOST)));
    version.is_some_and(|version| version.parse::<u32>().is_ok())
}

/// Returns whether a file is an executable that is not a library, not a script, and not wrapped.
fn is_program(path: &Path, name: &str) -> io::Result<bool> {
    if name.contains(".so") || name.ends_with(PROGRAM_SUFFIX) {
        return Ok(false);
    }
    if fs::metadata(path)?.permissions().mode() & 0o111 == 0 {
        return Ok(false);
    }
    let mut magic = Vec::new();
    fs::File::open(path)?.take(4).read_to_end(&mut magic)?;
    Ok(magic == b"\x7fELF")
}

#[cfg(test)]
mod tests {
    use std::{os::unix::fs::symlink, process::Command};

    use super::*;

    #[test]
    fn a_wrapped_program_runs_with_the_libraries_that_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let programs = folder.path().join("usr/bin");
        fs::create_dir_all(&programs).unwrap();
        fs::copy("/bin/echo", programs.join("say")).unwrap();
        fs::write(programs.join("script"), "#!/bin/sh\n").unwrap();
        symlink("say", programs.join("tell")).unwrap();
        wrap(folder.path()).unwrap();
        // Wrapping a second time changes nothing.
        wrap(folder.path()).unwrap();
        let mut names: Vec<_> =
            fs::read_dir(&programs).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["say", "say.program", "script", "tell"]);
        let run = |libraries: &str| {
            let mut command = Command::new(programs.join("tell"));
            command.args(["two words", "*"]).env(VARIABLE, libraries).output().unwrap()
        };
        assert_eq!(run("").stdout, b"two words *\n");
        assert!(!run("/nonexistent").status.success());
    }

    #[test]
    fn the_compiler_is_kept_from_the_machine() {
        let folder = tempfile::tempdir().unwrap();
        let programs = folder.path().join("usr/bin");
        fs::create_dir_all(&programs).unwrap();
        for name in ["x86_64-linux-gnu-gcc-14", "x86_64-linux-gnu-gcc-ar-14"] {
            fs::copy("/bin/echo", programs.join(name)).unwrap();
        }
        wrap(folder.path()).unwrap();
        let said = |name: &str| {
            let mut command = Command::new(programs.join(name));
            String::from_utf8(command.arg("a").env(VARIABLE, "").output().unwrap().stdout).unwrap()
        };
        assert_eq!(said("x86_64-linux-gnu-gcc-14"), "--sysroot= a\n");
        assert_eq!(said("x86_64-linux-gnu-gcc-ar-14"), "a\n");
    }
}
