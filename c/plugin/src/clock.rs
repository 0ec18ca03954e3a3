//! Exact virtual time in a callback.
//!
//! Under `-icount` QEMU's virtual clock is the number of instructions executed times a power of two,
//! plus a bias that grows when the guest idles (QEMU `accel/tcg/icount-common.c`). What it has
//! *published* lags behind: a CPU gets a budget of instructions, and subtracts every block's length
//! when it enters the block. So, before an instruction with `left` instructions to go in its block,
//!
//! ```text
//! time = published + ((budget - low - extra) - left) << shift
//! ```
//!
//! where `budget`, `extra` and `low` are fields of QEMU's `CPUState`. A plugin may not ask for the
//! clock, and asking would publish, which another thread could notice; reading the fields changes
//! nothing. Where they are is found by having QEMU reset them in a dummy, so that this depends on no
//! QEMU build.

use std::{
    ffi::{CStr, c_int, c_uint, c_void},
    ptr,
};

use preemptlab_protocol::prices::Price;

/// Larger than any `CPUState` without its architecture's part.
const DUMMY_BYTES: usize = 64 << 10;

type Process = unsafe extern "C" fn(*mut c_void);
type Read = unsafe extern "C" fn() -> i64;
type ToNs = unsafe extern "C" fn(i64) -> i64;
type GetCpu = unsafe extern "C" fn(c_int) -> *mut u8;

/// A count has so many bits behind the point.
const COUNT_BITS: u32 = Price::ONE.get().ilog2();

/// Numbers of CPUs are below this one (`NR_CPUS_RANGE_END`, arch/x86/Kconfig).
const CPUS_MAX: c_int = 8192;

/// QEMU's virtual clock.
pub struct Clock {
    /// `current_cpu` of the thread that executes the guest.
    current_cpu: *mut *mut u8,
    icount_get: Read,
    get_cpu: GetCpu,
    /// The CPU that executed last, and its number.
    last_cpu: (*mut u8, c_uint),
    shift: u32,
    fields: Fields,
}

/// Offsets in `CPUState`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fields {
    budget: usize,
    extra: usize,
    low: usize,
}

impl Clock {
    /// Finds the clock. To be called on the thread that executes the guest, before it runs.
    ///
    /// # Errors
    ///
    /// Says what this QEMU lacks.
    pub fn find() -> Result<Self, String> {
        // SAFETY: the symbols have these types in every QEMU that exports them (5.2 and later).
        unsafe {
            let current_cpu = symbol(c"current_cpu")?.cast();
            let get_cpu = std::mem::transmute::<*mut c_void, GetCpu>(symbol(c"qemu_get_cpu")?);
            let icount_get = std::mem::transmute::<*mut c_void, Read>(symbol(c"icount_get")?);
            let to_ns = std::mem::transmute::<*mut c_void, ToNs>(symbol(c"icount_to_ns")?);
            let raw = std::mem::transmute::<*mut c_void, Read>(symbol(c"icount_get_raw")?);
            let process =
                std::mem::transmute::<*mut c_void, Process>(symbol(c"icount_process_data")?);
            let update = std::mem::transmute::<*mut c_void, Process>(symbol(c"icount_update")?);
            let ns = to_ns(1);
            if ns <= 0 || !ns.cast_unsigned().is_power_of_two() {
                return Err("QEMU does not count instructions (-icount)".into());
            }
            let fields = find_fields(raw, process, update)?;
            let last_cpu = (ptr::null_mut(), 0);
            let shift = ns.trailing_zeros();
            Ok(Self { current_cpu, icount_get, get_cpu, last_cpu, shift, fields })
        }
    }

    /// Calls something that raises an interrupt, which QEMU only lets functions of devices do.
    ///
    /// # Safety
    ///
    /// To be called from the callback of an instruction.
    pub unsafe fn as_device(&self, work: impl FnOnce()) {
        // `can_do_io` follows the counter (`struct CPUNegativeOffsetState`, include/hw/core/cpu.h).
        // SAFETY: in a callback `current_cpu` is the CPU that executes.
        unsafe {
            let may = (*self.current_cpu).add(self.fields.low + 4);
            let before = may.replace(1);
            work();
            may.write(before);
        }
    }

    /// The number of the CPU that executes.
    ///
    /// What a callback is told is the CPU for which its block was translated: under `-icount` all
    /// CPUs execute the same blocks (QEMU `gen_cpu_index`, accel/tcg/plugin-gen.c).
    ///
    /// # Safety
    ///
    /// To be called from the callback of an instruction.
    pub unsafe fn cpu(&mut self) -> c_uint {
        // SAFETY: in a callback `current_cpu` is the CPU that executes.
        let current = unsafe { *self.current_cpu };
        if current != self.last_cpu.0 {
            // SAFETY: the function only looks through QEMU's list of CPUs.
            let is_current = |number: &c_int| unsafe { (self.get_cpu)(*number) } == current;
            let number = (0..CPUS_MAX).find(is_current).unwrap_or(0);
            self.last_cpu = (current, number.cast_unsigned());
        }
        self.last_cpu.1
    }

    /// Virtual time before an instruction, in nanoseconds.
    ///
    /// # Safety
    ///
    /// To be called from the callback of an instruction of a block whose instructions from this one on
    /// take `left`, in 1/256 counts, beyond what the CPU owes.
    pub unsafe fn now_ns(&self, left: i64) -> u64 {
        // SAFETY: in a callback `current_cpu` is the CPU that executes; with none, `icount_get`
        // reads what is published and does nothing else.
        unsafe {
            let cpu = self.current_cpu.replace(ptr::null_mut());
            let published = (self.icount_get)();
            self.current_cpu.write(cpu);
            let executed = (self.executed() << COUNT_BITS) - left;
            (published + ((executed << self.shift) >> COUNT_BITS)).cast_unsigned()
        }
    }

