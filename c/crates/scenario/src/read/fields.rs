//! Values of the tree, with errors that say where they are.

use std::ops::{Range, RangeInclusive};

use preemptlab_model::{ParseTimeError, VirtualDuration};
use preemptlab_protocol::script::NS_MAX;
use toml::{
    Spanned,
    de::{DeArray, DeTable, DeValue},
};

use crate::error::Refusal;

/// A value, with its place in the text.
pub(super) type Node<'i> = Spanned<DeValue<'i>>;

/// The tables `kind.NAME`, for names that may occur once.
pub(super) type Named<'a, 'i> = Vec<(&'a str, &'a Node<'i>)>;

/// The keys of a table, all of which are known.
pub(super) struct Fields<'a, 'i> {
    table: &'a DeTable<'i>,
    span: Range<usize>,
    what: &'static str,
}

impl<'a, 'i> Fields<'a, 'i> {
    /// Creates the reader of a table. `what` is the described object, with its article.
    ///
    /// # Errors
    ///
    /// A key that is not known.
    pub fn new(
        table: &'a DeTable<'i>,
        span: Range<usize>,
        what: &'static str,
        known: &[&str],
    ) -> Result<Self, Refusal> {
        for (key, _) in table {
            let name = key.get_ref();
            if !known.contains(&name.as_ref()) {
                let message = format!("{what} has no key `{name}`");
                return Err(Refusal::unknown(key.span(), message, name, known));
            }
        }
        Ok(Self { table, span, what })
    }

    /// Creates the reader of a value that must be a table.
    ///
    /// # Errors
    ///
    /// A value that is not a table, or has an unknown key.
    pub fn of(node: &'a Node<'i>, what: &'static str, known: &[&str]) -> Result<Self, Refusal> {
        let table = table(node, what)?;
        Self::new(table, node.span(), what, known)
    }

    pub fn get(&self, key: &str) -> Option<&'a Node<'i>> {
        self.table.iter().find(|(name, _)| name.get_ref() == key).map(|(_, node)| node)
    }

    pub fn need(&self, key: &str) -> Result<&'a Node<'i>, Refusal> {
        self.get(key).ok_or_else(|| {
            let message = format!("{} needs the key `{key}`", self.what);
            let help = format!("add `{key} = ...`; see docs/scenario-format.md");
            Refusal::new(self.span.start..self.span.start, message, help)
        })
    }

    /// Returns the tables under a key, by name and in the order of the file.
    ///
    /// # Errors
    ///
    /// A value that is not a table, or holds too many.
    pub fn tables(&self, key: &str, max: usize, plural: &str) -> Result<Named<'a, 'i>, Refusal> {
        let Some(node) = self.get(key) else { return Ok(Vec::new()) };
        let table = table(node, "what has names")?;
        if table.len() > max {
            return Err(Refusal::new(
                node.span(),
                format!("there are {} {plural}", table.len()),
                format!("at most {max} are possible"),
            ));
        }
        Ok(table.iter().map(|(name, node)| (name.get_ref().as_ref(), node)).collect())
    }
}

fn wrong_type(node: &Node<'_>, expected: &str) -> Refusal {
    let message = format!("{} stands here", described(node.get_ref()));
    Refusal::new(node.span(), message, format!("expected {expected}"))
}

fn described(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a number with a point",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

pub(super) fn table<'a, 'i>(node: &'a Node<'i>, what: &str) -> Result<&'a DeTable<'i>, Refusal> {
    node.get_ref().as_table().ok_or_else(|| wrong_type(node, &format!("a table: {what}")))
}

pub(super) fn array<'a, 'i>(
    node: &'a Node<'i>,
    expected: &str,
) -> Result<&'a DeArray<'i>, Refusal> {
    node.get_ref().as_array().ok_or_else(|| wrong_type(node, expected))
}

pub(super) fn text<'a>(node: &'a Node<'_>) -> Result<&'a str, Refusal> {
    node.get_ref().as_str().ok_or_else(|| wrong_type(node, "a string"))
}

pub(super) fn boolean(node: &Node<'_>) -> Result<bool, Refusal> {
    node.get_ref().as_bool().ok_or_else(|| wrong_type(node, "true or false"))
}

pub(super) fn integer(node: &Node<'_>) -> Result<i64, Refusal> {
    node.get_ref()
        .as_integer()
        .and_then(|number| i64::from_str_radix(number.as_str(), number.radix()).ok())
        .ok_or_else(|| wrong_type(node, "an integer"))
}

pub(super) fn integer_to(node: &Node<'_>, range: RangeInclusive<u64>) -> Result<u64, Refusal> {
    let number = integer(node)?;
    u64::try_from(number).ok().filter(|number| range.contains(number)).ok_or_else(|| {
        let help = format!("it must be {} to {}", range.start(), range.end());
        Refusal::new(node.span(), format!("{number} is not possible here"), help)
    })
}

/// Reads a time, in nanoseconds.
pub(super) fn time(node: &Node<'_>) -> Result<u64, Refusal> {
    let text = node
        .get_ref()
        .as_str()
        .ok_or_else(|| wrong_type(node, "a time as a string, such as \"2s\" or \"250us\""))?;
    let ns = text.parse().map(VirtualDuration::as_ns).map_err(|error: ParseTimeError| {
        let help = "times are numbers with ns, us, ms or s: 2s, 1.5ms";
        Refusal::new(node.span(), error.to_string(), help)
    })?;
    match ns {
        0..=NS_MAX => Ok(ns),
        _ => {
            let message = format!("`{text}` is longer than {} s", NS_MAX / 1_000_000_000);
            Err(Refusal::new(node.span(), message, "1000s is the longest"))
        }
    }
}

/// Reads a time longer than nothing, in nanoseconds.
pub(super) fn time_above_0(node: &Node<'_>) -> Result<u64, Refusal> {
    match time(node)? {
        0 => Err(Refusal::new(node.span(), "no time at all", "1ns is the shortest")),
        ns => Ok(ns),
    }
}
