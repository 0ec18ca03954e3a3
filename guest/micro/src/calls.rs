//! System calls of one process that never waits.

use alloc::vec;
use core::{ptr, sync::atomic::Ordering::Relaxed};

use linux_raw_sys::general::{
    __NR_rt_sigaction, __NR_sched_yield, __NR_setitimer, ITIMER_REAL, SIGALRM, SIGTRAP, SIGUSR1,
    itimerval, timeval,
};
use preemptlab_sys::{arch::syscall, clock::now_ns};
use rustix::{
    event::{EventfdFlags, Timespec, epoll, eventfd},
    fs::{self, MemfdFlags, Mode, OFlags},
    io,
    mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap},
    pipe::pipe,
    process::{Signal, getpid, getppid, kill_process},
};

use crate::{arch, handled::HANDLED, meter::Meter};

/// Bytes of a page.
const PAGE_BYTES: usize = 4096;

/// The cheapest system call.
pub fn null_call(meter: &mut Meter, times: u32) -> io::Result<()> {
    meter.measure(|| {
        for _ in 0..times {
            core::hint::black_box(getppid());
        }
        Ok(())
    })
}

/// The clock as programs read it, without the kernel.
pub fn clock(meter: &mut Meter, times: u32) -> io::Result<()> {
    meter.measure(|| {
        for _ in 0..times {
            core::hint::black_box(now_ns());
        }
        Ok(())
    })
}

/// Yields to nobody.
pub fn yield_alone(meter: &mut Meter, times: u32) -> io::Result<()> {
    meter.measure(|| {
        for _ in 0..times {
            // SAFETY: no pointers.
            unsafe { syscall(__NR_sched_yield, [0; 4]) }?;
        }
        Ok(())
    })
}

