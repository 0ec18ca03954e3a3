//! What a script must be to be played, besides what the device checks.

use alloc::{format, string::String, vec::Vec};

use preemptlab_protocol::script::{
    EVENTS_MAX, FORMAT, INTERRUPTS_MAX, Interrupt, LOCKS_MAX, NAME_BYTES_MAX, NS_MAX,
    OPERATIONS_MAX, Policy, STEPS_MAX, Script, Step, THREADS_MAX, Thread,
};
use rustix::thread::CpuSet;

use crate::trouble::{Result, Trouble};

/// The most rules for kernel threads.
const KERNEL_THREADS_MAX: usize = 64;

/// Refuses what cannot be played.
pub fn check(script: &Script) -> Result<()> {
    let format = script.format;
    require(format == FORMAT, || format!("format {format}: this player reads {FORMAT}"))?;
    check_time("the end", script.end_ns)?;
    check_count("threads", script.threads.len(), THREADS_MAX)?;
    check_count("interrupts", script.interrupts.len(), INTERRUPTS_MAX)?;
    check_count("futexes", script.futex_is_pi.len(), LOCKS_MAX.into())?;
    check_count("rules for kernel threads", script.kernel_threads.len(), KERNEL_THREADS_MAX)?;
    require(!script.threads.is_empty(), || "the script has no threads".into())?;
    for thread in &script.threads {
        let named = |Trouble(reason)| Trouble(format!("thread {}: {reason}", thread.name));
        check_thread(script, thread).map_err(named)?;
    }
    for interrupt in &script.interrupts {
        let named = |Trouble(reason)| Trouble(format!("interrupt {}: {reason}", interrupt.name));
        check_interrupt(interrupt).map_err(named)?;
    }
    for rule in &script.kernel_threads {
        check_name(&rule.prefix)?;
        check_policy(rule.policy)?;
    }
    Ok(())
}

fn check_thread(script: &Script, thread: &Thread) -> Result<()> {
    check_name(&thread.name)?;
    check_policy(thread.policy)?;
    check_count("steps", thread.steps.len(), STEPS_MAX)?;
    require(!thread.cpus.is_empty(), || "it has no CPU".into())?;
    for &cpu in &thread.cpus {
        require((cpu as usize) < CpuSet::MAX_CPU, || format!("there is no CPU {cpu}"))?;
    }
    let mut held = Vec::new();
    for (number, step) in thread.steps.iter().enumerate() {
        let named = |Trouble(reason)| Trouble(format!("step {}: {reason}", number + 1));
        check_step(step, script.futex_is_pi.len(), &mut held).map_err(named)?;
    }
    Ok(())
}

/// Checks a step of a thread that holds some futexes, and what it holds afterwards.
fn check_step(step: &Step, futexes: usize, held: &mut Vec<u8>) -> Result<()> {
    match step {
        Step::SleepUntil(ns) | Step::SleepFor(ns) | Step::Busy(ns) => check_time("it", *ns),
        Step::Yield => Ok(()),
        Step::FutexLock(number) => {
            require(usize::from(*number) < futexes, || format!("there is no futex {number}"))?;
            require(!held.contains(number), || format!("the thread holds futex {number} already"))?;
            held.push(*number);
            Ok(())
        }
        Step::FutexUnlock(number) => {
            let Some(position) = held.iter().position(|of| of == number) else {
                return Err(Trouble(format!("the thread does not hold futex {number}")));
            };
            held.swap_remove(position);
            Ok(())
        }
        // The device knows the rest.
        Step::Call(operations) => check_count("operations", operations.len(), OPERATIONS_MAX),
    }
}

fn check_interrupt(interrupt: &Interrupt) -> Result<()> {
    let Interrupt { name, at_ns, hard_ns, threaded_ns, softirq_ns, work_ns, priority } = interrupt;
    check_name(name)?;
    check_count("events", at_ns.len(), EVENTS_MAX)?;
    require(at_ns.is_sorted(), || "its events are out of order".into())?;
    for &ns in at_ns
        .iter()
        .chain([hard_ns])
        .chain([threaded_ns, softirq_ns, work_ns].into_iter().flatten())
    {
        check_time("it", ns)?;
    }
    priority.map_or(Ok(()), |priority| check_policy(Policy::Fifo(priority)))
}

fn check_policy(policy: Policy) -> Result<()> {
    let fits = match policy {
        Policy::Other(nice) | Policy::Batch(nice) => (-20..=19).contains(&nice),
        // The player itself is above all at 99.
        Policy::Fifo(priority) | Policy::Rr(priority) => (1..=98).contains(&priority),
        Policy::Idle => true,
    };
    require(fits, || format!("there is no policy {policy:?}"))
}

