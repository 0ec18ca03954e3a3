//! The host time that cells and boots take on this machine: expected from those that it executed before.
//!
//! It is kept beside the store's answers. No recording holds any of it.

use std::{collections::BTreeMap, path::Path, time::Duration};

use preemptlab_experiment::Manifest;
use preemptlab_model::{Digest, Factors, SnapshotId, counted};
use serde::{Deserialize, Serialize};

/// The version of the file's format.
const FORMAT: u32 = 1;

/// The file's name in the store.
const FILE: &str = "timings.json";

/// More than the file ever has, in bytes.
const BYTES_MAX: u64 = 1 << 18;

/// Largest number of kinds that are remembered: those that were executed last.
const KINDS_MAX: usize = 500;

/// Largest number of executions that the mean of a kind is taken over: a machine changes.
const COUNT_MAX: u32 = 20;

/// Guest instructions per second of one host core: the rate of a shared x86-64 core of 2026. It
/// only serves where this machine has executed nothing yet.
const INSTRUCTIONS_PER_HOST_S: f64 = 210e6;

/// Host time of a boot where this machine has booted nothing yet, in seconds.
const BOOT_S: f64 = 10.0;

/// The longest time that is believed, in seconds.
const WALL_S_MAX: f64 = 86_400.0;

/// Host time of the cells and boots of each kind on this machine, each by itself on a CPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timings {
    format: u32,
    /// Counter of executions.
    seen: u64,
    kinds: BTreeMap<String, Kind>,
}

/// Executions of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kind {
    count: u32,
    /// The mean.
    wall_s: f64,
    /// Expected time without this file, in seconds.
    unknown_s: f64,
    /// Number of the last execution, by the counter of [`Timings`].
    seen: u64,
}

/// A boot or a cell: a task that should take the same time as others of its kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    kind: String,
    unknown_s: f64,
}

impl Default for Timings {
    fn default() -> Self {
        Self { format: FORMAT, seen: 0, kinds: BTreeMap::new() }
    }
}

impl Timings {
    /// Reads the times of this machine from the store's folder; nothing, where the file is absent,
    /// damaged or of another format.
    pub fn read(store: &Path) -> Self {
        let bytes = preemptlab_files::read(&store.join(FILE), BYTES_MAX).ok();
        let timings = bytes.and_then(|bytes| serde_json::from_slice::<Self>(&bytes).ok());
        timings.filter(Self::is_sound).unwrap_or_default()
    }

    fn is_sound(&self) -> bool {
        let is_time = |seconds: f64| (0.0..=WALL_S_MAX).contains(&seconds);
        let is_kind =
            |kind: &Kind| is_time(kind.wall_s) && is_time(kind.unknown_s) && kind.count > 0;
        self.format == FORMAT && self.kinds.values().all(is_kind)
    }

    /// Adds measured times to those in the store's folder. On a full or read-only disk the next
    /// estimate is worse, and nothing else fails.
    pub fn learn(store: &Path, measured: &[(Task, Duration)]) {
        if measured.is_empty() {
            return;
        }
        let mut timings = Self::read(store);
        for (task, wall) in measured {
            timings.add(task, *wall);
        }
        if let Ok(bytes) = serde_json::to_vec(&timings) {
            let _ = preemptlab_files::replace(&store.join(FILE), &bytes);
        }
    }

    fn add(&mut self, task: &Task, wall: Duration) {
        self.seen = self.seen.saturating_add(1);
        let wall_s = wall.as_secs_f64().min(WALL_S_MAX);
        let (seen, unknown_s) = (self.seen, task.unknown_s);
        let new = Kind { count: 0, wall_s: 0.0, unknown_s, seen };
        let kind = self.kinds.entry(task.kind.clone()).or_insert(new);
        kind.count = kind.count.saturating_add(1).min(COUNT_MAX);
        kind.wall_s += (wall_s - kind.wall_s) / f64::from(kind.count);
        (kind.unknown_s, kind.seen) = (unknown_s, seen);
        while self.kinds.len() > KINDS_MAX {
            let oldest = self.kinds.iter().min_by_key(|(_, kind)| kind.seen);
            let Some(oldest) = oldest.map(|(name, _)| name.clone()) else { return };
            self.kinds.remove(&oldest);
        }
    }

