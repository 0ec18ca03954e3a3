//! Feeds the cell's seed to the kernel.

use rustix::{
    fs::{Mode, OFlags, open},
    io::Errno,
    ioctl::{NoArg, Opcode, Setter, ioctl, opcode},
};

use crate::trouble::{Attempt, Result};

const POOL_BYTES: usize = 32;

// random(4); include/uapi/linux/random.h
const RNDADDENTROPY: Opcode = opcode::write::<[i32; 2]>(b'R', 0x03);
const RNDRESEEDCRNG: Opcode = opcode::none(b'R', 0x07);

/// `struct rand_pool_info` with its buffer.
#[repr(C)]
struct PoolInfo {
    entropy_bits: i32,
    buffer_bytes: i32,
    buffer: [u8; POOL_BYTES],
}

/// Adds the seed to the entropy pool and makes the generator take it at once.
///
/// Without it every cell of a boot would continue with the random numbers of the snapshot: the
/// same address-space layouts, hash seeds and stack offsets.
pub fn seed(seed: u64) -> Result<()> {
    feed(expand(seed)).attempt(|| "feed the seed to /dev/urandom".into())
}

fn feed(buffer: [u8; POOL_BYTES]) -> core::result::Result<(), Errno> {
    let random = open("/dev/urandom", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    let info =
        PoolInfo { entropy_bits: 8 * POOL_BYTES as i32, buffer_bytes: POOL_BYTES as i32, buffer };
    // SAFETY: the argument has the layout that the call reads.
    unsafe { ioctl(&random, Setter::<RNDADDENTROPY, PoolInfo>::new(info)) }?;
    // SAFETY: the call has no argument.
    unsafe { ioctl(&random, NoArg::<RNDRESEEDCRNG>::new()) }
}

/// splitmix64: its successive outputs for one seed.
fn expand(seed: u64) -> [u8; POOL_BYTES] {
    let mut state = seed;
    let mut bytes = [0; POOL_BYTES];
    for chunk in bytes.chunks_exact_mut(8) {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = state;
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        chunk.copy_from_slice(&(word ^ word >> 31).to_le_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first outputs of the reference implementation (Vigna, splitmix64.c) for seed 1234567.
    #[test]
    fn expands_as_the_reference_does() {
        let bytes = expand(1_234_567);
        let first = u64::from_le_bytes(bytes[..8].try_into().unwrap());
        let second = u64::from_le_bytes(bytes[8..16].try_into().unwrap());
        assert_eq!((first, second), (6_457_827_717_110_365_317, 3_203_168_211_198_807_973));
    }
}
