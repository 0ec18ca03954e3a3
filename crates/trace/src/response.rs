//! Requests of a load's own client, and the work of the CPUs while it waited for the answers.
//!
//! A trace knows system calls by their numbers, and neither their arguments nor which message answers
//! which. A request is therefore taken to last from the first system call in which a thread of the
//! client sends to its return from the next wait for input in which it sleeps. With one connection a
//! thread that is a request; with several it is the time to the next answer of any of them.

use std::{
    collections::{BTreeMap, HashMap},
    io::Read,
};

use preemptlab_protocol::trace::stream::SiteKind;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    cpu::{Cpu, Frame, Machine, make_room},
    decode::{Decoder, Event, Item, Task, TraceError},
    explain::Window,
    kernel::Kernel,
    point::Point,
};

/// Largest number of requests that are read: ten seconds' worth at 100,000 a second. A trace with more is
/// refused.
const REQUESTS_MAX: usize = 1 << 20;

/// A request of a client. Times are virtual, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The client's thread.
    pub task: Task,
    /// The CPU on which it continued.
    pub cpu: u32,
    /// Time at which the client called the kernel to send.
    pub send_ns: u64,
    /// Time at which the client went to sleep.
    pub sleep_ns: u64,
    /// Time at which the client was woken last.
    pub woken_ns: u64,
    /// Time at which the client was given the CPU.
    pub switch_ns: u64,
    /// Time of the client's first instruction in user space.
    pub user_ns: u64,
}

impl Request {
    /// Returns the time from the sending to the return, in nanoseconds.
    pub fn len_ns(&self) -> u64 {
        self.user_ns.saturating_sub(self.send_ns)
    }
}

/// Task or interrupt that had a CPU.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Runner {
    /// A task, in user space or in the kernel.
    Task {
        /// Name of the task.
        comm: String,
        /// Number of the task's thread.
        pid: u32,
    },
    /// An interrupt, by name.
    HardIrq {
        /// The name.
        name: String,
    },
    /// A softirq outside of a thread, by its function.
    Softirq {
        /// The function.
        name: String,
    },
    /// The CPU was idle.
    Idle,
}

/// Work of the CPUs during a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The request.
    pub request: Request,
    /// Time that each had a CPU, in nanoseconds of all CPUs; the longest first.
    pub ran: Vec<(Runner, u64)>,
    /// The CPUs that were seen.
    pub cpus: usize,
}

/// System calls that send.
const SENDS: [&str; 5] = ["sendmmsg", "sendmsg", "sendto", "write", "writev"];

/// System calls that wait for input.
const RECEIVES: [&str; 12] = [
    "epoll_pwait",
    "epoll_pwait2",
    "epoll_wait",
    "poll",
    "ppoll",
    "pselect6",
    "read",
    "readv",
    "recvfrom",
    "recvmmsg",
    "recvmsg",
    "select",
];

/// Returns whether a system call is one of these.
fn is_one_of(kernel: &Kernel, number: u32, calls: &[&str]) -> bool {
    (kernel.arch().syscall)(number).is_some_and(|name| calls.contains(&name))
}

/// Request of a task that is under way.
#[derive(Clone, Copy, Debug, Default)]
struct Pending {
    send_ns: Option<u64>,
    sleep_ns: Option<u64>,
    woken_ns: Option<u64>,
    switch_ns: Option<u64>,
}

/// Returns every request of the client that began in a window of virtual time. The client is the
/// process of this name that was started last: a server may have the same name.
///
/// # Errors
///
/// [`TraceError`]
pub fn requests(
    trace: impl Read,
    kernel: &Kernel,
    comm: &str,
    window: Window,
) -> Result<Vec<Request>, TraceError> {
    let mut decoder = Decoder::new(trace, kernel.program())?;
    let mut machine = Machine::default();
    let mut pending: HashMap<u64, Pending> = HashMap::new();
    let mut found: Vec<Request> = Vec::new();
    while let Some(item) = decoder.next_item()? {
        match item {
            Item::Task(task) => machine.describe(task)?,
            Item::Stack(_) => {}
            Item::Event(event) => {
                let request = look(kernel, &mut machine, &mut pending, &event);
                machine.follow(kernel, &event);
                let is_client = |request: &Request| {
                    request.task.comm == comm && window.contains(request.send_ns)
                };
                found.extend(request.filter(is_client));
                if found.len() > REQUESTS_MAX {
                    let what = "requests of the client";
                    return Err(TraceError::TooMany { max: REQUESTS_MAX, what });
                }
            }
        }
    }
    let client = found.iter().map(|request| request.task.tgid).max();
    found.retain(|request| Some(request.task.tgid) == client);
    Ok(found)
}

