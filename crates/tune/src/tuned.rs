use crate::{Command, Measures, Settings, Step};

/// The profile's name.
const PROFILE: &str = "preemptlab";

/// A profile for tuned(8) whose plugin `bootloader` adds kernel parameters for GRUB
/// (tuned-profiles(7), tuned.conf(5)): every option that begins with `cmdline` adds to them, and `+`
/// says that it adds to those of other profiles. From tuned 2.23 on profiles are in
/// `/etc/tuned/profiles`.
pub fn emit(settings: &Settings) -> Measures {
    let mut measures = Measures::default();
    if settings.parameters.is_empty() {
        measures.notes.push("There is no parameter to set, only the kernel to boot.".to_owned());
    } else {
        let content = format!(
            "[main]\nsummary=Kernel parameters that preemptlab recommends\n\n\
             [bootloader]\ncmdline_{PROFILE}=+{}\n",
            settings.parameters.join(" ")
        );
        let path = format!("/etc/tuned/profiles/{PROFILE}/tuned.conf");
        measures.steps.extend([
            Step::Write { path, mode: 0o644, content },
            Step::Run(Command::new(["tuned-adm", "profile", PROFILE])),
        ]);
        measures.notes.push(format!(
            "Before tuned 2.23 the file is /etc/tuned/{PROFILE}/tuned.conf. To keep the profile that \
             is active (tuned-adm active), name it before this one: tuned-adm profile ACTIVE \
             {PROFILE}."
        ));
    }
    if let Some(release) = &settings.release {
        measures.notes.push(format!(
            "tuned does not choose the kernel: make /boot/vmlinuz-{release} the one that GRUB boots."
        ));
    }
    measures
}
