use crate::tune::{Command, Measures, Settings, Step};

/// Read by kernel-install when it makes an entry.
const PATH: &str = "/etc/kernel/cmdline";

/// Returns the measures for kernel-install(8), which writes a new entry. It takes the whole command
/// line from `/etc/kernel/cmdline`, which has no drop-ins, so the parameters are added to that
/// file. An existing entry keeps its own until it is written anew: that of the kernel to boot or,
/// where none is given, every entry. The entry's name ends in the release, and bootctl(1) takes a
/// pattern.
pub fn emit(settings: &Settings) -> Measures {
    let mut measures = Measures::default();
    if !settings.parameters.is_empty() {
        let words = settings.parameters.clone();
        measures.steps.push(Step::Add { path: PATH.to_owned(), words });
        measures.notes.push(format!(
            "Without {PATH} kernel-install takes the running kernel's parameters: begin the file \
             with those of /proc/cmdline, but without BOOT_IMAGE= and initrd=."
        ));
    }
    if settings.release.is_none() && !settings.parameters.is_empty() {
        measures.steps.push(Step::Run(Command::new(["kernel-install", "add-all"])));
        measures.notes.push(
            "Before systemd 256 kernel-install has no add-all: kernel-install add RELEASE \
             /boot/vmlinuz-RELEASE, for each kernel."
                .to_owned(),
        );
    }
    if let Some(release) = &settings.release {
        let image = format!("/boot/vmlinuz-{release}");
        let entry = format!("*-{release}.conf");
        measures.steps.extend([
            Step::Run(Command::new(["kernel-install", "add", release, &image])),
            Step::Run(Command::new(["bootctl", "set-default", &entry])),
        ]);
    }
    measures
}
