use preemptlab_model::Setting;

use crate::tune::{Command, Measures, Settings, Step};

/// Name of the profile.
const PROFILE: &str = "preemptlab";

/// Returns a profile for tuned(8). Its plugin `bootloader` adds kernel parameters for GRUB
/// (tuned-profiles(7), tuned.conf(5)): every option that begins with `cmdline` adds to them, and
/// `+` adds to those of other profiles. Its plugin `sysctl` sets sysctls while the profile is
/// active. From tuned 2.23 on profiles are in `/etc/tuned/profiles`.
pub fn emit(settings: &Settings) -> Measures {
    let sysctls = settings.run_time.iter().filter_map(|setting| match setting {
        Setting::Sysctl { name, value } => Some(format!("{name}={value}\n")),
        _ => None,
    });
    let sysctls: String = sysctls.collect();
    let mut content = format!("[main]\nsummary=Settings of {PROFILE}\n");
    if !settings.parameters.is_empty() {
        let words = settings.parameters.join(" ");
        content += &format!("\n[bootloader]\ncmdline_{PROFILE}=+{words}\n");
    }
    if !sysctls.is_empty() {
        content += &format!("\n[sysctl]\n{sysctls}");
    }
    if settings.parameters.is_empty() && sysctls.is_empty() {
        return Measures::default();
    }
    let path = format!("/etc/tuned/profiles/{PROFILE}/tuned.conf");
    let note = format!(
        "Before tuned 2.23 the file is /etc/tuned/{PROFILE}/tuned.conf. To keep the profile that is \
         active (tuned-adm active), name it before this one: tuned-adm profile ACTIVE {PROFILE}."
    );
    Measures {
        steps: vec![
            Step::Write { path, mode: 0o644, content },
            Step::Run(Command::new(["tuned-adm", "profile", PROFILE])),
        ],
        notes: vec![note],
        ..Measures::default()
    }
}
