//! A level of the factor `kernel`: a kernel, with a label and modes of its own where it has them.

use std::{fmt, str::FromStr};

use preemptlab_model::{KernelRef, Label, PreemptMode};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, Visitor, value::MapAccessDeserializer},
};

/// A kernel of an experiment, as text `KERNEL` or `LABEL=KERNEL`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelLevel {
    /// Name of the kernel in tables; `None` where it is the kernel's own.
    pub label: Option<Label>,
    /// The kernel.
    pub kernel: KernelRef,
    /// The modes of this kernel; `None` for those of the factor `preempt`.
    pub preempt: Option<Vec<PreemptMode>>,
}

/// The form of a level that has modes of its own.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    kernel: Named,
    preempt: Vec<PreemptMode>,
}

/// A kernel with its label.
struct Named(Option<Label>, KernelRef);

impl From<KernelRef> for KernelLevel {
    fn from(kernel: KernelRef) -> Self {
        Self { label: None, kernel, preempt: None }
    }
}

/// The text is no kernel with a label.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParseKernelLevelError(String);

impl FromStr for KernelLevel {
    type Err = ParseKernelLevelError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let Named(label, kernel) = text.parse()?;
        Ok(Self { label, kernel, preempt: None })
    }
}

impl FromStr for Named {
    type Err = ParseKernelLevelError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = |error: &dyn fmt::Display| ParseKernelLevelError(error.to_string());
        let (label, kernel) = split_label(text);
        let label = label.map(str::parse).transpose().map_err(|cause| error(&cause))?;
        Ok(Self(label, kernel.parse().map_err(|cause| error(&cause))?))
    }
}

/// Splits `LABEL=KERNEL`. A kernel's own name may hold a `=`, but only after a colon or in a path.
pub fn split_label(text: &str) -> (Option<&str>, &str) {
    match text.split_once('=') {
        Some((label, kernel)) if !label.contains([':', '/']) => (Some(label), kernel),
        _ => (None, text),
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self(Some(label), kernel) => write!(f, "{label}={kernel}"),
            Self(None, kernel) => kernel.fmt(f),
        }
    }
}

/// Writes it as a file would: the text, or a table where the kernel has modes of its own.
impl fmt::Display for KernelLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = Named(self.label.clone(), self.kernel.clone()).to_string();
        let Some(preempt) = &self.preempt else { return write!(f, "{named:?}") };
        let modes: Vec<String> = preempt.iter().map(|mode| format!("\"{mode}\"")).collect();
        write!(f, "{{ kernel = {named:?}, preempt = [{}] }}", modes.join(", "))
    }
}

impl Serialize for Named {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Named {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl Serialize for KernelLevel {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let kernel = Named(self.label.clone(), self.kernel.clone());
        match self.preempt.clone() {
            None => kernel.serialize(serializer),
            Some(preempt) => Table { kernel, preempt }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for KernelLevel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LevelVisitor)
    }
}

/// Reads either form. An untagged enum would hide what is wrong with a name.
struct LevelVisitor;

impl<'de> Visitor<'de> for LevelVisitor {
    type Value = KernelLevel;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a kernel's name, or a table such as { kernel = \"debian:6.12\", preempt = [\"none\"] }")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<KernelLevel, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<KernelLevel, A::Error> {
        let Table { kernel: Named(label, kernel), preempt } =
            Table::deserialize(MapAccessDeserializer::new(map))?;
        Ok(KernelLevel { label, kernel, preempt: Some(preempt) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_read_and_written() {
        for (text, label) in [
            ("debian:6.12", None),
            ("base=debian:6.12", Some("base")),
            ("source:6.12+HZ_1000=y", None),
            ("hz=source:6.12+HZ_1000=y", Some("hz")),
            ("file:/b,modules=/m", None),
            ("mine=file:/b,modules=/m", Some("mine")),
        ] {
            let level: KernelLevel = text.parse().unwrap();
            assert_eq!(level.label.as_deref(), label);
            let json = serde_json::to_string(&level).unwrap();
            assert_eq!(json, format!("{text:?}"), "as recordings have it");
            assert_eq!(level.to_string(), json);
            assert_eq!(serde_json::from_str::<KernelLevel>(&json).unwrap(), level);
        }
    }

    #[test]
    fn a_level_with_modes_is_a_table() {
        let json = r#"{"kernel":"a=debian:6.12","preempt":["none"]}"#;
        let level: KernelLevel = serde_json::from_str(json).unwrap();
        assert_eq!(level.preempt, Some(vec![PreemptMode::None]));
        assert_eq!(serde_json::to_string(&level).unwrap(), json);
        assert_eq!(level.to_string(), r#"{ kernel = "a=debian:6.12", preempt = ["none"] }"#);
    }

    #[test]
    fn hostile_labels_are_refused_by_name() {
        for text in ["=debian:6.12", "a b=debian:6.12", "\u{1b}[2J=debian:6.12", "host=debian:6.12"]
        {
            let error = text.parse::<KernelLevel>().unwrap_err().to_string();
            assert!(error.contains("is not a label"), "{error}");
            assert!(!error.contains('\u{1b}'), "{error}");
        }
        let long = format!("{}=debian:6.12", "a".repeat(60_000));
        let error = long.parse::<KernelLevel>().unwrap_err().to_string();
        assert!(error.contains("24 at most") && error.len() < 500, "{error}");
        let error = "base=".parse::<KernelLevel>().unwrap_err().to_string();
        assert!(error.contains("names no kernel"), "{error}");
    }
}