    /// The counts of the turn so far, with the whole block.
    ///
    /// # Safety
    ///
    /// To be called from a callback.
    unsafe fn executed(&self) -> i64 {
        // SAFETY: as the caller promises.
        unsafe {
            let cpu = *self.current_cpu;
            let budget = cpu.add(self.fields.budget).cast::<i64>().read();
            let extra = cpu.add(self.fields.extra).cast::<i64>().read();
            let low = cpu.add(self.fields.low).cast::<u16>().read();
            budget - extra - i64::from(low)
        }
    }

    /// Has counts pass without instructions. Where the turn has fewer left, it is over, and has been
    /// longer.
    ///
    /// # Safety
    ///
    /// To be called from a callback.
    pub unsafe fn pass(&self, counts: i64) {
        // SAFETY: as the caller promises. 16 bits are written where QEMU keeps them: those above them
        // are a request to leave (`icount_decr`, include/hw/core/cpu.h).
        unsafe {
            let cpu = *self.current_cpu;
            let budget = cpu.add(self.fields.budget).cast::<i64>();
            let extra = cpu.add(self.fields.extra).cast::<i64>();
            let low = cpu.add(self.fields.low).cast::<u16>();
            let of_low = counts.min(i64::from(*low));
            let of_extra = (counts - of_low).min(*extra);
            *low -= of_low as u16;
            *extra -= of_extra;
            // What has passed is the budget without what is left of it.
            *budget += counts - of_low - of_extra;
        }
    }

    /// Takes counts back. They may be more than QEMU has counted since it published the last ones, which it
    /// does every 65,535 counts from where it began to execute: what is executed is negative then, and takes
    /// back what was published (`icount_update`, accel/tcg/icount-common.c).
    ///
    /// # Safety
    ///
    /// To be called from a callback of a block of so many instructions.
    pub unsafe fn take_back(&self, counts: i64, block_len: u16) {
        // SAFETY: as the caller promises, and as above.
        unsafe {
            let cpu = *self.current_cpu;
            let extra = cpu.add(self.fields.extra).cast::<i64>();
            let low = cpu.add(self.fields.low).cast::<u16>();
            // QEMU gives instructions back that it has not executed after all.
            let room = i64::from(u16::MAX - block_len) - i64::from(*low);
            let to_low = counts.min(room.max(0));
            *low += to_low as u16;
            *extra += counts - to_low;
        }
    }
}

/// Something that this QEMU exports.
///
/// # Errors
///
/// When it does not.
pub fn symbol(name: &CStr) -> Result<*mut c_void, String> {
    // SAFETY: the name is a C string.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    if address.is_null() {
        return Err(format!(
            "this QEMU does not export `{}`; use release 13's, which preemptlab brings itself",
            name.to_string_lossy()
        ));
    }
    Ok(address)
}

/// Has QEMU reset the fields in a dummy full of ones, and looks where it has written.
///
/// # Safety
///
/// The functions are QEMU's.
unsafe fn find_fields(raw: Read, process: Process, update: Process) -> Result<Fields, String> {
    let mut dummy = vec![u64::MAX; DUMMY_BYTES / 8];
    let base = dummy.as_mut_ptr().cast::<u8>();
    // SAFETY: the dummy is larger than what QEMU takes it for, and aligned.
    unsafe {
        let before = raw();
        process(base.cast());
        let bytes = std::slice::from_raw_parts(base, DUMMY_BYTES);
        let (wide, low) =
            written(bytes).ok_or("this QEMU keeps its instruction count elsewhere")?;
        // QEMU has added to its count what the dummy seemed to have executed. Taking that back
        // tells which of the two wide fields is the budget.
        let debt = before - raw();
        base.add(wide[0]).cast::<i64>().write(debt);
        update(base.cast());
        let [budget, extra] = if raw() == before {
            wide
        } else {
            base.write_bytes(0, DUMMY_BYTES);
            base.add(wide[1]).cast::<i64>().write(before - raw());
            update(base.cast());
            [wide[1], wide[0]]
        };
        if raw() != before {
            return Err("this QEMU counts instructions in another way".into());
        }
        Ok(Fields { budget, extra, low })
    }
}

/// The offsets of two words of 8 bytes and one of 2 bytes that are zero in a field of ones.
fn written(bytes: &[u8]) -> Option<([usize; 2], usize)> {
    let mut wide = Vec::new();
    let mut low = None;
    for (index, word) in bytes.chunks_exact(8).enumerate() {
        if word == [0; 8] {
            wide.push(index * 8);
        } else if word != [0xff; 8] {
            let pairs = word.chunks_exact(2).enumerate();
            let mut zeros = pairs.filter(|(_, pair)| *pair == [0; 2]);
            let (pair, _) = zeros.next()?;
            if zeros.next().is_some() || low.replace(index * 8 + pair * 2).is_some() {
                return None;
            }
        }
    }
    Some((wide.try_into().ok()?, low?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_reset() {
        let mut bytes = [0xff; 64];
        bytes[8..16].fill(0);
        bytes[40..48].fill(0);
        assert_eq!(written(&bytes), None);
        bytes[26..28].fill(0);
        assert_eq!(written(&bytes), Some(([8, 40], 26)));
        bytes[48..50].fill(0);
        assert_eq!(written(&bytes), None);
    }
}
