//! The execution of one cell, from an empty root to its message.

use std::{
    fs::File,
    io::{self, Read, Seek, Write},
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command},
    time::{Duration, Instant},
};

use preemptlab_model::{CellInputs, FailureCause};
use preemptlab_protocol::{
    Failure, FailureKind, Message, Stage,
    frame::{self, PAYLOAD_BYTES_MAX},
};
use preemptlab_runner::{Cancel, Execution, Stop};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{MemfdFlags, memfd_create},
    io::Errno,
    mount::{UnmountFlags, unmount},
    pipe::{PipeFlags, pipe_with},
    process::{
        Pid, Signal, chdir, getpid, getppid, pivot_root, set_parent_process_death_signal, setsid,
    },
    thread::{CpuSet, UnshareFlags, sched_getaffinity, sched_setaffinity, unshare_unsafe},
};

use crate::{error::host, limits, room};

/// Time for a cell beyond that of its job, in which its workload prepares, such as a database.
const MARGIN: Duration = Duration::from_secs(600);

/// Interval at which a wait checks whether the run was cancelled.
const POLL: Duration = Duration::from_millis(100);

/// The longest frame, and its header.
const SAID_BYTES_MAX: usize = PAYLOAD_BYTES_MAX + 64;

/// Largest part of the first process's standard error that is kept, in bytes.
const CONSOLE_BYTES_MAX: u64 = 1 << 20;

/// Runs a cell on the calling thread, whose mounts must be its own.
///
/// # Errors
///
/// [`Stop`] when the run was cancelled, or the machine cannot make the cell's root.
pub fn execute(
    image: &Path,
    program: &'static [u8],
    cell: &CellInputs,
    cancel: &Cancel,
) -> Result<Execution, Stop> {
    let Some(cpus) = cpus(cell.snapshot.machine.cpus) else {
        return Ok(without_cpus(cell.snapshot.machine.cpus));
    };
    let owner = limits::owner();
    let root = room::make(image, program, owner)?;
    let unable = |error: io::Error| host(format!("a cell cannot be started: {error}"));
    let job = serde_json::to_vec(&cell.job).expect("a job has a JSON form");
    let job = memory_file(&job).map_err(unable)?;
    let mut console = memory_file(&[]).map_err(unable)?;
    // Each end closes with the processes that hold it, so the reader learns when the last one is
    // gone.
    let (results, theirs) = pipe_with(PipeFlags::CLOEXEC).map_err(|error| unable(error.into()))?;

    let mut command = Command::new(room::PROGRAM);
    let stderr = console.try_clone().map_err(unable)?;
    command.env_clear().stdin(job).stdout(theirs).stderr(stderr);
    let parent = getpid();
    // SAFETY: between fork and exec the closure only makes system calls, and allocates nothing.
    unsafe { command.pre_exec(move || confine(parent, &root, &cpus, owner)) };
    let mut child = command.spawn().map_err(unable)?;
    // Its end of the pipe is in the command.
    drop(command);

    let wall = MARGIN + Duration::from_nanos(cell.job.limit_ns);
    let listened = listen(&mut child, results.into(), wall, cancel);
    let said = child.wait().map_err(unable).and(listened);
    let mut text = Vec::new();
    let _ = console.rewind().and_then(|()| console.take(CONSOLE_BYTES_MAX).read_to_end(&mut text));
    let failed = |cause, reason| Stop::Failed { cause, reason, console: text.clone() };
    let said = said?.map_err(|()| {
        let reason = format!("the cell had not ended after {} s", wall.as_secs());
        failed(FailureCause::WallTimeLimit, reason)
    })?;
    let messages = frame::decode(&said);
    let messages = messages.map_err(|error| failed(FailureCause::Workload, error.to_string()))?;
    match messages.into_iter().next_back() {
        Some(message) if !matches!(message, Message::Ready(_)) => {
            Ok(Execution { message, said, console: text, conditions: None })
        }
        _ => {
            let reason = "the cell's first process ended without a result".to_owned();
            Err(failed(FailureCause::Workload, reason))
        }
    }
}

