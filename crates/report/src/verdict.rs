//! Verdicts of comparisons, in words.

use preemptlab_stats::{Comparison, Configuration, Group, REPLICATES_MIN, Summary, Verdict};

use crate::{Cell, Tone};

/// Returns the verdict; if it is undecided, with an estimate of the further replicates that would
/// decide it.
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

/// Returns the verdict alone; none for too few replicates.
pub fn word(summary: &Summary, baseline: Option<&Summary>) -> Cell {
    let has_enough = |summary: &Summary| summary.n >= REPLICATES_MIN;
    match summary.effect {
        Some(effect) if has_enough(summary) && baseline.is_some_and(has_enough) => {
            Cell::new(effect.verdict.as_str(), tone(summary))
        }
        _ => Cell::default(),
    }
}

/// Largest number of further replicates that is printed.
const MORE_MAX: u32 = 9999;

/// Returns the colour of a better or worse value.
pub fn tone(summary: &Summary) -> Tone {
    match summary.effect.map(|effect| effect.verdict) {
        Some(Verdict::Better) => Tone::Better,
        Some(Verdict::Worse) => Tone::Worse,
        _ => Tone::Plain,
    }
}

/// Returns whether ratios refer to this configuration.
pub fn is_baseline(group: &Group, configuration: &Configuration) -> bool {
    group.baseline().is_some_and(|baseline| std::ptr::eq(baseline, configuration))
}

/// Explains the words of a comparison, with the number of each; `None` where nothing is compared.
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
