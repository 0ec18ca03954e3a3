use std::{collections::BTreeMap, fmt};

use preemptlab_model::{Arch, GuestCpu, Name, Profile};
use preemptlab_protocol::prices::Class;
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error, IgnoredAny, MapAccess, Visitor, value::MapAccessDeserializer},
};

use crate::{SpecError, arch};

/// The value of `cost` with which each instruction takes the same time.
pub const INSTRUCTIONS: &str = "instructions";

/// Costs of a machine's instructions, as an experiment says them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CostSource {
    /// Each takes the same time.
    #[default]
    Instructions,
    /// As a file says that has not been read, relative to the experiment's folder.
    File(String),
    /// As a profile says.
    Profile(Box<Profile>),
}

/// Returns the names of the profiles that preemptlab has.
pub fn shipped_profiles() -> impl Iterator<Item = &'static str> {
    arch::profiles().map(|(name, _)| name)
}

impl CostSource {
    /// Returns the machine of an experiment that names none, for guests of an architecture.
    pub fn of_no_name(guest: Arch) -> Self {
        Self::named(arch::of(guest).default_profile)
    }

    /// Finds the meaning of a text: `instructions`, a profile that preemptlab has, or the file of
    /// one.
    pub fn named(text: &str) -> Self {
        let shipped = arch::profiles().find(|(name, _)| *name == text);
        match (text, shipped) {
            (INSTRUCTIONS, _) => Self::Instructions,
            (_, Some((_, shipped))) => {
                Self::Profile(Box::new(profile(shipped).expect("a test reads every one")))
            }
            (path, None) => Self::File(path.to_owned()),
        }
    }

    /// Returns the profile's name, or `instructions`; the path of a file that has not been read.
    pub fn name(&self) -> &str {
        match self {
            Self::Instructions => INSTRUCTIONS,
            Self::File(path) => path,
            Self::Profile(profile) => profile.name.as_str(),
        }
    }

    /// Returns its name as a level of the factor `machine`; `None` for a file that has not been read.
    pub(crate) fn machine(&self) -> Option<Name> {
        match self {
            Self::Instructions => INSTRUCTIONS.parse().ok(),
            Self::File(_) => None,
            Self::Profile(profile) => Some(profile.name.clone()),
        }
    }

    /// Returns the profile that prices instructions; `None` where each takes the same time, and for a
    /// file that has not been read.
    pub fn profile(&self) -> Option<&Profile> {
        match self {
            Self::Profile(profile) => Some(profile),
            Self::Instructions | Self::File(_) => None,
        }
    }

    /// Returns whether each instruction takes the same time.
    pub(crate) fn is_instructions(&self) -> bool {
        *self == Self::Instructions
    }
}

impl Serialize for CostSource {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Instructions => INSTRUCTIONS.serialize(serializer),
            Self::File(path) => path.serialize(serializer),
            Self::Profile(profile) => profile.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for CostSource {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Source;

        impl<'de> Visitor<'de> for Source {
            type Value = CostSource;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "the file of a profile, the name of one, or \"{INSTRUCTIONS}\"")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<CostSource, E> {
                Ok(CostSource::named(text))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<CostSource, A::Error> {
                let profile = Profile::deserialize(MapAccessDeserializer::new(map))?;
                Ok(CostSource::Profile(Box::new(profile)))
            }
        }

        deserializer.deserialize_any(Source)
    }
}

/// Reads a profile.
///
/// # Errors
///
/// [`SpecError`] with the line, and the nearest valid name for a misspelt one.
pub fn profile(text: &str) -> Result<Profile, SpecError> {
    toml::from_str(text).map_err(|error| {
        let error = SpecError::new(text, &error);
        match error.message.starts_with(NO_PRICE).then(|| lacking(text)).flatten() {
            Some(class) => SpecError { message: format!("{NO_PRICE} `{class}`"), ..error },
            None => error,
        }
    })
}

/// The beginning of the message about a class without a price (`Prices`, crates/protocol).
const NO_PRICE: &str = "there is no price for";

/// Returns the first class without a price, of the processor that a profile names. Prices alone do not tell the
/// processor where they are of classes that several have.
fn lacking(text: &str) -> Option<Class> {
    #[derive(Deserialize)]
    struct Named {
        arch: Option<Arch>,
        cpu: Option<GuestCpu>,
        prices: BTreeMap<Class, IgnoredAny>,
    }
    let Named { arch, cpu, prices } = toml::from_str(text).ok()?;
    let arch = arch.or(cpu.map(GuestCpu::arch))?;
    arch.platform().price_classes.iter().copied().find(|class| !prices.contains_key(class))
}

