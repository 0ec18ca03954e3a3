//! The history of kernels: change points first, then every value.

mod causes;
mod changes;
mod page;
mod picture;
#[cfg(test)]
mod testing;
mod troubles;
mod values;
mod words;

use preemptlab_stats::{History, HistoryGroup};

use self::{page::Part, words::headline};
use crate::Terminal;

pub use picture::{HistoryPicture, history_pictures};

/// Renders a history for a terminal.
pub fn history_terminal(history: &History, terminal: Terminal) -> String {
    page::terminal(&parts(history, None), terminal)
}

/// Renders a history as a page of GitHub's Markdown. `pictures` is the folder, as a link from the page,
/// that holds those of [`history_pictures`].
pub fn history_markdown(history: &History, pictures: Option<&str>) -> String {
    page::markdown(&parts(history, pictures))
}

fn parts(history: &History, pictures: Option<&str>) -> Vec<Part> {
    let mut parts = vec![Part::Title(headline(history))];
    parts.extend(changes::parts(history));
    let pictures = pictures.map(|folder| (folder, history_pictures(history)));
    if pictures.is_some() {
        parts.push(Part::Note(picture::HOW_TO_READ.to_owned()));
    }
    parts.push(Part::Note(values::HOW_TO_READ.to_owned()));
    for of in groups(history) {
        parts.push(Part::Heading(words::group(of)));
        if let Some((folder, pictures)) = &pictures {
            let its = pictures.iter().filter(|picture| picture.of == *of);
            parts.extend(its.map(|picture| Part::Picture {
                words: picture.title.clone(),
                link: page::link(folder, &picture.file),
            }));
        }
        parts.extend(values::tables(history, of).into_iter().map(Part::Table));
    }
    parts.extend(causes::parts(history));
    parts.extend(troubles::parts(history));
    if !history.caption.is_empty() {
        parts.push(Part::Note(history.caption.clone()));
    }
    parts
}

/// Lists the groups of a history once each, in their order.
fn groups(history: &History) -> Vec<&HistoryGroup> {
    let mut groups: Vec<&HistoryGroup> = history.panels.iter().map(|panel| &panel.of).collect();
    groups.dedup();
    groups
}

#[cfg(test)]
mod tests {
    use preemptlab_model::plain;

    use super::*;

    fn terminal(history: &History) -> String {
        history_terminal(history, Terminal { width: 100, color: false })
    }

    #[test]
    fn change_points_come_first() {
        let text = terminal(&testing::history());
        let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("no `{part}` in {text}"));
        assert!(text.starts_with("The latency history of 5 kernels: "), "{text}");
        let parts = [
            "change points in",
            "6.1 to 6.12",
            "6.12-rt to 7.2-rt",
            "load on 1 CPU",
            "Why each kernel was late at worst",
            "Cells without measurements",
        ];
        let places: Vec<usize> = parts.iter().map(|part| at(part)).collect();
        assert!(places.is_sorted(), "{places:?} {text}");
        assert!(
            text.contains("preemption off in held < caller: at most 1 us, then 90 us"),
            "{text}"
        );
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    }

    #[test]
    fn what_could_not_be_measured_keeps_its_row() {
        let text = terminal(&testing::history());
        assert!(text.lines().any(|line| line.contains("6.9") && line.contains("unavailable")));
        assert!(text.contains("no package"), "{text}");
    }

    #[test]
    fn nothing_that_changed_is_said_with_what_is_open() {
        let mut history = testing::history();
        for step in &mut history.steps {
            for row in &mut step.gate.rows {
                row.verdict = preemptlab_stats::Verdict::Undecided { more: None };
            }
            step.gate.sections.clear();
        }
        let text = terminal(&history);
        assert!(text.contains("no change point"), "{text}");
        assert!(text.contains("8 undecided"), "{text}");
    }

    #[test]
    fn pages_link_their_pictures() {
        let history = testing::history();
        let page = history_markdown(&history, Some("a b/history"));
        assert!(page.contains("](a%20b/history/load.svg)"), "{page}");
        assert!(page.starts_with("# The latency history of 5 kernels"), "{page}");
        assert!(page.contains("\n## load on 1 CPU\n"), "{page}");
        assert!(!history_markdown(&history, None).contains(".svg"));
    }

    #[test]
    fn hostile_names_steer_no_terminal_and_are_no_markup() {
        let history = testing::hostile();
        let text = terminal(&history);
        assert!(!text.contains(|char| plain::is_steering(char) && char != '\n'), "{text:?}");
        let text = history_markdown(&history, Some("p"));
        assert!(!text.contains("<script>") && !text.contains("@all"), "{text}");
        assert!(!text.contains(|char| plain::is_steering(char) && char != '\n'), "{text:?}");
        for picture in history_pictures(&history) {
            assert!(roxmltree::Document::parse(&picture.svg).is_ok(), "{}", picture.svg);
            assert!(!picture.svg.contains("<script>"));
            assert!(!picture.file.contains(['/', '<', ' ']), "{}", picture.file);
        }
    }
}
