//! Which cells each shard of a plan has.

use std::collections::BTreeSet;

use preemptlab_model::{CellId, Shard, SnapshotId};
use preemptlab_recording::Recording;

/// Fewest cells of a shard, unless a boot has fewer: a smaller shard would pay the start of a task, and
/// perhaps a boot, for little work.
const CHUNK_CELLS_MIN: usize = 10;

/// Most cells of a shard: the loss of a killed node, and the work that a task's time limit must cover.
const CHUNK_CELLS_MAX: usize = 100;

/// Most shards of a plan that is cut for an engine: Slurm's arrays have 1001 tasks unless a site allows
/// more (slurm.conf(5), `MaxArraySize`).
const SHARDS_MAX: usize = 1000;

/// Distinct cells of a boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootCells {
    /// The boot.
    pub boot: SnapshotId,
    /// Its cells, in the plan's order.
    pub cells: Vec<CellId>,
}

/// Returns the number of the newest look at a recording's results, 0 before the first, and the
/// distinct cells that it planned, by boot, in the order of the plan. All of it depends on the plan
/// alone, never on the finished cells.
pub fn newest<E>(recording: &Recording<E>) -> (u32, Vec<BootCells>) {
    let newest = recording.planned().map(|(look, _)| look).max().unwrap_or(0);
    let mut seen = BTreeSet::new();
    let mut boots: Vec<BootCells> = Vec::new();
    let mut places = std::collections::BTreeMap::new();
    for (look, planned) in recording.planned() {
        let Some(inputs) = planned.inputs() else { continue };
        // A cell of an earlier look with equal inputs was executed then.
        if !seen.insert(inputs.id()) || look != newest {
            continue;
        }
        let boot = inputs.snapshot.id();
        let place = *places.entry(boot).or_insert_with(|| {
            boots.push(BootCells { boot, cells: Vec::new() });
            boots.len() - 1
        });
        boots[place].cells.push(inputs.id());
    }
    (newest, boots)
}

/// A plan that is cut into shards: contiguous, sorted by boot, as even as boots allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    shards: Vec<Vec<CellId>>,
    /// For each shard the shards of the same boot, which are neighbours.
    siblings: Vec<std::ops::Range<usize>>,
}

impl Cut {
    /// Cuts cells into `count` shards. With at least as many shards as boots no shard has cells of two
    /// boots, so that each worker boots once.
    pub fn new(boots: &[BootCells], count: u32) -> Self {
        let count = count as usize;
        let mut shards = Vec::new();
        let mut siblings = Vec::new();
        if count < boots.len() {
            let cells: Vec<CellId> = boots.iter().flat_map(|boot| boot.cells.clone()).collect();
            shards = even(&cells, count);
            siblings = vec![0..count; count];
        } else {
            for (boot, shares) in boots.iter().zip(shares(boots, count)) {
                let first = shards.len();
                shards.extend(even(&boot.cells, shares));
                siblings.extend(std::iter::repeat_n(first..first + shares, shares));
            }
            // Of a plan without cells nothing is to be cut.
            shards.resize(count, Vec::new());
            siblings.resize(count, 0..count);
        }
        Self { shards, siblings }
    }

    /// Lets a share of the cells, at least one, be executed by a second shard, too: the next one of the
    /// same boot, or else the next one. Cells are chosen by their identity, which does not depend on
    /// their measurements.
    #[must_use]
    pub fn with_twice(mut self, share: f64) -> Self {
        let mut cells: Vec<(CellId, usize)> = Vec::new();
        for (shard, of_shard) in self.shards.iter().enumerate() {
            cells.extend(of_shard.iter().map(|cell| (*cell, shard)));
        }
        cells.sort_unstable();
        let wanted = (cells.len() as f64 * share).ceil() as usize;
        cells.truncate(wanted);
        for (cell, shard) in cells {
            let siblings = &self.siblings[shard];
            let second = match siblings.len() {
                0 | 1 => (shard + 1) % self.shards.len(),
                len => siblings.start + (shard - siblings.start + 1) % len,
            };
            if second != shard {
                self.shards[second].push(cell);
            }
        }
        self
    }

    /// Returns the cells of a shard, which may have none.
    pub fn of(&self, shard: Shard) -> &[CellId] {
        let place = shard.index() as usize - 1;
        self.shards.get(place).map(Vec::as_slice).unwrap_or_default()
    }
}

/// Returns the number of shards into which an engine with `cpus` CPUs cuts cells: some four shards a CPU,
/// so that CPUs end at about the same time, each of [`CHUNK_CELLS_MIN`] to [`CHUNK_CELLS_MAX`] cells of
/// one boot.
pub fn shards_for(boots: &[BootCells], cpus: u32) -> u32 {
    let cells: usize = boots.iter().map(|boot| boot.cells.len()).sum();
    let even = cells.div_ceil(4 * cpus.max(1) as usize);
    let mut chunk = even.clamp(CHUNK_CELLS_MIN, CHUNK_CELLS_MAX);
    loop {
        let count: usize = boots.iter().map(|boot| boot.cells.len().div_ceil(chunk)).sum();
        if count <= SHARDS_MAX.max(boots.len()) {
            let count = in_full_waves(count, cells, cpus.max(1) as usize).max(boots.len());
            return u32::try_from(count).unwrap_or(u32::MAX).max(1);
        }
        chunk += chunk.div_ceil(10);
    }
}