    /// Returns the host time that a task is expected to take by itself on a CPU: the mean of its kind,
    /// or, for a new kind, in proportion to other kinds.
    pub fn expected(&self, task: &Task) -> Duration {
        let seconds = match self.kinds.get(&task.kind) {
            Some(kind) => kind.wall_s,
            None => task.unknown_s * self.pace(&task.kind),
        };
        Duration::from_secs_f64(seconds.clamp(0.0, WALL_S_MAX))
    }

    /// Returns the ratio of the measured to the expected time of everything of a sort (boots, or
    /// cells).
    fn pace(&self, kind: &str) -> f64 {
        let sort = kind.split(' ').next().unwrap_or_default();
        let same = self.kinds.iter().filter(|(name, _)| name.split(' ').next() == Some(sort));
        let (wall, unknown) = same.fold((0.0, 0.0), |(wall, unknown), (_, kind)| {
            (wall + kind.wall_s, unknown + kind.unknown_s)
        });
        if unknown > 0.0 { wall / unknown } else { 1.0 }
    }
}

/// The boots and cells of an experiment as tasks.
#[derive(Clone, Debug, Default)]
pub struct Tasks {
    /// By their factors, as the first replicate.
    cells: BTreeMap<Factors, Task>,
    boots: BTreeMap<SnapshotId, Task>,
}

impl Tasks {
    /// Lists the tasks of a plan, whose cells are traced or not.
    pub fn new(manifest: &Manifest, is_traced: bool) -> Self {
        let Manifest { experiment, backend, plan, .. } = manifest;
        let traced = if is_traced { "-traced" } else { "" };
        let workloads: BTreeMap<&str, (String, f64)> = experiment
            .workload
            .iter()
            .map(|(name, workload)| {
                let value = serde_json::to_value(workload).unwrap_or_default();
                let kind = value["kind"].as_str().unwrap_or("other").to_owned();
                let parameters = Digest::of_json(&value).short();
                let virtual_s = workload.virtual_time_estimate().as_secs_f64();
                (name.as_str(), (format!("{kind} {parameters}"), virtual_s))
            })
            .collect();
        let mut tasks = Self::default();
        for planned in plan.cells.iter().filter(|planned| planned.factors.replicate == 1) {
            let Some(inputs) = planned.inputs() else { continue };
            let machine = &inputs.snapshot.machine;
            let Some((kind, virtual_s)) = workloads.get(planned.factors.workload.as_str()) else {
                continue;
            };
            let of_machine = format!("{kind} {} {}", machine.cpus, machine.cost.shift());
            let unknown_s = match backend.is_vm() {
                true => virtual_s * machine.cost.per_second() / INSTRUCTIONS_PER_HOST_S,
                false => *virtual_s,
            };
            let cell = format!("cell-{backend}{traced} {of_machine}");
            tasks.cells.insert(planned.factors.clone(), Task { kind: cell, unknown_s });
            let boot = format!("boot-{backend} {of_machine}");
            let boot = Task { kind: boot, unknown_s: BOOT_S };
            tasks.boots.entry(inputs.snapshot.id()).or_insert(boot);
        }
        tasks
    }

    /// Returns the task of a cell, of which there may be more replicates than planned.
    pub fn cell(&self, factors: &Factors) -> Option<&Task> {
        self.cells.get(&Factors { replicate: 1, ..factors.clone() })
    }

    /// Returns the task of a boot.
    pub fn boot(&self, boot: SnapshotId) -> Option<&Task> {
        self.boots.get(&boot)
    }

    /// Returns the host time that a cell is expected to take by itself, on average over all.
    pub fn mean_cell(&self, timings: &Timings) -> Duration {
        let sum: Duration = self.cells.values().map(|task| timings.expected(task)).sum();
        u32::try_from(self.cells.len())
            .ok()
            .and_then(|count| sum.checked_div(count))
            .unwrap_or_default()
    }
}

/// CPUs and memory of this machine, and the load of its other work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pressure {
    /// Number of CPUs.
    pub cpus: usize,
    /// The mean number of tasks that ran or waited for a CPU in the last minute; 0 where nothing
    /// tells.
    pub load: f64,
    /// The memory that is available without swapping, in MiB; `None` where nothing tells.
    pub available_mib: Option<u64>,
}

