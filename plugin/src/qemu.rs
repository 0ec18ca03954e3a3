//! What QEMU and GLib offer a plugin: the part of the plugin interface, version 4, that is used
//! here, declared after its documentation (QEMU `docs/devel/tcg-plugins.rst`).

use std::{
    ffi::{CStr, c_char, c_int, c_uint, c_void},
    ptr,
    sync::atomic::AtomicU64,
};

use preemptlab_protocol::trace::Register;

/// The version of the interface that this plugin was written for: `qemu_plugin_read_memory_vaddr`
/// came with it (QEMU 9.2 and later).
pub const VERSION: c_int = 4;

/// `qemu_plugin_id_t`
pub type PluginId = u64;

/// `struct qemu_plugin_tb`
#[repr(C)]
pub struct Block {
    opaque: [u8; 0],
}

/// `struct qemu_plugin_insn`
#[repr(C)]
pub struct Instruction {
    opaque: [u8; 0],
}

/// `qemu_info_t`, as far as it is read.
#[repr(C)]
pub struct Info {
    /// The target, such as `x86_64`.
    pub target_name: *const c_char,
    /// The oldest version of the interface that QEMU accepts.
    pub version_min: c_int,
    /// The version that it offers.
    pub version: c_int,
    /// Whether a whole machine is emulated.
    pub system_emulation: bool,
    /// The machine's number of CPUs when it starts.
    pub cpus: c_int,
}

/// `enum qemu_plugin_cb_flags`
#[repr(C)]
pub enum Access {
    /// The callback reads no registers.
    None = 0,
    /// The callback reads registers.
    Read = 1,
}

#[repr(C)]
struct ByteArray {
    data: *mut u8,
    len: c_uint,
}

#[repr(C)]
struct Array {
    data: *mut c_char,
    len: c_uint,
}

#[repr(C)]
struct RegisterDescriptor {
    handle: *mut c_void,
    name: *const c_char,
    feature: *const c_char,
}

/// `enum qemu_plugin_cond`: how what an entry holds compares with a number, without signs.
#[repr(C)]
#[derive(Clone, Copy)]
pub enum Condition {
    /// It is another one.
    NotEqual = 3,
    /// It is less.
    Less = 4,
    /// It is not less.
    GreaterOrEqual = 7,
}

/// `qemu_plugin_u64`: 64 bits that translated code adds to and compares.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Entry {
    scoreboard: *mut c_void,
    offset: usize,
}

/// `QEMU_PLUGIN_INLINE_ADD_U64`
const ADD: c_int = 0;

/// A function that QEMU calls with the number of a CPU and what was asked for.
pub type InstructionCallback = extern "C" fn(c_uint, *mut c_void);

/// A function that QEMU calls with the number of a CPU, an access to memory, its virtual address and what
/// was asked for.
pub type MemoryCallback = extern "C" fn(c_uint, u32, u64, *mut c_void);

/// `QEMU_PLUGIN_MEM_R`, `QEMU_PLUGIN_MEM_W`
const READS: c_int = 1;
const WRITES: c_int = 2;

unsafe extern "C" {
    fn qemu_plugin_register_vcpu_init_cb(id: PluginId, callback: extern "C" fn(PluginId, c_uint));
    fn qemu_plugin_register_vcpu_tb_trans_cb(
        id: PluginId,
        callback: extern "C" fn(PluginId, *mut Block),
    );
    fn qemu_plugin_register_atexit_cb(
        id: PluginId,
        callback: extern "C" fn(PluginId, *mut c_void),
        data: *mut c_void,
    );
    fn qemu_plugin_tb_n_insns(block: *const Block) -> usize;
    fn qemu_plugin_tb_get_insn(block: *const Block, index: usize) -> *mut Instruction;
    fn qemu_plugin_insn_data(
        instruction: *const Instruction,
        data: *mut c_void,
        len: usize,
    ) -> usize;
    fn qemu_plugin_insn_vaddr(instruction: *const Instruction) -> u64;
    fn qemu_plugin_register_vcpu_insn_exec_cb(
        instruction: *mut Instruction,
        callback: InstructionCallback,
        access: Access,
        data: *mut c_void,
    );
    fn qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(
        block: *mut Block,
        operation: c_int,
        entry: Entry,
        value: u64,
    );
    fn qemu_plugin_register_vcpu_tb_exec_cond_cb(
        block: *mut Block,
        callback: InstructionCallback,
        access: Access,
        condition: Condition,
        entry: Entry,
        value: u64,
        data: *mut c_void,
    );
    fn qemu_plugin_register_vcpu_mem_cb(
        instruction: *mut Instruction,
        callback: MemoryCallback,
        access: Access,
        kind: c_int,
        data: *mut c_void,
    );
    fn qemu_plugin_get_hwaddr(info: u32, address: u64) -> *const c_void;
    fn qemu_plugin_hwaddr_is_io(address: *const c_void) -> bool;
    fn qemu_plugin_hwaddr_phys_addr(address: *const c_void) -> u64;
    fn qemu_plugin_scoreboard_new(element_size: usize) -> *mut c_void;
    fn qemu_plugin_scoreboard_find(scoreboard: *mut c_void, cpu: c_uint) -> *mut c_void;
    fn qemu_plugin_get_registers() -> *mut Array;
    fn qemu_plugin_read_register(handle: *mut c_void, buffer: *mut ByteArray) -> c_int;
    fn qemu_plugin_read_memory_vaddr(address: u64, buffer: *mut ByteArray, len: usize) -> bool;

    fn g_byte_array_new() -> *mut ByteArray;
    fn g_byte_array_set_size(array: *mut ByteArray, len: c_uint) -> *mut ByteArray;
    fn g_array_free(array: *mut Array, free_segment: c_int) -> *mut c_char;
}

