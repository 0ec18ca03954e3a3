use super::{
    line::Line,
    quote::{github as literal, shell, yaml},
    workers::Workers,
};

/// Most jobs of a matrix, by GitHub's documentation.
pub const GITHUB_JOBS_MAX: u32 = 256;

/// Versions of actions, by commits: a tag can be moved.
const CHECKOUT: &str = "actions/checkout@8e8c483db84b4bee98b60c0593521ed34d9990e8 # v6.0.1";
const UPLOAD: &str = "actions/upload-artifact@043fb46d1a93c77aae656e7c1c64a875d1fc6a0a # v7.0.1";
const DOWNLOAD: &str =
    "actions/download-artifact@3e5f45b2cfb9172054b4087a40e8e0b5a5461e7c # v8.0.1";

/// Error of a matrix that GitHub would refuse.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a matrix of GitHub has at most {GITHUB_JOBS_MAX} jobs, not {0}: name fewer --tasks")]
pub struct TooManyJobs(u32);

/// Prints a workflow that prepares an experiment of the repository, executes each shard in a job of a
/// matrix, and joins the parts in a last one. `experiment` is its path in the repository; the program and
/// the recording of `workers` have no place in it, since the runners' are its own.
///
/// # Errors
///
/// When the plan has more shards than a matrix has jobs.
pub fn github(workers: &Workers, experiment: &Line) -> Result<String, TooManyJobs> {
    let shards = workers.shards;
    if shards > GITHUB_JOBS_MAX {
        return Err(TooManyJobs(shards));
    }
    let workers = Workers {
        program: "./preemptlab".parse().expect("it is one line"),
        recording: "work/recording".parse().expect("it is one line"),
        ..workers.clone()
    };
    let indexes: Vec<String> = (1..=shards).map(|index| index.to_string()).collect();
    let indexes = indexes.join(", ");
    let worker = literal(&workers.command("SHARD", None));
    let worker = yaml(&worker.replacen("SHARD", &format!("${{{{ matrix.shard }}}}/{shards}"), 1));
    let merge = yaml(&literal(&workers.merge()));
    let prepare = yaml(&literal(&format!(
        "preemptlab cluster prepare {} --out work/recording",
        shell(experiment.as_str())
    )));
    Ok(format!(
        "\
# Executes an experiment of this repository in {shards} jobs, and joins what they recorded.
# Set the repository's variable PREEMPTLAB_DEB to the address of preemptlab's Debian package (`make deb`).
name: preemptlab

on: workflow_dispatch

permissions:
  contents: read

jobs:
  prepare:
    runs-on: ubuntu-24.04
    steps:
    - uses: {CHECKOUT}
    - name: Install preemptlab
      env:
        PREEMPTLAB_DEB: ${{{{ vars.PREEMPTLAB_DEB }}}}
      run: |
        curl --fail --location --silent --show-error --output preemptlab.deb \"${{PREEMPTLAB_DEB:?}}\"
        sudo apt-get update
        sudo apt-get install --yes --no-install-recommends ./preemptlab.deb
    - run: mkdir work
    - run: {prepare}
    # The jobs have the same program: another build would refuse to go on.
    - run: cp /usr/bin/preemptlab preemptlab
    - run: tar -cf prepared.tar preemptlab work
    - uses: {UPLOAD}
      with:
        name: prepared
        path: prepared.tar
        compression-level: 0
        retention-days: 7

  shard:
    needs: prepare
    runs-on: ubuntu-24.04
    strategy:
      # A failed shard leaves the others running.
      fail-fast: false
      matrix:
        shard: [{indexes}]
    steps:
    - uses: {DOWNLOAD}
      with:
        name: prepared
    - run: tar -xf prepared.tar
    - run: {worker}
    # What a cancelled job has finished is joined, too.
    - if: always()
      run: tar -C work/recording.shards -cf part.tar parts
    - if: always()
      uses: {UPLOAD}
      with:
        name: part-${{{{ matrix.shard }}}}
        path: part.tar
        retention-days: 7
        overwrite: true

  merge:
    needs: [prepare, shard]
    if: ${{{{ !cancelled() && needs.prepare.result == 'success' }}}}
    runs-on: ubuntu-24.04
    steps:
    - uses: {DOWNLOAD}
    - run: tar -xf prepared/prepared.tar
    - run: for part in part-*/part.tar; do tar -C work/recording.shards -xf \"$part\"; done
    # Cells that are missing are named, and end this job: run the failed jobs again.
    - run: {merge}
    - if: always()
      uses: {UPLOAD}
      with:
        name: recording
        path: work/recording
        overwrite: true
"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_is_not_larger_than_github_takes() {
        let line = |text: &str| text.parse::<Line>().unwrap();
        let workers = |shards| Workers {
            program: line("preemptlab"),
            recording: line("runs/quick"),
            shards,
            trace: false,
            twice: None,
        };
        let experiment = line("quick.toml");
        assert!(github(&workers(256), &experiment).unwrap().contains(", 256]"));
        let said = github(&workers(257), &experiment).unwrap_err().to_string();
        assert!(said.contains("at most 256 jobs, not 257"), "{said}");
    }
}
