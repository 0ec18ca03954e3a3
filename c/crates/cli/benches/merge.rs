//! The time and memory of `merge` for 10,020 cells in eight parts, beside the time to copy their files.

#![allow(missing_docs, clippy::print_stdout, reason = "a benchmark is a program of its own")]

mod made;

use std::{
    fs,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use made::{Made, measured};
use preemptlab_cluster::{Cut, Workplace, newest};
use preemptlab_experiment::{PartWriter, Recording, RecordingWriter};
use preemptlab_files::OutFolder;
use preemptlab_model::Shard;
use preemptlab_recording::PartOf;

const PARTS: u32 = 8;

fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let run = folder.path().join("large");
    let (cells, bytes) = parts(&run);
    let parts = Workplace::of(&run).parts();
    println!("{cells} cells, {} MB, {PARTS} parts", bytes / 1_000_000);
    let copying = copy(&parts, &folder.path().join("copy"));
    println!("cp -r and sync: {:.2} s", copying.as_secs_f64());
    let run_text = run.to_str().expect("a path of text");
    for name in ["merge", "merge again, with nothing to take"] {
        let (wall, memory_mb) = measured(&["cluster", "merge", run_text]);
        println!(
            "{name}: {:.2} s, {:.2} of that, {:.0} MB/s; at most {memory_mb} MB",
            wall.as_secs_f64(),
            wall.as_secs_f64() / copying.as_secs_f64(),
            bytes as f64 / 1e6 / wall.as_secs_f64(),
        );
    }
    assert_eq!(fs::read_dir(run.join("cells")).expect("the cells").count(), cells);
}

/// Writes a recording without cells, and parts that have them all; returns their number and size.
fn parts(run: &Path) -> (usize, u64) {
    let made = Made::new();
    drop(RecordingWriter::open(run, &made.manifest).expect("a recording"));
    let (_, boots) = newest(&Recording::open(run).expect("it"));
    let cut = Cut::new(&boots, PARTS);
    let mut of_cell = std::collections::BTreeMap::new();
    let writers: Vec<_> = Shard::all(PARTS)
        .map(|shard| {
            of_cell.extend(cut.of(shard).iter().map(|cell| (*cell, shard.index() as usize - 1)));
            let path = Workplace::of(run).part(0, shard);
            fs::create_dir_all(&path).expect("a folder");
            let of = PartOf::new(run, 0, shard).expect("a part");
            PartWriter::open(Recording::open(run).expect("it"), &OutFolder::named(&path), &of)
                .expect("a part")
        })
        .collect();
    let (mut cells, mut bytes) = (0, 0);
    for record in made.cells() {
        let folder = writers[of_cell[&record.id]].cells().cells();
        folder.put(&record).expect("room for a cell");
        bytes += fs::metadata(folder.file(record.id)).expect("it").len();
        cells += 1;
    }
    (cells, bytes)
}

/// Copies a folder to the disk.
fn copy(from: &Path, to: &Path) -> Duration {
    let started = Instant::now();
    let copied = Command::new("cp").arg("-r").args([from, to]).status().expect("cp");
    let flushed = Command::new("sync").arg("-f").arg(to).status().expect("sync");
    assert!(copied.success() && flushed.success());
    started.elapsed()
}
