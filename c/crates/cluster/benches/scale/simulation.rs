//! A cluster that executes a plan, by simulation: the shards are those of the crate, and the costs of a
//! cluster are measured ones.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap},
};

use preemptlab_cluster::{BootCells, Cut, shards_for};
use preemptlab_model::{CellId, Digest, Shard, SnapshotId};

/// Cluster and its costs, in seconds.
#[derive(Clone, Copy, Debug)]
pub struct Cluster {
    /// Cores, a task each.
    pub cores: usize,
    /// Cores of a node.
    pub node_cores: usize,
    /// Whether the workers of a node share a store; or else each task has its own, as in pods.
    pub shares_store: bool,
    /// Time that the engine needs for the start of a task; it starts one after the other.
    pub dispatch_s: f64,
    /// Time that a node needs for the worker's store.
    pub seed_s: f64,
    /// Time of a boot. Workers with one store share it; those that need the same one wait for it.
    pub boot_s: f64,
}

impl Cluster {
    /// Returns a cluster of nodes with 32 cores and the costs that were measured with Slurm 22.05: a task
    /// in 0.02 s, a seed on a shared disk, a boot of 10 s.
    pub fn measured(cores: usize) -> Self {
        let (dispatch_s, seed_s, boot_s) = (0.02, 2.0, 10.0);
        Self { cores, node_cores: 32, shares_store: true, dispatch_s, seed_s, boot_s }
    }
}

/// Cells of a plan, and the time that one takes.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Number of the cells.
    pub cells: usize,
    /// Number of the boots that they are of, evenly.
    pub boots: usize,
    /// Time of a cell, in seconds.
    pub cell_s: f64,
    /// Share of that time by which cells differ, at most, either way.
    pub spread: f64,
}

/// Outcome of a plan.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Number of the shards.
    pub tasks: usize,
    /// Time from the submission to the last cell.
    pub end_s: f64,
    /// Share of the time in which cells alone would keep every core busy.
    pub share: f64,
    /// Shares of the cores' time that were lost, by cause.
    pub lost: Lost,
}

/// Shares of the cores' time that execute no cell.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lost {
    /// Waiting for the engine to start a task.
    pub dispatch: f64,
    /// Waiting for the worker's store.
    pub store: f64,
    /// Booting, and waiting for a boot.
    pub boot: f64,
    /// Waiting for the end of the last tasks.
    pub tail: f64,
}

impl Lost {
    /// Returns the cause of most of the loss.
    pub fn cause(&self) -> &'static str {
        let causes = [
            (self.dispatch, "the engine, which starts one task after the other"),
            (self.store, "stores are unpacked"),
            (self.boot, "boots"),
            (self.tail, "the end, where cores wait for the last tasks"),
        ];
        causes.into_iter().max_by(|one, two| one.0.total_cmp(&two.0)).expect("there are four").1
    }
}

/// Time in seconds that has an order.
#[derive(Clone, Copy, Debug, PartialEq)]
struct At(f64);

impl Eq for At {}

impl PartialOrd for At {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for At {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// Makes a plan of a load's cells.
fn plan(load: &Load) -> Vec<BootCells> {
    let cell = |boot: usize, cell: usize| CellId(Digest::of(format!("{boot} {cell}").as_bytes()));
    let size = |boot: usize| (boot + 1) * load.cells / load.boots - boot * load.cells / load.boots;
    (0..load.boots)
        .map(|boot| BootCells {
            boot: SnapshotId(Digest::of(format!("{boot}").as_bytes())),
            cells: (0..size(boot)).map(|number| cell(boot, number)).collect(),
        })
        .collect()
}

/// Returns the time of a cell, which depends on its identity.
fn cell_s(load: &Load, cell: CellId) -> f64 {
    let hex = cell.0.to_string();
    let byte = f64::from(u8::from_str_radix(&hex[..2], 16).expect("two digits"));
    load.cell_s * (1.0 + load.spread * (byte / 127.5 - 1.0))
}

/// Executes a plan as the crate cuts it for an engine.
pub fn execute(cluster: &Cluster, load: &Load) -> Outcome {
    let plan = plan(load);
    let count = shards_for(&plan, u32::try_from(cluster.cores).expect("a cluster"));
    cut_into(cluster, load, &plan, count)
}

/// Executes a plan that is cut into `count` shards.
fn cut_into(cluster: &Cluster, load: &Load, plan: &[BootCells], count: u32) -> Outcome {
    let boot_of: BTreeMap<CellId, SnapshotId> = plan
        .iter()
        .flat_map(|boot| boot.cells.iter().map(move |cell| (*cell, boot.boot)))
        .collect();
    let cut = Cut::new(plan, count);
    // Cores that are free, and since when; the engine fills one node after the other.
    let mut free: BinaryHeap<Reverse<(At, usize)>> =
        (0..cluster.cores).map(|core| Reverse((At(0.0), core))).collect();
    let mut ready: BTreeMap<(usize, Option<SnapshotId>), f64> = BTreeMap::new();
    let (mut engine_s, mut end_s, mut busy_s) = (0.0_f64, 0.0_f64, 0.0);
    let (mut dispatch_s, mut seed_s, mut boot_s) = (0.0, 0.0, 0.0);
    for shard in Shard::all(count) {
        let Some(Reverse((At(free_s), core))) = free.pop() else { break };
        let node = match cluster.shares_store {
            true => core / cluster.node_cores,
            false => shard.index() as usize,
        };
        engine_s = engine_s.max(free_s) + cluster.dispatch_s;
        dispatch_s += engine_s - free_s;
        let mut now = engine_s;
        let seed = *ready.entry((node, None)).or_insert(now + cluster.seed_s);
        seed_s += (seed - now).max(0.0);
        now = now.max(seed);
        for cell in cut.of(shard) {
            let boot = *ready.entry((node, Some(boot_of[cell]))).or_insert(now + cluster.boot_s);
            boot_s += (boot - now).max(0.0);
            now = now.max(boot);
            let cell_s = cell_s(load, *cell);
            now += cell_s;
            busy_s += cell_s;
        }
        end_s = end_s.max(now);
        free.push(Reverse((At(now), core)));
    }
    let tail_s: f64 = free.iter().map(|Reverse((At(since), _))| end_s - since).sum();
    let all_s = cluster.cores as f64 * end_s;
    let lost = Lost {
        dispatch: dispatch_s / all_s,
        store: seed_s / all_s,
        boot: boot_s / all_s,
        tail: tail_s / all_s,
    };
    Outcome { tasks: count as usize, end_s, share: busy_s / all_s, lost }
}
