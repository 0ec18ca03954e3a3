//! JSON Schemas of the values that documents hold as texts.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::{
    Digest, Distribution, KernelRef, Label, MetricName, Name, PackageVersion, PricesOf, Setting,
    Settings, Statistic,
};

/// Describes types that are written as a text, each with the meaning of the text.
macro_rules! texts {
    ($($of:ty: $name:literal, $meaning:literal;)*) => {$(
        impl JsonSchema for $of {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "description": $meaning })
            }
        }
    )*};
}

texts! {
    Digest: "Digest", "SHA-256, in 64 hexadecimal digits.";
    Distribution: "Distribution", "Name of a distribution: `wakeup.fifo`.";
    KernelRef: "Kernel", "Name of a kernel: `debian:6.12-rt`.";
    Label: "Label", "Name that an experiment gives to a kernel.";
    MetricName: "Metric", "Name of a metric: `wakeup.fifo.p99`.";
    Name: "Name", "Name in an experiment.";
    PackageVersion: "PackageVersion", "Version of a package.";
    PricesOf: "Prices", "Profile that instructions have their prices from, with caches or without.";
    Setting: "Setting", "A setting of a kernel besides the mode: `threadirqs`.";
    Settings: "Settings", "Settings besides the mode, separated by blanks.";
    Statistic: "Statistic", "A statistic of a distribution: `p99`, `max`.";
}
