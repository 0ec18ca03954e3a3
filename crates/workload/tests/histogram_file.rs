//! Histograms that tools wrote, as they are and with each kind of damage.

use std::fs;

use preemptlab_model::Ranked;
use preemptlab_workload::{HistogramContext, HistogramFile, HistogramSeries, HistogramTool};

fn text(name: &str) -> String {
    fs::read_to_string(format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn read(name: &str) -> HistogramFile {
    HistogramFile::parse(&text(name)).unwrap()
}

fn refusal(text: &str) -> String {
    HistogramFile::parse(text).unwrap_err().to_string()
}

#[test]
fn one_overflow_of_a_thread_is_its_maximum() {
    let file = read("cyclictest-overflow.hist");
    assert_eq!((file.tool, file.unit, file.bucket_last), (HistogramTool::Cyclictest, "us", 3));
    let counts: Vec<u64> = file.series.iter().map(|series| series.histogram.count()).collect();
    assert_eq!(counts, [599_999, 599_999]);
    let all = HistogramSeries::merged(&file.series);
    assert_eq!((all.count(), all.overflow(), all.max()), (1_199_998, 0, Some(493)));
    assert_eq!(all.quantile(100_000), Some(493));
    // 1,144,318 of 2 us and 55,678 of 3 us.
    assert_eq!(all.counts().collect::<Vec<_>>(), [(2, 1_144_318), (3, 55_678), (387, 1), (493, 1)]);
    let mean = HistogramSeries::mean(&file.series);
    assert!((mean - (2.0 * 1_144_318.0 + 3.0 * 55_678.0 + 880.0) / 1_199_998.0).abs() < 1e-9);
}

#[test]
fn a_quantile_among_several_overflows_is_known_from_below() {
    let mut text = text("cyclictest-overflow.hist").replace("00001 00001", "30000 00001");
    let file = HistogramFile::parse(&text).unwrap();
    let all = HistogramSeries::merged(&file.series);
    assert_eq!(all.count(), 1_199_996 + 30_001);
    assert_eq!(all.ranked(99_000, file.bucket_last), Some(Ranked::Above(3)));
    assert_eq!(all.ranked(50_000, file.bucket_last), Some(Ranked::Value(2)));
    assert_eq!(all.ranked(100_000, file.bucket_last), Some(Ranked::Value(493)));
    // A sample in no bucket cannot be smaller than the last one.
    text = text.replace("00493", "00002");
    assert!(refusal(&text).contains("30000 samples are in no bucket, yet the maximum 2 has one"));
}

#[test]
fn the_column_of_sums_is_no_thread() {
    let file = read("cyclictest-2.4-histofall.hist");
    assert_eq!(file.series.len(), 2);
    let whole = text("cyclictest-2.4-histofall.hist");
    let line = |name: &str| {
        let line = whole.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.split_whitespace().map(|word| word.parse::<u64>().unwrap()).collect::<Vec<_>>()
    };
    let (total, over) = (line("# Total:"), line("# Histogram Overflows:"));
    for (at, series) in file.series.iter().enumerate() {
        assert_eq!(series.histogram.count(), total[at] + over[at]);
    }
    assert_eq!(HistogramSeries::merged(&file.series).count(), total[2] + over[2]);
}

#[test]
fn newer_versions_leave_rows_and_the_total_out() {
    let sparse = "# Histogram\n000002 000005\n000004 000001\n# Min Latencies: 00002\n\
        # Avg Latencies: 00002\n# Max Latencies: 00004\n# Histogram Overflows: 00000\n\
        # Histogram Overflow at cycle number:\n# Thread 0:\n";
    let file = HistogramFile::parse(sparse).unwrap();
    assert_eq!(file.series[0].histogram.counts().collect::<Vec<_>>(), [(2, 5), (4, 1)]);
}

#[test]
fn the_json_of_cyclictest_tells_its_unit() {
    let file = read("rt-tests-2.6-fifo-2-cpus.json");
    assert_eq!((file.series.len(), file.unit), (2, "us"));
    let ns = text("rt-tests-2.6-fifo-2-cpus.json")
        .replace("\"resolution_in_ns\": 0", "\"resolution_in_ns\": 1");
    assert_eq!(HistogramFile::parse(&ns).unwrap().unit, "ns");
    assert!(refusal("{\"thread\": 1}").contains("it is no histogram"));
    let huge = ns.replace("\"avg\": ", "\"avg\": 99999999999999999999");
    assert!(refusal(&huge).contains("thread 0: a number is too large"), "{}", refusal(&huge));
    assert!(refusal("{\"thread\": ").contains("as JSON it is damaged"));
}

/// cyclictest writes the average of no samples as C writes zero divided by zero.
#[test]
fn a_thread_without_samples_is_one_of_the_json_too() {
    let none =
        r#""1": {"histogram": {}, "cycles": 0, "min": 1000000, "max": 0, "avg": -nan, "cpu": 1}"#;
    let some =
        r#""0": {"histogram": {"9": 2}, "cycles": 2, "min": 9, "max": 9, "avg": 9.00, "cpu": 0}"#;
    let of = |threads: &[&str]| {
        format!(r#"{{"resolution_in_ns": 0, "thread": {{{}}}}}"#, threads.join(","))
    };
    for none in [none, &none.replace("-nan", "nan")] {
        let file = HistogramFile::parse(&of(&[some, none])).unwrap();
        assert_eq!(file.series[1].histogram.count(), 0);
        assert_eq!(HistogramSeries::merged(&file.series).max(), Some(9));
        assert!(refusal(&of(&[none])).contains("it has no samples"));
    }
    let lost = some.replace("9.00", "-nan");
    assert!(refusal(&of(&[&lost])).contains("thread 0: its samples have no average"));
}

#[test]
fn timerlat_tells_its_contexts_apart() {
    let file = read("rtla-timerlat-user.hist");
    assert_eq!(
        file.contexts(),
        [HistogramContext::Irq, HistogramContext::Thread, HistogramContext::User]
    );
    let of = |context| {
        let series = file.series.iter().filter(move |series| series.context == context);
        HistogramSeries::merged(series.collect::<Vec<_>>())
    };
    let irq = of(HistogramContext::Irq);
    assert_eq!((irq.count(), irq.max(), irq.overflow()), (1999, Some(2), 0));
    let thread = of(HistogramContext::Thread);
    assert_eq!((thread.count(), thread.max(), thread.overflow()), (1999, Some(41), 0));
    let user = of(HistogramContext::User);
    assert_eq!((user.max(), user.overflow()), (Some(44), 2));
    // Of 1999 samples two are beyond: rank 1998 is known from below.
    assert_eq!(user.ranked(99_800, file.bucket_last), Some(Ranked::Value(9)));
    assert_eq!(user.ranked(99_900, file.bucket_last), Some(Ranked::Above(9)));
    assert_eq!(user.ranked(100_000, file.bucket_last), Some(Ranked::Value(44)));
    let ns = text("rtla-timerlat-user.hist").replace("microseconds (us)", "nanoseconds (ns)");
    assert_eq!(HistogramFile::parse(&ns).unwrap().unit, "ns");
}

#[test]
fn a_column_of_timerlat_without_samples_has_dashes() {
    let text = "# RTLA timerlat histogram\n# Time unit is microseconds (us)\n# Duration: 0 00:00:01\n\
        Index IRQ-001 Thr-001 Usr-001\n0 1 1 0\nover: 0 0 0\ncount: 1 1 0\nmin: 0 0 -\navg: 0 0 -\n\
        max: 0 0 -\nALL: IRQ Thr Usr\ncount: 1 1 0\nmin: 0 0 -\navg: 0 0 -\nmax: 0 0 -\n";
    let file = HistogramFile::parse(text).unwrap();
    assert_eq!(file.contexts(), [HistogramContext::Irq, HistogramContext::Thread]);
}

#[test]
fn the_last_bucket_of_oslat_holds_everything_beyond() {
    for (name, last) in [("oslat-2.4.out", 7), ("oslat-2.4-zero-omit.out", 31)] {
        let file = read(name);
        assert_eq!((file.tool, file.bucket_last), (HistogramTool::Oslat, last));
        let [one, other] = &file.series[..] else { panic!("{file:?}") };
        assert!(one.histogram.overflow() > 100 && one.histogram.max().unwrap() > 10_000);
        assert_eq!((one.number, other.number, one.min), (0, 1, 1));
        assert_eq!(one.context, HistogramContext::Interruption);
    }
    // Nothing is beyond where the maximum has the last bucket.
    let text = text("oslat-2.4.out").replace("84030 20025", "8 20025");
    let file = HistogramFile::parse(&text).unwrap();
    assert_eq!((file.series[0].histogram.overflow(), file.series[0].histogram.max()), (0, Some(8)));
}

/// Version 2.6 says one microsecond more in each row than in its minimum and maximum.
#[test]
fn rows_of_oslat_that_say_one_more_are_read_as_they_are_meant() {
    let file = read("oslat-2.6-2-cpus.out");
    assert_eq!((file.tool, file.bucket_last), (HistogramTool::Oslat, 1_022));
    let [one, other] = &file.series[..] else { panic!("{file:?}") };
    let ends = |series: &HistogramSeries| (series.histogram.min(), series.histogram.max());
    assert_eq!((ends(one), ends(other)), ((Some(1), Some(5)), (Some(1), Some(6))));
    assert_eq!((one.min, one.avg), (1, 1.0));
    assert_eq!(one.histogram.counts().nth(1), Some((2, 245)));
    // A CPU whose least row is its minimum is of another version, whose rows say what they mean.
    let text = text("oslat-2.6-2-cpus.out").replace("Minimum:\t 1 1", "Minimum:\t 2 1");
    assert!(refusal(&text).contains("CPU 0: its buckets do not have the minimum 2"));
}

#[test]
fn damage_is_named() {
    let sound = text("cyclictest-overflow.hist");
    for (from, to, said) in [
        ("# Max Latencies: 00493 00387\n", "", "it ends before the lines of minima"),
        ("000001 000000\t000000", "000001 000000", "line 4: 1 columns after rows of 2"),
        ("000003 ", "000002 ", "line 6: 2 is not above the row before"),
        ("564632", "564631", "thread 0: 599997 samples in the buckets, 599998 in the total"),
        ("00002 00002\n# Avg", "00001 00002\n# Avg", "the minimum 1"),
        ("000002 564632", "0x0002 564632", "line 5: `0x0002` is no whole number"),
        ("564632", "-564632", "line 5: `-564632` is no whole number"),
        ("564632", "99999999999999999", "is too large"),
        (
            "# Avg Latencies: 00002 00002",
            "# Avg Latencies: 00002",
            "other columns than the 2 minima",
        ),
        ("564632", "\u{1b}[2J", "`\\u{1b}[2J`"),
    ] {
        assert!(sound.contains(from), "{from:?}");
        let said_of_it = refusal(&sound.replace(from, to));
        assert!(said_of_it.contains(said), "{from:?}: {said_of_it}");
        assert!(!said_of_it.contains('\u{1b}'));
    }
    let twice = format!("{sound}{sound}");
    assert!(refusal(&twice).contains("line 16: another histogram begins"));
    let timerlat = text("rtla-timerlat-user.hist");
    for (from, to, said) in [
        ("Index ", "Inde ", "it has no line `Index`"),
        (
            "max:          2        41        44         1         2         9\n",
            "",
            "ends before its summary",
        ),
        (
            "count:     1000",
            "count:     1001",
            "CPU 1, timer interrupt: 1000 samples in the buckets",
        ),
        ("Usr-001", "Xyz-001", "the column `Xyz-001` is unknown"),
    ] {
        let whole = timerlat.replacen(from, to, 1);
        let cut = whole.split("ALL:").next().unwrap().to_owned();
        let said_of_it = refusal(&cut);
        assert!(said_of_it.contains(said), "{from:?}: {said_of_it}");
    }
    let oslat = text("oslat-2.4.out");
    assert!(
        refusal(&oslat.replace("(including overflows)", "")).contains("ends before its summary")
    );
    assert!(refusal("").contains("it is no histogram that `cyclictest -h`"));
    assert!(
        refusal(
            "# Histogram\n# Min Latencies:\n# Avg Latencies:\n# Max Latencies:\n\
        # Histogram Overflows:\n"
        )
        .contains("has no samples")
    );
}

#[test]
fn a_hostile_file_is_bounded() {
    let wide = format!("# Histogram\n0 {}\n", "1 ".repeat(30_000));
    assert!(refusal(&wide).contains("more than 24576 columns"));
    let large = " ".repeat(preemptlab_workload::HISTOGRAM_FILE_BYTES_MAX + 1);
    assert!(refusal(&large).contains("more than 64 MiB"));
    let mut rows = String::from("# Histogram\n");
    for row in 0..250 {
        rows += &format!("{row} {}\n", "1 ".repeat(20_000));
    }
    assert!(refusal(&rows).contains("more than 4000000 counts are not zero"));
}
