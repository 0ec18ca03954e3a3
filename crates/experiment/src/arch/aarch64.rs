use super::info::ArchInfo;

pub(super) const INFO: ArchInfo = ArchInfo {
    profiles: &[
        ("raspberry-pi-4", include_str!("../../../../profiles/raspberry-pi-4.toml")),
        (SERVER, include_str!("../../../../profiles/server-arm64.toml")),
    ],
    default_profile: SERVER,
    tells_shared_caches: false,
    // That of the clock `rtc-pl031`.
    interrupt_thread: "irq/16-",
    turns_parameter: None,
};

const SERVER: &str = "server-arm64";
