//! The stream that the plugin writes, buffered.

use std::{fs::File, io::Write};

use preemptlab_protocol::trace::stream::{MAGIC, SiteKind};

use crate::complaint::fail;

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
            fail(&format!("the trace cannot be written: {error}"));
        }
        self.buffer.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::{env, process::Command};

    use super::*;

    const CHILD: &str = "A_FULL_DISK";

    fn write_to_full_disk() {
        let file = File::options().write(true).open("/dev/full").unwrap();
        let mut output = Output::new(file, 1);
        output.number(1);
        output.flush();
    }

    extern "C" fn at_exit() {
        write_to_full_disk();
    }

    /// QEMU calls the plugin at its end, too.
    #[test]
    fn a_full_disk_is_one_complaint() {
        if env::var_os(CHILD).is_some() {
            // SAFETY: the function needs nothing that is gone at the end of a process.
            unsafe { libc::atexit(at_exit) };
            write_to_full_disk();
            return;
        }
        let name = "output::tests::a_full_disk_is_one_complaint";
        let child = Command::new(env::current_exe().unwrap())
            .args(["--exact", name, "--nocapture"])
            .env(CHILD, "1")
            .output()
            .unwrap();
        assert_eq!(child.status.code(), Some(1), "{child:?}");
        let said = String::from_utf8(child.stderr).unwrap();
        assert_eq!(said.matches("the trace cannot be written: No space left").count(), 1, "{said}");
    }
}
