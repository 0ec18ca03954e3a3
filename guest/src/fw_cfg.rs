//! QEMU's `fw_cfg` device by port I/O (QEMU `docs/specs/fw_cfg.rst`).
//!
//! The kernel's own driver is a module, and reads the directory once, before the snapshot.

use alloc::{format, vec, vec::Vec};

use crate::{
    arch::{read_port_bytes, write_port_word},
    trouble::{Result, Trouble},
};

pub const SELECTOR_PORT: u16 = 0x510;
pub const DATA_PORT: u16 = 0x511;
const SIGNATURE_KEY: u16 = 0x00;
const DIRECTORY_KEY: u16 = 0x19;
const ENTRY_BYTES: usize = 64;

/// QEMU has room for far fewer files.
const ENTRIES_MAX: usize = 4096;

/// Reads a file that the host gave.
pub fn read(name: &str, bytes_max: usize) -> Result<Vec<u8>> {
    select(SIGNATURE_KEY);
    if read_array() != *b"QEMU" {
        return Err(Trouble::other("the machine has no fw_cfg device"));
    }
    select(DIRECTORY_KEY);
    let count = u32::from_be_bytes(read_array()) as usize;
    if count > ENTRIES_MAX {
        return Err(Trouble::other(format!("the fw_cfg directory announces {count} files")));
    }
    let entry = (0..count)
        .map(|_| Entry::parse(&read_array()))
        .find(|entry| entry.has_name(name))
        .ok_or_else(|| Trouble::other(format!("the host gave no `{name}`")))?;
    if entry.length > bytes_max {
        return Err(Trouble::other(format!("`{name}` is too long: {} bytes", entry.length)));
    }
    let mut bytes = vec![0; entry.length];
    select(entry.key);
    read_port_bytes(DATA_PORT, &mut bytes);
    Ok(bytes)
}

fn select(key: u16) {
    write_port_word(SELECTOR_PORT, key);
}

fn read_array<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    read_port_bytes(DATA_PORT, &mut bytes);
    bytes
}

/// A file in the directory: `struct FWCfgFile`.
struct Entry {
    length: usize,
    key: u16,
    name: [u8; 56],
}

impl Entry {
    fn parse(bytes: &[u8; ENTRY_BYTES]) -> Self {
        let mut name = [0; 56];
        name.copy_from_slice(&bytes[8..]);
        Self {
            length: u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize,
            key: u16::from_be_bytes([bytes[4], bytes[5]]),
            name,
        }
    }

    fn has_name(&self, name: &str) -> bool {
        let length = self.name.iter().position(|byte| *byte == 0).unwrap_or(self.name.len());
        &self.name[..length] == name.as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_directory_entry() {
        let mut bytes = [0; ENTRY_BYTES];
        bytes[..6].copy_from_slice(&[0, 0, 1, 2, 0, 0x2a]);
        bytes[8..17].copy_from_slice(b"opt/a/job");
        let entry = Entry::parse(&bytes);
        assert_eq!((entry.length, entry.key), (0x102, 0x2a));
        assert!(entry.has_name("opt/a/job"));
        assert!(!entry.has_name("opt/a/jo") && !entry.has_name("opt/a/job2"));
    }
}
