use super::series::{Context, Series, Tool};

/// Histogram file that a tool wrote.
#[derive(Clone, Debug, PartialEq)]
pub struct HistogramFile {
    /// Tool that wrote it.
    pub tool: Tool,
    /// Unit of its values, `us` or `ns`.
    pub unit: &'static str,
    /// Largest value with a bucket of its own, as far as the file tells. Samples in no bucket are above.
    pub bucket_last: u64,
    /// A series for each thread or CPU, and for each context that the tool tells apart.
    pub series: Vec<Series>,
}

impl HistogramFile {
    /// Returns the contexts that the file has samples of, in its order.
    pub fn contexts(&self) -> Vec<Context> {
        let mut contexts = Vec::new();
        for series in self.series.iter().filter(|series| series.histogram.count() > 0) {
            if !contexts.contains(&series.context) {
                contexts.push(series.context);
            }
        }
        contexts
    }
}