/// Lowers a number of shards to a multiple of the CPUs where that leaves fewer cells to the busiest CPU:
/// the others would wait for the few shards that are left for a last wave.
fn in_full_waves(count: usize, cells: usize, cpus: usize) -> usize {
    let of_busiest = |count: usize| count.div_ceil(cpus) * cells.div_ceil(count);
    let full = count - count % cpus;
    let is_better =
        full > 0 && cells.div_ceil(full) <= CHUNK_CELLS_MAX && of_busiest(full) < of_busiest(count);
    if is_better { full } else { count }
}

/// Gives each boot one shard, and the others one after the other to the boot whose shards are the
/// largest.
fn shares(boots: &[BootCells], count: usize) -> Vec<usize> {
    let mut shares = vec![1; boots.len()];
    for _ in boots.len()..count {
        // Cross-multiplied, since fractions would be rounded.
        let largest = (0..boots.len()).reduce(|one, two| {
            let size = |boot: usize, other: usize| boots[boot].cells.len() * shares[other];
            if size(two, one) > size(one, two) { two } else { one }
        });
        let Some(largest) = largest else { break };
        shares[largest] += 1;
    }
    shares
}

/// Cuts into contiguous pieces whose sizes differ by one at most.
fn even<T: Clone>(items: &[T], count: usize) -> Vec<Vec<T>> {
    let place = |piece: usize| piece * items.len() / count;
    (0..count).map(|piece| items[place(piece)..place(piece + 1)].to_vec()).collect()
}

#[cfg(test)]
mod tests {
    use preemptlab_model::Digest;
    use proptest::prelude::*;

    use super::*;

    fn boots(sizes: &[usize]) -> Vec<BootCells> {
        let boot = |(number, size): (usize, &usize)| BootCells {
            boot: SnapshotId(Digest::of(format!("{number}").as_bytes())),
            cells: (0..*size)
                .map(|cell| CellId(Digest::of(format!("{number} {cell}").as_bytes())))
                .collect(),
        };
        sizes.iter().enumerate().map(boot).collect()
    }

    fn sizes(cut: &Cut) -> Vec<usize> {
        cut.shards.iter().map(Vec::len).collect()
    }

    #[test]
    fn shards_have_cells_of_one_boot_where_there_are_enough() {
        assert_eq!(sizes(&Cut::new(&boots(&[18, 12, 12, 12]), 4)), [18, 12, 12, 12]);
        assert_eq!(sizes(&Cut::new(&boots(&[18, 12, 12, 12]), 5)), [9, 9, 12, 12, 12]);
        assert_eq!(sizes(&Cut::new(&boots(&[18, 12, 12, 12]), 2)), [27, 27]);
        assert_eq!(sizes(&Cut::new(&boots(&[2]), 4)), [0, 1, 0, 1]);
        assert_eq!(sizes(&Cut::new(&[], 2)), [0, 0]);
    }

    #[test]
    fn an_engine_cuts_into_some_shards_a_cpu() {
        assert_eq!(shards_for(&boots(&[18, 12, 12, 12]), 2), 8);
        assert_eq!(shards_for(&boots(&[1000, 1000]), 2), 20);
        assert_eq!(shards_for(&boots(&[5000, 5000]), 512), 1000);
        assert_eq!(shards_for(&boots(&[100_000]), 10_000), 962);
        assert_eq!(shards_for(&[], 2), 1);
        // 40 boots of 13 shards each are 520: 120 CPUs would wait for the last 8 of them.
        assert_eq!(shards_for(&boots(&[250; 40]), 128), 512);
        assert_eq!(shards_for(&boots(&[5000, 5000]), 768), 768);
    }

    proptest! {
        #[test]
        fn each_cell_is_in_one_shard_and_no_shard_is_larger_than_it_must_be(
            numbers in prop::collection::vec(1_usize..60, 0..12),
            count in 1_u32..40,
        ) {
            let boots = boots(&numbers);
            let cut = Cut::new(&boots, count);
            let all: Vec<CellId> = cut.shards.concat();
            let planned: Vec<CellId> = boots.iter().flat_map(|boot| boot.cells.clone()).collect();
            prop_assert_eq!(all, planned.clone());
            prop_assert_eq!(cut.shards.len(), count as usize);

            let count = shards_for(&boots, 1);
            let chunk = planned.len().div_ceil(4).clamp(CHUNK_CELLS_MIN, CHUNK_CELLS_MAX);
            prop_assert!(sizes(&Cut::new(&boots, count)).iter().all(|size| *size <= chunk));
        }

        #[test]
        fn cells_are_executed_twice_by_two_shards(
            numbers in prop::collection::vec(1_usize..60, 1..6),
            count in 2_u32..20,
        ) {
            let cut = Cut::new(&boots(&numbers), count).with_twice(0.1);
            let mut all: Vec<CellId> = cut.shards.concat();
            all.sort_unstable();
            let twice = all.windows(2).filter(|pair| pair[0] == pair[1]).count();
            let cells: usize = numbers.iter().sum();
            prop_assert_eq!(twice, (cells as f64 * 0.1).ceil() as usize);
            for shard in &cut.shards {
                prop_assert_eq!(shard.iter().collect::<BTreeSet<_>>().len(), shard.len());
            }
        }
    }
}
