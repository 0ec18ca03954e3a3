use preemptlab_model::{Arch, Caches, Clocks, InstructionCost, Lookahead, Profile, Topology};
use preemptlab_workload::is_module;
use serde::{Deserialize, Serialize};

use crate::{SpecError, arch, profile::CostSource};

/// The virtual machine and the boot that all configurations share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Keys", into = "Keys")]
pub struct MachineSpec {
    /// Architecture of the guest.
    pub arch: Arch,
    /// The guest's memory, in MiB.
    pub memory_mib: u32,
    /// Virtual time of an instruction that has no price.
    pub cost: InstructionCost,
    /// Costs of instructions where the machine is not a factor.
    pub prices: CostSource,
    /// Whether the profile's caches are modelled.
    pub caches: bool,
    /// Whether the profile's stolen time is modelled.
    pub stolen: bool,
    /// Time of several CPUs.
    pub clocks: Clocks,
    /// Kernel parameters besides those of the factors.
    pub cmdline: Vec<String>,
    /// Kernel modules to load before the snapshot.
    pub modules: Vec<String>,
    /// Sockets, cores, threads, caches and NUMA nodes.
    pub topology: Option<Topology>,
}

/// Keys of the machine, as experiments and their recordings write them.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Keys {
    #[serde(skip_serializing_if = "Arch::is_default")]
    arch: Arch,
    memory_mib: u32,
    shift: InstructionCost,
    #[serde(skip_serializing_if = "CostSource::is_instructions")]
    cost: CostSource,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    caches: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stolen: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    lookahead_ns: Option<Lookahead>,
    /// Only recordings of cells whose CPUs took turns have it; files that say it are refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    skew_us: Option<u32>,
    cmdline: Vec<String>,
    modules: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    topology: Option<Topology>,
}

impl Default for MachineSpec {
    fn default() -> Self {
        Self {
            arch: Arch::default(),
            memory_mib: 512,
            cost: InstructionCost::default(),
            prices: CostSource::default(),
            caches: false,
            stolen: false,
            clocks: Clocks::default(),
            cmdline: Vec::new(),
            modules: Vec::new(),
            topology: None,
        }
    }
}

impl Default for Keys {
    fn default() -> Self {
        let mut keys = Self::from(MachineSpec::default());
        // Without either key `lookahead_ns` is absent, too.
        keys.lookahead_ns = None;
        keys
    }
}

impl From<MachineSpec> for Keys {
    fn from(machine: MachineSpec) -> Self {
        let (lookahead_ns, skew_us) = match machine.clocks {
            Clocks::Own(lookahead) => (Some(lookahead), None),
            Clocks::Turns { skew_us } => (None, Some(skew_us)),
        };
        Self {
            arch: machine.arch,
            memory_mib: machine.memory_mib,
            shift: machine.cost,
            cost: machine.prices,
            caches: machine.caches,
            stolen: machine.stolen,
            lookahead_ns,
            skew_us,
            cmdline: machine.cmdline,
            modules: machine.modules,
            topology: machine.topology,
        }
    }
}

impl TryFrom<Keys> for MachineSpec {
    type Error = &'static str;

    fn try_from(keys: Keys) -> Result<Self, &'static str> {
        let clocks = match (keys.lookahead_ns, keys.skew_us) {
            (Some(_), Some(_)) => return Err("`lookahead_ns` and `skew_us` exclude each other"),
            (None, Some(skew_us)) => Clocks::Turns { skew_us },
            (lookahead, None) => Clocks::Own(lookahead.unwrap_or_default()),
        };
        Ok(Self {
            arch: keys.arch,
            memory_mib: keys.memory_mib,
            cost: keys.shift,
            prices: keys.cost,
            caches: keys.caches,
            stolen: keys.stolen,
            clocks,
            cmdline: keys.cmdline,
            modules: keys.modules,
            topology: keys.topology,
        })
    }
}

