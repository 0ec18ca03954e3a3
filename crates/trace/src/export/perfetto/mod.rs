//! A trace for Perfetto's viewer, <https://ui.perfetto.dev>.

mod packets;
mod threads;

use std::{
    collections::{BTreeMap, btree_map::Entry},
    io::{self, Read, Write},
};

use self::{
    packets::{Lane, Name, Packets},
    threads::Threads,
};
use crate::{
    arch::ArchInfo,
    cpu::Since,
    decode::Task,
    explain::Window,
    export::{
        ExportError,
        proto::{self, Ftrace, FtraceEvent},
    },
    kernel::Kernel,
    observe::{
        observe,
        record::{Moment, Record, Section, Sink},
        softirqs,
    },
    timeline::{blame, callers},
};

/// Number of trace events of a CPU that are written at once.
const BUNDLE_EVENTS: usize = 256;

/// Writes a trace for Perfetto. `window` is in virtual nanoseconds; events outside are left out,
/// and a state at its start begins there.
///
/// Switches, wakeups, interrupts and softirqs are events of ftrace, which the viewer's own tracks
/// are made of. Each CPU has a group of tracks besides: interrupts off, preemption off, the
/// interrupt that is handled, the softirq that is served, and whether a reschedule is pending. Each
/// task's track shows its system calls and exceptions. The trace's clock, which the format calls
/// `BOOTTIME`, is QEMU's virtual clock.
///
/// # Errors
///
/// [`ExportError`]
pub fn perfetto(
    trace: impl Read,
    kernel: &Kernel,
    window: Option<Window>,
    out: impl Write,
) -> Result<(), ExportError> {
    let mut packets = Packets::new(kernel, out);
    packets.head()?;
    let viewer = Viewer {
        kernel,
        packets,
        has_clock: false,
        cpus: BTreeMap::new(),
        threads: Threads::default(),
        pending: None,
    };
    observe(trace, kernel, window, viewer)
}

struct Viewer<'a, W: Write> {
    kernel: &'a Kernel,
    packets: Packets<'a, W>,
    has_clock: bool,
    cpus: BTreeMap<u32, CpuTracks>,
    threads: Threads,
    /// Ended section, whose stack may follow.
    pending: Option<Ended>,
}

#[derive(Default)]
struct CpuTracks {
    ftrace: Vec<FtraceEvent>,
    /// Start of each open section, by [`Section`].
    open: [Option<Since>; Section::ALL.len()],
}

struct Ended {
    cpu: u32,
    section: Section,
    since: Since,
    end_ns: u64,
}

impl<W: Write> Sink for Viewer<'_, W> {
    type Output = ();
    const SHOWS_STATES: bool = true;

    fn record(&mut self, moment: &Moment<'_>, record: Record<'_>) -> io::Result<()> {
        // A record without a track decides nothing: the stack of a section's end may still follow.
        if matches!(
            record,
            Record::UserSpace | Record::Schedule | Record::LockWait { .. } | Record::TimerStart
        ) {
            return Ok(());
        }
        self.settle(&[])?;
        let &Moment { ns, cpu, .. } = moment;
        if !self.has_clock {
            self.has_clock = true;
            self.packets.clock(ns)?;
        }
        if let Entry::Vacant(unknown) = self.cpus.entry(cpu) {
            unknown.insert(CpuTracks::default());
            self.packets.describe_cpu(cpu)?;
        }
        let hardirq = Lane::Hardirq.track(cpu);
        let softirq = Lane::Softirq.track(cpu);
        match record {
            Record::Switch { previous, next, is_blocked } => {
                self.switch(moment, previous, next, is_blocked)
            }
            Record::Waking { task, cpu: target } => self.waking(moment, task, target),
            Record::HardirqEntry { name } => {
                self.packets.slice(ns, hardirq, Name::Is(name))?;
                self.ftrace(moment, hardirq_entry(self.kernel.arch(), name))
            }
            Record::HardirqExit { name } => {
                self.packets.end(ns, hardirq)?;
                self.ftrace(moment, hardirq_exit(self.kernel.arch(), name))
            }
            Record::SoftirqEntry { name } => {
                self.packets.slice(ns, softirq, Name::Is(name))?;
                let Some((number, _)) = softirqs::softirq(name) else { return Ok(()) };
                self.ftrace(moment, Ftrace::SoftirqEntry(proto::Softirq { vec: Some(number) }))
            }
            Record::SoftirqExit { name } => {
                self.packets.end(ns, softirq)?;
                let Some((number, _)) = softirqs::softirq(name) else { return Ok(()) };
                self.ftrace(moment, Ftrace::SoftirqExit(proto::Softirq { vec: Some(number) }))
            }
            Record::Begin(section, since) => {
                let since = Since { ns, ..since };
                self.cpus.entry(cpu).or_default().open[section as usize] = Some(since);
                Ok(())
            }
            Record::End(section, _) => {
                let open = &mut self.cpus.entry(cpu).or_default().open[section as usize];
                self.pending = open.take().map(|since| Ended { cpu, section, since, end_ns: ns });
                Ok(())
            }
            Record::Lost(section) => {
                self.cpus.entry(cpu).or_default().open[section as usize] = None;
                Ok(())
            }
            Record::ReschedAsked { is_lazy } => {
                let name = if is_lazy { "asked lazily" } else { "asked" };
                let track = Lane::NeedResched.track(cpu);
                self.packets.event(ns, track, proto::INSTANT, Some(Name::Is(name)), vec![])
            }
            Record::Context(frames) => {
                self.threads.resume(&mut self.packets, self.kernel, moment, frames)
            }
            Record::SyscallEntry(number) => {
                self.threads.enter(&mut self.packets, self.kernel, moment, number)
            }
            Record::SyscallExit(_) | Record::ExceptionExit => {
                self.threads.leave(&mut self.packets, moment)
            }
            Record::ExceptionEntry { name } => {
                self.threads.begin(&mut self.packets, moment, Name::Is(name))
            }
            Record::UserSpace | Record::Schedule | Record::LockWait { .. } | Record::TimerStart => {
                Ok(())
            }
        }
    }

    fn stack(&mut self, words: &[u64]) -> io::Result<()> {
        self.settle(words)
    }

    fn finish(mut self, _: u64) -> io::Result<()> {
        self.settle(&[])?;
        for (cpu, tracks) in std::mem::take(&mut self.cpus) {
            for (section, since) in Section::ALL.into_iter().zip(tracks.open) {
                let Some(since) = since else { continue };
                self.packets.slice(
                    since.ns,
                    Lane::of(section).track(cpu),
                    Name::At(since.address),
                )?;
            }
            self.packets.bundle(cpu, tracks.ftrace)?;
        }
        self.packets.flush()
    }
}

