//! Messages of stress-ng: the lines that say why a stressor did not work.

use preemptlab_protocol::CommandReport;

/// Beginning of every message, before its kind: `stress-ng: info:  [12] dispatching hogs: 1 mmap`.
const BEGIN: &str = "stress-ng: ";

/// Beginnings of the messages of every run, which are no reasons.
const OF_EVERY_RUN: [&str; 11] = [
    "note: ",
    "defaulting to",
    "setting to",
    "dispatching hogs",
    "skipped:",
    "passed:",
    "failed:",
    "metrics-check:",
    "metrics untrustworthy:",
    "successful run completed",
    "unsuccessful run completed",
];

/// Kinds of messages that tell a reason whatever their words.
const KINDS_OF_REASONS: [&str; 3] = ["error", "fail", "warn"];

/// The longest reason, in characters.
const REASON_CHARS_MAX: usize = 400;

/// The most messages that make a reason.
const MESSAGES_MAX: usize = 3;

/// The reason that stress-ng does not give.
const ENDED_BY_A_SIGNAL: &str = "a signal ended a process of it, such as SIGPIPE or SIGSEGV; stress-ng says of it \
                                 only that the run was unsuccessful";

/// Returns the reason why a stressor was skipped or failed, on one line: stress-ng's own where it gave one, else how
/// the run ended, with its other messages.
pub fn reason(command: &CommandReport, ended: &str) -> String {
    let lines = command.stderr.lines().chain(command.stdout.lines());
    let messages: Vec<(&str, &str)> = lines.filter_map(message).collect();
    let said: Vec<&(&str, &str)> = messages.iter().filter(|it| is_of_this_run(it)).collect();
    let is_reason =
        |(kind, text): &&(&str, &str)| KINDS_OF_REASONS.contains(kind) || text.contains("skip");
    let reasons = joined(said.iter().copied().filter(is_reason));
    let reason = match (reasons.is_empty(), joined(said.iter().copied())) {
        (false, _) => reasons,
        (true, _) if was_ended_by_a_signal(&messages) => ENDED_BY_A_SIGNAL.to_owned(),
        (true, others) if others.is_empty() => ended.to_owned(),
        (true, others) => format!("{ended}; it said: {others}"),
    };
    reason.chars().take(REASON_CHARS_MAX).map(harmless).collect()
}

/// Tells whether a signal other than SIGALRM ended a stressor. stress-ng 0.19 counts it as passed and the run as a
/// failure, and says no more; later versions count it as failed (`stress_wait_status`, stress-ng.c).
fn was_ended_by_a_signal(messages: &[(&str, &str)]) -> bool {
    let is_said = |begin: &str| messages.iter().any(|(_, text)| text.starts_with(begin));
    is_said("unsuccessful run completed") && is_said("failed: 0") && is_said("skipped: 0")
}

/// Joins the first messages, each once.
fn joined<'a>(said: impl Iterator<Item = &'a (&'a str, &'a str)>) -> String {
    let mut each: Vec<&str> = Vec::new();
    for (_, text) in said {
        if !each.contains(text) && each.len() < MESSAGES_MAX {
            each.push(text);
        }
    }
    each.join("; ")
}

fn is_of_this_run((_, text): &(&str, &str)) -> bool {
    !OF_EVERY_RUN.iter().any(|begin| text.starts_with(begin))
}

/// Returns a character as text, escaped where a terminal would obey it.
fn harmless(character: char) -> String {
    match character {
        '\'' | '"' => character.to_string(),
        other => other.escape_debug().to_string(),
    }
}

/// Returns the kind and the text of a message, without the number of its process.
fn message(line: &str) -> Option<(&str, &str)> {
    let (kind, text) = line.strip_prefix(BEGIN)?.split_once(':')?;
    let (process, text) = text.trim_start().strip_prefix('[')?.split_once(']')?;
    let is_message = kind != "metrc" && process.bytes().all(|byte| byte.is_ascii_digit());
    is_message.then_some((kind, text.trim()))
}