/// Asks for the callbacks of a plugin.
pub fn register(
    id: PluginId,
    cpu_started: extern "C" fn(PluginId, c_uint),
    translated: extern "C" fn(PluginId, *mut Block),
    ends: extern "C" fn(PluginId, *mut c_void),
) {
    // SAFETY: QEMU keeps the function pointers, which live as long as the library.
    unsafe {
        qemu_plugin_register_vcpu_init_cb(id, cpu_started);
        qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
        qemu_plugin_register_atexit_cb(id, ends, ptr::null_mut());
    }
}

/// A block that is being translated, valid during the callback.
pub struct Translation(*mut Block);

impl Translation {
    /// # Safety
    ///
    /// `block` is what QEMU has just handed to a translation callback.
    pub unsafe fn new(block: *mut Block) -> Self {
        Self(block)
    }

    /// How many instructions the block has.
    pub fn len(&self) -> usize {
        // SAFETY: the block is valid during the callback.
        unsafe { qemu_plugin_tb_n_insns(self.0) }
    }

    /// The address and the bytes of an instruction.
    pub fn instruction(&self, index: usize, bytes: &mut [u8; 15]) -> (u64, usize) {
        // SAFETY: the block is valid, the index is below its length, and no more is written than
        // there is room for.
        unsafe {
            let instruction = qemu_plugin_tb_get_insn(self.0, index);
            let len = qemu_plugin_insn_data(instruction, bytes.as_mut_ptr().cast(), bytes.len());
            (qemu_plugin_insn_vaddr(instruction), len.min(bytes.len()))
        }
    }

    /// The address of the first instruction.
    pub fn address(&self) -> u64 {
        // SAFETY: a block has at least one instruction.
        unsafe { qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(self.0, 0)) }
    }

    /// Has QEMU call before an instruction is executed.
    pub fn on_execution(
        &self,
        index: usize,
        callback: InstructionCallback,
        access: Access,
        data: u64,
    ) {
        // SAFETY: as above; the data is a number, never dereferenced.
        unsafe {
            let instruction = qemu_plugin_tb_get_insn(self.0, index);
            qemu_plugin_register_vcpu_insn_exec_cb(
                instruction,
                callback,
                access,
                ptr::without_provenance_mut(data as usize),
            );
        }
    }
}

impl Translation {
    /// Adds to an entry whenever the block is executed, before its instructions.
    pub fn add_on_execution(&self, entry: Entry, value: u64) {
        // SAFETY: the block is valid during the callback, and the entry lives on.
        unsafe { qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(self.0, ADD, entry, value) };
    }

    /// Has QEMU call after each access to memory of an instruction.
    pub fn on_memory(
        &self,
        index: usize,
        read: MemoryCallback,
        written: MemoryCallback,
        data: u64,
    ) {
        for (callback, kind) in [(read, READS), (written, WRITES)] {
            let data = ptr::without_provenance_mut(data as usize);
            // SAFETY: as above; the data is a number, never dereferenced.
            unsafe {
                let instruction = qemu_plugin_tb_get_insn(self.0, index);
                let access = Access::None;
                qemu_plugin_register_vcpu_mem_cb(instruction, callback, access, kind, data);
            }
        }
    }

    /// Has QEMU call before the block's instructions where an entry compares so with a number.
    pub fn on_execution_if(
        &self,
        condition: Condition,
        entry: Entry,
        value: u64,
        callback: InstructionCallback,
        data: u64,
    ) {
        let data = ptr::without_provenance_mut(data as usize);
        // SAFETY: as above; the data is a number, never dereferenced.
        unsafe {
            qemu_plugin_register_vcpu_tb_exec_cond_cb(
                self.0,
                callback,
                Access::None,
                condition,
                entry,
                value,
                data,
            );
        }
    }
}

