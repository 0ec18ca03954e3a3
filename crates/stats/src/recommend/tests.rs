use preemptlab_model::{BackendKind, CellCost, Factors, Metric, NoResult, PreemptMode, PricesOf};

use super::*;
use crate::Verdict;

/// Returns a cell with this worst wakeup and throughput.
fn cell(workload: &str, name: &str, replicate: u32, max_us: f64, throughput: f64) -> MeasuredCell {
    let name: crate::Baseline = name.parse().unwrap();
    let metric = |name: &str, value, unit: &str, direction| Metric {
        name: name.into(),
        value,
        unit: unit.into(),
        direction,
        resolution: 0.0,
    };
    MeasuredCell {
        observed: Some(PreemptMode::Full),
        ..MeasuredCell::new(
            BackendKind::Vm,
            Factors {
                workload: workload.into(),
                kernel: name.kernel,
                preempt: name.preempt,
                machine: None,
                cpus: 1,
                settings: name.settings,
                replicate,
            },
            Ok(vec![
                metric("wakeup.fifo.max", max_us, "us", Direction::Lower),
                metric("throughput", throughput, "messages/s", Direction::Higher),
            ]),
        )
    }
}

/// Returns eight replicates, which differ by some per mille.
fn cells(workload: &str, name: &str, max_us: f64, throughput: f64) -> Vec<MeasuredCell> {
    let noise = |replicate: u32| 1.0 + f64::from(replicate * 7 % 8) * 0.001;
    (1..=8)
        .map(|replicate| {
            let noise = noise(replicate);
            cell(workload, name, replicate, max_us * noise, throughput * noise)
        })
        .collect()
}

const NONE: &str = "debian:6.12/none";
const FULL: &str = "debian:6.12/full";
const LAZY: &str = "debian:7.2/lazy";
const RT: &str = "debian:6.12-rt/full";

fn four(workload: &str) -> Vec<MeasuredCell> {
    [
        cells(workload, NONE, 900.0, 50_000.0),
        cells(workload, FULL, 90.0, 40_000.0),
        cells(workload, LAZY, 80.0, 45_000.0),
        cells(workload, RT, 20.0, 30_000.0),
    ]
    .concat()
}

/// A configuration that is ahead on one machine and as far behind on another is not the best of both.
#[test]
fn machines_are_related_to_themselves_alone() {
    let of = |machine: &str, none: f64, full: f64| {
        let cost = CellCost::Prices {
            of: PricesOf {
                profile: machine.parse().unwrap(),
                has_caches: false,
                has_stolen: false,
            },
            machine: machine.parse().unwrap(),
            checked: None,
        };
        let cells = [cells("load", NONE, 90.0, none), cells("load", FULL, 90.0, full)].concat();
        let on = move |mut cell: MeasuredCell| {
            cell.factors.machine = Some(machine.parse().unwrap());
            cell.cost = Some(cost.clone());
            cell
        };
        cells.into_iter().map(on).collect::<Vec<_>>()
    };
    let certainty =
        |cells: &[MeasuredCell]| ask(cells, &[]).unwrap().choice.map(|choice| choice.certainty());
    let both = [of("metal", 60_000.0, 30_000.0), of("guest", 30_000.0, 60_000.0)].concat();
    assert_ne!(certainty(&both), Some(Certainty::Sure));
    let alike = [of("metal", 60_000.0, 30_000.0), of("guest", 60_000.0, 30_000.0)].concat();
    assert_eq!(certainty(&alike), Some(Certainty::Sure));
}

fn ask(cells: &[MeasuredCell], requirements: &[&str]) -> Result<Recommendation, RecommendError> {
    let question = Question {
        requirements: requirements.iter().map(|text| text.parse().unwrap()).collect(),
        ..Question::default()
    };
    recommend(cells, Rule::default(), &question)
}

fn ask_among(cells: &[MeasuredCell], patterns: &[&str]) -> Result<Recommendation, RecommendError> {
    let among = patterns.iter().map(|text| text.parse().unwrap()).collect();
    recommend(cells, Rule::default(), &Question { among, ..Question::default() })
}

