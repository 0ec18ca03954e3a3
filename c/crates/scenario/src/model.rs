use std::{borrow::Cow, fmt, str::FromStr};

use preemptlab_model::{Flavour, PreemptMode, nearest};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

/// Preemption model, a column of the comparison: a kernel's flavour and a mode of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Model {
    /// The generic kernel in mode none.
    None,
    /// The generic kernel in mode voluntary.
    Voluntary,
    /// The generic kernel in mode full.
    Full,
    /// The generic kernel in mode lazy.
    Lazy,
    /// The `-rt` kernel (`PREEMPT_RT`) in mode full.
    Rt,
    /// The `-rt` kernel (`PREEMPT_RT`) in mode lazy.
    RtLazy,
}

impl Model {
    /// Every model, in the order in which tables show them.
    pub const ALL: [Self; 6] =
        [Self::None, Self::Voluntary, Self::Full, Self::Lazy, Self::Rt, Self::RtLazy];

    /// Returns the name of the model.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Voluntary => "voluntary",
            Self::Full => "full",
            Self::Lazy => "lazy",
            Self::Rt => "rt",
            Self::RtLazy => "rt-lazy",
        }
    }

    /// Returns the flavour of the model's kernel.
    pub const fn flavour(self) -> Flavour {
        match self {
            Self::Rt | Self::RtLazy => Flavour::Rt,
            _ => Flavour::Generic,
        }
    }

    /// Returns the mode of that kernel.
    pub const fn mode(self) -> PreemptMode {
        match self {
            Self::None => PreemptMode::None,
            Self::Voluntary => PreemptMode::Voluntary,
            Self::Full | Self::Rt => PreemptMode::Full,
            Self::Lazy | Self::RtLazy => PreemptMode::Lazy,
        }
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl JsonSchema for Model {
    fn schema_name() -> Cow<'static, str> {
        "Model".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": Self::ALL.map(Self::as_str) })
    }
}

impl Serialize for Model {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// The text names no model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown model `{name}`{}", match nearest {
    Some(nearest) => format!("; did you mean `{nearest}`?"),
    None => "; the models are none, voluntary, full, lazy, rt and rt-lazy".to_owned(),
})]
pub struct ParseModelError {
    /// Name that is not a model.
    pub name: String,
    /// The nearest valid name.
    pub nearest: Option<&'static str>,
}

impl FromStr for Model {
    type Err = ParseModelError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|model| model.as_str() == name).ok_or_else(|| ParseModelError {
            name: name.to_owned(),
            nearest: nearest(name, Self::ALL.map(Self::as_str)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_read_and_printed() {
        for model in Model::ALL {
            assert_eq!(model.to_string().parse(), Ok(model));
        }
        assert_eq!("voluntery".parse::<Model>().unwrap_err().nearest, Some("voluntary"));
        let error = "xyz".parse::<Model>().unwrap_err();
        assert!(error.to_string().contains("rt-lazy"), "{error}");
    }

    #[test]
    fn rt_is_a_flavour_and_a_mode() {
        assert_eq!(
            (Model::RtLazy.flavour(), Model::RtLazy.mode()),
            (Flavour::Rt, PreemptMode::Lazy)
        );
        assert_eq!(
            (Model::Full.flavour(), Model::Full.mode()),
            (Flavour::Generic, PreemptMode::Full)
        );
    }
}
