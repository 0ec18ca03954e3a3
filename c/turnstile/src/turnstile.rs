use std::{
    ptr,
    sync::atomic::{AtomicU32, Ordering::SeqCst},
};

use libc::{FUTEX_PRIVATE_FLAG, FUTEX_WAIT, FUTEX_WAKE, SYS_futex, c_int, timespec};

const GOING: u32 = 0;
const STANDING: u32 = 1;

/// Whether the virtual CPUs go or stand: a futex (futex(2)), on which either side waits for the
/// other.
pub struct Turnstile(AtomicU32);

impl Turnstile {
    /// The CPUs go.
    pub const fn new() -> Self {
        Self(AtomicU32::new(GOING))
    }

    /// The thread of the CPUs waits here until somebody sends it on.
    ///
    /// `unlock` gives the lock back. The CPUs stand before it does, so that whoever gets the lock
    /// next can send them on: no signal is lost, and none is needed that nobody gave.
    pub fn stand(&self, unlock: impl FnOnce()) {
        self.turn(STANDING);
        unlock();
        self.wait_while(STANDING);
    }

    /// Sends the thread of the CPUs on. From here on they go, even before it has woken up.
    pub fn send_on(&self) {
        self.turn(GOING);
    }

    /// Waits until the CPUs stand.
    pub fn pass(&self) {
        self.wait_while(GOING);
    }

    fn turn(&self, to: u32) {
        if self.0.swap(to, SeqCst) != to {
            self.futex(FUTEX_WAKE, c_int::MAX as u32);
        }
    }

    fn wait_while(&self, state: u32) {
        while self.0.load(SeqCst) == state {
            self.futex(FUTEX_WAIT, state);
        }
    }

    /// A caller of what QEMU calls may still want to know its own `errno`.
    fn futex(&self, operation: c_int, value: u32) {
        let for_ever = ptr::null::<timespec>();
        // SAFETY: the call reads the futex, which lives on; `errno` is this thread's own.
        unsafe {
            let errno = *libc::__errno_location();
            libc::syscall(
                SYS_futex,
                self.0.as_ptr(),
                operation | FUTEX_PRIVATE_FLAG,
                value,
                for_ever,
            );
            *libc::__errno_location() = errno;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            Mutex,
            atomic::{AtomicBool, AtomicU32},
        },
        thread,
    };

    use super::*;

    /// A main loop and CPUs that each count what they do under the lock: while one of them counts,
    /// the other must not, lock or no lock, and no turn is lost.
    #[test]
    fn cpus_and_main_loop_take_turns() {
        const TURNS: u32 = 20_000;
        let turnstile = Turnstile::new();
        let lock = Mutex::new(());
        let going = AtomicBool::new(true);
        let served = AtomicU32::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                for turn in 0..TURNS {
                    let guard = lock.lock().unwrap();
                    assert_eq!(served.load(SeqCst), turn, "the main loop came between");
                    going.store(false, SeqCst);
                    turnstile.stand(|| drop(guard));
                }
            });
            for _ in 0..TURNS {
                turnstile.pass();
                let _guard = lock.lock().unwrap();
                assert!(!going.swap(true, SeqCst), "the CPUs do not stand");
                served.fetch_add(1, SeqCst);
                turnstile.send_on();
            }
        });
    }

    #[test]
    fn who_goes_already_needs_no_sending() {
        let turnstile = Turnstile::new();
        turnstile.send_on();
        // Sent on by its own hand, between giving the lock back and waiting.
        turnstile.stand(|| turnstile.send_on());
        turnstile.stand(|| turnstile.send_on());
    }
}
