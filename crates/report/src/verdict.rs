//! What comparisons are worth, in words.

use preemptlab_stats::{Comparison, Configuration, Group, REPLICATES_MIN, Summary, Verdict};

use crate::{Cell, Tone};

/// The word, and for what is undecided about how many more replicates would decide it.
pub fn words(group: &Group, configuration: &Configuration, summary: &Summary) -> Cell {
    match summary.effect.map(|effect| effect.verdict) {
        Some(Verdict::Undecided { more: Some(more) }) if more > MORE_MAX => {
            format!("undecided +{MORE_MAX}+").into()
        }
        Some(Verdict::Undecided { more: Some(more) }) => format!("undecided +{more}").into(),
        Some(verdict) => Cell::new(verdict.as_str(), tone(summary)),
        None if is_baseline(group, configuration) => Cell::new("baseline", Tone::Faint),
        None => Cell::default(),
    }
}

/// The word alone; none for what has too few replicates for any.
pub fn word(summary: &Summary, baseline: Option<&Summary>) -> Cell {
    let has_enough = |summary: &Summary| summary.n >= REPLICATES_MIN;
    match summary.effect {
        Some(effect) if has_enough(summary) && baseline.is_some_and(has_enough) => {
            Cell::new(effect.verdict.as_str(), tone(summary))
        }
        _ => Cell::default(),
    }
}

/// No larger number of further replicates is printed.
const MORE_MAX: u32 = 9999;

/// The colour of what is better or worse.
pub fn tone(summary: &Summary) -> Tone {
    match summary.effect.map(|effect| effect.verdict) {
        Some(Verdict::Better) => Tone::Better,
        Some(Verdict::Worse) => Tone::Worse,
        _ => Tone::Plain,
    }
}

/// Whether ratios refer to this configuration.
pub fn is_baseline(group: &Group, configuration: &Configuration) -> bool {
    group.baseline().is_some_and(|baseline| std::ptr::eq(baseline, configuration))
}

/// What the words of a comparison mean, and how many there are of each; `None` where nothing is
/// compared.
pub fn legend(comparison: &Comparison) -> Option<String> {
    let groups = comparison.groups.iter();
    let summaries = groups.flat_map(|group| &group.configurations).flat_map(|each| &each.summaries);
    let verdicts: Vec<Verdict> =
        summaries.filter_map(|summary| Some(summary.effect?.verdict)).collect();
    if verdicts.is_empty() {
        return None;
    }
    let count = |word: &str| verdicts.iter().filter(|verdict| verdict.as_str() == word).count();
    let looks = match comparison.looks {
        1 => String::new(),
        looks => format!(", and for {looks} looks at the results"),
    };
    let mut legend = format!(
        "Of {} comparisons {} are better, {} worse, {} the same within {}, {} undecided. On average \
         at most 5% of what is called better or worse is chance (adjusted for the number of \
         comparisons{looks}); intervals are of 95%, by bootstrap over replicates.",
        comparison.comparisons,
        count("better"),
        count("worse"),
        count("same"),
        comparison.margin,
        count("undecided"),
    );
    if verdicts.iter().all(|verdict| !verdict.is_decided()) {
        legend += &format!(" Fewer than {REPLICATES_MIN} replicates decide nothing.");
    }
    Some(legend)
}
