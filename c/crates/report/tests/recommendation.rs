//! Recommendations of realistic size and troubles, in every form.

use preemptlab_analysis::advice::Advice;
use preemptlab_model::{
    BackendKind, Digest, Direction, Factors, Kernel, KernelRef, MeasuredCell, Metric, NoResult,
    Package, PreemptMode,
};
use preemptlab_report::{
    Terminal, recommendation_csv, recommendation_json, recommendation_markdown,
    recommendation_terminal,
};
use preemptlab_stats::{Baseline, Question, Recommendation, Rule, recommend};
use preemptlab_system::tune::{Settings, Wanted};

const TERMINAL: Terminal = Terminal { width: 100, color: false };

/// Configurations with worst wakeup, 99th percentile of the fair probe, and throughput.
const MEDIANS: [(&str, [f64; 3]); 6] = [
    ("debian:6.12/none", [308.0, 922.0, 37_874.0]),
    ("debian:6.12/voluntary", [240.0, 880.0, 37_860.0]),
    ("debian:6.12/full", [32.0, 686.0, 36_493.0]),
    ("debian:6.12-rt/lazy", [15.0, 15_980.0, 27_450.0]),
    ("debian:7.2/full", [59.0, 401.0, 34_020.0]),
    ("debian:7.2/lazy", [37.0, 3_890.0, 36_507.0]),
];

fn factors(workload: &str, name: &str, replicate: u32) -> Factors {
    let Baseline { kernel, preempt, settings } = name.parse().unwrap();
    Factors {
        workload: workload.into(),
        kernel,
        preempt,
        machine: None,
        cpus: 1,
        settings,
        replicate,
    }
}

fn cell(workload: &str, name: &str, replicate: u32, medians: [f64; 3]) -> MeasuredCell {
    let shift = [0.0, 0.031, -0.024, 0.012, -0.009, 0.02, 0.008, -0.015][replicate as usize % 8];
    let metric = |name: &str, value: f64, unit: &str, direction| Metric {
        name: name.into(),
        value,
        unit: unit.into(),
        direction,
        resolution: 0.0,
    };
    let [max, p99, throughput] = medians;
    let us =
        |name, value: f64| metric(name, (value * (1.0 + shift)).round(), "us", Direction::Lower);
    let throughput = throughput * (1.0 + shift / 4.0);
    MeasuredCell {
        observed: Some(PreemptMode::Full),
        ..MeasuredCell::new(
            BackendKind::Vm,
            factors(workload, name, replicate),
            Ok(vec![
                us("wakeup.fifo.max", max),
                us("wakeup.other.p99", p99),
                metric("throughput", throughput, "messages/s", Direction::Higher),
            ]),
        )
    }
}

fn cells(workloads: &[(&str, f64)]) -> Vec<MeasuredCell> {
    let mut cells = Vec::new();
    for (workload, factor) in workloads {
        for (name, medians) in MEDIANS {
            let medians = medians.map(|median| median * factor);
            cells.extend((1..=8).map(|replicate| cell(workload, name, replicate, medians)));
        }
        let unavailable = "7.2.12+deb13-amd64 offers full, lazy only";
        let mut none = cell(workload, "debian:7.2/none", 1, [0.0; 3]);
        none.result = Err(NoResult::Unavailable(unavailable.into()));
        cells.push(none);
    }
    // One replicate hung; the others are still there.
    cells[16].result = Err(NoResult::Failed("the guest hung".into()));
    cells
}

fn answer(cells: &[MeasuredCell], requirements: &[&str]) -> Recommendation {
    let question = Question {
        requirements: requirements.iter().map(|text| text.parse().unwrap()).collect(),
        ..Question::default()
    };
    recommend(cells, Rule::default(), &question).unwrap()
}

/// Returns the recommendation with the settings of its kernel, which has this release.
fn advice(recommendation: &Recommendation, release: &str) -> Advice {
    let settings = recommendation.choice.as_ref().map(|choice| {
        let candidate = &recommendation.candidates[choice.candidate];
        let sha256 = Digest::of(release.as_bytes());
        let name: &KernelRef = &candidate.kernel;
        let package = Package {
            name: format!("linux-binary-{release}").parse().unwrap(),
            version: "7.2.12-1~bpo13+1".parse().unwrap(),
            sha256,
        };
        let kernel = Kernel {
            name: name.clone(),
            release: release.into(),
            image_sha256: sha256,
            packages: vec![package],
            rt: Some(false),
            modes: Some(vec![PreemptMode::Full, PreemptMode::Lazy]),
            hz: Some(250),
            source: None,
        };
        Ok(Settings::new(&Wanted {
            kernel: Some(&kernel),
            preempt: Some(candidate.preempt),
            cmdline: &["threadirqs".into()],
            settings: &candidate.settings,
            allowed: &[],
        }))
    });
    let recommendation = recommendation.clone();
    let (is_margin_default, is_baseline_default) = (true, true);
    Advice { recommendation, settings, next: None, is_margin_default, is_baseline_default }
}

