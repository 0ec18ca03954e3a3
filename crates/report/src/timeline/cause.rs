//! The looks of causes.

use anstyle::{AnsiColor, Style};
use preemptlab_trace::Cause;

/// Every cause, and that none is known.
pub const CAUSES: [Option<Cause>; 13] = [
    Some(Cause::TimerPending),
    Some(Cause::IrqsOff),
    Some(Cause::HardIrq),
    Some(Cause::Softirq),
    Some(Cause::PreemptOff),
    Some(Cause::NotPreemptible),
    Some(Cause::IpiWait),
    Some(Cause::SpinWait),
    Some(Cause::RemoteWakeup),
    Some(Cause::Scheduling),
    Some(Cause::OtherTask),
    Some(Cause::Return),
    None,
];

/// Returns the cause in words.
pub fn words(cause: Option<Cause>) -> &'static str {
    cause.map_or("not known", Cause::as_str)
}

/// Returns the character of a cause. Letters, where possible those of ftrace's latency format, keep
/// a task from running; signs are steps on its way.
pub fn glyph(cause: Option<Cause>) -> char {
    match cause {
        Some(Cause::TimerPending) => '.',
        Some(Cause::IrqsOff) => 'd',
        Some(Cause::HardIrq) => 'h',
        Some(Cause::Softirq) => 's',
        Some(Cause::PreemptOff) => 'p',
        Some(Cause::NotPreemptible) => 'n',
        Some(Cause::IpiWait) => 'i',
        Some(Cause::SpinWait) => 'l',
        Some(Cause::RemoteWakeup) => '~',
        Some(Cause::Scheduling) => '=',
        Some(Cause::OtherTask) => 'o',
        Some(Cause::Return) => '>',
        None => '?',
    }
}

/// Returns its colours on a terminal.
pub fn ansi(cause: Option<Cause>) -> Style {
    let (ink, ground) = match cause {
        Some(Cause::TimerPending) => (AnsiColor::White, AnsiColor::BrightBlack),
        Some(Cause::IrqsOff) => (AnsiColor::Black, AnsiColor::Red),
        Some(Cause::HardIrq) => (AnsiColor::Black, AnsiColor::Magenta),
        Some(Cause::Softirq) => (AnsiColor::Black, AnsiColor::BrightYellow),
        Some(Cause::PreemptOff) => (AnsiColor::Black, AnsiColor::Yellow),
        Some(Cause::NotPreemptible) => (AnsiColor::BrightWhite, AnsiColor::Blue),
        Some(Cause::IpiWait) => (AnsiColor::Black, AnsiColor::BrightMagenta),
        Some(Cause::SpinWait) => (AnsiColor::Black, AnsiColor::BrightRed),
        Some(Cause::RemoteWakeup) => (AnsiColor::Black, AnsiColor::BrightCyan),
        Some(Cause::Scheduling) => (AnsiColor::Black, AnsiColor::Green),
        Some(Cause::OtherTask) => (AnsiColor::Black, AnsiColor::Cyan),
        Some(Cause::Return) => (AnsiColor::Black, AnsiColor::White),
        None => return Style::new(),
    };
    Style::new().fg_color(Some(ink.into())).bg_color(Some(ground.into()))
}

/// Returns its class in a picture.
pub fn class(cause: Option<Cause>) -> &'static str {
    match cause {
        Some(Cause::TimerPending) => "timer-pending",
        Some(Cause::IrqsOff) => "irqs-off",
        Some(Cause::HardIrq) => "hard-irq",
        Some(Cause::Softirq) => "softirq",
        Some(Cause::PreemptOff) => "preempt-off",
        Some(Cause::NotPreemptible) => "not-preemptible",
        Some(Cause::IpiWait) => "ipi-wait",
        Some(Cause::SpinWait) => "spin-wait",
        Some(Cause::RemoteWakeup) => "remote-wakeup",
        Some(Cause::Scheduling) => "scheduling",
        Some(Cause::OtherTask) => "other-task",
        Some(Cause::Return) => "return",
        None => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_causes_look_the_same() {
        assert_eq!(CAUSES.map(glyph).into_iter().collect::<BTreeSet<_>>().len(), CAUSES.len());
        assert_eq!(CAUSES.map(class).into_iter().collect::<BTreeSet<_>>().len(), CAUSES.len());
        assert_eq!(CAUSES.map(words).into_iter().collect::<BTreeSet<_>>().len(), CAUSES.len());
        let grounds = CAUSES.map(|cause| format!("{:?}", ansi(cause).get_bg_color()));
        assert_eq!(grounds.into_iter().collect::<BTreeSet<_>>().len(), CAUSES.len());
    }
}