fn chosen(recommendation: &Recommendation) -> Option<String> {
    let choice = recommendation.choice.as_ref()?;
    Some(recommendation.candidates[choice.candidate].name().to_string())
}

#[test]
fn the_best_of_those_that_satisfy_everything_is_recommended() {
    for (requirements, expected) in [
        (vec![], Some(NONE)),
        (vec!["wakeup.max<=100us"], Some(LAZY)),
        (vec!["wakeup.max<=85us", "throughput>=44k"], Some(LAZY)),
        (vec!["wakeup.max<=50us"], Some(RT)),
        (vec!["wakeup.max<=10%"], Some(LAZY)),
        (vec!["wakeup.max<=10us"], None),
    ] {
        let answer = ask(&four("w"), &requirements).unwrap();
        assert_eq!(chosen(&answer).as_deref(), expected, "{requirements:?}");
    }
}

#[test]
fn the_others_are_related_to_the_recommended_one() {
    let answer = ask(&four("w"), &["wakeup.max<=100us"]).unwrap();
    let choice = answer.choice.as_ref().unwrap();
    assert_eq!((choice.certainty(), choice.preference), (Certainty::Sure, Preference::Objective));
    let [full, rt] = choice.runners_up.as_slice() else { panic!("{choice:?}") };
    assert_eq!(answer.candidates[full.candidate].name().to_string(), FULL);
    assert_eq!(full.objective.unwrap().verdict, Verdict::Worse);
    assert_eq!(full.constrained[0].unwrap().verdict, Verdict::Worse);
    assert_eq!(rt.constrained[0].unwrap().verdict, Verdict::Better);
    assert!((rt.objective.unwrap().ratio.unwrap() - 2.0 / 3.0).abs() < 1e-9);
    assert_eq!(answer.short_names, [("wakeup.max".into(), "wakeup.fifo.max".into())]);
}

#[test]
fn a_share_of_the_baseline_is_a_limit() {
    let answer = ask(&four("w"), &["throughput>=85%"]).unwrap();
    let limits: Vec<f64> = answer.candidates.iter().map(|it| it.judgements[0].limit).collect();
    let median =
        answer.comparison.groups[0].configurations[0].summary(&"throughput".into()).unwrap();
    assert!(limits.iter().all(|limit| *limit == 0.85 * median.median));
    let answers: Vec<Answer> = answer.candidates.iter().map(|it| it.judgements[0].answer).collect();
    assert_eq!(answers, [Answer::Holds, Answer::Fails, Answer::Holds, Answer::Fails]);
}

#[test]
fn every_group_counts() {
    // In the other workload the lazy kernel is as slow to wake as the one without preemption.
    let mut all = four("w");
    all.extend(cells("x", NONE, 900.0, 80_000.0));
    all.extend(cells("x", FULL, 90.0, 72_000.0));
    all.extend(cells("x", LAZY, 900.0, 76_000.0));
    all.extend(cells("x", RT, 20.0, 60_000.0));
    let answer = ask(&all, &["wakeup.max<=100us"]).unwrap();
    assert_eq!(chosen(&answer).as_deref(), Some(FULL));
    let full = answer.candidates[1].standing.unwrap();
    assert!((full.value - libm::sqrt(0.8 * 0.9)).abs() < 1e-9, "{full:?}");
    assert_eq!((full.groups, answer.candidates[1].judgements.len()), (2, 2));
    let relation = answer.choice.unwrap().runners_up[0].objective.unwrap();
    assert!((relation.ratio.unwrap() - libm::sqrt(0.75 * 60.0 / 72.0)).abs() < 1e-9);
    assert_eq!(relation.verdict, Verdict::Worse);
}

