//! Cells of a recording and their traces, without a virtual machine.

use preemptlab_analysis::{
    Error,
    explain::{Confirmation, Hunt, choose, client, probed},
};
use preemptlab_model::{MetricName, PreemptMode};
use preemptlab_testkit::traced::{Traced, untraced};

#[test]
fn a_cell_is_chosen_by_its_name_or_its_worst_wakeup() {
    let folder = tempfile::tempdir().unwrap();
    let recording = untraced(folder.path(), |_| {});
    let named = |name: Option<&str>| choose(&recording, name, &MetricName::latest(false));
    // Every report is the same one: the first cell is as bad as any.
    let worst = named(None).unwrap().factors.to_string();
    assert_eq!(worst, "debian:6.12.107+deb13 full processes on 1 CPU #1");
    let full = named(Some("full #1")).unwrap();
    assert_eq!(full.factors.replicate, 1);
    assert_eq!(named(Some("6.12.107+deb13 full #1")).unwrap().id, full.id);
    assert_eq!(named(Some(&full.id.to_string()[..8])).unwrap().id, full.id);
    for (name, said) in [
        ("lazy", "no finished cell is called `lazy`; name one of these"),
        ("6.12 full", "no finished cell is called `6.12 full`; name one of these"),
        ("processes", "names 4 cells of several configurations"),
    ] {
        let error = named(Some(name)).unwrap_err();
        assert!(matches!(&error, Error::Unusable(text) if text.contains(said)), "{error}");
    }
}

#[test]
fn a_load_without_response_times_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let recording = untraced(folder.path(), |_| {});
    let cell = choose(&recording, None, &MetricName::latest(false)).unwrap();
    let error = client(&recording, &cell).unwrap_err();
    assert!(error.to_string().contains("processes has no response times"), "{error}");
}

#[test]
fn a_label_names_the_cells_of_its_kernel() {
    let folder = tempfile::tempdir().unwrap();
    let recording = untraced(folder.path(), |manifest| {
        manifest.experiment.factors.kernel[0].label = Some("base".parse().unwrap());
    });
    let cell = choose(&recording, Some("base full"), &MetricName::latest(false)).unwrap();
    assert_eq!(cell.factors.preempt, PreemptMode::Full);
    let error = choose(&recording, Some("new"), &MetricName::latest(false)).unwrap_err();
    assert!(error.to_string().contains("base debian:"), "{error}");
}

#[test]
fn what_has_no_trace_is_not_confirmed() {
    let folder = tempfile::tempdir().unwrap();
    let recording = untraced(folder.path(), |_| {});
    let cell = choose(&recording, None, &MetricName::latest(false)).unwrap();
    let error = Confirmation::new(&recording, &cell).err().unwrap();
    assert!(error.to_string().contains("lacks the layout"), "{error}");
}

#[test]
fn a_search_needs_the_trace_of_every_cell() {
    let folder = tempfile::tempdir().unwrap();
    let traced = Traced::new(folder.path());
    let cells = probed(&traced.recording, Some("full")).unwrap().remove(0);
    let error = Hunt::new(&traced.recording, cells).unwrap_err();
    assert!(error.to_string().contains("has no trace"), "{error}");
}
