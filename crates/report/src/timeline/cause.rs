//! The looks of causes.

use anstyle::{Ansi256Color, AnsiColor, Color, Style};
use preemptlab_trace::Cause;

/// Returns every cause, and that none is known.
pub fn all() -> impl Iterator<Item = Option<Cause>> {
    Cause::ALL.into_iter().map(Some).chain([None])
}

/// Returns the cause in words.
pub fn words(cause: Option<Cause>) -> &'static str {
    cause.map_or("not known", Cause::as_str)
}

/// Returns the character of a cause. Letters, where possible those of ftrace's latency format, keep
/// a task from running; signs are steps on its way.
pub fn glyph(cause: Option<Cause>) -> char {
    match cause {
        Some(Cause::TimerPending) => '.',
        Some(Cause::Stolen) => 'x',
        Some(Cause::IrqsOff) => 'd',
        Some(Cause::HardIrq) => 'h',
        Some(Cause::DeviceIrq) => 'H',
        Some(Cause::Softirq) => 's',
        Some(Cause::PreemptOff) => 'p',
        Some(Cause::NotPreemptible) => 'n',
        Some(Cause::IpiWait) => 'i',
        Some(Cause::SpinWait) => 'l',
        Some(Cause::RemoteWakeup) => '~',
        Some(Cause::Scheduling) => '=',
        Some(Cause::DeadlineTask) => 'D',
        Some(Cause::MoreUrgentTask) => 'u',
        Some(Cause::EqualTask) => 'e',
        Some(Cause::LockHolder) => 'L',
        Some(Cause::StopTask) => 'm',
        Some(Cause::FairShare) => 'f',
        Some(Cause::FairServer) => 'F',
        Some(Cause::Throttled) => 't',
        Some(Cause::OtherTask) => 'o',
        Some(Cause::Return) => '>',
        None => '?',
    }
}

/// Returns its colours on a terminal.
pub fn ansi(cause: Option<Cause>) -> Style {
    let (ink, ground): (AnsiColor, Color) = match cause {
        Some(Cause::TimerPending) => (AnsiColor::White, AnsiColor::BrightBlack.into()),
        Some(Cause::Stolen) => (AnsiColor::Black, Ansi256Color(137).into()),
        Some(Cause::IrqsOff) => (AnsiColor::Black, AnsiColor::Red.into()),
        Some(Cause::HardIrq) => (AnsiColor::Black, AnsiColor::Magenta.into()),
        Some(Cause::DeviceIrq) => (AnsiColor::Black, Ansi256Color(211).into()),
        Some(Cause::Softirq) => (AnsiColor::Black, AnsiColor::BrightYellow.into()),
        Some(Cause::PreemptOff) => (AnsiColor::Black, AnsiColor::Yellow.into()),
        Some(Cause::NotPreemptible) => (AnsiColor::BrightWhite, AnsiColor::Blue.into()),
        Some(Cause::IpiWait) => (AnsiColor::Black, AnsiColor::BrightMagenta.into()),
        Some(Cause::SpinWait) => (AnsiColor::Black, AnsiColor::BrightRed.into()),
        Some(Cause::RemoteWakeup) => (AnsiColor::Black, AnsiColor::BrightCyan.into()),
        Some(Cause::Scheduling) => (AnsiColor::Black, AnsiColor::Green.into()),
        Some(Cause::FairShare) => (AnsiColor::Black, AnsiColor::Cyan.into()),
        Some(Cause::DeadlineTask) => (AnsiColor::Black, Ansi256Color(69).into()),
        Some(Cause::MoreUrgentTask) => (AnsiColor::Black, Ansi256Color(75).into()),
        Some(Cause::EqualTask) => (AnsiColor::Black, Ansi256Color(153).into()),
        Some(Cause::LockHolder) => (AnsiColor::Black, Ansi256Color(209).into()),
        Some(Cause::StopTask) => (AnsiColor::Black, Ansi256Color(146).into()),
        Some(Cause::FairServer) => (AnsiColor::Black, Ansi256Color(150).into()),
        Some(Cause::Throttled) => (AnsiColor::Black, Ansi256Color(183).into()),
        Some(Cause::OtherTask) => (AnsiColor::Black, Ansi256Color(250).into()),
        Some(Cause::Return) => (AnsiColor::Black, AnsiColor::White.into()),
        None => return Style::new(),
    };
    Style::new().fg_color(Some(ink.into())).bg_color(Some(ground))
}

/// Returns its class in a picture.
pub fn class(cause: Option<Cause>) -> &'static str {
    match cause {
        Some(Cause::TimerPending) => "timer-pending",
        Some(Cause::Stolen) => "stolen",
        Some(Cause::IrqsOff) => "irqs-off",
        Some(Cause::HardIrq) => "hard-irq",
        Some(Cause::DeviceIrq) => "device-irq",
        Some(Cause::Softirq) => "softirq",
        Some(Cause::PreemptOff) => "preempt-off",
        Some(Cause::NotPreemptible) => "not-preemptible",
        Some(Cause::IpiWait) => "ipi-wait",
        Some(Cause::SpinWait) => "spin-wait",
        Some(Cause::RemoteWakeup) => "remote-wakeup",
        Some(Cause::Scheduling) => "scheduling",
        Some(Cause::DeadlineTask) => "deadline-task",
        Some(Cause::MoreUrgentTask) => "more-urgent-task",
        Some(Cause::EqualTask) => "equal-task",
        Some(Cause::LockHolder) => "lock-holder",
        Some(Cause::StopTask) => "stop-task",
        Some(Cause::FairShare) => "fair-share",
        Some(Cause::FairServer) => "fair-server",
        Some(Cause::Throttled) => "throttled",
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
        let count = all().count();
        assert_eq!(all().map(glyph).collect::<BTreeSet<_>>().len(), count);
        assert_eq!(all().map(class).collect::<BTreeSet<_>>().len(), count);
        assert_eq!(all().map(words).collect::<BTreeSet<_>>().len(), count);
        let grounds = all().map(|cause| format!("{:?}", ansi(cause).get_bg_color()));
        assert_eq!(grounds.collect::<BTreeSet<_>>().len(), count);
    }
}
