use super::{quote::shell, workers::Workers};

/// Prints a script that executes every shard through GNU parallel, a worker a CPU, and joins the parts.
pub fn parallel(workers: &Workers) -> String {
    let shards = workers.shards;
    // Values are arguments and not a part of the template, in which parallel would replace `{}` and the
    // like, and a shell the rest.
    let trace = if workers.trace { " --trace" } else { "" };
    let twice = if workers.twice.is_some() { " --twice '{4}'" } else { "" };
    let template =
        format!("exec '{{1}}' cluster work '{{2}}' '{{3}}/{shards}' --jobs 1{trace}{twice}");
    let mut inputs = format!(
        "::: {} ::: {} ::: $(seq {shards})",
        shell(workers.program.as_str()),
        shell(workers.recording.as_str())
    );
    if let Some(twice) = &workers.twice {
        inputs.push_str(&format!(" ::: {}", shell(twice.as_str())));
    }
    let merge = workers.merge();
    format!(
        "\
#!/bin/sh
# Executes {shards} shards on the CPUs of this machine, and joins their parts. With a file as its argument
# that names machines, one a line, which see the recording at the same path: on theirs (parallel(1),
# --sshloginfile). Run it again to go on: what is finished is not executed again.
set -eu
# A failed shard is named below, with what it lacks.
parallel ${{1:+--sshloginfile \"$1\"}} {template} \\
    {inputs} || true
exec {merge}
"
    )
}