#[test]
fn what_failed_in_one_group_is_not_recommended() {
    let mut all = four("w");
    all.extend(cells("x", NONE, 900.0, 80_000.0));
    all.extend(cells("x", FULL, 90.0, 72_000.0));
    let mut hung = cells("x", LAZY, 90.0, 76_000.0);
    hung.iter_mut().for_each(|cell| cell.result = Err(NoResult::Failed("it hung".into())));
    all.extend(hung);
    let answer = ask(&all, &["wakeup.max<=100us"]).unwrap();
    assert_eq!(chosen(&answer).as_deref(), Some(FULL));
    assert_eq!(answer.candidates[2].missing, [Missing { group: Some(1), metric: None }]);
    // It was never meant to run there, and so nothing is missing.
    assert_eq!(
        (&answer.candidates[3].missing, answer.candidates[3].standing.unwrap().groups),
        (&vec![], 1)
    );
}

#[test]
fn of_equals_the_one_with_the_better_latency_is_preferred() {
    let mut all = cells("w", NONE, 90.0, 50_000.0);
    all.extend(cells("w", RT, 20.0, 49_900.0));
    let answer = ask(&all, &["wakeup.max<=100us"]).unwrap();
    assert_eq!(chosen(&answer).as_deref(), Some(RT));
    let choice = answer.choice.unwrap();
    assert_eq!(choice.preference, Preference::Constraint { constraint: 0 });
    assert_eq!(choice.certainty(), Certainty::Tied { others: 1 });
}

#[test]
fn of_equals_what_changes_least_is_preferred() {
    let mut all = cells("w", NONE, 90.0, 50_000.0);
    all.extend(cells("w", LAZY, 90.0, 50_300.0));
    all.extend(cells("w", FULL, 90.0, 50_100.0));
    let answer = ask(&all, &["wakeup.max<=100us"]).unwrap();
    assert_eq!(chosen(&answer).as_deref(), Some(NONE));
    assert_eq!(answer.choice.unwrap().preference, Preference::FewestChanges);
}

#[test]
fn few_replicates_leave_it_undecided() {
    let few = |name, throughput| cells("w", name, 9.0, throughput).into_iter().take(1);
    let all: Vec<_> = few(NONE, 5.0).chain(few(FULL, 4.0)).collect();
    let answer = ask(&all, &["wakeup.max<=100us", "throughput>=1"]).unwrap();
    let certainty = answer.choice.as_ref().unwrap().certainty();
    assert_eq!(certainty, Certainty::Undecided { others: 1, more: Some(4) });
    let [max, throughput] = answer.candidates[0].judgements.as_slice() else { panic!() };
    assert_eq!((max.n, max.answer, throughput.answer), (1, Answer::Unclear, Answer::Unclear));
}

#[test]
fn the_only_one_is_compared_with_nothing() {
    let answer = ask(&cells("w", NONE, 9.0, 5.0), &[]).unwrap();
    assert_eq!(answer.choice.unwrap().certainty(), Certainty::Only);
}

#[test]
fn the_obstacle_is_the_constraint_without_which_there_is_a_choice() {
    let answer = ask(&four("w"), &["wakeup.max<=50us", "throughput>=44k"]).unwrap();
    assert_eq!(answer.choice, None);
    let obstacles = answer.obstacles();
    let without: Vec<_> = obstacles.iter().map(|it| (it.failing, it.without)).collect();
    assert_eq!(without, [(3, Some(0)), (2, Some(3))]);
    // 20 us are well within the limit, and 30,000 is 44,000 divided by 1.47.
    assert_eq!(answer.closest(), Some(3));
    let worst = answer.candidates[3].worst_failure(1).map(|(it, groups)| (it.statistic, groups));
    assert_eq!(worst, Some((Statistic::Median, 1)));
    assert_eq!(answer.candidates[3].worst_failure(0), None);
}

#[test]
fn recordings_stay_apart() {
    let mut all = cells("w", FULL, 90.0, 40_000.0);
    all.iter_mut().for_each(|cell| cell.run = Some("a".into()));
    let mut other = cells("w", FULL, 90.0, 45_000.0);
    other.iter_mut().for_each(|cell| cell.run = Some("b".into()));
    all.extend(other);
    let answer = ask(&all, &[]).unwrap();
    let choice = answer.choice.unwrap();
    assert_eq!(answer.candidates[choice.candidate].run.as_deref(), Some("b"));
    assert_eq!(choice.runners_up[0].objective.unwrap().verdict, Verdict::Worse);
}

