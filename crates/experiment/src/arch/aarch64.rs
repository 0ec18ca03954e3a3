use super::info::ArchInfo;

pub(super) const INFO: ArchInfo = ArchInfo {
    profiles: &[],
    default_profile: None,
    has_topology: false,
    // That of the clock `rtc-pl031`.
    interrupt_thread: "irq/16-",
    turns_parameter: None,
};
