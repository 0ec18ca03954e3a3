//! The looks of the states of lanes.

use anstyle::{AnsiColor, Style};
use preemptlab_trace::LaneState;

/// Look of a stretch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Look {
    User,
    Kernel,
    /// The thread runs, and cannot be preempted.
    PreemptOff,
    /// The thread runs, and cannot be interrupted.
    IrqsOff,
    Interrupted,
    Waiting,
    Blocked,
    Sleeping,
    /// Some other thread runs.
    Other,
    Hardirq,
    Softirq,
    Nothing,
}

impl Look {
    /// Everything that a legend explains, in its order.
    pub const ALL: [Self; 11] = [
        Self::User,
        Self::Kernel,
        Self::PreemptOff,
        Self::IrqsOff,
        Self::Interrupted,
        Self::Waiting,
        Self::Blocked,
        Self::Sleeping,
        Self::Other,
        Self::Hardirq,
        Self::Softirq,
    ];

    /// Returns the look of a thread's state.
    pub fn of(state: LaneState) -> Self {
        match state {
            LaneState::User => Self::User,
            LaneState::Kernel => Self::Kernel,
            LaneState::Interrupted => Self::Interrupted,
            LaneState::Runnable => Self::Waiting,
            LaneState::Sleeping => Self::Sleeping,
            LaneState::Blocked => Self::Blocked,
            LaneState::Hardirq => Self::Hardirq,
            LaneState::Softirq => Self::Softirq,
            LaneState::Gone | LaneState::Thread | LaneState::Idle => Self::Nothing,
        }
    }

    pub fn words(self) -> &'static str {
        match self {
            Self::User => "user space",
            Self::Kernel => "kernel",
            Self::PreemptOff => "preemption off",
            Self::IrqsOff => "interrupts off",
            Self::Interrupted => "interrupted",
            Self::Waiting => "waits for the CPU",
            Self::Blocked => "waits for a lock",
            Self::Sleeping => "sleeps",
            Self::Other => "another thread",
            Self::Hardirq => "hard interrupt",
            Self::Softirq => "softirq",
            Self::Nothing => "",
        }
    }

    /// Returns the character of the look. A running task is a block, a waiting one a line or less.
    pub fn glyph(self) -> char {
        match self {
            Self::User => '█',
            Self::Kernel => '▓',
            Self::PreemptOff => '▀',
            Self::IrqsOff => '▄',
            Self::Interrupted => '▚',
            Self::Waiting => '╱',
            Self::Blocked => '═',
            Self::Sleeping => '·',
            Self::Other => '▒',
            Self::Hardirq => 'h',
            Self::Softirq => 's',
            Self::Nothing => ' ',
        }
    }

    /// Returns its colours on a terminal.
    pub fn ansi(self) -> Style {
        let ink = |color: AnsiColor| Style::new().fg_color(Some(color.into()));
        match self {
            Self::User => ink(AnsiColor::Blue),
            Self::Kernel => ink(AnsiColor::Cyan),
            Self::PreemptOff => ink(AnsiColor::Yellow),
            Self::IrqsOff => ink(AnsiColor::Magenta),
            Self::Waiting => ink(AnsiColor::BrightWhite).bg_color(Some(AnsiColor::Red.into())),
            Self::Blocked => ink(AnsiColor::Red),
            Self::Hardirq => ink(AnsiColor::Black).bg_color(Some(AnsiColor::Magenta.into())),
            Self::Softirq => ink(AnsiColor::Black).bg_color(Some(AnsiColor::BrightYellow.into())),
            Self::Interrupted | Self::Sleeping | Self::Other => Style::new().dimmed(),
            Self::Nothing => Style::new(),
        }
    }

    /// Returns its class in a picture.
    pub fn class(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Kernel => "kernel",
            Self::PreemptOff => "preempt-off",
            Self::IrqsOff => "irqs-off",
            Self::Interrupted => "interrupted",
            Self::Waiting => "waiting",
            Self::Blocked => "blocked",
            Self::Sleeping => "sleeping",
            Self::Other => "other",
            Self::Hardirq => "hard-irq",
            Self::Softirq => "softirq",
            Self::Nothing => "nothing",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_states_look_the_same() {
        assert_eq!(Look::ALL.map(Look::glyph).into_iter().collect::<BTreeSet<_>>().len(), 11);
        assert_eq!(Look::ALL.map(Look::class).into_iter().collect::<BTreeSet<_>>().len(), 11);
        assert_eq!(Look::ALL.map(Look::words).into_iter().collect::<BTreeSet<_>>().len(), 11);
    }
}
