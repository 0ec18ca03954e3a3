//! The check whether a player's report can be that of the scenario.

use preemptlab_protocol::script::{
    FORMAT, Interrupt, Played, PlayedEvent, PlayedStep, Span, Step, Thread,
};

use crate::Scenario;

/// Reason why a player's report cannot be that of the scenario.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("what the player reports is impossible: {0}")]
pub struct PlayedError(pub String);

type Valid = Result<(), String>;

/// Refuses more than the script has, and times that are out of order.
pub(super) fn check(scenario: &Scenario, played: &Played) -> Result<(), PlayedError> {
    all(scenario, played).map_err(PlayedError)
}

fn all(scenario: &Scenario, played: &Played) -> Valid {
    let script = scenario.script();
    if played.format != FORMAT {
        return Err(format!("format {} where {FORMAT} is expected", played.format));
    }
    if played.end_ns < played.start_ns {
        return Err("it ended before it started".to_owned());
    }
    count(played.threads.len(), script.threads.len(), "threads")?;
    count(played.interrupts.len(), script.interrupts.len(), "interrupt lines")?;
    for (thread, steps) in script.threads.iter().zip(&played.threads) {
        self::thread(thread, &steps.steps, played.start_ns)
            .map_err(|why| format!("thread {}: {why}", thread.name))?;
    }
    for (line, events) in script.interrupts.iter().zip(&played.interrupts) {
        interrupt(line, events, played.start_ns)
            .map_err(|why| format!("interrupt {}: {why}", line.name))?;
    }
    Ok(())
}

fn count(found: usize, expected: usize, what: &str) -> Valid {
    match found == expected {
        true => Ok(()),
        false => Err(format!("{found} {what} where {expected} are expected")),
    }
}

fn at_most(found: usize, most: usize, what: &str) -> Valid {
    match found <= most {
        true => Ok(()),
        false => Err(format!("{found} {what} of {most}")),
    }
}

fn thread(thread: &Thread, played: &[PlayedStep], start_ns: u64) -> Valid {
    at_most(played.len(), thread.steps.len(), "steps")?;
    let spans = played.iter().map(|step| Span { begin_ns: step.begin_ns, end_ns: step.end_ns });
    in_order(spans, start_ns, "step")?;
    for (number, (step, played)) in thread.steps.iter().zip(played).enumerate() {
        operations(step, played).map_err(|why| format!("step {}: {why}", number + 1))?;
    }
    Ok(())
}

/// Checks that each span begins when the one before it has ended.
fn in_order(spans: impl Iterator<Item = Span>, from_ns: u64, what: &str) -> Valid {
    let mut free_ns = Some(from_ns);
    for (number, span) in spans.enumerate() {
        let number = number + 1;
        let Some(from_ns) = free_ns else {
            return Err(format!("{what} {number} begins though the one before it never ended"));
        };
        if span.begin_ns < from_ns {
            return Err(format!("{what} {number} begins before its time"));
        }
        if span.end_ns.is_some_and(|end_ns| end_ns < span.begin_ns) {
            return Err(format!("{what} {number} ends before it begins"));
        }
        free_ns = span.end_ns;
    }
    Ok(())
}

fn operations(step: &Step, played: &PlayedStep) -> Valid {
    let of_script = match step {
        Step::Call(operations) => operations.len(),
        _ => 0,
    };
    at_most(played.operations.len(), of_script, "operations")?;
    in_order(played.operations.iter().copied(), played.begin_ns, "operation")?;
    let Some(end_ns) = played.end_ns else { return Ok(()) };
    count(played.operations.len(), of_script, "operations")?;
    let inside = |span: &Span| span.end_ns.is_some_and(|operation_ns| operation_ns <= end_ns);
    match played.operations.iter().all(inside) {
        true => Ok(()),
        false => Err("it ended before its operations".to_owned()),
    }
}

fn interrupt(line: &Interrupt, events: &[PlayedEvent], start_ns: u64) -> Valid {
    at_most(events.len(), line.at_ns.len(), "events")?;
    let mut from_ns = start_ns;
    for (number, event) in events.iter().enumerate() {
        let number = number + 1;
        if event.fired_ns < from_ns {
            return Err(format!("event {number} fires before its time"));
        }
        from_ns = event.fired_ns;
        let parts = [
            (event.hard, true),
            (event.threaded, line.threaded_ns.is_some()),
            (event.softirq, line.softirq_ns.is_some()),
            (event.work, line.work_ns.is_some()),
        ];
        for (part, is_expected) in parts {
            let Some(part) = part else { continue };
            if !is_expected {
                return Err(format!("event {number} has a part that the line has not got"));
            }
            in_order(std::iter::once(part), event.fired_ns, "a part of event")?;
        }
    }
    Ok(())
}
