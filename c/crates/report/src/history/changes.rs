//! Change points: the metric, the two kernels, and the function that changed with it.

use preemptlab_model::number;
use preemptlab_stats::{GateRow, History, HistoryChange, Margin, SectionRow, Verdict};

use super::{page::Part, words};
use crate::{Cell, Column, Table, Tone};

/// Callers of a function that are shown.
const CALLERS_SHOWN: usize = 1;

pub fn parts(history: &History) -> Vec<Part> {
    let changes = history.changes();
    let mut parts = Vec::new();
    if !changes.is_empty() {
        parts.push(Part::Table(points(history, &changes)));
    }
    parts.extend(sections(history).map(Part::Table));
    parts.push(Part::Note(note(history)));
    parts
}

fn points(history: &History, changes: &[HistoryChange<'_>]) -> Table {
    let columns = [
        Column::left("between"),
        Column::right("before"),
        Column::right("after"),
        Column::right("change"),
        Column::right("95% interval"),
        Column::right("seeds"),
        Column::left("verdict"),
    ];
    let mut table = Table::new("Change points", columns);
    let step = |of: &HistoryChange<'_>| (of.step.from, of.step.to);
    for of_step in changes.chunk_by(|one, other| step(one) == step(other)) {
        table.span(Cell::new(words::step(history, of_step[0].step), Tone::Strong));
        let places = of_step.chunk_by(|one, other| one.row.place == other.row.place);
        for of_place in places {
            table.span(format!("  {}", of_place[0].row.place));
            for change in of_place {
                let row = change.row;
                let tone = match row.verdict {
                    Verdict::Worse => Tone::Worse,
                    _ => Tone::Better,
                };
                table.row([
                    Cell::from(format!("    {}, {}", row.title, row.unit)),
                    Cell::from(number::number(row.base)),
                    Cell::from(number::number(row.new)),
                    Cell::from(row.changed()),
                    Cell::from(row.interval_words()),
                    Cell::from(row.pairs.to_string()),
                    Cell::new(row.verdict_words(), tone),
                ]);
                if change.step.gate.is_traced {
                    let said = change.section.map_or_else(|| no_section(row), section);
                    table.span(Cell::new(format!("      {said}"), Tone::Faint));
                }
            }
        }
    }
    table
}

fn no_section(row: &GateRow) -> String {
    let than = if row.verdict == Verdict::Worse { "longer" } else { "shorter" };
    format!("no section with preemption or interrupts off became {than}")
}

/// Describes the change of a function's sections.
fn section(row: &SectionRow) -> String {
    format!(
        "{}: {} in {}: at most {}, then {}; in all of a cell {}, then {}",
        row.change.as_str(),
        kind(row),
        function(row),
        us(row.base_us),
        us(row.new_us),
        us(row.base_total_us),
        us(row.new_total_us)
    )
}

fn kind(row: &SectionRow) -> String {
    match row.kind.as_str() {
        "softirq" => "softirqs running".to_owned(),
        kind => format!("{kind} off"),
    }
}

fn us(us: f64) -> String {
    if us == 0.0 { "none".to_owned() } else { format!("{} us", number::number(us)) }
}

/// Returns a function with its nearest callers.
fn function(row: &SectionRow) -> String {
    let callers = row.callers.iter().take(CALLERS_SHOWN).map(|caller| format!(" < {caller}"));
    format!("{}{}", row.function, callers.collect::<String>())
}

/// Returns the sections that the gate calls worse by themselves.
fn sections(history: &History) -> Option<Table> {
    let columns = [
        Column::left("off"),
        Column::left("function < callers"),
        Column::right("before").under("longest, us"),
        Column::right("after").under("longest, us"),
        Column::left("sections are"),
    ];
    let mut table = Table::new("Sections that became worse, medians over the seeds", columns);
    for step in &history.steps {
        let worse = step.gate.sections.iter().filter(|row| row.is_worse).collect::<Vec<_>>();
        if worse.is_empty() {
            continue;
        }
        table.span(Cell::new(words::step(history, step), Tone::Strong));
        for of_place in worse.chunk_by(|one, other| one.place == other.place) {
            table.span(format!("  {}", of_place[0].place));
            for row in of_place {
                let us = |us: f64| if us == 0.0 { "-".to_owned() } else { number::number(us) };
                table.row([
                    Cell::from(format!("    {}", row.kind)),
                    Cell::from(function(row)),
                    Cell::from(us(row.base_us)),
                    Cell::from(us(row.new_us)),
                    Cell::new(row.change.as_str(), Tone::Worse),
                ]);
            }
        }
    }
    (!table.rows.is_empty()).then_some(table)
}

fn note(history: &History) -> String {
    let mut note = words::counts(history);
    note += &format!(
        " Each kernel is compared with the one before it in its line, at the same seeds, as \
         `preemptlab gate` does: a change point is certain at 1% for all metrics and sections of two \
         kernels together, so that chance makes {:.2} of them on average, at most.",
        history.expected_false
    );
    let shares = history.steps.iter().flat_map(|step| &step.gate.rows);
    let mut margins: Vec<String> = Vec::new();
    for row in shares {
        let margin = match row.margin {
            Margin::Share(_) => row.margin.to_string(),
            Margin::Time(_) => format!("{} of a latency", row.margin),
        };
        if !margins.contains(&margin) {
            margins.push(margin);
        }
    }
    note += &format!(" The margin is {}; what is undecided needs more seeds.", margins.join(", "));
    let is_traced = |traced: bool| history.steps.iter().any(|step| step.gate.is_traced == traced);
    if is_traced(true) && !history.changes().is_empty() {
        note += " Below a change is the function whose sections with preemption or interrupts off \
                 changed most in the same direction: by their longest for a latency, and else by all of \
                 a cell. It is where to look first, and no proof.";
    }
    if is_traced(false) {
        let which = if is_traced(true) { "Some cells" } else { "The cells" };
        note += &format!(" {which} have no traces, which `preemptlab run --trace` records.");
    }
    note
}

#[cfg(test)]
mod tests {
    use preemptlab_model::Direction;
    use preemptlab_stats::SectionChange;

    use super::*;
    use crate::history::testing;

    #[test]
    fn sections_are_said_in_words() {
        let history = testing::history();
        let mut row = history.steps[0].gate.sections[0].clone();
        row.kind = "softirq".to_owned();
        row.change = SectionChange::Gone;
        row.new_us = 0.0;
        let said = section(&row);
        assert!(
            said.starts_with("gone: softirqs running in held < caller: at most 1 us, then none")
        );
        let better: Vec<_> = history
            .changes()
            .iter()
            .filter(|change| change.row.better == Direction::Higher)
            .map(|change| change.row.changed())
            .collect();
        assert_eq!(better, ["-10.0%", "-10.0%"]);
    }
}
