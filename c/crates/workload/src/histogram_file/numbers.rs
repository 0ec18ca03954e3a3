//! Numbers of a line, and rows of counts.

use preemptlab_model::Histogram;

use super::error::{HistogramFileError, quoted, refused};

/// Largest number that is read: no run has as many samples or as long latencies.
pub const NUMBER_MAX: u64 = 1 << 50;

/// Most threads or CPUs, and contexts of each.
pub const COLUMNS_MAX: usize = 3 * 8192;

/// Most counts that are not zero, which are kept.
const COUNTS_MAX: usize = 4_000_000;

/// Reads a whole number.
///
/// # Errors
///
/// When it is none, or is too large.
pub fn number(line: usize, word: &str) -> Result<u64, HistogramFileError> {
    match word.parse::<u64>() {
        Ok(number) if number <= NUMBER_MAX && word.bytes().all(|byte| byte.is_ascii_digit()) => {
            Ok(number)
        }
        Ok(_) => refused(format!("line {line}: {} is too large", quoted(word))),
        Err(_) => refused(format!("line {line}: {} is no whole number", quoted(word))),
    }
}

/// Reads the whole numbers of a text.
///
/// # Errors
///
/// When one is none, or there are too many.
pub fn numbers(line: usize, text: &str) -> Result<Vec<u64>, HistogramFileError> {
    let words = text.split_ascii_whitespace().take(COLUMNS_MAX + 1);
    let numbers: Vec<u64> = words.map(|word| number(line, word)).collect::<Result<_, _>>()?;
    match numbers.len() {
        0..=COLUMNS_MAX => Ok(numbers),
        _ => refused(format!("line {line}: more than {COLUMNS_MAX} columns")),
    }
}

/// Reads the means of a text, which may have decimals.
///
/// # Errors
///
/// When one is not a number, or there are too many.
pub fn means(line: usize, text: &str) -> Result<Vec<f64>, HistogramFileError> {
    let mean = |word: &str| match word.parse::<f64>() {
        Ok(mean) if (0.0..=NUMBER_MAX as f64).contains(&mean) => Ok(mean),
        _ => refused(format!("line {line}: {} is no mean", quoted(word))),
    };
    let words = text.split_ascii_whitespace().take(COLUMNS_MAX + 1);
    let means: Vec<f64> = words.map(mean).collect::<Result<_, _>>()?;
    match means.len() {
        0..=COLUMNS_MAX => Ok(means),
        _ => refused(format!("line {line}: more than {COLUMNS_MAX} columns")),
    }
}

/// Rows of counts, by column.
#[derive(Default)]
pub struct Rows {
    columns: Vec<Vec<(u64, u64)>>,
    /// The value of the last row.
    last: Option<u64>,
    kept: usize,
}

impl Rows {
    /// Adds a row: the samples of one value, or beginning at it, in each column.
    ///
    /// # Errors
    ///
    /// When the row has other columns than the one before, or a value that is not above its.
    pub fn push(
        &mut self,
        line: usize,
        value: u64,
        counts: &[u64],
    ) -> Result<(), HistogramFileError> {
        if self.last.is_none() {
            self.columns = vec![Vec::new(); counts.len()];
        }
        if self.last.is_some_and(|last| value <= last) {
            return refused(format!("line {line}: {value} is not above the row before"));
        }
        if counts.len() != self.columns.len() || counts.is_empty() {
            let (has, before) = (counts.len(), self.columns.len());
            return refused(format!("line {line}: {has} columns after rows of {before}"));
        }
        self.last = Some(value);
        for (column, count) in self.columns.iter_mut().zip(counts).filter(|(_, count)| **count > 0)
        {
            column.push((value, *count));
            self.kept += 1;
        }
        match self.kept {
            0..=COUNTS_MAX => Ok(()),
            _ => refused(format!("more than {COUNTS_MAX} counts are not zero")),
        }
    }

    /// Returns the value of the last row.
    pub fn last(&self) -> Option<u64> {
        self.last
    }

    /// Returns the histograms of the columns.
    pub fn histograms(self) -> Vec<Histogram> {
        self.columns.into_iter().map(Histogram::new).collect()
    }
}

/// Returns a column's histogram with its overflow, after a check against the least and largest sample.
///
/// # Errors
///
/// When they contradict each other.
pub fn checked(
    name: &str,
    buckets: Histogram,
    overflow: u64,
    bucket_last: u64,
    [min, max]: [u64; 2],
) -> Result<Histogram, HistogramFileError> {
    let largest = buckets.max().unwrap_or(0);
    if overflow > 0 && max <= bucket_last {
        return refused(format!(
            "{name}: {overflow} samples are in no bucket, yet the maximum {max} has one"
        ));
    }
    let has_samples = buckets.count() > 0;
    if has_samples && (max < largest || buckets.min().is_some_and(|least| min < least)) {
        return refused(format!(
            "{name}: its buckets do not have the minimum {min} and the maximum {max}"
        ));
    }
    Ok(buckets.with_overflow(overflow, max))
}
