//! The end of a guest, and its meaning for a boot or a cell, as a pure function.

use std::{os::unix::process::ExitStatusExt, process::ExitStatus, time::Duration};

use preemptlab_model::FailureCause;
use preemptlab_protocol::{DONE_CODE, Message, frame};
use preemptlab_runner::{Execution, Stop};

use crate::process::OUTPUT_BYTES_MAX;

/// Reason of the shutdown of a machine that the guest's init has ended through `pvpanic`, on a board without an exit
/// port.
pub(crate) const GUEST_ENDS: &str = "guest-pvshutdown";

/// End of a guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The guest's watchdog expired, and the machine stands still.
    Watchdog,
    /// The guest's watchdog expired, and the machine continued.
    Hung,
    /// The host gave up waiting after this time.
    WallLimit(Duration),
    /// QEMU's monitor failed.
    Monitor(String),
    /// QEMU ended.
    Exited {
        /// Exit status of QEMU.
        status: ExitStatus,
        /// Reason of the shutdown (`ShutdownCause` in QEMU's `qapi/run-state.json`, or [`GUEST_ENDS`]), if QEMU gave
        /// one.
        shutdown: Option<String>,
        /// After these last words.
        stderr: String,
    },
}

/// Output of a guest, with its end.
#[derive(Clone, Debug)]
pub(crate) struct Remains {
    pub(crate) end: End,
    /// The bytes of the results port.
    pub(crate) said: Vec<u8>,
    /// The bytes of the serial console.
    pub(crate) console: Vec<u8>,
}

/// Returns the reason why QEMU ended before any guest ran. QEMU reads kernel and image at that
/// time; every other error is that of the host, and no cell's.
pub(crate) fn of_start(status: ExitStatus, stderr: &str) -> Stop {
    if refuses_plugin(stderr) {
        let reason = format!(
            "this QEMU does not take the tracing plugin, for which it has to be 10.0 or later, \
             linked dynamically and configured with --enable-plugins; without `qemu` in the configuration, Debian 13's \
             is used: {stderr}"
        );
        Stop::Host { reason }
    } else if ["kernel", "initrd"].iter().any(|word| stderr.contains(word)) {
        let reason = format!("QEMU refuses the kernel or the guest image: {stderr}");
        Stop::Failed { cause: FailureCause::Boot, reason, console: Vec::new() }
    } else {
        Stop::Host { reason: format!("QEMU cannot be started: {}", how_qemu_ended(status, stderr)) }
    }
}

/// Returns whether QEMU ended because of the tracing plugin (`plugin_load` in its
/// plugins/loader.c).
pub(crate) fn refuses_plugin(stderr: &str) -> bool {
    stderr.contains("Could not load plugin")
}

/// Checks that a boot has reached the point of its snapshot.
pub(crate) fn of_boot(remains: Remains) -> Result<(), Stop> {
    let messages = frame::decode(&remains.said);
    let (cause, reason) = match (&remains.end, messages.as_deref()) {
        (End::Watchdog, Ok([Message::Ready(_)])) => return Ok(()),
        (_, Ok([.., Message::Failed(failure)])) => (FailureCause::Boot, failure.reason.clone()),
        (end, Ok(_)) if guest_code(end).is_some() => {
            (FailureCause::Boot, "the guest ended before its snapshot".to_owned())
        }
        (End::Exited { .. } | End::Watchdog, Err(error)) => (FailureCause::Boot, error.to_string()),
        _ => trouble(&remains),
    };
    // A cause that does not depend on the host is a property of this kernel and image.
    let cause = if cause.depends_on_host() { cause } else { FailureCause::Boot };
    Err(Stop::Failed { cause, reason, console: remains.console })
}

