//! From recordings to a recommendation, and from a recommendation to settings.

use std::collections::BTreeSet;

use preemptlab_experiment::Recording;
use preemptlab_stats::{
    Certainty, Choice, GivenMargin, Margin, Question, Recommendation, recommend,
};
use preemptlab_system::tune::{Command, Proposal, Settings, Wanted};

use crate::{Compared, Error, Result};

/// Recommendation with the notes of the recordings.
#[derive(Clone, Debug)]
pub struct Advice {
    /// Recommendation.
    pub recommendation: Recommendation,
    /// The settings of the recommended configuration, or why they cannot be given; `None` when
    /// nothing is recommended.
    pub settings: Option<Result<Proposal, String>>,
    /// Command that would decide the undecided comparisons, where there is one.
    pub next: Option<String>,
    /// Whether the margin is the default.
    pub is_margin_default: bool,
    /// Whether the baseline is the default.
    pub is_baseline_default: bool,
}

/// Refuses recordings of several kinds of time: a recommendation weighs numbers of all recordings
/// against each other.
///
/// # Errors
///
/// When they are of several kinds.
fn refuse_mixed_time(recordings: &[&Recording]) -> Result<()> {
    let backend = |recording: &&Recording| recording.manifest().backend;
    match recordings.iter().map(backend).collect::<BTreeSet<_>>().len() {
        0 | 1 => Ok(()),
        _ => Err(Error::unusable(
            "the recordings are of several kinds of time, which have no common measure: ask for a \
             recommendation of each, and `preemptlab compare` says where they agree",
        )),
    }
}

/// Answers a question about recordings, with the settings of the recommendation and the command
/// that would decide it; `allowed` are kernel parameters that are let through by name.
///
/// # Errors
///
/// When the recordings are of several kinds of time, or the question does not fit them.
pub fn advise(compared: &Compared, question: &Question, allowed: &[String]) -> Result<Advice> {
    compared.check_recordings("a recommendation")?;
    let recordings = compared.recordings();
    refuse_mixed_time(&recordings)?;
    let rule = compared.rule();
    let mut recommendation = recommend(compared.cells().all(), rule.clone(), question)?;
    recommendation.comparison = compared.complete(recommendation.comparison);
    let choice = recommendation.choice.as_ref();
    let of =
        choice.and_then(|choice| Some((choice, recording(&recommendation, choice, &recordings)?)));
    let settings =
        of.map(|(choice, recording)| settings(&recommendation, choice, recording, allowed));
    let next = of.and_then(|(choice, recording)| next(&recommendation, choice, recording));
    let is_baseline_default = rule.baseline.is_none();
    let is_margin_default = compared.is_margin_default();
    Ok(Advice { recommendation, settings, next, is_margin_default, is_baseline_default })
}

/// Returns the recording of the recommended configuration.
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

/// Returns the command that continues the recording until the recommendation is decided; `None`
/// where the other candidates are from another recording, to which it would not add. A recording with added
/// replicates continues under its own rule.
fn next(recommendation: &Recommendation, choice: &Choice, recording: &Recording) -> Option<String> {
    let Certainty::Undecided { .. } = choice.certainty() else { return None };
    let run = |index: usize| &recommendation.candidates[index].run;
    if choice.runners_up.iter().any(|other| run(other.candidate) != run(choice.candidate)) {
        return None;
    }
    let (margins, metrics, baseline) = match recording.until() {
        Some(until) => (until.margins.clone(), until.metrics.clone(), until.baseline.clone()),
        None => {
            let metric = &recommendation.objective.metric;
            let margin = recommendation.margin(metric);
            // A time that no metric is named for is one of latencies alone.
            let of = matches!(margin, Margin::Time(_)).then(|| metric.name.clone());
            let margin = GivenMargin { metric: of, margin };
            let name = recommendation.candidates[choice.candidate].name();
            let metrics = vec![metric.name.to_string()];
            (vec![margin.to_string()], metrics, Some(name.to_string()))
        }
    };
    let path = recording.path().display().to_string();
    let mut words = ["preemptlab", "run", &path].map(str::to_owned).to_vec();
    let backend = recording.manifest().backend;
    if !backend.is_vm() {
        words.extend(["--backend".to_owned(), backend.to_string()]);
    }
    words.extend(margins.into_iter().flat_map(|margin| ["--until".to_owned(), margin]));
    words.extend(metrics.into_iter().flat_map(|metric| ["--metric".to_owned(), metric]));
    words.extend(baseline.into_iter().flat_map(|name| ["--baseline".to_owned(), name]));
    Some(Command(words).to_string())
}

/// Returns the settings that recordings recommend.
///
/// # Errors
///
/// [`Error::No`] when nothing is recommended, or it is not decided.
pub fn proposal(compared: &Compared, question: &Question, allowed: &[String]) -> Result<Proposal> {
    let recordings = compared.recordings();
    let Advice { recommendation, settings, next, .. } = advise(compared, question, allowed)?;
    let paths: Vec<String> =
        recordings.iter().map(|recording| recording.path().display().to_string()).collect();
    let run = paths.join(" ");
    let Some(choice) = &recommendation.choice else {
        let what = match question.requirements.is_empty() {
            true => "was measured whole",
            false => "satisfies every requirement",
        };
        return Err(Error::No(format!(
            "no configuration of {run} {what}; `preemptlab recommend {run}` with the same options \
             says what comes closest"
        )));
    };
    if let Certainty::Undecided { .. } = choice.certainty() {
        let next = next.map(|next| format!("; this decides it: {next}")).unwrap_or_default();
        return Err(Error::No(format!(
            "{run} does not decide between its best configurations{next}; or choose one of those \
             that `preemptlab recommend {run}` lists, with --preempt and the other options"
        )));
    }
    let proposal = match settings {
        Some(settings) => settings.map_err(Error::Unusable)?,
        None => return Err(Error::Unusable(format!("{run} does not say what it ran"))),
    };
    let settings = &proposal.settings;
    let run_time: Vec<String> = settings.run_time().iter().map(ToString::to_string).collect();
    let unused = |word: &&String| !settings.parameters().contains(word) && !run_time.contains(word);
    match allowed.iter().find(unused) {
        Some(word) if proposal.refused.is_empty() => Err(allows_nothing(word)),
        _ => Ok(proposal),
    }
}

/// Returns the error of an `--allow` that no word needs: it may be misspelt.
pub fn allows_nothing(word: &str) -> Error {
    let word = word.escape_debug();
    Error::Unusable(format!("--allow {word}: nothing of what is asked for is that"))
}
