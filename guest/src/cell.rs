//! One cell: what happens after the fork from the snapshot.

use alloc::{collections::BTreeMap, format, string::String, vec::Vec};
use core::mem;

use preemptlab_protocol::{
    Activity, Command, CommandReport, FORMAT, Failure, FailureKind, JOB_FILE, Job, Message, Policy,
    Report, Stage, System, Window,
};
use rustix::process::Pid;

use crate::{
    clock,
    command::{Running, Waiting},
    counters, entropy, fw_cfg,
    guard::Guard,
    kernel, login, preempt, processes, settings, stage, system, tick,
    trouble::{Attempt, Result, Trouble},
    watchdog::Watchdog,
};

const JOB_BYTES_MAX: usize = 1 << 20;

/// Each standard output, standard error and file of a command may be this long.
const OUTPUT_BYTES_MAX: usize = 16 << 20;

/// A failure carries only the beginnings.
const FAILURE_OUTPUT_BYTES_MAX: usize = 256 << 10;

const OUT_OF_MEMORY: &str = "the guest ran out of memory; give it more, or a smaller load";

/// How often a starting load is looked at.
const LOAD_POLL_NS: u64 = 2 * clock::NS_PER_MS;

/// How often starting probes are looked at.
const PROBE_POLL_NS: u64 = clock::NS_PER_MS;

/// Of `SCHED_FIFO`: above every command, so that what init does is one step for all of them.
const PRIORITY_MAX: u8 = 99;

/// Runs the cell that the host asks for.
pub fn run() -> Message {
    stage::enter(Stage::Setup);
    let start_ns = clock::now_ns();
    // The guard arms it anew.
    let _ = Watchdog::arm(start_ns);
    let job = match read_job() {
        Ok(job) => job,
        Err(trouble) => return Message::Failed(trouble.into_failure()),
    };
    let mut cell = Cell {
        job: &job,
        limit_ns: start_ns.saturating_add(job.limit_ns),
        guard: None,
        start: Activity::default(),
        system: None,
        waiting_load: Vec::new(),
        waiting_probes: Vec::new(),
        load: Vec::new(),
        probes: Vec::new(),
    };
    match cell.execute() {
        Ok(report) => Message::Done(report),
        Err(trouble) => Message::Failed(cell.give_up(trouble)),
    }
}

fn read_job() -> Result<Job> {
    let bytes = fw_cfg::read(JOB_FILE, JOB_BYTES_MAX)?;
    let job: Job = serde_json::from_slice(&bytes)
        .map_err(|error| Trouble::other(format!("the job cannot be read: {error}")))?;
    if job.format != FORMAT {
        return Err(Trouble::other(format!(
            "the job has format {}, this guest reads {FORMAT}",
            job.format
        )));
    }
    Ok(job)
}

/// What was counted while the probes ran.
struct Measured {
    window: Window,
    activity: Activity,
    kernel_threads_ns: BTreeMap<String, u64>,
}

struct Cell<'job> {
    job: &'job Job,
    /// When the job's virtual time is used up.
    limit_ns: u64,
    /// Once the settings are in force.
    guard: Option<Guard>,
    /// The counters at the start of the cell.
    start: Activity,
    system: Option<System>,
    /// Those that were not started yet, in the order in which they will be.
    waiting_load: Vec<Waiting<'job>>,
    waiting_probes: Vec<Waiting<'job>>,
    /// In the order of their start, as the probes are.
    load: Vec<Running<'job>>,
    probes: Vec<Running<'job>>,
}

impl<'job> Cell<'job> {
    fn execute(&mut self) -> Result<Report> {
        let system = self.set_up()?;
        self.start_load()?;
        let measured = self.measure()?;
        self.collect(system, measured)
    }

