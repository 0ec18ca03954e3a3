/// A flavour of a distribution's kernels. [`crate::Distro::flavours`] says which of them one has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Flavour {
    /// The one without a suffix.
    #[default]
    Generic,
    /// `-rt`, built with `PREEMPT_RT`.
    Rt,
    /// `-cloud`, with few drivers.
    Cloud,
    /// `-lowlatency`, which prefers short latencies to throughput.
    Lowlatency,
}

impl Flavour {
    /// Returns the suffix of the version in a kernel's release: nothing, `-rt`, `-cloud` or
    /// `-lowlatency`.
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Generic => "",
            Self::Rt => "-rt",
            Self::Cloud => "-cloud",
            Self::Lowlatency => "-lowlatency",
        }
    }
}