/// Returns the result of a cell.
pub(crate) fn of_cell(remains: Remains) -> Result<Execution, Stop> {
    let (cause, reason) = match (guest_code(&remains.end), frame::decode(&remains.said)) {
        (Some(code), Ok(mut messages)) => match messages.pop() {
            // A guest with a failed init ends with a code of its own.
            Some(message)
                if matches!(message, Message::Failed(_))
                    || code == DONE_CODE && matches!(message, Message::Done(_)) =>
            {
                let Remains { said, console, .. } = remains;
                return Ok(Execution { message, said, console, conditions: None });
            }
            _ => (FailureCause::Workload, "the guest ended its cell without a result".to_owned()),
        },
        (Some(_), Err(error)) => (FailureCause::Workload, error.to_string()),
        (None, _) => trouble(&remains),
    };
    Err(Stop::Failed { cause, reason, console: remains.console })
}

/// Returns the number that the guest wrote to the exit port, if that ended QEMU. `pvpanic` has no number.
fn guest_code(end: &End) -> Option<u8> {
    let End::Exited { status, shutdown, .. } = end else { return None };
    let code = u8::try_from(status.code()?).ok()?;
    if code == 0 && shutdown.as_deref() == Some(GUEST_ENDS) {
        return Some(DONE_CODE);
    }
    // QEMU's own errors end it with status 1.
    (code % 2 == 1 && code > 1).then_some(code >> 1)
}

/// Returns the cause of a guest that did not end by itself, with a sentence.
fn trouble(remains: &Remains) -> (FailureCause, String) {
    // QEMU's processor thread blocks SIGXFSZ: output beyond the bound is lost, and the guest runs
    // on until something else ends it.
    if remains.said.len().max(remains.console.len()) as u64 >= OUTPUT_BYTES_MAX {
        let reason = format!("the guest wrote more than {} MiB", OUTPUT_BYTES_MAX >> 20);
        return (FailureCause::Workload, reason);
    }
    if let Some(panic) = panic_line(&remains.console) {
        return panic;
    }
    match &remains.end {
        End::Watchdog | End::Hung => (
            FailureCause::VirtualTimeLimit,
            "the guest hung: its watchdog was not kept from expiring".to_owned(),
        ),
        End::WallLimit(wall) => (
            FailureCause::WallTimeLimit,
            format!("the guest had not ended after {} s of host time", wall.as_secs()),
        ),
        End::Monitor(error) => (FailureCause::Qemu, format!("QEMU cannot be spoken to: {error}")),
        End::Exited { status, shutdown, stderr } => of_exit(*status, shutdown.as_deref(), stderr),
    }
}

fn of_exit(status: ExitStatus, shutdown: Option<&str>, stderr: &str) -> (FailureCause, String) {
    // With another status QEMU ended for a reason of its own, after the guest's last action.
    match (status.code(), shutdown) {
        (Some(0), Some("guest-reset")) => {
            (FailureCause::Panic, "the guest reset the machine".to_owned())
        }
        (Some(0), Some("guest-shutdown")) => {
            (FailureCause::Workload, "the guest switched the machine off".to_owned())
        }
        _ => (FailureCause::Qemu, how_qemu_ended(status, stderr)),
    }
}

/// Describes the end of a QEMU that should not have ended.
pub(crate) fn how_qemu_ended(status: ExitStatus, stderr: &str) -> String {
    let last_words = if stderr.is_empty() { "it gave no reason" } else { stderr };
    match status.signal() {
        Some(libc::SIGKILL) => {
            "QEMU was killed (signal 9), perhaps because the host ran out of memory".to_owned()
        }
        _ => format!("QEMU ended with {status}: {last_words}"),
    }
}

/// Returns the kernel's line about its panic (kernel/panic.c) with its cause.
fn panic_line(console: &[u8]) -> Option<(FailureCause, String)> {
    let console = String::from_utf8_lossy(console);
    let line = console.lines().find_map(|line| {
        line.find("Kernel panic - not syncing").map(|start| line[start..].trim_end())
    })?;
    // mm/oom_kill.c
    let memory = ["Out of memory", "deadlocked on memory"];
    let cause = if memory.iter().any(|words| console.contains(words)) {
        FailureCause::OutOfMemory
    } else {
        FailureCause::Panic
    };
    Some((cause, line.to_owned()))
}

#[cfg(test)]
mod tests {
    use preemptlab_protocol::{Failure, FailureKind, Report, Stage, System};

    use super::*;

