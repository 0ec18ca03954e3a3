use std::{
    fs,
    io::{self, Read},
    os::unix::fs::PermissionsExt,
    path::Path,
};

use super::{Files, FilesError, Node};

impl Files {
    /// Reads a folder with all its entries, except hidden ones: names that begin with a dot are
    /// those of editors and version control. Links stay links.
    ///
    /// # Errors
    ///
    /// [`FilesError`] when the folder cannot be read, or holds an entry that is not allowed.
    pub fn read(folder: &Path) -> Result<Self, FilesError> {
        let metadata = fs::metadata(folder).map_err(at(folder))?;
        if !metadata.is_dir() {
            return Err(FilesError::NotAFolder(folder.to_owned()));
        }
        let mut files = Self::default();
        files.read_folder(folder, "")?;
        Ok(files)
    }

    fn read_folder(&mut self, folder: &Path, prefix: &str) -> Result<(), FilesError> {
        for entry in fs::read_dir(folder).map_err(at(folder))? {
            let entry = entry.map_err(at(folder))?;
            let (place, name) = (entry.path(), entry.file_name());
            let Some(name) = name.to_str() else {
                return Err(FilesError::Path(name.to_string_lossy().into_owned()));
            };
            if name.starts_with('.') {
                continue;
            }
            let path = format!("{prefix}{name}");
            // Neither does this follow a link.
            let metadata = entry.metadata().map_err(at(&place))?;
            if metadata.is_dir() {
                self.insert(&path, Node::Folder)?;
                self.read_folder(&place, &format!("{path}/"))?;
            } else if metadata.is_symlink() {
                let target = fs::read_link(&place).map_err(at(&place))?;
                self.insert(&path, Node::Symlink(target.to_string_lossy().into_owned()))?;
            } else if metadata.is_file() {
                let executable = metadata.permissions().mode() & 0o111 != 0;
                let mut bytes = Vec::new();
                // A file may grow meanwhile.
                let most = self.room() + 1;
                crate::open(&place)
                    .and_then(|file| file.take(most).read_to_end(&mut bytes))
                    .map_err(at(&place))?;
                self.insert(&path, Node::File { executable, bytes })?;
            } else {
                return Err(FilesError::Special(path));
            }
        }
        Ok(())
    }
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> FilesError {
    move |error| FilesError::Io { path: path.to_owned(), error }
}

#[cfg(test)]
mod tests {
    use std::{fs::File, os::unix::fs::symlink};

    use super::*;

    fn refused(make: impl FnOnce(&Path)) -> String {
        let folder = tempfile::tempdir().unwrap();
        make(folder.path());
        Files::read(folder.path()).unwrap_err().to_string()
    }

    #[test]
    fn a_folder_is_read_without_what_is_hidden() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        fs::create_dir_all(path.join("data/.git")).unwrap();
        fs::create_dir(path.join("empty")).unwrap();
        fs::write(path.join(".swp"), "").unwrap();
        fs::write(path.join("data/.git/config"), "").unwrap();
        fs::write(path.join("data/rows"), "1\n").unwrap();
        fs::write(path.join("run.sh"), "#!/bin/sh\n").unwrap();
        fs::set_permissions(path.join("run.sh"), fs::Permissions::from_mode(0o700)).unwrap();
        symlink("data/rows", path.join("link")).unwrap();
        let files = Files::read(path).unwrap();
        let file = |executable, text: &str| Node::File { executable, bytes: text.into() };
        let expected = [
            ("data", Node::Folder),
            ("data/rows", file(false, "1\n")),
            ("empty", Node::Folder),
            ("link", Node::Symlink("data/rows".into())),
            ("run.sh", file(true, "#!/bin/sh\n")),
        ];
        let found: Vec<_> = files.iter().map(|(path, node)| (path, node.clone())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn what_cannot_be_taken_is_named() {
        let said = Files::read(Path::new("/nowhere/at/all")).unwrap_err().to_string();
        assert!(said.contains("cannot read /nowhere/at/all: No such file"), "{said}");
        let said = Files::read(Path::new("/dev/null")).unwrap_err().to_string();
        assert!(said.contains("/dev/null is not a folder"), "{said}");
        let said = refused(|folder| symlink("../secret", folder.join("out")).unwrap());
        assert_eq!(said, "`out` is a link to `../secret`, which leads out of the folder");
        let said = refused(|folder| {
            drop(std::os::unix::net::UnixListener::bind(folder.join("socket")).unwrap());
        });
        assert!(said.contains("`socket` is neither a file"), "{said}");
        let said = refused(|folder| {
            // A hole takes no room on the disk.
            File::create(folder.join("hole")).unwrap().set_len(1 << 40).unwrap();
        });
        assert_eq!(said, "there are more than 64 MiB in it");
        let said = refused(|folder| {
            (0..=1000).for_each(|number| {
                fs::write(folder.join(number.to_string()), "").unwrap();
            });
        });
        assert_eq!(said, "there are more than 1000 files and folders in it");
    }
}
