use std::{fs, path::Path};

/// Reads the name that the first processor gives itself (`model name` of /proc/cpuinfo). Where it gives none, as on arm64, it is
/// that of the board (the device tree's `model`) or of the product (DMI), or the numbers of its implementer and its part.
pub fn processor(root: &Path) -> Option<String> {
    let cpuinfo = fs::read_to_string(root.join("proc/cpuinfo")).unwrap_or_default();
    let of_cpu = |key: &str| {
        let line = cpuinfo.lines().find(|line| line.starts_with(key))?;
        named(line.split_once(':')?.1)
    };
    let file = |path: &str| named(&fs::read_to_string(root.join(path)).ok()?);
    let numbers = || {
        let (implementer, part) = (of_cpu("CPU implementer")?, of_cpu("CPU part")?);
        Some(format!("processor {part} of implementer {implementer}"))
    };
    of_cpu("model name")
        .or_else(|| file("sys/firmware/devicetree/base/model"))
        .or_else(|| file("sys/class/dmi/id/product_name"))
        .or_else(numbers)
}

/// Returns a name without the blanks around it and the byte that ends a device tree's texts.
fn named(text: &str) -> Option<String> {
    let name = text.trim_end_matches('\0').trim();
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::files::write;

    #[test]
    fn a_processor_without_a_name_has_that_of_its_board() {
        let root = tempfile::tempdir().unwrap();
        let arm = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd08\n";
        write(root.path(), "proc/cpuinfo", arm);
        let numbers = "processor 0xd08 of implementer 0x41";
        assert_eq!(processor(root.path()).as_deref(), Some(numbers));
        write(root.path(), "sys/class/dmi/id/product_name", "Mt. Jade\n");
        assert_eq!(processor(root.path()).as_deref(), Some("Mt. Jade"));
        let model = "sys/firmware/devicetree/base/model";
        write(root.path(), model, "Raspberry Pi 4 Model B Rev 1.4\0");
        assert_eq!(processor(root.path()).as_deref(), Some("Raspberry Pi 4 Model B Rev 1.4"));
    }

    #[test]
    fn the_first_processor_names_itself() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(processor(root.path()), None);
        write(root.path(), "proc/cpuinfo", "processor\t: 0\nmodel name\t: AMD EPYC\nflags : x\n");
        assert_eq!(processor(root.path()).as_deref(), Some("AMD EPYC"));
    }
}
