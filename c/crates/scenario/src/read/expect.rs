use std::collections::BTreeMap;

use preemptlab_model::counted;
use preemptlab_protocol::script::{Script, Thread};

use crate::{
    Expectation, Expected, Model,
    error::{Refusal, line_of},
    scenario::is_wait,
};

use super::fields::{self, Fields, Node};

/// The possible expectations; each entry has one of these.
const SUBJECTS: [&str; 8] = [
    "wakes",
    "finishes",
    "latency",
    "latency_max",
    "blocked",
    "blocked_max",
    "finishes_before",
    "deadlock",
];
const KEYS: [&str; 13] = [
    "thread",
    "wait",
    "wakes",
    "finishes",
    "latency",
    "latency_max",
    "blocked",
    "blocked_max",
    "finishes_before",
    "deadlock",
    "within",
    "kernels",
    "because",
];

/// Reads the expectations of a file or of a variant.
///
/// # Errors
///
/// An entry that is not an expectation, with its place.
pub(super) fn expectations(
    text: &str,
    of: &Fields<'_, '_>,
    script: &Script,
) -> Result<Vec<Expectation>, Refusal> {
    let Some(node) = of.get("expect") else { return Ok(Vec::new()) };
    let entries = fields::array(node, "a list of tables: [[expect]]")?.iter();
    entries.map(|node| expectation(text, node, script)).collect()
}

fn expectation(text: &str, node: &Node<'_>, script: &Script) -> Result<Expectation, Refusal> {
    let entry = Fields::of(node, "an expectation", &KEYS)?;
    let expected = expected(&entry, node, script)?;
    let timed = match expected {
        Expected::Wakes { .. } | Expected::Finishes { .. } => true,
        Expected::Latency { is_max, .. } | Expected::Blocked { is_max, .. } => !is_max,
        Expected::FinishesBefore { .. } | Expected::Deadlock { .. } => false,
    };
    let within_ns = match entry.get("within") {
        Some(within) if timed => Some(fields::time_above_0(within)?),
        Some(within) => {
            return Err(belongs(within, "within", "wakes, finishes, latency and blocked"));
        }
        None => None,
    };
    let kernels = match entry.get("kernels") {
        Some(node) => series(node)?,
        None => Vec::new(),
    };
    let because = entry.get("because").map(fields::text).transpose()?.map(str::to_owned);
    if !kernels.is_empty() && because.as_ref().is_none_or(|because| because.trim().is_empty()) {
        return Err(Refusal::new(
            node.span(),
            "an expectation of some kernels needs a reason",
            "add `because = \"...\"`: what these kernels do differently",
        ));
    }
    let line = line_of(text, node.span().start);
    Ok(Expectation { line, expected, within_ns, kernels, because })
}

fn expected(entry: &Fields<'_, '_>, node: &Node<'_>, script: &Script) -> Result<Expected, Refusal> {
    let mut subjects = SUBJECTS.iter().filter_map(|subject| Some((*subject, entry.get(subject)?)));
    let (Some((subject, value)), None) = (subjects.next(), subjects.next()) else {
        return Err(Refusal::new(
            node.span(),
            "an expectation is of one thing",
            format!("give it one of {}", SUBJECTS.join(", ")),
        ));
    };
    let wait = entry.get("wait");
    if let Some(wait) = wait.filter(|_| !matches!(subject, "wakes" | "latency" | "latency_max")) {
        return Err(belongs(wait, "wait", "wakes, latency and latency_max"));
    }
    if subject == "deadlock" {
        return match entry.get("thread") {
            Some(thread) => Err(belongs(thread, "thread", "what is expected of one thread")),
            None => Ok(Expected::Deadlock { expected: by_model(value, fields::boolean)? }),
        };
    }
    let thread = thread(entry.need("thread")?, script)?;
    Ok(match subject {
        "finishes" => Expected::Finishes { thread, at_ns: by_model(value, fields::time)? },
        "blocked" | "blocked_max" => {
            let blocked_ns = by_model(value, fields::time)?;
            Expected::Blocked { thread, blocked_ns, is_max: subject == "blocked_max" }
        }
        "finishes_before" => {
            let other = by_model(value, |node| other(node, script, thread))?;
            Expected::FinishesBefore { thread, other }
        }
        _ => {
            let wait = nth_wait(wait, node, &script.threads[thread])?;
            match subject {
                "wakes" => Expected::Wakes { thread, wait, at_ns: by_model(value, fields::time)? },
                _ => {
                    let latency_ns = by_model(value, fields::time)?;
                    let is_max = subject == "latency_max";
                    Expected::Latency { thread, wait, latency_ns, is_max }
                }
            }
        }
    })
}