const PROCESSES: [(&str, f64); 1] = [("processes", 1.0)];
const BOTH: [(&str, f64); 2] = [("processes", 1.0), ("threads", 1.1)];

#[test]
fn a_choice_in_one_workload() {
    let recommendation = answer(&cells(&PROCESSES), &["wakeup.max<=50us", "throughput>=70%"]);
    let advice = advice(&recommendation, "6.12.117+deb13-amd64");
    insta::assert_snapshot!(recommendation_terminal(&advice, TERMINAL));
    insta::assert_snapshot!(recommendation_csv(&recommendation));
}

#[test]
fn a_choice_over_two_workloads() {
    let recommendation = answer(&cells(&BOTH), &["wakeup.max<=50us", "wakeup.other.p99<=5ms"]);
    let mut advice = advice(&recommendation, "7.2.12+deb13-amd64");
    advice.next =
        Some(format!("preemptlab run quick.toml{}", " --metric wakeup.other.p99".repeat(5)));
    insta::assert_snapshot!(recommendation_terminal(&advice, TERMINAL));
    insta::assert_snapshot!(recommendation_markdown(&advice));
}

#[test]
fn no_choice() {
    let recommendation = answer(&cells(&BOTH), &["wakeup.max<=20us", "throughput>=95%"]);
    let advice = advice(&recommendation, "");
    insta::assert_snapshot!(recommendation_terminal(&advice, TERMINAL));
}

#[test]
fn json_holds_what_the_text_says() {
    let recommendation = answer(&cells(&BOTH), &["wakeup.max<=50us"]);
    let advice = advice(&recommendation, "7.2.12+deb13-amd64");
    let document: serde_json::Value = serde_json::from_str(&recommendation_json(&advice)).unwrap();
    let recommended = document["recommended"].as_u64().unwrap() as usize;
    assert_eq!(document["candidates"][recommended]["status"], "recommended");
    let runner_up = &document["candidates"][3];
    assert_eq!(runner_up["relations"][0][0], "throughput");
    assert_eq!(runner_up["relations"][0][1]["verdict"], "worse");
    assert_eq!(runner_up["requirements"][0]["answer"], "unclear");
    assert_eq!(runner_up["requirements"][0]["statistic"], "largest");
    assert_eq!(document["candidates"][0]["requirements"][0]["answer"], "fails");
    assert_eq!(document["candidates"][6]["status"], "unmeasured");
    assert_eq!(document["targets"].as_array().unwrap().len(), 3);
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for (workloads, requirements) in [
        (&PROCESSES[..], vec![]),
        (&BOTH[..], vec!["wakeup.max<=50us", "wakeup.other.p99<=5ms", "throughput>=50%"]),
        (&BOTH[..], vec!["wakeup.max<=20us", "throughput>=95%"]),
    ] {
        let recommendation = answer(&cells(workloads), &requirements);
        let advice = advice(&recommendation, "7.2.12+deb13-amd64");
        let text = recommendation_terminal(&advice, TERMINAL);
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        assert_eq!(text.matches("Times are virtual").count(), 1);
        assert!(text.contains("debian:7.2/none") && text.contains("offers full, lazy only"));
    }
}

#[test]
fn candidates_that_were_asked_for_are_named() {
    let text = |patterns: &[&str], requirement: &str| {
        let question = Question {
            requirements: vec![requirement.parse().unwrap()],
            among: patterns.iter().map(|text| text.parse().unwrap()).collect(),
            ..Question::default()
        };
        let recommendation = recommend(&cells(&PROCESSES), Rule::default(), &question).unwrap();
        let mut advice = advice(&recommendation, "7.2.12+deb13-amd64");
        advice.is_margin_default = false;
        recommendation_terminal(&advice, TERMINAL).replace('\n', " ")
    };
    let said = text(&["debian:7.2*"], "throughput>=50%");
    for part in [
        "Run debian:7.2/lazy",
        "The candidates are the 3 of 7 configurations that match debian:7.2*.",
        "The baseline is debian:6.12/none.",
        "every other candidate that satisfies every requirement is worse",
        "Not asked for, but the default, with the option to change it: throughput maximized \
         (--maximize or --minimize), the first configuration as the baseline (--baseline).",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!said.contains("debian:6.12/full"), "{said}");
    let one = text(&["debian:7.2/lazy"], "throughput>=50%");
    let said = "The candidate is the one of 7 configurations that matches debian:7.2/lazy.";
    assert!(one.contains(said), "{one}");
    let said = text(&["debian:7.2*", "*-rt/*"], "wakeup.max<=1us");
    let part = "No configuration of debian:7.2* or *-rt/* satisfies every requirement.";
    assert!(said.contains(part), "{said}");
}