#[test]
fn what_is_wanted_small_may_be_better_large() {
    let question = Question {
        objective: Some(("throughput".into(), Direction::Lower)),
        ..Question::default()
    };
    let answer = recommend(&four("w"), Rule::default(), &question).unwrap();
    assert_eq!(chosen(&answer).as_deref(), Some(RT));
    assert_eq!(answer.choice.unwrap().certainty(), Certainty::Sure);
}

#[test]
fn questions_that_do_not_fit_are_refused() {
    let all = four("w");
    let error = |requirement: &str| ask(&all, &[requirement]).unwrap_err();
    assert!(matches!(error("wakeup.maxx<=1us"), RecommendError::Metric(_)));
    assert!(matches!(error("wakeup.max<=1"), RecommendError::Unit(_)));
    assert!(matches!(error("throughput>=1us"), RecommendError::Unit(_)));
    let nothing = four("w").into_iter().map(|mut cell| {
        cell.result = Err(NoResult::Failed("it hung".into()));
        cell
    });
    let error = ask(&nothing.collect::<Vec<_>>(), &[]).unwrap_err();
    assert!(error.to_string().contains("debian:6.12/none: it hung; debian:6.12/full"), "{error}");
}

#[test]
fn what_was_not_measured_has_one_reason() {
    let mut all = four("w");
    let mut hung = cells("w", "debian:7.2/full", 1.0, 1.0);
    hung.iter_mut().for_each(|cell| cell.result = Err(NoResult::Unavailable("none".into())));
    all.extend(hung);
    let answer = ask(&all, &["wakeup.max<=1s", "throughput>=1"]).unwrap();
    let unmeasured = answer.candidates.last().unwrap();
    assert_eq!(unmeasured.missing, [Missing { group: Some(0), metric: None }]);
    assert!(!unmeasured.is_eligible());
}

#[test]
fn candidates_are_those_that_match() {
    for (patterns, expected, left_out) in [
        (vec!["debian:7.2*"], LAZY, 3),
        (vec!["debian:6.12-rt"], RT, 3),
        (vec!["*/full"], FULL, 2),
        (vec!["debian:7.2*", "*-rt/*"], LAZY, 2),
        (vec![NONE], NONE, 3),
    ] {
        let answer = ask_among(&four("w"), &patterns).unwrap();
        assert_eq!(chosen(&answer).as_deref(), Some(expected), "{patterns:?}");
        assert_eq!(answer.among.as_ref().unwrap().left_out, left_out);
        assert_eq!(answer.candidates.len(), 4 - left_out);
        // The baseline need not be a candidate.
        assert_eq!(answer.comparison.groups[0].baseline().unwrap().name().to_string(), NONE);
    }
    assert_eq!(ask(&four("w"), &[]).unwrap().among, None);
}

#[test]
fn shares_are_of_a_baseline_that_is_no_candidate() {
    let among = vec!["debian:7.2*".parse().unwrap()];
    let requirements = vec!["throughput>=95%".parse().unwrap()];
    let question = Question { requirements, among, ..Question::default() };
    let answer = recommend(&four("w"), Rule::default(), &question).unwrap();
    assert_eq!(answer.choice, None);
    assert_eq!(answer.candidates[0].judgements[0].answer, Answer::Fails);
    assert_eq!(answer.closest(), Some(0));
}

#[test]
fn a_pattern_that_matches_nothing_names_what_there_is() {
    let error = ask_among(&four("w"), &["*/full", "debian:7.3*"]).unwrap_err().to_string();
    for said in ["no configuration matches `debian:7.3*`; did you mean `debian:7.2", NONE, RT] {
        assert!(error.contains(said), "{error}");
    }
    let many: Vec<MeasuredCell> = (0..40)
        .flat_map(|number| cells("w", &format!("debian:6.{number}/none"), 1.0, 1.0))
        .collect();
    let error = ask_among(&many, &["zzz"]).unwrap_err().to_string();
    assert!(error.contains("and 28 more") && !error.contains("did you mean"), "{error}");
}

