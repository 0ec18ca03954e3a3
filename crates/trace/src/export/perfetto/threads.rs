//! The tracks of threads.

use std::{
    collections::{HashMap, hash_map::Entry},
    io::{self, Write},
};

use syscalls::Sysno;

use super::packets::{Name, Packets};
use crate::{
    cpu::Frame,
    decode::Task,
    export::proto::{self, TracePacket, TrackDescriptor},
    kernel::Kernel,
    observe::record::Moment,
};

/// No thread has a larger number (`PID_MAX_LIMIT`, include/linux/threads.h): this bounds what is
/// remembered of threads.
const PID_MAX: u32 = 4 << 20;

/// The sequence of what describes threads: on the one of slices, those that are no thread's would
/// be taken for the last thread's.
const SEQUENCE_OF_THREADS: u32 = 2;

fn thread_track(task: &Task) -> u64 {
    1 << 48 | u64::from(task.pid)
}

/// What is remembered of threads, by their numbers.
#[derive(Default)]
pub struct Threads {
    known: HashMap<u32, Thread>,
}

/// What is remembered of one.
pub struct Thread {
    tgid: u32,
    comm: String,
    has_track: bool,
    /// How many slices have begun on its track and not ended.
    open: u32,
}

impl Threads {
    /// Makes a task known, once and whenever it has changed. Returns what is remembered of it.
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
                (unknown.insert(Thread { tgid, comm, has_track: false, open: 0 }), false)
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

    /// Shows what a task is in that goes on, if that began before the window.
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
                Frame::Syscall(number) if is_last(*number) => {}
                Frame::Syscall(number) => {
                    self.begin(packets, moment, Name::Is(&syscall(*number)))?;
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

    /// Shows a system call, which ends whatever was shown before.
    pub fn enter(
        &mut self,
        packets: &mut Packets<'_, impl Write>,
        moment: &Moment<'_>,
        number: u32,
    ) -> io::Result<()> {
        let Some(task) = moment.task else { return Ok(()) };
        let Some(thread) = self.know(packets, moment.ns, task)? else { return Ok(()) };
        for _ in 0..std::mem::take(&mut thread.open) {
            packets.end(moment.ns, thread_track(task))?;
        }
        self.begin(packets, moment, Name::Is(&syscall(number)))?;
        if is_last(number) { self.leave(packets, moment) } else { Ok(()) }
    }

    /// Shows something that the current task is in.
    pub fn begin(
        &mut self,
        packets: &mut Packets<'_, impl Write>,
        moment: &Moment<'_>,
        name: Name<'_>,
    ) -> io::Result<()> {
        let Some(task) = moment.task else { return Ok(()) };
        let Some(thread) = self.know(packets, moment.ns, task)? else { return Ok(()) };
        thread.open += 1;
        if !std::mem::replace(&mut thread.has_track, true) {
            packets.write(TracePacket {
                track_descriptor: Some(descriptor(task)),
                trusted_packet_sequence_id: Some(SEQUENCE_OF_THREADS),
                ..TracePacket::default()
            })?;
        }
        packets.slice(moment.ns, thread_track(task), name)
    }

    /// Ends the innermost of what is shown of the current task, if anything is.
    pub fn leave(
        &mut self,
        packets: &mut Packets<'_, impl Write>,
        moment: &Moment<'_>,
    ) -> io::Result<()> {
        let Some(task) = moment.task else { return Ok(()) };
        let Some(thread) = self.known.get_mut(&task.pid) else { return Ok(()) };
        let Some(open) = thread.open.checked_sub(1) else { return Ok(()) };
        thread.open = open;
        packets.end(moment.ns, thread_track(task))
    }
}

/// What makes a task known.
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

/// What makes its track known.
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

/// A system call's name, or its number if it is too new.
fn syscall(number: u32) -> String {
    Sysno::new(number as usize)
        .map_or_else(|| format!("system call {number}"), |call| call.name().to_owned())
}

/// Whether a system call never returns.
fn is_last(number: u32) -> bool {
    matches!(Sysno::new(number as usize), Some(Sysno::exit | Sysno::exit_group))
}
