//! Locks between processes: futex(2) on shared memory.

use core::sync::atomic::{AtomicU32, Ordering};

use rustix::{
    io::Errno,
    thread::{futex, gettid},
};

/// The words are shared, so no call may say that they are private.
const SHARED: futex::Flags = futex::Flags::empty();

/// A plain lock that somebody holds.
const HELD: u32 = 1;
/// Likewise, with somebody waiting for it, perhaps.
const AWAITED: u32 = 2;

/// Sleeps while a word has this value, or spuriously not.
pub fn wait(word: &AtomicU32, value: u32, timeout_ns: Option<u64>) {
    let timeout = timeout_ns.map(preemptlab_sys::clock::timespec);
    let _ = futex::wait(word, SHARED, value, timeout.as_ref());
}

/// Wakes everybody who sleeps on a word.
pub fn wake_all(word: &AtomicU32) {
    let _ = futex::wake(word, SHARED, i32::MAX as u32);
}

/// Sleeps until the process is killed.
pub fn wait_for_ever() -> ! {
    let word = AtomicU32::new(0);
    loop {
        wait(&word, 0, None);
    }
}

/// Takes the plain lock of Drepper's "Futexes are tricky", the third one.
pub fn lock(word: &AtomicU32) {
    let taken = word.compare_exchange(0, HELD, Ordering::Acquire, Ordering::Relaxed);
    if taken.is_ok() {
        return;
    }
    while word.swap(AWAITED, Ordering::Acquire) != 0 {
        wait(word, AWAITED, None);
    }
}

/// Gives it back.
pub fn unlock(word: &AtomicU32) {
    if word.swap(0, Ordering::Release) == AWAITED {
        let _ = futex::wake(word, SHARED, 1);
    }
}

/// Takes a lock whose waiters lend their priority to its owner. A thread that the kernel will not
/// let wait, because it would be waiting for itself in the end, sleeps for ever: so does glibc's
/// `pthread_mutex_lock`.
pub fn lock_pi(word: &AtomicU32) -> Result<(), Errno> {
    let thread = gettid().as_raw_nonzero().get() as u32;
    if word.compare_exchange(0, thread, Ordering::Acquire, Ordering::Relaxed).is_ok() {
        return Ok(());
    }
    loop {
        match futex::lock_pi(word, SHARED, None) {
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(Errno::DEADLK) => wait_for_ever(),
            result => return result,
        }
    }
}

/// Gives it back.
pub fn unlock_pi(word: &AtomicU32) -> Result<(), Errno> {
    let thread = gettid().as_raw_nonzero().get() as u32;
    match word.compare_exchange(thread, 0, Ordering::Release, Ordering::Relaxed) {
        Ok(_) => Ok(()),
        Err(_) => futex::unlock_pi(word, SHARED),
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// Adds to a number that only the lock protects.
    fn counts_right(lock: impl Fn() + Sync, unlock: impl Fn() + Sync) {
        let sum = AtomicU32::new(0);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..2_000 {
                        lock();
                        let seen = sum.load(Ordering::Relaxed);
                        thread::yield_now();
                        sum.store(seen + 1, Ordering::Relaxed);
                        unlock();
                    }
                });
            }
        });
        assert_eq!(sum.into_inner(), 8_000);
    }

    #[test]
    fn locks_exclude() {
        let word = AtomicU32::new(0);
        counts_right(|| lock(&word), || unlock(&word));
        assert_eq!(word.into_inner(), 0);
        let word = AtomicU32::new(0);
        counts_right(|| lock_pi(&word).unwrap(), || unlock_pi(&word).unwrap());
        assert_eq!(word.into_inner(), 0);
    }
}
