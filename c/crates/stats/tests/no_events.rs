//! Distributions in which nothing happened, and limits on them.

use preemptlab_model::{
    BackendKind, Direction, Distribution, Factors, MeasuredCell, Metric, PreemptMode,
};
use preemptlab_stats::{
    Answer, Question, Recommendation, Rule, Samples, Statistic, Verdict, compare, recommend,
};

const NONE: PreemptMode = PreemptMode::None;
const FULL: PreemptMode = PreemptMode::Full;

/// Returns a cell with this longest gap, or without any gap.
fn cell(preempt: PreemptMode, replicate: u32, gap_us: Option<f64>) -> MeasuredCell {
    let metric = |name: &str, value, unit: &str, direction| Metric {
        name: name.into(),
        value,
        unit: unit.into(),
        direction,
        resolution: 0.0,
    };
    let throughput = metric("throughput", 100.0, "loops/s", Direction::Higher);
    let gap = gap_us.map(|us| metric("gap.max", us, "us", Direction::Lower));
    MeasuredCell {
        samples: vec![(Distribution::Own("gap".into()), u64::from(gap_us.is_some()))],
        ..MeasuredCell::new(
            BackendKind::Vm,
            Factors {
                workload: "noise".into(),
                kernel: "debian:6.12".parse().unwrap(),
                preempt,
                machine: None,
                cpus: 2,
                settings: Default::default(),
                replicate,
            },
            Ok([gap, Some(throughput)].into_iter().flatten().collect()),
        )
    }
}

fn cells(preempt: PreemptMode, gap_us: impl Fn(u32) -> Option<f64>) -> Vec<MeasuredCell> {
    (1..=6).map(|replicate| cell(preempt, replicate, gap_us(replicate))).collect()
}

fn asked(cells: &[MeasuredCell], requirement: &str) -> Recommendation {
    let question =
        Question { requirements: vec![requirement.parse().unwrap()], ..Question::default() };
    recommend(cells, Rule::default(), &question).unwrap()
}

#[test]
fn a_cell_without_an_event_is_measured_and_keeps_its_numbers() {
    let all = [cells(NONE, |_| None), cells(FULL, |_| Some(50.0))].concat();
    let comparison = compare(&all, Rule::default()).unwrap();
    let [none, full] = &comparison.groups[0].configurations[..] else { panic!() };
    assert_eq!(none.summary(&"gap.max".into()), None);
    assert_eq!(none.summary(&"throughput".into()).unwrap().n, 6);
    let of = Distribution::Own("gap".into());
    assert_eq!(none.samples, [Samples { of, count: 0, cells: 6, empty: 6 }]);
    // There is no number to compare with.
    assert_eq!(full.summary(&"gap.max".into()).unwrap().effect, None);
    assert_eq!(
        compare(&all[..6], Rule::default()).unwrap().groups[0].configurations[0].measured(),
        6
    );
}

#[test]
fn some_cells_with_an_event_do_not_stand_for_all() {
    let some = cells(FULL, |replicate| (replicate > 1).then_some(10.0 + f64::from(replicate)));
    let all = [cells(NONE, |replicate| Some(500.0 + f64::from(replicate))), some].concat();
    let comparison = compare(&all, Rule::default()).unwrap();
    let effect = comparison.groups[0].configurations[1].summary(&"gap.max".into()).unwrap().effect;
    assert_eq!(effect.unwrap().verdict, Verdict::Undecided { more: None });
}

#[test]
fn a_limit_on_nothing_holds_as_far_as_the_windows_go() {
    let all = [cells(NONE, |_| None), cells(FULL, |_| Some(50.0))].concat();
    let answer = asked(&all, "gap.max<=40us");
    let [none, full] = &answer.candidates[..] else { panic!() };
    assert_eq!(none.judgements[0].statistic, Statistic::NoEvent);
    assert_eq!((none.judgements[0].answer, none.judgements[0].n), (Answer::Holds, 6));
    assert_eq!(full.judgements[0].answer, Answer::Fails);
    assert_eq!(answer.choice.unwrap().candidate, 0);
    // Where nothing happened in any cell the metric is known all the same.
    for requirement in ["gap.max<=40us", "gap.p99<=40us"] {
        let answer = asked(&cells(NONE, |_| None), requirement);
        assert_eq!(answer.candidates[0].judgements[0].answer, Answer::Holds, "{requirement}");
    }
}
