use core::ptr;

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

/// Reserved, not used: a page costs memory when it is first touched.
const HEAP_BYTES: usize = 1 << 30;

/// Reserves the memory of the heap. Called once, before anything is allocated.
///
/// # Panics
///
/// When the kernel refuses; then the guest cannot run at all.
pub fn reserve_heap() -> *mut [u8] {
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    // SAFETY: a new mapping at a place of the kernel's choice.
    let memory = unsafe {
        mmap_anonymous(ptr::null_mut(), HEAP_BYTES, ProtFlags::READ | ProtFlags::WRITE, flags)
    };
    ptr::slice_from_raw_parts_mut(memory.expect("memory for the heap").cast(), HEAP_BYTES)
}