/// Reads zeros.
pub fn read_zero<const BYTES: usize>(meter: &mut Meter, times: u32) -> io::Result<()> {
    let file = fs::open("/dev/zero", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut bytes = vec![1_u8; BYTES];
    meter.measure(|| {
        for _ in 0..times {
            io::read(&file, &mut *bytes)?;
        }
        Ok(())
    })
}

/// Writes a byte to where it is lost.
pub fn write_null(meter: &mut Meter, times: u32) -> io::Result<()> {
    let file = fs::open("/dev/null", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    meter.measure(|| {
        for _ in 0..times {
            io::write(&file, &[0])?;
        }
        Ok(())
    })
}

/// Writes to a file in memory and reads it again.
pub fn memory_file<const BYTES: usize>(meter: &mut Meter, times: u32) -> io::Result<()> {
    let file = fs::memfd_create("micro", MemfdFlags::CLOEXEC)?;
    let mut bytes = vec![1_u8; BYTES];
    meter.measure(|| {
        for _ in 0..times {
            io::pwrite(&file, &bytes, 0)?;
            io::pread(&file, &mut *bytes, 0)?;
        }
        Ok(())
    })
}

/// Opens and closes a file.
pub fn open_close(meter: &mut Meter, times: u32) -> io::Result<()> {
    meter.measure(|| {
        for _ in 0..times {
            drop(fs::open(c"/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?);
        }
        Ok(())
    })
}

/// Asks what a file is.
pub fn stat(meter: &mut Meter, times: u32) -> io::Result<()> {
    meter.measure(|| {
        for _ in 0..times {
            core::hint::black_box(fs::stat(c"/dev/null")?);
        }
        Ok(())
    })
}

/// Writes into a pipe and reads it.
pub fn pipe_alone<const BYTES: usize>(meter: &mut Meter, times: u32) -> io::Result<()> {
    let (reader, writer) = pipe()?;
    let mut bytes = vec![1_u8; BYTES];
    meter.measure(|| {
        for _ in 0..times {
            io::write(&writer, &bytes)?;
            io::read(&reader, &mut *bytes)?;
        }
        Ok(())
    })
}

/// Signals an event, waits for it among several, and takes it.
pub fn event(meter: &mut Meter, times: u32) -> io::Result<()> {
    let event = eventfd(0, EventfdFlags::CLOEXEC)?;
    let other = eventfd(0, EventfdFlags::CLOEXEC)?;
    let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    epoll::add(&poll, &event, epoll::EventData::new_u64(0), epoll::EventFlags::IN)?;
    epoll::add(&poll, &other, epoll::EventData::new_u64(1), epoll::EventFlags::IN)?;
    let mut ready =
        [epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) }; 2];
    let mut count = [0_u8; 8];
    let no_time = Timespec { tv_sec: 0, tv_nsec: 0 };
    meter.measure(|| {
        for _ in 0..times {
            io::write(&event, &1_u64.to_ne_bytes())?;
            epoll::wait(&poll, &mut ready, Some(&no_time))?;
            io::read(&event, &mut count)?;
        }
        Ok(())
    })
}

/// Touches new memory, page after page.
pub fn page_fault(meter: &mut Meter, pages: u32) -> io::Result<()> {
    let bytes = pages as usize * PAGE_BYTES;
    meter.measure(|| {
        // SAFETY: a new mapping at a place of the kernel's choice.
        let memory = unsafe {
            let access = ProtFlags::READ | ProtFlags::WRITE;
            let memory = mmap_anonymous(ptr::null_mut(), bytes, access, MapFlags::PRIVATE)?;
            madvise(memory, bytes, Advice::LinuxNoHugepage)?;
            memory
        };
        touch_and_unmap(memory.cast(), pages as usize)
    })
}

/// Touches the pages of a file in memory, which are there already.
pub fn shared_fault(meter: &mut Meter, pages: u32) -> io::Result<()> {
    let bytes = pages as usize * PAGE_BYTES;
    let file = fs::memfd_create("micro", MemfdFlags::CLOEXEC)?;
    io::pwrite(&file, &vec![1; bytes], 0)?;
    meter.measure(|| {
        // SAFETY: a new mapping at a place of the kernel's choice.
        let memory = unsafe {
            let access = ProtFlags::READ | ProtFlags::WRITE;
            mmap(ptr::null_mut(), bytes, access, MapFlags::SHARED, &file, 0)?
        };
        touch_and_unmap(memory.cast(), pages as usize)
    })
}

fn touch_and_unmap(memory: *mut u8, pages: usize) -> io::Result<()> {
    for page in 0..pages {
        // SAFETY: inside the mapping.
        unsafe { memory.add(page * PAGE_BYTES).write_volatile(1) };
    }
    // SAFETY: nothing refers to it any more.
    unsafe { munmap(memory.cast(), pages * PAGE_BYTES) }
}

/// Maps memory and gives it back untouched.
pub fn map_unmap(meter: &mut Meter, times: u32) -> io::Result<()> {
    const BYTES: usize = 16 * PAGE_BYTES;
    meter.measure(|| {
        for _ in 0..times {
            // SAFETY: a new mapping, which nothing refers to.
            unsafe {
                let access = ProtFlags::READ | ProtFlags::WRITE;
                let memory = mmap_anonymous(ptr::null_mut(), BYTES, access, MapFlags::PRIVATE)?;
                munmap(memory, BYTES)?;
            }
        }
        Ok(())
    })
}

/// Sends a signal to itself and handles it.
pub fn signal(meter: &mut Meter, times: u32) -> io::Result<()> {
    handle(SIGUSR1)?;
    let own = getpid();
    meter.measure(|| {
        for _ in 0..times {
            kill_process(own, Signal::USR1)?;
        }
        Ok(())
    })
}

/// Executes a breakpoint, and handles the signal that comes of the exception.
pub fn breakpoint(meter: &mut Meter, times: u32) -> io::Result<()> {
    handle(SIGTRAP)?;
    meter.measure(|| {
        for _ in 0..times {
            arch::breakpoint();
        }
        Ok(())
    })
}

/// Has a timer interrupt soon, and spins until its signal was handled. What is spun is short beside the
/// delivery of the interrupt.
pub fn timer(meter: &mut Meter, times: u32) -> io::Result<()> {
    handle(SIGALRM)?;
    let (never, soon) = (timeval { tv_sec: 0, tv_usec: 0 }, timeval { tv_sec: 0, tv_usec: 1 });
    let once = itimerval { it_interval: never, it_value: soon };
    let arguments = [ITIMER_REAL as usize, (&raw const once).addr(), 0, 0];
    meter.measure(|| {
        for _ in 0..times {
            HANDLED.store(0, Relaxed);
            // SAFETY: the kernel reads the time.
            unsafe { syscall(__NR_setitimer, arguments) }?;
            while HANDLED.load(Relaxed) == 0 {}
        }
        Ok(())
    })
}

/// Has a signal handled, which only takes note of it.
fn handle(signal: u32) -> io::Result<()> {
    let action = arch::handler(signal);
    let arguments = [signal as usize, (&raw const action).addr(), 0, size_of_val(&action.sa_mask)];
    // SAFETY: the kernel reads the action, whose functions keep every register.
    unsafe { syscall(__NR_rt_sigaction, arguments) }.map(drop)
}
