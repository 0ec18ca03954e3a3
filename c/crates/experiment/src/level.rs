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
    /// Kernels that answer the same question: the first one that is on offer takes the place of one that is not.
    pub or: Vec<KernelRef>,
}

/// The form of a level that is more than a name.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    kernel: Named,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    preempt: Option<Vec<PreemptMode>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    or: Vec<KernelRef>,
}

/// A kernel with its label.
struct Named(Option<Label>, KernelRef);

impl From<KernelRef> for KernelLevel {
    fn from(kernel: KernelRef) -> Self {
        Self { label: None, kernel, preempt: None, or: Vec::new() }
    }
}

/// The text is not a kernel with a label.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParseKernelLevelError(String);

impl FromStr for KernelLevel {
    type Err = ParseKernelLevelError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let Named(label, kernel) = text.parse()?;
        Ok(Self { label, ..kernel.into() })
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

/// Writes it as a file would: the text, or a table where it is more than a name.
impl fmt::Display for KernelLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = Named(self.label.clone(), self.kernel.clone()).to_string();
        if self.preempt.is_none() && self.or.is_empty() {
            return write!(f, "{named:?}");
        }
        write!(f, "{{ kernel = {named:?}")?;
        let list =
            |of: Vec<String>| of.iter().map(|it| format!("{it:?}")).collect::<Vec<_>>().join(", ");
        if let Some(preempt) = &self.preempt {
            write!(f, ", preempt = [{}]", list(preempt.iter().map(ToString::to_string).collect()))?;
        }
        if !self.or.is_empty() {
            write!(f, ", or = [{}]", list(self.or.iter().map(ToString::to_string).collect()))?;
        }
        f.write_str(" }")
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
        match (self.preempt.clone(), self.or.clone()) {
            (None, or) if or.is_empty() => kernel.serialize(serializer),
            (preempt, or) => Table { kernel, preempt, or }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for KernelLevel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LevelVisitor)
    }
}

/// Reads either form. An untagged enum would hide the mistake in a name.
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
        let Table { kernel: Named(label, kernel), preempt, or } =
            Table::deserialize(MapAccessDeserializer::new(map))?;
        let is_packaged = |kernel: &KernelRef| kernel.packager().is_some();
        if let Some(other) =
            [&kernel].into_iter().chain(&or).find(|it| !or.is_empty() && !is_packaged(it))
        {
            let reason = format!(
                "`or` is for kernels that a mirror may drop, and `{other}` is none: use debian:VERSION"
            );
            return Err(serde::de::Error::custom(reason));
        }
        Ok(KernelLevel { label, kernel, preempt, or })
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
    fn a_level_with_others_in_its_place_is_a_table() {
        let json = r#"{"kernel":"a=debian:6.18","or":["debian:6.17","debian:6.16"]}"#;
        let level: KernelLevel = serde_json::from_str(json).unwrap();
        assert_eq!((level.or.len(), &level.preempt), (2, &None));
        assert_eq!(serde_json::to_string(&level).unwrap(), json);
        let text = r#"{ kernel = "a=debian:6.18", or = ["debian:6.17", "debian:6.16"] }"#;
        assert_eq!(level.to_string(), text);
    }

    /// Only a mirror tells before a build or a read whether it offers a kernel.
    #[test]
    fn others_in_its_place_are_of_a_mirror() {
        for json in [
            r#"{"kernel":"debian:6.18","or":["tree:/t"]}"#,
            r#"{"kernel":"source:6.12","or":["debian:6.12"]}"#,
        ] {
            let error = serde_json::from_str::<KernelLevel>(json).unwrap_err().to_string();
            assert!(error.contains("use debian:VERSION"), "{error}");
        }
        let empty = r#"{"kernel":"tree:/t","or":[]}"#;
        assert!(serde_json::from_str::<KernelLevel>(empty).is_ok());
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
