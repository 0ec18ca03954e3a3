//! The messages of a run about its recordings at its end.

use preemptlab_analysis::{Cells, GivenRule, margins};
use preemptlab_experiment::Recording;
use preemptlab_lab::Config;
use preemptlab_model::counted;
use preemptlab_runner::Summary;
use preemptlab_stats::{Baseline, Comparison};

use crate::{
    exit::{self, OrExit},
    output::Output,
};

/// Compares the cells of a recording. Margin and baseline that are not given are those of its `--until`.
pub fn comparison(
    baseline: Option<&Baseline>,
    recording: &Recording,
    cells: &Cells,
    config: &Config,
) -> exit::Result<Comparison> {
    let until = recording.until();
    let given = GivenRule { margins_usual: config.margins(), ..GivenRule::default() };
    let margins = margins(&[recording], given).or_exit(exit::UNUSABLE)?;
    let before = until.and_then(|until| until.baseline.as_deref());
    let before = before.map(str::parse).transpose().or_exit(exit::UNUSABLE)?;
    let baseline = baseline.or(before.as_ref());
    Ok(preemptlab_analysis::comparison(&[recording], cells, baseline, margins)?)
}

/// Says how many cells were executed, and where they are.
pub fn tell(summary: &Summary, recording: &Recording, output: &Output) {
    let Summary { completed, failed, unavailable, waiting } = summary;
    let out = recording.path();
    output.note(format!(
        "{} completed, {failed} failed, {unavailable} unavailable{}: {}/",
        counted(*completed, "cell"),
        if *waiting > 0 { format!(", {waiting} waiting for a boot") } else { String::new() },
        out.display()
    ));
    output.note(format!("  {}    what was run", out.join("recording.json").display()));
    output.note(format!("  {}    one file a cell", out.join("cells/").display()));
}

/// Returns the exit code after a run.
pub fn code(summary: &Summary) -> u8 {
    if summary.failed > 0 { exit::CELLS_FAILED } else { exit::OK }
}
