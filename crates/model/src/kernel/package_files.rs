//! Lists of packages that somebody downloaded, as in `package:a.deb,b.deb`.

use std::path::PathBuf;

/// Splits a list of packages at the commas behind their endings: a path may hold others. Returns `None`
/// where a path is not that of a package.
pub(super) fn split_packages(list: &str) -> Option<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut start = 0;
    let ends = list.match_indices(',').map(|(comma, _)| comma).chain([list.len()]);
    for end in ends {
        if is_package_file(&list[start..end]) {
            files.push(list[start..end].into());
            start = end + 1;
        }
    }
    (start == list.len() + 1).then_some(files)
}

/// Returns whether a path ends as that of a package does.
pub(super) fn is_package_file(path: &str) -> bool {
    let name = path.strip_suffix(".deb").or_else(|| path.strip_suffix(".rpm"));
    name.is_some_and(|name| !name.is_empty() && !name.starts_with(',') && !name.ends_with('/'))
}
