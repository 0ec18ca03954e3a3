//! Draws answers: tables, sentences and pictures for terminals, mailing lists, pages and programs.
//!
//! Nothing here prints: every function returns text or the data of a page, but for [`export::export_tables`], which
//! writes files. The output depends on the input alone: no clock, no host name, no terminal is asked.

mod agreement;
mod answer;
mod caption;
mod comparison_csv;
mod curves;
mod details;
mod explain;
pub mod export;
mod extremes;
mod fidelity;
mod file_names;
mod gate;
mod history;
mod kernels;
mod label;
mod lanes;
mod letter;
mod machine_histograms;
mod overview;
pub mod page;
mod plan;
mod recommendation;
mod recommendation_brief;
mod recommendation_csv;
mod recommendation_tables;
mod recommendation_words;
mod scenario;
mod summary;
mod svg;
mod table;
mod table_csv;
mod table_layout;
mod table_markdown;
mod table_split;
mod table_terminal;
mod template;
mod template_numbers;
mod timeline;
mod verdict;
mod view;
mod words;
mod xml;

pub use answer::answer;
pub use caption::caption;
pub use comparison_csv::csv;
pub use curves::{LatencyCurve, LatencyCurves, curves_svg, curves_terminal};
pub use explain::{
    atlas_markdown, atlas_table, atlas_terminal, census_markdown, census_table, census_terminal,
    confirmation_terminal, explanation_svg, explanation_terminal, patched_terminal, ranking_table,
    responses_terminal, searched_table, searched_terminal,
};
pub use fidelity::{fidelity_markdown, fidelity_terminal};
pub use file_names::file_names;
pub use gate::{
    gate_github, gate_headline, gate_junit, gate_kcidb, gate_letter, gate_markdown, gate_terminal,
};
pub use history::{HistoryPicture, history_markdown, history_pictures, history_terminal};
pub use kernels::{kernel_configurations_table, kernel_versions_table};
pub use lanes::{LaneMark, LanesPanel, ShownThread, lanes_svg, lanes_terminal};
pub use letter::{form, letter};
pub use plan::{plan_table, sketch_table};
use preemptlab_model::plain;
use preemptlab_stats::Comparison;
pub use recommendation::{
    recommendation_in_words, recommendation_json, recommendation_markdown, recommendation_terminal,
};
pub use recommendation_brief::recommendation_brief;
pub use recommendation_csv::recommendation_csv;
pub use scenario::{scenario_svg, scenarios_markdown, scenarios_page, scenarios_terminal};
pub use summary::{InWords, in_words};
pub use table::{Align, Cell, Column, Row, Table, Tone};
pub use table_terminal::Terminal;
pub use template::{Facts, Form, PAGE_BYTES_MAX, TemplateError};
pub use template_numbers::{Answer, Answers, Call, Function};
pub use timeline::{Lane, timeline_svg, timeline_terminal};
pub use view::View;
pub use words::{human, yes_or_no};

/// Renders a comparison for a terminal.
pub fn terminal(comparison: &Comparison, view: View, terminal: Terminal) -> String {
    let answer = answered(comparison, view).map(|said| format!("{}\n", terminal.note(&said)));
    let tables =
        document(comparison, view, |table| table.terminal(terminal), |text| terminal.note(text));
    answer.unwrap_or_default() + &tables
}

/// Renders a comparison in GitHub's Markdown, which is also readable as it stands, in a mail.
pub fn markdown(comparison: &Comparison, view: View) -> String {
    let answer = answered(comparison, view).map(|said| format!("{}\n\n", plain::markdown(&said)));
    answer.unwrap_or_default() + &tables_markdown(comparison, view)
}

/// Renders the tables of a comparison in GitHub's Markdown, for a page that begins with its answer.
pub fn tables_markdown(comparison: &Comparison, view: View) -> String {
    document(comparison, view, Table::markdown, |text| format!("{}\n", plain::markdown(text)))
}

/// Returns the answer that stands before the tables of an overview, in one paragraph.
fn answered(comparison: &Comparison, view: View) -> Option<String> {
    let said = if view == View::Overview { answer(comparison) } else { Vec::new() };
    (!said.is_empty()).then(|| said.join(" "))
}

/// Writes lines as they are in GitHub's Markdown: as a block that nothing in them ends.
pub fn block_markdown(text: &str) -> String {
    let text = plain::lines(text).replace("```", "` ` `");
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("```\n{text}{end}```\n")
}

/// Returns a comparison as JSON.
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
        View::Overview => vec![overview::table(group, &comparison.margins)],
        View::Details => details::tables(group, &comparison.margins),
    });
    let mut parts: Vec<String> = tables.map(|each| table(&each)).collect();
    parts.extend(agreement::tables(comparison).iter().map(&table));
    parts.extend(machine_histograms::tables(comparison, view).iter().map(&table));
    parts.extend(verdict::legend(comparison, view).map(|legend| note(&legend)));
    parts.push(note(&caption(comparison)));
    parts.join("\n")
}
