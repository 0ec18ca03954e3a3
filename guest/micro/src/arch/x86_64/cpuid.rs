//! The processor's words about its TLBs.

use alloc::{format, string::String, vec::Vec};
use core::arch::x86_64::__cpuid_count;

use rustix::io;

use crate::place;

/// The leaf of an Intel processor whose subleaves are its TLBs (SDM, volume 2A, CPUID).
const TRANSLATIONS: u32 = 0x18;

/// More subleaves than any processor has.
const SUBLEAVES_MAX: u32 = 31;

/// Leaves of AMD processors that say of their TLBs how large they are, and how the sizes are to be read (APM,
/// volume 3, appendix E).
const OF_AMD: [u32; 3] = [0x8000_0005, 0x8000_0006, 0x8000_0021];

/// Executes CPUID on a CPU, and prints in hexadecimal, for each leaf that tells of TLBs, leaf, subleaf, EAX, EBX, ECX
/// and EDX. Beyond the last leaf a processor says something else, so that none is asked for.
pub fn translations(cpu: usize) -> Result<String, String> {
    let failed = |errno: io::Errno| format!("the CPU {cpu}: error {}", errno.raw_os_error());
    place::stay_at(cpu).map_err(failed)?;
    let last = |leaf| __cpuid_count(leaf, 0).eax;
    let mut leaves: Vec<(u32, u32)> = Vec::from([(0, 0)]);
    if last(0) >= TRANSLATIONS {
        let subleaves = last(TRANSLATIONS).min(SUBLEAVES_MAX);
        leaves.extend((0..=subleaves).map(|subleaf| (TRANSLATIONS, subleaf)));
    }
    let last_of_amd = last(0x8000_0000);
    leaves.extend(OF_AMD.into_iter().filter(|leaf| *leaf <= last_of_amd).map(|leaf| (leaf, 0)));
    let line = |(leaf, subleaf)| {
        let said = __cpuid_count(leaf, subleaf);
        let (eax, ebx, ecx, edx) = (said.eax, said.ebx, said.ecx, said.edx);
        format!("{leaf:08x} {subleaf:08x} {eax:08x} {ebx:08x} {ecx:08x} {edx:08x}\n")
    };
    Ok(leaves.into_iter().map(line).collect())
}
