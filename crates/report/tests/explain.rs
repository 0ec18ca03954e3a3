//! Causes and cures of traced cells in words and as pictures, without a virtual machine.

use preemptlab_analysis::{
    Error, WhatIf,
    explain::{
        Explanation, Hunt, Patched, Ranking, Searched, TraceForm, check_probe, choose, export,
        probed,
    },
};
use preemptlab_model::MetricName;
use preemptlab_report::{
    Terminal, explanation_svg, explanation_terminal, patched_terminal, ranking_table,
    searched_terminal,
};
use preemptlab_testkit::traced::{Traced, untraced};

const TERMINAL: Terminal = Terminal { width: 100, color: false };

#[test]
fn a_traced_wakeup_is_explained_beside_its_sibling() {
    let folder = tempfile::tempdir().unwrap();
    let traced = Traced::new(folder.path());
    let cell = choose(&traced.recording, Some(&traced.id.to_string()), &MetricName::latest(false))
        .unwrap();
    check_probe(&traced.recording, &cell, false).unwrap();
    let mut explanation = Explanation::new(&traced.recording, &cell, false, 2).unwrap();
    // Preemption is off in its trace: no other mode of the kernel acts on that.
    assert!(explanation.sibling().unwrap().is_none());
    let text = explanation_terminal(&explanation, TERMINAL);
    for part in [
        "the worst of 20 wakeups",
        "What would help: ",
        "has no such configuration",
        "At every instant",
        "The parts of the latency of 20 wakeups",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // Nor does this one: its trace is the same.
    let full = "debian:6.12.107+deb13 full processes on 1 CPU #1";
    explanation
        .compare(choose(&traced.recording, Some(full), &MetricName::latest(false)).unwrap())
        .unwrap();
    let text = explanation_terminal(&explanation, TERMINAL);
    assert!(text.contains(&format!("does not show that it would: in {full}")), "{text}");
    assert_eq!(text.matches(" us late: cyclictest/").count(), 1, "{text}");
    let document = serde_json::to_value(explanation.document()).unwrap();
    assert_eq!(document["sibling"]["removed"], false);
    assert_eq!(document["sibling"]["cause_ns"], document["sibling"]["cause_ns_max"]);
    assert_eq!(document["worst"].as_array().unwrap().len(), 2);
    let split = &document["worst"][0]["split"];
    let parts = ["irq_ns", "thread_ns", "user_ns"].map(|part| split[part].as_u64().unwrap());
    assert_eq!(parts.iter().sum::<u64>(), document["worst"][0]["latency_ns"]);
    let irq = &document["splits"]["irq"];
    assert_eq!((irq["wakeups"].as_u64(), irq["max_ns"].as_u64()), (Some(20), Some(parts[0])));
    assert!(explanation_svg(&explanation).starts_with("<svg"));
    assert!(explanation.next().unwrap().contains(" zoom "));
    let mut text = Vec::new();
    export(&traced.recording, &cell, TraceForm::Ftrace, &mut text, |error| error.to_string())
        .unwrap();
    assert!(String::from_utf8(text).unwrap().contains("sched_switch"));
}

#[test]
fn wakeups_with_one_cause_are_one_row() {
    let folder = tempfile::tempdir().unwrap();
    let traced = Traced::new(folder.path());
    let cell = choose(&traced.recording, Some(&traced.id.to_string()), &MetricName::latest(false))
        .unwrap();
    let explanation = Explanation::new(&traced.recording, &cell, false, 20).unwrap();
    let text = explanation_terminal(&explanation, TERMINAL);
    let row = text.lines().find(|line| line.trim_start().starts_with("20 ")).unwrap();
    assert!(row.ends_with("preemption was off in do_nanosleep"), "{text}");
    assert_eq!(text.matches(" us late: cyclictest/").count(), 1, "{text}");
    let document = serde_json::to_value(explanation.document()).unwrap();
    assert_eq!(document["worst"].as_array().unwrap().len(), 20);
    assert_eq!(document["causes"].as_array().unwrap().len(), 1);
    assert_eq!(document["causes"][0]["ordinals"].as_array().unwrap().len(), 20);
}

#[test]
fn sections_are_ranked_over_the_traced_cells() {
    let folder = tempfile::tempdir().unwrap();
    let recording = untraced(folder.path(), |_| {});
    let error = Ranking::new(&recording, false).unwrap_err();
    assert!(error.to_string().contains("no cell of"), "{error}");
    let other = tempfile::tempdir().unwrap();
    let traced = Traced::new(other.path());
    let ranking = Ranking::new(&traced.recording, false).unwrap();
    let document = serde_json::to_value(&ranking).unwrap();
    assert_eq!(document["configurations"].as_array().unwrap().len(), 2);
    assert!(
        ranking_table(&ranking).terminal(TERMINAL).contains("debian:6.12.107+deb13/none processes")
    );
}

#[test]
fn the_worst_wakeup_of_a_configuration_is_searched() {
    let folder = tempfile::tempdir().unwrap();
    let traced = Traced::new(folder.path());
    let configurations = probed(&traced.recording, None).unwrap();
    assert_eq!(configurations.iter().map(Vec::len).collect::<Vec<_>>(), [2]);
    let error = probed(&traced.recording, Some("lazy")).unwrap_err();
    assert!(error.to_string().contains("no finished cell called `lazy`"), "{error}");
    let cells = probed(&traced.recording, Some("full #1")).unwrap().remove(0);
    let mut hunt = Hunt::new(&traced.recording, cells).unwrap();
    let recorded_ns = hunt.recorded_ns();
    assert!(recorded_ns > 0);
    assert_eq!(hunt.worst().latency_ns, recorded_ns);
    // An execution in which no timer could be moved finds nothing, and its instants are not tried again.
    let mut executions = 0;
    while let Some((cell, program)) = hunt.next_execution() {
        assert!(!program.inject.is_empty());
        let mut stream = tempfile::tempfile().unwrap();
        let mut recorded = traced.recording.traces().stream(cell.id()).unwrap().unwrap();
        std::io::copy(&mut recorded, &mut stream).unwrap();
        std::io::Seek::rewind(&mut stream).unwrap();
        hunt.take(stream).unwrap();
        executions += 1;
        assert!(executions < 100);
    }
    assert!(hunt.is_exhausted());
    assert_eq!((hunt.executions(), hunt.worst().is_moved), (executions, false));
    assert_eq!(hunt.growth().len(), 1);
    let searched = Searched::new(vec![hunt]);
    let text = searched_terminal(&searched, TERMINAL);
    assert!(text.contains("debian:6.12.107+deb13/full"), "{text}");
    let document = serde_json::to_value(&searched).unwrap();
    assert_eq!(document["configurations"][0]["worst_ns"], recorded_ns);
    assert_eq!(document["configurations"][0]["exhausted"], true);
}

#[test]
fn a_patch_is_computed_from_the_trace_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let traced = Traced::new(folder.path());
    let cell = choose(&traced.recording, Some(&traced.id.to_string()), &MetricName::latest(false))
        .unwrap();
    let patched = |changes: &[&str]| {
        let what_if: Vec<WhatIf> = changes.iter().map(|change| change.parse().unwrap()).collect();
        Patched::new(&traced.recording, &cell, &what_if, 2).map(|patched| {
            let text = patched_terminal(&patched, TERMINAL).replace('\n', " ");
            (text, serde_json::to_value(patched.document()).unwrap())
        })
    };
    let (text, document) = patched(&["preemptible=do_nanosleep"]).unwrap();
    for part in [
        "what if preemptible=do_nanosleep",
        "at 99.9 % of all instants",
        ", the worst of 20",
        "With `do_nanosleep` preemptible a task due at the worst instant would be ",
        "The longest stretch without a switch is then ",
        "at some instants only",
        "nothing was executed",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let ns = |document: &serde_json::Value, path: &str| document.pointer(path).unwrap().as_u64();
    assert!(ns(&document, "/after/max_ns") < ns(&document, "/before/max_ns"), "{document:#}");
    assert_eq!(ns(&document, "/worst/0/latency_ns"), Some(21_050));
    assert_eq!(ns(&document, "/worst/1/latency_ns_after"), Some(140));
    assert_eq!(document["executed"], false);

    let both = ["cut=do_nanosleep:10us", "cut=asm_exc_page_fault:1us", "preemptible=asm_exit"];
    let (text, document) = patched(&both).unwrap();
    let said = "With sections of `do_nanosleep` cut to 10 us and sections of `asm_exc_page_fault` cut \
                to 1 us and `asm_exit` preemptible a task";
    assert!(text.contains(said), "{text}");
    assert_eq!(document["what_if"], serde_json::json!(both));

    let (text, document) = patched(&["cut=do_nanosleep:1s"]).unwrap();
    for part in ["would still be ", "lasts 59.9 us: there is nothing to cut", "removes nothing"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(document["before"], document["after"]);
    let (text, _) = patched(&["preemptible=entry_SYSCALL_64"]).unwrap();
    assert!(text.contains("turns interrupts off, for at most "), "{text}");

    let Err(Error::Unusable(said)) = patched(&["preemptible=do_nanosleeep"]) else { panic!() };
    assert!(
        said.contains("never meets `do_nanosleeep`; nearest by name: `do_nanosleep`"),
        "{said}"
    );
    assert!(said.contains("preemptlab explain ") && said.ends_with(" ranking"), "{said}");
}
