use serde::{Deserialize, Serialize};

/// A precaution of the laboratory that an experiment can do without, by a setting `lab.NAME`, to find
/// its effect. None of them is a property of a kernel: no machine is given one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Precaution {
    /// `lab.kaslr`: the guest boots without `nokaslr`, and so at an address of its own
    /// (arch/x86/boot/compressed/kaslr.c).
    Kaslr,
    /// `lab.hpet`: the board has an HPET.
    Hpet,
    /// `lab.rep_strings`: the guest sees that repeated string instructions are fast (`erms`, `fsrm` and
    /// their kin), also where instructions have prices.
    RepStrings,
}

impl Precaution {
    /// All precautions.
    pub const ALL: [Self; 3] = [Self::Kaslr, Self::Hpet, Self::RepStrings];

    /// Returns the setting that leaves the precaution out.
    pub fn setting(self) -> &'static str {
        match self {
            Self::Kaslr => "lab.kaslr",
            Self::Hpet => "lab.hpet",
            Self::RepStrings => "lab.rep_strings",
        }
    }
}
