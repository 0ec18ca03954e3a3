//! The TLBs of data, as CPUID tells them.

use std::collections::BTreeMap;

use crate::{
    CalibrateError,
    caches::{Tlb, Tlbs},
};

/// No TLB has more entries, and none is told by more lines.
const ENTRIES_MAX: u32 = 1 << 16;
const LINES_MAX: usize = 64;

/// The registers EAX, EBX, ECX and EDX by leaf and subleaf.
type Leaves = BTreeMap<(u32, u32), [u32; 4]>;

/// Reads what the program printed of CPUID. Returns `None` where the processor, or its hypervisor, does not tell
/// both TLBs.
pub fn tlbs(text: &str) -> Result<Option<Tlbs>, CalibrateError> {
    let unreadable = |line: &str| CalibrateError::Line(line.chars().take(80).collect());
    let mut leaves = Leaves::new();
    for text in text.lines() {
        let (leaf, registers) = line(text).ok_or_else(|| unreadable(text))?;
        if leaves.len() == LINES_MAX || leaves.insert(leaf, registers).is_some() {
            return Err(unreadable(text));
        }
    }
    let [_, ebx, ecx, edx] = leaves.get(&(0, 0)).ok_or_else(|| unreadable("none of leaf 0"))?;
    let vendor = [ebx, edx, ecx].map(|register| register.to_le_bytes()).concat();
    let (dtlb, stlb) = match &vendor[..] {
        b"GenuineIntel" => (of_intel(&leaves, 1), of_intel(&leaves, 2)),
        b"AuthenticAMD" | b"HygonGenuine" => (first_of_amd(&leaves), second_of_amd(&leaves)),
        _ => (None, None),
    };
    let is_bounded = |tlb: &Tlb| (1..=ENTRIES_MAX).contains(&tlb.entries);
    let tlbs = dtlb.filter(is_bounded).zip(stlb.filter(is_bounded));
    Ok(tlbs.map(|(dtlb, stlb)| Tlbs { dtlb, stlb }))
}

/// Reads a line of six numbers.
fn line(text: &str) -> Option<((u32, u32), [u32; 4])> {
    let number = |word: &str| {
        let is_plain = word.len() == 8 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_plain.then(|| u32::from_str_radix(word, 16).ok()).flatten()
    };
    let numbers: Option<Vec<u32>> = text.split(' ').map(number).collect();
    let [leaf, subleaf, registers @ ..] = &numbers?[..] else { return None };
    Some(((*leaf, *subleaf), registers.try_into().ok()?))
}

/// Finds the TLB of a level for loads from pages of 4 KiB (Intel SDM, volume 2A, CPUID, leaf 0x18). A page may be in any of
/// those that the processor tells, so that they count as one whose sets have the ways of all.
fn of_intel(leaves: &Leaves, level: u32) -> Option<Tlb> {
    let subleaves = leaves.range((0x18, 0)..=(0x18, u32::MAX)).map(|(_, registers)| registers);
    let tlbs = subleaves.filter_map(|[_, ebx, sets, edx]| {
        // 1 is a TLB of data, 3 one of data and instructions, 4 one of loads.
        let is_of_loads = matches!(edx & 0x1f, 1 | 3 | 4);
        let is_it = is_of_loads && edx >> 5 & 7 == level && ebx & 1 == 1;
        is_it.then_some((sets.saturating_mul(ebx >> 16), ebx >> 16))
    });
    let all = tlbs.reduce(|(entries, ways), (more, more_ways)| {
        (entries.saturating_add(more), ways.saturating_add(more_ways))
    });
    all.map(|(entries, ways)| Tlb { entries, ways: Some(ways) })
}

/// Finds the first TLB of data for pages of 4 KiB (AMD APM, volume 3, appendix E, Fn8000_0005).
fn first_of_amd(leaves: &Leaves) -> Option<Tlb> {
    let [_, ebx, _, _] = leaves.get(&(0x8000_0005, 0))?;
    let (entries, ways) = (ebx >> 16 & 0xff, ebx >> 24);
    Some(Tlb { entries, ways: Some(if ways == 0xff { entries } else { ways }) })
}

