//! The text that a kernel shows of its own trace, `/sys/kernel/tracing/trace`.

use std::io::{self, Read, Write};

use crate::{
    decode::Task,
    explain::Window,
    export::{ExportError, in_order::InOrder},
    kernel::Kernel,
    observe::{
        observe,
        record::{Moment, Record, Section, Sink, State},
        softirqs,
    },
    timeline::callers,
};

/// Header of the kernel's own trace (kernel/trace/trace.c), without the number of entries, which
/// one pass does not know, and without the column of `migrate_disable`, which 5.12 added and which
/// is not recorded.
const HEADER: &str = "\
# tracer: nop
#
# Virtual time of QEMU, in seconds, to the nanosecond.
# Of system calls, neither arguments nor results are recorded.
# The states of tasks (prev_state) follow from how the scheduler was called: S sleeps, R is runnable.
#
#                                           _-----=> irqs-off
#                                          / _----=> need-resched
#                                         | / _---=> hardirq/softirq
#                                         || / _--=> preempt-depth
#                                         ||| /
#           TASK-PID       TGID     CPU#  ||||     TIMESTAMP  FUNCTION
#              | |           |        |   ||||         |         |
";

/// Writes a trace as text, in the form of `/sys/kernel/tracing/trace`, for people and for tools
/// that read that form. `window` is in virtual nanoseconds; events outside are left out.
///
/// The lines are those of the kernel's events `sched_switch`, `sched_waking`, of the vectors of the
/// local APIC (`local_timer_entry` and its kin), `irq_handler_entry` and `irq_handler_exit` for
/// other interrupts, with no number (-1), `softirq_entry`, `softirq_exit`, `sys_enter`, `sys_exit`,
/// with the call's name for its arguments, `irq_disable`, `irq_enable`, `preempt_disable` and
/// `preempt_enable`, with the `parent` where the stack was recorded.
///
/// # Errors
///
/// [`ExportError`]
pub fn ftrace_text(
    trace: impl Read,
    kernel: &Kernel,
    window: Option<Window>,
    out: impl Write,
) -> Result<(), ExportError> {
    let out = InOrder::new(out, HEADER)?;
    let text = Text {
        kernel,
        out,
        line: Vec::new(),
        line_ns: 0,
        is_open: false,
        head: Vec::new(),
        head_of: None,
    };
    observe(trace, kernel, window, text)
}

struct Text<'a, W: Write> {
    kernel: &'a Kernel,
    out: InOrder<W>,
    line: Vec<u8>,
    line_ns: u64,
    /// Whether the last line may be continued with a parent.
    is_open: bool,
    /// First part of the lines of a task on a CPU, which many lines share.
    head: Vec<u8>,
    head_of: Option<(u32, Task)>,
}

impl<W: Write> Sink for Text<'_, W> {
    type Output = ();
    const SHOWS_STATES: bool = false;

    fn record(&mut self, moment: &Moment<'_>, record: Record<'_>) -> io::Result<()> {
        let Some(task) = moment.task else { return Ok(()) };
        let Some(state) = told_in(moment, record) else { return Ok(()) };
        self.close()?;
        self.head(moment, task, state)?;
        let out = &mut self.line;
        match record {
            Record::Switch { previous, next, is_blocked } => write!(
                out,
                "sched_switch: prev_comm={} prev_pid={} prev_prio={} prev_state={} ==> \
                 next_comm={} next_pid={} next_prio={}",
                previous.comm,
                previous.pid,
                previous.prio,
                if is_blocked { 'S' } else { 'R' },
                next.comm,
                next.pid,
                next.prio,
            )?,
            Record::Waking { task: Task { comm, pid, prio, .. }, cpu } => {
                write!(out, "sched_waking: comm={comm} pid={pid} prio={prio}")?;
                if let Some(cpu) = cpu {
                    write!(out, " target_cpu={cpu:03}")?;
                }
            }
            Record::HardirqEntry { name } => match self.kernel.arch().vector(name) {
                Some((event, vector)) => write!(out, "{event}_entry: vector={vector}")?,
                None => write!(out, "irq_handler_entry: irq=-1 name={name}")?,
            },
            Record::HardirqExit { name } => match self.kernel.arch().vector(name) {
                Some((event, vector)) => write!(out, "{event}_exit: vector={vector}")?,
                None => write!(out, "irq_handler_exit: irq=-1 name={name}")?,
            },
            Record::SoftirqEntry { name } => {
                if let Some((number, action)) = softirqs::softirq(name) {
                    write!(out, "softirq_entry: vec={number} [action={action}]")?;
                }
            }
            Record::SoftirqExit { name } => {
                if let Some((number, action)) = softirqs::softirq(name) {
                    write!(out, "softirq_exit: vec={number} [action={action}]")?;
                }
            }
            Record::SyscallEntry(number) => self.syscall("sys_enter", number)?,
            Record::SyscallExit(number) => self.syscall("sys_exit", number)?,
            Record::Begin(Section::IrqsOff, since) => self.switch("irq_disable", since.address)?,
            Record::Begin(_, since) => self.switch("preempt_disable", since.address)?,
            Record::End(section, address) => {
                let is_irqs = section == Section::IrqsOff;
                self.switch(if is_irqs { "irq_enable" } else { "preempt_enable" }, address)?;
                self.is_open = true;
            }
            Record::Context(_)
            | Record::ReschedAsked { .. }
            | Record::ExceptionEntry { .. }
            | Record::ExceptionExit
            | Record::UserSpace
            | Record::Schedule
            | Record::LockWait { .. }
            | Record::TimerStart
            | Record::Lost(_) => {}
        }
        if self.is_open { Ok(()) } else { self.close() }
    }

    fn stack(&mut self, words: &[u64]) -> io::Result<()> {
        if self.is_open
            && let Some(parent) = callers(self.kernel, words).first()
        {
            write!(self.line, " parent={parent}")?;
        }
        self.close()
    }

    fn finish(mut self, _: u64) -> io::Result<()> {
        self.close()?;
        self.out.finish()
    }
}

