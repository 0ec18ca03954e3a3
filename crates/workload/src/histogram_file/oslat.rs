//! Output of oslat (`write_summary` in oslat.c): a row for each bucket, the last of which holds
//! everything beyond, too; with `-z` dots stand for rows without samples.
//!
//! Since version 2.6 each row counts the samples of one microsecond less than it says (`insert_bucket` takes a
//! time for the index of its bucket, `bucket_to_lat` adds one). `Minimum` and `Maximum` are right in every version,
//! and tell which one it was.

use preemptlab_model::Histogram;

use super::{
    error::{HistogramFileError, refused},
    file::HistogramFile,
    numbers::{Rows, checked, means, number, numbers},
    series::{Context, Series, Tool},
};

/// Reads a histogram.
///
/// # Errors
///
/// When it is damaged.
pub fn parse(text: &str) -> Result<HistogramFile, HistogramFileError> {
    let mut rows = Rows::default();
    let mut overflows = None;
    let (mut cpus, mut min, mut avg, mut max) = (None, None, None, None);
    for (at, line) in (1..).zip(text.lines().map(str::trim)) {
        let Some((name, of_cpus)) = line.split_once(':') else { continue };
        let of_cpus = of_cpus.trim();
        let values = of_cpus.strip_suffix("(us)").unwrap_or(of_cpus);
        match name {
            "Core" if cpus.is_some() => {
                return refused(format!(
                    "line {at}: another histogram begins: give each a file of its own"
                ));
            }
            "Core" => cpus = Some(numbers(at, of_cpus)?),
            "Minimum" => min = Some(numbers(at, values)?),
            "Average" => avg = Some(means(at, values.split("(us)").next().unwrap_or(values))?),
            "Maximum" => max = Some(numbers(at, values)?),
            _ => {
                let Some(value) = name.strip_suffix("(us)").map(str::trim) else { continue };
                if overflows.is_some() {
                    return refused(format!("line {at}: a row follows that of the overflows"));
                }
                let value = number(at, value)?;
                match of_cpus.strip_suffix("(including overflows)") {
                    // These values are not known one by one, unless none is beyond.
                    Some(counts) => overflows = Some((value, numbers(at, counts)?)),
                    None => rows.push(at, value, &numbers(at, of_cpus)?)?,
                }
            }
        }
    }
    let (Some(cpus), Some(min), Some(avg), Some(max), Some((last, overflows))) =
        (cpus, min, avg, max, overflows)
    else {
        return refused("it ends before its summary (`Minimum:` to `Maximum:`)".to_owned());
    };
    let mut buckets = rows.histograms();
    buckets.resize_with(buckets.len().max(cpus.len()), Default::default);
    let lengths = [buckets.len(), overflows.len(), min.len(), avg.len(), max.len()];
    if lengths.into_iter().any(|length| length != cpus.len()) {
        return refused(format!("its lines have other columns than the {} cores", cpus.len()));
    }
    let late = late_by(&buckets, &min);
    let last = last.saturating_sub(late);
    let bucket_last = last.saturating_sub(1);
    let mut series = Vec::new();
    for (index, (cpu, buckets)) in cpus.iter().zip(buckets).enumerate() {
        let (overflow, ends) = (overflows[index], [min[index], max[index]]);
        let name = format!("CPU {cpu}");
        let counts = buckets.counts().map(|(value, count)| (value.saturating_sub(late), count));
        let buckets = Histogram::new(counts);
        let histogram = match max[index] == last {
            true => Histogram::new(buckets.counts().chain([(last, overflow)])),
            false => checked(&name, buckets, overflow, bucket_last, ends)?,
        };
        let number = u32::try_from(*cpu).unwrap_or(u32::MAX);
        // The mean is that of the rows.
        let (min, avg) = (min[index], avg[index] - late as f64);
        series.push(Series { context: Context::Interruption, number, histogram, min, avg });
    }
    Ok(HistogramFile { tool: Tool::Oslat, unit: "us", bucket_last, series })
}

/// Returns by how many microseconds the rows say more than the samples in them took: by one where the least row of
/// every CPU is one above its minimum.
fn late_by(buckets: &[Histogram], min: &[u64]) -> u64 {
    let mut least =
        buckets.iter().zip(min).filter_map(|(buckets, min)| Some((buckets.min()?, *min)));
    let is_late = |(least, min): (u64, u64)| least.checked_sub(1) == Some(min);
    let has_any = buckets.iter().any(|buckets| buckets.count() > 0);
    u64::from(has_any && least.all(is_late))
}
