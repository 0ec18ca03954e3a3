//! A decision as test cases, the form that CI systems know.

use preemptlab_stats::{Gate, GateRow, GateVerdict, Margin, SectionRow, Verdict};

use super::tables::gate_headline;

/// A test case.
pub struct Case<'a> {
    /// Its subject: the place and the metric, the function or the cell.
    pub name: String,
    /// Words of the name, for systems with a tree of tests.
    pub path: [&'a str; 2],
    /// How it ended.
    pub end: End,
    /// The numbers behind it, in one line.
    pub words: String,
    /// The new kernel's value and its unit.
    pub number: Option<(f64, &'a str)>,
}

/// End of a test case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It is not worse.
    Passed,
    /// It is worse.
    Failed,
    /// A cell of it failed, or the kernel is unavailable.
    Broken,
    /// It is not decided.
    Undecided,
}

/// Lists the metrics, the sections that are worse or suspect, and the cells that failed; or the decision
/// itself where none of these is there.
pub fn cases(gate: &Gate) -> Vec<Case<'_>> {
    let failures = gate.failures.iter().map(|failure| {
        let place = failure.place.as_ref().map_or_else(|| gate.new.clone(), ToString::to_string);
        let seed = failure.seed.map(|seed| format!(", seed {seed}")).unwrap_or_default();
        Case {
            name: format!("{place}{seed}"),
            path: ["cell", ""],
            end: End::Broken,
            words: failure.reason.clone(),
            number: None,
        }
    });
    let rows = gate.rows.iter().map(|row| Case {
        name: format!("{}: {}", row.place, row.metric),
        path: ["metric", &row.place.workload],
        end: match row.verdict {
            Verdict::Worse => End::Failed,
            Verdict::WithinMargin | Verdict::Better => End::Passed,
            Verdict::WithinResolution | Verdict::Undecided { .. } => End::Undecided,
        },
        words: row_words(row),
        number: Some((row.new, &row.unit)),
    });
    let told = gate.sections.iter().filter(|section| section.is_worse || section.is_suspect);
    let sections = told.map(|section| Case {
        name: format!("{}: {} off in {}", section.place, section.kind, section.function),
        path: ["section", &section.place.workload],
        end: if section.is_worse { End::Failed } else { End::Undecided },
        words: section_words(section),
        number: Some((section.new_us, "us")),
    });
    let mut cases: Vec<Case<'_>> = failures.chain(rows).chain(sections).collect();
    if cases.is_empty() {
        cases.push(whole(gate));
    }
    cases
}

/// Returns the decision as the one case of a gate that executed nothing: a file without a case is an error
/// to many CI systems.
fn whole(gate: &Gate) -> Case<'_> {
    let end = match gate.verdict {
        GateVerdict::NoWorse => End::Passed,
        GateVerdict::Worse => End::Failed,
        GateVerdict::Undecided => End::Undecided,
    };
    let notes = gate.notes.iter().map(|note| format!(" ({note})"));
    Case {
        name: "the kernel".to_owned(),
        path: ["kernel", ""],
        end,
        words: format!("{}{}", gate_headline(gate), notes.collect::<String>()),
        number: None,
    }
}

fn row_words(row: &GateRow) -> String {
    let unit = match row.margin {
        Margin::Time(_) => String::new(),
        Margin::Share(_) => format!(" {}", row.unit),
    };
    let interval = row.interval_words();
    let interval = if interval.is_empty() { interval } else { format!(", 95% {interval}") };
    format!(
        "{}: {} {} ({:.4} to {:.4}{unit}{interval}, {} seeds, p {}, margin {})",
        row.verdict_words(),
        row.title,
        row.changed(),
        row.base,
        row.new,
        row.pairs,
        row.p_words(),
        row.margin
    )
}

fn section_words(section: &SectionRow) -> String {
    let callers = section.callers.iter().take(3).map(|caller| format!(" < {caller}"));
    format!(
        "{} section: {}{}, {:.1} us before, {:.1} us now",
        section.change.as_str(),
        section.function,
        callers.collect::<String>(),
        section.base_us,
        section.new_us
    )
}
