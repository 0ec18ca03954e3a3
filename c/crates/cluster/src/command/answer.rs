//! Errors of commands, and the next step after each.

use std::process::ExitStatus;

use preemptlab_model::plain;

use crate::engine::EngineError;

/// Most characters of an answer that are shown.
const CHARS_MAX: usize = 400;

/// A command that failed.
pub struct Answer<'a> {
    /// The command.
    pub program: &'static str,
    /// How it ended.
    pub status: ExitStatus,
    /// Its output.
    pub said: &'a str,
}

/// Kind of a refusal.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// The engine does not answer for now.
    Away,
    /// The user's arguments are unusable.
    Unusable,
    /// The engine says no for a reason of its own.
    Refused,
}

/// Words of an answer in small letters, their meaning, and the next step.
pub type Known = (&'static str, Kind, &'static str);

/// Returns the error of a command that failed; the first of the known answers that fits counts.
pub fn refused(known: &[Known], answer: &Answer<'_>) -> EngineError {
    let said = cleaned(answer.said);
    let program = answer.program;
    let text = match said.is_empty() {
        true => format!("{program} failed without a word ({})", answer.status),
        false => format!("{program}: {said}"),
    };
    let small = said.to_lowercase();
    let known = known.iter().find(|(words, ..)| small.contains(words));
    match known {
        None => EngineError::Refused(text),
        Some((_, Kind::Away, _)) => EngineError::Away(text),
        Some((_, Kind::Unusable, next)) => EngineError::Unusable(format!("{text}; {next}")),
        Some((_, Kind::Refused, next)) => EngineError::Refused(format!("{text}; {next}")),
    }
}

/// Tells whether a line is of a program's log, such as `E1123 03:48:26.8 ...` of kubectl's.
fn is_log(line: &str) -> bool {
    let head: Vec<u8> = line.bytes().take(6).collect();
    matches!(*head, [b'E' | b'I' | b'W', _, _, _, _, b' '])
        && head[1..5].iter().all(u8::is_ascii_digit)
}

/// Returns a command's output as one short line: without its own name, each sentence once.
fn cleaned(said: &str) -> String {
    let mut sentences: Vec<&str> = Vec::new();
    for line in said.lines() {
        let mut line = line.trim();
        if is_log(line) {
            continue;
        }
        if let Some((program, rest)) = line.split_once(": ")
            && program.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        {
            line = rest;
        }
        for level in ["error: ", "fatal: ", "Batch job submission failed: "] {
            line = line.strip_prefix(level).unwrap_or(line);
        }
        // "Try "sbatch --help" for more information"
        if !line.is_empty() && !line.starts_with("Try ") && !sentences.contains(&line) {
            sentences.push(line);
        }
    }
    let text = plain::line(&sentences.join("; ")).trim().to_owned();
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
