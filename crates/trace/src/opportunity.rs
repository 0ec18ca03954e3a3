//! The places at which the scheduler may switch to the most urgent task.

use preemptlab_protocol::trace::stream::SiteKind;
use serde::{Deserialize, Serialize};

use crate::{
    cpu::{Cpu, Frame, Machine},
    decode::Event,
    kernel::Kernel,
    point::Point,
};

/// Places at which a preemption model lets the scheduler switch to a real-time task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Opportunities {
    /// The return to user space, and the places where kernel code asks the scheduler (none,
    /// voluntary).
    Voluntary,
    /// Wherever neither preemption nor interrupts are off (full, lazy, and PREEMPT_RT).
    Everywhere,
}

/// Opportunities of the scheduler on a CPU from an event on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Whether it may not switch until another event.
    pub is_closed: bool,
    /// Whether it may switch at the event itself.
    pub is_instant: bool,
    /// Whether softirqs are served.
    pub serves_softirqs: bool,
    /// Part of the time since the CPU's last event that a change of the kernel removes, in nanoseconds.
    pub removed_ns: u64,
}

impl Seen {
    /// Looks at an event after the machine has followed it.
    pub fn of(
        opportunities: Opportunities,
        kernel: &Kernel,
        machine: &mut Machine,
        event: &Event,
    ) -> Self {
        let cpu = machine.cpu(event.cpu);
        let is_instant = match event.site.kind {
            // The scheduler takes notice of a woken task before it turns interrupts off.
            SiteKind::IrqsOff => {
                cpu.is_scheduling && cpu.irqs_off.is_some_and(|since| since.ns == event.ns)
            }
            SiteKind::Probe(probe) => match kernel.tracepoint(probe).point {
                Point::CondResched => cpu.preempt_count == 0 && cpu.irqs_off.is_none(),
                _ => false,
            },
            _ => false,
        };
        Self {
            is_closed: opportunities.is_closed(cpu),
            is_instant,
            serves_softirqs: cpu.frames.iter().any(|frame| matches!(frame, Frame::Softirq(_))),
            removed_ns: 0,
        }
    }

    /// Returns whether the scheduler may switch at the event.
    pub fn is_opportunity(self) -> bool {
        !self.is_closed || self.is_instant
    }
}

impl Opportunities {
    /// Returns whether the scheduler may not switch in a CPU's present state.
    pub(crate) fn is_closed(self, cpu: &Cpu) -> bool {
        if !cpu.is_busy {
            return cpu.is_interrupted();
        }
        match self {
            Self::Voluntary => !cpu.is_user(),
            Self::Everywhere => {
                cpu.preempt_count != 0 || cpu.irqs_off.is_some() || cpu.is_interrupted()
            }
        }
    }
}
