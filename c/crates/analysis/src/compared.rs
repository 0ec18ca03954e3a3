use std::path::PathBuf;

use preemptlab_experiment::Recording;
use preemptlab_model::MeasuredCell;
use preemptlab_recording::Until;
use preemptlab_stats::{
    Baseline, Comparison, GivenMargin, Looks, MachineHistogram, Margins, Rule, compare,
};

use crate::{Cells, Error, Keep, disturbed, histograms, mixed, named::unlabelled, shown, unsound};

/// Recordings that can be compared, with all of their cells, and how; with the histograms of machines beside
/// them.
pub struct Compared {
    recordings: Vec<Recording>,
    cells: Cells,
    disturbances: Vec<String>,
    histograms: Vec<MachineHistogram>,
    baseline: Option<Baseline>,
    margins: Margins,
    is_margin_default: bool,
}

/// Notice about recordings before their comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A possible oversight.
    Warning(String),
    /// A fact, not an oversight.
    Note(String),
}

/// Baseline and margins of a comparison, as they were given.
#[derive(Clone, Copy, Debug, Default)]
pub struct GivenRule<'a> {
    /// The baseline, by the name that the user gave it.
    pub baseline: Option<&'a str>,
    /// The margins.
    pub margins: &'a [GivenMargin],
    /// The margins of a recording without margins of its own, where none are asked for.
    pub margins_usual: &'a [GivenMargin],
}

impl Compared {
    /// Reads recordings and histograms of machines, with notices on everything that makes them less
    /// comparable. A baseline that is not given is that of `run --until`, as is the margin ([`margins`]).
    ///
    /// # Errors
    ///
    /// When a recording or histogram cannot be read, two recordings cannot be compared, the baseline is
    /// not a configuration, or the margins fit neither each other nor the cells.
    pub fn open(
        paths: &[PathBuf],
        keep: Keep,
        given: GivenRule<'_>,
    ) -> Result<(Self, Vec<Notice>), Error> {
        let (folders, files) = histograms::split(paths);
        let (recordings, warnings) = mixed::open(&folders)?;
        let borrowed: Vec<&Recording> = recordings.iter().collect();
        let warnings = warnings.into_iter().map(Notice::Warning);
        let overridden = borrowed.iter().filter_map(|recording| overridden(recording));
        let overridden: Vec<Notice> = overridden.map(Notice::Note).collect();
        let cells = Cells::read(&borrowed, keep)?;
        let disturbances = disturbed::notes(&borrowed, &cells);
        let unsound = unsound::notes(&borrowed, &cells).into_iter().map(Notice::Warning);
        let mut shown: Vec<String> =
            borrowed.iter().flat_map(|recording| shown::notes(recording.manifest())).collect();
        shown.dedup();
        let notices = warnings.chain(overridden).chain(unsound);
        let notices = notices.chain(shown.into_iter().map(Notice::Note)).collect();
        let until = borrowed.iter().find_map(|recording| recording.until());
        let baseline = given.baseline.or(until.and_then(|until| until.baseline.as_deref()));
        let margins = margins(&borrowed, given)?;
        margins.check(cells.all())?;
        let compared = Self {
            baseline: baseline.map(|name| baseline_named(name, &borrowed)).transpose()?,
            is_margin_default: margins == Margins::default(),
            margins,
            cells,
            disturbances,
            histograms: histograms::open(&files)?,
            recordings,
        };
        Ok((compared, notices))
    }

    /// Returns the comparison of the finished cells.
    ///
    /// # Errors
    ///
    /// When the baseline has no measurements.
    pub fn comparison(&self) -> Result<Comparison, Error> {
        Ok(self.complete(labelled(compare(self.cells.all(), self.rule())?, &self.recordings())))
    }

    /// Returns a comparison of the recordings with the disturbances of their cells, and with the
    /// histograms of machines beside it.
    pub(crate) fn complete(&self, comparison: Comparison) -> Comparison {
        let (disturbances, histograms) = (self.disturbances.clone(), self.histograms.clone());
        Comparison { disturbances, histograms, ..comparison }
    }