/// Looks at an event before the machine follows it. Returns the request that it ends.
fn look(
    kernel: &Kernel,
    machine: &mut Machine,
    pending: &mut HashMap<u64, Pending>,
    event: &Event,
) -> Option<Request> {
    let task = machine.cpu(event.cpu).task;
    match event.site.kind {
        SiteKind::Probe(probe) => match (kernel.tracepoint(probe).point, event.values()) {
            (Point::Syscall, [number, ..]) if is_one_of(kernel, *number as u32, &SENDS) => {
                make_room(pending);
                pending.entry(task).or_default().send_ns.get_or_insert(event.ns);
            }
            (Point::Switch, [previous, next, ..]) => {
                if waits_for_input(kernel, machine.cpu(event.cpu))
                    && let Some(known) = pending.get_mut(previous)
                    && known.send_ns.is_some()
                {
                    known.sleep_ns.get_or_insert(event.ns);
                    (known.woken_ns, known.switch_ns) = (None, None);
                }
                if let Some(known) = pending.get_mut(next)
                    && known.woken_ns.is_some()
                {
                    known.switch_ns.get_or_insert(event.ns);
                }
            }
            // Only who sleeps is woken by it: a preempted task is not.
            (Point::Waking, [woken, ..]) => {
                if let Some(known) = pending.get_mut(woken)
                    && known.sleep_ns.is_some()
                {
                    known.woken_ns.get_or_insert(event.ns);
                }
            }
            _ => {}
        },
        SiteKind::Sysret | SiteKind::ExceptionReturn if event.values() != [0] => {
            if !waits_for_input(kernel, machine.cpu(event.cpu)) {
                return None;
            }
            let Pending { send_ns, sleep_ns, woken_ns, switch_ns } = pending.remove(&task)?;
            let (send_ns, sleep_ns) = (send_ns?, sleep_ns?);
            let (woken_ns, switch_ns) = (woken_ns?, switch_ns?);
            let (cpu, user_ns) = (event.cpu, event.ns);
            let task = machine.task(task)?.clone();
            return Some(Request { task, cpu, send_ns, sleep_ns, woken_ns, switch_ns, user_ns });
        }
        _ => {}
    }
    None
}

fn waits_for_input(kernel: &Kernel, cpu: &Cpu) -> bool {
    matches!(cpu.frames.first(), Some(Frame::Syscall(number)) if is_one_of(kernel, *number, &RECEIVES))
}

/// Returns the slowest requests, the slowest first.
pub fn slowest(mut requests: Vec<Request>, count: usize) -> Vec<Request> {
    requests.sort_by_key(|request| (std::cmp::Reverse(request.len_ns()), request.send_ns));
    requests.truncate(count);
    requests
}

/// Returns the work of the CPUs during requests of this trace, in the order of the requests.
///
/// # Errors
///
/// [`TraceError`]
pub fn answers(
    trace: impl Read,
    kernel: &Kernel,
    requests: Vec<Request>,
) -> Result<Vec<Answer>, TraceError> {
    let mut decoder = Decoder::new(trace, kernel.program())?;
    let mut machine = Machine::default();
    let mut ran: Vec<BTreeMap<Runner, u64>> = vec![BTreeMap::new(); requests.len()];
    let mut since: BTreeMap<u32, u64> = BTreeMap::new();
    let mut account = |machine: &mut Machine, number: u32, from_ns: u64, to_ns: u64| {
        let mut runner = None;
        for (request, ran) in requests.iter().zip(&mut ran) {
            let start_ns = from_ns.max(request.send_ns);
            let end_ns = to_ns.min(request.user_ns);
            if start_ns < end_ns {
                let runner = runner.get_or_insert_with(|| runner_of(kernel, machine, number));
                *ran.entry(runner.clone()).or_default() += end_ns - start_ns;
            }
        }
    };
    let mut last_ns = 0;
    while let Some(item) = decoder.next_item()? {
        match item {
            Item::Task(task) => machine.describe(task)?,
            Item::Stack(_) => {}
            Item::Event(event) => {
                last_ns = last_ns.max(event.ns);
                if let Some(from_ns) = since.insert(event.cpu, event.ns) {
                    account(&mut machine, event.cpu, from_ns, event.ns);
                }
                machine.follow(kernel, &event);
            }
        }
    }
    for (number, from_ns) in &since {
        account(&mut machine, *number, *from_ns, last_ns);
    }
    let cpus = since.len();
    let answers = requests.iter().zip(ran).map(|(request, ran)| {
        let mut ran: Vec<(Runner, u64)> = ran.into_iter().collect();
        ran.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
        Answer { request: request.clone(), ran, cpus }
    });
    Ok(answers.collect())
}