impl Pressure {
    /// Returns how many times longer a task takes here than by itself, beside the present load.
    pub fn slowdown_beside(&self, jobs: usize) -> f64 {
        ((self.load + jobs as f64) / self.cpus.max(1) as f64).max(1.0)
    }

    /// Returns the same where the load already includes these tasks.
    pub fn slowdown_with(&self, jobs: usize) -> f64 {
        (self.load.max(jobs as f64) / self.cpus.max(1) as f64).max(1.0)
    }

    /// Returns the host time of tasks that take `alone` by themselves, at most `jobs` at a time.
    pub fn wall(&self, alone: &[Duration], jobs: usize) -> Duration {
        let jobs = jobs.min(alone.len()).max(1);
        let longest = alone.iter().max().copied().unwrap_or_default();
        wall(alone.iter().sum(), longest, jobs, self.slowdown_beside(jobs))
    }

    /// Says that other work spoils the measurements of cells in the machine's own time.
    pub fn spoils(&self) -> Option<String> {
        (self.load >= 1.0).then(|| {
            format!(
                "this machine is busy: its load average is {:.1}; other work spoils what is measured in the \
                 machine's own time: stop it first",
                self.load
            )
        })
    }

    /// Says what makes a run take longer than it could: other work, or more at a time than fits.
    pub fn notes(&self, jobs: usize, memory_mib: u32) -> Vec<String> {
        let Self { cpus, load, available_mib } = *self;
        let cpus_shown = counted(cpus, "CPU");
        let mut notes = Vec::new();
        if load > cpus as f64 {
            notes.push(format!(
                "this machine is busy: its load average is {load:.1}, and it has {cpus_shown}; cells \
                 take about {:.1} times as long",
                self.slowdown_beside(jobs)
            ));
        }
        if jobs > cpus {
            notes.push(format!(
                "--jobs {jobs} exceeds the {cpus_shown} of this machine: cells wait for each other"
            ));
        }
        let needed_mib = jobs as u64 * u64::from(memory_mib);
        if let Some(available_mib) = available_mib.filter(|available| needed_mib > *available) {
            notes.push(format!(
                "{jobs} virtual machines of {memory_mib} MiB may need more memory than the \
                 {available_mib} MiB that are available: fewer --jobs may be faster"
            ));
        }
        notes
    }
}