    fn set_up(&mut self) -> Result<System> {
        if self.job.skew_ns.is_some() {
            return Err(Trouble::other("the job wants CPUs that take turns, which are no more"));
        }
        // While init is an ordinary task: what it forks takes its timer slack for its own.
        login::prepare_children().attempt(|| "set init's timer slack".into())?;
        let waiting = |commands: &'job [Command]| -> Result<Vec<_>> {
            by_delay(commands).into_iter().map(Waiting::new).collect()
        };
        entropy::seed(self.job.seed)?;
        self.waiting_load = waiting(&self.job.load)?;
        self.waiting_probes = waiting(&self.job.probes)?;
        set_own_priority(PRIORITY_MAX)?;
        self.start = counters::read()?;
        let set = preempt::set(&self.job.preempt);
        let set = set.and_then(|()| settings::apply(&self.job.settings));
        // A kernel that does not offer the mode says so in its description.
        self.system = Some(system::observe()?);
        set?;
        // Some settings say what the kernel grants.
        self.guard = Some(Guard::start(self.limit_ns)?);
        Ok(self.system.clone().unwrap_or_default())
    }

    fn start_load(&mut self) -> Result<()> {
        stage::enter(Stage::Load);
        let origin_ns = clock::now_ns();
        for waiting in mem::take(&mut self.waiting_load) {
            self.sleep_until(origin_ns.saturating_add(waiting.command().delay_ns))?;
            self.load.push(waiting.start()?);
        }
        let want = self.job.load_start.written_bytes_min;
        while self.written_bytes()?.iter().any(|written| *written < want) {
            self.sleep_until(clock::now_ns() + LOAD_POLL_NS)?;
            self.check_load()?;
        }
        self.sleep_until(clock::now_ns().saturating_add(self.job.load_start.settle_ns))?;
        self.check_load()
    }

    /// A load that ends before the window opens is no load.
    fn check_load(&self) -> Result<()> {
        match self.load.iter().find(|load| !load.is_alive()) {
            Some(load) => Err(Trouble::other(format!(
                "the load did not last until the window: {}",
                load.describe_end()
            ))),
            None => Ok(()),
        }
    }

    fn measure(&mut self) -> Result<Measured> {
        stage::enter(Stage::Window);
        let origin_ns = clock::now_ns();
        let probes = mem::take(&mut self.waiting_probes);
        let delay_ns = probes.first().map_or(0, |probe| probe.command().delay_ns);
        self.sleep_until(origin_ns.saturating_add(delay_ns))?;
        self.note_written()?;
        let threads_before = processes::kernel_threads()?;
        // The guard is more urgent than the probes: it has to be asleep again before they measure.
        if let Some(guard) = &self.guard {
            guard.watch_probes(probes.iter().map(Waiting::group))?;
        }
        let before = counters::read()?;
        let start_ns = clock::now_ns();
        for waiting in probes {
            self.sleep_until(origin_ns.saturating_add(waiting.command().delay_ns))?;
            self.probes.push(waiting.start()?);
            // From now on a probe measures: init must not delay it when it starts the next one, nor when it
            // notes an end.
            set_own_priority(priority_measuring(&self.job.load))?;
        }
        self.give_slack()?;
        while self.probes.iter().any(Running::is_alive) {
            self.sleep(u64::MAX)?;
        }
        set_own_priority(PRIORITY_MAX)?;
        let end_ns = clock::now_ns();
        let activity = counters::difference(&before, &counters::read()?);
        let threads_after = processes::kernel_threads()?;
        let kernel_threads_ns = processes::ran_ns(&threads_before, &threads_after);
        self.note_written()?;
        if let Some(hz) = self.job.hz {
            tick::check(hz, &activity, end_ns - start_ns)?;
        }
        Ok(Measured { window: Window { start_ns, end_ns }, activity, kernel_threads_ns })
    }

    /// Waits until those threads of the probes are ordinary tasks that are to be, with the timer slack
    /// of such tasks.
    fn give_slack(&mut self) -> Result<()> {
        loop {
            let mut all = true;
            for probe in &self.probes {
                all &= probe.takes_slack()?;
            }
            if all {
                return Ok(());
            }
            self.sleep(clock::now_ns() + PROBE_POLL_NS)?;
        }
    }

    fn collect(&mut self, system: System, measured: Measured) -> Result<Report> {
        stage::enter(Stage::Collect);
        self.take_ended()?;
        self.kill();
        if self.is_out_of_memory() {
            return Err(Trouble::of_kind(FailureKind::OutOfMemory, OUT_OF_MEMORY));
        }
        let load = reports(&self.job.load, &self.load)?;
        let probes = reports(&self.job.probes, &self.probes)?;
        let Measured { window, activity, kernel_threads_ns } = measured;
        Ok(Report { format: FORMAT, system, window, activity, kernel_threads_ns, load, probes })
    }

    /// Ends what runs and says what is known.
    fn give_up(&mut self, trouble: Trouble) -> Failure {
        self.kill();
        let mut failure = trouble.into_failure();
        if self.is_out_of_memory() {
            failure.kind = FailureKind::OutOfMemory;
            failure.reason = format!("{OUT_OF_MEMORY} ({})", failure.reason);
        }
        failure.system = self.system.take();
        let commands = self.load.iter().chain(&self.probes);
        failure.commands =
            commands.map(|command| command.report(FAILURE_OUTPUT_BYTES_MAX).0).collect();
        failure
    }

    fn kill(&mut self) {
        let commands = || self.load.iter().chain(&self.probes);
        commands().for_each(Running::kill);
        self.load.iter_mut().chain(&mut self.probes).for_each(Running::wait_killed);
    }

    fn is_out_of_memory(&self) -> bool {
        counters::read().is_ok_and(|now| now.oom_kills > self.start.oom_kills)
    }

    fn written_bytes(&self) -> Result<Vec<u64>> {
        let groups: Vec<Pid> = self.load.iter().map(Running::group).collect();
        processes::written_bytes(&groups)
    }

    fn note_written(&mut self) -> Result<()> {
        let written = self.written_bytes()?;
        self.load.iter_mut().zip(written).for_each(|(load, bytes)| load.note_written(bytes));
        Ok(())
    }

    fn sleep_until(&mut self, until_ns: u64) -> Result<()> {
        while clock::now_ns() < until_ns {
            self.sleep(until_ns)?;
        }
        Ok(())
    }

    /// Sleeps until then, or until a child ends, whichever comes first, and wakes between only to
    /// send signals that are due.
    fn sleep(&mut self, until_ns: u64) -> Result<()> {
        let now_ns = clock::now_ns();
        self.check_limit(now_ns)?;
        self.commands().for_each(|command| command.signal_if_due(now_ns));
        let signal_ns = self.commands().filter_map(|command| command.signal_due_ns()).min();
        let wake_ns = until_ns.min(self.limit_ns).min(signal_ns.unwrap_or(u64::MAX));
        kernel::wait_child_signal(wake_ns.saturating_sub(now_ns));
        self.take_ended()?;
        // What has ended by then, the guard may have killed.
        self.check_limit(clock::now_ns())
    }

    fn check_limit(&self, now_ns: u64) -> Result<()> {
        if now_ns < self.limit_ns {
            return Ok(());
        }
        let reason = format!(
            "the cell used up its {} ns of virtual time; give it more, or less to do",
            self.job.limit_ns
        );
        Err(Trouble::of_kind(FailureKind::TimeLimit, reason))
    }

    fn take_ended(&mut self) -> Result<()> {
        self.commands().try_for_each(Running::look)
    }

    fn commands(&mut self) -> impl Iterator<Item = &mut Running<'job>> {
        self.load.iter_mut().chain(&mut self.probes)
    }
}

