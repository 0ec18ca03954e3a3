//! A running QEMU and the conversation with it.

use std::{
    convert::Infallible,
    ffi::OsString,
    os::{fd::BorrowedFd, unix::net::UnixStream},
    time::{Duration, Instant},
};

use preemptlab_runner::{Cancel, Stop};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};
use serde_json::{Value, json};

use crate::{
    args::ENVIRONMENT,
    end::{self, End},
    limit::Limit,
    process::Process,
    qmp::{Event, Message, Qmp, QmpError},
    turnstile::Turnstile,
};

/// Time for a machine to stop when its watchdog has expired. It stops when all its CPUs are idle;
/// those of a guest that hangs may never be.
const STOP_WALL: Duration = Duration::from_secs(5);

/// Error of a QEMU that the turnstile cannot make deterministic.
const NO_TURNSTILE: &str = "this QEMU would not be deterministic: it does not take the library that \
    keeps its main loop from its virtual CPUs, for which it has to be linked dynamically with the \
    GNU C library; without `qemu` in the configuration, Debian 13's is used";

/// Error of a `/dev/kvm` that opens but cannot run guests, as on some virtual machines.
const NO_VIRTUALISATION: &str = "KVM cannot run this guest (QEMU stopped it with an internal error), \
    although /dev/kvm opens";

/// Interval at which a wait checks whether the run was cancelled.
const CANCEL_POLL: Duration = Duration::from_millis(100);

/// Reason why a wait ended early.
#[derive(Debug)]
pub(crate) enum Halt {
    /// The run was cancelled.
    Cancelled,
    /// The time of the whole guest is up.
    WallLimit,
    /// The time of a wait within it is up.
    Waited,
    /// QEMU has ended.
    Ended,
    /// The guest's watchdog has expired, and the machine stands still.
    Watchdog,
    /// The guest's watchdog has expired, and the machine continues.
    Hung,
    /// KVM stopped the machine.
    NoVirtualisation,
    /// The turnstile is not in its place.
    NoTurnstile,
    /// QEMU lacks a symbol that the turnstile needs for several CPUs: its name.
    Lacks(String),
    /// QEMU does not behave as one.
    Qmp(QmpError),
}

impl From<QmpError> for Halt {
    fn from(error: QmpError) -> Self {
        Self::Qmp(error)
    }
}

/// A running QEMU, which is killed when it is dropped.
#[derive(Debug)]
pub(crate) struct Qemu<'a> {
    process: Process,
    qmp: Qmp,
    /// Turnstile, in virtual time only.
    turnstile: Option<Turnstile>,
    limit: Limit,
    /// End of a shorter wait, if there is one.
    wait_ends: Option<Instant>,
    /// Reason why QEMU is about to end, as far as it has reported one.
    shutdown: Option<String>,
    cancel: &'a Cancel,
}

