//! A block for a mail, in the form that readers of the kernel's lists know from its performance bots.

use std::fmt::Write;

use preemptlab_model::{number, plain};
use preemptlab_stats::{Gate, GateRow, GateVerdict};

use super::tables::gate_headline;

/// Renders the decision as a block for a mail: means with their deviation in per cent, and the change.
pub fn gate_letter(gate: &Gate) -> String {
    let shown = |text: &str| plain::line(text).into_owned();
    let mut text = format!("{}\n\n", shown(&gate_headline(gate)));
    let reasons = gate.reasons();
    for reason in &reasons {
        let _ = writeln!(text, "  {}", shown(reason));
    }
    if !reasons.is_empty() {
        text.push('\n');
    }
    for of_place in gate.rows.chunk_by(|one, other| one.place == other.place) {
        let _ = writeln!(text, "{}\nworkload/mode/cpus:", "=".repeat(72));
        let _ = writeln!(text, "  {}\n\ncommit:", shown(&of_place[0].place.to_string()));
        let _ = writeln!(text, "  {}\n  {}\n", shown(&gate.base), shown(&gate.new));
        text += "            base                         new\n\
                 ---------------- ---------------------------\n\
                 \u{20}        %stddev     %change         %stddev\n\
                 \u{20}            \\          |                \\\n";
        for row in of_place {
            let _ = writeln!(
                text,
                "{:>10}{:>6} {:>10} {:>10}{:>6}  {}.{}",
                number::number(row.base),
                deviation(row.base, row.base_deviation),
                change(row),
                number::number(row.new),
                deviation(row.new, row.new_deviation),
                shown(&row.place.workload),
                shown(&row.metric.to_string())
            );
        }
        text.push('\n');
    }
    let worse = gate.sections.iter().filter(|section| section.is_worse);
    for section in worse {
        let _ = writeln!(
            text,
            "{:>10.1}       {:>10} {:>10.1}        section-us.{}",
            section.base_us,
            section.change.as_str(),
            section.new_us,
            shown(&section.function)
        );
    }
    if gate.verdict == GateVerdict::Worse {
        text += "\nThe same kernels give the same numbers on any machine, to the byte.\n";
    }
    text
}

/// Returns the deviation in per cent of the mean: ` ± 2%`; nothing below half a per cent.
fn deviation(mean: f64, deviation: f64) -> String {
    let percent = (deviation / mean.abs() * 100.0).round();
    if percent.is_finite() && percent >= 1.0 { format!(" ± {percent}%") } else { String::new() }
}

/// Returns the change in per cent; of a base of zero the difference.
fn change(row: &GateRow) -> String {
    match (row.new / row.base - 1.0) * 100.0 {
        percent if percent.is_finite() => format!("{percent:+.1}%"),
        _ => format!("{:+.1}", row.new - row.base),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::testing::hostile;

    #[test]
    fn hostile_names_steer_no_reader() {
        let text = gate_letter(&hostile());
        assert!(!text.contains(|char| plain::is_steering(char) && char != '\n'), "{text:?}");
        let line = text.lines().find(|line| line.ends_with(".throughput")).unwrap();
        assert!(line.contains("-5.0%") && line.contains("± 1%"), "{line}");
        assert!(text.contains("section-us."), "{text}");
    }
}
