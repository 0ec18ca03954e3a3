//! The script of an array's tasks.

use std::ffi::OsString;

use preemptlab_model::Shard;

use crate::engine::{ShardList, Work};

/// Returns the script of a job whose tasks execute shards: task 1 the one after `offset`.
///
/// The shell is replaced by preemptlab, so that the signals of scancel reach that.
pub fn script(work: &Work, offset: u32, count: u32) -> String {
    let index = match offset {
        0 => "$SLURM_ARRAY_TASK_ID".to_owned(),
        offset => format!("$((SLURM_ARRAY_TASK_ID + {offset}))"),
    };
    let worker = work.workers(count).command(&format!("\"{index}/{count}\""), Some(1));
    format!("#!/bin/sh\nexec {worker}\n")
}

/// Returns the options of sbatch that this crate gives, without the script.
pub fn options(name: &str, work: &Work, shards: &[Shard], offset: u32) -> Vec<OsString> {
    let tasks = ShardList::new(shards.iter().map(|shard| shard.index() - offset));
    let workplace = work.workplace();
    let mut chdir = OsString::from("--chdir=");
    chdir.push(workplace.root());
    let mut options: Vec<OsString> = [
        "--parsable".to_owned(),
        format!("--array={tasks}"),
        format!("--job-name={name}"),
        "--ntasks=1".to_owned(),
        "--cpus-per-task=1".to_owned(),
        format!("--mem={}M", work.task_mib()),
        // A task whose node is lost begins again, and continues from its finished cells.
        "--requeue".to_owned(),
        "--open-mode=append".to_owned(),
        "--output=log/%A_%a.log".to_owned(),
    ]
    .map(OsString::from)
    .to_vec();
    options.push(chdir);
    options
}

#[cfg(test)]
mod tests {
    use std::{fs, process::Command};

    use super::*;

    fn work(recording: &str) -> Work {
        Work {
            recording: recording.into(),
            program: "printf".parse().unwrap(),
            found_at: recording.parse().unwrap(),
            trace: false,
            twice: Some("1%".parse().unwrap()),
            memory_mib: 512,
        }
    }

    #[test]
    fn the_shell_becomes_the_worker_whatever_the_paths_are() {
        let folder = tempfile::tempdir().unwrap();
        let recording = "/home/o'neil/$(touch x) \"`runs`\"\\é;";
        for (offset, shard) in [(0, "3/8"), (1000, "1003/8")] {
            // `cluster work` is the format, and the others are its arguments, one after the other.
            let script = script(&work(recording), offset, 8).replace(" cluster work ", " '%s|' ");
            let path = folder.path().join("script");
            fs::write(&path, script).unwrap();
            let output =
                Command::new("sh").arg(&path).env("SLURM_ARRAY_TASK_ID", "3").output().unwrap();
            let said = String::from_utf8(output.stdout).unwrap();
            assert_eq!(said, format!("{recording}|{shard}|--jobs|1|--twice|1%|"));
        }
    }

    #[test]
    fn options_hold_no_pattern_of_a_strangers() {
        let shards: Vec<Shard> =
            [1001, 1002, 1007].map(|it| Shard::new(it, 2000).unwrap()).to_vec();
        let options = options("preemptlab-x", &work("/data/100%j/quick"), &shards, 1000);
        assert!(options.contains(&"--array=1-2,7".into()), "{options:?}");
        assert!(options.contains(&"--output=log/%A_%a.log".into()));
        assert!(options.contains(&"--chdir=/data/100%j/quick.shards".into()));
        assert!(options.contains(&"--mem=1024M".into()));
    }
}
