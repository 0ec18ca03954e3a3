//! Verdicts of comparisons, in words.

use preemptlab_model::{counted, number};
use preemptlab_stats::{
    Comparison, Configuration, Group, Margins, MetricInfo, REPLICATES_MIN, Summary, Verdict,
};

use crate::{Cell, Tone, View};

/// Returns the verdict; if it is undecided, with an estimate of the further replicates that would
/// decide it.
pub fn words(
    group: &Group,
    configuration: &Configuration,
    summary: &Summary,
    margins: &Margins,
) -> Cell {
    match summary.effect.map(|effect| effect.verdict) {
        Some(Verdict::Undecided { more: Some(more) }) => undecided(more).into(),
        Some(verdict) => Cell::new(short(verdict, summary, margins), tone(summary)),
        None if is_baseline(group, configuration) => Cell::new("baseline", Tone::Faint),
        None => Cell::default(),
    }
}

/// Returns the verdict alone; none for too few replicates.
pub fn word(summary: &Summary, baseline: Option<&Summary>, margins: &Margins) -> Cell {
    match summary.effect {
        Some(effect) if has_enough(summary, baseline) => {
            Cell::new(short(effect.verdict, summary, margins), tone(summary))
        }
        _ => Cell::default(),
    }
}

/// Returns whether there are enough replicates to decide a comparison, and it is not decided.
pub fn is_open(summary: &Summary, baseline: Option<&Summary>) -> bool {
    has_enough(summary, baseline)
        && summary.effect.is_some_and(|effect| !effect.verdict.is_decided())
}

fn has_enough(summary: &Summary, baseline: Option<&Summary>) -> bool {
    baseline.is_some_and(|baseline| summary.n.min(baseline.n) >= REPLICATES_MIN)
}

/// Largest number of further replicates that is printed. A larger estimate is too uncertain to plan
/// with.
const MORE_MAX: u32 = 999;

/// Returns the words for a comparison that about `more` replicates would decide.
pub fn undecided(more: u32) -> String {
    match more {
        1 => "undecided, +1 replicate".to_owned(),
        more if more > MORE_MAX => format!("undecided, over +{MORE_MAX} replicates"),
        more => format!("undecided, +{more} replicates"),
    }
}

/// Returns a verdict for a table: `within 1 us` where that is the resolution.
fn short(verdict: Verdict, summary: &Summary, margins: &Margins) -> String {
    match verdict {
        Verdict::WithinResolution => format!("within {}", resolution(summary)),
        verdict => verdict.word(margins.of(&summary.name, &summary.unit)),
    }
}

/// Returns the smallest difference that the instrument of a metric tells, with its unit.
pub fn resolution(summary: &Summary) -> String {
    format!("{} {}", number::number(summary.resolution), summary.unit)
}

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

/// Explains the words of a comparison and counts them: those that are shown, and those that are not;
/// `None` where nothing is compared.
pub fn legend(comparison: &Comparison, view: View) -> Option<String> {
    let (mut shown, mut hidden): (Vec<Verdict>, Vec<Verdict>) = Default::default();
    for group in &comparison.groups {
        let is_shown = |summary: &Summary| {
            let of = |info: &&MetricInfo| info.name == summary.name;
            view == View::Details || group.metrics.iter().find(of).is_some_and(|info| info.headline)
        };
        for summary in group.configurations.iter().flat_map(|each| &each.summaries) {
            let Some(effect) = &summary.effect else { continue };
            if is_shown(summary) { &mut shown } else { &mut hidden }.push(effect.verdict);
        }
    }
    if shown.is_empty() && hidden.is_empty() {
        return None;
    }
    let mut legend = format!(
        "Of {} {}.",
        counted(shown.len(), "comparison"),
        counts(&shown, &comparison.margins).unwrap_or_else(|| "none is shown".to_owned())
    );
    if let Some(counts) = counts(&hidden, &comparison.margins) {
        let (number, them) = match hidden.len() {
            1 => ("One more".to_owned(), "it"),
            number => (format!("{number} more"), "them"),
        };
        legend += &format!(
            " {number}, of metrics that are not in the table: {counts}; `preemptlab compare RUN --all` shows {them}."
        );
    }
    let looks = match comparison.looks {
        1 => String::new(),
        looks => format!(", and for {looks} looks at the results"),
    };
    legend += &format!(
        " On average at most 5% of what is called better or worse is chance (adjusted for \
         {}{looks}); intervals are of 95%, by bootstrap over replicates.",
        match shown.len() == comparison.comparisons {
            true => "the number of comparisons".to_owned(),
            false => format!("all {}", counted(comparison.comparisons, "comparison")),
        }
    );
    if shown.iter().chain(&hidden).all(|verdict| !verdict.is_decided()) {
        legend += &format!(" Fewer than {REPLICATES_MIN} replicates decide nothing.");
    }
    Some(legend)
}

/// Counts the verdicts of each word; `None` where there is none at all.
fn counts(verdicts: &[Verdict], margins: &Margins) -> Option<String> {
    let count = |is: fn(&Verdict) -> bool| verdicts.iter().filter(|verdict| is(verdict)).count();
    let better = count(|verdict| *verdict == Verdict::Better);
    let resolution = match count(|verdict| *verdict == Verdict::WithinResolution) {
        0 => String::new(),
        alike => format!(" {alike} within the resolution of the instrument,"),
    };
    let are = if better == 1 { "is" } else { "are" };
    (!verdicts.is_empty()).then(|| {
        format!(
            "{better} {are} better, {} worse, {} within {},{resolution} {} undecided",
            count(|verdict| *verdict == Verdict::Worse),
            count(|verdict| *verdict == Verdict::WithinMargin),
            margins.words(),
            count(|verdict| !verdict.is_decided()),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_better_and_two_are() {
        let of = |verdicts: &[Verdict]| counts(verdicts, &Margins::default()).unwrap();
        let one = of(&[Verdict::Better, Verdict::Worse]);
        assert_eq!(one, "1 is better, 1 worse, 0 within 5%, 0 undecided");
        let two = of(&[Verdict::Better, Verdict::Better]);
        assert_eq!(two, "2 are better, 0 worse, 0 within 5%, 0 undecided");
        let alike = counts(&[Verdict::WithinMargin], &Margins::gate()).unwrap();
        assert_eq!(alike, "0 are better, 0 worse, 1 within the margin, 0 undecided");
    }
}
