//! Annotations of a GitHub workflow: commands that the runner reads in a step's output.

use preemptlab_model::plain;
use preemptlab_stats::Gate;

use super::{
    cases::{End, cases},
    tables::gate_headline,
};

/// Renders the decision as annotations: an error for a worse case, a warning for an undecided one, and
/// a notice of the decision.
pub fn gate_github(gate: &Gate) -> String {
    let headline = format!("::notice title=preemptlab gate::{}\n", data(&gate_headline(gate)));
    let told = cases(gate).into_iter().filter_map(|case| {
        let level = match case.end {
            End::Passed => return None,
            End::Failed | End::Broken => "error",
            End::Undecided => "warning",
        };
        Some(format!("::{level} title={}::{}\n", property(&case.name), data(&case.words)))
    });
    std::iter::once(headline).chain(told).collect()
}

/// Escapes a message, which ends with its line.
fn data(text: &str) -> String {
    plain::line(text).replace('%', "%25")
}

/// Escapes a property, which ends at a comma or at two colons.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::testing::hostile;

    #[test]
    fn hostile_names_start_no_command() {
        let text = gate_github(&hostile());
        let levels = ["::notice title=", "::error title=", "::warning title="];
        for line in text.lines() {
            assert!(levels.iter().any(|level| line.starts_with(level)), "{line}");
            let (title, _) = line[2..].split_once("::").unwrap();
            assert!(!title.contains(',') && !title.contains(':'), "{title}");
            let percents = line.split('%').skip(1);
            assert!(
                percents
                    .clone()
                    .all(|rest| { ["25", "3A", "2C"].iter().any(|code| rest.starts_with(code)) })
            );
        }
        assert!(text.lines().filter(|line| line.starts_with("::error")).count() >= 3);
    }
}
