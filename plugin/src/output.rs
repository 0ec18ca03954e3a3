//! The stream that the plugin writes, buffered.

use std::{fs::File, io::Write, process};

use preemptlab_protocol::trace::stream::{MAGIC, SiteKind};

use crate::complaint::complain;

const BUFFER_BYTES: usize = 1 << 20;

/// Longer than any record.
const RECORD_BYTES_MAX: usize = 1 << 12;

pub struct Output {
    file: File,
    buffer: Vec<u8>,
}

impl Output {
    pub fn new(file: File, format: u32) -> Self {
        let mut buffer = Vec::with_capacity(BUFFER_BYTES);
        buffer.extend_from_slice(&MAGIC);
        buffer.extend_from_slice(&format.to_le_bytes());
        Self { file, buffer }
    }

    /// Appends a number as unsigned LEB128.
    pub fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.buffer.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.buffer.push(number as u8);
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    pub fn site(&mut self, kind: SiteKind, address: u64, tag: u64) {
        let (kind, field) = kind.encode();
        [tag, kind, address, field].into_iter().for_each(|number| self.number(number));
    }

    /// To be called after each record: makes room for the next one.
    pub fn flush_if_full(&mut self) {
        if self.buffer.len() > BUFFER_BYTES - RECORD_BYTES_MAX {
            self.flush();
        }
    }

    /// Without its trace the execution is worth nothing, so that it ends here if there is no room.
    pub fn flush(&mut self) {
        if let Err(error) = self.file.write_all(&self.buffer) {
            complain(&format!("the trace cannot be written: {error}"));
            process::exit(1);
        }
        self.buffer.clear();
    }
}
