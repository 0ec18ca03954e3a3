//! The decision of a gate, for terminals and for Markdown.

use preemptlab_model::{counted, number, plain};
use preemptlab_stats::{Gate, GateRow, GateVerdict, Margin, SectionRow, Verdict};

use crate::{Cell, Column, Table, Terminal, Tone};

/// Callers of a function that are shown.
const CALLERS_SHOWN: usize = 1;

/// Renders the decision for a terminal.
pub fn gate_terminal(gate: &Gate, terminal: Terminal) -> String {
    let mut parts = vec![terminal.note(&gate_headline(gate))];
    parts.extend(troubles(gate).iter().map(|trouble| terminal.note(trouble)));
    parts.extend(tables(gate).iter().map(|table| table.terminal(terminal)));
    parts.extend(notes(gate).iter().map(|note| terminal.note(note)));
    parts.join("\n")
}

/// Renders the decision in GitHub's Markdown, for a pull request.
pub fn gate_markdown(gate: &Gate) -> String {
    let mut parts = vec![format!("### {}\n", plain::markdown(&gate_headline(gate)))];
    let troubles: String =
        troubles(gate).iter().map(|trouble| format!("- {}\n", plain::markdown(trouble))).collect();
    parts.extend((!troubles.is_empty()).then_some(troubles));
    parts.extend(tables(gate).iter().map(Table::markdown));
    parts.extend(notes(gate).iter().map(|note| format!("{}\n", plain::markdown(note))));
    parts.join("\n")
}

/// Returns the decision in one sentence.
pub fn gate_headline(gate: &Gate) -> String {
    let Gate { verdict, base, new, cells, looks, .. } = gate;
    let is = match verdict {
        GateVerdict::NoWorse => "is no worse than",
        GateVerdict::Worse => "is worse than",
        GateVerdict::Undecided => "is neither shown to be worse than nor to be as good as",
    };
    format!(
        "{new} {is} {base} (preemptlab gate: {}, {} at the results)",
        counted(*cells, "cell"),
        counted(*looks as usize, "look")
    )
}

/// Returns the reasons and failures that stand in no table.
fn troubles(gate: &Gate) -> Vec<String> {
    let failures = gate.failures.iter().map(|failure| {
        let place = failure.place.as_ref().map(|place| format!("{place}, ")).unwrap_or_default();
        let seed = failure.seed.map(|seed| format!("seed {seed}: ")).unwrap_or_default();
        format!("failed: {place}{seed}{}", failure.reason)
    });
    failures.collect()
}

fn tables(gate: &Gate) -> Vec<Table> {
    let mut tables = Vec::new();
    if !gate.rows.is_empty() {
        tables.push(metrics(gate));
    }
    if !gate.sections.is_empty() {
        tables.push(sections(gate));
    }
    tables
}

fn metrics(gate: &Gate) -> Table {
    let columns = [
        Column::left("metric"),
        Column::right("base"),
        Column::right("new"),
        Column::right("change"),
        Column::right("95% interval"),
        Column::right("p"),
        Column::right("seeds"),
        Column::left("verdict"),
    ];
    let mut table = Table::new("", columns);
    for of_place in gate.rows.chunk_by(|one, other| one.place == other.place) {
        table.span(Cell::new(of_place[0].place.to_string(), Tone::Strong));
        for row in of_place {
            let tone = match row.verdict {
                Verdict::Worse => Tone::Worse,
                Verdict::Better => Tone::Better,
                Verdict::WithinMargin | Verdict::WithinResolution | Verdict::Undecided { .. } => {
                    Tone::Plain
                }
            };
            table.row([
                Cell::from(format!("  {}", called(row))),
                Cell::from(number::number(row.base)),
                Cell::from(number::number(row.new)),
                Cell::from(row.changed()),
                Cell::from(row.interval_words()),
                Cell::from(row.p_words()),
                Cell::from(row.pairs.to_string()),
                Cell::new(row.verdict_words(), tone),
            ]);
        }
    }
    table
}

/// Returns the name of a metric, with its unit where the change has none.
fn called(row: &GateRow) -> String {
    match row.margin {
        Margin::Time(_) => row.title.clone(),
        Margin::Share(_) => format!("{}, {}", row.title, row.unit),
    }
}

fn sections(gate: &Gate) -> Table {
    let columns = [
        Column::left("off"),
        Column::left("function < callers"),
        Column::right("base").under("longest, us"),
        Column::right("new").under("longest, us"),
        Column::right("base").under("all of a cell, us"),
        Column::right("new").under("all of a cell, us"),
        Column::left("sections are"),
    ];
    let mut table = Table::new("Sections that changed, medians over the seeds", columns);
    for of_place in gate.sections.chunk_by(|one, other| one.place == other.place) {
        table.span(Cell::new(of_place[0].place.to_string(), Tone::Strong));
        for row in of_place {
            let mut word = row.change.as_str().to_owned();
            if row.is_worse {
                word += ": worse";
            } else if row.is_suspect {
                word += ": suspect";
            }
            let us =
                |us: f64| Cell::from(if us == 0.0 { "-".to_owned() } else { number::number(us) });
            table.row([
                Cell::from(format!("  {}", row.kind)),
                Cell::from(function(row)),
                us(row.base_us),
                us(row.new_us),
                us(row.base_total_us),
                us(row.new_total_us),
                Cell::new(word, if row.is_worse { Tone::Worse } else { Tone::Plain }),
            ]);
        }
    }
    if gate.further_sections > 0 {
        table.notes.push(format!("{} more changed.", counted(gate.further_sections, "function")));
    }
    table
}

/// Returns a function with its nearest callers.
fn function(row: &SectionRow) -> String {
    let callers = row.callers.iter().take(CALLERS_SHOWN).map(|caller| format!(" < {caller}"));
    format!("{}{}", row.function, callers.collect::<String>())
}

fn notes(gate: &Gate) -> Vec<String> {
    let mut notes = gate.notes.clone();
    if !gate.rows.is_empty() {
        notes.push(
            "worse: the change is certain, at 1% for all metrics, sections and looks together, and \
             may be as large as the margin. within: it is smaller than the margin, at 5% for each \
             metric. Seeds are paired; p is that of a single comparison."
                .to_owned(),
        );
    }
    if !gate.is_traced && !gate.rows.is_empty() {
        notes.push("The cells have no traces, so sections were not compared.".to_owned());
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::testing::hostile;

    #[test]
    fn hostile_names_steer_no_terminal_and_are_no_markup() {
        let text = gate_terminal(&hostile(), Terminal { width: 100, color: false });
        assert!(!text.contains(|char| plain::is_steering(char) && char != '\n'), "{text:?}");
        let text = gate_markdown(&hostile());
        assert!(!text.contains("<script>") && !text.contains("@all"), "{text}");
        assert!(!text.contains(|char| plain::is_steering(char) && char != '\n'), "{text:?}");
    }

    #[test]
    fn tables_fit_a_terminal() {
        let mut gate = hostile();
        for row in &mut gate.rows {
            row.place.workload = "processes".to_owned();
        }
        gate.rows.retain(|row| row.metric == preemptlab_model::MetricName::Throughput);
        gate.sections.clear();
        let text = gate_terminal(&gate, Terminal { width: 100, color: false });
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        assert!(text.contains("worse"), "{text}");
    }
}
