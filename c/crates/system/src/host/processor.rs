use std::{fs, path::Path};

/// Reads the name that the first processor gives itself (`model name` of /proc/cpuinfo).
pub fn processor(root: &Path) -> Option<String> {
    let text = fs::read_to_string(root.join("proc/cpuinfo")).ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    let (_, name) = line.split_once(':')?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::files::write;

    #[test]
    fn the_first_processor_names_itself() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(processor(root.path()), None);
        write(root.path(), "proc/cpuinfo", "processor\t: 0\nmodel name\t: AMD EPYC\nflags : x\n");
        assert_eq!(processor(root.path()).as_deref(), Some("AMD EPYC"));
    }
}
