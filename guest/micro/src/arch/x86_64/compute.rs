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
                "dec {times}",
                "jnz 22b",
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
            ".rept 8\n add {a}, {b}\n add {c}, 3\n xor {a}, 5\n lea {d}, [{c} + 7]\n rol {a}, 3\n \
             sub {c}, {d}\n .endr",
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
            ".rept 8\n test {a}, {a}\n jz 3f\n 3: cmp {a}, 5\n ja 3f\n 3: jmp 3f\n 3:\n .endr",
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
            "mov {b}, {a}\n shl {b}, 13\n xor {a}, {b}\n mov {b}, {a}\n shr {b}, 7\n xor {a}, {b}\n \
             mov {b}, {a}\n shl {b}, 17\n xor {a}, {b}\n test {a}, 64\n jz 3f\n add {c}, 1\n 3:",
            a = inout(reg) 88_172_645_463_325_252_u64 => _, b = out(reg) _, c = inout(reg) 0_u64 => _
        );
        Ok(())
    })
}

/// Calls and returns.
pub fn calls(meter: &mut Meter, times: u32) -> io::Result<()> {
    meter.measure(|| {
        repeat!(
            times,
            ".rept 8\n call 3f\n .endr\n jmp 4f\n 3: add {a}, 1\n ret\n 4:",
            a = inout(reg) 1_u64 => _
        );
        Ok(())
    })
}

/// Calls through a register.
pub fn indirect_calls(meter: &mut Meter, times: u32) -> io::Result<()> {
    meter.measure(|| {
        repeat!(
            times,
            "lea {to}, [rip + 3f]\n .rept 8\n call {to}\n .endr\n jmp 4f\n 3: add {a}, 1\n ret\n 4:",
            a = inout(reg) 1_u64 => _, to = out(reg) _
        );
        Ok(())
    })
}

/// Products that need each other.
pub fn multiply(meter: &mut Meter, times: u32) -> io::Result<()> {
    meter.measure(|| {
        repeat!(
            times,
            ".rept 8\n imul {a}, {b}\n imul {c}, {b}\n add {a}, {c}\n .endr",
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
            "mov rax, {a}\n xor edx, edx\n div {b}\n add {a}, rax",
            a = inout(reg) u64::MAX / 3 => _, b = in(reg) 1_000_003_u64, out("rax") _, out("rdx") _
        );
        Ok(())
    })
}

/// Instructions on vectors: half of them need each other.
pub fn vector(meter: &mut Meter, times: u32) -> io::Result<()> {
    meter.measure(|| {
        repeat!(
            times,
            ".rept 4\n paddq {a}, {b}\n pxor {a}, {c}\n paddd {d}, {c}\n pand {e}, {b}\n .endr",
            a = inout(xmm_reg) 1.0_f64 => _, b = in(xmm_reg) 2.0_f64, c = in(xmm_reg) 3.0_f64,
            d = inout(xmm_reg) 4.0_f64 => _, e = inout(xmm_reg) 5.0_f64 => _
        );
        Ok(())
    })
}

/// Arithmetic on numbers of 64 bits in floating point.
pub fn floating_point(meter: &mut Meter, times: u32) -> io::Result<()> {
    meter.measure(|| {
        repeat!(
            times,
            ".rept 4\n mulsd {a}, {b}\n addsd {a}, {c}\n mulsd {d}, {b}\n addsd {d}, {c}\n .endr",
            a = inout(xmm_reg) 1.0_f64 => _, b = in(xmm_reg) 0.5_f64, c = in(xmm_reg) 3.0_f64,
            d = inout(xmm_reg) 4.0_f64 => _
        );
        Ok(())
    })
}

/// The x87.
pub fn x87(meter: &mut Meter, times: u32) -> io::Result<()> {
    meter.measure(|| {
        repeat!(
            times,
            "fld1\n .rept 4\n fld1\n fadd st, st(1)\n fmul st, st(1)\n faddp\n .endr\n fstp st(0)",
            out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
            out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _
        );
        Ok(())
    })
}

/// Additions to memory as one step.
pub fn locked(meter: &mut Meter, times: u32) -> io::Result<()> {
    let mut word = 0_u64;
    meter.measure(|| {
        repeat!(times, "lock add qword ptr [{at}], 1", at = in(reg) &raw mut word);
        Ok(())
    })
}

/// Reads of the counter of time.
pub fn rdtsc(meter: &mut Meter, times: u32) -> io::Result<()> {
    meter.measure(|| {
        repeat!(times, "rdtsc", out("rax") _, out("rdx") _);
        Ok(())
    })
}

/// Fences of each kind.
pub fn fences(meter: &mut Meter, times: u32) -> io::Result<()> {
    meter.measure(|| {
        repeat!(times, "lfence\n sfence\n mfence");
        Ok(())
    })
}

/// CPUID, on which a virtual machine leaves to its hypervisor.
pub fn cpuid(meter: &mut Meter, times: u32) -> io::Result<()> {
    meter.measure(|| {
        for _ in 0..times {
            core::hint::black_box(core::arch::x86_64::__cpuid(0));
        }
        Ok(())
    })
}

/// The hint of loops that wait.
pub fn pause(meter: &mut Meter, times: u32) -> io::Result<()> {
    meter.measure(|| {
        repeat!(times, ".rept 4\n pause\n .endr");
        Ok(())
    })
}

/// Saves and restores of the flags.
pub fn flags(meter: &mut Meter, times: u32) -> io::Result<()> {
    meter.measure(|| {
        repeat!(times, "pushfq\n popfq");
        Ok(())
    })
}

/// Saves and restores of the registers of floating point.
pub fn save_vectors(meter: &mut Meter, times: u32) -> io::Result<()> {
    #[repr(align(64))]
    struct Area([u8; 512]);
    let mut area = Area([0; 512]);
    meter.measure(|| {
        repeat!(times, "fxsave64 [{at}]\n fxrstor64 [{at}]", at = in(reg) area.0.as_mut_ptr());
        Ok(())
    })
}
