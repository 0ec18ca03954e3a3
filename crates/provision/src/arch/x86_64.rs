use preemptlab_symbols::{Types, bzimage_release_of};

use super::info::ArchInfo;

pub(super) const INFO: ArchInfo = ArchInfo {
    init: include_bytes!(concat!(env!("OUT_DIR"), "/init")),
    player: include_bytes!(concat!(env!("OUT_DIR"), "/player")),
    micro: include_bytes!(concat!(env!("OUT_DIR"), "/micro")),
    release_of: bzimage_release_of,
    lab: include_str!("x86_64.lab.config"),
    types_of: Types::from_bzimage,
};
