use preemptlab_model::Digest;

use super::{line::Line, quote::shell, workers::Workers};

/// Prints a script that executes the shards on machines that share no folder: it copies preemptlab and
/// the seed to each, lets each take the next shard until none is left, and copies the parts back. `work`
/// is the folder beside the recording.
pub fn ssh(workers: &Workers, work: &Line) -> String {
    let shards = workers.shards;
    // On the machines all names are ours, so that no shell there reads one of the user's.
    let there = format!("preemptlab-{}", Digest::of(workers.recording.as_str().as_bytes()).short());
    let remote =
        Workers { program: name("./preemptlab"), recording: name("recording"), ..workers.clone() };
    // The remote shell reads the words again, without the quotes of this one.
    let worker = remote.command("SHARD", None);
    let (before, after) = worker.split_once("SHARD").unwrap_or((&worker, ""));
    let before = shell(&format!("cd {there} && exec {before}"));
    let after = shell(&format!("/{shards}{after}"));
    let program = shell(workers.program.as_str());
    let recording = shell(workers.recording.as_str());
    let work = shell(work.as_str());
    let merge = workers.merge();
    format!(
        "\
#!/bin/sh
# Executes {shards} shards on the machines that its arguments name, each with all of its CPUs, and joins
# their parts here:
#   sh SCRIPT alice@one two
# The machines need rsync and a login without a password. Run it again to go on: what is finished is not
# executed again.
set -eu
[ $# -gt 0 ] || {{ echo 'name at least one machine' >&2; exit 2; }}
recording={recording}
work={work}
taken=$(mktemp -d)
workers=
trap 'rm -rf \"$taken\"' EXIT
trap 'kill $workers 2> /dev/null; exit 130' HUP INT TERM

# on MACHINE: lets it execute the next shard until none is left.
on() {{
    trap 'kill $! 2> /dev/null; exit 130' TERM
    ssh -n \"$1\" 'mkdir -p {there}/recording.shards/parts' || return
    rsync -a {program} \"$1:{there}/preemptlab\" || return
    rsync -a --exclude=/traces/ \"$recording/\" \"$1:{there}/recording/\" || return
    rsync -a \"$work/seed.tar.zst\" \"$1:{there}/recording.shards/\" || return
    shard=0
    while [ $shard -lt {shards} ]; do
        shard=$((shard + 1))
        # Only one of them makes the folder.
        mkdir \"$taken/$shard\" 2> /dev/null || continue
        # With a terminal the worker there ends with the connection.
        TERM=dumb ssh -n -tt -o ServerAliveInterval=15 \"$1\" {before}\"$shard\"{after} \
            > \"$work/log/ssh-$shard\" 2>&1 &
        wait $! || echo \"shard $shard did not end well on $1: $work/log/ssh-$shard\" >&2
        rsync -a \"$1:{there}/recording.shards/parts/\" \"$work/parts/\" || return
    done
}}

mkdir -p \"$work/parts\" \"$work/log\"
for machine in \"$@\"; do
    {{ on \"$machine\" || echo \"$machine takes no more shards\" >&2; }} &
    workers=\"$workers $!\"
done
wait
{merge}
"
    )
}

/// Returns a value of ours.
fn name(text: &'static str) -> Line {
    text.parse().expect("it is one line")
}
