use std::ops::RangeInclusive;

use preemptlab_model::Cpus;
use preemptlab_protocol::script::{Policy, Thread};

use crate::error::Refusal;

use super::{
    fields::{self, Fields, Node},
    step::StepReader,
};

/// The highest priority of a script's threads: 99 is the player's own.
pub(super) const PRIORITY_MAX: u64 = 98;

pub(super) fn thread(
    name: String,
    node: &Node<'_>,
    cpus: u32,
    mut reader: StepReader<'_>,
) -> Result<Thread, Refusal> {
    let thread = Fields::of(node, "a thread", &["policy", "cpus", "steps"])?;
    let policy = thread.get("policy").map(policy).transpose()?.unwrap_or(Policy::Other(0));
    let allowed = match thread.get("cpus") {
        Some(node) => cpu_list(node, cpus)?,
        None => (0..cpus).collect(),
    };
    let steps = reader.steps(thread.need("steps")?)?;
    Ok(Thread { name, policy, cpus: allowed, steps })
}

/// Reads a policy, written as `fifo:50`.
pub(super) fn policy(node: &Node<'_>) -> Result<Policy, Refusal> {
    let text = fields::text(node)?;
    let (name, number) = match text.split_once(':') {
        Some((name, number)) => (name, Some(number)),
        None => (text, None),
    };
    match name {
        "other" | "batch" => {
            let nice = number.map(|number| within(node, number, "nice values are", -20..=19));
            let nice = nice.transpose()?.unwrap_or(0);
            Ok(if name == "other" { Policy::Other(nice) } else { Policy::Batch(nice) })
        }
        "fifo" | "rr" => {
            let Some(number) = number else {
                let message = format!("the policy `{name}` needs a priority");
                return Err(Refusal::new(node.span(), message, format!("such as `{name}:50`")));
            };
            let what = "99 is the player's own; priorities are";
            let priority = within(node, number, what, 1..=98)?.unsigned_abs();
            Ok(if name == "fifo" { Policy::Fifo(priority) } else { Policy::Rr(priority) })
        }
        "idle" if number.is_none() => Ok(Policy::Idle),
        "idle" => Err(Refusal::new(
            node.span(),
            "the idle class has neither priorities nor nice values",
            "write `idle`",
        )),
        _ => {
            let message = format!("there is no policy `{name}`");
            let valid = ["other", "batch", "idle", "fifo", "rr"];
            Err(Refusal::unknown(node.span(), message, name, &valid))
        }
    }
}

fn within(
    node: &Node<'_>,
    number: &str,
    what: &str,
    range: RangeInclusive<i8>,
) -> Result<i8, Refusal> {
    number.parse().ok().filter(|number| range.contains(number)).ok_or_else(|| {
        let help = format!("{what} {} to {}", range.start(), range.end());
        Refusal::new(node.span(), format!("`{number}` is not possible here"), help)
    })
}

/// Reads a list of CPUs, written as the kernel does: `0`, `0-1`, `0,2-3`.
fn cpu_list(node: &Node<'_>, cpus: u32) -> Result<Vec<u32>, Refusal> {
    let text = fields::text(node)?;
    let refuse = |message: String, help: String| Err(Refusal::new(node.span(), message, help));
    let Ok(list) = Cpus::plain(text) else {
        return refuse(
            format!("`{text}` is no list of CPUs"),
            "CPUs are numbers and ranges, such as \"0\" or \"0,2-3\"".to_owned(),
        );
    };
    match list.last().filter(|last| *last >= cpus) {
        None => Ok(list.iter().collect()),
        Some(last) => refuse(
            format!("the machine has no CPU {last}"),
            match cpus {
                1 => "its one CPU is 0; `cpus = 2` at the top gives it another".to_owned(),
                _ => format!("its CPUs are 0 to {}", cpus - 1),
            },
        ),
    }
}
