//! Output of `cyclictest -h`, `-H` and `--json` (`print_hist` and `write_stats` in cyclictest.c). Versions
//! from 2.0 on leave out rows without samples, older ones the line of totals.

use preemptlab_model::Histogram;

use super::{
    error::{HistogramFileError, quoted, refused},
    file::HistogramFile,
    numbers::{NUMBER_MAX, Rows, checked, number, numbers},
    series::{Context, Series, Tool},
};
use crate::cyclictest::Output;

/// Lines below the rows, which have a number for each thread.
#[derive(Default)]
struct Footer {
    total: Option<Vec<u64>>,
    min: Option<Vec<u64>>,
    avg: Option<Vec<u64>>,
    max: Option<Vec<u64>>,
    overflow: Option<Vec<u64>>,
}

/// Reads a histogram in text.
///
/// # Errors
///
/// When it is damaged.
pub fn parse(text: &str) -> Result<HistogramFile, HistogramFileError> {
    let (mut rows, mut footer) = (Rows::default(), Footer::default());
    let lines = (1..).zip(text.lines().map(str::trim));
    // A summary of the threads may stand before it.
    let lines = lines.skip_while(|(_, line)| !line.starts_with("# Histogram")).skip(1);
    for (at, line) in lines {
        match line.split_once(':') {
            _ if line.is_empty() => {}
            Some((name, of_threads)) if line.starts_with('#') => {
                footer.take(at, name, of_threads)?;
            }
            _ if line == "# Histogram" => {
                return refused(format!(
                    "line {at}: another histogram begins: give each a file of its own"
                ));
            }
            _ if line.starts_with('#') => {}
            _ => match line.split_once(|char: char| char.is_ascii_whitespace()) {
                Some((value, counts)) => {
                    rows.push(at, number(at, value)?, &numbers(at, counts)?)?;
                }
                None => return refused(format!("line {at}: {} is no row", quoted(line))),
            },
        }
    }
    footer.with(rows)
}

impl Footer {
    fn take(&mut self, at: usize, name: &str, of: &str) -> Result<(), HistogramFileError> {
        let place = match name {
            "# Total" => &mut self.total,
            "# Min Latencies" => &mut self.min,
            "# Avg Latencies" => &mut self.avg,
            "# Max Latencies" => &mut self.max,
            "# Histogram Overflows" => &mut self.overflow,
            _ => return Ok(()),
        };
        match place.replace(numbers(at, of)?) {
            None => Ok(()),
            Some(_) => refused(format!("line {at}: {} stands there twice", quoted(name))),
        }
    }

    fn with(self, rows: Rows) -> Result<HistogramFile, HistogramFileError> {
        let (Some(min), Some(avg), Some(max), Some(overflow)) =
            (self.min, self.avg, self.max, self.overflow)
        else {
            return refused(
                "it ends before the lines of minima, averages, maxima and overflows".to_owned(),
            );
        };
        let threads = min.len();
        let bucket_last = rows.last().unwrap_or(0);
        let mut buckets = rows.histograms();
        if buckets.is_empty() {
            buckets = vec![Histogram::default(); threads];
        }
        // With `-H` a column of the sums follows those of the threads, in some lines.
        let fits = |count: usize| count == threads || (threads > 1 && count == threads + 1);
        let columns = [buckets.len(), max.len(), overflow.len()];
        let total_fits = self.total.as_ref().is_none_or(|total| fits(total.len()));
        if avg.len() != threads || !columns.into_iter().all(fits) || !total_fits {
            return refused(format!("its lines have other columns than the {threads} minima"));
        }
        for (thread, buckets) in buckets.iter().take(threads).enumerate() {
            let counted = buckets.count();
            if let Some(total) = self.total.as_ref().map(|total| total[thread])
                && total != counted
            {
                return refused(format!(
                    "thread {thread}: {counted} samples in the buckets, {total} in the total"
                ));
            }
        }
        let series = buckets.into_iter().take(threads).enumerate().map(|(thread, buckets)| {
            let ends = [min[thread], max[thread]];
            let name = format!("thread {thread}");
            let histogram = checked(&name, buckets, overflow[thread], bucket_last, ends)?;
            let number = u32::try_from(thread).unwrap_or(u32::MAX);
            let (min, avg) = (min[thread], avg[thread] as f64);
            Ok(Series { context: Context::Wakeup, number, histogram, min, avg })
        });
        let series = series.collect::<Result<_, _>>()?;
        Ok(HistogramFile { tool: Tool::Cyclictest, unit: "us", bucket_last, series })
    }
}

/// Reads the file that `--json` names, which tells the unit, too.
///
/// # Errors
///
/// When it is damaged.
pub fn json(text: &str) -> Result<HistogramFile, HistogramFileError> {
    let output = match Output::parse(text) {
        Ok(output) => output,
        Err(error) if error.is_data() => return Err(HistogramFileError::Unknown),
        Err(error) => return refused(format!("as JSON it is damaged: {error}")),
    };
    let values = output.thread.values().filter_map(|of| of.histogram.keys().last());
    let bucket_last = values.max().copied().unwrap_or(0);
    let series = output.thread.iter().map(|(number, of)| {
        let name = format!("thread {number}");
        let avg = match of.avg {
            None if of.cycles > 0 => {
                return refused(format!("{name}: its samples have no average"));
            }
            avg => avg.unwrap_or(0.0),
        };
        let numbers = of.histogram.iter().flat_map(|(value, count)| [*value, *count]);
        let largest = numbers.chain([of.cycles, of.min, of.max]).max().unwrap_or(0);
        if largest > NUMBER_MAX || !(0.0..=NUMBER_MAX as f64).contains(&avg) {
            return refused(format!("{name}: a number is too large, or below zero"));
        }
        let buckets = Histogram::new(of.histogram.iter().map(|(value, count)| (*value, *count)));
        let Some(overflow) = of.cycles.checked_sub(buckets.count()) else {
            let (counted, cycles) = (buckets.count(), of.cycles);
            return refused(format!("{name}: {counted} samples in the buckets, {cycles} in all"));
        };
        // Without `-h` there are no buckets, and nothing is known but the ends.
        let histogram = checked(&name, buckets, overflow, bucket_last, [of.min, of.max])?;
        Ok(Series { context: Context::Wakeup, number: *number, histogram, min: of.min, avg })
    });
    let series = series.collect::<Result<_, _>>()?;
    let unit = if output.resolution_in_ns == 0 { "us" } else { "ns" };
    Ok(HistogramFile { tool: Tool::Cyclictest, unit, bucket_last, series })
}
