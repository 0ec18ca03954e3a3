use super::{line::Line, quote::shell, workers::Workers};

/// Most tasks of an array where a site has not allowed more (slurm.conf(5), `MaxArraySize`).
const TASKS_MAX: u32 = 1000;

/// Prints a script that submits an array of a task a shard to Slurm, and a job that joins the parts
/// whatever became of the tasks.
pub fn slurm(workers: &Workers, log: &Line, memory_mib: u32, arguments: &[Line]) -> String {
    let shards = workers.shards;
    let arguments: String =
        arguments.iter().map(|argument| format!(" {}", shell(argument.as_str()))).collect();
    let mut arrays = String::new();
    for first in (0..shards).step_by(TASKS_MAX as usize) {
        let index = match first {
            0 => "$SLURM_ARRAY_TASK_ID".to_owned(),
            _ => format!("$((SLURM_ARRAY_TASK_ID + {first}))"),
        };
        let tasks = (shards - first).min(TASKS_MAX);
        let worker = workers.command(&format!("\"{index}/{shards}\""), Some(1));
        // In the pattern of a file's name `%` begins a variable.
        let output = shell(&format!("{}/slurm-%A_%a", log.as_str().replace('%', "%%")));
        arrays.push_str(&format!(
            "\
array=$(sbatch --parsable --array=1-{tasks} --job-name=preemptlab --ntasks=1 --cpus-per-task=1 \\
    --mem={memory_mib}M --requeue --output={output}{arguments} <<'TASK'
#!/bin/sh
exec {worker}
TASK
)
jobs=$jobs:${{array%%;*}}
"
        ));
    }
    let merge = workers.merge();
    let folder = shell(log.as_str());
    let output = shell(&format!("{}/slurm-%j", log.as_str().replace('%', "%%")));
    format!(
        "\
#!/bin/sh
# Submits {shards} shards to Slurm, and a job that joins their parts. Run it on a login node; run it again
# to go on: what is finished is not executed again.
set -eu
mkdir -p {folder}
jobs=
{arrays}\
# After any end: of a failed task the others are joined all the same.
sbatch --parsable --dependency=\"afterany$jobs\" --job-name=preemptlab-merge --ntasks=1 --cpus-per-task=1 \\
    --mem=1G --output={output}{arguments} <<'TASK'
#!/bin/sh
exec {merge}
TASK
"
    )
}
