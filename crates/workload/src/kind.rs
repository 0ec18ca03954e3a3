//! Reads a workload by its `kind`.
//!
//! Serde's derived reader of tagged enums collects all keys first, and so an error in one of them
//! has lost its line. This one takes the kind, which must come first, and then hands the very same
//! reader on.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, Visitor, value::MapAccessDeserializer},
};

use crate::{StressNg, Workload};

/// The names of the workloads.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    Build,
    Cyclictest,
    CyclictestHackbench,
    CyclictestKernel,
    Oslat,
    StressNg,
    Sockperf,
    Pgbench,
    Folder,
    Scenario,
}

impl<'de> Deserialize<'de> for Workload {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(WorkloadVisitor)
    }
}

struct WorkloadVisitor;

impl<'de> Visitor<'de> for WorkloadVisitor {
    type Value = Workload;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a workload")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Workload, A::Error> {
        match map.next_key::<String>()?.as_deref() {
            Some("kind") => {}
            Some(_) => return Err(A::Error::custom("the first key of a workload must be `kind`")),
            None => return Err(A::Error::missing_field("kind")),
        }
        let kind = map.next_value()?;
        let parameters = MapAccessDeserializer::new(map);
        match kind {
            Kind::CyclictestHackbench => {
                Deserialize::deserialize(parameters).map(Workload::CyclictestHackbench)
            }
            Kind::CyclictestKernel => {
                Deserialize::deserialize(parameters).map(Workload::CyclictestKernel)
            }
            Kind::Cyclictest => Deserialize::deserialize(parameters).map(Workload::Cyclictest),
            Kind::Oslat => Deserialize::deserialize(parameters).map(Workload::Oslat),
            Kind::Sockperf => Deserialize::deserialize(parameters).map(Workload::Sockperf),
            Kind::Pgbench => Deserialize::deserialize(parameters).map(Workload::Pgbench),
            Kind::StressNg => {
                let workload = StressNg::deserialize(parameters)?;
                workload.check().map(Workload::StressNg).map_err(A::Error::custom)
            }
            Kind::Build => Deserialize::deserialize(parameters).map(Workload::Build),
            Kind::Folder => Deserialize::deserialize(parameters).map(Workload::Folder),
            Kind::Scenario => Deserialize::deserialize(parameters).map(Workload::Scenario),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn read(parameters: &str) -> Result<Workload, toml::de::Error> {
        let text = format!("[workload]\n{parameters}");
        toml::from_str::<BTreeMap<String, Workload>>(&text)
            .map(|mut all| all.remove("workload").unwrap())
    }

    /// Returns the line and the message of the error.
    fn refused(parameters: &str) -> (usize, String) {
        let error = read(parameters).unwrap_err();
        let start = error.span().expect("the error has a place").start;
        let text = format!("[workload]\n{parameters}");
        (text[..start].matches('\n').count() + 1, error.message().to_owned())
    }

    #[test]
    fn every_error_has_its_line() {
        let kind = "kind = \"cyclictest-hackbench\"\ninterval_us = 500\n";
        for (further, message) in [
            ("gruops = 2", "unknown field `gruops`, expected one of"),
            ("groups = 0", "a number from 1 to"),
            ("groups = \"2\"", "expected"),
            ("hackbench = \"threads\"", "unknown variant `threads`"),
            ("window = \"500us\"", "in whole milliseconds"),
            ("window = 2", "expected"),
            ("interval_us = 1000", "duplicate key"),
        ] {
            let (line, said) = refused(&format!("{kind}{further}"));
            assert_eq!(line, 4, "{further}: {said}");
            assert!(said.contains(message), "{further}: {said}");
        }
    }

    #[test]
    fn the_kind_is_checked() {
        let (line, said) = refused("kind = \"cyclictst\"");
        assert_eq!(line, 2);
        assert!(said.contains("`cyclictest-hackbench`"), "{said}");
        assert!(refused("groups = 2").1.contains("first key"));
        assert!(refused("").1.contains("missing field `kind`"));
    }

    #[test]
    fn what_is_written_is_read_again() {
        let workload = read("kind = \"cyclictest-hackbench\"\nwindow = \"7s\"").unwrap();
        let json = serde_json::to_string(&workload).unwrap();
        assert_eq!(serde_json::from_str::<Workload>(&json).unwrap(), workload);
        let text = toml::to_string(&BTreeMap::from([("workload", &workload)])).unwrap();
        assert_eq!(read(text.trim_start_matches("[workload]")).unwrap(), workload);
    }
}
