use preemptlab_symbols::{Types, arm64_release_of};

use super::info::ArchInfo;

pub(super) const INFO: ArchInfo = ArchInfo {
    init: include_bytes!(concat!(env!("OUT_DIR"), "/aarch64/init")),
    player: include_bytes!(concat!(env!("OUT_DIR"), "/aarch64/player")),
    micro: include_bytes!(concat!(env!("OUT_DIR"), "/aarch64/micro")),
    release_of: arm64_release_of,
    lab: include_str!("aarch64.lab.config"),
    types_of: Types::from_arm64_image,
};
