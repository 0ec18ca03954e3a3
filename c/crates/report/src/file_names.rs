//! Names of files that are written for things with names of their own.

/// Returns a name for each file, without its ending: that of its content, as far as it can be one, and
/// no name twice, in whatever case.
pub fn file_names<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut files: Vec<String> = Vec::new();
    for name in names {
        let name = file_name(name);
        let is_taken = |name: &str| files.iter().any(|file| file.eq_ignore_ascii_case(name));
        let more = (2..).map(|count| format!("{name}-{count}"));
        let file = std::iter::once(name.clone()).chain(more).find(|name| !is_taken(name));
        files.push(file.unwrap_or(name));
    }
    files
}

/// Returns a name as that of a file.
fn file_name(workload: &str) -> String {
    let is_kept = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '.');
    let name: String =
        workload.chars().map(|char| if is_kept(char) { char } else { '-' }).collect();
    match name.trim_start_matches(['.', '-']) {
        "" => "workload".to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_files_and_each_is_one() {
        let names = file_names(["load", "Load", "../a b", "<>", "load"].into_iter());
        assert_eq!(names, ["load", "Load-2", "a-b", "workload", "load-3"]);
    }
}
