use preemptlab_protocol::{
    caches::Caches,
    prices::{Class, Prices},
    stolen::Stolen,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

use crate::{Arch, Name, text::checked_text};

/// The most bytes of a description of a machine.
const MACHINE_BYTES_MAX: usize = 120;

checked_text! {
    /// Description of a machine, for people.
    MachineText, is_machine_text,
    "a description of a machine: 1 to 120 printable ASCII characters"
}

fn is_machine_text(text: &str) -> bool {
    (1..=MACHINE_BYTES_MAX).contains(&text.len())
        && text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic())
}

/// A machine as virtual time knows it: the cost of each class of instructions there.
/// `docs/cost-model.md` describes the TOML form.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
// With `remote` the derived functions are its own, so that what is read is checked as a whole.
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Profile {
    /// Version of the format.
    pub format: ProfileFormat,
    /// Name of the profile.
    pub name: Name,
    /// Architecture of the machine.
    pub arch: Arch,
    /// The machine that the prices describe.
    pub machine: MachineText,
    /// The processor that QEMU emulates; `None` for that of the architecture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<GuestCpu>,
    /// How well the prices were fitted; `None` for prices that were not fitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fit: Option<Fit>,
    /// How well workloads were predicted that had no part in the fit; `None` where they are not
    /// checked. It is not a part of a cell's identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<Check>,
    /// The cost of each class, in 1/256 ns of the machine.
    pub prices: Prices,
    /// Its caches, and the cost of a miss; `None` where they are not described.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caches: Option<Caches>,
    /// Time that is stolen from its CPUs; `None` where that is not described.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stolen: Option<Stolen>,
}

/// A processor that QEMU emulates for the guests of a profile, by QEMU's name: its kernel and its programs use the
/// instructions that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GuestCpu {
    /// Arm's Cortex-A72 of ARMv8.0, without atomic instructions (LSE).
    CortexA72,
    /// Arm's Neoverse N1 of ARMv8.2, which guests of arm64 have otherwise.
    NeoverseN1,
}

impl GuestCpu {
    /// Returns QEMU's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CortexA72 => "cortex-a72",
            Self::NeoverseN1 => "neoverse-n1",
        }
    }

    /// Returns the architecture of its guests.
    pub const fn arch(self) -> Arch {
        match self {
            Self::CortexA72 | Self::NeoverseN1 => Arch::Arm64,
        }
    }
}

impl Serialize for Profile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for Profile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let profile = Self::deserialize(deserializer)?;
        profile.is_of_one_processor().map_err(D::Error::custom)?;
        Ok(profile)
    }
}

impl Profile {
    /// Checks that its parts are those of its architecture.
    fn is_of_one_processor(&self) -> Result<(), String> {
        let Self { arch, .. } = self;
        let platform = arch.platform();
        if self.prices.classes() != platform.price_classes {
            let lacks = |class: &&Class| !self.prices.classes().contains(class);
            let lacking = platform.price_classes.iter().find(lacks).expect("the classes differ");
            return Err(format!(
                "the prices are of another processor than {}, which needs one for `{lacking}`",
                platform.debian
            ));
        }
        if let Some(cpu) = self.cpu.filter(|cpu| cpu.arch() != *arch) {
            return Err(format!(
                "cpu = \"{}\" is a processor of {}, and the profile is of {}",
                cpu.name(),
                cpu.arch().platform().debian,
                platform.debian
            ));
        }
        Ok(())
    }
}

/// How well the prices of a profile were fitted. An error is the larger of model and machine over the
/// smaller, in percent above 1; means are geometric.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fit {
    /// Number of micro-benchmarks that were fitted.
    pub benchmarks: u32,
    /// Mean error of those.
    pub error_percent_mean: u32,
    /// Largest error of those.
    pub error_percent_max: u32,
    /// Number of micro-benchmarks that were held out of the fit.
    pub held_out: u32,
    /// Mean error of those.
    pub held_out_error_percent_mean: u32,
    /// Largest error of those.
    pub held_out_error_percent_max: u32,
    /// Classes that no benchmark determined: their prices are assumed.
    pub undetermined: Vec<Class>,
}

