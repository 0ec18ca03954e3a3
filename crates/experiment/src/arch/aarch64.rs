use super::info::ArchInfo;

pub(super) const INFO: ArchInfo =
    ArchInfo { profiles: &[], default_profile: None, turns_parameter: None };
