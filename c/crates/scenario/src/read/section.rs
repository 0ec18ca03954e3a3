//! The operations that a section forbids. A file runs on kernels of both kinds, so reading refuses
//! an operation that either of them forbids: without `PREEMPT_RT` a `spinlock_t` and a `rwlock_t`
//! are held with preemption off, and with it taking one may sleep
//! (Documentation/locking/locktypes.rst).

/// A state that lasts until it is undone.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    PreemptOff,
    IrqsOff,
    BhOff,
    Spinlock,
    RawSpinlock,
    Rwlock,
    /// A mutex or rt_mutex, which forbids nothing.
    Sleepable,
}

/// Whether an operation may sleep.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MaySleep {
    Always,
    /// The operation may sleep with `PREEMPT_RT` only.
    WithRt,
    Never,
}

impl Section {
    fn name(self) -> &'static str {
        match self {
            Self::PreemptOff => "preempt_off",
            Self::IrqsOff => "irqs_off",
            Self::BhOff => "bh_off",
            Self::Spinlock => "spinlock",
            Self::RawSpinlock => "raw_spinlock",
            Self::Rwlock => "read_lock and write_lock",
            Self::Sleepable => "mutex and rt_mutex",
        }
    }

    /// Returns the reason why an operation that may sleep must not be in this section, on some
    /// kernel.
    fn forbids(self, may_sleep: MaySleep) -> Option<&'static str> {
        match (self, may_sleep) {
            (_, MaySleep::Never) | (Self::Sleepable, _) => None,
            (Self::PreemptOff | Self::IrqsOff | Self::RawSpinlock, MaySleep::Always) => {
                Some("no kernel may switch tasks there")
            }
            (Self::PreemptOff | Self::IrqsOff | Self::RawSpinlock, MaySleep::WithRt) => {
                Some("with PREEMPT_RT it may sleep, which is forbidden there")
            }
            (Self::Spinlock | Self::Rwlock | Self::BhOff, MaySleep::Always) => {
                Some("without PREEMPT_RT no task may be switched there")
            }
            (Self::Spinlock | Self::Rwlock | Self::BhOff, MaySleep::WithRt) => None,
        }
    }
}

/// Returns the reason why an operation is impossible within sections; `None` for a possible one.
pub(super) fn forbidden(
    sections: &[Section],
    operation: &str,
    may_sleep: MaySleep,
) -> Option<(String, String)> {
    let (section, why) = sections
        .iter()
        .rev()
        .find_map(|section| Some((section.name(), section.forbids(may_sleep)?)))?;
    let message = format!("`{operation}` must not stand inside {section}: {why}");
    let instead = match may_sleep {
        MaySleep::Always => "put it outside, or hold a mutex or an rt_mutex instead",
        _ => "put it outside, or take a raw_spinlock instead",
    };
    Some((message, instead.to_owned()))
}
