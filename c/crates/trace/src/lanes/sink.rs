//! Reads the records of a trace into the follower.

use std::io;

use super::{follower::Follower, lane::Lanes, state::What};
use crate::observe::{
    record::{Moment, Record, Section, Sink},
    softirqs,
};

/// Depth of nesting in the kernel beyond which contexts are not followed, which no kernel reaches: see
/// `FRAMES_MAX` in `cpu`.
const CONTEXT_MAX: usize = 32;

impl Sink for Follower<'_> {
    type Output = Lanes;
    // The follower is told of everything before the window, and need not be told of its start.
    const SHOWS_STATES: bool = false;

    fn record(&mut self, moment: &Moment<'_>, record: Record<'_>) -> io::Result<()> {
        let &Moment { ns, cpu: number, .. } = moment;
        let is_inside = ns >= self.start_ns;
        match record {
            Record::Switch { previous, next, is_blocked } => {
                let task = moment.task.map(|task| self.meet(task));
                let cpu = self.cpus.entry(number).or_default();
                cpu.current = cpu.current.or(task);
                self.sections(number, ns, false);
                self.switch(moment, previous, next, is_blocked);
                // The context that follows tells the new thread's state.
                return Ok(());
            }
            Record::Context(frames) => {
                let task = moment.task.map(|task| self.meet(task));
                self.cpus.entry(number).or_default().current = task;
                self.resume(number, frames);
            }
            Record::Waking { task, cpu } => self.wake(moment, task, cpu),
            Record::ReschedAsked { is_lazy } => self.ask(moment, is_lazy),
            Record::HardirqEntry { .. }
            | Record::HardirqExit { .. }
            | Record::SoftirqEntry { .. }
            | Record::SoftirqExit { .. } => self.interrupt(number, record),
            Record::SyscallEntry(_)
            | Record::ExceptionEntry { .. }
            | Record::SyscallExit(_)
            | Record::ExceptionExit
            | Record::UserSpace => self.context(number, record),
            Record::Schedule => {
                self.cpus.entry(number).or_default().schedules += u64::from(is_inside);
            }
            // A function that spins does not sleep.
            Record::LockWait { name } if !name.contains("spin_lock_slowpath") => {
                let name = self.name(name);
                self.cpus.entry(number).or_default().lock = Some(name);
            }
            Record::LockWait { .. } => {}
            // A thread that starts a timer sleeps until then, and has got the lock.
            Record::TimerStart => {
                let cpu = self.cpus.entry(number).or_default();
                if cpu.hardirq.is_none() && cpu.softirq.is_none() {
                    cpu.lock = None;
                }
            }
            Record::Begin(Section::NeedResched, _) => self.asked(moment),
            Record::End(Section::NeedResched, _) | Record::Lost(Section::NeedResched) => {}
            Record::Begin(section, _) => {
                self.cpus.entry(number).or_default().off[place(section)] = true;
            }
            Record::End(section, _) => {
                self.cpus.entry(number).or_default().off[place(section)] = false;
            }
            Record::Lost(section) => {
                let cpu = self.cpus.entry(number).or_default();
                cpu.off[place(section)] = false;
                cpu.off_since[place(section)] = None;
            }
        }
        self.refresh(number, ns);
        Ok(())
    }

    fn stack(&mut self, _: &[u64]) -> io::Result<()> {
        Ok(())
    }

    fn finish(self, until_ns: u64) -> io::Result<Lanes> {
        Ok(self.into_lanes(until_ns))
    }
}

impl Follower<'_> {
    /// Follows the beginnings and ends of interrupts and softirqs.
    fn interrupt(&mut self, number: u32, record: Record<'_>) {
        match record {
            Record::HardirqEntry { name } => {
                let name = self.kernel.arch().vector(name).map_or(name, |(event, _)| event);
                let name = self.name(name);
                let cpu = self.cpus.entry(number).or_default();
                cpu.hardirq = Some(name);
                // An interrupt comes while interrupts are on: that they are off now is its own.
                (cpu.off[1], cpu.off_since[1]) = (false, None);
            }
            Record::HardirqExit { .. } => {
                self.cpus.entry(number).or_default().hardirq = None;
            }
            Record::SoftirqEntry { name } => {
                let name = softirqs::softirq(name).map_or(name, |(_, action)| action);
                let name = self.name(name);
                self.cpus.entry(number).or_default().softirq = Some(name);
            }
            Record::SoftirqExit { .. } => {
                self.cpus.entry(number).or_default().softirq = None;
            }
            _ => {}
        }
    }

    /// Follows how a task comes into the kernel and leaves it.
    fn context(&mut self, number: u32, record: Record<'_>) {
        match record {
            Record::SyscallEntry(call) => {
                let cpu = self.cpus.entry(number).or_default();
                cpu.context.clear();
                cpu.context.push(What::Syscall(call));
                cpu.lock = None;
            }
            Record::ExceptionEntry { name } => {
                let name = self.name(name);
                let context = &mut self.cpus.entry(number).or_default().context;
                if context.len() < CONTEXT_MAX {
                    context.push(name);
                }
            }
            Record::SyscallExit(_) | Record::ExceptionExit => {
                self.cpus.entry(number).or_default().context.pop();
            }
            Record::UserSpace => {
                let cpu = self.cpus.entry(number).or_default();
                cpu.context.clear();
                (cpu.hardirq, cpu.softirq, cpu.lock) = (None, None, None);
            }
            _ => {}
        }
    }
}

fn place(section: Section) -> usize {
    usize::from(section == Section::IrqsOff)
}
