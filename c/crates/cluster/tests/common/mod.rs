//! A recording to spread, and workers that finish its cells without executing any.

use std::path::{Path, PathBuf};

use preemptlab_cluster::{Cut, Workplace, newest};
use preemptlab_files::OutFolder;
use preemptlab_model::{CellRecord, Digest, Outcome, Planned, RECORDING_FORMAT, Shard};
use preemptlab_recording::{Manifest, PartOf, PartWriter, Recording, RecordingWriter, Subject};
use serde::{Deserialize, Serialize};

/// Experiment as a reader sees it that needs its name alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Named {
    name: String,
}

impl Subject for Named {
    fn name(&self) -> &str {
        &self.name
    }

    fn folders(&self) -> impl Iterator<Item = Digest> {
        std::iter::empty()
    }
}

/// Begins a recording of a plan of two boots with seven cells each, of which none is finished: the cell
/// of studies/check with other seeds.
pub fn recording(path: &Path) -> RecordingWriter<Named> {
    let check = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/check");
    let mut manifest: Manifest<Named> = Recording::open(&check).unwrap().manifest().clone();
    let first = manifest.plan.cells[0].clone();
    manifest.plan.cells = (1..=14)
        .map(|number| {
            let mut cell = first.clone();
            cell.factors.replicate = number;
            if let Planned::Execute(inputs) = &mut cell.planned {
                inputs.job.seed += u64::from(number);
                inputs.snapshot.cmdline.push_str(if number > 7 { " x" } else { "" });
            }
            cell
        })
        .collect();
    RecordingWriter::open(path, &manifest).unwrap()
}

/// Returns the folder of a part that a worker would write to.
pub fn part(recording: &Path, shard: Shard) -> PathBuf {
    let look = newest(&Recording::<Named>::open(recording).unwrap()).0;
    Workplace::of(recording).part(look, shard)
}

/// Finishes the first cells of a shard that its part lacks, as a worker would; returns how many.
pub fn work(recording: &Path, shard: Shard, most: usize) -> usize {
    let opened = Recording::<Named>::open(recording).unwrap();
    let (look, boots) = newest(&opened);
    let records: Vec<CellRecord> = {
        let cut = Cut::new(&boots, shard.count());
        let wanted = cut.of(shard);
        let planned = opened.planned().filter_map(|(_, planned)| planned.inputs());
        planned
            .filter(|inputs| wanted.contains(&inputs.id()))
            .map(|inputs| CellRecord {
                format: RECORDING_FORMAT,
                id: inputs.id(),
                inputs: inputs.clone(),
                console: vec![],
                conditions: None,
                outcome: Outcome::Unavailable { reason: "test".into(), system: None },
            })
            .collect()
    };
    let of = PartOf::new(recording, look, shard).unwrap();
    let writer = PartWriter::open(opened, &OutFolder::named(part(recording, shard)), &of).unwrap();
    let cells = writer.cells().cells();
    let mut finished = 0;
    for record in records {
        if finished < most && !cells.contains(record.id) {
            cells.put(&record).unwrap();
            finished += 1;
        }
    }
    finished
}
