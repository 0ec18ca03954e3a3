use preemptlab_symbols::{ImageError, Types, TypesError};

/// The facts about an architecture of guests, besides the names in [`preemptlab_model::Platform`].
#[derive(Debug)]
pub struct ArchInfo {
    /// The guest's `/init`, as the build script made it.
    pub(crate) init: &'static [u8],
    /// The guest's `/player`, as the build script made it.
    pub(crate) player: &'static [u8],
    /// The program of micro-benchmarks, as the build script made it.
    pub(crate) micro: &'static [u8],
    /// Checks a kernel's image and returns the kernel's release.
    pub(crate) release_of: fn(&[u8]) -> Result<String, ImageError>,
    /// The part of the configuration `lab` that the machine needs.
    pub(crate) lab: &'static str,
    /// Reads the types of a kernel from its image.
    pub types_of: fn(&[u8]) -> Result<Types, TypesError>,
}