fn belongs(node: &Node<'_>, key: &str, to: &str) -> Refusal {
    Refusal::new(
        node.span(),
        format!("`{key}` does not belong here"),
        format!("it belongs to {to}"),
    )
}

/// Reads the name of a thread, and returns its index.
fn thread(node: &Node<'_>, script: &Script) -> Result<usize, Refusal> {
    let name = fields::text(node)?;
    script.threads.iter().position(|thread| thread.name == name).ok_or_else(|| {
        let valid: Vec<&str> = script.threads.iter().map(|thread| thread.name.as_str()).collect();
        Refusal::unknown(node.span(), format!("there is no thread `{name}`"), name, &valid)
    })
}

fn other(node: &Node<'_>, script: &Script, than: usize) -> Result<usize, Refusal> {
    let other = thread(node, script)?;
    if other == than {
        let message = "a thread does not finish before itself";
        return Err(Refusal::new(node.span(), message, "name another thread"));
    }
    Ok(other)
}

/// Reads the index of a thread's wait, counting from 1.
fn nth_wait(wait: Option<&Node<'_>>, node: &Node<'_>, thread: &Thread) -> Result<usize, Refusal> {
    let waits = thread.steps.iter().filter(|step| is_wait(step)).count();
    let wait_number = match wait {
        Some(wait) => usize::try_from(fields::integer(wait)?).unwrap_or(0),
        None => 1,
    };
    if (1..=waits).contains(&wait_number) {
        return Ok(wait_number);
    }
    Err(Refusal::new(
        wait.unwrap_or(node).span(),
        format!("{} has no wait {wait_number}", thread.name),
        format!(
            "it waits {}: sleep_until, sleep, futex, and a call with sleep or wait are \
             waits",
            counted(waits, "time")
        ),
    ))
}

/// A table of models with a value each, or one value for every model.
type ByModel<T> = BTreeMap<Model, T>;

/// Reads one value for every model, or a table of values.
fn by_model<T: Clone>(
    node: &Node<'_>,
    read: impl Fn(&Node<'_>) -> Result<T, Refusal>,
) -> Result<ByModel<T>, Refusal> {
    let Some(table) = node.get_ref().as_table() else {
        let value = read(node)?;
        return Ok(Model::ALL.into_iter().map(|model| (model, value.clone())).collect());
    };
    if table.is_empty() {
        return Err(Refusal::new(node.span(), "no model is named", "such as { full = \"3s\" }"));
    }
    table
        .iter()
        .map(|(key, value)| {
            let model = key.get_ref().parse::<Model>().map_err(|error| {
                let message = format!("there is no model `{}`", error.name);
                Refusal::unknown(key.span(), message, &error.name, &Model::ALL.map(Model::as_str))
            })?;
            Ok((model, read(value)?))
        })
        .collect()
}

/// Series of kernels, such as `6.12`.
fn series(node: &Node<'_>) -> Result<Vec<String>, Refusal> {
    let list = fields::array(node, "a list of series, such as [\"6.1\"]")?;
    if list.is_empty() {
        let help = "name a series, or leave `kernels` out";
        return Err(Refusal::new(node.span(), "no kernel is named", help));
    }
    let number = |text: &str| {
        (1..=4).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    list.iter()
        .map(|node| {
            let text = fields::text(node)?;
            match text.split_once('.') {
                Some((major, minor)) if number(major) && number(minor) => Ok(text.to_owned()),
                _ => Err(Refusal::new(
                    node.span(),
                    format!("`{text}` is no series of kernels"),
                    "write it as `6.12`",
                )),
            }
        })
        .collect()
}