impl<W: Write> Viewer<'_, W> {
    fn switch(
        &mut self,
        moment: &Moment<'_>,
        previous: &Task,
        next: &Task,
        is_blocked: bool,
    ) -> io::Result<()> {
        self.threads.know(&mut self.packets, moment.ns, previous)?;
        self.threads.know(&mut self.packets, moment.ns, next)?;
        let state = if is_blocked { proto::TASK_INTERRUPTIBLE } else { proto::TASK_RUNNING };
        let switch = proto::SchedSwitch {
            prev_comm: Some(previous.comm.clone()),
            prev_pid: Some(previous.pid as i32),
            prev_prio: Some(previous.prio),
            prev_state: Some(state),
            next_comm: Some(next.comm.clone()),
            next_pid: Some(next.pid as i32),
            next_prio: Some(next.prio),
        };
        self.ftrace(moment, Ftrace::SchedSwitch(switch))
    }

    fn waking(&mut self, moment: &Moment<'_>, task: &Task, target: Option<u32>) -> io::Result<()> {
        self.threads.know(&mut self.packets, moment.ns, task)?;
        let waking = proto::SchedWaking {
            comm: Some(task.comm.clone()),
            pid: Some(task.pid as i32),
            prio: Some(task.prio),
            target_cpu: target.map(|cpu| cpu as i32),
        };
        self.ftrace(moment, Ftrace::SchedWaking(waking))
    }

    fn ftrace(&mut self, moment: &Moment<'_>, event: Ftrace) -> io::Result<()> {
        // The viewer drops events without a task.
        let Some(task) = moment.task else { return Ok(()) };
        let event =
            FtraceEvent { timestamp: Some(moment.ns), pid: Some(task.pid), event: Some(event) };
        let events = &mut self.cpus.entry(moment.cpu).or_default().ftrace;
        events.push(event);
        if events.len() < BUNDLE_EVENTS {
            return Ok(());
        }
        let events = std::mem::replace(events, Vec::with_capacity(BUNDLE_EVENTS));
        self.packets.bundle(moment.cpu, events)
    }

    /// Writes a section that has ended, under the name of the function to blame for it where the
    /// stack at its end is known.
    fn settle(&mut self, words: &[u64]) -> io::Result<()> {
        let Some(Ended { cpu, section, since, end_ns }) = self.pending.take() else {
            return Ok(());
        };
        let track = Lane::of(section).track(cpu);
        let kernel = self.kernel;
        let callers = callers(kernel, words);
        if callers.is_empty() || section == Section::NeedResched {
            self.packets.slice(since.ns, track, Name::At(since.address))?;
        } else {
            let function = kernel.function(since.address);
            let (blamed, callers) = blame(function, callers);
            let annotation = |name: &str, value: String| proto::DebugAnnotation {
                name: Some(name.to_owned()),
                string_value: Some(value),
            };
            let name = blamed.as_deref().map_or(Name::At(since.address), Name::Is);
            let switched_by =
                function.map(|function| annotation("switched by", function.to_owned()));
            let callers = callers.join(" < ");
            let callers = (!callers.is_empty()).then(|| annotation("callers", callers));
            let annotations = switched_by.into_iter().chain(callers).collect();
            self.packets.event(since.ns, track, proto::SLICE_BEGIN, Some(name), annotations)?;
        }
        self.packets.end(end_ns, track)
    }
}

fn hardirq_entry(arch: &ArchInfo, name: &str) -> Ftrace {
    match arch.vector(name) {
        Some((event, vector)) if arch.timer_event == Some(event) => {
            Ftrace::LocalTimerEntry(proto::LocalTimer { vector: Some(vector as i32) })
        }
        _ => Ftrace::IrqHandlerEntry(proto::IrqHandlerEntry { name: Some(name.to_owned()) }),
    }
}

fn hardirq_exit(arch: &ArchInfo, name: &str) -> Ftrace {
    match arch.vector(name) {
        Some((event, vector)) if arch.timer_event == Some(event) => {
            Ftrace::LocalTimerExit(proto::LocalTimer { vector: Some(vector as i32) })
        }
        // The viewer takes an interrupt of which it is not told otherwise for an unhandled one.
        _ => Ftrace::IrqHandlerExit(proto::IrqHandlerExit { ret: Some(1) }),
    }
}