/// While probes measure: below their measuring threads, above the load. Below a load that never
/// sleeps init would sleep for good.
fn priority_measuring(load: &[Command]) -> u8 {
    let priority = |command: &Command| match command.policy {
        // init cannot be above a deadline task, which leaves time to others by itself.
        Policy::Other | Policy::Deadline(_) => 1,
        Policy::Fifo(priority) => priority,
    };
    load.iter().map(priority).max().unwrap_or(1).saturating_add(1).min(PRIORITY_MAX)
}

fn set_own_priority(priority: u8) -> Result<()> {
    kernel::set_own_fifo(priority).attempt(|| "set init's priority".into())
}

/// Commands in the order of their start; those with equal delays in the job's order.
fn by_delay(commands: &[Command]) -> Vec<&Command> {
    let mut commands: Vec<_> = commands.iter().collect();
    commands.sort_by_key(|command| command.delay_ns);
    commands
}

/// The reports of commands that were started, in the job's order.
fn reports(job: &[Command], started: &[Running<'_>]) -> Result<Vec<CommandReport>> {
    let find = |command: &Command| started.iter().find(|running| running.runs(command));
    job.iter()
        .filter_map(find)
        .map(|running| match running.report(OUTPUT_BYTES_MAX) {
            (report, None) => Ok(report),
            (_, Some(output)) => Err(Trouble::other(format!(
                "the {output} is longer than {} MiB",
                OUTPUT_BYTES_MAX >> 20
            ))),
        })
        .collect()
}
