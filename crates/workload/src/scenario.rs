use preemptlab_model::{Platform, VirtualDuration};
use preemptlab_protocol::{
    LoadStart, Report,
    script::{FORMAT, Played, Script},
};
use serde::{Deserialize, Serialize};

use crate::{
    MeasureError, Measurements, MetricNames,
    activity::activity,
    error::find,
    outcome,
    program::{Circumstances, Program, Work, command},
};

/// The player's name among the commands of a cell, and where it is in the guest.
const PLAYER: &str = "player";
const PROGRAM: &str = "/player";

/// Time of a cell besides the scenario, in nanoseconds: starting its threads, and ending them.
const AROUND_NS: u64 = 5_000_000_000;

/// Busy time costs a virtual machine next to nothing, and idle time nothing at all.
const ESTIMATE_NS: u64 = 1_000_000_000;

/// Workload of a scenario: threads and interrupts that follow a script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    script: Script,
}

impl Scenario {
    /// Creates a scenario from its script.
    pub fn new(script: Script) -> Self {
        Self { script }
    }

    /// Reads the played steps from a cell's report.
    ///
    /// # Errors
    ///
    /// [`MeasureError`] when the player failed, or says something else.
    pub fn played(report: &Report) -> Result<Played, MeasureError> {
        let player = find(&report.probes, PLAYER)?;
        outcome::check_ended_well(player)?;
        let text = &player.stdout;
        let unreadable = |cause| outcome::unreadable(player, text)(cause);
        let played: Played =
            serde_json::from_str(text).map_err(|error| unreadable(error.to_string()))?;
        if played.format != FORMAT {
            let format = played.format;
            return Err(unreadable(format!("it has format {format}, not {FORMAT}")));
        }
        Ok(played)
    }
}

impl Program for Scenario {
    fn packages(&self, _: &Platform) -> Vec<&str> {
        Vec::new()
    }

    fn needs_player(&self) -> bool {
        true
    }

    fn work(&self, _: Circumstances) -> Work {
        // The script is made of numbers, names and lists of them, which JSON has.
        let script = serde_json::to_string(&self.script).unwrap_or_default();
        Work {
            limit: VirtualDuration::from_ns(self.script.end_ns.saturating_add(AROUND_NS)),
            load_start: LoadStart { written_bytes_min: 0, settle_ns: 0 },
            load: Vec::new(),
            probes: vec![command(PLAYER, vec![PROGRAM.to_owned(), script])],
        }
    }

    fn metric_names(&self) -> MetricNames {
        MetricNames::default().activity()
    }

    fn virtual_time_estimate(&self) -> VirtualDuration {
        VirtualDuration::from_ns(ESTIMATE_NS)
    }

    fn measure(&self, _: u32, report: &Report) -> Result<Measurements, MeasureError> {
        Self::played(report)?;
        Ok(Measurements { latencies: Vec::new(), numbers: activity(report) })
    }
}
