use similar::TextDiff;

use crate::apply::{Change, Contents};

/// Returns a change as a unified diff; bytes that are no UTF-8 are replaced.
pub fn unified(change: &Change) -> String {
    let text =
        |contents: &Option<Contents>| contents.as_ref().map(Contents::text).unwrap_or_default();
    let name = |contents: &Option<Contents>| match contents {
        Some(_) => change.path.as_str(),
        None => "/dev/null",
    };
    let (from, to) = (text(&change.from), text(&change.to));
    let diff = TextDiff::from_lines(from.as_str(), to.as_str());
    diff.unified_diff().header(name(&change.from), name(&change.to)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apply::Kind;

    #[test]
    fn a_new_file_is_shown_whole() {
        let change = Change {
            path: "/etc/a".into(),
            kind: Kind::Ours,
            from: None,
            to: Some(Contents::of_root("one\n")),
        };
        assert_eq!(unified(&change), "--- /dev/null\n+++ /etc/a\n@@ -0,0 +1 @@\n+one\n");
    }
}