/// How well workloads were predicted that had no part in the fit: how far the ratio of the throughput
/// of two workloads is from that of the machine.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// Number of workloads.
    pub workloads: u32,
    /// By prices alone.
    pub prices: PairError,
    /// By prices and caches; `None` where they are not checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caches: Option<PairError>,
}

/// The error of all pairs of workloads: the larger of model and machine over the smaller, in percent
/// above 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PairError {
    /// Geometric mean over all pairs.
    pub error_percent_mean: u32,
    /// That of the worst pair.
    pub error_percent_max: u32,
}

/// The version of the profile's format. Format 1 had a slowdown, and prices of another unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct ProfileFormat;

/// A profile has a format that this version does not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "format {0} of a profile is not known; this version reads format 2, which `preemptlab system calibrate` \
     writes"
)]
pub struct ProfileFormatError(u32);

impl TryFrom<u32> for ProfileFormat {
    type Error = ProfileFormatError;

    fn try_from(format: u32) -> Result<Self, ProfileFormatError> {
        if format == 2 { Ok(Self) } else { Err(ProfileFormatError(format)) }
    }
}

impl From<ProfileFormat> for u32 {
    fn from(_: ProfileFormat) -> Self {
        2
    }
}

/// How the instructions of a machine are priced: a part of a cell's identity.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pricing {
    /// Version of the rules by which prices are paid.
    pub rules: PricingRules,
    /// The prices, and whose they are.
    pub of: Profile,
}

impl Pricing {
    /// Prices a machine by this version's rules, with its caches and its stolen time where the profile describes
    /// them.
    pub fn new(of: Profile) -> Self {
        Self { rules: PricingRules, of: Profile { check: None, ..of } }
    }
}

/// The rules by which prices are paid: which class an instruction is of, and when a CPU's clock takes
/// the owed time (the plugin in QEMU). A change of the rules needs a new number, which changes the
/// identity of every cell with prices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct PricingRules;

/// The rules of this version.
const RULES: u32 = 1;

/// A recording was made by other rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("prices were paid by rules {0}, and this preemptlab pays by rules {RULES}")]
pub struct PricingRulesError(u32);

impl TryFrom<u32> for PricingRules {
    type Error = PricingRulesError;

    fn try_from(rules: u32) -> Result<Self, PricingRulesError> {
        if rules == RULES { Ok(Self) } else { Err(PricingRulesError(rules)) }
    }
}

impl From<PricingRules> for u32 {
    fn from(_: PricingRules) -> Self {
        RULES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_described_in_plain_text() {
        for text in ["AMD EPYC 9004, a virtual machine", "x", &"a".repeat(120)] {
            assert!(text.parse::<MachineText>().is_ok(), "{text}");
        }
        for text in ["", "\u{1b}[2J", "a\nb", "ä", &"a".repeat(121)] {
            assert!(text.parse::<MachineText>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_processor_has_qemu_s_name() {
        for cpu in [GuestCpu::CortexA72, GuestCpu::NeoverseN1] {
            assert_eq!(serde_json::to_value(cpu).unwrap(), cpu.name());
        }
    }

    #[test]
    fn formats_and_rules_are_bounded() {
        fn said<T: serde::de::DeserializeOwned>(text: &str) -> String {
            serde_json::from_str::<T>(text).err().expect(text).to_string()
        }
        for format in ["0", "1", "3"] {
            let known = format!("format {format} of a profile is not known");
            assert!(said::<ProfileFormat>(format).contains(&known));
        }
        assert!(
            said::<PricingRules>("2").contains("by rules 2, and this preemptlab pays by rules 1")
        );
    }
}
