use super::info::ArchInfo;

pub(super) const INFO: ArchInfo =
    ArchInfo { profiles: &[], default_profile: None, has_topology: false, turns_parameter: None };