/// The physical address of an access to memory, from within its callback; `None` for that of a device.
pub fn physical(info: u32, address: u64) -> Option<u64> {
    // SAFETY: QEMU looks up what it has just used, in a place of its own.
    unsafe {
        let found = qemu_plugin_get_hwaddr(info, address);
        let is_memory = !found.is_null() && !qemu_plugin_hwaddr_is_io(found);
        is_memory.then(|| qemu_plugin_hwaddr_phys_addr(found))
    }
}

/// What QEMU gives plugins to count in, with an element for each CPU.
///
/// Under `-icount` QEMU's translator takes the number of the CPU that translates for a constant
/// (`gen_plugin_u64_ptr`, accel/tcg/plugin-gen.c), and multiplies it in place by the element's size,
/// which spoils the code of further CPUs unless that size is 1. All CPUs execute the same code, one at a
/// time, so an entry here is a variable of the plugin, at its distance from the translating CPU's
/// element.
pub struct Scoreboard(*mut c_void);

impl Scoreboard {
    /// A scoreboard without room for counts: entries lie outside.
    pub fn new() -> Self {
        // SAFETY: the scoreboard is never freed.
        Self(unsafe { qemu_plugin_scoreboard_new(1) })
    }

    /// The entry of a variable, for a block that this CPU translates.
    pub fn entry(&self, variable: &'static AtomicU64, translating: c_uint) -> Entry {
        // SAFETY: the first element exists. QEMU's buffer may move, but no CPU is added.
        let first = unsafe { qemu_plugin_scoreboard_find(self.0, 0) };
        let distance = variable.as_ptr().addr().wrapping_sub(first.addr());
        Entry { scoreboard: self.0, offset: distance.wrapping_sub(translating as usize) }
    }
}

/// Reads the guest's registers and memory, from within a callback.
pub struct Guest {
    buffer: *mut ByteArray,
    /// By the numbers of registers; those that are read have one.
    registers: [Option<*mut c_void>; Register::COUNT],
}

impl Guest {
    /// Finds some registers. To be called on a CPU's thread.
    pub fn new(registers: &[Register]) -> Option<Self> {
        let mut handles = [None; Register::COUNT];
        // SAFETY: QEMU gives an array of descriptors with static names, which is ours to free.
        unsafe {
            let array = qemu_plugin_get_registers();
            let descriptors: &[RegisterDescriptor] =
                std::slice::from_raw_parts((*array).data.cast(), (*array).len as usize);
            let all_are_found = registers.iter().all(|register| {
                let named = |descriptor: &&RegisterDescriptor| {
                    CStr::from_ptr(descriptor.name).to_bytes() == register.name().as_bytes()
                };
                let handle = descriptors.iter().find(named).map(|found| found.handle);
                handles[*register as usize] = handle;
                handle.is_some()
            });
            g_array_free(array, 1);
            all_are_found.then(|| Self { buffer: g_byte_array_new(), registers: handles })
        }
    }

    /// A register of 64 bits; 0 when it was not asked for.
    pub fn register(&self, register: Register) -> u64 {
        let Some(handle) = self.registers[register as usize] else { return 0 };
        // SAFETY: the handle came from QEMU, and GLib grows the buffer as needed.
        unsafe {
            g_byte_array_set_size(self.buffer, 0);
            qemu_plugin_read_register(handle, self.buffer);
            self.word()
        }
    }

    /// Up to 8 bytes of memory, little endian; `None` where nothing is mapped.
    pub fn memory(&self, address: u64, len: usize) -> Option<u64> {
        self.bytes(address, len.min(8)).map(|_| self.word())
    }

    /// Bytes of memory, valid until the next read.
    pub fn bytes(&self, address: u64, len: usize) -> Option<&[u8]> {
        // SAFETY: GLib grows the buffer as needed; what is returned lives in it, and is read before
        // the next call because reading takes one thread's callback at a time.
        unsafe {
            qemu_plugin_read_memory_vaddr(address, self.buffer, len).then(|| {
                std::slice::from_raw_parts((*self.buffer).data, (*self.buffer).len as usize)
            })
        }
    }

    fn word(&self) -> u64 {
        // SAFETY: the buffer is valid, and no more than its length is read.
        unsafe {
            let len = ((*self.buffer).len as usize).min(8);
            let mut word = [0; 8];
            ptr::copy_nonoverlapping((*self.buffer).data, word.as_mut_ptr(), len);
            u64::from_le_bytes(word)
        }
    }
}
