//! Follows threads and CPUs, and records their states once the window has begun.

use std::collections::BTreeMap;

use super::{
    bounded::{Instants, Pieces, Sections},
    lane::{Instant, InstantKind, LaneState, Section},
    state::{Doing, Key, Processor, Thread, What},
};
use crate::{
    cpu::{Frame, SectionKind, TASKS_MAX},
    decode::Task,
    kernel::Kernel,
    observe::record::Moment,
};

/// Largest number of threads with a lane, and of CPUs. A guest has eight CPUs at most; threads beyond it are
/// counted.
const LANES_MAX: usize = 256;

/// A lazy request that becomes one at once does so within this time: the flag is set by the function
/// that is called for the request.
const ASK_NS: u64 = 1_000;

/// First part of the names of the threads whose own work is to serve softirqs (kernel/softirq.c).
const KSOFTIRQD: &str = "ksoftirqd/";

/// Sections that a lane shows, in the order of [`Processor::off`].
const KINDS: [SectionKind; 2] = [SectionKind::PreemptOff, SectionKind::IrqsOff];

/// Follower of a trace from its beginning, which makes lanes of the records after `start_ns`.
pub struct Follower<'a> {
    pub kernel: &'a Kernel,
    pub start_ns: u64,
    pub threads: BTreeMap<Key, Thread>,
    pub cpus: BTreeMap<u32, Processor>,
    pub names: Vec<String>,
    /// Number of threads and CPUs that have a lane, and of threads that should have had one.
    threads_shown: usize,
    cpus_shown: usize,
    pub threads_left_out: u64,
}

impl<'a> Follower<'a> {
    pub fn new(kernel: &'a Kernel, start_ns: u64) -> Self {
        Self {
            kernel,
            start_ns,
            threads: BTreeMap::new(),
            cpus: BTreeMap::new(),
            names: Vec::new(),
            threads_shown: 0,
            cpus_shown: 0,
            threads_left_out: 0,
        }
    }

