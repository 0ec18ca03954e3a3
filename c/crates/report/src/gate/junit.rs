//! JUnit's XML, which most CI systems show.

use std::fmt::Write;

use preemptlab_stats::Gate;

use super::{
    cases::{Case, End, cases},
    tables::gate_headline,
};
use crate::xml::escape;

/// Renders the decision as JUnit's XML: a case for each metric, for each section that is worse or
/// suspect, and for each cell that failed, or one for the kernel where no cell was needed. An undecided case is skipped, which no CI system takes for a
/// failure.
pub fn gate_junit(gate: &Gate) -> String {
    let cases = cases(gate);
    let count = |end: End| cases.iter().filter(|case| case.end == end).count();
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    let _ = writeln!(
        text,
        "  <testsuite name=\"preemptlab gate\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\">",
        cases.len(),
        count(End::Failed),
        count(End::Broken),
        count(End::Undecided)
    );
    let attribute = |text: &str| escape(text).replace('\n', " ");
    let _ = writeln!(text, "    <properties>");
    for (name, value) in [("base", &gate.base), ("new", &gate.new)] {
        let _ = writeln!(text, "      <property name=\"{name}\" value=\"{}\"/>", attribute(value));
    }
    let _ = writeln!(text, "    </properties>");
    for Case { name, path: [class, _], end, words, .. } in &cases {
        let _ = write!(
            text,
            "    <testcase classname=\"preemptlab.gate.{class}\" name=\"{}\">",
            attribute(name)
        );
        let element = match end {
            End::Passed => "system-out",
            End::Failed => "failure",
            End::Broken => "error",
            End::Undecided => "skipped",
        };
        let _ = match end {
            End::Passed => write!(text, "<system-out>{}</system-out>", escape(words)),
            _ => write!(text, "<{element} message=\"{}\"/>", attribute(words)),
        };
        let _ = writeln!(text, "</testcase>");
    }
    let _ = writeln!(text, "    <system-out>{}</system-out>", escape(&gate_headline(gate)));
    text + "  </testsuite>\n</testsuites>\n"
}

#[cfg(test)]
mod tests {
    use preemptlab_stats::{GateRule, GateVerdict, gate};

    use super::*;
    use crate::gate::testing::{NASTY, hostile};

    #[test]
    fn equal_kernels_are_one_case_that_passed() {
        let none = gate(["one", "other"], &[], &[], &GateRule::default());
        let notes = vec!["both are the same image".to_owned()];
        for (verdict, element, counts) in [
            (GateVerdict::NoWorse, "system-out", ["1", "0", "0"]),
            (GateVerdict::Worse, "failure", ["1", "1", "0"]),
            (GateVerdict::Undecided, "skipped", ["1", "0", "1"]),
        ] {
            let text = gate_junit(&Gate { verdict, notes: notes.clone(), ..none.clone() });
            let document = roxmltree::Document::parse(&text).unwrap();
            let suite = document.descendants().find(|node| node.has_tag_name("testsuite")).unwrap();
            let count = |name: &str| suite.attribute(name).unwrap();
            assert_eq!(["tests", "failures", "skipped"].map(count), counts);
            let case = suite.children().find(|node| node.has_tag_name("testcase")).unwrap();
            assert!(case.first_element_child().unwrap().has_tag_name(element), "{text}");
            assert!(text.contains("other is") && text.contains("(both are the same image)"));
        }
    }

    #[test]
    fn hostile_names_stay_text() {
        let text = gate_junit(&hostile());
        let document = roxmltree::Document::parse(&text).unwrap();
        let named = |name: &str| {
            document.descendants().filter(|node| node.has_tag_name(name)).collect::<Vec<_>>()
        };
        let suite = named("testsuite")[0];
        let count = |name: &str| suite.attribute(name).unwrap().parse::<usize>().unwrap();
        assert_eq!(count("tests"), named("testcase").len());
        assert_eq!(count("failures"), named("failure").len());
        assert_eq!(count("errors"), named("error").len());
        assert_eq!(count("skipped"), named("skipped").len());
        assert!(count("failures") >= 2 && count("errors") == 1);
        assert!(named("script").is_empty());
        // The name is there, as text and without characters that steer a terminal.
        let shown = preemptlab_model::plain::line(NASTY).into_owned();
        let messages: Vec<&str> =
            named("failure").iter().map(|node| node.attribute("message").unwrap()).collect();
        assert!(messages.iter().any(|message| message.contains(&shown)), "{messages:?}");
    }
}
