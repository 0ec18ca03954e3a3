//! A comparison in a few sentences.

use preemptlab_model::counted;
use preemptlab_stats::{Comparison, Configuration, Group};

use crate::{View, answer::answer, label, verdict};

/// Result of a comparison for a reader who reads nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InWords {
    /// Main result, in one sentence.
    pub headline: String,
    /// Further notes; a sentence or two each.
    pub points: Vec<String>,
}

/// Answers a comparison: first the decided differences, then the certainty of the comparisons and the
/// missing cells.
pub fn in_words(comparison: &Comparison) -> InWords {
    let mut said = answer(comparison).into_iter();
    let headline = said.next().unwrap_or_else(|| match comparison.groups.is_empty() {
        true => "Nothing was measured.".to_owned(),
        false => "There is nothing to compare with.".to_owned(),
    });
    let missing = comparison.groups.iter().filter_map(missing);
    let points = said.chain(verdict::legend(comparison, View::Overview)).chain(missing).collect();
    InWords { headline, points }
}

fn missing(group: &Group) -> Option<String> {
    let count = |is: fn(&Configuration) -> bool| {
        group.configurations.iter().filter(|each| is(each)).count()
    };
    let unavailable = count(|each| each.unavailable.is_some());
    let failed = count(|each| !each.failures.is_empty());
    let waiting = count(|each| each.missing > 0);
    let words = [
        (unavailable, "cannot exist", "cannot exist"),
        (failed, "has cells that failed", "have cells that failed"),
        (waiting, "has cells that were not executed yet", "have cells that were not executed yet"),
    ];
    let words: Vec<String> = words
        .into_iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(count, one, several)| format!("{count} {}", if count == 1 { one } else { several }))
        .collect();
    (!words.is_empty()).then(|| {
        let all = counted(group.configurations.len(), "configuration");
        format!("Of {all} of {}, {}.", label::group(group), words.join(" and "))
    })
}
