use std::sync::Mutex;

use preemptlab_experiment::{Derived, Recording};
use preemptlab_model::{CellId, Digest, Factors, Outcome, Planned};

use crate::{
    Backend, Cancel, Event, RunError,
    cell::{boot, boots_of, cells_of, execute},
    workers,
};

/// Comparison of a cell's two executions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The cell's place in the experiment.
    pub factors: Factors,
    /// Identity of the cell.
    pub id: CellId,
    /// Digest in the recording, or the reason why there is none.
    pub recorded: Result<Digest, String>,
    /// Digest in the other recording or of the second execution, or the reason why there is none.
    pub other: Result<Digest, String>,
}

impl Verdict {
    /// Returns whether both digests are the same.
    pub fn is_same(&self) -> bool {
        self.recorded == self.other
    }
}

/// Executes completed cells of a recording again, `cells` of them spread evenly over the plan or
/// all. The verdicts come in the plan's order.
///
/// # Errors
///
/// When the recording cannot be read, or the host cannot continue.
pub fn verify(
    recording: Derived<'_>,
    backend: &dyn Backend,
    cells: Option<usize>,
    jobs: usize,
    on_event: &(dyn Fn(Event<'_>) + Sync),
    cancel: &Cancel,
) -> Result<Vec<Verdict>, RunError> {
    let mut recorded = Vec::new();
    for cell in cells_of(recording) {
        if let Some(record) = recording.cell(cell.inputs.id())?
            && let Some(digest) = record.outcome.digest()
        {
            recorded.push((cell, digest, record.outcome));
        }
    }
    let chosen = spread(&recorded, cells.unwrap_or(recorded.len()));
    let boots = boots_of(chosen.iter().map(|(cell, ..)| cell));
    on_event(Event::Planned { boots: &boots, cells: chosen.len(), finished: 0 });
    let unbootable = boot(&boots, backend, jobs, on_event, cancel)?;

    let verdicts = Mutex::new(Vec::new());
    let indexed: Vec<_> = chosen.into_iter().enumerate().collect();
    workers::for_each(&indexed, jobs, cancel, |(index, (cell, digest, outcome))| {
        let (record, wall) = execute(cell, backend, &unbootable, None, on_event, cancel)?;
        let verdict = Verdict {
            factors: cell.factors.clone(),
            id: record.id,
            recorded: Ok(*digest),
            other: digest_beside(&record.outcome, outcome),
        };
        verdicts.lock().expect("no worker panicked").push((*index, verdict));
        on_event(Event::Finished { factors: cell.factors, record: &record, wall });
        Ok::<_, RunError>(())
    })?;
    if cancel.is_cancelled() {
        return Err(RunError::Cancelled);
    }
    let mut verdicts = verdicts.into_inner().expect("no worker panicked");
    verdicts.sort_by_key(|(index, _)| *index);
    Ok(verdicts.into_iter().map(|(_, verdict)| verdict).collect())
}

/// Compares two recordings cell by cell, in the order of the first one's plan.
///
/// # Errors
///
/// When a recording cannot be read.
pub fn against(recording: &Recording, other: &Recording) -> Result<Vec<Verdict>, RunError> {
    let mut verdicts = Vec::new();
    for cell in recording.cells() {
        let (planned, record) = cell?;
        let Planned::Execute(inputs) = &planned.planned else { continue };
        let id = inputs.id();
        let absent = || Err("not there".to_owned());
        let (one, two) = (record, other.cell(id)?);
        let verdict =
            |recorded, other| Verdict { factors: planned.factors.clone(), id, recorded, other };
        verdicts.push(match (one, two) {
            // There is nothing to compare.
            (None, None) => continue,
            (Some(one), None) => verdict(digest_of(&one.outcome), absent()),
            (None, Some(two)) => verdict(absent(), digest_of(&two.outcome)),
            (Some(one), Some(two)) => {
                verdict(digest_of(&one.outcome), digest_beside(&two.outcome, &one.outcome))
            }
        });
    }
    Ok(verdicts)
}

/// Returns the digest of an outcome, unless another one has the same digest and other content: then
/// one of them was changed after it was recorded.
fn digest_beside(outcome: &Outcome, other: &Outcome) -> Result<Digest, String> {
    let digest = digest_of(outcome)?;
    if other.digest() == Some(digest) && outcome != other {
        return Err("the same digest with another report: one of them was changed".to_owned());
    }
    Ok(digest)
}

fn digest_of(outcome: &Outcome) -> Result<Digest, String> {
    match outcome {
        Outcome::Completed { digest, .. } => Ok(*digest),
        Outcome::Failed { reason, .. } | Outcome::Unavailable { reason, .. } => Err(reason.clone()),
    }
}

/// Returns `count` items, evenly spread.
fn spread<T>(items: &[T], count: usize) -> Vec<&T> {
    let count = count.min(items.len());
    (0..count).map(|index| &items[index * items.len() / count]).collect()
}

#[cfg(test)]
mod tests {
    use super::spread;

    #[test]
    fn items_are_spread_evenly() {
        assert_eq!(spread(&[0, 1, 2, 3, 4, 5], 3), [&0, &2, &4]);
        assert_eq!(spread(&[0, 1], 9), [&0, &1]);
        assert!(spread::<u8>(&[], 2).is_empty());
    }
}
