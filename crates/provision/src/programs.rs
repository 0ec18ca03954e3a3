//! The programs that packages hold, for commands that name one.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use preemptlab_model::{Package, PackageName, nearest};

use crate::{
    DebError, PackageError, distribution::deb, error::from_package_errors, package::Kind,
    tree::canonical,
};

/// Folders of programs, in the order in which a command finds its program there (`PATH`); the last one is not
/// on it.
const FOLDERS: [&str; 3] = ["usr/sbin", "usr/bin", "usr/games"];

/// The most programs that a message lists.
const LISTED_MAX: usize = 12;

/// Reason why a command has no program.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// No package holds it.
    #[error("{}", unknown(program, of, programs))]
    Unknown {
        /// The program, as the command names it.
        program: String,
        /// Names of the packages that were asked for.
        of: Vec<PackageName>,
        /// Names of these packages' programs.
        programs: Vec<String>,
    },
    /// A package cannot be used.
    #[error(transparent)]
    Packages(PackageError),
}

from_package_errors!(ProgramError);

/// Finds the whole path of a program, which is named as in a shell or by its path, in packages and their
/// dependencies.
///
/// # Errors
///
/// [`ProgramError`]
pub(crate) fn find(
    program: &str,
    named: &[PackageName],
    all: &[(Package, PathBuf)],
) -> Result<String, ProgramError> {
    let is_named = |package: &Package| named.contains(&package.name);
    let mut own = BTreeSet::new();
    for (_, deb) in all.iter().filter(|(package, _)| is_named(package)) {
        own.extend(executables(deb)?);
    }
    if let Some(path) = path_of(program, &own) {
        return Ok(path);
    }
    // Dependencies may be many and large, so they are read only where that is necessary.
    for (_, deb) in all.iter().filter(|(package, _)| !is_named(package)) {
        if let Some(path) = path_of(program, &executables(deb)?.into_iter().collect()) {
            return Ok(path);
        }
    }
    let mut programs: Vec<String> =
        own.iter().filter_map(|path| name(path)).map(str::to_owned).collect();
    programs.sort_unstable();
    programs.dedup();
    Err(ProgramError::Unknown { program: program.to_owned(), of: named.to_vec(), programs })
}

/// Lists the canonical paths of files in a package that can be executed, and of links, which may lead to one.
fn executables(deb: &Path) -> Result<Vec<String>, DebError> {
    let mut found = Vec::new();
    deb::visit(deb, |item, _| {
        let may_run = match item.kind {
            Kind::File => item.mode & 0o111 != 0,
            Kind::Symlink | Kind::Hardlink => true,
            Kind::Folder | Kind::Special => false,
        };
        found.extend(may_run.then(|| canonical(item.path).ok()).flatten());
        Ok(())
    })?;
    Ok(found)
}

/// Returns the name of a program, which is in one of the folders of programs.
fn name(path: &str) -> Option<&str> {
    let (folder, name) = path.rsplit_once('/')?;
    FOLDERS.contains(&folder).then_some(name)
}

fn path_of(program: &str, executables: &BTreeSet<String>) -> Option<String> {
    let has = |path: String| executables.contains(&path).then(|| format!("/{path}"));
    if program.starts_with('/') {
        return has(canonical(program).ok()?);
    }
    FOLDERS.iter().find_map(|folder| has(format!("{folder}/{program}")))
}

fn unknown(program: &str, of: &[PackageName], programs: &[String]) -> String {
    let of: Vec<&str> = of.iter().map(PackageName::as_str).collect();
    let packages = match of[..] {
        [one] => format!("the package {one}"),
        _ => format!("the packages {}", of.join(", ")),
    };
    let name = program.rsplit('/').next().unwrap_or(program);
    let hint = match (nearest(name, programs.iter().map(String::as_str)), programs) {
        (_, []) => "name the package that has it".to_owned(),
        (Some(near), _) => format!("did you mean {near}? {}", listed(programs)),
        (None, _) => listed(programs),
    };
    format!("no program `{program}` is in {packages}, nor in what that depends on: {hint}")
}

fn listed(programs: &[String]) -> String {
    let shown = programs.iter().take(LISTED_MAX).map(String::as_str).collect::<Vec<_>>().join(", ");
    match programs.len().saturating_sub(LISTED_MAX) {
        0 => format!("its programs are {shown}"),
        more => format!("its programs are {shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        os::unix::fs::{PermissionsExt, symlink},
    };

    use super::*;
    use crate::store::hash;

    /// Builds a package that holds these files, of which those with a `*` can be executed.
    fn package(folder: &Path, name: &str, files: &[&str]) -> (Package, PathBuf) {
        let tree = folder.join(name);
        fs::create_dir_all(tree.join("DEBIAN")).unwrap();
        let control = format!(
            "Package: {name}\nVersion: 1\nArchitecture: amd64\n\
             Maintainer: nobody <nobody@invalid>\nDescription: a test\n"
        );
        fs::write(tree.join("DEBIAN/control"), control).unwrap();
        for file in files {
            let path = tree.join(file.trim_end_matches('*'));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, name).unwrap();
            let mode = if file.ends_with('*') { 0o755 } else { 0o644 };
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        }
        let deb = folder.join(format!("{name}.deb"));
        deb::tests::pack(&tree, &deb);
        let sha256 = hash::sha256(&deb).unwrap();
        (Package { name: name.parse().unwrap(), version: "1".parse().unwrap(), sha256 }, deb)
    }

    #[test]
    fn a_program_is_found_by_its_name_or_its_path() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("tool/usr/bin")).unwrap();
        symlink("tool", folder.path().join("tool/usr/bin/untool")).unwrap();
        let all = [
            package(folder.path(), "base", &["bin/base*"]),
            package(
                folder.path(),
                "tool",
                &["usr/bin/tool*", "usr/lib/tool/helper*", "usr/bin/data", "usr/games/play*"],
            ),
        ];
        let named = ["tool".parse().unwrap()];
        let found = |program: &str| find(program, &named, &all);
        for (program, path) in [
            ("tool", "/usr/bin/tool"),
            ("/usr/bin/tool", "/usr/bin/tool"),
            ("/bin/tool", "/usr/bin/tool"),
            ("untool", "/usr/bin/untool"),
            ("play", "/usr/games/play"),
            ("/usr/lib/tool/helper", "/usr/lib/tool/helper"),
            // Of a package beside it.
            ("base", "/usr/bin/base"),
        ] {
            assert_eq!(found(program).unwrap(), path, "{program}");
        }
        for (program, said) in [
            (
                "tol",
                "no program `tol` is in the package tool, nor in what that depends on: did you mean tool? ",
            ),
            ("helper", "its programs are play, tool, untool"),
            ("data", "no program `data`"),
            ("/usr/bin/../bin/tool", "no program `/usr/bin/../bin/tool`"),
            ("/usr/bin", "no program `/usr/bin`"),
        ] {
            let error = found(program).unwrap_err().to_string();
            assert!(error.contains(said), "{program}: {error}");
        }
    }

    #[test]
    fn a_long_list_of_programs_is_cut() {
        let programs: Vec<String> = (0..20).map(|number| format!("p{number:02}")).collect();
        let said = unknown("xyz", &["tool".parse().unwrap()], &programs);
        assert!(said.ends_with("p10, p11 and 8 more"), "{said}");
        let said = unknown("xyz", &["a1".parse().unwrap(), "b1".parse().unwrap()], &[]);
        assert!(
            said.contains("the packages a1, b1") && said.contains("name the package that has it"),
            "{said}"
        );
    }
}
