//! Wire formats between the host and the guest.
//!
//! The host hands the guest a [`Job`] through a `fw_cfg` file named [`JOB_FILE`]; the guest answers
//! with one [`Message`] per [`frame`] on the results port. The crate does no I/O and needs no
//! standard library, because the guest has none.
//!
//! Every time on the wire is guest virtual time in nanoseconds, on the guest's `CLOCK_MONOTONIC`.
#![no_std]

extern crate alloc;

mod boot;
pub mod caches;
pub mod counts;
pub mod frame;
mod job;
pub mod live;
mod port;
pub mod prices;
mod report;
pub mod script;
pub mod stolen;
pub mod trace;
pub mod virt;

pub use boot::{BOOT_FILE, BootConfig};
pub use frame::Message;
pub use job::{
    Command, CommandSignal, Deadline, EndSignal, Evidence, JOB_FILE, Job, LoadStart, Policy,
    Setting, Write,
};
pub use port::{
    DONE_CODE, EXIT_PORT, RESULTS_PORT, SNAPSHOT_DELAY_NS, SNAPSHOT_WATCHDOG,
    WATCHDOG_DISABLE_PORT, WATCHDOG_PORT,
};
pub use report::{
    Activity, CommandReport, Exit, Failure, FailureKind, Refusal, Report, Stage, System, Window,
};

/// The version of every format in this crate; host and guest must agree on it exactly, because the
/// host always brings its own guest.
pub const FORMAT: u32 = 2;
