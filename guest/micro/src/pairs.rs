//! Two processes on one CPU that wake each other.

use core::{
    ptr,
    sync::atomic::{AtomicU32, Ordering::SeqCst},
};

use linux_raw_sys::general::__NR_sched_yield;
use preemptlab_sys::{arch::syscall, kernel};
use rustix::{
    io,
    mm::{MapFlags, ProtFlags, mmap_anonymous, munmap},
    net::{AddressFamily, SocketFlags, SocketType, socketpair},
    pipe::pipe,
    process::{Pid, Signal, WaitOptions, kill_process, waitpid},
    thread::futex,
};

use crate::meter::Meter;

/// Measures beside a child that does the same thing for ever, and ends it.
fn beside(
    mut child: impl FnMut() -> io::Result<()>,
    measure: impl FnOnce() -> io::Result<()>,
) -> io::Result<()> {
    // SAFETY: the process has one thread.
    let Some(pid) = (unsafe { kernel::fork() })? else {
        while child().is_ok() {}
        kernel::exit(1)
    };
    let measured = measure();
    end(pid)?;
    measured
}

fn end(child: Pid) -> io::Result<()> {
    kill_process(child, Signal::KILL)?;
    waitpid(Some(child), WaitOptions::empty()).map(drop)
}

/// Sends a byte through a pipe and waits for it to come back through another.
pub fn pipes(meter: &mut Meter, times: u32) -> io::Result<()> {
    let (there, here) = (pipe()?, pipe()?);
    let (mut answer, mut request) = ([0], [0]);
    beside(
        || {
            io::read(&there.0, &mut request)?;
            io::write(&here.1, &request).map(drop)
        },
        || {
            meter.measure(|| {
                for _ in 0..times {
                    io::write(&there.1, &[1])?;
                    io::read(&here.0, &mut answer)?;
                }
                Ok(())
            })
        },
    )
}

/// The same through a pair of sockets.
pub fn sockets(meter: &mut Meter, times: u32) -> io::Result<()> {
    let (own, other) =
        socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    let (mut answer, mut request) = ([0; 64], [0; 64]);
    beside(
        || {
            io::read(&other, &mut request)?;
            io::write(&other, &request).map(drop)
        },
        || {
            meter.measure(|| {
                for _ in 0..times {
                    io::write(&own, &[1; 64])?;
                    io::read(&own, &mut answer)?;
                }
                Ok(())
            })
        },
    )
}

/// Words that two processes share.
struct Shared {
    there: AtomicU32,
    here: AtomicU32,
}

/// Wakes the other through a word in memory, and sleeps on another word.
pub fn futexes(meter: &mut Meter, times: u32) -> io::Result<()> {
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping, of zeros, which are valid words, and which lives until it is unmapped below.
    let memory =
        unsafe { mmap_anonymous(ptr::null_mut(), size_of::<Shared>(), access, MapFlags::SHARED) }?;
    // SAFETY: as above.
    let shared = unsafe { &*memory.cast::<Shared>() };
    let measured = beside(
        || {
            sleep_on(&shared.there)?;
            wake(&shared.here)
        },
        || {
            meter.measure(|| {
                for _ in 0..times {
                    wake(&shared.there)?;
                    sleep_on(&shared.here)?;
                }
                Ok(())
            })
        },
    );
    // SAFETY: the child has ended, and nothing here refers to it any more.
    unsafe { munmap(memory, size_of::<Shared>()) }?;
    measured
}

/// Sets a word, and wakes who sleeps on it.
pub fn wake(word: &AtomicU32) -> io::Result<()> {
    word.store(1, SeqCst);
    futex::wake(word, futex::Flags::empty(), 1).map(drop)
}

/// Sleeps until a word is set, and clears it.
pub fn sleep_on(word: &AtomicU32) -> io::Result<()> {
    while word.swap(0, SeqCst) == 0 {
        match futex::wait(word, futex::Flags::empty(), 0, None) {
            Ok(()) | Err(io::Errno::AGAIN | io::Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// Lets the other one run, which does the same.
pub fn yields(meter: &mut Meter, times: u32) -> io::Result<()> {
    // SAFETY: no pointers.
    let give_way = || unsafe { syscall(__NR_sched_yield, [0; 4]) }.map(drop);
    beside(give_way, || {
        meter.measure(|| {
            for _ in 0..times {
                give_way()?;
            }
            Ok(())
        })
    })
}