    const PANIC: &[u8] = b"[    5.0] Kernel panic - not syncing: Attempted to kill init!\r\n";

    fn ready() -> Message {
        Message::Ready(System::default())
    }

    fn done() -> Message {
        Message::Done(Report {
            format: 1,
            system: System::default(),
            window: Default::default(),
            activity: Default::default(),
            kernel_threads_ns: Default::default(),
            load: vec![],
            probes: vec![],
        })
    }

    fn failed() -> Message {
        Message::Failed(Failure {
            stage: Stage::Setup,
            kind: FailureKind::Other,
            reason: "no hackbench".into(),
            system: None,
            commands: vec![],
            refusal: None,
        })
    }

    fn said(messages: &[Message]) -> Vec<u8> {
        messages.iter().flat_map(|message| frame::encode(message).unwrap()).collect()
    }

    fn exited(raw: i32, shutdown: &str) -> End {
        let shutdown = Some(shutdown.to_owned()).filter(|reason| !reason.is_empty());
        End::Exited { status: ExitStatus::from_raw(raw), shutdown, stderr: "qemu: oops".into() }
    }

    fn with_code(code: u8) -> End {
        exited(i32::from(code) << 8, "guest-shutdown")
    }

    fn cell(end: End, said: Vec<u8>, console: &[u8]) -> Result<Message, (FailureCause, String)> {
        match of_cell(Remains { end, said, console: console.into() }) {
            Ok(execution) => Ok(execution.message),
            Err(Stop::Failed { cause, reason, .. }) => Err((cause, reason)),
            Err(stop) => panic!("{stop:?}"),
        }
    }

    fn cell_cause(end: End, console: &[u8]) -> FailureCause {
        cell(end, vec![], console).unwrap_err().0
    }

    fn boot(end: End, said: Vec<u8>, console: &[u8]) -> Result<(), (FailureCause, String)> {
        of_boot(Remains { end, said, console: console.into() }).map_err(|stop| match stop {
            Stop::Failed { cause, reason, .. } => (cause, reason),
            stop => panic!("{stop:?}"),
        })
    }

    #[test]
    fn the_last_message_is_the_result() {
        assert_eq!(cell(with_code(85), said(&[done()]), b""), Ok(done()));
        assert_eq!(cell(with_code(85), said(&[failed()]), b""), Ok(failed()));
        assert_eq!(cell(with_code(3), said(&[failed()]), b""), Ok(failed()));
    }

    /// A board without an exit port: `pvpanic` ends the machine, and has no number.
    #[test]
    fn a_guest_can_end_through_pvpanic() {
        let end = || exited(0, GUEST_ENDS);
        assert_eq!(cell(end(), said(&[done()]), b""), Ok(done()));
        assert_eq!(cell(end(), said(&[failed()]), b""), Ok(failed()));
        assert_eq!(cell(end(), vec![], b"").unwrap_err().0, FailureCause::Workload);
        let (cause, reason) = boot(end(), said(&[failed()]), b"").unwrap_err();
        assert_eq!((cause, reason.as_str()), (FailureCause::Boot, "no hackbench"));
        // Another end of QEMU is no end of the guest's.
        let crashed = cell(exited(1 << 8, GUEST_ENDS), said(&[done()]), b"").unwrap_err();
        assert_eq!(crashed.0, FailureCause::Qemu);
    }

    #[test]
    fn an_end_without_a_whole_result_is_a_failure() {
        let mut cut = said(&[done()]);
        cut.pop();
        for (end, said) in [
            (with_code(85), vec![]),
            (with_code(85), said(&[ready()])),
            (with_code(85), cut),
            (with_code(85), b"hello".to_vec()),
            (with_code(3), said(&[done()])),
        ] {
            assert_eq!(cell(end, said, b"").unwrap_err().0, FailureCause::Workload);
        }
    }

    #[test]
    fn a_result_does_not_hide_a_panic() {
        let (cause, reason) = cell(exited(0, "guest-reset"), said(&[done()]), PANIC).unwrap_err();
        assert_eq!(cause, FailureCause::Panic);
        assert_eq!(reason, "Kernel panic - not syncing: Attempted to kill init!");
    }

