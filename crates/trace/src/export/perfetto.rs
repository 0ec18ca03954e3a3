//! A trace for Perfetto's viewer, <https://ui.perfetto.dev>.

use std::{
    collections::{BTreeMap, HashMap, hash_map::Entry},
    io::{self, BufWriter, Read, Write},
};

use prost::Message;
use syscalls::Sysno;

use crate::{
    cpu::{Frame, Since},
    decode::Task,
    explain::Window,
    export::{
        ExportError,
        observe::observe,
        proto::{self, Ftrace, FtraceEvent, TracePacket, TrackDescriptor, TrackEvent},
        record::{Moment, Record, Section, Sink},
        vectors,
    },
    kernel::Kernel,
    timeline::{blame, callers},
};

const BUFFER_BYTES: usize = 1 << 18;

/// So many trace events of a CPU are written at once.
const BUNDLE_EVENTS: usize = 256;

/// No thread has a larger number (`PID_MAX_LIMIT`, include/linux/threads.h): this bounds what is
/// remembered of threads.
const PID_MAX: u32 = 4 << 20;

/// The sequence of packets that names are interned for.
const SEQUENCE: u32 = 1;

/// The sequence of what describes threads: on the other one, slices that are no thread's would be
/// taken for the last thread's.
const SEQUENCE_OF_THREADS: u32 = 2;

/// `Trace.packet`: field 1, of which the length follows.
const PACKET_KEY: u8 = 1 << 3 | 2;

const SESSION: &str = "preemptlab: times are nanoseconds of QEMU's virtual clock";

/// The tracks of a CPU: what they show, and how that is described.
const LANES: [(&str, &str); 5] = [
    ("interrupts off", "By the function that has switched them off, or whose caller has."),
    ("preemption off", "By the function that has switched it off, or whose caller has."),
    ("hard interrupt", "From irq_enter to irq_exit, by the entry's name."),
    ("softirq", "By function."),
    (
        "reschedule pending",
        "The current task is to give way; at the marks the scheduler has asked some task to.",
    ),
];

#[derive(Clone, Copy)]
enum Lane {
    IrqsOff = 1,
    PreemptOff,
    Hardirq,
    Softirq,
    NeedResched,
}

impl Lane {
    fn of(section: Section) -> Self {
        match section {
            Section::IrqsOff => Self::IrqsOff,
            Section::PreemptOff => Self::PreemptOff,
            Section::NeedResched => Self::NeedResched,
        }
    }

    /// The track's number; that of the group is the one of lane 0.
    fn track(self, cpu: u32) -> u64 {
        group(cpu) | self as u64
    }
}

fn group(cpu: u32) -> u64 {
    (u64::from(cpu) + 1) << 4
}

fn thread_track(task: &Task) -> u64 {
    1 << 48 | u64::from(task.pid)
}

/// Writes a trace for Perfetto. `window` is in virtual nanoseconds; nothing is written of what is
/// outside, and what is under way at its start begins there.
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
    let out = BufWriter::with_capacity(BUFFER_BYTES, out);
    let mut packets = Packets {
        kernel,
        out,
        buffer: Vec::new(),
        has_clock: false,
        cpus: BTreeMap::new(),
        threads: HashMap::new(),
        names: HashMap::new(),
        functions: HashMap::new(),
        pending: None,
    };
    packets.head()?;
    observe(trace, kernel, window, packets)
}

struct Packets<'a, W: Write> {
    kernel: &'a Kernel,
    out: BufWriter<W>,
    buffer: Vec<u8>,
    has_clock: bool,
    cpus: BTreeMap<u32, CpuTracks>,
    /// By the thread's number.
    threads: HashMap<u32, Thread>,
    /// Interned names of slices. Most are of functions and so bounded by the kernel.
    names: HashMap<String, u64>,
    /// The names of the functions of instructions.
    functions: HashMap<u64, u64>,
    /// A section that has ended, whose stack may follow.
    pending: Option<Ended>,
}

#[derive(Default)]
struct CpuTracks {
    ftrace: Vec<FtraceEvent>,
    /// By [`Section`].
    open: [Option<Since>; Section::ALL.len()],
}

struct Thread {
    tgid: u32,
    comm: String,
    has_track: bool,
    /// How many slices have begun on its track and not ended.
    open: u32,
}

struct Ended {
    cpu: u32,
    section: Section,
    since: Since,
    end_ns: u64,
}

/// A slice's name.
enum Name<'n> {
    /// In words.
    Is(&'n str),
    /// Of the function of an instruction.
    At(u64),
}

