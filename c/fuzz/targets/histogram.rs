//! Histograms that cyclictest, rtla and oslat write, or seem to: what is read has samples, and its merged
//! statistics are those of all of them.

#![no_main]

use libfuzzer_sys::fuzz_target;
use preemptlab_workload::{HistogramFile, HistogramSeries};

fuzz_target!(|text: &str| {
    let Ok(file) = HistogramFile::parse(text) else { return };
    assert!(!file.contexts().is_empty());
    for context in file.contexts() {
        let series: Vec<_> = file.series.iter().filter(|it| it.context == context).collect();
        let merged = HistogramSeries::merged(series.iter().copied());
        let counts = series.iter().map(|it| it.histogram.count());
        assert_eq!(merged.count(), counts.fold(0, u64::saturating_add));
        let largest = series.iter().filter_map(|it| it.histogram.max()).max();
        assert_eq!(merged.max(), largest);
        assert!(HistogramSeries::mean(series.iter().copied()).is_finite());
        for parts in [0, 50_000, 99_000, 99_900, 100_000] {
            assert!(merged.ranked(parts, file.bucket_last).is_some());
        }
    }
});
