//! Memory in user space, in the caches of the first and the second level.

use alloc::vec;

use rustix::io;

use crate::{
    arch::{copy_lines, fill_lines},
    meter::Meter,
};

/// Copies with 16 bytes an instruction, as C libraries copy.
pub fn copy<const BYTES: usize>(meter: &mut Meter, times: u32) -> io::Result<()> {
    let (from, mut to) = (vec![1_u8; BYTES], vec![0_u8; BYTES]);
    meter.measure(|| {
        for _ in 0..times {
            copy_lines(&from, &mut to);
        }
        Ok(())
    })
}

/// Fills with 16 bytes an instruction.
pub fn fill<const BYTES: usize>(meter: &mut Meter, times: u32) -> io::Result<()> {
    let mut to = vec![0_u8; BYTES];
    meter.measure(|| {
        for _ in 0..times {
            fill_lines(&mut to);
        }
        Ok(())
    })
}
