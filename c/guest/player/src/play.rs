//! Brings the threads on, starts them, and says what they did.

use alloc::{format, vec::Vec};
use core::sync::atomic::{AtomicU32, Ordering};

use preemptlab_protocol::script::{
    FORMAT, Played, PlayedEvent, PlayedStep, PlayedThread, Policy, Script, Span, Step,
};
use preemptlab_sys::{
    clock::{self, NS_PER_MS},
    kernel,
};
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, waitpid};

use crate::{
    actor::Actor,
    board::{self, Board},
    busy::Pace,
    c_string,
    device::Device,
    futex, kernel_threads, operation, quiet, scheduler,
    trouble::{Attempt, Result, Trouble},
};

/// From when all is ready to the start: time enough for every thread to go to sleep.
const LEAD_NS: u64 = 20 * NS_PER_MS;
/// What the start is a multiple of: a tick of Debian's kernels.
const TICK_NS: u64 = 4 * NS_PER_MS;

/// Time for new threads of interrupts to set their own priorities, which they do when they first run.
const SETTLE_NS: u64 = 10 * NS_PER_MS;

/// How long killed processes may take to be gone. Who waits for a lock of the kernel that cannot be
/// given up stays.
const LAST_LOOKS: u32 = 20;
const LAST_LOOK_NS: u64 = 5 * NS_PER_MS;

/// Plays a script that was checked.
pub fn play(script: &Script) -> Result<Played> {
    quiet::be_left_alone()?;
    // Interrupts come where they are armed.
    scheduler::set_cpus(None, &[0]).attempt(|| "stay on CPU 0".into())?;
    let device = open_device(script)?;
    let lines = device.as_ref().map_or(Ok(Vec::new()), |device| set_up(device, script))?;
    for rule in &script.kernel_threads {
        kernel_threads::set_policy(&rule.prefix, rule.policy)?;
    }
    for (interrupt, line) in script.interrupts.iter().zip(lines) {
        if let Some(priority) = interrupt.priority {
            // The second thread of a line that has two is `irq/NUMBER-s-NAME`.
            kernel_threads::set_policy(&format!("irq/{line}-"), Policy::Fifo(priority))?;
        }
    }
    let board = Board::new(script)?;
    let mut cast = Cast(Vec::new());
    let played = perform(script, &board, device.as_ref(), &mut cast);
    cast.dismiss();
    played
}

/// Opens the device for a script that needs it.
fn open_device(script: &Script) -> Result<Option<Device>> {
    let mut steps = script.threads.iter().flat_map(|thread| &thread.steps);
    let needs = !script.interrupts.is_empty() || steps.any(|step| matches!(step, Step::Call(_)));
    needs.then(Device::open).transpose()
}

/// Sets up the interrupt lines, and asks whether every call can be made; returns the lines' numbers.
fn set_up(device: &Device, script: &Script) -> Result<Vec<u32>> {
    let lines = device.set_lines(&script.interrupts)?;
    for thread in &script.threads {
        for (number, operations) in operation::of_steps(&thread.steps).iter().enumerate() {
            device.check(operations).map_err(|reason| {
                Trouble(format!("thread {}: step {}: {reason}", thread.name, number + 1))
            })?;
        }
    }
    clock::sleep_ns(SETTLE_NS);
    Ok(lines)
}

/// The processes of the threads.
struct Cast(Vec<Pid>);

impl Cast {
    /// Forks a process for each thread.
    fn bring_on(&mut self, script: &Script, board: &Board, device: Option<&Device>) -> Result<()> {
        let pace = Pace::measure();
        for (number, thread) in script.threads.iter().enumerate() {
            let actor = Actor {
                number,
                count: script.threads.len() as u32,
                name: c_string(&thread.name)?,
                steps: &thread.steps,
                operations: operation::of_steps(&thread.steps),
                futex_is_pi: &script.futex_is_pi,
                pace,
                device,
            };
            // SAFETY: the player has one thread.
            let forked = unsafe { kernel::fork() }.attempt(|| "fork".into())?;
            let Some(pid) = forked else { actor.play(board) };
            self.0.push(pid);
            let name = &thread.name;
            scheduler::set_cpus(Some(pid), &thread.cpus)
                .attempt(|| format!("put thread {name} on the CPUs {:?}", thread.cpus))?;
            scheduler::set_policy(pid, thread.policy)
                .attempt(|| format!("set the policy of thread {name}"))?;
        }
        Ok(())
    }

    /// Kills every process, and waits for a while until they are gone.
    fn dismiss(&mut self) {
        for &pid in &self.0 {
            let _ = kill_process(pid, Signal::KILL);
        }
        for _ in 0..LAST_LOOKS {
            self.0.retain(|&pid| matches!(waitpid(Some(pid), WaitOptions::NOHANG), Ok(None)));
            if self.0.is_empty() {
                return;
            }
            clock::sleep_ns(LAST_LOOK_NS);
        }
    }
}

