/// Reason why a file is not read as a histogram.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HistogramFileError {
    /// No known tool wrote it.
    #[error(
        "it is no histogram that `cyclictest -h` or `--json`, `rtla timerlat hist`, `rtla osnoise hist` \
         or `oslat` wrote"
    )]
    Unknown,
    /// It is damaged, contradicts itself, or is beyond a bound.
    #[error("{0}")]
    Refused(String),
}

/// Refuses a file for this reason.
pub fn refused<T>(reason: String) -> Result<T, HistogramFileError> {
    Err(HistogramFileError::Refused(reason))
}

/// Returns the beginning of a file's word in quotes, without anything that steers a terminal.
pub fn quoted(word: &str) -> String {
    const SHOWN: usize = 40;
    let shown: String = word.chars().take(SHOWN).collect();
    let rest = if shown.len() < word.len() { "..." } else { "" };
    format!("`{}{rest}`", shown.escape_debug())
}