    /// Refuses histograms without a recording, which have no configuration; `what` names the part
    /// that needs one.
    ///
    /// # Errors
    ///
    /// When there is no recording.
    pub fn check_recordings(&self, what: &str) -> Result<(), Error> {
        match self.recordings.is_empty() {
            false => Ok(()),
            true => Err(Error::unusable(format!(
                "{what} needs a recording, since a histogram has no kernel, mode or settings: name one \
                 beside it; `preemptlab compare` shows histograms alone"
            ))),
        }
    }

    /// Returns the rule of the comparison.
    pub fn rule(&self) -> Rule<'_> {
        rule(&self.recordings(), self.baseline.as_ref(), self.margins.clone())
    }

    /// Returns whether the margin is the default.
    pub fn is_margin_default(&self) -> bool {
        self.is_margin_default
    }

    /// Returns the recordings.
    pub fn recordings(&self) -> Vec<&Recording> {
        self.recordings.iter().collect()
    }

    /// Returns the cells of all recordings.
    pub fn cells(&self) -> &Cells {
        &self.cells
    }

    /// Returns each recording with its cells.
    pub fn parts(&self) -> impl Iterator<Item = (&Recording, &[MeasuredCell])> {
        self.recordings.iter().zip(self.cells.by_recording())
    }
}

/// Returns the comparison of recordings, finished or not, by their cells.
///
/// # Errors
///
/// When the baseline has no measurements.
pub fn comparison(
    recordings: &[&Recording],
    cells: &Cells,
    baseline: Option<&Baseline>,
    margins: Margins,
) -> Result<Comparison, Error> {
    let rule = rule(recordings, baseline, margins);
    let comparison = labelled(compare(cells.all(), rule)?, recordings);
    Ok(Comparison { disturbances: disturbed::notes(recordings, cells), ..comparison })
}

/// Returns the margins of a comparison: those that are asked for, else that with which `run --until` added
/// replicates, else the usual ones, else those of a comparison.
///
/// # Errors
///
/// When two margins are for the same metrics, or one of the recording is none.
pub fn margins(recordings: &[&Recording], given: GivenRule<'_>) -> Result<Margins, Error> {
    let until = recordings.iter().find_map(|recording| recording.until());
    let below = match until {
        Some(until) => Margins::default().with(&margins_at_looks(until)?)?,
        None => Margins::default().with(given.margins_usual)?,
    };
    Ok(below.with(given.margins)?)
}

/// Returns the margins with which `run --until` added replicates.
///
/// # Errors
///
/// When one of them is none.
pub(crate) fn margins_at_looks(until: &Until) -> Result<Vec<GivenMargin>, Error> {
    let read = |text: &String| {
        text.parse().map_err(|error| Error::unusable(format!("until.json of a recording: {error}")))
    };
    until.margins.iter().map(read).collect()
}

/// Reads a baseline, whose kernel may be called by its label.
fn baseline_named(name: &str, recordings: &[&Recording]) -> Result<Baseline, Error> {
    let factors = recordings.iter().map(|recording| &recording.manifest().experiment.factors);
    Ok(unlabelled(name, factors).parse()?)
}

/// Gives kernels the labels that their recordings' experiments give them.
fn labelled(comparison: Comparison, recordings: &[&Recording]) -> Comparison {
    let of_run = |run: &str| {
        recordings.iter().find(|recording| recording.path().display().to_string() == run)
    };
    comparison.labelled(|run, kernel| {
        let recording = run.map_or_else(|| recordings.first(), of_run)?;
        recording.manifest().experiment.factors.label(kernel)
    })
}

/// Names the values of a recording that differ from its experiment's file.
fn overridden(recording: &Recording) -> Option<String> {
    let overrides = recording.manifest().overrides.iter().map(ToString::to_string);
    let overrides = overrides.collect::<Vec<_>>().join(" and ");
    let path = recording.path().display();
    (!overrides.is_empty()).then(|| format!("{path} was made with {overrides}"))
}

fn rule<'a>(
    recordings: &[&Recording],
    baseline: Option<&'a Baseline>,
    margins: Margins,
) -> Rule<'a> {
    let has_looks = recordings.iter().any(|recording| recording.until().is_some());
    Rule { baseline, margins, looks: if has_looks { Looks::Any } else { Looks::One } }
}
