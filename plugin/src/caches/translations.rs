//! The TLBs of a CPU.
//!
//! An address space is known by the name that the kernel gives it ([`Spaces`]).

use preemptlab_protocol::caches::Caches;

use super::sets::Sets;
use crate::arch::Spaces;

/// The name of no space: no processor's names have all bits.
const NONE: u64 = u64::MAX;

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
    /// Name and number of each space, the current one first.
    spaces: Vec<(u64, u8)>,
    /// The number given last.
    last: u8,
    is_emptied_by_itself: bool,
}

impl Translations {
    pub fn new(caches: &Caches, spaces: Spaces) -> Self {
        let sets = |size: preemptlab_protocol::caches::TlbSize| Sets::new(size.sets(), size.ways());
        let (first, second) = (sets(caches.dtlb), sets(caches.stlb));
        let Spaces { kept, is_emptied_by_itself, .. } = spaces;
        Self { first, second, spaces: vec![(NONE, 1); kept], last: 1, is_emptied_by_itself }
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

    /// The guest writes the name of a space. Returns whether addresses have another meaning now.
    pub fn switch(&mut self, name: u64) -> bool {
        let known = self.position(name);
        if known == Some(0) && !self.is_emptied_by_itself {
            return false;
        }
        let last = self.spaces.len() - 1;
        self.spaces[..=known.unwrap_or(last)].rotate_right(1);
        if !matches!(known, Some(1..)) {
            self.begin(name);
        }
        true
    }

    /// Forgets the translations of a space.
    pub fn empty(&mut self, name: u64) {
        match self.position(name) {
            Some(0) => self.begin(name),
            Some(at) => self.spaces[at].0 = NONE,
            None => {}
        }
    }

    /// Forgets everything. The current space is the same.
    pub fn clear(&mut self) {
        self.first.clear();
        self.second.clear();
        self.last = 1;
        let (current, _) = self.spaces[0];
        self.spaces.fill((NONE, 1));
        // A space that was emptied by itself has its name written next.
        if !self.is_emptied_by_itself {
            self.spaces[0].0 = current;
        }
    }

    fn position(&self, name: u64) -> Option<usize> {
        self.spaces.iter().position(|(other, _)| *other == name)
    }

    /// The current space has this name and a number that no translation has.
    fn begin(&mut self, name: u64) {
        if self.last == u8::MAX {
            self.clear();
        }
        self.last += 1;
        self.spaces[0] = (name, self.last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caches::tests::{SPACES, caches};

    const USER: u64 = 0x7fff_1234_5678;
    const KERNEL: u64 = 0xffff_8880_0000_1000;

    fn is_in_tables(found: Found) -> bool {
        matches!(found, Found::Tables(line) if line >> 30 == 1)
    }

    #[test]
    fn a_space_keeps_its_translations_until_its_cr3_is_written_again() {
        let mut tlb = Translations::new(&caches(), SPACES);
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
        let mut tlb = Translations::new(&caches(), SPACES);
        for space in 1..=6 {
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
        let mut tlb = Translations::new(&caches(), SPACES);
        tlb.switch(0x1000);
        tlb.look_up(USER, 0x5000);
        assert_eq!(tlb.look_up(USER, 0x5000), Found::First);
        assert!(is_in_tables(tlb.look_up(USER, 0x6000)));
    }

    /// Numbers of spaces are used again, and no translation with them.
    #[test]
    fn numbers_of_spaces_do_not_run_out() {
        let mut tlb = Translations::new(&caches(), SPACES);
        for _ in 0..1000 {
            tlb.switch(0x1000);
            assert!(is_in_tables(tlb.look_up(USER, 0)));
            assert_eq!(tlb.look_up(USER, 0), Found::First);
        }
    }

    #[test]
    fn what_the_first_forgets_the_second_has() {
        let mut tlb = Translations::new(&caches(), SPACES);
        tlb.switch(0x1000);
        assert!((0..100).all(|page| is_in_tables(tlb.look_up(page << 12, 0))));
        assert_eq!(tlb.look_up(0, 0), Found::Second);
        assert_eq!(tlb.look_up(99 << 12, 0), Found::First);
    }

    /// As on arm64.
    #[test]
    fn a_space_whose_name_is_written_again_keeps_its_translations_until_it_is_emptied() {
        let mut tlb =
            Translations::new(&caches(), Spaces { is_emptied_by_itself: false, ..SPACES });
        assert!(tlb.switch(1));
        assert!(is_in_tables(tlb.look_up(USER, 0)));
        assert!(!tlb.switch(1));
        assert_eq!(tlb.look_up(USER, 0), Found::First);
        tlb.empty(1);
        assert!(is_in_tables(tlb.look_up(USER, 0)), "the current one");
        assert!(tlb.switch(2));
        tlb.empty(1);
        tlb.empty(3);
        assert!(tlb.switch(1));
        assert!(is_in_tables(tlb.look_up(USER, 0)), "another one");
        tlb.clear();
        assert!(!tlb.switch(1), "it is the current one");
        assert!(is_in_tables(tlb.look_up(USER, 0)));
    }
}
