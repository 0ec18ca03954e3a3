//! The slowest requests of a load, for a terminal.

use preemptlab_analysis::{
    explain::{Responses, answer_in_words, runner_in_words},
    in_us,
};
use preemptlab_model::{MetricName, counted};
use preemptlab_trace::Answer;

use crate::{Column, Table, Terminal, caption::cell_caption};

/// Largest number of tasks and interrupts that are shown.
const SHOWN: usize = 12;

/// Caption of the figures: the limits of the measurement.
const CAPTION: &str = "Approximate: a trace has no messages. A request is from the system call in \
    which a thread of the client sends to its return from the next wait for input in which it \
    sleeps. With several connections in one thread, that is the next answer of any of them; a \
    transaction has several such requests, and sockperf reports half of the round trip.";

/// Shows the slowest requests for a terminal, and the work during each.
pub fn responses_terminal(responses: &Responses<'_>, terminal: Terminal) -> String {
    let mut text = terminal.note(&format!(
        "{}: the slowest of {} of {} (its own {} is {:.0} us)",
        responses.cell.name(),
        counted(responses.count, "request"),
        responses.program,
        MetricName::RESPONSE_MAX,
        responses.cell.max_us
    ));
    for answer in &responses.slowest {
        text.push('\n');
        text += &terminal.note(&answer_in_words(answer));
        text.push('\n');
        text += &table(answer).terminal(terminal);
    }
    text.push('\n');
    text += &terminal.note(CAPTION);
    text.push('\n');
    text += &terminal.note(&cell_caption(responses.cell));
    text
}

/// Returns a table with a row for each task or interrupt that ran.
fn table(answer: &Answer) -> Table {
    let whole_ns = answer.request.len_ns().saturating_mul(answer.cpus as u64).max(1);
    let columns =
        [Column::right("ran").with_unit("us"), Column::right("%"), Column::left("on the CPU")];
    let mut table = Table::new("", columns);
    let share = |ns: u64| format!("{:.1}", ns as f64 * 100.0 / whole_ns as f64);
    for (runner, ns) in answer.ran.iter().take(SHOWN) {
        table.row([in_us(*ns), share(*ns), runner_in_words(runner)]);
    }
    let rest = answer.ran.get(SHOWN..).unwrap_or_default();
    if !rest.is_empty() {
        let ns = rest.iter().map(|(_, ns)| ns).sum();
        table.row([in_us(ns), share(ns), counted(rest.len(), "other")]);
    }
    if answer.cpus > 1 {
        table.notes.push(format!("Times are those of {} CPUs together.", answer.cpus));
    }
    table
}
