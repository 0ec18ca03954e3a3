//! Comparisons and other tables, for terminals, mailing lists and programs.
//!
//! Every function returns text; nothing here prints. What is rendered depends on its input alone:
//! no clock, no host name, no terminal is asked.

mod agreement;
mod comparison_csv;
mod details;
mod extremes;
mod label;
mod lanes;
mod number;
mod overview;
mod recommendation;
mod recommendation_csv;
mod recommendation_document;
mod recommendation_tables;
mod recommendation_words;
mod summary;
mod table;
mod table_csv;
mod table_layout;
mod table_markdown;
mod table_terminal;
mod template;
mod timeline;
mod verdict;
mod words;

pub use comparison_csv::csv;
pub use extremes::extreme_in_words;
pub use lanes::{LaneMark, LanesPanel, ShownThread, lanes_svg, lanes_terminal};
use preemptlab_model::{BackendKind, InstructionCost, plain};
use preemptlab_stats::Comparison;
pub use recommendation::{
    Advice, recommendation_in_words, recommendation_markdown, recommendation_terminal,
};
pub use recommendation_csv::recommendation_csv;
pub use recommendation_document::recommendation_json;
pub use summary::{InWords, in_words};
pub use table::{Align, Cell, Column, Row, Table, Tone};
pub use table_terminal::Terminal;
pub use template::{Facts, TemplateError, fill};
pub use timeline::{
    Lane, cause_in_words, escape_xml, one_sentence, timeline_svg, timeline_terminal,
};
pub use words::{human, yes_or_no};

/// Detail in which a comparison is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// One table per workload and number of CPUs, with the metrics that tell configurations apart.
    #[default]
    Overview,
    /// One table per metric, with every statistic.
    Details,
}

/// Renders a comparison for a terminal.
pub fn terminal(comparison: &Comparison, view: View, terminal: Terminal) -> String {
    document(comparison, view, |table| table.terminal(terminal), |text| terminal.note(text))
}

/// Renders a comparison in GitHub's Markdown, which is also readable as it stands, in a mail.
pub fn markdown(comparison: &Comparison, view: View) -> String {
    document(comparison, view, Table::markdown, |text| format!("{}\n", plain::markdown(text)))
}

/// A comparison as JSON.
///
/// # Panics
///
/// Never: the document's maps have strings as keys and its numbers are finite.
pub fn json(comparison: &Comparison) -> String {
    let text = serde_json::to_string_pretty(comparison).expect("the document has a JSON form");
    format!("{}\n", plain::json(&text))
}

fn document(
    comparison: &Comparison,
    view: View,
    table: impl Fn(&Table) -> String,
    note: impl Fn(&str) -> String,
) -> String {
    let tables = comparison.groups.iter().flat_map(|group| match view {
        View::Overview => vec![overview::table(group, comparison.margin)],
        View::Details => details::tables(group, comparison.margin),
    });
    let mut parts: Vec<String> = tables.map(|each| table(&each)).collect();
    parts.extend(agreement::tables(comparison).iter().map(table));
    parts.extend(verdict::legend(comparison, view).map(|legend| note(&legend)));
    parts.push(note(&caption(comparison)));
    parts.join("\n")
}

/// Writes the caption of a comparison: the facts about virtual and host time that a reader of the
/// numbers needs.
pub fn caption(comparison: &Comparison) -> String {
    let has = |kind: BackendKind| comparison.groups.iter().any(|group| group.backend == kind);
    let (host, kvm) = (has(BackendKind::Host), has(BackendKind::Kvm));
    let real = match (host, kvm) {
        (true, true) => "host and kvm",
        (true, false) => "host",
        (false, true) => "kvm",
        (false, false) => return virtual_caption(comparison),
    };
    let real = format!(
        "Times of {real} are those of the machine that measured, with whatever else it did: they hold \
         for it, and no run says the same again."
    );
    if !has(BackendKind::Vm) {
        return real;
    }
    format!(
        "{} {real} A difference between a virtual and a real microsecond says nothing: compare ratios \
         and orders, each within its own kind of time.",
        virtual_caption(comparison)
    )
}

fn virtual_caption(comparison: &Comparison) -> String {
    let mut caption = InstructionCost::caption(&comparison.costs);
    caption += " Compare ratios, orders and causes; microseconds are not a promise about hardware.";
    let is_wide = |group: &preemptlab_stats::Group| group.backend.is_vm() && group.cpus > 1;
    if comparison.groups.iter().any(is_wide) {
        caption += " With several CPUs, time advances with the instructions of all of them, and no \
            CPU is ahead of another by more than the experiment's `skew_us` (10 us unless it says \
            otherwise): see docs/virtual-time.md.";
    }
    caption
}
