//! A recommendation: the configuration, the reasons, the certainty, the alternatives, and the
//! settings that put it into force.

use preemptlab_analysis::{advice::Advice, recommendation::document};
use preemptlab_model::plain;
use preemptlab_system::tune::{Measures, Proposal, Step, Target, emit};

use crate::{
    InWords, Table, Terminal, View, block_markdown, caption, machine_histograms,
    recommendation_tables as tables, recommendation_words as words,
};

/// A part of the text.
enum Part {
    /// A paragraph of text.
    Text(String),
    /// A paragraph that stands out.
    Heading(String),
    /// Lines that are to be copied: they are never wrapped.
    Verbatim(String),
    Table(Table),
}

/// Renders a recommendation for a terminal.
pub fn recommendation_terminal(advice: &Advice, terminal: Terminal) -> String {
    let render = |part: &Part| match part {
        Part::Text(text) => terminal.note(text),
        Part::Heading(text) => Table { title: text.clone(), ..Table::default() }.terminal(terminal),
        Part::Verbatim(text) => {
            let text = plain::lines(text);
            let lines = text.lines().map(|line| format!("  {line}"));
            lines.map(|line| format!("{}\n", line.trim_end())).collect()
        }
        Part::Table(table) => table.terminal(terminal),
    };
    join(parts(advice).iter().map(render))
}

/// Writes a recommendation as JSON.
///
/// # Panics
///
/// Never: the document has no maps, and its numbers are finite.
pub fn recommendation_json(advice: &Advice) -> String {
    let document = document(advice);
    let text = serde_json::to_string_pretty(&document).expect("the document has a JSON form");
    format!("{}\n", plain::json(&text))
}

/// Renders a recommendation in GitHub's Markdown.
pub fn recommendation_markdown(advice: &Advice) -> String {
    let render = |part: &Part| match part {
        Part::Text(text) => format!("{}\n", plain::markdown(text)),
        Part::Heading(text) => format!("**{}**\n", plain::markdown(text)),
        Part::Verbatim(text) => block_markdown(text),
        Part::Table(table) => table.markdown(),
    };
    join(parts(advice).iter().map(render))
}

/// Describes a recommendation in a few sentences.
pub fn recommendation_in_words(advice: &Advice) -> InWords {
    let recommendation = &advice.recommendation;
    let asked = words::asked(recommendation);
    let mut points = vec![format!("Asked for: {}.", asked.join(", "))];
    let headline = match &recommendation.choice {
        Some(choice) => {
            points.push(words::certainty(recommendation, choice));
            points.extend(words::by_samples(recommendation, choice));
            points.extend(words::further_cells(recommendation, choice));
            points.extend(words::failures(recommendation, choice));
            format!("{}.", words::headline(recommendation, choice, advice))
        }
        None => {
            points.extend(words::obstacle(recommendation));
            words::no_choice(recommendation)
        }
    };
    points.push(words::scope(recommendation));
    points.extend(words::defaults(advice));
    let histograms = &recommendation.comparison.histograms;
    let of_constraint = |constraint| machine_histograms::beside(constraint, histograms);
    points.extend(recommendation.constraints.iter().flat_map(of_constraint));
    InWords { headline, points }
}

fn join(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join("\n")
}

fn parts(advice: &Advice) -> Vec<Part> {
    let recommendation = &advice.recommendation;
    let mut parts = Vec::new();
    match &recommendation.choice {
        Some(choice) => {
            parts.push(Part::Heading(words::headline(recommendation, choice, advice)));
            parts.push(Part::Table(tables::why(recommendation, choice)));
            parts.extend(words::by_samples(recommendation, choice).map(Part::Text));
            parts.extend(words::further_cells(recommendation, choice).map(Part::Text));
            parts.extend(words::failures(recommendation, choice).map(Part::Text));
            parts.push(Part::Text(words::scope(recommendation)));
            parts.push(Part::Text(words::certainty(recommendation, choice)));
            parts.extend(advice.next.as_deref().map(|next| Part::Verbatim(continued(next))));
            parts.extend(tables::runners_up(recommendation, choice).map(Part::Table));
        }
        None => {
            parts.push(Part::Heading(words::no_choice(recommendation)));
            parts.extend(words::obstacle(recommendation).into_iter().map(Part::Text));
            parts.push(Part::Text(words::scope(recommendation)));
        }
    }
    parts.extend(words::defaults(advice).map(Part::Text));
    parts.extend(tables::failing(recommendation).map(Part::Table));
    parts.extend(tables::unmeasured(recommendation).map(Part::Table));
    if let Some(settings) = &advice.settings {
        parts.extend(force(settings));
    }
    let histograms = &recommendation.comparison.histograms;
    let tables = machine_histograms::tables(&recommendation.comparison, View::Overview);
    parts.extend(tables.into_iter().map(Part::Table));
    let of_constraint = |constraint| machine_histograms::beside(constraint, histograms);
    parts.extend(recommendation.constraints.iter().flat_map(of_constraint).map(Part::Text));
    parts.push(Part::Text(caption(&recommendation.comparison)));
    parts
}

/// Describes how to put the configuration into force.
fn force(settings: &Result<Proposal, String>) -> Vec<Part> {
    let Proposal { settings, refused } = match settings {
        Ok(proposal) => proposal,
        Err(reason) => return vec![Part::Text(format!("Its settings are not given: {reason}"))],
    };
    let mut parts =
        vec![Part::Heading("To put it into force, as root, and then reboot".to_owned())];
    if !refused.is_empty() {
        let text = "Not all of it is given here, and what follows is not quite what was measured. \
                    `preemptlab system apply` refuses:";
        parts.push(Part::Text(text.to_owned()));
        parts.extend(refused.iter().map(|refusal| Part::Text(refusal.to_string())));
    }
    parts.extend(settings.install().map(|command| Part::Verbatim(format!("{command}\n"))));
    parts.push(Part::Text(settings.notes().join(" ")));
    for target in Target::BOOT {
        let Measures { steps, notes, elsewhere } = emit(settings, target);
        parts.push(Part::Heading(format!("With {target}")));
        let steps: String = steps.iter().map(step).collect();
        if !steps.is_empty() {
            parts.push(Part::Verbatim(steps));
        }
        let notes = [notes, elsewhere].concat();
        if !notes.is_empty() {
            parts.push(Part::Text(notes.join(" ")));
        }
    }
    parts
}

fn step(step: &Step) -> String {
    match step {
        Step::Run(command) => format!("{command}\n"),
        Step::Write { path, content, .. } => {
            let lines = content.lines().map(|line| match line {
                "" => "\n".to_owned(),
                line => format!("    {line}\n"),
            });
            format!("{path}:\n{}", lines.collect::<String>())
        }
        Step::Add { path, words } => {
            format!("{path}, at the end of its line:\n    {}\n", words.join(" "))
        }
    }
}

/// Returns a command, continued on further lines before an option where it would be too long.
fn continued(command: &str) -> String {
    const WIDTH: usize = 90;
    let mut lines = vec![String::new()];
    for (index, part) in command.split(" --").enumerate() {
        let part = if index == 0 { part.to_owned() } else { format!(" --{part}") };
        let line = lines.last_mut().expect("there is a first line");
        if line.len() + part.len() > WIDTH && !line.is_empty() {
            lines.push(format!("   {part}"));
        } else {
            line.push_str(&part);
        }
    }
    lines.join(" \\\n") + "\n"
}
