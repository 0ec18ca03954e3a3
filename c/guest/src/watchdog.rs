use preemptlab_protocol::WATCHDOG_PORT;

use crate::{arch, clock::NS_PER_SEC};

/// The longest that the device can wait is 30 s; the rest leaves room for a busy guest.
const PERIOD_NS: u64 = 20 * NS_PER_SEC;
const LONGEST: u8 = 0;

/// The `ib700` watchdog: it stops a machine whose kernel hangs, so that its cell fails after a known
/// amount of virtual time.
pub struct Watchdog {
    due_ns: u64,
}

impl Watchdog {
    /// Arms the device.
    pub fn arm(now_ns: u64) -> Self {
        arch::write_port(WATCHDOG_PORT, LONGEST);
        Self { due_ns: now_ns + PERIOD_NS }
    }

    /// Arms the device anew when it is time.
    pub fn pet(&mut self, now_ns: u64) {
        if now_ns >= self.due_ns {
            *self = Self::arm(now_ns);
        }
    }

    /// When to call [`Self::pet`] next.
    pub fn due_ns(&self) -> u64 {
        self.due_ns
    }
}