    #[test]
    fn every_end_of_a_cell_has_its_cause() {
        let out_of_memory = [b"Out of memory: Killed process 1\n", PANIC].concat();
        for (end, console, cause) in [
            (End::Watchdog, b"".as_slice(), FailureCause::VirtualTimeLimit),
            (End::Hung, b"", FailureCause::VirtualTimeLimit),
            (End::WallLimit(Duration::from_secs(9)), b"", FailureCause::WallTimeLimit),
            (End::WallLimit(Duration::from_secs(9)), PANIC, FailureCause::Panic),
            (End::Monitor("eh".into()), b"", FailureCause::Qemu),
            (exited(0, "guest-reset"), b"", FailureCause::Panic),
            (exited(0, "guest-reset"), &out_of_memory, FailureCause::OutOfMemory),
            (exited(0, "guest-shutdown"), b"", FailureCause::Workload),
            (exited(1 << 8, "guest-shutdown"), b"", FailureCause::Qemu),
            (exited(0, ""), b"", FailureCause::Qemu),
            (exited(1 << 8, ""), b"", FailureCause::Qemu),
            (exited(libc::SIGSEGV, ""), b"", FailureCause::Qemu),
            (exited(libc::SIGKILL, ""), b"", FailureCause::Qemu),
        ] {
            assert_eq!(cell_cause(end.clone(), console), cause, "{end:?}");
        }
    }

    #[test]
    fn a_guest_that_says_too_much_is_told_so_however_it_ends() {
        let flood = || vec![0; OUTPUT_BYTES_MAX as usize];
        for end in [End::WallLimit(Duration::from_secs(9)), exited(libc::SIGXFSZ, "")] {
            let (cause, reason) = cell(end, flood(), b"").unwrap_err();
            assert_eq!(cause, FailureCause::Workload);
            assert!(reason.contains("MiB"), "{reason}");
        }
        assert_eq!(cell_cause(End::Watchdog, &flood()), FailureCause::Workload);
    }

    #[test]
    fn a_boot_ends_at_the_watchdog_after_ready() {
        assert_eq!(boot(End::Watchdog, said(&[ready()]), b""), Ok(()));
        let failure = boot(with_code(85), said(&[failed()]), b"");
        assert_eq!(failure, Err((FailureCause::Boot, "no hackbench".into())));
        for (end, said, cause) in [
            (End::Watchdog, vec![], FailureCause::Boot),
            (End::Hung, said(&[ready()]), FailureCause::Boot),
            (End::Watchdog, said(&[ready(), ready()]), FailureCause::Boot),
            (with_code(85), said(&[ready()]), FailureCause::Boot),
            (exited(0, "guest-reset"), vec![], FailureCause::Boot),
            (exited(libc::SIGSEGV, ""), vec![], FailureCause::Qemu),
            (End::WallLimit(Duration::from_secs(9)), vec![], FailureCause::WallTimeLimit),
        ] {
            assert_eq!(boot(end.clone(), said, b"").unwrap_err().0, cause, "{end:?}");
        }
    }

    #[test]
    fn a_qemu_that_refuses_the_plugin_is_the_hosts_fault() {
        // The words of QEMU 10.0, and one with the word for which a kernel is blamed.
        for words in [
            "plugin requires API version 99, but this QEMU supports only up to version 4",
            "undefined symbol: qemu_plugin_get_registers",
            "qemu_plugin_install returned error code -1",
            "/srv/kernel/plugin.so: no such file",
        ] {
            let stderr =
                format!("qemu-system-x86_64: Could not load plugin /proc/self/fd/9: {words}");
            let Stop::Host { reason } = of_start(ExitStatus::from_raw(1 << 8), &stderr) else {
                panic!("{words}")
            };
            assert!(reason.contains(words) && reason.contains("10.0 or later"), "{reason}");
        }
    }

    #[test]
    fn the_last_words_of_qemu_are_told() {
        let (_, reason) = cell(exited(1 << 8, ""), vec![], b"").unwrap_err();
        assert!(reason.contains("qemu: oops"), "{reason}");
    }
}