#[cfg(test)]
mod tests {
    use preemptlab_protocol::prices::Price;

    use super::*;

    fn text() -> String {
        let mut text = "format = 2\nname = \"mine\"\narch = \"amd64\"\nmachine = \"a machine\"\n\
                        [prices]\n"
            .to_owned();
        for class in Arch::Amd64.platform().price_classes {
            text += &format!("{class} = 256\n");
        }
        text
    }

    #[track_caller]
    fn refused(from: &str, to: &str) -> (usize, String, String) {
        assert!(text().contains(from), "{from}");
        let error = profile(&text().replacen(from, to, 1)).unwrap_err();
        (error.line, error.message, error.help.unwrap_or_default())
    }

    #[test]
    fn a_profile_is_read_and_written() {
        let read = profile(&text()).unwrap();
        assert_eq!(read.prices.of(Class::Halt), Price::ONE);
        assert_eq!(profile(&toml::to_string(&read).unwrap()).unwrap(), read);
        let json = serde_json::to_string(&read).unwrap();
        assert_eq!(serde_json::from_str::<Profile>(&json).unwrap(), read);
    }

    #[test]
    fn every_error_of_a_profile_has_its_line_and_its_reason() {
        for (from, to, line, said, help) in [
            ("format = 2", "format = 1", 1, "format 1 of a profile is not known", ""),
            ("\"mine\"", "\"../x\"", 2, "is not a name", ""),
            (
                "\"amd64\"",
                "\"riscv64\"",
                3,
                "`arch = \"riscv64\"` is not known; the known architectures are \"amd64\", \"arm64\"",
                "",
            ),
            (
                "\"amd64\"",
                "\"arm64\"",
                1,
                "of another processor than arm64, which needs one for `entry_irq`",
                "",
            ),
            (
                "machine\"\n",
                "machine\"\ncpu = \"cortex-a72\"\n",
                1,
                "cpu = \"cortex-a72\" is a processor of arm64, and the profile is of amd64",
                "",
            ),
            ("halt = 256\n", "halt = 256\neret = 1\n", 5, "there is a price for `eret`, and", ""),
            ("a machine", "a\\nmachine", 4, "is not a description of a machine", ""),
            ("user_plain = 256", "user_plain = 0", 6, "a price must be 1 to 16777215", ""),
            ("user_plain = 256", "user_plain = 16777216", 6, "a price must be 1 to", ""),
            ("user_plain = 256", "user_plain = 1.5", 6, "invalid type", ""),
            ("wrmsr = 256", "wrmrs = 256", 6, "unknown variant `wrmrs`", "`wrmsr`?"),
            ("halt = 256\n", "", 5, "there is no price for `halt`", ""),
            ("[prices]", "slowdown = 4\n[prices]", 5, "unknown field `slowdown`", ""),
        ] {
            let (found, message, helped) = refused(from, to);
            assert!(message.contains(said), "{from}: {message}");
            assert!(found >= line, "{from}: line {found}");
            assert!(helped.contains(help), "{from}: {helped}");
        }
    }

    #[test]
    fn a_class_without_a_price_is_one_of_the_processor_that_the_profile_names() {
        let [amd64, arm64] = [Arch::Amd64, Arch::Arm64].map(|arch| arch.platform().price_classes);
        let common = arm64.iter().filter(|class| amd64.contains(class));
        let prices: String = common.map(|class| format!("{class} = 256\n")).collect();
        let of = |named: &str| {
            let text = format!("{named}\nformat = 2\n[prices]\n{prices}");
            profile(&text).unwrap_err().message
        };
        let [of_amd64, of_arm64] =
            ["x87", "entry_irq"].map(|class| format!("{NO_PRICE} `{class}`"));
        assert_eq!(of("arch = \"amd64\""), of_amd64);
        assert_eq!(of("arch = \"arm64\""), of_arm64);
        assert_eq!(of("cpu = \"neoverse-n1\""), of_arm64);
        // Without a name they are taken for those of amd64.
        assert_eq!(of(""), of_amd64);
    }

    #[test]
    fn a_profile_of_arm64_may_have_caches() {
        let [server, board] = ["server-arm64", "raspberry-pi-4"]
            .map(|name| arch::profiles().find(|(shipped, _)| *shipped == name).unwrap().1);
        let third = |text: &str| profile(text).unwrap().caches.unwrap().l3;
        assert!(third(server).is_some());
        assert!(third(board).is_none(), "its cores share the second cache");
        assert!(profile(&board.replace("cortex-a72", "cortex-a8")).is_err());
    }