#[test]
fn the_baseline_is_all_of_itself_for_certain() {
    for n in [1, 8] {
        let noisy = |name: &str, throughput: f64| {
            let values = [1.0, 2.0, 0.5, 1.5, 0.7, 1.2, 0.9, 1.1];
            let cell = |(replicate, noise): (usize, f64)| {
                cell("w", name, replicate as u32, 90.0 * noise, throughput * noise)
            };
            values.into_iter().enumerate().map(cell).take(n).collect::<Vec<_>>()
        };
        let all = [noisy(NONE, 50_000.0), noisy(FULL, 50_000.0)].concat();
        for (requirement, expected) in [
            ("throughput>=95%", Answer::Holds),
            ("throughput<=105%", Answer::Holds),
            ("wakeup.max<=105%", Answer::Holds),
            ("wakeup.max<=100%", Answer::Holds),
            ("wakeup.max<100%", Answer::Fails),
            ("throughput>=110%", Answer::Fails),
        ] {
            let answer = ask(&all, &[requirement]).unwrap();
            assert_eq!(answer.candidates[0].judgements[0].answer, expected, "{requirement} {n}");
        }
        // The other one has the same values, and is not certain.
        let answer = ask(&all, &["throughput>=95%"]).unwrap();
        assert_eq!(answer.candidates[1].judgements[0].answer, Answer::Unclear);
    }
}

#[test]
fn what_is_optimized_by_default_is_called_so() {
    assert!(ask(&four("w"), &[]).unwrap().objective.is_default);
    let objective = Some(("throughput".to_owned(), Direction::Higher));
    let question = Question { objective, ..Question::default() };
    let answer = recommend(&four("w"), Rule::default(), &question).unwrap();
    assert!(!answer.objective.is_default);
    let mut all = four("w");
    for cell in &mut all {
        cell.result.as_mut().unwrap().truncate(1);
    }
    let error = ask(&all, &["wakeup.max<=1ms"]).unwrap_err();
    assert_eq!(error, RecommendError::NoDefault { known: vec!["wakeup.fifo.max".into()] });
    assert!(error.to_string().contains("--minimize METRIC"), "{error}");
}

/// Returns two workloads, of which the second counts transactions.
fn two_units() -> Vec<MeasuredCell> {
    let mut transactions = [cells("x", NONE, 9.0, 500.0), cells("x", FULL, 9.0, 400.0)].concat();
    for cell in &mut transactions {
        cell.result.as_mut().unwrap()[1].unit = "tps".into();
    }
    [cells("w", NONE, 9.0, 50_000.0), cells("w", FULL, 9.0, 60_000.0), transactions].concat()
}

#[test]
fn a_limit_in_a_unit_is_about_the_workloads_that_have_it() {
    let all = two_units();
    let answer = ask(&all, &["throughput>=450 tps"]).unwrap();
    let groups: Vec<usize> = answer.candidates[1].judgements.iter().map(|it| it.group).collect();
    assert_eq!(groups, [1]);
    assert_eq!(answer.candidates[1].judgements[0].unit, "tps");
    assert_eq!(chosen(&answer).as_deref(), Some(NONE));
    let answer = ask(&all, &["throughput>=55k messages/s"]).unwrap();
    assert_eq!(chosen(&answer).as_deref(), Some(FULL));
    let answer = ask(&all, &["throughput>=90%"]).unwrap();
    let units: Vec<&str> =
        answer.candidates[1].judgements.iter().map(|it| it.unit.as_str()).collect();
    assert_eq!(units, ["messages/s", "tps"]);
    let error = ask(&all, &["throughput>=450"]).unwrap_err().to_string();
    assert!(error.contains("several units") && error.contains("messages/s"), "{error}");
}
