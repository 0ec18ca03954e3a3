//! Sets of a cache, of which each forgets what was used longest ago.

/// What tells the lines of a set apart; all its bits set is none.
pub trait Tag: Copy + Eq {
    /// No line.
    const NONE: Self;

    /// The bits that choose the set.
    fn bits(self) -> usize;
}

impl Tag for u32 {
    const NONE: Self = Self::MAX;

    fn bits(self) -> usize {
        self as usize
    }
}

impl Tag for u64 {
    const NONE: Self = Self::MAX;

    fn bits(self) -> usize {
        self as usize
    }
}

/// The lines of a cache, in each set the one used last first.
pub struct Sets<T> {
    mask: usize,
    ways: usize,
    tags: Vec<T>,
}

impl<T: Tag> Sets<T> {
    /// Makes an empty cache; the number of sets is a power of two.
    pub fn new(sets: u32, ways: u32) -> Self {
        let (sets, ways) = (sets as usize, ways as usize);
        Self { mask: sets - 1, ways, tags: vec![T::NONE; sets * ways] }
    }

    /// Makes a line the one used last of its set. Returns whether it was there.
    pub fn touch(&mut self, tag: T) -> bool {
        self.touch_or_evict(tag).is_none()
    }

    /// Makes a line the one used last of its set. Returns `None` where it was there, else what it has taken
    /// the place of.
    pub fn touch_or_evict(&mut self, tag: T) -> Option<T> {
        let set = self.set(tag);
        let mut before = tag;
        for at in set {
            let this = std::mem::replace(at, before);
            if this == tag {
                return None;
            }
            before = this;
        }
        Some(before)
    }

    /// Returns whether a line is there.
    pub fn has(&self, tag: T) -> bool {
        let start = (tag.bits() & self.mask) * self.ways;
        self.tags[start..start + self.ways].contains(&tag)
    }

    /// Removes a line, and returns whether it was there.
    pub fn remove(&mut self, tag: T) -> bool {
        let set = self.set(tag);
        let Some(at) = set.iter().position(|other| *other == tag) else { return false };
        set[at..].rotate_left(1);
        if let Some(last) = set.last_mut() {
            *last = T::NONE;
        }
        true
    }

    /// Removes all lines.
    pub fn clear(&mut self) {
        self.tags.fill(T::NONE);
    }

    fn set(&mut self, tag: T) -> &mut [T] {
        let start = (tag.bits() & self.mask) * self.ways;
        &mut self.tags[start..start + self.ways]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_forgets_what_was_used_longest_ago() {
        let mut sets = Sets::<u32>::new(4, 2);
        // Of one set: 1, 5, 9, 13.
        assert_eq!(sets.touch_or_evict(1), Some(u32::NONE));
        assert_eq!(sets.touch_or_evict(5), Some(u32::NONE));
        assert!(sets.touch(1));
        assert_eq!(sets.touch_or_evict(9), Some(5));
        assert!(sets.has(1) && sets.has(9) && !sets.has(5));
        assert_eq!(sets.touch_or_evict(13), Some(1));
    }

    #[test]
    fn sets_do_not_disturb_each_other() {
        let mut sets = Sets::<u64>::new(4, 1);
        for line in 0..4 {
            assert!(!sets.touch(line));
        }
        assert!((0..4).all(|line| sets.touch(line)));
        assert_eq!(sets.touch_or_evict(6), Some(2));
        assert!(sets.has(3));
    }

    #[test]
    fn as_many_lines_as_ways_stay() {
        let mut sets = Sets::<u32>::new(1, 12);
        assert!((0..12).all(|line| !sets.touch(line)));
        assert!((0..12).all(|line| sets.touch(line)));
        // One more than there is room for, in turn, and none is found again.
        assert!((0..39).all(|count| count < 13 || !sets.touch(count % 13 + 100)));
    }

    #[test]
    fn what_is_removed_leaves_room() {
        let mut sets = Sets::<u32>::new(1, 3);
        assert!((1..=3).all(|line| !sets.touch(line)));
        assert!(sets.remove(2) && !sets.remove(2));
        assert_eq!(sets.touch_or_evict(4), Some(u32::NONE));
        assert_eq!(sets.touch_or_evict(5), Some(1));
        sets.clear();
        assert!(!sets.has(3));
    }
}
