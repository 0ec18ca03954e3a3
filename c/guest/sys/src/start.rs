//! What comes before a program: its heap.

use core::ptr;

use linked_list_allocator::LockedHeap;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

/// Reserved, not used: a page costs memory when it is first touched.
const HEAP_BYTES: usize = 1 << 30;

#[global_allocator]
static HEAP: LockedHeap = LockedHeap::empty();

unsafe extern "C" {
    /// The program itself.
    fn preemptlab_main() -> !;
}

/// Called by `_start` in `arch`, on an aligned stack.
#[unsafe(no_mangle)]
extern "C" fn preemptlab_start() -> ! {
    let memory = reserve_heap();
    // SAFETY: the heap is initialized once, with memory that is mapped, unused and never unmapped.
    unsafe { HEAP.lock().init(memory.cast(), memory.len()) };
    // SAFETY: the program's binary has this function, and its type is this one.
    unsafe { preemptlab_main() }
}

/// Reserves the memory of the heap. When the kernel refuses, the program cannot run at all.
fn reserve_heap() -> *mut [u8] {
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    // SAFETY: a new mapping at a place of the kernel's choice.
    let memory = unsafe {
        mmap_anonymous(ptr::null_mut(), HEAP_BYTES, ProtFlags::READ | ProtFlags::WRITE, flags)
    };
    ptr::slice_from_raw_parts_mut(memory.expect("memory for the heap").cast(), HEAP_BYTES)
}
