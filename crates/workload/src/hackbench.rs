//! hackbench of rt-tests: groups of senders and receivers that pass messages over socket pairs.

use preemptlab_model::Metric;
use preemptlab_protocol::{Command, CommandReport, Window};
use serde::{Deserialize, Serialize};

use crate::{MeasureError, measurements::throughput, outcome, program::command};

/// Kind of hackbench's senders and receivers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HackbenchMode {
    /// Processes, each with an address space of its own.
    #[default]
    Process,
    /// Threads of one process.
    Thread,
}

impl HackbenchMode {
    const fn option(self) -> &'static str {
        match self {
            Self::Process => "--process",
            Self::Thread => "--threads",
        }
    }
}

/// Parameters of the load hackbench.
pub struct Hackbench {
    /// Number of groups, of 20 senders and 20 receivers each.
    pub groups: u32,
    /// Kind of the senders and receivers.
    pub mode: HackbenchMode,
    /// The length of a message.
    pub message_bytes: u32,
}

/// Senders in a group, and receivers in a group (`num_fds` in hackbench.c).
const SENDERS: u32 = 20;

/// Practically endless. A receiver counts `SENDERS * LOOPS` messages in 32 bits and must not wrap
/// around, or it would stop early.
const LOOPS: u32 = 100_000_000;

const _: () = assert!(SENDERS.checked_mul(LOOPS).is_some() && LOOPS <= i32::MAX as u32);

impl Hackbench {
    pub fn command(&self, name: &str) -> Command {
        let argv = [
            "/usr/bin/hackbench".to_owned(),
            self.mode.option().to_owned(),
            format!("--groups={}", self.groups),
            format!("--datasize={}", self.message_bytes),
            format!("--loops={LOOPS}"),
        ];
        command(name, argv.into())
    }

    /// Returns the number of bytes that are written when every sender has served every receiver of
    /// its group once, on average. Before the start signal each task writes one byte only, so this
    /// number is reached long after the start.
    pub fn started_bytes(&self) -> u64 {
        u64::from(self.groups * SENDERS * SENDERS) * u64::from(self.message_bytes)
    }

    /// Returns the messages per virtual second of the window. Senders hand each message to
    /// `write(2)`, and after the start nothing else is written.
    ///
    /// # Errors
    ///
    /// [`MeasureError`] when the load ended early, or wrote nothing in the window.
    pub fn throughput(
        &self,
        report: &CommandReport,
        window: Window,
    ) -> Result<Metric, MeasureError> {
        outcome::check_lasted(report)?;
        let bytes = report.written_bytes.map_or(0, |(open, close)| close.saturating_sub(open));
        let window_ns = window.end_ns.saturating_sub(window.start_ns);
        if bytes == 0 || window_ns == 0 {
            return Err(MeasureError::LoadIdle { name: report.name.clone() });
        }
        let messages = bytes as f64 / f64::from(self.message_bytes);
        let window_s = window_ns as f64 / 1e9;
        // Messages are counted whole.
        Ok(throughput(messages / window_s, "messages", 1.0 / window_s))
    }
}