impl MachineSpec {
    /// Refuses a machine that no virtual machine or boot can be, where its instructions cost this.
    pub(crate) fn check(&self, prices: &CostSource, text: &str) -> Result<(), SpecError> {
        let refuse = |needle: &str, message: &str, help: &str| {
            Err(SpecError::at(text, needle, message.to_owned(), help))
        };
        if !(128..=16_384).contains(&self.memory_mib) {
            return refuse(
                "memory_mib",
                "the memory must be 128 to 16384 MiB",
                "512 is enough for hackbench",
            );
        }
        if *prices != CostSource::Instructions && self.cost != InstructionCost::default() {
            return refuse(
                "shift",
                "`shift` is the time of an instruction without a price",
                "leave it out: a profile says what instructions take",
            );
        }
        if let Some(Profile { name, arch, .. }) = prices.profile()
            && *arch != self.arch
        {
            let [of, guest] = [*arch, self.arch].map(|arch| arch.platform().debian);
            let message = format!("the profile {name} is of {of}, and the guest is of {guest}");
            let help = format!(
                "name another profile, or the architecture: `arch = \"{of}\"` in [machine], `--arch {of}` on \
                 the command line"
            );
            // A machine without a profile of its own has that of a server.
            let needle = if text.contains("cost") { "cost" } else { "arch" };
            return refuse(needle, &message, &help);
        }
        let profile = prices.profile();
        for (key, is_asked, is_there, part, needs) in [
            (
                "caches",
                self.caches,
                profile.is_some_and(|it| it.caches.is_some()),
                "caches",
                "need",
            ),
            (
                "stolen",
                self.stolen,
                profile.is_some_and(|it| it.stolen.is_some()),
                "stolen time",
                "needs",
            ),
        ] {
            match prices {
                CostSource::Instructions if is_asked => {
                    let message = format!(
                        "{part} {needs} a profile, and each instruction takes the same time"
                    );
                    return refuse(key, &message, "name one: `cost = \"amd-epyc\"`");
                }
                CostSource::Profile(profile) if is_asked && !is_there => {
                    let message = format!("the profile {} has no {part}", profile.name);
                    let help = format!("give it a section [{key}] (docs/cost-model.md)");
                    return refuse(key, &message, &help);
                }
                _ => {}
            }
        }
        if let Clocks::Turns { skew_us } = self.clocks
            && !(1..=1000).contains(&skew_us)
        {
            return refuse(
                "skew_us",
                "the skew must be 1 to 1000 us",
                "it is no more: `lookahead_ns`",
            );
        }
        self.check_topology(text)?;
        if let Some(module) = self.modules.iter().find(|module| !is_module(module)) {
            let message = format!("`{module}` is not the name of a kernel module");
            return refuse(module, &message, "letters, digits, `_` and `-`, without `.ko`");
        }
        if let Some(parameter) = self.cmdline.iter().find(|parameter| {
            parameter.is_empty()
                || parameter.contains(|c: char| c.is_whitespace() || c.is_control())
        }) {
            let message = format!("`{parameter}` is not one kernel parameter");
            return refuse(parameter, &message, "give each parameter as a string of its own");
        }
        if let Some(parameter) =
            self.cmdline.iter().find(|parameter| parameter.starts_with("preempt="))
        {
            return refuse(
                parameter,
                "the mode is a factor",
                "use `preempt = [...]` under [factors]",
            );
        }
        Ok(())
    }