/// Finds the second TLB of data for pages of 4 KiB (Fn8000_0006); its size is in units of 32 entries where
/// Fn8000_0021 says so.
fn second_of_amd(leaves: &Leaves) -> Option<Tlb> {
    let [_, ebx, _, _] = leaves.get(&(0x8000_0006, 0))?;
    let is_times_32 = leaves.get(&(0x8000_0021, 0)).is_some_and(|[eax, ..]| eax >> 14 & 1 == 1);
    let entries = (ebx >> 16 & 0xfff) * if is_times_32 { 32 } else { 1 };
    let ways = match ebx >> 28 {
        0 => return None,
        ways @ 1..=4 => ways,
        5 => 6,
        6 => 8,
        8 => 16,
        10 => 32,
        11 => 48,
        12 => 64,
        13 => 96,
        14 => 128,
        15 => entries,
        // Another leaf tells these of caches; none does of TLBs.
        _ => return Some(Tlb { entries, ways: None }),
    };
    Some(Tlb { entries, ways: Some(ways) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTEL: &str = "00000000 00000000 00000020 756e6547 6c65746e 49656e69\n";
    const AMD: &str = "00000000 00000000 00000010 68747541 444d4163 69746e65\n";

    fn told(text: &str) -> Option<[(u32, Option<u32>); 2]> {
        let of = |tlb: Tlb| (tlb.entries, tlb.ways);
        tlbs(text).unwrap().map(|tlbs| [of(tlbs.dtlb), of(tlbs.stlb)])
    }

    /// CPUID of a Xeon of the generation Sapphire Rapids, by the collection InstLatx64.
    fn sapphire_rapids() -> String {
        format!(
            "{INTEL}00000018 00000000 00000008 00000000 00000000 00000000\n\
             00000018 00000001 00000000 00080001 00000020 00004022\n\
             00000018 00000002 00000000 00080006 00000004 00004022\n\
             00000018 00000003 00000000 0010000f 00000001 00004125\n\
             00000018 00000004 00000000 00040001 00000010 00004024\n\
             00000018 00000005 00000000 00040006 00000008 00004024\n\
             00000018 00000006 00000000 00080008 00000001 00004124\n\
             00000018 00000007 00000000 00080007 00000080 00004043\n\
             00000018 00000008 00000000 00080009 00000080 00004043\n"
        )
    }

    #[test]
    fn an_intel_processor_tells_its_tlbs_by_leaf_18() {
        // 256 entries for instructions, 16 for stores, 64 for loads, and twice 1024 for all.
        assert_eq!(told(&sapphire_rapids()), Some([(64, Some(4)), (2048, Some(16))]));
    }

    #[test]
    fn an_amd_processor_tells_its_tlbs_by_extended_leaves() {
        // An EPYC of Zen 4 and one of Zen 5, by the same collection.
        let zen4 = "80000005 00000000 ff48ff40 ff48ff40 20080140 20080140\n\
                    80000006 00000000 5c002200 6c004200 04006140 02009140\n\
                    80000021 00000000 00062fcf 0000015c 00000000 00000000\n";
        assert_eq!(told(&format!("{AMD}{zen4}")), Some([(72, Some(72)), (3072, Some(8))]));
        let zen5 = "80000005 00000000 ff60ff40 ff60ff40 300c0140 20080140\n\
                    80000006 00000000 40802040 60804040 04008140 08009140\n\
                    80000021 00000000 d93fffcf 00080382 00000000 00000000\n";
        assert_eq!(told(&format!("{AMD}{zen5}")), Some([(96, Some(96)), (4096, Some(8))]));
    }

    #[test]
    fn a_processor_that_does_not_tell_is_not_guessed() {
        // This is what a hypervisor leaves of an Intel Xeon, and an older processor has no such leaf.
        let zeros = format!(
            "{INTEL}00000018 00000000 00000000 00000000 00000000 00000000\n\
             80000005 00000000 00000000 00000000 00000000 00000000\n\
             80000006 00000000 00000000 00000000 08007040 00000000\n"
        );
        assert_eq!((told(&zeros), told(INTEL), told(AMD)), (None, None, None));
        let disabled = "80000005 00000000 ff48ff40 ff48ff40 20080140 20080140\n\
                        80000006 00000000 00000000 00000000 04006140 02009140\n";
        assert_eq!(told(&format!("{AMD}{disabled}")), None);
        let unknown = sapphire_rapids().replace("756e6547", "756e6548");
        assert_eq!(told(&unknown), None);
        // More entries than a TLB has, by ways or by sets.
        for sets in ["00004000", "ffffffff"] {
            assert_eq!(
                told(&sapphire_rapids().replace("00000080 00004043", &format!("{sets} 00004043"))),
                None
            );
        }
    }

    #[test]
    fn lines_that_say_something_else_are_refused() {
        let many: String =
            (0..LINES_MAX).map(|subleaf| format!("00000018 {subleaf:08x} 0 0 0 0\n")).collect();
        let many = many.replace(" 0", " 00000000");
        for text in [
            "",
            "00000018 00000000 00000000 00000000 00000000 00000000\n",
            &format!("{INTEL}{INTEL}"),
            &format!("{INTEL}00000018 00000000 00000000 00000000 00000000\n"),
            &format!("{INTEL}00000018 00000000 00000000 00000000 00000000 00000000 00000000\n"),
            &format!("{INTEL}18 00000000 00000000 00000000 00000000 00000000\n"),
            &format!("{INTEL}00000018 00000000 0000000g 00000000 00000000 00000000\n"),
            &format!("{INTEL}00000018 00000000 +0000000 00000000 00000000 00000000\n"),
            &format!("{INTEL}\n"),
            &format!("{INTEL}{many}"),
        ] {
            let refused = tlbs(text).unwrap_err();
            assert!(matches!(refused, CalibrateError::Line(_)), "{refused}");
        }
    }
}
