//! The window of a measurement in virtual time.

use preemptlab_protocol::trace::stream::SiteKind;

use crate::{decode::Event, explain::Window, kernel::Kernel, wakeup::Expiry};

/// A window of the guest's `CLOCK_MONOTONIC`, in virtual time once a timer has told how the clocks differ.
#[derive(Debug)]
pub(crate) struct VirtualWindow {
    window: Window,
    /// Number that is added to `CLOCK_MONOTONIC` to get virtual time, in nanoseconds.
    pub offset_ns: Option<i64>,
    shifted: Window,
}

impl VirtualWindow {
    pub fn new(window: Window) -> Self {
        let never = Window { start_ns: u64::MAX, end_ns: u64::MAX };
        Self { window, offset_ns: None, shifted: never }
    }

    /// Takes note of an event, which may tell the distance of the clocks.
    pub fn look(&mut self, kernel: &Kernel, event: &Event) {
        if self.offset_ns.is_none()
            && let Some(offset_ns) = clock_offset_ns(kernel, event)
        {
            self.offset_ns = Some(offset_ns);
            self.shifted = Window {
                start_ns: self.window.start_ns.saturating_add_signed(offset_ns),
                end_ns: self.window.end_ns.saturating_add_signed(offset_ns),
            };
        }
    }

    /// Returns whether the window holds an instant of virtual time.
    pub fn contains(&self, ns: u64) -> bool {
        self.shifted.contains(ns)
    }
}

/// Begin or end of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edge {
    Begin,
    End,
}

/// The edges of a window that a trace has not passed yet. Events of one CPU may follow later ones of another,
/// and pass each edge once all the same.
#[derive(Debug, Default)]
pub(crate) struct Edges {
    passed: Option<Edge>,
}

impl Edges {
    /// Returns the edge that an event is the first to pass.
    pub fn pass(&mut self, window: &VirtualWindow, ns: u64) -> Option<Edge> {
        let edge = match self.passed {
            None if window.contains(ns) => Edge::Begin,
            Some(Edge::Begin) if window.shifted.end_ns < ns => Edge::End,
            _ => return None,
        };
        self.passed = Some(edge);
        Some(edge)
    }
}

/// Returns the time by which virtual time is ahead of `CLOCK_MONOTONIC`, if the event tells it, in
/// nanoseconds.
fn clock_offset_ns(kernel: &Kernel, event: &Event) -> Option<i64> {
    let SiteKind::Probe(probe) = event.site.kind else { return None };
    let expiry = Expiry::of(kernel.tracepoint(probe).point, event.values())?;
    Some(expiry.due_ns(kernel.arch().cycle_ns)?.wrapping_sub(expiry.soft_expires_ns).cast_signed())
}
