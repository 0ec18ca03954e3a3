//! Tests of the analyses of recordings, without a virtual machine.

use std::path::PathBuf;

use preemptlab_analysis::{Compared, Error, GivenRule, Keep};
use preemptlab_experiment::RecordingWriter;
use preemptlab_model::{BackendKind, MetricName, RECORDING_FORMAT};
use preemptlab_recording::Until;
use preemptlab_stats::{GivenMargin, Verdict as Word};
use preemptlab_testkit::recorded::{Cell, TWO_MODES, record_on, recorded};

#[test]
fn a_recording_is_compared_with_the_baseline_that_is_named() {
    let (_folder, path) = recorded("a", |mode, replicate| match mode {
        "none" => Cell::Later(replicate.into()),
        _ => Cell::Measured,
    });
    let (compared, notices) =
        Compared::open(std::slice::from_ref(&path), Keep::Metrics, GivenRule::default()).unwrap();
    assert_eq!(notices, []);
    let comparison = compared.comparison().unwrap();
    let [none, full] = &comparison.groups[0].configurations[..] else { panic!() };
    assert_eq!(none.summary(&MetricName::FIFO_P99).unwrap().effect, None);
    let effect = full.summary(&MetricName::FIFO_P99).unwrap().effect.unwrap();
    assert_eq!(effect.verdict, Word::Better);

    let name = full.name().to_string();
    let (compared, _) = Compared::open(
        std::slice::from_ref(&path),
        Keep::Metrics,
        GivenRule { baseline: Some(&name), ..GivenRule::default() },
    )
    .unwrap();
    assert_eq!(compared.comparison().unwrap().groups[0].baseline, Some(1));
    let (compared, _) = Compared::open(
        &[path],
        Keep::Metrics,
        GivenRule { baseline: Some("debian:7.2/lazy"), ..GivenRule::default() },
    )
    .unwrap();
    let error = compared.comparison().unwrap_err();
    assert!(matches!(error, Error::Baseline(_)), "{error}");
}

#[test]
fn the_margins_of_a_recording_hold_before_the_usual_and_after_the_given_ones() {
    let (_folder, path) = recorded("a", |_, _| Cell::Measured);
    let parsed = |text: &str| vec![text.parse::<GivenMargin>().unwrap()];
    let (usual, given) = (parsed("20%"), parsed("30%"));
    let share = |margins: &[GivenMargin]| {
        let rule = GivenRule { baseline: None, margins, margins_usual: &usual };
        let compared = Compared::open(std::slice::from_ref(&path), Keep::Metrics, rule).unwrap().0;
        compared.rule().margins.share().to_string()
    };
    assert_eq!((share(&[]), share(&given)), ("20%".to_owned(), "30%".to_owned()));
    let until = |margin: &str| Until {
        format: RECORDING_FORMAT,
        margins: vec![margin.to_owned()],
        metrics: Vec::new(),
        baseline: None,
    };
    RecordingWriter::resume(&path).unwrap().begin_until(&until("10%")).unwrap();
    assert_eq!((share(&[]), share(&given)), ("10%".to_owned(), "30%".to_owned()));
    let (_folder, path) = recorded("b", |_, _| Cell::Measured);
    RecordingWriter::resume(&path).unwrap().begin_until(&until("ten")).unwrap();
    let error = Compared::open(&[path], Keep::Metrics, GivenRule::default()).err().unwrap();
    assert!(
        error.to_string().contains("until.json of a recording: `ten` is not a margin"),
        "{error}"
    );
}

#[test]
fn what_cannot_be_compared_is_refused_and_what_is_odd_is_said() {
    let (folder, path) = recorded("a", |_, _| Cell::Measured);
    let refused = |paths: &[PathBuf]| {
        Compared::open(paths, Keep::Metrics, GivenRule::default()).err().unwrap()
    };
    let twice = refused(&[path.clone(), path.clone()]);
    assert!(twice.to_string().ends_with("is named twice"), "{twice}");
    let absent = refused(&[folder.path().join("absent")]);
    assert!(matches!(absent, Error::Recording(_)), "{absent}");
    let host = folder.path().join("host");
    record_on(BackendKind::Host, &host, TWO_MODES, |_, _| Cell::Measured);
    let (compared, _) = Compared::open(&[host], Keep::Metrics, GivenRule::default()).unwrap();
    let disturbances = compared.comparison().unwrap().disturbances;
    assert!(disturbances.iter().any(|said| said.contains("powersave")), "{disturbances:?}");
}
