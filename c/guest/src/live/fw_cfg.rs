//! The job, from a descriptor instead of QEMU's `fw_cfg` device.

use alloc::{format, vec::Vec};

use crate::{
    file,
    live::channel,
    trouble::{Attempt, Result, Trouble},
};

/// Reads what the host gave.
pub fn read(name: &str, bytes_max: usize) -> Result<Vec<u8>> {
    let bytes = file::read_from_start(channel::job(), bytes_max)
        .attempt(|| format!("read `{name}` from the host"))?;
    if bytes.len() > bytes_max {
        return Err(Trouble::other(format!("`{name}` is too long")));
    }
    Ok(bytes)
}
