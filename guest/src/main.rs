//! The program that the guest's kernel starts as `/init`: without a C library, so that its bytes
//! depend on nothing but the toolchain and the lock file.
#![no_std]
#![no_main]

use core::panic::PanicInfo;

use linked_list_allocator::LockedHeap;

#[global_allocator]
static HEAP: LockedHeap = LockedHeap::empty();

/// Called by `_start` in the library's `arch` module, on an aligned stack.
#[unsafe(no_mangle)]
extern "C" fn preemptlab_init() -> ! {
    let memory = preemptlab_guest::reserve_heap();
    // SAFETY: the heap is initialized once, with memory that is mapped, unused and never unmapped.
    unsafe { HEAP.lock().init(memory.cast(), memory.len()) };
    preemptlab_guest::run()
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    preemptlab_guest::panicked(info)
}
