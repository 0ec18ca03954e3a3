//! GRUB: the drop-in that is written, and the reader of its configuration.

use crate::tune::{Command, Measures, Settings, Step};

/// Read last, because some drop-ins of distributions set the variable anew: names are read in the
/// order of the alphabet.
pub const PATH: &str = "/etc/default/grub.d/zz-preemptlab.cfg";

/// Returns a drop-in for grub-mkconfig(8).
///
/// Debian's grub-mkconfig sources `/etc/default/grub` and then `/etc/default/grub.d/*.cfg` as
/// shell, so that a drop-in can add to a variable and is revoked by removing it.
/// `GRUB_CMDLINE_LINUX_DEFAULT` leaves the entries for recovery alone; `GRUB_TOP_LEVEL` is the
/// image of the first entry (GRUB manual, "Simple configuration handling"; from GRUB 2.12 on).
pub fn drop_in(words: &[String], release: Option<&str>) -> String {
    let mut content =
        "# Written by preemptlab; remove this file and run update-grub to undo it.\n".to_owned();
    if !words.is_empty() {
        content += "GRUB_CMDLINE_LINUX_DEFAULT=\"${GRUB_CMDLINE_LINUX_DEFAULT} ";
        content += &format!("{}\"\n", words.join(" "));
    }
    if let Some(release) = release {
        content += &format!("GRUB_TOP_LEVEL=\"/boot/vmlinuz-{release}\"\n");
    }
    content
}

pub(crate) fn emit(settings: &Settings) -> Measures {
    let note = "GRUB_TOP_LEVEL needs GRUB 2.12 (Debian 13); an older one boots the newest kernel \
                unless another entry is chosen in its menu.";
    let notes = settings.release.iter().map(|_| note.to_owned()).collect();
    if settings.parameters.is_empty() && settings.release.is_none() {
        return Measures::default();
    }
    let content = drop_in(&settings.parameters, settings.release.as_deref());
    let write = Step::Write { path: PATH.to_owned(), mode: 0o644, content };
    let steps = vec![write, Step::Run(Command::new(["update-grub"]))];
    Measures { steps, notes, ..Measures::default() }
}

/// A `linux` command of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinuxLine<'a> {
    /// Path of the kernel's image.
    pub image: &'a str,
    /// The kernel's command line.
    pub words: Vec<&'a str>,
}

/// Returns every `linux` command of a `grub.cfg`, in order.
pub fn linux_lines(config: &str) -> impl Iterator<Item = LinuxLine<'_>> {
    config.lines().filter_map(|line| {
        let mut words = line.split_ascii_whitespace();
        matches!(words.next()?, "linux" | "linux16" | "linuxefi").then_some(())?;
        Some(LinuxLine { image: words.next()?, words: words.collect() })
    })
}

/// Returns whether a line holds all the words.
pub fn holds(line: &LinuxLine<'_>, words: &[String]) -> bool {
    words.iter().all(|word| line.words.contains(&word.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_of_a_configuration_are_found() {
        let config = "set timeout=5\nmenuentry 'Debian' {\n\tinsmod ext2\n\
            \tlinux\t/boot/vmlinuz-6.12 root=UUID=1 ro  quiet preempt=full\n\tinitrd /i\n}\n\
            menuentry 'recovery' {\n\tlinux /boot/vmlinuz-6.12 root=UUID=1 ro single\n}\n\
            linux\n";
        let lines: Vec<_> = linux_lines(config).collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0].image, "/boot/vmlinuz-6.12");
        assert!(holds(&lines[0], &["preempt=full".to_owned()]));
        assert!(!holds(&lines[1], &["preempt=full".to_owned()]));
    }
}
