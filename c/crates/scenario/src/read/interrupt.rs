use preemptlab_protocol::script::{EVENTS_MAX, Interrupt};

use crate::error::Refusal;

use super::{
    fields::{self, Fields, Node},
    thread::PRIORITY_MAX,
};

const KEYS: [&str; 6] = ["at", "hard", "threaded", "softirq", "work", "priority"];

/// Reads an interrupt line, whose last event must come before the scenario's end.
pub(super) fn interrupt(name: String, node: &Node<'_>, end_ns: u64) -> Result<Interrupt, Refusal> {
    let line = Fields::of(node, "an interrupt line", &KEYS)?;
    let at = line.need("at")?;
    let events = fields::array(at, "a list of times, such as [\"2s\"]")?;
    if !(1..=EVENTS_MAX).contains(&events.len()) {
        return Err(Refusal::new(
            at.span(),
            format!("there are {} events", events.len()),
            format!("1 to {EVENTS_MAX} are possible"),
        ));
    }
    let mut at_ns: Vec<u64> = Vec::with_capacity(events.len());
    for event in events {
        let ns = fields::time(event)?;
        if at_ns.last().is_some_and(|last| *last >= ns) {
            return Err(Refusal::new(
                event.span(),
                "this event does not come after the one before it",
                "give the events in order, each at a time of its own",
            ));
        }
        if ns >= end_ns {
            return Err(Refusal::new(
                event.span(),
                "this event comes when the scenario has ended",
                "give the scenario a later `end`",
            ));
        }
        at_ns.push(ns);
    }
    let part = |key| line.get(key).map(fields::time_above_0).transpose();
    let priority = line
        .get("priority")
        .map(|node| fields::integer_to(node, 1..=PRIORITY_MAX))
        .transpose()?
        .and_then(|priority| u8::try_from(priority).ok());
    Ok(Interrupt {
        name,
        at_ns,
        hard_ns: line.get("hard").map(fields::time).transpose()?.unwrap_or(0),
        threaded_ns: part("threaded")?,
        softirq_ns: part("softirq")?,
        work_ns: part("work")?,
        priority,
    })
}
