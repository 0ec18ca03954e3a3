//! The device of the module `preemptlab_scenario`: kmod/scenario/preemptlab_scenario.h.

use alloc::{format, string::String, vec, vec::Vec};

use linux_raw_sys::general::__NR_ioctl;
use preemptlab_protocol::script::{Interrupt, OPERATIONS_MAX, PlayedEvent, Span};
use preemptlab_sys::arch::syscall;
use rustix::{
    fd::{AsRawFd, OwnedFd},
    fs::{Mode, OFlags, open},
    io::Errno,
};

use crate::{
    board::SpanRecord,
    operation::Raw,
    trouble::{Attempt, Result, Trouble},
};

const PATH: &str = "/dev/preemptlab_scenario";

/// `SCENARIO_NO_PART`
const NO_PART: u64 = u64::MAX;

/// `struct scenario_call`
#[repr(C)]
struct Call {
    thread: u32,
    count: u32,
    operations: u64,
    spans: u64,
    refused_at: u32,
    reason: [u8; 60],
}

/// `struct scenario_progress`
#[repr(C)]
struct Progress {
    thread: u32,
    count: u32,
    spans: u64,
}

/// `struct scenario_line`
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Line {
    name: [u8; 16],
    hard_ns: u64,
    threaded_ns: u64,
    softirq_ns: u64,
    work_ns: u64,
    irq: u32,
    reserved: u32,
}

/// `struct scenario_lines`
#[repr(C)]
#[derive(Default)]
struct Lines {
    count: u32,
    reserved: u32,
    line: [Line; 8],
}

/// `struct scenario_arm`
#[repr(C)]
struct Arm {
    line: u32,
    count: u32,
    at_ns: u64,
}

/// `struct scenario_span`
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct RawSpan {
    begin_ns: u64,
    end_ns: u64,
}

/// `struct scenario_event`
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Event {
    fired_ns: u64,
    part: [RawSpan; 4],
}

/// `struct scenario_events`
#[repr(C)]
struct Events {
    line: u32,
    count: u32,
    events: u64,
}

/// A command of the device: `_IOC` of include/uapi/asm-generic/ioctl.h.
const fn command<T>(direction: usize, number: usize) -> usize {
    direction << 30 | size_of::<T>() << 16 | (b'P' as usize) << 8 | number
}

const WRITE: usize = 1;
const READ_WRITE: usize = 3;

const CHECK: usize = command::<Call>(READ_WRITE, 0);
const CALL: usize = command::<Call>(READ_WRITE, 1);
const PROGRESS: usize = command::<Progress>(READ_WRITE, 2);
const SET_LINES: usize = command::<Lines>(READ_WRITE, 3);
const ARM: usize = command::<Arm>(WRITE, 4);
const READ_EVENTS: usize = command::<Events>(READ_WRITE, 5);
const DRAIN: usize = command::<u64>(WRITE, 6);

/// The open device.
pub struct Device(OwnedFd);

impl Device {
    /// Opens it.
    pub fn open() -> Result<Self> {
        match open(PATH, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()) {
            Err(Errno::NOENT) => Err(Trouble(format!(
                "the script has system calls or interrupts, and there is no {PATH}: the module \
                 preemptlab_scenario is not loaded"
            ))),
            device => device.map(Self).attempt(|| format!("open {PATH}")),
        }
    }

    /// # Safety
    ///
    /// Pointers in the request must be good for what the device does with them.
    unsafe fn ask<T>(&self, command: usize, request: &mut T) -> core::result::Result<(), Errno> {
        let arguments = [self.0.as_raw_fd() as usize, command, (&raw mut *request).addr(), 0];
        // SAFETY: the command's size is that of the request; the caller answers for the rest.
        unsafe { syscall(__NR_ioctl, arguments) }.map(drop)
    }

    /// Whether a call can be made; else which of its operations cannot, and why.
    pub fn check(&self, operations: &[Raw]) -> core::result::Result<(), String> {
        let mut call = call_of(0, operations, &[]);
        // SAFETY: the operations are read, and spans are written by a call alone.
        match unsafe { self.ask(CHECK, &mut call) } {
            Ok(()) => Ok(()),
            Err(Errno::INVAL) => {
                let reason = call.reason.split(|&byte| byte == 0).next().unwrap_or(&[]);
                let reason = String::from_utf8_lossy(reason);
                let at = call.refused_at;
                let is_at_end = at as usize == operations.len();
                Err(if is_at_end {
                    reason.into()
                } else {
                    format!("operation {}: {reason}", at + 1)
                })
            }
            Err(errno) => Err(format!("the device refuses it: error {}", errno.raw_os_error())),
        }
    }

    /// Makes a call as a thread of the script, which writes when its operations happened.
    pub fn call(
        &self,
        thread: usize,
        operations: &[Raw],
        spans: &[SpanRecord],
    ) -> core::result::Result<(), Errno> {
        assert!(spans.len() >= operations.len(), "every operation has its span");
        let mut call = call_of(thread, operations, spans);
        // SAFETY: the operations are read; there is a span for each, of atomics, which may change.
        unsafe { self.ask(CALL, &mut call) }
    }

