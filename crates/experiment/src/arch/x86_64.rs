use super::info::ArchInfo;

pub(super) const INFO: ArchInfo = ArchInfo {
    profiles: &[
        ("amd-epyc", include_str!("../../../../profiles/amd-epyc.toml")),
        ("desktop-x86", include_str!("../../../../profiles/desktop-x86.toml")),
        (SERVER, include_str!("../../../../profiles/server-x86.toml")),
    ],
    default_profile: SERVER,
    tells_shared_caches: true,
    // ACPI's.
    interrupt_thread: "irq/9-",
    // The timer that ended the turns was left to the guest's init.
    turns_parameter: Some("hpet=disable"),
};

const SERVER: &str = "server-x86";
