//! Has QEMU call where a guest uses memory, as far as its caches may lack it.

use std::{
    ffi::c_void,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use preemptlab_protocol::{caches::LINE_BYTES, trace::Register};

use crate::{
    arch::{Processor, Reach, Remaps, Use},
    caches::{
        Access as CacheAccess, Caches,
        recent::{FETCHED, READ, WRITTEN},
    },
    clock::{Clock, symbol},
    qemu::{
        self, Access, Condition, Guest, InstructionCallback, MemoryCallback, Scoreboard,
        Translation,
    },
};

/// The guest's pages, as QEMU's debugger sees them: looking changes nothing.
type PageOf = unsafe extern "C" fn(*mut u8, u64) -> u64;

const PAGE_BYTES: u64 = 4096;

/// Accesses to memory so far, of all CPUs.
static ACCESSES: AtomicU64 = AtomicU64::new(0);

/// What is called.
#[derive(Clone, Copy)]
pub struct Calls {
    /// Memory has been read that may not be in the cache.
    pub read: MemoryCallback,
    /// The same where it was written.
    pub written: MemoryCallback,
    /// Instructions are fetched from a line that was not used last.
    pub fetches: InstructionCallback,
    /// An instruction changes what addresses mean.
    pub remaps: InstructionCallback,
}

/// The caches of the machine that a guest takes for its own.
pub struct Memory {
    processor: &'static dyn Processor,
    caches: Caches,
    scoreboard: Scoreboard,
    guest: Guest,
    current_cpu: *mut *mut u8,
    page_of: PageOf,
}

impl Memory {
    /// Finds what it takes to follow a guest, which can read its registers by their numbers.
    ///
    /// # Errors
    ///
    /// Says what this QEMU lacks.
    pub fn new(
        processor: &'static dyn Processor,
        caches: Caches,
        guest: Guest,
    ) -> Result<Self, String> {
        let current_cpu = symbol(c"current_cpu")?.cast();
        // SAFETY: the function has this type (include/hw/core/cpu.h).
        let page_of = unsafe {
            std::mem::transmute::<*mut c_void, PageOf>(symbol(c"cpu_get_phys_page_debug")?)
        };
        Ok(Self { processor, caches, scoreboard: Scoreboard::new(), guest, current_cpu, page_of })
    }

    /// Asks for the calls of a block.
    ///
    /// `left` are the prices of its instructions from each one to the end, in 1/256 counts.
    pub fn translate(&self, block: &Translation, left: &[u64], clock: &mut Clock, calls: Calls) {
        let count = block.len();
        let mut bytes = vec![[0; 15]; count];
        let mut page = (u64::MAX, 0);
        let places: Vec<(u64, usize)> = bytes
            .iter_mut()
            .enumerate()
            .map(|(at, bytes)| {
                let (address, len) = block.instruction(at, bytes);
                (self.physical(address, &mut page), len)
            })
            .collect();
        let texts = bytes.iter().zip(&places).map(|(bytes, (_, len))| &bytes[..*len]);
        let texts: Vec<&[u8]> = texts.collect();
        for (index, (Use { remaps, is_chained }, (address, _))) in
            self.processor.uses(&texts).into_iter().zip(&places).enumerate()
        {
            block.on_memory(
                index,
                calls.read,
                calls.written,
                Place { address: *address, left: left[index], is_chained }.pack(),
            );
            if let Some(remaps) = remaps {
                block.on_execution(
                    index,
                    calls.remaps,
                    Access::Read,
                    pack(remaps, self.processor.registers()),
                );
            }
        }
        // SAFETY: a block is translated where a CPU is about to execute it.
        let translating = unsafe { clock.cpu() };
        for line in lines(&places) {
            let entry = self.scoreboard.entry(FETCHED.of(line), translating);
            block.on_execution_if(Condition::NotEqual, entry, line, calls.fetches, line);
        }
    }

    /// The physical address of an instruction that is translated. QEMU executes a block wherever its page is
    /// mapped, so that the virtual one would be that of whoever came first. `page` is the page that was
    /// looked up last, virtual and physical.
    fn physical(&self, address: u64, page: &mut (u64, u64)) -> u64 {
        let is_within = address & (PAGE_BYTES - 1);
        if page.0 != address - is_within {
            // SAFETY: a block is translated where a CPU is about to execute it. Where the page is not memory,
            // the answer has all bits set.
            let physical = unsafe { (self.page_of)(*self.current_cpu, address) };
            *page = (address - is_within, physical & !(PAGE_BYTES - 1));
        }
        page.1 | is_within
    }

    /// Takes note of an access that has been made by a CPU that owes this balance, in 1/256 counts. Returns what
    /// it costs, in 1/256 ns.
    ///
    /// # Safety
    ///
    /// To be called from the callback of an access.
    pub unsafe fn accessed(
        &mut self,
        (info, address, place, is_write): (u32, u64, u64, bool),
        clock: &Clock,
        balance: i64,
    ) -> u32 {
        let Some(physical) = qemu::physical(info, address) else { return 0 };
        let Place { address: instruction, left, is_chained } = Place::unpack(place);
        let count = ACCESSES.load(Relaxed);
        let access = CacheAccess { address, physical, is_write, instruction, is_chained, count };
        // SAFETY: as the caller promises.
        let now_ns = || unsafe { clock.now_ns(left.cast_signed() - balance) };
        self.caches.access(access, now_ns)
    }

    /// Takes note of a fetch. Returns what it costs, in 1/256 ns.
    pub fn fetches(&mut self, line: u64) -> u32 {
        self.caches.fetch(line)
    }

    /// Takes note of an instruction that changes what addresses mean.
    pub fn remaps(&mut self, how: u64) {
        match unpack(how, self.processor.registers()) {
            Some(Remaps::Space(register)) => self.caches.switch(self.guest.register(register)),
            Some(Remaps::Emptied(register)) => self.caches.empty(self.guest.register(register)),
            Some(Remaps::All(reach)) => self.caches.clear_translations(reach),
            Some(Remaps::Pages(reach)) => self.caches.forget_addresses(reach),
            None => {}
        }
    }

    /// Has another CPU execute.
    pub fn begin(&mut self, cpu: usize) {
        self.caches.begin(cpu);
    }
}

/// The lines in which instructions begin, in their order.
fn lines(places: &[(u64, usize)]) -> Vec<u64> {
    let lines = places.iter().map(|(address, _)| address / u64::from(LINE_BYTES));
    let mut lines: Vec<u64> = lines.collect();
    lines.dedup();
    lines
}

/// Whether an access needs nobody's notice: its line was used last of its set.
#[inline]
pub fn is_recent(address: u64, is_write: bool) -> bool {
    ACCESSES.store(ACCESSES.load(Relaxed) + 1, Relaxed);
    let recent = if is_write { &WRITTEN } else { &READ };
    recent.has(address / u64::from(LINE_BYTES))
}

/// The number of kinds of [`Remaps`].
const KINDS: u64 = 4;

/// Makes a number of a change, for a callback.
fn pack(remaps: Remaps, registers: &[Register]) -> u64 {
    let number = |of: Register| {
        let number = registers.iter().position(|register| *register == of);
        number.unwrap_or(registers.len()) as u64
    };
    let (kind, of) = match remaps {
        Remaps::Space(register) => (0, number(register)),
        Remaps::Emptied(register) => (1, number(register)),
        Remaps::All(reach) => (2, (reach == Reach::All).into()),
        Remaps::Pages(reach) => (3, (reach == Reach::All).into()),
    };
    of * KINDS + kind
}

fn unpack(packed: u64, registers: &[Register]) -> Option<Remaps> {
    let of = packed / KINDS;
    let register = || usize::try_from(of).ok().and_then(|number| registers.get(number).copied());
    let reach = if of == 0 { Reach::Own } else { Reach::All };
    match packed % KINDS {
        0 => register().map(Remaps::Space),
        1 => register().map(Remaps::Emptied),
        2 => Some(Remaps::All(reach)),
        _ => Some(Remaps::Pages(reach)),
    }
}

/// An instruction that may use memory.
struct Place {
    address: u64,
    /// What its block's instructions take from it on, in 1/256 counts.
    left: u64,
    is_chained: bool,
}

impl Place {
    /// A physical address has 40 bits; no guest has a TiB of memory.
    const ADDRESS_BITS: u32 = 40;

    /// The longest rest of a block that is told apart: 32 us.
    const LEFT_MAX: u64 = (1 << (63 - Self::ADDRESS_BITS)) - 1;

    fn pack(&self) -> u64 {
        let address = self.address & ((1 << Self::ADDRESS_BITS) - 1);
        let left = self.left.min(Self::LEFT_MAX);
        (left << Self::ADDRESS_BITS | address) << 1 | u64::from(self.is_chained)
    }

    fn unpack(packed: u64) -> Self {
        let both = packed >> 1;
        Self {
            address: both & ((1 << Self::ADDRESS_BITS) - 1),
            left: both >> Self::ADDRESS_BITS,
            is_chained: packed & 1 != 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_keeps_what_it_is() {
        let both = [Reach::Own, Reach::All];
        for registers in [&Register::X86_64[..], &Register::ARM64] {
            let of = registers.iter().flat_map(|of| [Remaps::Space(*of), Remaps::Emptied(*of)]);
            let of = of.chain(both.map(Remaps::All)).chain(both.map(Remaps::Pages));
            for remaps in of {
                assert_eq!(unpack(pack(remaps, registers), registers), Some(remaps));
            }
        }
    }

    #[test]
    fn a_place_keeps_its_address_and_its_rest() {
        for (address, left) in [(0, 0), (0xff_ffff_ffff, 1), (0x12_3456_7890, Place::LEFT_MAX)] {
            for is_chained in [false, true] {
                let place = Place::unpack(Place { address, left, is_chained }.pack());
                assert_eq!(
                    (place.address, place.left, place.is_chained),
                    (address, left, is_chained)
                );
            }
        }
        let long = Place { address: u64::MAX, left: u64::MAX, is_chained: false };
        assert_eq!(Place::unpack(long.pack()).left, Place::LEFT_MAX);
    }
}
