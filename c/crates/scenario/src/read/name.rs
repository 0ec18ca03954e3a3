//! Names of scenarios and of their parts.

use preemptlab_model::Name;
use preemptlab_protocol::script::NAME_BYTES_MAX;

use crate::error::Refusal;

use super::fields::Node;

/// Reads a name that the kernel can keep whole in `comm`.
pub(super) fn comm(name: &str, node: &Node<'_>) -> Result<String, Refusal> {
    plain_name(name, node, NAME_BYTES_MAX)
}

/// Reads a name that needs no quotes anywhere.
pub(super) fn plain_name(name: &str, node: &Node<'_>, bytes_max: usize) -> Result<String, Refusal> {
    let plain = |byte: u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-')
    };
    // The kernel's names are shorter than those of files, and are made of less.
    let is_name = name.parse::<Name>().is_ok();
    if is_name && name.len() <= bytes_max && name.bytes().all(plain) {
        return Ok(name.to_owned());
    }
    Err(Refusal::new(
        node.span(),
        format!("`{name}` cannot be a name"),
        format!("this name is 1 to {bytes_max} of a-z, 0-9, _ and -, and begins with no -"),
    ))
}
