//! Output of `rtla timerlat hist` and `rtla osnoise hist` (`timerlat_hist.c`, `osnoise_hist.c` in the
//! kernel's tools/tracing/rtla): a column for each CPU and context, a row for each bucket that holds
//! samples, named by its lower end, and a summary.

use super::{
    error::{HistogramFileError, quoted, refused},
    file::HistogramFile,
    numbers::{COLUMNS_MAX, Rows, checked, means, number, numbers},
    series::{Context, Series, Tool},
};

/// Lines below the rows. A column without samples has a `-` for a missing value.
#[derive(Default)]
struct Summary {
    over: Option<Vec<u64>>,
    count: Option<Vec<u64>>,
    min: Option<Vec<u64>>,
    avg: Option<Vec<f64>>,
    max: Option<Vec<u64>>,
}

/// Reads a histogram.
///
/// # Errors
///
/// When it is damaged.
pub fn parse(text: &str, tool: Tool) -> Result<HistogramFile, HistogramFileError> {
    let mut unit = "us";
    let mut columns: Option<Vec<(Context, u32)>> = None;
    let (mut rows, mut summary) = (Rows::default(), Summary::default());
    for (at, line) in (1..).zip(text.lines().map(str::trim)) {
        let (word, rest) = line.split_once(|c: char| c.is_ascii_whitespace()).unwrap_or((line, ""));
        match word {
            "" => {}
            "#" if rest.starts_with("RTLA") && columns.is_some() => {
                return refused(format!(
                    "line {at}: another histogram begins: give each a file of its own"
                ));
            }
            "#" if rest.contains("nanoseconds") => unit = "ns",
            "#" => {}
            "Index" if columns.is_none() => columns = Some(names(at, rest, tool)?),
            // The sums of all CPUs, and the lines of `--auto-analysis`.
            "ALL:" => break,
            _ if columns.is_none() => {}
            "over:" => summary.over = Some(numbers(at, &rest.replace('-', "0"))?),
            "count:" => summary.count = Some(numbers(at, &rest.replace('-', "0"))?),
            "min:" => summary.min = Some(numbers(at, &rest.replace('-', "0"))?),
            "avg:" => summary.avg = Some(means(at, &rest.replace('-', "0"))?),
            "max:" => summary.max = Some(numbers(at, &rest.replace('-', "0"))?),
            _ if summary.max.is_some() => break,
            _ => rows.push(at, number(at, word)?, &numbers(at, rest)?)?,
        }
    }
    match columns {
        Some(columns) => summary.with(&columns, rows, tool, unit),
        None => refused(
            "it has no line `Index` that names the columns: leave --no-header and --no-index out"
                .to_owned(),
        ),
    }
}

/// Reads the names of the columns, such as `IRQ-000` and `Thr-000`.
fn names(at: usize, text: &str, tool: Tool) -> Result<Vec<(Context, u32)>, HistogramFileError> {
    let name = |word: &str| {
        let (kind, number) = word.split_once('-').unwrap_or((word, ""));
        let context = match (tool, kind) {
            (Tool::Timerlat, "IRQ") => Context::Irq,
            (Tool::Timerlat, "Thr") => Context::Thread,
            (Tool::Timerlat, "Usr") => Context::User,
            (Tool::Osnoise, "CPU") => Context::Interruption,
            _ => return refused(format!("line {at}: the column {} is unknown", quoted(word))),
        };
        match number.parse::<u32>() {
            Ok(number) => Ok((context, number)),
            Err(_) => refused(format!("line {at}: the column {} has no CPU", quoted(word))),
        }
    };
    let columns: Vec<(Context, u32)> =
        text.split_ascii_whitespace().take(COLUMNS_MAX + 1).map(name).collect::<Result<_, _>>()?;
    match columns.len() {
        1..=COLUMNS_MAX => Ok(columns),
        _ => refused(format!("line {at}: it names no column, or too many")),
    }
}

impl Summary {
    fn with(
        self,
        columns: &[(Context, u32)],
        rows: Rows,
        tool: Tool,
        unit: &'static str,
    ) -> Result<HistogramFile, HistogramFileError> {
        let (Some(over), Some(count), Some(min), Some(avg), Some(max)) =
            (self.over, self.count, self.min, self.avg, self.max)
        else {
            return refused("it ends before its summary (`over:` to `max:`)".to_owned());
        };
        let bucket_last = rows.last().unwrap_or(0);
        let mut buckets = rows.histograms();
        buckets.resize_with(buckets.len().max(columns.len()), Default::default);
        let lengths = [buckets.len(), over.len(), count.len(), min.len(), avg.len(), max.len()];
        if lengths.into_iter().any(|length| length != columns.len()) {
            return refused(format!(
                "its lines have other columns than the {} named",
                columns.len()
            ));
        }
        let mut series = Vec::new();
        for (index, ((context, number), buckets)) in columns.iter().zip(buckets).enumerate() {
            let (counted, over, count) = (buckets.count(), over[index], count[index]);
            let name = format!("CPU {number}, {context}");
            if counted.saturating_add(over) != count {
                return refused(format!(
                    "{name}: {counted} samples in the buckets and {over} beyond, {count} in all"
                ));
            }
            let histogram = match count {
                0 => buckets,
                // A bucket may hold several values: the least sample is in it, and not below.
                _ => checked(&name, buckets, over, bucket_last, [min[index], max[index]])?,
            };
            let (context, number) = (*context, *number);
            series.push(Series { context, number, histogram, min: min[index], avg: avg[index] });
        }
        Ok(HistogramFile { tool, unit, bucket_last, series })
    }
}