/// Returns the host time of tasks that take `alone`, `jobs` at a time, on a machine that slows each
/// down.
pub fn wall(alone: Duration, longest: Duration, jobs: usize, slowdown: f64) -> Duration {
    let side_by_side = alone.as_secs_f64() / jobs.max(1) as f64;
    let seconds = side_by_side.max(longest.as_secs_f64()) * slowdown;
    Duration::from_secs_f64(seconds.clamp(0.0, 1e9))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn task(kind: &str, unknown_s: f64) -> Task {
        Task { kind: kind.to_owned(), unknown_s }
    }

    fn seconds(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    #[test]
    fn what_was_executed_is_expected_again() {
        let folder = tempfile::tempdir().unwrap();
        let (cell, other) = (task("cell a 1", 10.0), task("cell b 1", 1.0));
        let boot = task("boot a 1", 10.0);
        let read = || Timings::read(folder.path());
        assert_eq!(read().expected(&cell), seconds(10.0));

        Timings::learn(
            folder.path(),
            &[(cell.clone(), seconds(30.0)), (cell.clone(), seconds(50.0))],
        );
        assert_eq!(read().expected(&cell), seconds(40.0));
        // Cells of other kinds are as slow, and nothing is known of boots.
        assert_eq!(read().expected(&other), seconds(4.0));
        assert_eq!(read().expected(&boot), seconds(10.0));

        Timings::learn(folder.path(), &[(boot.clone(), seconds(25.0))]);
        assert_eq!(read().expected(&boot), seconds(25.0));
        assert_eq!(read().expected(&cell), seconds(40.0));
    }

    #[test]
    fn a_machine_that_changed_is_learnt_anew() {
        let mut timings = Timings::default();
        let cell = task("cell a 1", 1.0);
        (0..1000).for_each(|_| timings.add(&cell, seconds(10.0)));
        (0..100).for_each(|_| timings.add(&cell, seconds(2.0)));
        assert!(timings.expected(&cell) < seconds(2.1));
    }

    #[test]
    fn the_file_stays_small_and_forgets_the_oldest() {
        let folder = tempfile::tempdir().unwrap();
        let measured: Vec<_> = (0..2 * KINDS_MAX)
            .map(|index| {
                (
                    task(&format!("cell-vm-traced cyclictest-hackbench 12345678 8 {index}"), 1.0),
                    seconds(5.0),
                )
            })
            .collect();
        Timings::learn(folder.path(), &measured);
        let timings = Timings::read(folder.path());
        assert_eq!(timings.kinds.len(), KINDS_MAX);
        assert!(!timings.kinds.contains_key(&measured[0].0.kind));
        assert!(timings.kinds.contains_key(&measured[2 * KINDS_MAX - 1].0.kind));
        assert!(fs::metadata(folder.path().join(FILE)).unwrap().len() < BYTES_MAX / 2);
    }

    #[test]
    fn what_is_damaged_or_cannot_be_written_is_as_if_absent() {
        let folder = tempfile::tempdir().unwrap();
        let cell = task("cell a 1", 3.0);
        for text in [
            "",
            "{}",
            "\u{0}",
            r#"{"format":2,"seen":1,"kinds":{"cell a 1":{"count":1,"wall_s":9,"unknown_s":1,"seen":1}}}"#,
            r#"{"format":1,"seen":1,"kinds":{"cell a 1":{"count":1,"wall_s":-9,"unknown_s":1,"seen":1}}}"#,
            r#"{"format":1,"seen":1,"kinds":{"cell a 1":{"count":1,"wall_s":1e300,"unknown_s":1,"seen":1}}}"#,
            r#"{"format":1,"seen":1,"kinds":{"cell a 1":{"count":0,"wall_s":9,"unknown_s":1,"seen":1}}}"#,
        ] {
            fs::write(folder.path().join(FILE), text).unwrap();
            assert_eq!(Timings::read(folder.path()).expected(&cell), seconds(3.0), "{text}");
        }
        Timings::learn(folder.path(), &[(cell.clone(), seconds(7.0))]);
        assert_eq!(Timings::read(folder.path()).expected(&cell), seconds(7.0));
        Timings::learn(&folder.path().join("absent"), &[(cell, seconds(7.0))]);
    }

    #[test]
    fn a_busy_machine_is_slower_and_says_so() {
        let idle = Pressure { cpus: 2, load: 0.0, available_mib: Some(4096) };
        assert_eq!((idle.slowdown_beside(2), idle.slowdown_with(2)), (1.0, 1.0));
        assert!(idle.notes(2, 512).is_empty());
        let busy = Pressure { load: 6.0, ..idle };
        assert_eq!((busy.slowdown_beside(2), busy.slowdown_with(2)), (4.0, 3.0));
        assert!(busy.notes(2, 512)[0].contains("load average is 6.0, and it has 2 CPUs"));
        assert!(idle.notes(3, 512)[0].contains("--jobs 3 exceeds the 2 CPUs"));
        assert!(
            idle.spoils().is_none() && busy.spoils().unwrap().contains("spoils what is measured")
        );
        assert!(idle.notes(2, 4096)[0].contains("more memory than the 4096 MiB"));
        // Unused jobs do not slow the others.
        let one = [seconds(10.0)];
        assert_eq!((idle.wall(&one, 1000), idle.wall(&[], 2)), (seconds(10.0), seconds(0.0)));
        assert_eq!(idle.wall(&[one[0]; 4], 2), seconds(20.0));
        assert_eq!(idle.wall(&[one[0]; 4], 4), seconds(20.0));
        let unknown = Pressure { cpus: 0, load: 0.0, available_mib: None };
        assert!(unknown.slowdown_beside(1) >= 1.0 && unknown.notes(0, u32::MAX).is_empty());
    }

    #[test]
    fn tasks_are_executed_side_by_side() {
        assert_eq!(wall(seconds(60.0), seconds(10.0), 2, 1.0), seconds(30.0));
        assert_eq!(wall(seconds(60.0), seconds(10.0), 100, 1.0), seconds(10.0));
        assert_eq!(wall(seconds(60.0), seconds(10.0), 2, 3.0), seconds(90.0));
    }
}
