//! Lets QEMU's main loop go on only while the virtual CPUs stand still, so that what a guest does
//! depends on virtual time alone. A library to preload (`LD_PRELOAD`, ld.so(8)).
//!
//! Under `-icount` one thread executes all virtual CPUs in turn and serves the virtual timers
//! between turns. When all CPUs are idle, the main loop moves the virtual clock to the next timer
//! (`icount_start_warp_timer`, QEMU accel/tcg/icount-common.c). But a CPU counts as idle from the
//! moment that it halts, and what it has executed in its last turn is added to the clock a little
//! later (`icount_process_data`). A main loop that comes between the two, because some earlier timer
//! has woken it, moves the clock from where it was before that turn, and the turn is added on top:
//! the next timer is late, by as much as that turn was long. Host time decides on it.
//!
//! Here the main thread does not get QEMU's global lock before the thread of the CPUs waits: all of
//! them are idle then or stopped, the clock is right, and nothing of the machine happens but what
//! the main loop does. The thread of the CPUs waits only with the lock in its hands, and goes on only
//! when it is told to, by somebody who has the lock, so the two never work at a time.
//!
//! The price: what else the main loop serves has to wait for the next time that all CPUs are idle,
//! the monitor included. Other threads take the lock as ever. They do the work of snapshots and free
//! memory, and move no clock.
//!
//! The turns of several CPUs must not depend on the host either, nor those of one whose instructions
//! have prices: see `scheduler.rs`. What the guest writes to its results port is written to the host in
//! large parts: see `results.rs`. Nor may the size of QEMU's TLBs depend on it: see `tlb.rs`.

// A test has its own C library to stand before.
#[cfg(not(test))]
mod arch;
mod clocks;
#[cfg(not(test))]
mod interposed;
#[cfg(not(test))]
mod next;
#[cfg(not(test))]
mod qemu;
#[cfg(not(test))]
mod results;
#[cfg(not(test))]
mod scheduler;
#[cfg(not(test))]
mod spin;
mod steals;
#[cfg(not(test))]
mod threads;
#[cfg(not(test))]
mod tlb;
#[cfg(not(test))]
mod turns;
mod turnstile;