    #[test]
    fn every_error_of_caches_has_its_line_and_its_reason() {
        let (_, shipped) = arch::profiles().next().unwrap();
        let first = shipped.lines().position(|line| line == "[caches]").unwrap() + 1;
        for (from, to, said) in [
            ("ways = 12 }\nl1i", "ways = 13 }\nl1i", "49152 bytes in 13 ways are no cache"),
            ("bytes = 32_768", "bytes = 32_769", "32769 bytes in 8 ways are no cache"),
            ("entries = 96", "entries = 97", "97 entries in 12 ways are no TLB"),
            ("streams = 64", "streams = 63", "must be a power of two"),
            ("training = 2", "training = 256", "a whole number from 0 to 255"),
            ("waits = 640", "waits = 6", "no miss costs more than one that a CPU waits for"),
            ("waits = 640", "waits = 16777216", "a penalty must be 0 to 16777215"),
            ("waits = 640", "wait = 640", "unknown field `wait`"),
            ("overlap_accesses = 128\n", "", "missing field `overlap_accesses`"),
            ("overlap_accesses = 128", "overlap_accesses = 65536", "from 0 to 65535"),
            ("dtlb =", "itlb =", "unknown field `itlb`"),
            ("l3 = { bytes", "l4 = { bytes", "unknown field `l4`"),
            ("l3 = { waits = 3450, overlaps = 110, streams = 115 }", "", "no penalty of it"),
        ] {
            assert!(shipped.contains(from), "{from}");
            let error = profile(&shipped.replacen(from, to, 1)).unwrap_err();
            assert!(error.message.contains(said), "{from}: {}", error.message);
            assert!(error.line >= first, "{from}: line {}", error.line);
        }
    }

    #[test]
    fn a_source_is_a_word_a_file_or_a_profile() {
        #[derive(Deserialize)]
        struct Keys {
            cost: CostSource,
        }
        let read = |text: &str| toml::from_str::<Keys>(text).map(|keys| keys.cost);
        assert_eq!(read("cost = \"instructions\"").unwrap(), CostSource::Instructions);
        assert_eq!(read("cost = \"x.toml\"").unwrap(), CostSource::File("x.toml".to_owned()));
        let profile = profile(&text()).unwrap();
        let json = serde_json::to_string(&CostSource::Profile(Box::new(profile.clone()))).unwrap();
        let again: CostSource = serde_json::from_str(&json).unwrap();
        assert_eq!(again, CostSource::Profile(Box::new(profile)));
        let said = read("cost = 1").unwrap_err().to_string();
        assert!(
            said.contains("the file of a profile, the name of one, or \"instructions\""),
            "{said}"
        );
    }

    #[test]
    fn the_default_profile_of_an_architecture_is_of_it() {
        for guest in Arch::ALL {
            let default = CostSource::of_no_name(guest);
            assert_eq!(default.profile().map(|it| it.arch), Some(guest));
            for (name, text) in arch::of(guest).profiles {
                assert_eq!(profile(text).unwrap().arch, guest, "{name}");
            }
        }
    }

    #[test]
    fn every_profile_of_the_folder_ships_and_is_sound() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../profiles");
        let files = std::fs::read_dir(folder).unwrap();
        let mut files: Vec<_> =
            files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        files.sort();
        let mut names: Vec<_> = shipped_profiles().map(|name| format!("{name}.toml")).collect();
        names.sort();
        assert_eq!(files, names);

        for (name, text) in arch::profiles() {
            let shipped = profile(text).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(shipped.name, name);
            let source = CostSource::named(name);
            assert_eq!(source, CostSource::Profile(Box::new(shipped.clone())));
            // On every machine these orders hold; a figure with a digit too many breaks them.
            let price = |class: &Class| shipped.prices.of(*class);
            let orders = [
                [Class::UserPlain, Class::Multiply, Class::Divide, Class::EntryException],
                [Class::StringByte, Class::StringWord, Class::StringStart, Class::Iret],
                [Class::UserMemory, Class::Locked, Class::Cr3, Class::Halt],
                [Class::UserPlain, Class::Syscall, Class::Iret, Class::EntryTimer],
                [Class::UserPlain, Class::Multiply, Class::Divide, Class::EntryIrq],
                [Class::UserMemory, Class::Eret, Class::Tlbi, Class::Halt],
                [Class::KernelPlain, Class::Mrs, Class::Isb, Class::EntrySync],
            ];
            let has = |class: &Class| shipped.prices.classes().contains(class);
            for classes in orders.iter().filter(|classes| classes.iter().all(has)) {
                assert!(classes.is_sorted_by_key(price), "{name}: {classes:?}");
            }
        }
    }
}
