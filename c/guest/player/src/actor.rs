//! A thread of the script, in a process of its own.

use core::{
    num::NonZeroU64,
    sync::atomic::{AtomicU32, Ordering},
};

use alloc::{ffi::CString, vec::Vec};

use preemptlab_protocol::script::Step;
use preemptlab_sys::clock;
use rustix::{io::Errno, process, thread};

use crate::{
    board::{Board, Record, SpanRecord, Stage},
    busy::Pace,
    device::Device,
    futex,
    operation::Raw,
    scheduler,
};

/// What every thread plays before the start.
const REHEARSAL: [Step; 4] =
    [Step::SleepUntil(0), Step::SleepFor(1_000), Step::Busy(10_000), Step::Yield];

/// What a thread needs to play its part.
pub struct Actor<'a> {
    /// Its number.
    pub number: usize,
    /// How many there are.
    pub count: u32,
    /// Its name.
    pub name: CString,
    /// What it does.
    pub steps: &'a [Step],
    /// The operations of each step.
    pub operations: Vec<Vec<Raw>>,
    /// By the number of a futex, whether it is a PI one.
    pub futex_is_pi: &'a [bool],
    /// How long being busy takes.
    pub pace: Pace,
    /// For system calls.
    pub device: Option<&'a Device>,
}

impl Actor<'_> {
    /// Plays, in the process that was forked for it, until it is killed.
    pub fn play(&self, board: &Board) -> ! {
        let (stage, record) = (board.stage, board.records[self.number]);
        let played = self.get_ready(stage, record).and_then(|()| {
            count_up(&stage.ready, self.count);
            let start_ns = start(stage, self.number);
            clock::sleep_until_ns(start_ns);
            self.play_steps(self.steps, &self.operations, stage, record, start_ns)
        });
        if let Err(errno) = played {
            stage.error.store(errno.raw_os_error(), Ordering::Release);
            // Whoever waits for the threads to get ready or to finish is not to wait any longer.
            for word in [&stage.ready, &stage.finished] {
                word.fetch_add(self.count, Ordering::Release);
                futex::wake_all(word);
            }
        } else {
            count_up(&stage.finished, self.count);
        }
        futex::wait_for_ever()
    }

    /// Does beforehand what would take time later.
    fn get_ready(&self, stage: &Stage, record: Record<'_>) -> Result<(), Errno> {
        // init waits for everybody in the player's group to be gone, but a thread that waits for a
        // lock of the kernel which cannot be given up never is.
        process::setpgid(None, None)?;
        thread::set_name(&self.name)?;
        // A sleep ends when it says, and not up to 50 us later as is the default.
        thread::set_current_timer_slack(NonZeroU64::new(1))?;
        record.touch();
        // A rehearsal takes the page faults of the program's own code, which a fork brings back.
        let rehearsal =
            Record { steps: &REHEARSAL.map(|_| SpanRecord::default()), operations: &[] };
        let operations = REHEARSAL.map(|_| Vec::new());
        self.play_steps(&REHEARSAL, &operations, stage, rehearsal, 0)
    }

    fn play_steps(
        &self,
        steps: &[Step],
        operations: &[Vec<Raw>],
        stage: &Stage,
        record: Record<'_>,
        start_ns: u64,
    ) -> Result<(), Errno> {
        let mut spans = record.operations;
        for ((step, operations), times) in steps.iter().zip(operations).zip(record.steps) {
            let (own, rest) = spans.split_at(operations.len());
            spans = rest;
            times.begin_ns.store(clock::now_ns(), Ordering::Release);
            match *step {
                Step::SleepUntil(at_ns) => clock::sleep_until_ns(start_ns + at_ns),
                Step::SleepFor(ns) => clock::sleep_ns(ns),
                Step::Busy(ns) => self.pace.busy(ns),
                Step::Yield => scheduler::yield_now(),
                Step::FutexLock(number) => self.lock(stage, number)?,
                Step::FutexUnlock(number) => self.unlock(stage, number)?,
                Step::Call(_) => {
                    let device = self.device.ok_or(Errno::NODEV)?;
                    device.call(self.number, operations, own)?;
                }
            }
            times.end_ns.store(clock::now_ns(), Ordering::Release);
        }
        Ok(())
    }

    fn lock(&self, stage: &Stage, number: u8) -> Result<(), Errno> {
        let word = &stage.futexes[usize::from(number)];
        if self.futex_is_pi[usize::from(number)] {
            return futex::lock_pi(word);
        }
        futex::lock(word);
        Ok(())
    }

    fn unlock(&self, stage: &Stage, number: u8) -> Result<(), Errno> {
        let word = &stage.futexes[usize::from(number)];
        if self.futex_is_pi[usize::from(number)] {
            return futex::unlock_pi(word);
        }
        futex::unlock(word);
        Ok(())
    }
}

/// Counts up by one; the last one wakes whoever waits for all.
fn count_up(word: &AtomicU32, count: u32) {
    if word.fetch_add(1, Ordering::AcqRel) + 1 == count {
        futex::wake_all(word);
    }
}

/// Waits until the start is known.
fn start(stage: &Stage, number: usize) -> u64 {
    let cue = &stage.cues[number];
    while cue.load(Ordering::Acquire) == 0 {
        futex::wait(cue, 0, None);
    }
    stage.start_ns.load(Ordering::Acquire)
}