fn check_name(name: &str) -> Result<()> {
    let fits = (1..=NAME_BYTES_MAX).contains(&name.len()) && !name.contains('\0');
    require(fits, || format!("a name has 1 to {NAME_BYTES_MAX} bytes"))
}

fn check_time(what: &str, ns: u64) -> Result<()> {
    require(ns <= NS_MAX, || format!("{what} is too long: {ns} ns"))
}

fn check_count(what: &str, count: usize, max: usize) -> Result<()> {
    require(count <= max, || format!("there are {count} {what}, and may be {max}"))
}

fn require(fits: bool, else_reason: impl FnOnce() -> String) -> Result<()> {
    if fits { Ok(()) } else { Err(Trouble(else_reason())) }
}

#[cfg(test)]
mod tests {
    use std::vec;

    use preemptlab_protocol::script::KernelThread;

    use super::*;

    fn script(steps: Vec<Step>) -> Script {
        let cpus = vec![0];
        let thread = Thread { name: "one".into(), policy: Policy::Fifo(98), cpus, steps };
        Script {
            format: FORMAT,
            end_ns: NS_MAX,
            threads: vec![thread],
            interrupts: vec![],
            futex_is_pi: vec![true, false],
            kernel_threads: vec![],
        }
    }

    fn interrupt() -> Interrupt {
        Interrupt {
            name: "nic".into(),
            at_ns: vec![1, 1, 2],
            hard_ns: 0,
            threaded_ns: Some(NS_MAX),
            softirq_ns: None,
            work_ns: None,
            priority: Some(1),
        }
    }

    /// Why a script is refused that was changed like this.
    fn refused(change: impl FnOnce(&mut Script)) -> String {
        let mut script = script(vec![]);
        script.interrupts.push(interrupt());
        change(&mut script);
        check(&script).unwrap_err().0
    }

    #[test]
    fn scripts_within_the_limits_are_played() {
        let (lock, unlock) = (Step::FutexLock, Step::FutexUnlock);
        let mut whole = script(vec![lock(0), lock(1), unlock(0), unlock(1), lock(0), Step::Yield]);
        whole.interrupts = vec![interrupt(); INTERRUPTS_MAX];
        whole.threads = vec![whole.threads[0].clone(); THREADS_MAX];
        check(&whole).unwrap();
    }

    #[test]
    fn what_cannot_be_played_is_told() {
        assert!(refused(|script| script.format = 9).contains("format 9"));
        assert!(refused(|script| script.end_ns += 1).contains("the end is too long"));
        assert!(refused(|script| script.threads.clear()).contains("no threads"));
        assert!(refused(|script| script.threads[0].cpus.clear()).contains("one: it has no CPU"));
        assert!(refused(|script| script.threads[0].cpus = vec![5000]).contains("no CPU 5000"));
        assert!(refused(|script| script.threads[0].policy = Policy::Rr(99)).contains("Rr(99)"));
        assert!(refused(|script| script.threads[0].policy = Policy::Other(20)).contains("20"));
        assert!(refused(|script| script.threads[0].name = "x".repeat(16)).contains("15 bytes"));
        assert!(refused(|script| script.threads[0].name = "a\0b".into()).contains("15 bytes"));
        assert!(refused(|script| script.interrupts[0].at_ns = vec![2, 1]).contains("out of order"));
        assert!(refused(|script| script.interrupts[0].priority = Some(0)).contains("Fifo(0)"));
        assert!(
            refused(|script| script.interrupts = vec![interrupt(); 9]).contains("9 interrupts")
        );
        let rule = KernelThread { prefix: String::new(), policy: Policy::Idle };
        assert!(refused(|script| script.kernel_threads.push(rule)).contains("1 to 15 bytes"));
    }

    #[test]
    fn steps_that_cannot_be_played_are_told() {
        let refused = |steps| check(&script(steps)).unwrap_err().0;
        let lock = Step::FutexLock;
        assert!(refused(vec![Step::Yield, Step::Busy(NS_MAX + 1)]).contains("step 2: it is too"));
        assert!(refused(vec![lock(2)]).contains("no futex 2"));
        assert!(refused(vec![lock(1), lock(1)]).contains("step 2: the thread holds futex 1"));
        assert!(refused(vec![Step::FutexUnlock(1)]).contains("does not hold futex 1"));
        let call = Step::Call(vec![
            preemptlab_protocol::script::Operation::CondResched;
            OPERATIONS_MAX + 1
        ]);
        assert!(refused(vec![call]).contains("65 operations"));
        assert!(refused(vec![Step::Yield; STEPS_MAX + 1]).contains("513 steps"));
    }
}