/// Returns the first CPUs of the machine, as many as the cell's machine has; `None` where this
/// process may not use all of them.
fn cpus(count: u32) -> Option<CpuSet> {
    let allowed = sched_getaffinity(None).ok()?;
    let mut set = CpuSet::new();
    for cpu in 0..count as usize {
        if cpu >= CpuSet::MAX_CPU || !allowed.is_set(cpu) {
            return None;
        }
        set.set(cpu);
    }
    Some(set)
}

fn without_cpus(count: u32) -> Execution {
    let reason = format!("the machine has no CPUs 0 to {} for this process", count - 1);
    let failure = Failure {
        stage: Stage::Setup,
        kind: FailureKind::Unavailable,
        reason,
        system: None,
        commands: Vec::new(),
        refusal: None,
    };
    let message = Message::Failed(failure);
    Execution { message, said: Vec::new(), console: Vec::new(), conditions: None }
}

/// Confines the child before it becomes the cell's first process.
///
/// A session of its own keeps signals of a terminal away, and makes one autogroup of the whole cell
/// (`SCHED_AUTOGROUP`), as a guest is one. The first process takes the other rights from the cell's
/// commands.
fn confine(parent: Pid, root: &Path, cpus: &CpuSet, owner: u32) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The parent may have died before the signal was asked for.
    if getppid() != Some(parent) {
        return Err(Errno::SRCH.into());
    }
    setsid()?;
    limits::set(owner)?;
    sched_setaffinity(None, cpus)?;
    let flags = UnshareFlags::NEWPID
        | UnshareFlags::NEWIPC
        | UnshareFlags::NEWUTS
        | UnshareFlags::NEWNET
        | UnshareFlags::NEWNS;
    // SAFETY: the process has one thread, and no descriptor is unshared.
    unsafe { unshare_unsafe(flags) }?;
    chdir(root)?;
    // The old root comes to lie over the new one, and goes (pivot_root(2)).
    pivot_root(".", ".")?;
    unmount(".", UnmountFlags::DETACH)?;
    chdir("/")?;
    // SAFETY: the call takes no pointers, and marks descriptors without closing them.
    if unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) } != 0
    {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Reads the cell's messages until its first process has ended. Kills the cell when the time is up,
/// which is the inner error, or when the run is cancelled.
fn listen(
    child: &mut Child,
    mut results: File,
    wall: Duration,
    cancel: &Cancel,
) -> Result<Result<Vec<u8>, ()>, Stop> {
    let deadline = Instant::now() + wall;
    let mut said = Vec::new();
    let mut chunk = vec![0; 64 << 10];
    let mut killed = None;
    loop {
        if killed.is_none() {
            if cancel.is_cancelled() {
                killed = Some(Err(Stop::Cancelled));
            } else if Instant::now() >= deadline {
                killed = Some(Ok(Err(())));
            } else if said.len() > SAID_BYTES_MAX {
                killed = Some(Err(host("the cell says more than is accepted")));
            }
            if killed.is_some() {
                // With it goes the namespace, of which it is the parent. That nothing of the cell is
                // left to change the kernel shows in the pipe, below.
                let _ = child.kill();
            }
        }
        match wait(&results) {
            Ok(false) => continue,
            Ok(true) => {}
            Err(error) => return Err(host(format!("the cell cannot be heard: {error}"))),
        }
        match results.read(&mut chunk) {
            Ok(0) => return killed.unwrap_or(Ok(Ok(said))),
            Ok(count) if killed.is_none() => said.extend_from_slice(&chunk[..count]),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(host(format!("the cell cannot be heard: {error}"))),
        }
    }
}

/// Waits until there is something to read, or all writers are gone. Returns whether there is
/// something.
fn wait(results: &File) -> io::Result<bool> {
    let mut fds = [PollFd::new(results, PollFlags::IN)];
    let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(POLL.subsec_nanos()) };
    match poll(&mut fds, Some(&timeout)) {
        Ok(count) => Ok(count > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn memory_file(content: &[u8]) -> io::Result<File> {
    let mut file = File::from(memfd_create("cell", MemfdFlags::CLOEXEC)?);
    file.write_all(content)?;
    Ok(file)
}
