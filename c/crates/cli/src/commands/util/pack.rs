use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use preemptlab_analysis::available::only_virtual;
use preemptlab_experiment::Recording;
use preemptlab_lab::Config;
use preemptlab_model::plain;

use crate::{args::written_path, exit, lab, output::Output, progress::Shown, writable};

/// Pack a recording with all that its cells need into one file, a capsule, which anybody can verify
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  preemptlab util pack runs/quick
  preemptlab util pack runs/quick --out quick.capsule
  preemptlab verify quick.capsule

A capsule holds QEMU, kernels and guest images. docs/recording.md describes it.")]
pub struct Pack {
    /// The recording
    #[arg(value_name = "RUN")]
    pub recording: PathBuf,
    /// The file to write [default: RUN.capsule, here]
    #[arg(long, short, value_name = "FILE", value_parser = written_path())]
    pub out: Option<PathBuf>,
}

/// End of the refusal of a recording in a machine's own time.
const NOT_AGAIN: &str = "can be packed: nobody could check the others";

/// Packs a recording, and names the file.
pub fn execute(args: &Pack, config: &Config, output: &Output) -> exit::Result<ExitCode> {
    let recording = Recording::open(&args.recording)?;
    only_virtual(&recording, NOT_AGAIN)?;
    let out = match &args.out {
        Some(out) => out.clone(),
        None => here(&args.recording)?,
    };
    writable::check(&out)?;
    let shown = Shown::new(output);
    let lab = lab::here(config, None, &shown);
    let bytes = preemptlab_lab::pack(&lab, &recording, &out)?;
    output.note(format!("packed {:.1} MB", bytes as f64 / 1e6));
    output.data(&plain::line(&out.display().to_string()))
}

/// Returns the file that has the name of a recording's folder.
fn here(recording: &Path) -> exit::Result<PathBuf> {
    let whole = std::path::absolute(recording);
    let name = whole.ok().and_then(|path| Some(path.file_name()?.to_owned()));
    let name = name.ok_or_else(|| exit::unusable("name the file to write with --out"))?;
    Ok(Path::new(&name).with_added_extension("capsule"))
}
