//! Instructions in user space that touch no memory, or hardly any.

use core::arch::asm;

use rustix::io;

use crate::meter::Meter;

/// Executes the body again and again, in a loop that counts down.
macro_rules! repeat {
    ($times:expr, $body:literal $(, $($operand:tt)*)?) => {
        // SAFETY: each body changes the registers that it names and no memory but what it is given.
        unsafe {
            asm!(
                "22:",
                $body,
                "subs {times}, {times}, #1",
                "b.ne 22b",
                times = inout(reg) u64::from($times) => _,
                $($($operand)*)?
            );
        }
    };
}
pub(crate) use repeat;

/// Two chains of instructions of which each needs the result of the one before it: programs have that
/// much to do at a time.
pub fn alu(meter: &mut Meter, times: u32) -> io::Result<()> {
    meter.measure(|| {
        repeat!(
            times,
            ".rept 8\n add {a}, {a}, {b}\n add {c}, {c}, #3\n eor {a}, {a}, #7\n add {d}, {c}, #7\n \
             ror {a}, {a}, #61\n sub {c}, {c}, {d}\n .endr",
            a = inout(reg) 1_u64 => _, b = in(reg) 7_u64,
            c = inout(reg) 3_u64 => _, d = out(reg) _
        );
        Ok(())
    })
}

/// Branches that always go the same way, and jumps.
pub fn branches(meter: &mut Meter, times: u32) -> io::Result<()> {
    meter.measure(|| {
        repeat!(
            times,
            ".rept 8\n tst {a}, {a}\n b.eq 3f\n 3: cmp {a}, #5\n b.hi 3f\n 3: b 3f\n 3:\n .endr",
            a = in(reg) 1_u64
        );
        Ok(())
    })
}

/// Branches that go either way at random, so that a quarter of all branches is foreseen wrongly.
pub fn branches_at_random(meter: &mut Meter, times: u32) -> io::Result<()> {
    meter.measure(|| {
        repeat!(
            times,
            "eor {a}, {a}, {a}, lsl #13\n eor {a}, {a}, {a}, lsr #7\n eor {a}, {a}, {a}, lsl #17\n \
             tst {a}, #64\n b.eq 3f\n add {c}, {c}, #1\n 3:",
            a = inout(reg) 88_172_645_463_325_252_u64 => _, c = inout(reg) 0_u64 => _
        );
        Ok(())
    })
}

/// Calls and returns.
pub fn calls(meter: &mut Meter, times: u32) -> io::Result<()> {
    meter.measure(|| {
        repeat!(
            times,
            ".rept 8\n bl 3f\n .endr\n b 4f\n 3: add {a}, {a}, #1\n ret\n 4:",
            a = inout(reg) 1_u64 => _, out("lr") _
        );
        Ok(())
    })
}

/// Calls through a register.
pub fn indirect_calls(meter: &mut Meter, times: u32) -> io::Result<()> {
    meter.measure(|| {
        repeat!(
            times,
            "adr {to}, 3f\n .rept 8\n blr {to}\n .endr\n b 4f\n 3: add {a}, {a}, #1\n ret\n 4:",
            a = inout(reg) 1_u64 => _, to = out(reg) _, out("lr") _
        );
        Ok(())
    })
}

/// Products that need each other.
pub fn multiply(meter: &mut Meter, times: u32) -> io::Result<()> {
    meter.measure(|| {
        repeat!(
            times,
            ".rept 8\n mul {a}, {a}, {b}\n mul {c}, {c}, {b}\n add {a}, {a}, {c}\n .endr",
            a = inout(reg) 3_u64 => _, b = in(reg) 7_u64, c = inout(reg) 5_u64 => _
        );
        Ok(())
    })
}

/// Quotients of 64 bits.
pub fn divide(meter: &mut Meter, times: u32) -> io::Result<()> {
    meter.measure(|| {
        repeat!(
            times,
            "udiv {c}, {a}, {b}\n add {a}, {a}, {c}",
            a = inout(reg) u64::MAX / 3 => _, b = in(reg) 1_000_003_u64, c = out(reg) _
        );
        Ok(())
    })
}

/// Instructions on vectors: half of them need each other.
pub fn vector(meter: &mut Meter, times: u32) -> io::Result<()> {
    meter.measure(|| {
        repeat!(
            times,
            ".rept 4\n add {a:v}.2d, {a:v}.2d, {b:v}.2d\n eor {a:v}.16b, {a:v}.16b, {c:v}.16b\n \
             add {d:v}.4s, {d:v}.4s, {c:v}.4s\n and {e:v}.16b, {e:v}.16b, {b:v}.16b\n .endr",
            a = inout(vreg) 1.0_f64 => _, b = in(vreg) 2.0_f64, c = in(vreg) 3.0_f64,
            d = inout(vreg) 4.0_f64 => _, e = inout(vreg) 5.0_f64 => _
        );
        Ok(())
    })
}

/// Arithmetic on numbers of 64 bits in floating point.
pub fn floating_point(meter: &mut Meter, times: u32) -> io::Result<()> {
    meter.measure(|| {
        repeat!(
            times,
            ".rept 4\n fmul {a:d}, {a:d}, {b:d}\n fadd {a:d}, {a:d}, {c:d}\n \
             fmul {d:d}, {d:d}, {b:d}\n fadd {d:d}, {d:d}, {c:d}\n .endr",
            a = inout(vreg) 1.0_f64 => _, b = in(vreg) 0.5_f64, c = in(vreg) 3.0_f64,
            d = inout(vreg) 4.0_f64 => _
        );
        Ok(())
    })
}

/// Additions to memory as one step, by a pair of exclusive accesses, which every processor has: not all have an
/// instruction for it.
pub fn locked(meter: &mut Meter, times: u32) -> io::Result<()> {
    let mut word = 0_u64;
    meter.measure(|| {
        repeat!(
            times,
            "3: ldxr {a}, [{at}]\n add {a}, {a}, #1\n stxr {b:w}, {a}, [{at}]\n cbnz {b:w}, 3b",
            at = in(reg) &raw mut word, a = out(reg) _, b = out(reg) _
        );
        Ok(())
    })
}

/// Reads of the counter of time.
pub fn counter(meter: &mut Meter, times: u32) -> io::Result<()> {
    meter.measure(|| {
        repeat!(times, "mrs {a}, cntvct_el0", a = out(reg) _);
        Ok(())
    })
}

/// Fences of each kind.
pub fn fences(meter: &mut Meter, times: u32) -> io::Result<()> {
    meter.measure(|| {
        repeat!(times, "dmb ishld\n dmb ishst\n dsb ish");
        Ok(())
    })
}

/// The barrier of instructions.
pub fn isb(meter: &mut Meter, times: u32) -> io::Result<()> {
    meter.measure(|| {
        repeat!(times, "isb");
        Ok(())
    })
}

/// The hint of loops that wait.
pub fn yields(meter: &mut Meter, times: u32) -> io::Result<()> {
    meter.measure(|| {
        repeat!(times, ".rept 4\n yield\n .endr");
        Ok(())
    })
}

/// Reads of a register of the system that programs may read.
pub fn register(meter: &mut Meter, times: u32) -> io::Result<()> {
    meter.measure(|| {
        repeat!(times, "mrs {a}, dczid_el0", a = out(reg) _);
        Ok(())
    })
}
