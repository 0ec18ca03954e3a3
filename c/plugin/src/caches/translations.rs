//! The TLBs of a CPU.
//!
//! An address space is known by its CR3. The CPU that is described has PCIDs, and Linux keeps the
//! translations of so many spaces on each CPU (`TLB_NR_DYN_ASIDS`, arch/x86/include/asm/tlbflush.h); QEMU's
//! CPU has none, so that the kernel writes CR3 to empty a space: the same value again.

use preemptlab_protocol::caches::Caches;

use super::sets::Sets;

/// The address spaces whose translations a CPU keeps.
const SPACES: usize = 6;

/// The number of the kernel's space, which all others hold.
const KERNEL: u64 = 0;

/// Where a translation was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    First,
    Second,
    /// In the page tables; the line of the entry, by a number of its own.
    Tables(u32),
}

pub struct Translations {
    first: Sets<u64>,
    second: Sets<u64>,
    /// CR3 and number of each space, the current one first.
    spaces: [(u64, u8); SPACES],
    /// The number given last.
    last: u8,
}

impl Translations {
    pub fn new(caches: &Caches) -> Self {
        let sets = |size: preemptlab_protocol::caches::TlbSize| Sets::new(size.sets(), size.ways());
        let (first, second) = (sets(caches.dtlb), sets(caches.stlb));
        Self { first, second, spaces: [(u64::MAX, 1); SPACES], last: 1 }
    }

    /// Looks an address up that is mapped to a physical one.
    pub fn look_up(&mut self, address: u64, physical: u64) -> Found {
        let page = address >> 12;
        let space = if address >> 63 == 0 { u64::from(self.spaces[0].1) } else { KERNEL };
        // Neither a page that is mapped elsewhere nor another space has this tag.
        let tag = page & 0xf_ffff_ffff | space << 36 | physical >> 12 << 44;
        if self.first.touch(tag) {
            return Found::First;
        }
        if self.second.touch(tag) {
            return Found::Second;
        }
        // Eight entries have a line. Numbers of physical lines are below this bit.
        let line = page >> 3 ^ space << 23;
        let bit = 1 << 30;
        Found::Tables(bit | (line as u32 % bit))
    }

    /// The guest writes CR3.
    pub fn switch(&mut self, cr3: u64) {
        let known = self.spaces.iter().position(|(other, _)| *other == cr3);
        self.spaces[..=known.unwrap_or(SPACES - 1)].rotate_right(1);
        if matches!(known, Some(1..)) {
            return;
        }
        if self.last == u8::MAX {
            self.clear();
        }
        self.last += 1;
        self.spaces[0] = (cr3, self.last);
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.first.clear();
        self.second.clear();
        self.last = 1;
        self.spaces = [(u64::MAX, 1); SPACES];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caches::tests::caches;

    const USER: u64 = 0x7fff_1234_5678;
    const KERNEL: u64 = 0xffff_8880_0000_1000;

    fn is_in_tables(found: Found) -> bool {
        matches!(found, Found::Tables(line) if line >> 30 == 1)
    }

    #[test]
    fn a_space_keeps_its_translations_until_its_cr3_is_written_again() {
        let mut tlb = Translations::new(&caches());
        tlb.switch(0x1000);
        assert!(is_in_tables(tlb.look_up(USER, 0)));
        assert!(is_in_tables(tlb.look_up(KERNEL, 0)));
        tlb.switch(0x2000);
        assert!(is_in_tables(tlb.look_up(USER, 0)));
        assert_eq!(tlb.look_up(KERNEL, 0), Found::First);
        tlb.switch(0x1000);
        assert_eq!(tlb.look_up(USER, 0), Found::First);
        tlb.switch(0x1000);
        assert!(is_in_tables(tlb.look_up(USER, 0)));
        tlb.switch(0x2000);
        assert_eq!(tlb.look_up(USER, 0), Found::First);
    }

    #[test]
    fn so_many_spaces_are_kept() {
        let mut tlb = Translations::new(&caches());
        for space in 1..=SPACES as u64 {
            tlb.switch(space << 12);
            assert!(is_in_tables(tlb.look_up(space << 12, 0)));
        }
        tlb.switch(1 << 12);
        assert_ne!(tlb.look_up(1 << 12, 0), Found::Tables(0));
        assert!(!is_in_tables(tlb.look_up(1 << 12, 0)));
        tlb.switch(7 << 12);
        tlb.switch(2 << 12);
        assert!(is_in_tables(tlb.look_up(2 << 12, 0)), "the seventh took the place of the second");
    }

    #[test]
    fn a_page_that_is_mapped_elsewhere_is_looked_up_again() {
        let mut tlb = Translations::new(&caches());
        tlb.switch(0x1000);
        tlb.look_up(USER, 0x5000);
        assert_eq!(tlb.look_up(USER, 0x5000), Found::First);
        assert!(is_in_tables(tlb.look_up(USER, 0x6000)));
    }

    /// Numbers of spaces are used again, and no translation with them.
    #[test]
    fn numbers_of_spaces_do_not_run_out() {
        let mut tlb = Translations::new(&caches());
        for _ in 0..1000 {
            tlb.switch(0x1000);
            assert!(is_in_tables(tlb.look_up(USER, 0)));
            assert_eq!(tlb.look_up(USER, 0), Found::First);
        }
    }

    #[test]
    fn what_the_first_forgets_the_second_has() {
        let mut tlb = Translations::new(&caches());
        tlb.switch(0x1000);
        assert!((0..100).all(|page| is_in_tables(tlb.look_up(page << 12, 0))));
        assert_eq!(tlb.look_up(0, 0), Found::Second);
        assert_eq!(tlb.look_up(99 << 12, 0), Found::First);
    }
}
