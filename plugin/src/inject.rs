//! Raises an interrupt that the machine would not have had.

use std::{
    ffi::{c_char, c_int, c_void},
    ptr,
};

use preemptlab_protocol::trace::Inject;

use crate::{
    arch,
    clock::{Clock, symbol},
    qemu::Guest,
};

type GetCpu = unsafe extern "C" fn(c_int) -> *mut c_void;
/// CPU, virtual address, buffer, length, whether to write.
type Virtual = unsafe extern "C" fn(*mut c_void, u64, *mut c_void, usize, bool) -> c_int;
/// Physical address, buffer, length, whether to write.
type Physical = unsafe extern "C" fn(u64, *mut c_void, u64, bool);
/// Object, name of the property, where an error would go.
type Property = unsafe extern "C" fn(*mut c_void, *const c_char, *mut *mut c_void) -> u64;

/// Writes memory and messages as a debugger and a device would.
pub struct Injector {
    /// The next one last.
    left: Vec<Inject>,
    get_cpu: GetCpu,
    memory: Virtual,
    devices: Physical,
    property: Property,
}

impl Injector {
    /// Finds what it takes to raise the first possible of these interrupts.
    ///
    /// # Errors
    ///
    /// When this QEMU does not export it.
    pub fn new(mut injects: Vec<Inject>) -> Result<Self, String> {
        injects.sort_by_key(|inject| std::cmp::Reverse(inject.at_ns));
        // SAFETY: the symbols have these types.
        unsafe {
            Ok(Self {
                left: injects,
                get_cpu: std::mem::transmute::<*mut c_void, GetCpu>(symbol(c"qemu_get_cpu")?),
                memory: std::mem::transmute::<*mut c_void, Virtual>(symbol(
                    c"cpu_memory_rw_debug",
                )?),
                devices: std::mem::transmute::<*mut c_void, Physical>(symbol(
                    c"cpu_physical_memory_rw",
                )?),
                property: std::mem::transmute::<*mut c_void, Property>(symbol(
                    c"object_property_get_uint",
                )?),
            })
        }
    }

    /// Writes the guest's memory and raises the first interrupt that is due on a CPU and possible. Then
    /// no other one is raised.
    ///
    /// # Safety
    ///
    /// To be called from the callback of an instruction, on the CPU with this number.
    pub unsafe fn raise_due(&mut self, clock: &Clock, guest: &Guest, cpu: u32, now_ns: u64) {
        // Each CPU has a clock: what is due on one may come before what another one has passed.
        let first = self.left.iter().enumerate().rev();
        let mut due = first.take_while(|(_, inject)| now_ns >= inject.at_ns);
        let Some((place, _)) = due.find(|(_, inject)| inject.cpu == cpu) else { return };
        let inject = self.left.remove(place);
        let (address, value) = inject.expected;
        if guest.memory(address, 8) != Some(value) {
            return;
        }
        self.left.clear();
        // SAFETY: as the caller promises; every buffer is as long as is said.
        unsafe {
            let cpu = (self.get_cpu)(cpu.cast_signed());
            for (address, value) in inject.writes {
                let mut bytes = value.to_le_bytes();
                let bytes_len = bytes.len();
                (self.memory)(cpu, address, bytes.as_mut_ptr().cast(), bytes_len, true);
            }
            let mut message = inject.message.to_le_bytes();
            let len = message.len() as u64;
            let id = (self.property)(cpu, arch::PROCESSOR_ID.as_ptr(), ptr::null_mut());
            let message_address = arch::message_address(inject.message_address, id);
            clock.as_device(|| {
                (self.devices)(message_address, message.as_mut_ptr().cast(), len, true);
            });
        }
    }
}
