//! Variants of a scenario: tables that are laid over the file's own.

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use crate::{Expectation, Scenario, error::Refusal};

use super::{
    expect,
    fields::{self, Fields, Node},
};

/// The most variants of a scenario.
pub(super) const VARIANTS_MAX: usize = 8;

/// The longest name of a variant, in bytes.
pub(super) const NAME_BYTES_MAX: usize = 16;

/// The tables that a variant may change, and its own expectations.
const KEYS: [&str; 5] = ["thread", "interrupt", "futex", "kernel_thread", "expect"];

/// The tables of which a variant has the same as the file.
const FIXED: [&str; 2] = ["thread", "interrupt"];

/// Returns the file as it is for a variant: each key of the variant's tables stands for the file's
/// own.
///
/// # Errors
///
/// A key that a variant cannot have, and a thread or an interrupt that the file lacks.
pub(super) fn merged<'i>(file: &DeTable<'i>, variant: &Node<'i>) -> Result<DeTable<'i>, Refusal> {
    let variant_keys = fields::table(variant, "a variant")?;
    Fields::of(variant, "a variant", &KEYS)?;
    let mut merged = file.clone();
    for (kind, node) in variant_keys.iter().filter(|(kind, _)| kind.get_ref() != "expect") {
        let changes = fields::table(node, "what has names")?;
        let own = merged.entry(kind.clone()).or_insert_with(|| empty(node));
        let DeValue::Table(own) = own.get_mut() else {
            let message = "this is no table in the file";
            return Err(Refusal::new(node.span(), message, "write [KIND.NAME] there"));
        };
        for (name, change) in changes {
            let is_known = own.contains_key(name.get_ref().as_ref());
            if !is_known && FIXED.contains(&kind.get_ref().as_ref()) {
                let message = format!("the file has no {} `{}`", kind.get_ref(), name.get_ref());
                let known: Vec<&str> = own.iter().map(|(key, _)| key.get_ref().as_ref()).collect();
                return Err(Refusal::unknown(name.span(), message, name.get_ref(), &known));
            }
            let keys = fields::table(change, "what a variant changes")?;
            let target = own.entry(name.clone()).or_insert_with(|| empty(change));
            // The reader of the file refuses a value that is not a table.
            if let DeValue::Table(target) = target.get_mut() {
                for (key, value) in keys {
                    target.insert(key.clone(), value.clone());
                }
            }
        }
    }
    Ok(merged)
}

fn empty<'i>(at: &Node<'i>) -> Node<'i> {
    Spanned::new(at.span(), DeValue::Table(DeTable::new()))
}

/// Returns the file's expectations and those of a variant, which stand for the file's of the same
/// thing.
///
/// # Errors
///
/// An expectation that is none.
pub(super) fn expectations(
    text: &str,
    variant: &Node<'_>,
    scenario: &Scenario,
) -> Result<Vec<Expectation>, Refusal> {
    let variant = Fields::of(variant, "a variant", &KEYS)?;
    let own = expect::expectations(text, &variant, &scenario.script)?;
    let subjects: Vec<_> = own.iter().map(|it| it.expected.subject()).collect();
    let is_kept = |it: &&Expectation| !subjects.contains(&it.expected.subject());
    let kept = scenario.expectations.iter().filter(is_kept).cloned();
    Ok(kept.chain(own.iter().cloned()).collect())
}
