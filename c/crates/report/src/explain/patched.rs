//! The latencies of a kernel with a patch, for a terminal.

use preemptlab_analysis::{
    WhatIf,
    explain::{Patched, change_in_percent},
    in_ms, in_us,
    unsound::UNSOUND,
    wakeup::cause_in_words,
};
use preemptlab_trace::Counterfactual;

use crate::{Cell, Column, Table, Terminal, Tone, caption::cell_caption};

/// Shows the latencies before and after changes for a terminal, and the longest remaining stretch.
pub fn patched_terminal(patched: &Patched<'_>, terminal: Terminal) -> String {
    let Counterfactual { after, affected, opened_ns, .. } = &patched.computed;
    let mut text = table(patched).terminal(terminal);
    text.push('\n');
    let mut words = patched.sentence();
    if let Some((closed, timeline)) = &patched.longest {
        words += &format!(
            " The longest stretch without a switch is then {} us, from {}: {}.",
            in_us(closed.len_ns()),
            in_ms(closed.start_ns),
            cause_in_words(timeline)
        );
    }
    if !after.is_sound() {
        words += &format!(
            " The worst is then a wakeup that was observed: {UNSOUND}, which would allow {} us.",
            in_us(after.computed_ns())
        );
    }
    text += &terminal.note(&words);
    let removes = match affected.count {
        0 => "In this window that removes nothing, although the trace has the code.".to_owned(),
        count => format!(
            "That splits or shortens {count} of the stretches without a switch, which are {} us \
             together before it and {} us after it.",
            in_us(affected.total_ns),
            in_us(affected.total_ns.saturating_sub(*opened_ns))
        ),
    };
    text += &terminal.note(&removes);
    for remark in &patched.remarks {
        text += &terminal.note(remark);
    }
    text.push('\n');
    text += &terminal.note(
        "This is computed from the trace: nothing was executed. A kernel with that patch would take \
         another course.",
    );
    text += &terminal.note(&cell_caption(patched.cell));
    text
}

fn table(patched: &Patched<'_>) -> Table {
    let Counterfactual { before, after, wakeups, wakeups_count, .. } = &patched.computed;
    let what_if: Vec<String> = patched.what_if.iter().map(WhatIf::to_string).collect();
    let mut table = Table::new(
        format!("{}: what if {}", patched.cell.name(), what_if.join(", ")),
        [
            Column::left("late"),
            Column::right("before").with_unit("us"),
            Column::right("after").with_unit("us"),
            Column::right("change"),
        ],
    );
    let mut row = |name: String, before: u64, after: u64| {
        let tone = if after < before { Tone::Better } else { Tone::Plain };
        table.row([
            Cell::from(name),
            Cell::from(in_us(before)),
            Cell::from(in_us(after)),
            Cell::new(change_in_percent(before, after), tone),
        ]);
    };
    row("at the worst instant".to_owned(), before.max_ns(), after.max_ns());
    row("at 99.9 % of all instants".to_owned(), before.p99_9_ns, after.p99_9_ns);
    row("at 99 % of all instants".to_owned(), before.p99_ns, after.p99_ns);
    for (place, found) in wakeups.iter().take(patched.worst).enumerate() {
        let of = if place == 0 { format!(", the worst of {wakeups_count}") } else { String::new() };
        let name = format!("wakeup {}{of}", found.wakeup.ordinal);
        row(name, found.wakeup.latency_ns(), found.changed_ns);
    }
    table
}
