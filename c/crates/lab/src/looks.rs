//! Look after look, until a question is answered or its budget ends.

use std::time::{Duration, Instant};

use preemptlab_experiment::{Recording, RecordingWriter, add_replicates};
use preemptlab_runner::Summary;
use preemptlab_stats::Needed;

use crate::{Asked, Budget, Event, Lab, Look, Result, Then, bench::Bench};

/// Question that the cells of a recording answer.
pub(crate) trait Question {
    /// The answer, as far as there is one.
    type Answer;

    /// Refuses a recording that cannot answer it, before anything is executed.
    fn begin(&self, writer: &mut RecordingWriter) -> Result<()>;

    /// Answers it from the cells, each of which is read once.
    fn judge(&self, writer: &mut RecordingWriter) -> Result<Self::Answer>;

    /// Returns the configurations that need more replicates; none where the answer is final.
    fn needed(&self, answer: &Self::Answer, recording: &Recording) -> Vec<Needed>;

    /// Writes into the recording that it is looked at, before the first look adds cells.
    fn keep(&self, writer: &mut RecordingWriter) -> Result<()>;

    /// Returns the number of looks, and the answer for people who watch.
    fn asked<'a>(&self, answer: &'a Self::Answer) -> (u32, Asked<'a>);
}

/// Executes the planned cells, looks at the results, plans more where they do not decide, and so on, until all
/// is decided or the budget does not allow the next cells.
pub(crate) fn looks<Q: Question>(
    lab: &Lab<'_>,
    question: &Q,
    budget: Option<Budget>,
    writer: &mut RecordingWriter,
    bench: &mut Bench<'_>,
) -> Result<(Summary, Q::Answer)> {
    question.begin(writer)?;
    let started = Instant::now();
    loop {
        let (summary, cell_wall) = bench.execute(writer)?;
        let answer = question.judge(writer)?;
        let needed = question.needed(&answer, writer.recording());
        let more: usize = needed.iter().map(|needed| needed.more as usize).sum();
        let rounds = u32::try_from(more.div_ceil(bench.jobs)).unwrap_or(u32::MAX);
        let wall: Duration = cell_wall * rounds;
        let tell = |then| {
            let (number, asked) = question.asked(&answer);
            lab.watch.on(Event::Look(Look { number, asked, more, wall, then }));
        };
        if needed.is_empty() {
            tell(Then::End);
            return Ok((summary, answer));
        }
        let planned = writer.recording().planned().count();
        if budget.is_some_and(|budget| !budget.allows(planned + more, started.elapsed() + wall)) {
            tell(Then::OverBudget);
            return Ok((summary, answer));
        }
        tell(Then::More);
        question.keep(writer)?;
        let wanted: Vec<_> =
            needed.into_iter().map(|needed| (needed.factors, needed.replicates)).collect();
        if add_replicates(writer, &wanted)? == 0 {
            tell(Then::Full);
            return Ok((summary, answer));
        }
    }
}
