/// A Debian kernel flavour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Flavour {
    /// The one without a suffix.
    #[default]
    Generic,
    /// `-rt`, built with `PREEMPT_RT`.
    Rt,
    /// `-cloud`, with few drivers.
    Cloud,
}

impl Flavour {
    /// Every flavour.
    pub const ALL: [Self; 3] = [Self::Generic, Self::Rt, Self::Cloud];

    /// Returns the suffix of the version in a kernel's release: nothing, `-rt` or `-cloud`.
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Generic => "",
            Self::Rt => "-rt",
            Self::Cloud => "-cloud",
        }
    }
}