    /// Returns a name by its place among the known names, of which there are no more than probes.
    pub fn name(&mut self, name: &str) -> What {
        What::Name(self.names.iter().position(|known| known == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        }))
    }

    /// Returns the key of a task's thread, which may be a new one.
    pub fn meet(&mut self, task: &Task) -> Key {
        let key = (task.pid, task.address);
        if self.threads.len() >= TASKS_MAX {
            let is_gone =
                |thread: &Thread| thread.doing.is_some_and(|doing| doing.state == LaneState::Gone);
            self.threads.retain(|_, thread| thread.is_shown || !is_gone(thread));
        }
        // No guest has that number of living threads.
        if self.threads.len() >= TASKS_MAX {
            self.threads.retain(|known, thread| thread.is_shown || *known == key);
        }
        let thread = self.threads.entry(key).or_insert_with(|| Thread {
            comm: String::new(),
            prio: task.prio,
            doing: None,
            is_shown: false,
            is_left_out: false,
            pieces: Pieces::default(),
            sections: Sections::default(),
            instants: Instants::default(),
            voluntary: 0,
            involuntary: 0,
        });
        if thread.comm != task.comm {
            thread.comm.clone_from(&task.comm);
        }
        if !thread.is_shown {
            thread.prio = task.prio;
        }
        key
    }

    /// Gives a thread a new state from now on, or from its last state's start on, if the CPU that knows of
    /// the new one is behind.
    fn turn(&mut self, key: Key, ns: u64, state: LaneState, cpu: Option<u32>, what: What) {
        let Some(thread) = self.threads.get_mut(&key) else { return };
        let ns = ns.max(thread.doing.map_or(0, |doing| doing.since_ns));
        let doing = Doing { since_ns: ns, state, cpu, what };
        if thread.doing.is_some_and(|was| Doing { since_ns: ns, ..was } == doing) {
            return;
        }
        let was = thread.doing.replace(doing);
        if ns < self.start_ns {
            return;
        }
        // A thread in another state was not active in the window.
        let is_active = |state: LaneState| state.is_on_cpu() || state == LaneState::Runnable;
        if is_active(state) || was.is_some_and(|was| is_active(was.state)) {
            self.show(key);
        }
        let Some(thread) = self.threads.get_mut(&key).filter(|thread| thread.is_shown) else {
            return;
        };
        if let Some(was) = was {
            thread.pieces.push(was.until(self.start_ns, ns));
        }
    }

    /// Gives a thread a lane.
    pub fn show(&mut self, key: Key) {
        let Some(thread) = self.threads.get_mut(&key).filter(|thread| !thread.is_shown) else {
            return;
        };
        if self.threads_shown < LANES_MAX {
            self.threads_shown += 1;
            thread.is_shown = true;
        } else if !std::mem::replace(&mut thread.is_left_out, true) {
            self.threads_left_out += 1;
        }
    }

    pub fn switch(&mut self, moment: &Moment<'_>, previous: &Task, next: &Task, is_blocked: bool) {
        let &Moment { ns, cpu: number, .. } = moment;
        let (from, to) = (self.meet(previous), self.meet(next));
        let cpu = self.cpus.entry(number).or_default();
        let context = cpu.context.last().copied().unwrap_or(What::Nothing);
        let lock = cpu.lock.take();
        cpu.lazily_asked_ns = None;
        if ns >= self.start_ns {
            let has_idle = previous.pid == 0 || next.pid == 0;
            *(if has_idle { &mut cpu.with_idle } else { &mut cpu.between_threads }) += 1;
        }
        let call = match context {
            What::Syscall(number) => (self.kernel.arch().syscall)(number),
            _ => None,
        };
        let (state, what) = if matches!(call, Some("exit" | "exit_group")) {
            (LaneState::Gone, What::Nothing)
        } else if call == Some("sched_yield") {
            (LaneState::Runnable, What::Yielded)
        } else if !is_blocked {
            (LaneState::Runnable, What::Preempted)
        } else if let Some(lock) = lock {
            (LaneState::Blocked, lock)
        } else if matches!(call, Some("futex" | "futex_waitv")) {
            (LaneState::Blocked, context)
        } else {
            (LaneState::Sleeping, context)
        };
        if previous.pid == 0 {
            self.turn(from, ns, LaneState::Sleeping, Some(number), What::Nothing);
            return self.run(number, to, next);
        }
        self.turn(from, ns, state, Some(number), what);
        if ns >= self.start_ns
            && let Some(thread) = self.threads.get_mut(&from)
        {
            let is_voluntary =
                matches!(state, LaneState::Sleeping | LaneState::Blocked | LaneState::Gone);
            thread.voluntary += u64::from(is_voluntary);
            thread.involuntary += u64::from(!is_voluntary);
        }
        self.run(number, to, next);
    }

    /// Gives the CPU to another thread.
    fn run(&mut self, number: u32, key: Key, next: &Task) {
        let cpu = self.cpus.entry(number).or_default();
        cpu.current = Some(key);
        cpu.is_softirq_thread = next.comm.starts_with(KSOFTIRQD);
        (cpu.hardirq, cpu.softirq) = (None, None);
    }

    /// Sets the context of the thread that a switch has made current.
    pub fn resume(&mut self, cpu: u32, frames: &[Frame]) {
        let kernel = self.kernel;
        let context = frames.iter().filter_map(|frame| match frame {
            Frame::Thread => Some(What::Nothing),
            Frame::Syscall(number) => Some(What::Syscall(*number)),
            Frame::Entry { probe, is_exception: true, .. } => {
                Some(self.name(&kernel.tracepoint(*probe).name))
            }
            Frame::Entry { .. } | Frame::Softirq(_) => None,
        });
        let mut context: Vec<What> = context.collect();
        // The next thread is in the kernel, even if its context is not known.
        if context.is_empty() {
            context.push(What::Nothing);
        }
        self.cpus.entry(cpu).or_default().context = context;
    }

    pub fn wake(&mut self, moment: &Moment<'_>, task: &Task, target: Option<u32>) {
        let key = self.meet(task);
        let Some(thread) = self.threads.get_mut(&key) else { return };
        match &mut thread.doing {
            None => {
                // It slept before the first event.
                thread.doing = Some(Doing {
                    since_ns: 0,
                    state: LaneState::Sleeping,
                    cpu: target,
                    what: What::Nothing,
                });
            }
            Some(doing) if doing.state == LaneState::Runnable && doing.what == What::Preempted => {
                (doing.state, doing.what) = (LaneState::Sleeping, What::Nothing);
            }
            Some(doing) if matches!(doing.state, LaneState::Sleeping | LaneState::Blocked) => {}
            Some(_) => return,
        }
        let cpu = thread.doing.and_then(|doing| doing.cpu).or(target);
        let ns = moment.ns.max(thread.doing.map_or(0, |doing| doing.since_ns));
        self.turn(key, ns, LaneState::Runnable, cpu, What::Woken);
        if ns < self.start_ns {
            return;
        }
        let by = self.cpus.get(&moment.cpu).and_then(|cpu| {
            let is_interrupted = cpu.hardirq.is_some() || cpu.softirq.is_some();
            cpu.current.filter(|_| !is_interrupted).map(|(pid, _)| pid)
        });
        self.instant(key, ns, InstantKind::Woken { by });
    }

    fn instant(&mut self, key: Key, ns: u64, kind: InstantKind) {
        if ns >= self.start_ns
            && let Some(thread) = self.threads.get_mut(&key).filter(|thread| thread.is_shown)
        {
            thread.instants.push(Instant { ns, kind });
        }
    }

    pub fn ask(&mut self, moment: &Moment<'_>, is_lazy: bool) {
        let cpu = self.cpus.entry(moment.cpu).or_default();
        cpu.lazily_asked_ns = is_lazy.then_some(moment.ns);
        if let Some(current) = cpu.current {
            self.instant(current, moment.ns, InstantKind::ReschedAsked { is_lazy });
        }
    }

    /// Notes that the flag is set. A request that set the flag was not lazy, whichever function was
    /// called for it.
    pub fn asked(&mut self, moment: &Moment<'_>) {
        let Some(cpu) = self.cpus.get_mut(&moment.cpu) else { return };
        let Some(asked_ns) = cpu.lazily_asked_ns.take() else { return };
        if moment.ns - asked_ns.min(moment.ns) <= ASK_NS
            && asked_ns >= self.start_ns
            && let Some(thread) = cpu.current.and_then(|key| self.threads.get_mut(&key))
            && let Some(instant) = thread.instants.last_mut()
            && instant.ns == asked_ns
        {
            instant.kind = InstantKind::ReschedAsked { is_lazy: false };
        }
    }

    /// Updates the states of a CPU and its thread.
    pub fn refresh(&mut self, number: u32, ns: u64) {
        let Some(cpu) = self.cpus.get_mut(&number) else { return };
        let is_idle = cpu.current.is_some_and(|(pid, _)| pid == 0);
        let (state, what) = match (cpu.hardirq, cpu.softirq, cpu.context.last()) {
            (Some(what), ..) => (LaneState::Interrupted, what),
            (_, Some(what), _) if !cpu.is_softirq_thread => (LaneState::Interrupted, what),
            _ if is_idle => (LaneState::Idle, What::Nothing),
            (_, Some(what), _) => (LaneState::Kernel, what),
            (.., Some(what)) => (LaneState::Kernel, *what),
            (.., None) => (LaneState::User, What::Nothing),
        };
        let (lane, name) = match (cpu.hardirq, cpu.softirq) {
            (Some(what), _) => (LaneState::Hardirq, what),
            (_, Some(what)) => (LaneState::Softirq, what),
            _ if is_idle => (LaneState::Idle, What::Nothing),
            _ => (LaneState::Thread, What::Nothing),
        };
        let doing = Doing { since_ns: ns, state: lane, cpu: Some(number), what: name };
        if cpu.doing.is_none_or(|was| Doing { since_ns: ns, ..was } != doing) {
            let was = cpu.doing.replace(doing);
            if !cpu.is_shown && self.cpus_shown < LANES_MAX {
                self.cpus_shown += 1;
                cpu.is_shown = true;
            }
            if ns >= self.start_ns
                && cpu.is_shown
                && let Some(was) = was
            {
                cpu.pieces.push(was.until(self.start_ns, ns));
            }
        }
        let Some(current) = cpu.current else { return };
        self.turn(current, ns, state, Some(number), what);
        let is_own = matches!(state, LaneState::User | LaneState::Kernel);
        self.sections(number, ns, is_own);
    }

    /// Begins and ends the sections of a CPU's thread, which has the CPU for itself or has not.
    pub fn sections(&mut self, number: u32, ns: u64, is_own: bool) {
        let Some(cpu) = self.cpus.get_mut(&number) else { return };
        let thread = cpu.current.and_then(|current| self.threads.get_mut(&current));
        let mut thread = thread.filter(|thread| thread.is_shown);
        for ((is_off, since), kind) in cpu.off.into_iter().zip(&mut cpu.off_since).zip(KINDS) {
            if is_off && is_own {
                since.get_or_insert(ns);
            } else if let Some(since_ns) = since.take()
                && let Some(thread) = &mut thread
                && ns >= self.start_ns
            {
                let start_ns = since_ns.max(self.start_ns);
                thread.sections.push(Section { start_ns, end_ns: ns, kind });
            }
        }
    }
}