    /// Refuses a topology that no machine of this architecture and memory can have.
    fn check_topology(&self, text: &str) -> Result<(), SpecError> {
        let Some(topology) = self.topology else { return Ok(()) };
        if !arch::of(self.arch).tells_shared_caches && topology.caches() != Caches::default() {
            let arch = self.arch.platform().debian;
            let message =
                format!("QEMU's board of {arch} does not tell a kernel who shares a cache");
            return Err(SpecError::at(text, "topology", message, "leave its `caches` out"));
        }
        let nodes = topology.numa_nodes();
        if !self.memory_mib.is_multiple_of(nodes) {
            let message =
                format!("{nodes} NUMA nodes cannot have equal parts of {} MiB", self.memory_mib);
            let help = "take a multiple of the nodes as `memory_mib`";
            return Err(SpecError::at(text, "numa_nodes", message, help));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The digest of an experiment and the bytes of its recording depend on it.
    #[test]
    fn a_recorded_machine_is_written_as_it_was_read() {
        for text in [
            r#"{"memory_mib":512,"shift":1,"skew_us":10,"cmdline":[],"modules":[]}"#,
            r#"{"memory_mib":512,"shift":1,"lookahead_ns":20,"cmdline":["a"],"modules":[]}"#,
        ] {
            let machine: MachineSpec = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&machine).unwrap(), text);
        }
        for text in [
            r#"{"skew_us":10,"lookahead_ns":500}"#,
            r#"{"skew_us":-1}"#,
            r#"{"skew_us":"10"}"#,
            r#"{"lookahead_ns":0}"#,
        ] {
            assert!(serde_json::from_str::<MachineSpec>(text).is_err(), "{text}");
        }
        assert_eq!(serde_json::from_str::<MachineSpec>("{}").unwrap(), MachineSpec::default());
    }

    /// A recording whose experiment names the architecture is the same as one that leaves it to the default.
    #[test]
    fn the_architecture_is_a_key_of_which_the_default_is_not_written() {
        let named: MachineSpec = toml::from_str("arch = \"amd64\"").unwrap();
        assert_eq!(named, MachineSpec::default());
        assert!(!serde_json::to_string(&named).unwrap().contains("arch"));
    }

    /// Returns the line of what is refused of `[machine]`, and the reason.
    fn checked(text: &str) -> Result<(), (usize, String)> {
        let machine: MachineSpec = toml::from_str(text).unwrap();
        machine.check(&machine.prices, text).map_err(|error| (error.line, error.message))
    }

    #[test]
    fn caches_need_a_profile_that_describes_them() {
        assert_eq!(checked("cost = \"amd-epyc\"\ncaches = true"), Ok(()));
        assert_eq!(checked("cost = \"mine.toml\"\ncaches = true"), Ok(()), "it was not read yet");
        assert_eq!(checked("cost = \"instructions\"\ncaches = false"), Ok(()));
        let (line, said) = checked("cost = \"instructions\"\ncaches = true").unwrap_err();
        assert_eq!((line, said.starts_with("caches need a profile")), (2, true), "{said}");
        assert!(checked("caches = true").is_err());
        let of_arm64 =
            |profile| checked(&format!("arch = \"arm64\"\ncost = \"{profile}\"\ncaches = true"));
        assert_eq!(of_arm64("server-arm64"), Ok(()));
        assert_eq!(of_arm64("raspberry-pi-4"), Ok(()));
        let text = "cost = \"amd-epyc\"\ncaches = true";
        let mut machine: MachineSpec = toml::from_str(text).unwrap();
        let CostSource::Profile(profile) = &mut machine.prices else { panic!() };
        profile.caches = None;
        let said = machine.check(&machine.prices, text).unwrap_err().message;
        assert_eq!(said, "the profile amd-epyc has no caches");
    }

    #[test]
    fn stolen_time_needs_a_profile_that_describes_it() {
        assert_eq!(checked("cost = \"amd-epyc\"\nstolen = true"), Ok(()));
        let (line, said) = checked("cost = \"instructions\"\nstolen = true").unwrap_err();
        assert_eq!((line, said.starts_with("stolen time needs a profile")), (2, true), "{said}");
        let (line, said) = checked("cost = \"server-x86\"\nstolen = true").unwrap_err();
        assert_eq!((line, said.as_str()), (2, "the profile server-x86 has no stolen time"));
    }
}