impl<W: Write> Sink for Packets<'_, W> {
    const SHOWS_STATES: bool = true;

    fn record(&mut self, moment: &Moment<'_>, record: Record<'_>) -> io::Result<()> {
        self.settle(&[])?;
        let &Moment { ns, cpu, .. } = moment;
        if !self.has_clock {
            self.has_clock = true;
            self.clock(ns)?;
        }
        if !self.cpus.contains_key(&cpu) {
            self.describe_cpu(cpu)?;
        }
        let hardirq = Lane::Hardirq.track(cpu);
        let softirq = Lane::Softirq.track(cpu);
        match record {
            Record::Switch { previous, next, is_blocked } => {
                self.know(ns, previous)?;
                self.know(ns, next)?;
                let state =
                    if is_blocked { proto::TASK_INTERRUPTIBLE } else { proto::TASK_RUNNING };
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
            Record::Waking { task, cpu: target } => {
                self.know(ns, task)?;
                let waking = proto::SchedWaking {
                    comm: Some(task.comm.clone()),
                    pid: Some(task.pid as i32),
                    prio: Some(task.prio),
                    target_cpu: target.map(|cpu| cpu as i32),
                };
                self.ftrace(moment, Ftrace::SchedWaking(waking))
            }
            Record::HardirqEntry { name } => {
                self.slice(ns, hardirq, Name::Is(name))?;
                self.ftrace(moment, hardirq_entry(name))
            }
            Record::HardirqExit { name } => {
                self.end(ns, hardirq)?;
                self.ftrace(moment, hardirq_exit(name))
            }
            Record::SoftirqEntry { name } => {
                self.slice(ns, softirq, Name::Is(name))?;
                let Some((number, _)) = vectors::softirq(name) else { return Ok(()) };
                self.ftrace(moment, Ftrace::SoftirqEntry(proto::Softirq { vec: Some(number) }))
            }
            Record::SoftirqExit { name } => {
                self.end(ns, softirq)?;
                let Some((number, _)) = vectors::softirq(name) else { return Ok(()) };
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
            Record::ReschedAsked { is_lazy } => {
                let name = if is_lazy { "asked lazily" } else { "asked" };
                let track = Lane::NeedResched.track(cpu);
                self.event(ns, track, proto::INSTANT, Some(Name::Is(name)), vec![])
            }
            Record::Context(frames) => self.resume(moment, frames),
            Record::SyscallEntry(number) => self.enter(moment, number),
            Record::SyscallExit(_) | Record::ExceptionExit => self.leave(moment),
            Record::ExceptionEntry { name } => self.begin_on_thread(moment, Name::Is(name)),
        }
    }

    fn stack(&mut self, words: &[u64]) -> io::Result<()> {
        self.settle(words)
    }

    fn finish(mut self) -> io::Result<()> {
        self.settle(&[])?;
        for (cpu, tracks) in std::mem::take(&mut self.cpus) {
            for (section, since) in Section::ALL.into_iter().zip(tracks.open) {
                let Some(since) = since else { continue };
                self.slice(since.ns, Lane::of(section).track(cpu), Name::At(since.address))?;
            }
            self.bundle(cpu, tracks.ftrace)?;
        }
        self.out.flush()
    }
}

impl<W: Write> Packets<'_, W> {
    fn write(&mut self, packet: TracePacket) -> io::Result<()> {
        let sequence = packet.trusted_packet_sequence_id.or(Some(SEQUENCE));
        let packet = TracePacket { trusted_packet_sequence_id: sequence, ..packet };
        self.buffer.clear();
        self.buffer.push(PACKET_KEY);
        packet.encode_length_delimited(&mut self.buffer).map_err(io::Error::other)?;
        self.out.write_all(&self.buffer)
    }

    /// Says what this is.
    fn head(&mut self) -> io::Result<()> {
        let version = concat!("preemptlab ", env!("CARGO_PKG_VERSION"));
        self.write(TracePacket {
            trace_config: Some(proto::TraceConfig {
                unique_session_name: Some(SESSION.to_owned()),
            }),
            sequence_flags: Some(proto::INCREMENTAL_STATE_CLEARED),
            first_packet_on_sequence: Some(true),
            ..TracePacket::default()
        })?;
        self.write(TracePacket {
            system_info: Some(proto::SystemInfo {
                utsname: Some(proto::Utsname {
                    sysname: Some("Linux".to_owned()),
                    machine: Some("x86_64".to_owned()),
                }),
                tracing_service_version: Some(version.to_owned()),
            }),
            ..TracePacket::default()
        })
    }

    fn clock(&mut self, ns: u64) -> io::Result<()> {
        let clock = proto::Clock {
            clock_id: Some(proto::CLOCK_BOOTTIME.cast_unsigned()),
            timestamp: Some(ns),
        };
        self.write(TracePacket {
            clock_snapshot: Some(proto::ClockSnapshot {
                clocks: vec![clock],
                primary_trace_clock: Some(proto::CLOCK_BOOTTIME),
            }),
            timestamp: Some(ns),
            ..TracePacket::default()
        })
    }

    fn describe(&mut self, descriptor: TrackDescriptor) -> io::Result<()> {
        self.write(TracePacket { track_descriptor: Some(descriptor), ..TracePacket::default() })
    }

    fn describe_cpu(&mut self, cpu: u32) -> io::Result<()> {
        self.cpus.insert(cpu, CpuTracks::default());
        self.describe(TrackDescriptor {
            uuid: Some(group(cpu)),
            name: Some(format!("CPU {cpu}")),
            child_ordering: Some(proto::ORDERING_EXPLICIT),
            sibling_order_rank: i32::try_from(cpu).ok(),
            description: Some(SESSION.to_owned()),
            ..TrackDescriptor::default()
        })?;
        for ((name, description), lane) in LANES.into_iter().zip(1..) {
            self.describe(TrackDescriptor {
                uuid: Some(group(cpu) | lane as u64),
                parent_uuid: Some(group(cpu)),
                name: Some(name.to_owned()),
                sibling_order_rank: Some(lane),
                description: Some(description.to_owned()),
                ..TrackDescriptor::default()
            })?;
        }
        Ok(())
    }

    /// Makes a task known, once and whenever it has changed. Returns what is remembered of it.
    fn know(&mut self, ns: u64, task: &Task) -> io::Result<Option<&mut Thread>> {
        let &Task { pid, tgid, ref comm, .. } = task;
        if pid == 0 || pid >= PID_MAX {
            return Ok(None);
        }
        let is_known = match self.threads.entry(pid) {
            Entry::Occupied(mut known) => {
                let known = known.get_mut();
                let is_known = known.tgid == tgid && known.comm == *comm;
                if !is_known {
                    known.tgid = tgid;
                    known.comm.clone_from(comm);
                }
                is_known
            }
            Entry::Vacant(unknown) => {
                let comm = comm.clone();
                unknown.insert(Thread { tgid, comm, has_track: false, open: 0 });
                false
            }
        };
        if !is_known {
            let process = (pid == tgid).then(|| proto::Process {
                pid: Some(pid as i32),
                cmdline: vec![comm.clone()],
                cmdline_is_comm: Some(true),
            });
            let thread = proto::Thread {
                tid: Some(pid as i32),
                name: Some(comm.clone()),
                tgid: Some(tgid as i32),
            };
            let tree = proto::ProcessTree {
                processes: process.into_iter().collect(),
                threads: vec![thread],
            };
            self.write(TracePacket {
                process_tree: Some(tree),
                timestamp: Some(ns),
                ..TracePacket::default()
            })?;
        }
        Ok(self.threads.get_mut(&pid))
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
        self.bundle(moment.cpu, events)
    }

    fn bundle(&mut self, cpu: u32, event: Vec<FtraceEvent>) -> io::Result<()> {
        let bundle = proto::FtraceEventBundle { cpu: Some(cpu), event };
        self.write(TracePacket { ftrace_events: Some(bundle), ..TracePacket::default() })
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
            self.slice(since.ns, track, Name::At(since.address))?;
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
            self.event(since.ns, track, proto::SLICE_BEGIN, Some(name), annotations)?;
        }
        self.end(end_ns, track)
    }

    fn slice(&mut self, ns: u64, track: u64, name: Name<'_>) -> io::Result<()> {
        self.event(ns, track, proto::SLICE_BEGIN, Some(name), vec![])
    }

    fn end(&mut self, ns: u64, track: u64) -> io::Result<()> {
        self.event(ns, track, proto::SLICE_END, None, vec![])
    }

    fn event(
        &mut self,
        ns: u64,
        track: u64,
        kind: i32,
        name: Option<Name<'_>>,
        debug_annotations: Vec<proto::DebugAnnotation>,
    ) -> io::Result<()> {
        let (name_iid, interned_data) = match name {
            Some(name) => {
                let (iid, new) = self.intern(name);
                (Some(iid), new)
            }
            None => (None, None),
        };
        self.write(TracePacket {
            timestamp: Some(ns),
            track_event: Some(TrackEvent {
                debug_annotations,
                r#type: Some(kind),
                name_iid,
                track_uuid: Some(track),
            }),
            interned_data,
            sequence_flags: Some(proto::NEEDS_INCREMENTAL_STATE),
            ..TracePacket::default()
        })
    }

    /// The number of a name, and what says so where it is new.
    fn intern(&mut self, name: Name<'_>) -> (u64, Option<proto::InternedData>) {
        let kernel = self.kernel;
        let unnamed;
        let (address, name) = match name {
            Name::Is(name) => (None, name),
            Name::At(address) => {
                if let Some(iid) = self.functions.get(&address) {
                    return (*iid, None);
                }
                let name = match kernel.function(address) {
                    Some(name) => name,
                    None => {
                        unnamed = format!("{address:#x}");
                        &unnamed
                    }
                };
                (Some(address), name)
            }
        };
        let known = self.names.get(name).copied();
        let iid = known.unwrap_or(self.names.len() as u64 + 1);
        let new = known.is_none().then(|| {
            self.names.insert(name.to_owned(), iid);
            let name = proto::EventName { iid: Some(iid), name: Some(name.to_owned()) };
            proto::InternedData { event_names: vec![name] }
        });
        if let Some(address) = address {
            self.functions.insert(address, iid);
        }
        (iid, new)
    }

    /// Shows what a task is in that goes on, if that began before the window.
    fn resume(&mut self, moment: &Moment<'_>, frames: &[Frame]) -> io::Result<()> {
        let Some(task) = moment.task else { return Ok(()) };
        if self.know(moment.ns, task)?.is_none_or(|thread| thread.open > 0) {
            return Ok(());
        }
        let kernel = self.kernel;
        for frame in frames {
            match frame {
                Frame::Syscall(number) if is_last(*number) => {}
                Frame::Syscall(number) => {
                    self.begin_on_thread(moment, Name::Is(&syscall(*number)))?;
                }
                Frame::Entry { probe, is_exception: true, .. } => {
                    let name = &kernel.tracepoint(*probe).name;
                    self.begin_on_thread(moment, Name::Is(name))?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Shows a system call, which ends whatever was shown before.
    fn enter(&mut self, moment: &Moment<'_>, number: u32) -> io::Result<()> {
        let Some(task) = moment.task else { return Ok(()) };
        let Some(thread) = self.know(moment.ns, task)? else { return Ok(()) };
        for _ in 0..std::mem::take(&mut thread.open) {
            self.end(moment.ns, thread_track(task))?;
        }
        self.begin_on_thread(moment, Name::Is(&syscall(number)))?;
        if is_last(number) { self.leave(moment) } else { Ok(()) }
    }

    fn begin_on_thread(&mut self, moment: &Moment<'_>, name: Name<'_>) -> io::Result<()> {
        let Some(task) = moment.task else { return Ok(()) };
        let Some(thread) = self.know(moment.ns, task)? else { return Ok(()) };
        thread.open += 1;
        if !std::mem::replace(&mut thread.has_track, true) {
            let descriptor = TrackDescriptor {
                uuid: Some(thread_track(task)),
                thread: Some(proto::ThreadDescriptor {
                    pid: Some(task.tgid as i32),
                    tid: Some(task.pid.into()),
                    thread_name: Some(task.comm.clone()),
                }),
                ..TrackDescriptor::default()
            };
            self.write(TracePacket {
                track_descriptor: Some(descriptor),
                trusted_packet_sequence_id: Some(SEQUENCE_OF_THREADS),
                ..TracePacket::default()
            })?;
        }
        self.slice(moment.ns, thread_track(task), name)
    }

    /// Ends the innermost of what is shown of the current task, if anything is.
    fn leave(&mut self, moment: &Moment<'_>) -> io::Result<()> {
        let Some(task) = moment.task else { return Ok(()) };
        let Some(thread) = self.threads.get_mut(&task.pid) else { return Ok(()) };
        let Some(open) = thread.open.checked_sub(1) else { return Ok(()) };
        thread.open = open;
        self.end(moment.ns, thread_track(task))
    }
}

/// A system call's name, or its number if it is too new.
fn syscall(number: u32) -> String {
    Sysno::new(number as usize)
        .map_or_else(|| format!("system call {number}"), |call| call.name().to_owned())
}

/// Whether a system call never returns.
fn is_last(number: u32) -> bool {
    matches!(Sysno::new(number as usize), Some(Sysno::exit | Sysno::exit_group))
}

fn hardirq_entry(name: &str) -> Ftrace {
    match vectors::vector(name) {
        Some((vectors::LOCAL_TIMER, vector)) => {
            Ftrace::LocalTimerEntry(proto::LocalTimer { vector: Some(vector as i32) })
        }
        _ => Ftrace::IrqHandlerEntry(proto::IrqHandlerEntry { name: Some(name.to_owned()) }),
    }
}

fn hardirq_exit(name: &str) -> Ftrace {
    match vectors::vector(name) {
        Some((vectors::LOCAL_TIMER, vector)) => {
            Ftrace::LocalTimerExit(proto::LocalTimer { vector: Some(vector as i32) })
        }
        // The viewer takes an interrupt of which it is not told otherwise for an unhandled one.
        _ => Ftrace::IrqHandlerExit(proto::IrqHandlerExit { ret: Some(1) }),
    }
}
