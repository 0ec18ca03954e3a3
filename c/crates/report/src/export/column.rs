use std::borrow::Cow;

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name of the column.
    pub name: &'static str,
    /// Type of the values.
    pub kind: Kind,
    /// Whether rows may lack a value: an empty field in CSV, a null in Parquet.
    pub optional: bool,
    /// The unit, where it is always the same one.
    pub unit: Option<&'static str>,
    /// Description of the column, in a sentence.
    pub about: &'static str,
}

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text in UTF-8.
    Utf8,
    /// A whole number from 0 to 2^32 - 1.
    U32,
    /// A whole number from 0 to 2^63 - 1.
    I64,
    /// A finite number.
    F64,
    /// `true` or `false`.
    Bool,
}

impl Kind {
    /// Returns `utf8`, `u32`, `i64`, `f64` or `bool`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Utf8 => "utf8",
            Self::U32 => "u32",
            Self::I64 => "i64",
            Self::F64 => "f64",
            Self::Bool => "bool",
        }
    }
}

/// Value of a row in a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    Absent,
    Utf8(Cow<'a, str>),
    U32(u32),
    /// Unsigned in recordings; [`Row`](super::row::Row) sees to it that it fits.
    I64(u64),
    F64(f64),
    Bool(bool),
}

impl<'a> Value<'a> {
    pub fn text(text: &'a str) -> Self {
        Self::Utf8(Cow::Borrowed(text))
    }

    pub fn display(value: impl std::fmt::Display) -> Self {
        Self::Utf8(Cow::Owned(value.to_string()))
    }

    pub fn optional<T>(value: Option<T>, of: impl FnOnce(T) -> Self) -> Self {
        value.map_or(Self::Absent, of)
    }
}