/// Returns the task or interrupt that a CPU executes until its next event.
fn runner_of(kernel: &Kernel, machine: &mut Machine, number: u32) -> Runner {
    let cpu = machine.cpu(number);
    let name = |probe: u32| kernel.tracepoint(probe).name.clone();
    let runner = match cpu.frames.last() {
        Some(Frame::Entry { probe, is_exception: false, .. }) => {
            Some(Runner::HardIrq { name: name(*probe) })
        }
        Some(Frame::Softirq(Some(probe))) => Some(Runner::Softirq { name: name(*probe) }),
        _ => None,
    };
    let task = cpu.task;
    match (runner, machine.task(task)) {
        (Some(runner), _) => runner,
        (None, Some(task)) if task.pid == 0 => Runner::Idle,
        (None, Some(task)) => Runner::Task { comm: task.comm.clone(), pid: task.pid },
        (None, None) => Runner::Task { comm: "?".to_owned(), pid: 0 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Stream, kernel, task};

    const CLIENT: u64 = 0xa1;
    const SERVER: u64 = 0xa2;
    const OTHER: u64 = 0xa3;
    const SENDTO: u64 = 44;
    const RECVFROM: u64 = 45;
    const NANOSLEEP: u64 = 35;

    /// Returns the trace of a client that sends at 10 us and again at 110 us. The second time
    /// another task has the CPU for 50 us before the server answers, and an interrupt takes 2 us of
    /// it.
    fn trace() -> Vec<u8> {
        let mut stream = Stream::new();
        stream
            .task(&task(CLIENT, 30, 30, 120, "sockperf"))
            .task(&task(SERVER, 20, 20, 120, "sockperf"))
            .task(&task(OTHER, 40, 40, 120, "worker"));
        let user = |stream: &mut Stream, ns| {
            stream.event(ns, SiteKind::Sysret, "asm_exit", &[]);
        };
        stream.on(0).probe(1_000, "__switch_to", &[SERVER, CLIENT]);
        user(&mut stream, 2_000);
        for (at, other) in [(10_000, 0), (110_000, 50_000)] {
            stream.probe(at, "entry_SYSCALL_64", &[SENDTO]);
            stream.probe(at + 1_000, "try_to_wake_up", &[SERVER]);
            user(&mut stream, at + 2_000);
            stream.probe(at + 3_000, "entry_SYSCALL_64", &[RECVFROM]);
            stream.probe(at + 4_000, "__schedule", &[]);
            if other > 0 {
                stream.probe(at + 5_000, "__switch_to", &[CLIENT, OTHER]);
                user(&mut stream, at + 5_500);
                stream
                    .probe(at + 20_000, "asm_sysvec_apic_timer_interrupt", &[0x40_0000, 0x33])
                    .event(at + 22_000, SiteKind::ExceptionReturn, "asm_exit", &[1]);
                stream.probe(at + 5_000 + other, "__switch_to", &[OTHER, SERVER]);
            } else {
                stream.probe(at + 5_000, "__switch_to", &[CLIENT, SERVER]);
            }
            stream.probe(at + other + 6_000, "try_to_wake_up", &[CLIENT]);
            stream.probe(at + other + 7_000, "__switch_to", &[SERVER, CLIENT]);
            user(&mut stream, at + other + 8_000);
        }
        // It sleeps, and sends nothing before: no request.
        stream.probe(190_000, "entry_SYSCALL_64", &[NANOSLEEP]);
        stream.probe(191_000, "__switch_to", &[CLIENT, OTHER]);
        stream.probe(198_000, "try_to_wake_up", &[CLIENT]);
        stream.probe(199_000, "__switch_to", &[OTHER, CLIENT]);
        user(&mut stream, 200_000);
        stream.finish()
    }

    const ALWAYS: Window = Window { start_ns: 0, end_ns: u64::MAX };

    #[test]
    fn a_request_lasts_from_the_sending_to_the_return_with_the_answer() {
        let trace = trace();
        let found = requests(trace.as_slice(), &kernel(), "sockperf", ALWAYS).unwrap();
        let times: Vec<_> = found
            .iter()
            .map(|it| (it.send_ns, it.sleep_ns, it.woken_ns, it.switch_ns, it.user_ns))
            .collect();
        assert_eq!(
            times,
            [
                (10_000, 15_000, 16_000, 17_000, 18_000),
                (110_000, 115_000, 166_000, 167_000, 168_000)
            ]
        );
        let late = Window { start_ns: 50_000, end_ns: u64::MAX };
        assert_eq!(requests(trace.as_slice(), &kernel(), "sockperf", late).unwrap().len(), 1);
        assert_eq!(requests(trace.as_slice(), &kernel(), "pgbench", ALWAYS).unwrap(), []);
    }

    #[test]
    fn what_ran_during_the_slowest_request_adds_up_to_it() {
        let trace = trace();
        let found = requests(trace.as_slice(), &kernel(), "sockperf", ALWAYS).unwrap();
        let slowest = slowest(found, 1);
        let answer = answers(trace.as_slice(), &kernel(), slowest).unwrap().remove(0);
        let named = |comm: &str, pid| Runner::Task { comm: comm.to_owned(), pid };
        let irq = Runner::HardIrq { name: "apic_timer_interrupt".to_owned() };
        assert_eq!(
            answer.ran,
            [
                (named("worker", 40), 48_000),
                (named("sockperf", 30), 6_000),
                (named("sockperf", 20), 2_000),
                (irq, 2_000)
            ]
        );
        let sum: u64 = answer.ran.iter().map(|(_, ns)| ns).sum();
        assert_eq!((sum, answer.cpus), (answer.request.len_ns(), 1));
    }
}