impl<'a> Qemu<'a> {
    /// Starts QEMU and waits for its greeting. Virtual time has a turnstile.
    ///
    /// # Errors
    ///
    /// [`Stop::Cancelled`], the errors of [`end::of_start`], and [`Stop::Host`] when the program
    /// cannot be started or is no QEMU.
    pub(crate) fn start(
        command: &[OsString],
        arguments: Vec<OsString>,
        turnstile: Option<Turnstile>,
        inherited: &[BorrowedFd<'_>],
        results: BorrowedFd<'_>,
        wall: Duration,
        cancel: &'a Cancel,
    ) -> Result<Self, Stop> {
        let Some((program, fixed)) = command.split_first() else {
            return Err(host("no QEMU program is given"));
        };
        let name = program.display();
        let unable = |error| host(format!("QEMU (`{name}`) cannot be started: {error}"));
        let (ours, theirs) = UnixStream::pair().map_err(unable)?;
        let arguments = [fixed, &arguments].concat();
        let environment = turnstile.iter().flat_map(|turnstile| turnstile.environment(results));
        let mut environment: Vec<_> = environment.collect();
        if turnstile.is_some() {
            environment.extend(ENVIRONMENT.map(|(name, value)| (name, value.to_owned())));
        }
        let files = turnstile.iter().flat_map(Turnstile::files);
        let inherited: Vec<_> = inherited.iter().copied().chain(files).collect();
        let process = Process::spawn(program, &arguments, &environment, theirs.into(), &inherited)
            .map_err(unable)?;
        let qmp = Qmp::new(ours).map_err(unable)?;
        let limit = Limit::new(wall);
        let (wait_ends, shutdown) = (None, None);
        let mut qemu = Self { process, qmp, turnstile, limit, wait_ends, shutdown, cancel };
        let trouble = match qemu.receive() {
            Ok(Message::Greeting { .. }) => return Ok(qemu),
            Ok(message) => QmpError::Unexpected(Box::new(message)).to_string(),
            Err(halt) => match qemu.conclude(halt)? {
                // It greets from a thread of its own, perhaps after it has found a fault.
                End::Exited { status, stderr, .. } => return Err(end::of_start(status, &stderr)),
                End::Monitor(error) => error,
                End::WallLimit(_) | End::Watchdog | End::Hung => {
                    format!("it says nothing within {} s", wall.as_secs())
                }
            },
        };
        Err(host(format!("`{name}` is no QEMU that can be used: {trouble}")))
    }

    /// Opens the conversation: after this, QEMU reports events.
    pub(crate) fn negotiate(&mut self) -> Result<(), Halt> {
        self.execute("qmp_capabilities", json!({}))?;
        if let Some(turnstile) = &mut self.turnstile {
            if let Some(name) = turnstile.lacks() {
                return Err(Halt::Lacks(name));
            }
            if !turnstile.is_in_place() {
                return Err(Halt::NoTurnstile);
            }
        }
        let events = json!({ "capabilities": [{ "capability": "events", "state": true }] });
        self.execute("migrate-set-capabilities", events)?;
        // A loaded machine announces itself to a network that it does not have, by timers of host
        // time, and their deadlines end the time slices of virtual CPUs (`icount_get_limit` in
        // QEMU's accel/tcg/tcg-accel-ops-icount.c). With several CPUs a guest could tell.
        self.execute("migrate-set-parameters", json!({ "announce-rounds": 0 }))?;
        Ok(())
    }

    /// Saves the machine, and returns QEMU's reason where it fails.
    pub(crate) fn save(&mut self, uri: &str) -> Result<Result<(), String>, Halt> {
        self.migrate("migrate", uri)
    }

    /// Loads a machine, and returns QEMU's reason where it fails.
    pub(crate) fn load(&mut self, uri: &str) -> Result<Result<(), String>, Halt> {
        self.migrate("migrate-incoming", uri)
    }

    /// Makes QEMU save or load, and waits for the end of it.
    fn migrate(&mut self, command: &str, uri: &str) -> Result<Result<(), String>, Halt> {
        self.execute(command, json!({ "uri": uri }))?;
        loop {
            let event = self.event()?;
            match (event.event.as_str(), event.text("status")) {
                ("MIGRATION", "completed") => return Ok(Ok(())),
                ("MIGRATION", "failed") => {
                    let state = self.execute("query-migrate", json!({}))?;
                    let reason = state["error-desc"].as_str().unwrap_or("QEMU gives no reason");
                    return Ok(Err(reason.to_owned()));
                }
                _ => {}
            }
        }
    }

    /// Lets the guest run until there is nothing more to wait for.
    pub(crate) fn run(&mut self) -> Halt {
        match self.resume().and_then(|()| self.follow()) {
            Ok(never) => match never {},
            Err(halt) => halt,
        }
    }

    /// Lets the guest run.
    pub(crate) fn resume(&mut self) -> Result<(), Halt> {
        self.execute("cont", json!({})).map(drop)
    }

    /// Waits for some time while the guest runs.
    ///
    /// # Errors
    ///
    /// The halt that ended the wait early.
    pub(crate) fn run_for(&mut self, time: Duration) -> Result<(), Halt> {
        self.wait_ends = Some(Instant::now() + time);
        let followed = self.follow();
        self.wait_ends = None;
        match followed {
            Err(Halt::Waited) => Ok(()),
            Err(halt) => Err(halt),
            Ok(never) => match never {},
        }
    }

    /// Stops the machine.
    pub(crate) fn stop(&mut self) -> Result<(), Halt> {
        self.execute("stop", json!({})).map(drop)
    }

    /// Follows the events of the guest.
    fn follow(&mut self) -> Result<Infallible, Halt> {
        let mut expired = false;
        loop {
            let event = match self.event() {
                Err(Halt::Waited) if expired => return Err(Halt::Hung),
                event => event?,
            };
            match event.event.as_str() {
                "WATCHDOG" => {
                    expired = true;
                    self.wait_ends = Some(Instant::now() + STOP_WALL);
                }
                // The machine stands still only now.
                "STOP" if expired => {
                    // The next step, such as saving the machine, may take longer.
                    self.wait_ends = None;
                    return Err(Halt::Watchdog);
                }
                // Nothing else stops a machine that is emulated.
                "STOP" if self.turnstile.is_none() => return Err(Halt::NoVirtualisation),
                "GUEST_PVSHUTDOWN" => self.shutdown = Some(end::GUEST_ENDS.to_owned()),
                "SHUTDOWN" => {
                    self.shutdown.get_or_insert_with(|| event.text("reason").to_owned());
                }
                _ => {}
            }
        }
    }

    /// Makes QEMU execute a command and waits for the answer; events that come before it are kept.
    fn execute(&mut self, command: &str, arguments: Value) -> Result<Value, Halt> {
        self.qmp.send(command, &arguments)?;
        loop {
            match self.receive()? {
                Message::Return { result } => return Ok(result),
                Message::Event(event) => self.qmp.keep(event)?,
                Message::Error { error } => {
                    let command = command.to_owned();
                    return Err(QmpError::Refused { command, reason: error.desc }.into());
                }
                greeting => return Err(QmpError::Unexpected(Box::new(greeting)).into()),
            }
        }
    }

    /// Waits for the next event.
    fn event(&mut self) -> Result<Event, Halt> {
        if let Some(event) = self.qmp.kept_event() {
            return Ok(event);
        }
        match self.receive()? {
            Message::Event(event) => Ok(event),
            message => Err(QmpError::Unexpected(Box::new(message)).into()),
        }
    }

    /// Waits for the next message.
    fn receive(&mut self) -> Result<Message, Halt> {
        loop {
            if self.cancel.is_cancelled() {
                return Err(Halt::Cancelled);
            }
            // In host time the guest sleeps, too, and a QEMU that does little may be a guest that hangs.
            let of_cpu = self.turnstile.is_some().then_some(&self.process);
            let mut left = self.limit.left(|| of_cpu.and_then(Process::cpu_time));
            if left.is_zero() {
                return Err(Halt::WallLimit);
            }
            if let Some(end) = self.wait_ends {
                left = left.min(end.saturating_duration_since(Instant::now()));
                if left.is_zero() {
                    return Err(Halt::Waited);
                }
            }
            if let Some(message) = self.qmp.message()? {
                return Ok(message);
            }
            let ended = self.wait(left.min(CANCEL_POLL))?;
            let taken = self.qmp.fill()?;
            // Messages from before the end come first.
            if ended && taken == 0 {
                return Err(Halt::Ended);
            }
        }
    }

    /// Waits until QEMU says something or ends. Returns whether it has ended.
    fn wait(&self, timeout: Duration) -> Result<bool, Halt> {
        let mut fds = vec![PollFd::new(&self.process, PollFlags::IN)];
        if !self.qmp.is_closed() {
            fds.push(PollFd::new(&self.qmp, PollFlags::IN));
        }
        let timeout = Timespec {
            tv_sec: timeout.as_secs() as i64,
            tv_nsec: i64::from(timeout.subsec_nanos()),
        };
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => Ok(!fds[0].revents().is_empty()),
            Err(error) => Err(QmpError::Io(error.into()).into()),
        }
    }

