use std::{collections::BTreeSet, process::ExitCode};

use preemptlab_experiment::Recording;
use preemptlab_report::Advice;
use preemptlab_stats::{Certainty, Choice, Direction, Margin, Question, Recommendation, Rule};
use preemptlab_tune::{Command, Proposal, Settings, Wanted};

use crate::{
    args::{Format, QuestionArgs, Recommend},
    commands::compare::Compared,
    exit::{self, OrExit},
    measured,
    output::Output,
    session::recording_failure,
};

/// What is optimized where nothing else is said.
const OBJECTIVE: &str = "throughput";

/// Recommends a configuration.
pub fn execute(args: &Recommend, output: &Output) -> exit::Result<ExitCode> {
    let compared = Compared::open(&args.recordings, &args.rule, output)?;
    refuse_mixed_time(&compared.recordings())?;
    let cells = measured::cells(&compared.recordings()).map_err(recording_failure)?;
    let rule = compared.rule();
    let question = question(&args.question);
    let recommendation =
        preemptlab_stats::recommend(&cells, rule, &question).or_exit(exit::UNUSABLE)?;
    let advice = advice(&recommendation, &compared.recordings(), rule, &[]);
    let code = output.data(&match args.format {
        Format::Table => preemptlab_report::recommendation_terminal(&advice, output.terminal()),
        Format::Json => preemptlab_report::recommendation_json(&advice),
        Format::Csv => preemptlab_report::recommendation_csv(&recommendation),
        Format::Markdown => preemptlab_report::recommendation_markdown(&advice),
    })?;
    Ok(match recommendation.choice {
        Some(_) => code,
        None => ExitCode::from(exit::NO),
    })
}

/// A recommendation weighs numbers of all recordings against each other.
pub fn refuse_mixed_time(recordings: &[&Recording]) -> exit::Result<()> {
    let backend = |recording: &&Recording| recording.manifest().backend;
    match recordings.iter().map(backend).collect::<BTreeSet<_>>().len() {
        0 | 1 => Ok(()),
        _ => Err(exit::failure(
            exit::UNUSABLE,
            "the recordings are of several kinds of time, which have no common measure: ask for a \
             recommendation of each, and `preemptlab compare` says where they agree",
        )),
    }
}

/// What is asked for.
pub fn question(args: &QuestionArgs) -> Question {
    let (objective, direction) = match (&args.minimize, &args.maximize) {
        (Some(metric), _) => (metric.as_str(), Direction::Lower),
        (None, metric) => (metric.as_deref().unwrap_or(OBJECTIVE), Direction::Higher),
    };
    Question { requirements: args.requirements.clone(), objective: objective.to_owned(), direction }
}

/// A recommendation with the settings of what is recommended; `allowed` are kernel parameters that
/// are let through by name.
pub fn advice<'a>(
    recommendation: &'a Recommendation,
    recordings: &[&Recording],
    rule: Rule<'_>,
    allowed: &[String],
) -> Advice<'a> {
    let choice = recommendation.choice.as_ref();
    let of =
        choice.and_then(|choice| Some((choice, recording(recommendation, choice, recordings)?)));
    Advice {
        recommendation,
        settings: of
            .map(|(choice, recording)| settings(recommendation, choice, recording, allowed)),
        next: of
            .and_then(|(choice, recording)| next(recommendation, choice, recording, rule.margin)),
    }
}

/// The recording that the recommended configuration is from.
fn recording<'a>(
    recommendation: &Recommendation,
    choice: &Choice,
    recordings: &[&'a Recording],
) -> Option<&'a Recording> {
    let run = recommendation.candidates[choice.candidate].run.as_deref();
    let is_it = |recording: &&&Recording| {
        run.is_none_or(|run| recording.path().display().to_string() == run)
    };
    recordings.iter().find(is_it).copied()
}

fn settings(
    recommendation: &Recommendation,
    choice: &Choice,
    recording: &Recording,
    allowed: &[String],
) -> Result<Proposal, String> {
    let candidate = &recommendation.candidates[choice.candidate];
    let manifest = recording.manifest();
    let kernel = manifest
        .kernel(&candidate.kernel)
        .ok_or_else(|| format!("the recording does not say what {} is", candidate.kernel))?;
    Ok(Settings::new(&Wanted {
        kernel: Some(kernel),
        preempt: Some(candidate.preempt),
        cmdline: &manifest.experiment.machine.cmdline,
        settings: &candidate.settings,
        allowed,
    }))
}

/// The command that adds replicates until it is decided; `None` where the others are from another
/// recording, to which it would not add. Where replicates were added before, it goes on as it was
/// begun.
fn next(
    recommendation: &Recommendation,
    choice: &Choice,
    recording: &Recording,
    margin: Margin,
) -> Option<String> {
    let Certainty::Undecided { .. } = choice.certainty() else { return None };
    let run = |index: usize| &recommendation.candidates[index].run;
    if choice.runners_up.iter().any(|other| run(other.candidate) != run(choice.candidate)) {
        return None;
    }
    let (margin, metrics, baseline) = match recording.until() {
        Some(until) => (Margin::new(until.margin)?, until.metrics.clone(), until.baseline.clone()),
        None => {
            let name = recommendation.candidates[choice.candidate].name();
            let metrics = vec![recommendation.objective.metric.name.clone()];
            (margin, metrics, Some(name.to_string()))
        }
    };
    let experiment = format!("{}.toml", recording.manifest().experiment.name);
    let path = recording.path().display().to_string();
    let mut words = ["preemptlab", "run", &experiment, "--out", &path].map(str::to_owned).to_vec();
    words.extend(["--until".to_owned(), margin.to_string()]);
    words.extend(metrics.into_iter().flat_map(|metric| ["--metric".to_owned(), metric]));
    words.extend(baseline.into_iter().flat_map(|name| ["--baseline".to_owned(), name]));
    Some(Command(words).to_string())
}
