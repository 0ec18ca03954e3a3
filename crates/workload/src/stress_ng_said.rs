//! Messages of stress-ng: the lines that say why a stressor did not work.

use preemptlab_protocol::CommandReport;

use crate::error::tail;

/// Beginning of every message, before its kind: `stress-ng: info:  [12] dispatching hogs: 1 mmap`.
const BEGIN: &str = "stress-ng: ";

/// Beginnings of the messages of every run, which are no reasons.
const OF_EVERY_RUN: [&str; 10] = [
    "note: ",
    "defaulting to",
    "setting to",
    "dispatching hogs",
    "skipped:",
    "passed:",
    "failed:",
    "metrics untrustworthy:",
    "successful run completed",
    "unsuccessful run completed",
];

/// The most messages that make a reason.
const MESSAGES_MAX: usize = 3;

/// Returns stress-ng's own reason why a stressor was skipped or failed, on one line; `None` where it gave none.
pub fn reason(command: &CommandReport) -> Option<String> {
    let mut said: Vec<&str> = Vec::new();
    let lines = command.stderr.lines().chain(command.stdout.lines());
    for message in lines.filter_map(message) {
        let is_reason = !OF_EVERY_RUN.iter().any(|begin| message.starts_with(begin));
        if is_reason && !said.contains(&message) && said.len() < MESSAGES_MAX {
            said.push(message);
        }
    }
    let escaped: String = said.join("; ").chars().map(harmless).collect();
    (!said.is_empty()).then(|| tail(&escaped).to_owned())
}

/// Returns a character as text, escaped where a terminal would obey it.
fn harmless(character: char) -> String {
    match character {
        '\'' | '"' => character.to_string(),
        other => other.escape_debug().to_string(),
    }
}

/// Returns the text of a message, without its kind and the number of its process.
fn message(line: &str) -> Option<&str> {
    let (kind, text) = line.strip_prefix(BEGIN)?.split_once(':')?;
    let text = text.trim_start();
    let (process, text) = text.strip_prefix('[')?.split_once(']')?;
    let is_message = kind != "metrc" && process.bytes().all(|byte| byte.is_ascii_digit());
    is_message.then_some(text.trim())
}
