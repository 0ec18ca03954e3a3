//! Replicates are added until every comparison is decided.

use preemptlab_analysis::{
    Cells, Keep,
    looks::{Look, check_metrics},
};
use preemptlab_experiment::{Recording, RecordingWriter};
use preemptlab_model::RECORDING_FORMAT;
use preemptlab_recording::Until;
use preemptlab_stats::{Baseline, Comparison, GivenMargin, Margins, Needed};

use crate::{Asked, Blame, Budget, OrBlame, Result, looks::Question};

/// The rule by which replicates are added.
pub struct UntilDecided<'a> {
    /// Differences up to which two configurations are called the same; of the other metrics it is a comparison's.
    pub margins: &'a [GivenMargin],
    /// The metrics that are to be decided; without any, the most telling ones.
    pub metrics: &'a [String],
    /// The configuration that ratios refer to.
    pub baseline: Option<&'a Baseline>,
    /// The cost of all of it.
    pub budget: Option<Budget>,
}

impl UntilDecided<'_> {
    fn kept(&self) -> Until {
        Until {
            format: RECORDING_FORMAT,
            margins: self.margins.iter().map(ToString::to_string).collect(),
            metrics: self.metrics.to_vec(),
            baseline: self.baseline.map(ToString::to_string),
        }
    }
}

/// Look at a comparison, with the cells that are compared.
pub(crate) struct Compared {
    /// The cells.
    pub cells: Cells,
    comparison: Comparison,
    look: Look,
}

impl Question for UntilDecided<'_> {
    type Answer = Compared;

    fn begin(&self, writer: &mut RecordingWriter) -> Result<()> {
        match writer.recording().until() {
            Some(_) => Ok(writer.begin_until(&self.kept())?),
            None => Ok(()),
        }
    }

    fn judge(&self, writer: &mut RecordingWriter) -> Result<Compared> {
        let recordings = [writer.recording()];
        let cells = Cells::read(&recordings, Keep::Metrics)?;
        let margins = Margins::default().with(self.margins).or_blame(Blame::User)?;
        margins.check(cells.all()).or_blame(Blame::User)?;
        let comparison =
            preemptlab_analysis::comparison(&recordings, &cells, self.baseline, margins)?;
        if writer.recording().until().is_none() {
            // A name that nothing has must not become a part of the recording.
            check_metrics(self.metrics, &comparison)?;
            // A recording that decides at the first look was looked at, too.
            self.keep(writer)?;
        }
        let look = Look::at(&comparison, self.metrics);
        Ok(Compared { cells, comparison, look })
    }

    fn needed(&self, answer: &Compared, _: &Recording) -> Vec<Needed> {
        answer.look.needed.clone()
    }

    fn keep(&self, writer: &mut RecordingWriter) -> Result<()> {
        Ok(writer.begin_until(&self.kept())?)
    }

    fn asked<'a>(&self, answer: &'a Compared) -> (u32, Asked<'a>) {
        (answer.comparison.looks, Asked::Comparisons(&answer.look))
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::RefCell, fs, path::Path, time::Duration};

    use preemptlab_files::OutFolder;
    use preemptlab_recording::Claim;
    use preemptlab_runner::Summary;

    use super::*;
    use crate::{bench::Bench, looks::looks, testing::lab};

    /// Asks the question, and damages the cells after each look, so that a second reading fails.
    struct Once<'a> {
        question: UntilDecided<'a>,
        cells: &'a Path,
        judged: RefCell<u32>,
    }

    impl Question for Once<'_> {
        type Answer = Compared;

        fn begin(&self, writer: &mut RecordingWriter) -> Result<()> {
            self.question.begin(writer)
        }

        fn judge(&self, writer: &mut RecordingWriter) -> Result<Compared> {
            let answer = self.question.judge(writer)?;
            *self.judged.borrow_mut() += 1;
            for file in fs::read_dir(self.cells).unwrap().flatten() {
                fs::write(file.path(), "damaged").unwrap();
            }
            Ok(answer)
        }

        fn needed(&self, answer: &Compared, recording: &Recording) -> Vec<Needed> {
            self.question.needed(answer, recording)
        }

        fn keep(&self, writer: &mut RecordingWriter) -> Result<()> {
            self.question.keep(writer)
        }

        fn asked<'a>(&self, answer: &'a Compared) -> (u32, Asked<'a>) {
            self.question.asked(answer)
        }
    }

    #[test]
    fn a_look_reads_every_cell_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("check");
        let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/check");
        let recording = Recording::open(&committed).unwrap();
        let claim = Claim::new(&OutFolder::named(&path)).unwrap();
        let mut writer = claim.open(recording.manifest()).unwrap();
        let cells = path.join("cells");
        for file in fs::read_dir(committed.join("cells")).unwrap().flatten() {
            fs::copy(file.path(), cells.join(file.file_name())).unwrap();
        }

        let question = UntilDecided { margins: &[], metrics: &[], baseline: None, budget: None };
        let once = Once { question, cells: &cells, judged: RefCell::new(0) };
        let summary = Summary { completed: 1, ..Summary::default() };
        let mut execute = |_: &RecordingWriter| Ok((summary, Duration::ZERO));
        let mut bench = Bench::new(1, &mut execute);
        let (done, _) = looks(&lab(), &once, None, &mut writer, &mut bench).unwrap();
        assert_eq!((done, *once.judged.borrow()), (summary, 1));
        let again = Cells::read(&[writer.recording()], Keep::Metrics);
        assert!(again.is_err(), "the cells are damaged");
    }
}