impl<W: Write> Text<'_, W> {
    fn close(&mut self) -> io::Result<()> {
        self.is_open = false;
        if self.line.is_empty() { Ok(()) } else { self.out.push(self.line_ns, &mut self.line) }
    }

    /// Writes the first part of a line (`trace_print_context` and `trace_print_lat_fmt`,
    /// kernel/trace/trace_output.c).
    fn head(&mut self, moment: &Moment<'_>, task: &Task, state: &State) -> io::Result<()> {
        let is_same = |(cpu, of): &(u32, Task)| *cpu == moment.cpu && of == task;
        if !self.head_of.as_ref().is_some_and(is_same) {
            self.head_of = Some((moment.cpu, task.clone()));
            let comm = if task.pid == 0 { "<idle>" } else { &task.comm };
            self.head.clear();
            write!(self.head, "{comm:>16}-{:<7} ", task.pid)?;
            match task.tgid {
                0 => write!(self.head, "(-------)")?,
                tgid => write!(self.head, "({tgid:>7})")?,
            }
            write!(self.head, " [{:03}] ", moment.cpu)?;
        }
        self.line_ns = moment.ns;
        self.line.extend_from_slice(&self.head);
        self.line.extend_from_slice(&flags(state));
        let (seconds, ns) = (moment.ns / 1_000_000_000, moment.ns % 1_000_000_000);
        write!(self.line, " {seconds:>5}.{ns:09}: ")
    }

    fn syscall(&mut self, event: &str, number: u32) -> io::Result<()> {
        write!(self.line, "{event}: NR {number}")?;
        match (self.kernel.arch().syscall)(number) {
            Some(call) => write!(self.line, " ({call})"),
            None => Ok(()),
        }
    }

    fn switch(&mut self, event: &str, address: u64) -> io::Result<()> {
        write!(self.line, "{event}: caller=")?;
        match self.kernel.function(address) {
            Some(function) => write!(self.line, "{function}"),
            None => write!(self.line, "{address:#x}"),
        }
    }
}

/// Returns the column of flags.
fn flags(state: &State) -> [u8; 4] {
    let context = match (state.is_hardirq(), state.is_softirq()) {
        (true, true) => b'H',
        (true, false) => b'h',
        (false, true) => b's',
        (false, false) => b'.',
    };
    let depth = b".123456789abcdef"[state.preempt_depth().min(0xf) as usize];
    [
        if state.irqs_off.is_some() { b'd' } else { b'.' },
        if state.need_resched { b'N' } else { b'.' },
        context,
        depth,
    ]
}

/// Returns the state that the kernel would print with a record: the state after a beginning, and
/// the state before an end. `None` for a record without a trace event.
fn told_in<'a>(moment: &'a Moment<'_>, record: Record<'_>) -> Option<&'a State> {
    match record {
        Record::Context(_)
        | Record::ReschedAsked { .. }
        | Record::ExceptionEntry { .. }
        | Record::ExceptionExit
        | Record::UserSpace
        | Record::Schedule
        | Record::LockWait { .. }
        | Record::TimerStart
        | Record::Lost(_)
        | Record::Begin(Section::NeedResched, _)
        | Record::End(Section::NeedResched, _) => None,
        Record::SoftirqEntry { name } | Record::SoftirqExit { name } => {
            softirqs::softirq(name)?;
            Some(&moment.before)
        }
        Record::Begin(..) | Record::HardirqEntry { .. } | Record::SyscallEntry(_) => {
            Some(&moment.after)
        }
        _ => Some(&moment.before),
    }
}
