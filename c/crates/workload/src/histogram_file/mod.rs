//! Histograms of latencies that a tool wrote on a machine: `cyclictest -h`, `-H` and `--json`,
//! `rtla timerlat hist`, `rtla osnoise hist` and `oslat`. A file may come from a stranger: it is
//! bounded, and one that contradicts itself is refused rather than read in part.

mod cyclictest;
mod error;
mod file;
mod numbers;
mod oslat;
mod rtla;
mod series;

pub use error::HistogramFileError;
pub use file::HistogramFile;
pub use series::{Context, Series, Tool};

use error::refused;

/// The most bytes of a file that is read.
pub const HISTOGRAM_FILE_BYTES_MAX: usize = 64 << 20;

impl HistogramFile {
    /// Reads the text of a file.
    ///
    /// # Errors
    ///
    /// [`HistogramFileError`] when no known tool wrote it, or it is damaged, too large or has no samples.
    pub fn parse(text: &str) -> Result<Self, HistogramFileError> {
        if text.len() > HISTOGRAM_FILE_BYTES_MAX {
            return refused(format!("it has more than {} MiB", HISTOGRAM_FILE_BYTES_MAX >> 20));
        }
        let has = |marker: &str| text.lines().any(|line| line.trim_start().starts_with(marker));
        let file = match text {
            text if text.trim_start().starts_with('{') => cyclictest::json(text)?,
            _ if has("# Histogram") => cyclictest::parse(text)?,
            _ if has("# RTLA timerlat histogram") => rtla::parse(text, Tool::Timerlat)?,
            _ if has("# RTLA osnoise histogram") => rtla::parse(text, Tool::Osnoise)?,
            _ if has("oslat V") || has("Core:") => oslat::parse(text)?,
            _ => return Err(HistogramFileError::Unknown),
        };
        match file.series.iter().all(|series| series.histogram.count() == 0) {
            true => refused("it has no samples".to_owned()),
            false => Ok(file),
        }
    }
}
