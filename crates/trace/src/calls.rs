//! The calls that a kernel under none or voluntary does not leave.

use std::borrow::Cow;

use crate::{
    cpu::{Cpu, Frame, Machine, Since},
    decode::Event,
    kernel::Kernel,
    opportunity::{Opportunities, Seen},
};

/// Work of the kernel for a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// A system call, by its number.
    Syscall(u32),
    /// An exception, by its probe.
    Exception(u32),
    /// A kernel thread, or a new task on its way to user space, by the address of the task.
    Thread(u64),
}

/// A stretch in which the scheduler could not switch, and which full would have cut: by half at least.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch {
    /// The call at the first instant at which it would have been able to.
    pub call: Call,
    /// Instant and place at which the stretch began.
    pub since: Since,
}

/// Stretch that lasts.
#[derive(Clone, Copy, Debug)]
struct Open {
    since: Since,
    call: Option<Call>,
    /// Since when full could not switch either, and the longest such time so far, in nanoseconds.
    closed_since_ns: Option<u64>,
    closed_ns_max: u64,
}

impl Open {
    /// Takes note of whether full could switch from an instant on.
    fn under_full(&mut self, ns: u64, is_closed: bool) {
        match self.closed_since_ns {
            None if is_closed => self.closed_since_ns = Some(ns),
            Some(since_ns) if !is_closed => {
                self.closed_since_ns = None;
                self.closed_ns_max = self.closed_ns_max.max(ns.saturating_sub(since_ns));
            }
            _ => {}
        }
    }
}

/// Collector of such stretches: the open one of each CPU.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    cpus: Vec<Option<Open>>,
}

impl Calls {
    /// Looks at an event after the machine has followed it, with what none and voluntary have there. Returns the
    /// stretch that it ends.
    pub fn look(&mut self, machine: &mut Machine, event: &Event, seen: Seen) -> Option<Stretch> {
        let cpu = machine.cpu(event.cpu);
        let place = event.cpu as usize;
        if place >= self.cpus.len() {
            self.cpus.resize(place + 1, None);
        }
        let open = &mut self.cpus[place];
        let ended = open.take_if(|_| seen.is_opportunity());
        if seen.is_closed {
            let since =
                Since { ns: event.ns, address: event.site.address, stolen_ns: cpu.stolen_ns };
            let fresh = Open { since, call: None, closed_since_ns: None, closed_ns_max: 0 };
            let open = open.get_or_insert(fresh);
            let is_closed = Opportunities::Everywhere.is_closed(cpu);
            open.under_full(event.ns, is_closed);
            if open.call.is_none() && !is_closed {
                open.call = called(cpu);
            }
        }
        let mut ended = ended?;
        ended.under_full(event.ns, false);
        let ns = event.ns.saturating_sub(ended.since.ns);
        let is_cut = ended.closed_ns_max <= ns / 2;
        Some(Stretch { call: ended.call.filter(|_| is_cut)?, since: ended.since })
    }

    /// Returns the name of a call: `munmap`, `page_fault`, `thread kswapd`.
    pub fn name<'a>(kernel: &'a Kernel, machine: &Machine, call: Call) -> Cow<'a, str> {
        match call {
            Call::Syscall(number) => match (kernel.arch().syscall)(number) {
                Some(name) => name.into(),
                None => format!("syscall {number}").into(),
            },
            Call::Exception(probe) => kernel.tracepoint(probe).name.as_str().into(),
            Call::Thread(task) => match machine.task(task) {
                Some(task) => format!("thread {}", program(&task.comm)).into(),
                None => "thread".into(),
            },
        }
    }
}

/// Returns the outermost work of the kernel for a CPU's task.
fn called(cpu: &Cpu) -> Option<Call> {
    cpu.frames.iter().find_map(|frame| match *frame {
        Frame::Syscall(number) => Some(Call::Syscall(number)),
        Frame::Entry { probe, is_exception: true, .. } => Some(Call::Exception(probe)),
        Frame::Thread => Some(Call::Thread(cpu.task)),
        Frame::Entry { .. } | Frame::Softirq(_) => None,
    })
}

/// Returns what threads of one purpose have in common in their names: `kworker` of `kworker/0:1`, `kswapd` of
/// `kswapd0`.
fn program(comm: &str) -> &str {
    let name = comm.split(['/', ':']).next().unwrap_or_default();
    name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 100 ns preemption is off for the first 60, or for two times 30.
    #[test]
    fn a_stretch_that_full_would_not_cut_by_half_is_no_call() {
        let since = Since { ns: 0, address: 0, stolen_ns: 0 };
        let longest = |states: &[(u64, bool)]| {
            let mut open = Open { since, call: None, closed_since_ns: None, closed_ns_max: 0 };
            states.iter().for_each(|(ns, is_closed)| open.under_full(*ns, *is_closed));
            open.closed_ns_max
        };
        assert_eq!(longest(&[(0, true), (30, true), (60, false), (100, false)]), 60);
        assert_eq!(longest(&[(0, true), (30, false), (60, true), (90, false)]), 30);
    }

    #[test]
    fn threads_of_one_purpose_have_one_name() {
        for (comm, name) in [
            ("kworker/0:1", "kworker"),
            ("kswapd0", "kswapd"),
            ("jbd2/ram0-8", "jbd"),
            ("stress-ng-fork", "stress-ng-fork"),
        ] {
            assert_eq!(program(comm), name);
        }
    }
}
