//! The tracks of threads.

use std::{
    collections::{HashMap, hash_map::Entry},
    io::{self, Write},
};

use super::packets::{Name, Packets};
use crate::{
    cpu::Frame,
    decode::Task,
    export::proto::{self, TracePacket, TrackDescriptor},
    kernel::Kernel,
    observe::record::Moment,
};

/// Upper limit of the numbers of threads (`PID_MAX_LIMIT`, include/linux/threads.h), which bounds
/// the memory for threads.
const PID_MAX: u32 = 4 << 20;

/// Sequence of the packets that describe threads. On the sequence of slices, a viewer would take
/// slices of other tracks for those of the last thread.
const SEQUENCE_OF_THREADS: u32 = 2;

fn thread_track(task: &Task) -> u64 {
    1 << 48 | u64::from(task.pid)
}

/// Threads that the writer has described, by their numbers.
#[derive(Default)]
pub struct Threads {
    known: HashMap<u32, Thread>,
}

/// Description of a thread that was written.
pub struct Thread {
    tgid: u32,
    comm: String,
    has_track: bool,
    /// Number of slices that have begun on the thread's track and not ended.
    open: u32,
    /// Time of the last beginning or end there. The clock of the CPU on which the thread continues may
    /// be behind it.
    last_ns: u64,
}

impl Thread {
    /// Returns the time at which something begins or ends on the track.
    fn at(&mut self, ns: u64) -> u64 {
        self.last_ns = self.last_ns.max(ns);
        self.last_ns
    }
}

impl Threads {
    /// Describes a task, once and whenever it has changed, and returns its description; `None` for
    /// idle tasks and impossible numbers.
    ///
    /// # Errors
    ///
    /// The error of writing.
    pub fn know(
        &mut self,
        packets: &mut Packets<'_, impl Write>,
        ns: u64,
        task: &Task,
    ) -> io::Result<Option<&mut Thread>> {
        let &Task { pid, tgid, ref comm, .. } = task;
        if pid == 0 || pid >= PID_MAX {
            return Ok(None);
        }
        let (thread, is_known) = match self.known.entry(pid) {
            Entry::Occupied(known) => {
                let thread = known.into_mut();
                let is_known = thread.tgid == tgid && thread.comm == *comm;
                if !is_known {
                    thread.tgid = tgid;
                    thread.comm.clone_from(comm);
                }
                (thread, is_known)
            }
            Entry::Vacant(unknown) => {
                let comm = comm.clone();
                (
                    unknown.insert(Thread { tgid, comm, has_track: false, open: 0, last_ns: 0 }),
                    false,
                )
            }
        };
        if !is_known {
            packets.write(TracePacket {
                process_tree: Some(tree(task)),
                timestamp: Some(ns),
                ..TracePacket::default()
            })?;
        }
        Ok(Some(thread))
    }

    /// Shows the system call or exception in which a task continues, if it began before the window.
    ///
    /// # Errors
    ///
    /// The error of writing.
    pub fn resume(
        &mut self,
        packets: &mut Packets<'_, impl Write>,
        kernel: &Kernel,
        moment: &Moment<'_>,
        frames: &[Frame],
    ) -> io::Result<()> {
        let Some(task) = moment.task else { return Ok(()) };
        if self.know(packets, moment.ns, task)?.is_none_or(|thread| thread.open > 0) {
            return Ok(());
        }
        for frame in frames {
            match frame {
                Frame::Syscall(number) if kernel.arch().is_last_syscall(*number) => {}
                Frame::Syscall(number) => {
                    self.begin(packets, moment, Name::Is(&kernel.arch().syscall_name(*number)))?;
                }
                Frame::Entry { probe, is_exception: true, .. } => {
                    let name = &kernel.tracepoint(*probe).name;
                    self.begin(packets, moment, Name::Is(name))?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Shows a system call, which ends the slices shown before.
    ///
    /// # Errors
    ///
    /// The error of writing.
    pub fn enter(
        &mut self,
        packets: &mut Packets<'_, impl Write>,
        kernel: &Kernel,
        moment: &Moment<'_>,
        number: u32,
    ) -> io::Result<()> {
        let Some(task) = moment.task else { return Ok(()) };
        let Some(thread) = self.know(packets, moment.ns, task)? else { return Ok(()) };
        let ns = thread.at(moment.ns);
        for _ in 0..std::mem::take(&mut thread.open) {
            packets.end(ns, thread_track(task))?;
        }
        self.begin(packets, moment, Name::Is(&kernel.arch().syscall_name(number)))?;
        if kernel.arch().is_last_syscall(number) { self.leave(packets, moment) } else { Ok(()) }
    }

    /// Begins a slice on the track of the current task.
    ///
    /// # Errors
    ///
    /// The error of writing.
    pub fn begin(
        &mut self,
        packets: &mut Packets<'_, impl Write>,
        moment: &Moment<'_>,
        name: Name<'_>,
    ) -> io::Result<()> {
        let Some(task) = moment.task else { return Ok(()) };
        let Some(thread) = self.know(packets, moment.ns, task)? else { return Ok(()) };
        thread.open += 1;
        let ns = thread.at(moment.ns);
        if !std::mem::replace(&mut thread.has_track, true) {
            packets.write(TracePacket {
                track_descriptor: Some(descriptor(task)),
                trusted_packet_sequence_id: Some(SEQUENCE_OF_THREADS),
                ..TracePacket::default()
            })?;
        }
        packets.slice(ns, thread_track(task), name)
    }

    /// Ends the innermost open slice of the current task, if there is one.
    ///
    /// # Errors
    ///
    /// The error of writing.
    pub fn leave(
        &mut self,
        packets: &mut Packets<'_, impl Write>,
        moment: &Moment<'_>,
    ) -> io::Result<()> {
        let Some(task) = moment.task else { return Ok(()) };
        let Some(thread) = self.known.get_mut(&task.pid) else { return Ok(()) };
        let Some(open) = thread.open.checked_sub(1) else { return Ok(()) };
        thread.open = open;
        let ns = thread.at(moment.ns);
        packets.end(ns, thread_track(task))
    }
}

/// Returns the packet that describes a task.
fn tree(Task { pid, tgid, comm, .. }: &Task) -> proto::ProcessTree {
    let process = (pid == tgid).then(|| proto::Process {
        pid: Some(*pid as i32),
        cmdline: vec![comm.clone()],
        cmdline_is_comm: Some(true),
    });
    let thread = proto::Thread {
        tid: Some(*pid as i32),
        name: Some(comm.clone()),
        tgid: Some(*tgid as i32),
    };
    proto::ProcessTree { processes: process.into_iter().collect(), threads: vec![thread] }
}

/// Returns the packet that describes a task's track.
fn descriptor(task: &Task) -> TrackDescriptor {
    TrackDescriptor {
        uuid: Some(thread_track(task)),
        thread: Some(proto::ThreadDescriptor {
            pid: Some(task.tgid as i32),
            tid: Some(task.pid.into()),
            thread_name: Some(task.comm.clone()),
        }),
        ..TrackDescriptor::default()
    }
}
