use crate::{Command, Measures, Settings, Step};

/// Read last, because some drop-ins of distributions set the variable anew: names are read in the
/// order of the alphabet.
const PATH: &str = "/etc/default/grub.d/zz-preemptlab.cfg";

/// A drop-in for grub-mkconfig(8).
///
/// Debian's grub-mkconfig sources `/etc/default/grub` and then `/etc/default/grub.d/*.cfg` as
/// shell, so that a drop-in can add to a variable and is revoked by removing it.
/// `GRUB_CMDLINE_LINUX_DEFAULT` leaves the entries for recovery alone; `GRUB_TOP_LEVEL` is the
/// image of the first entry (GRUB manual, "Simple configuration handling"; from GRUB 2.12 on).
pub fn emit(settings: &Settings) -> Measures {
    let mut content =
        "# Written by preemptlab; remove this file and run update-grub to undo it.\n".to_owned();
    if !settings.parameters.is_empty() {
        let parameters = settings.parameters.join(" ");
        content += "GRUB_CMDLINE_LINUX_DEFAULT=\"${GRUB_CMDLINE_LINUX_DEFAULT} ";
        content += &format!("{parameters}\"\n");
    }
    let mut notes = Vec::new();
    match &settings.release {
        Some(release) => {
            content += &format!("GRUB_TOP_LEVEL=\"/boot/vmlinuz-{release}\"\n");
            notes.push(
                "GRUB_TOP_LEVEL needs GRUB 2.12 (Debian 13); an older one boots the newest kernel \
                 unless another entry is chosen in its menu."
                    .to_owned(),
            );
        }
        None => notes.push("Install the kernel by hand, and make it the first entry.".to_owned()),
    }
    let write = Step::Write { path: PATH.to_owned(), mode: 0o644, content };
    Measures { steps: vec![write, Step::Run(Command::new(["update-grub"]))], notes }
}