/// Plays it with processes that live on.
fn perform(
    script: &Script,
    board: &Board,
    device: Option<&Device>,
    cast: &mut Cast,
) -> Result<Played> {
    let (stage, count) = (board.stage, script.threads.len() as u32);
    cast.bring_on(script, board, device)?;
    scheduler::set_policy(getpid(), scheduler::ABOVE_ALL).attempt(|| "be above all".into())?;
    let is_well = || match stage.error.load(Ordering::Acquire) {
        0 => Ok(()),
        errno => Err(Trouble(format!("a thread cannot go on: error {errno}"))),
    };
    wait_for(&stage.ready, count, None);
    is_well()?;

    let start_ns = (clock::now_ns() + LEAD_NS).next_multiple_of(TICK_NS);
    let end_ns = start_ns + script.end_ns;
    stage.start_ns.store(start_ns, Ordering::Release);
    if let Some(device) = device {
        for (line, interrupt) in script.interrupts.iter().enumerate() {
            if !interrupt.at_ns.is_empty() {
                let at_ns: Vec<_> = interrupt.at_ns.iter().map(|at_ns| start_ns + at_ns).collect();
                device.arm(line, &at_ns)?;
            }
        }
    }
    // One after the other: threads of one priority that are due at the same time then run in the
    // order of the script.
    for cue in &stage.cues[..script.threads.len()] {
        cue.store(1, Ordering::Release);
        futex::wake_all(cue);
    }

    wait_for(&stage.finished, count, Some(end_ns));
    if let Some(device) = device {
        device.drain(end_ns)?;
    }
    let end_ns = clock::now_ns().min(end_ns);
    is_well()?;
    let threads = script.threads.iter().enumerate().map(|(number, thread)| {
        let steps = played_steps(&thread.steps, number, board, device, end_ns)?;
        Ok(PlayedThread { pid: cast.0[number].as_raw_pid(), steps })
    });
    let threads = threads.collect::<Result<_>>()?;
    let interrupts = script.interrupts.iter().enumerate().map(|(line, interrupt)| {
        let Some(device) = device else { return Ok(Vec::new()) };
        let events = device.events(line, interrupt.at_ns.len())?;
        Ok(events.into_iter().filter_map(|event| event_until(event, end_ns)).collect())
    });
    let interrupts = interrupts.collect::<Result<_>>()?;
    Ok(Played { format: FORMAT, start_ns, end_ns, threads, interrupts })
}

/// Sleeps until a word has counted up to a number, but no longer than until a time.
fn wait_for(word: &AtomicU32, count: u32, until_ns: Option<u64>) {
    loop {
        let counted = word.load(Ordering::Acquire);
        let left_ns = until_ns.map(|until_ns| until_ns.saturating_sub(clock::now_ns()));
        if counted >= count || left_ns == Some(0) {
            return;
        }
        futex::wait(word, counted, left_ns);
    }
}

/// The steps that a thread began by the end.
fn played_steps(
    steps: &[Step],
    number: usize,
    board: &Board,
    device: Option<&Device>,
    end_ns: u64,
) -> Result<Vec<PlayedStep>> {
    let record = board.records[number];
    let mut spans = record.operations;
    let mut played = Vec::new();
    for (step, times) in steps.iter().zip(record.steps) {
        let (own, rest) = spans.split_at(board::operations(step));
        spans = rest;
        let Some(so_far) = times.read() else { break };
        let operations = match device {
            // It is still in the kernel, or not there yet, and then the call is an earlier one.
            Some(device) if so_far.end_ns.is_none() && !own.is_empty() => {
                let mut begun = device.progress(number)?;
                begun.retain(|span| span.begin_ns >= so_far.begin_ns);
                begun
            }
            _ => own.iter().filter_map(board::SpanRecord::read).collect(),
        };
        let Some(times) = until(so_far, end_ns) else { break };
        played.push(PlayedStep {
            begin_ns: times.begin_ns,
            end_ns: times.end_ns,
            operations: operations.into_iter().filter_map(|span| until(span, end_ns)).collect(),
        });
    }
    Ok(played)
}

/// What had happened of a stretch of time by the end; other CPUs go on while this one reads.
fn until(span: Span, end_ns: u64) -> Option<Span> {
    let Span { begin_ns, end_ns: ended_ns } = span;
    let ended_ns = ended_ns.filter(|&ended_ns| ended_ns <= end_ns);
    (begin_ns <= end_ns).then_some(Span { begin_ns, end_ns: ended_ns })
}

fn event_until(event: PlayedEvent, end_ns: u64) -> Option<PlayedEvent> {
    let until = |span: Option<Span>| until(span?, end_ns);
    (event.fired_ns <= end_ns).then(|| PlayedEvent {
        fired_ns: event.fired_ns,
        hard: until(event.hard),
        threaded: until(event.threaded),
        softirq: until(event.softirq),
        work: until(event.work),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happened_after_the_end_did_not() {
        let span = |begin_ns, end_ns| Span { begin_ns, end_ns };
        assert_eq!(until(span(5, Some(9)), 9), Some(span(5, Some(9))));
        assert_eq!(until(span(5, Some(9)), 8), Some(span(5, None)));
        assert_eq!(until(span(5, None), 4), None);
    }

    #[test]
    fn an_event_loses_the_parts_after_the_end() {
        let part = |begin_ns, end_ns| Some(Span { begin_ns, end_ns });
        let event = PlayedEvent {
            fired_ns: 1,
            hard: part(1, Some(2)),
            threaded: part(3, Some(5)),
            softirq: part(6, Some(7)),
            work: None,
        };
        let cut = PlayedEvent { threaded: part(3, None), softirq: None, ..event.clone() };
        assert_eq!(event_until(event.clone(), 4), Some(cut));
        assert_eq!(event_until(event, 0), None);
    }
}