    /// The operations that were begun of the call that a thread is in, or was in last.
    pub fn progress(&self, thread: usize) -> Result<Vec<Span>> {
        let mut spans = vec![RawSpan::default(); OPERATIONS_MAX];
        let mut progress = Progress {
            thread: thread as u32,
            count: spans.len() as u32,
            spans: spans.as_mut_ptr().addr() as u64,
        };
        // SAFETY: there is room for so many spans.
        unsafe { self.ask(PROGRESS, &mut progress) }.attempt(|| "read a call".into())?;
        Ok(spans[..progress.count as usize].iter().filter_map(|&span| span.played()).collect())
    }

    /// Sets up all interrupt lines; returns their numbers.
    pub fn set_lines(&self, interrupts: &[Interrupt]) -> Result<Vec<u32>> {
        let mut lines = Lines { count: interrupts.len() as u32, ..Lines::default() };
        for (line, interrupt) in lines.line.iter_mut().zip(interrupts) {
            line.name[..interrupt.name.len()].copy_from_slice(interrupt.name.as_bytes());
            line.hard_ns = interrupt.hard_ns;
            line.threaded_ns = interrupt.threaded_ns.unwrap_or(NO_PART);
            line.softirq_ns = interrupt.softirq_ns.unwrap_or(NO_PART);
            line.work_ns = interrupt.work_ns.unwrap_or(NO_PART);
        }
        // SAFETY: no pointers.
        unsafe { self.ask(SET_LINES, &mut lines) }
            .attempt(|| "set up the interrupt lines".into())?;
        Ok(lines.line.iter().take(interrupts.len()).map(|line| line.irq).collect())
    }

    /// Has a line's interrupts come at these times, on this CPU.
    pub fn arm(&self, line: usize, at_ns: &[u64]) -> Result<()> {
        let (line, count) = (line as u32, at_ns.len() as u32);
        let mut arm = Arm { line, count, at_ns: at_ns.as_ptr().addr() as u64 };
        // SAFETY: the times are read.
        unsafe { self.ask(ARM, &mut arm) }.attempt(|| "arm the interrupts".into())
    }

    /// Sleeps until every armed event is done, but no longer than until this time.
    pub fn drain(&self, until_ns: u64) -> Result<()> {
        let mut until_ns = until_ns;
        loop {
            // SAFETY: no pointers.
            match unsafe { self.ask(DRAIN, &mut until_ns) } {
                Err(Errno::INTR) => {}
                Err(Errno::TIME) => return Ok(()),
                result => return result.attempt(|| "wait for the interrupts".into()),
            }
        }
    }

    /// The events of a line that have fired.
    pub fn events(&self, line: usize, count: usize) -> Result<Vec<PlayedEvent>> {
        let mut raw = vec![Event::default(); count];
        let mut events = Events {
            line: line as u32,
            count: count as u32,
            events: raw.as_mut_ptr().addr() as u64,
        };
        // SAFETY: there is room for so many events.
        unsafe { self.ask(READ_EVENTS, &mut events) }.attempt(|| "read the interrupts".into())?;
        let played = raw[..events.count as usize].iter().map(|event| {
            let [hard, threaded, softirq, work] = event.part.map(RawSpan::played);
            PlayedEvent { fired_ns: event.fired_ns, hard, threaded, softirq, work }
        });
        Ok(played.collect())
    }
}

impl RawSpan {
    /// `None` when it has not begun.
    fn played(self) -> Option<Span> {
        let Self { begin_ns, end_ns } = self;
        (begin_ns > 0).then_some(Span { begin_ns, end_ns: (end_ns > 0).then_some(end_ns) })
    }
}

fn call_of(thread: usize, operations: &[Raw], spans: &[SpanRecord]) -> Call {
    Call {
        thread: thread as u32,
        count: operations.len() as u32,
        operations: operations.as_ptr().addr() as u64,
        spans: spans.as_ptr().addr() as u64,
        refused_at: 0,
        reason: [0; 60],
    }
}

#[cfg(test)]
mod tests {
    use preemptlab_protocol::script::{EVENTS_MAX, INTERRUPTS_MAX, LOCKS_MAX, NS_MAX, THREADS_MAX};

    use super::*;

    #[test]
    fn requests_have_the_sizes_of_the_header() {
        let sizes = [
            size_of::<Call>(),
            size_of::<Progress>(),
            size_of::<Lines>(),
            size_of::<Arm>(),
            size_of::<Events>(),
            size_of::<Event>(),
            size_of::<Raw>(),
        ];
        assert_eq!(sizes, [88, 16, 8 + 8 * 56, 16, 16, 72, 16]);
        // _IOWR('P', 0, 88 bytes)
        assert_eq!(CHECK, 0xc058_5000);
    }

    #[test]
    fn limits_are_those_of_the_header() {
        let header = include_str!("../../../kmod/scenario/preemptlab_scenario.h");
        for (name, value) in [
            ("THREADS_MAX", THREADS_MAX as u64),
            ("OPERATIONS_MAX", OPERATIONS_MAX as u64),
            ("LINES_MAX", INTERRUPTS_MAX as u64),
            ("EVENTS_MAX", EVENTS_MAX as u64),
            ("LOCKS_MAX", LOCKS_MAX.into()),
        ] {
            let line = format!("#define SCENARIO_{name} {value}\n");
            assert!(header.contains(&line), "{line}");
        }
        assert!(header.contains(&format!("#define SCENARIO_NS_MAX {NS_MAX}ULL\n")));
    }
}
