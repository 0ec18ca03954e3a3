//! CPU time of one's own.
//!
//! Whoever looked at the clock would count the time in which another thread ran, so instructions
//! are counted: virtual time passes by them alone. QEMU translates no-operations to next to
//! nothing, up to 512 instructions at a time, so that a second of them takes a fraction of one.

use core::arch::asm;

use preemptlab_sys::clock;

/// How long the loops take.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Picoseconds of a turn of the coarse loop.
    coarse_ps: u64,
    /// Of the fine one.
    fine_ps: u64,
}

impl Pace {
    /// Measures it.
    pub fn measure() -> Self {
        Self { coarse_ps: turn_ps(spin), fine_ps: turn_ps(spin_finely) }
    }

    /// Needs the CPU for so many nanoseconds.
    pub fn busy(self, ns: u64) {
        let (coarse, fine) = self.turns(ns);
        spin(coarse);
        spin_finely(fine);
    }

    /// The turns of each loop.
    fn turns(self, ns: u64) -> (u64, u64) {
        let ps = ns.saturating_mul(1000);
        (ps / self.coarse_ps, ps % self.coarse_ps / self.fine_ps)
    }
}

/// From how many more turns it is computed how long one takes: of the coarse loop some 2 ms, which
/// fit between two ticks, and are long where the clocks of several CPUs are 10 us apart.
const MORE_TURNS: u64 = 2_000;

/// What a turn takes, when nothing interrupts.
fn turn_ps(spin: fn(u64)) -> u64 {
    let fastest_ns = |turns| {
        let runs = (0..8).map(|_| {
            let begin = clock::now_ns();
            spin(turns);
            clock::now_ns() - begin
        });
        runs.min().unwrap_or(0)
    };
    let few = fastest_ns(100);
    let more = fastest_ns(100 + MORE_TURNS).saturating_sub(few);
    (more * 1_000 / MORE_TURNS).max(1)
}

/// Counts the register of a loop down and begins again where it is not zero.
#[cfg(target_arch = "x86_64")]
macro_rules! again {
    () => {
        "dec {0}\njnz 2b"
    };
}
#[cfg(target_arch = "aarch64")]
macro_rules! again {
    () => {
        "subs {0}, {0}, #1\nb.ne 2b"
    };
}

#[inline(never)]
fn spin(turns: u64) {
    if turns == 0 {
        return;
    }
    // SAFETY: counts a register down. Aligned, so that the loop does not cross a page.
    unsafe {
        asm!(
            ".p2align 9",
            "2:",
            ".rept 500",
            "nop",
            ".endr",
            again!(),
            inout(reg) turns => _,
            options(nomem, nostack),
        );
    }
}

#[inline(never)]
fn spin_finely(turns: u64) {
    if turns == 0 {
        return;
    }
    // SAFETY: counts a register down.
    unsafe {
        asm!(
            ".p2align 4",
            "2:",
            again!(),
            inout(reg) turns => _,
            options(nomem, nostack),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_of_coarse_turns_is_finely_made() {
        let pace = Pace { coarse_ps: 1_004_000, fine_ps: 4_000 };
        for ns in
            [0, 3, 4, 1_003, 1_004, 999_999, 4_000_000_000, preemptlab_protocol::script::NS_MAX]
        {
            let (coarse, fine) = pace.turns(ns);
            let made_ns = coarse * 1_004 + fine * 4;
            assert!(made_ns <= ns && ns < made_ns + 4, "{ns}: {coarse} and {fine}");
        }
    }

    #[test]
    fn busy_time_passes() {
        let pace = Pace::measure();
        let begin = clock::now_ns();
        pace.busy(20_000_000);
        // A real processor changes its pace, so this is no more than that it is a time at all.
        assert!(clock::now_ns() - begin > 2_000_000, "{pace:?}");
    }
}
