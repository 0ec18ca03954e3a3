//! Histograms of machines beside recordings.

use std::path::{Path, PathBuf};

use preemptlab_files::read;
use preemptlab_model::plain;
use preemptlab_recording::RecordingError;
use preemptlab_stats::{MachineHistogram, MachineLatency};
use preemptlab_workload::{
    HISTOGRAM_FILE_BYTES_MAX, HistogramContext, HistogramFile, HistogramFileError, HistogramSeries,
    HistogramTool,
};

use crate::{Error, Result};

/// Returns the paths of recordings, and those of files, which hold histograms: a recording is a folder.
pub fn split(paths: &[PathBuf]) -> (Vec<PathBuf>, Vec<PathBuf>) {
    paths.iter().cloned().partition(|path| !path.is_file())
}

/// Refuses a histogram where only recordings will do; `doing` names the command's action.
///
/// # Errors
///
/// When one of the paths is a histogram.
pub fn refuse(paths: &[PathBuf], doing: &str) -> Result<()> {
    match paths.iter().filter(|path| path.is_file()).find(|path| histogram(path).is_ok()) {
        None => Ok(()),
        Some(path) => Err(Error::unusable(format!(
            "{} is a histogram and no recording, and {doing}; `preemptlab compare` shows it",
            path.display()
        ))),
    }
}

/// Reads histograms of machines.
///
/// # Errors
///
/// When a file cannot be read, is not a histogram, or is named twice.
pub fn open(paths: &[PathBuf]) -> Result<Vec<MachineHistogram>> {
    for (at, path) in paths.iter().enumerate() {
        let place = |path: &Path| std::fs::canonicalize(path).ok();
        if paths[..at].iter().any(|other| place(other).is_some() && place(other) == place(path)) {
            return Err(Error::unusable(format!("{} is named twice", path.display())));
        }
    }
    paths.iter().map(|path| histogram(path)).collect()
}

fn histogram(path: &Path) -> Result<MachineHistogram> {
    let unreadable =
        |error: &dyn std::fmt::Display| format!("{} cannot be read: {error}", path.display());
    let bytes = read(path, HISTOGRAM_FILE_BYTES_MAX as u64)
        .map_err(|error| Error::Unusable(unreadable(&error)))?;
    let unknown = || Error::Recording(RecordingError::Absent(path.to_owned()));
    let text = std::str::from_utf8(&bytes).map_err(|_| unknown())?;
    let file = HistogramFile::parse(text).map_err(|error| match error {
        HistogramFileError::Unknown => unknown(),
        HistogramFileError::Refused(why) => {
            let path = path.display();
            Error::unusable(format!("{path} is no recording, and not read as a histogram: {why}"))
        }
    })?;
    let file_name = plain::line(&path.display().to_string()).into_owned();
    Ok(MachineHistogram {
        file: file_name,
        tool: file.tool.as_str().to_owned(),
        unit: file.unit.to_owned(),
        latencies: latencies(&file),
    })
}

/// Returns the latencies of each context, of all threads together and then of each.
fn latencies(file: &HistogramFile) -> Vec<MachineLatency> {
    let of_context = |context: HistogramContext| {
        let of_it = move |series: &&HistogramSeries| {
            series.context == context && series.histogram.count() > 0
        };
        let series: Vec<&HistogramSeries> = file.series.iter().filter(of_it).collect();
        let each = series.iter().filter_map(|one| {
            let latency = latency(file, context, &[one])?;
            let only = format!("{} {}", file.tool.numbered_by(), one.number);
            Some(MachineLatency { only: Some(only), ..latency })
        });
        let each: Vec<MachineLatency> = each.collect();
        latency(file, context, &series).into_iter().chain(each).collect::<Vec<_>>()
    };
    file.contexts().into_iter().flat_map(of_context).collect()
}

fn latency(
    file: &HistogramFile,
    context: HistogramContext,
    series: &[&HistogramSeries],
) -> Option<MachineLatency> {
    let min = series.iter().map(|series| series.min).min()?;
    let is_wakeup = match context {
        HistogramContext::Wakeup => true,
        HistogramContext::Thread => file.tool == HistogramTool::Timerlat,
        HistogramContext::Irq | HistogramContext::User | HistogramContext::Interruption => false,
    };
    let merged = HistogramSeries::merged(series.iter().copied());
    let avg = HistogramSeries::mean(series.iter().copied());
    MachineLatency::new(context.to_string(), is_wakeup, &merged, file.bucket_last, min, avg)
}