    /// Lets QEMU write a file that is longer than a guest may make one.
    pub(crate) fn allow_large_files(&self) -> Result<(), Stop> {
        self.process.allow_large_files().map_err(|error| host(error.to_string()))
    }

    /// Kills QEMU if it still runs, and says how it came to its end.
    pub(crate) fn conclude(self, halt: Halt) -> Result<End, Stop> {
        let Self { process, shutdown, limit, .. } = self;
        let (status, stderr) =
            process.end().map_err(|error| host(format!("QEMU cannot be waited for: {error}")))?;
        match halt {
            Halt::Cancelled => Err(Stop::Cancelled),
            // No step that calls this waits for less.
            Halt::WallLimit | Halt::Waited => Ok(End::WallLimit(limit.time())),
            Halt::Watchdog => Ok(End::Watchdog),
            Halt::Hung => Ok(End::Hung),
            Halt::NoTurnstile => Err(host(NO_TURNSTILE)),
            Halt::Lacks(name) => Err(host(format!(
                "this QEMU cannot execute several CPUs in virtual time: it has no `{name}`, which the \
                 library needs that is preloaded into it; without `qemu` in the configuration, Debian 13's is used"
            ))),
            Halt::NoVirtualisation => Err(host(NO_VIRTUALISATION)),
            Halt::Qmp(error) => Ok(End::Monitor(error.to_string())),
            Halt::Ended => Ok(End::Exited { status, shutdown, stderr }),
        }
    }
}

fn host(reason: impl Into<String>) -> Stop {
    Stop::Host { reason: reason.into() }
}
