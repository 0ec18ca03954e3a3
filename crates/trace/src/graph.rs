//! A function graph: every call and return of a zoom, exact to the instruction.

use std::{collections::HashMap, fmt::Write, io::Read};

use preemptlab_protocol::trace::stream::SiteKind;

use crate::{
    cpu::{Machine, make_room},
    decode::{Decoder, Event, Item, TraceError},
    kernel::Kernel,
    point::Point,
};

/// Largest number of lines of a zoom, which is a look at a moment; a longer one is cut here, with a
/// note.
const LINES_MAX: usize = 1 << 20;

/// Calls that are open on one task's stack, the outermost first.
#[derive(Default)]
struct Stack(Vec<Call>);

struct Call {
    line: usize,
    stack: u64,
    start_ns: u64,
}

struct Line {
    ns: u64,
    cpu: u32,
    task: String,
    depth: usize,
    text: String,
    /// Duration of the call in nanoseconds, once it has returned.
    took_ns: Option<u64>,
    is_call: bool,
    has_children: bool,
}

/// Draws the stream of a zoom as text, like ftrace's function_graph: each call with the virtual
/// time at which it begins and its duration, and the events between.
///
/// # Errors
///
/// [`TraceError`]
pub fn function_graph(trace: impl Read, kernel: &Kernel) -> Result<String, TraceError> {
    let mut decoder = Decoder::new(trace, kernel.program())?;
    let mut machine = Machine::default();
    let mut stacks: HashMap<(u32, u64), Stack> = HashMap::new();
    let mut lines: Vec<Line> = Vec::new();
    while let Some(item) = decoder.next_item()? {
        let event = match item {
            Item::Task(task) => {
                machine.describe(task)?;
                continue;
            }
            Item::Stack(_) => continue,
            Item::Event(event) => event,
        };
        if lines.len() >= LINES_MAX {
            break;
        }
        let task = machine.cpu(event.cpu).task;
        make_room(&mut stacks);
        let calls = &mut stacks.entry((event.cpu, task)).or_default().0;
        let value = event.values().first().copied().unwrap_or(0);
        let text = match event.site.kind {
            SiteKind::Enter => {
                // Calls that were left by a jump instead of a return, or by a switch of stacks.
                while calls.last().is_some_and(|call| call.stack < value) {
                    calls.pop();
                }
                kernel.function(event.site.address).map(|name| format!("{name}()"))
            }
            SiteKind::Return => {
                while calls.last().is_some_and(|call| call.stack <= value) {
                    if let Some(call) = calls.pop() {
                        lines[call.line].took_ns = Some(event.ns.saturating_sub(call.start_ns));
                    }
                }
                None
            }
            _ => note(kernel, &machine, &event),
        };
        if let Some(text) = text {
            if let Some(parent) = calls.last() {
                lines[parent.line].has_children = true;
            }
            let is_call = event.site.kind == SiteKind::Enter;
            let task = machine.task(task);
            lines.push(Line {
                ns: event.ns,
                cpu: event.cpu,
                task: task.map_or_else(String::new, |task| format!("{}-{}", task.comm, task.pid)),
                depth: calls.len(),
                text,
                took_ns: None,
                is_call,
                has_children: false,
            });
            if is_call {
                calls.push(Call { line: lines.len() - 1, stack: value, start_ns: event.ns });
            }
        }
        machine.follow(kernel, &event);
    }
    // Each CPU may have a clock, and executes ahead of others. Lines of one instant stay in the order of
    // execution.
    lines.sort_by_key(|line| line.ns);
    Ok(render(&lines))
}

/// Describes an event in words, where it is worth a line.
fn note(kernel: &Kernel, machine: &Machine, event: &Event) -> Option<String> {
    let words = match event.site.kind {
        SiteKind::Probe(probe) => {
            let tracepoint = kernel.tracepoint(probe);
            match tracepoint.point {
                Point::Switch => {
                    let next = machine.task(*event.values().get(1)?)?;
                    format!("switch to {}-{} prio {}", next.comm, next.pid, next.prio)
                }
                Point::Waking => {
                    let task = machine.task(*event.values().first()?)?;
                    format!("waking {}-{}", task.comm, task.pid)
                }
                Point::Interrupt => format!("interrupt {}", tracepoint.name),
                Point::Exception => format!("exception {}", tracepoint.name),
                Point::Syscall => format!("system call {}", event.values().first()?),
                Point::NeedResched { is_lazy: false } => "need_resched".to_owned(),
                Point::NeedResched { is_lazy: true } => "need_resched_lazy".to_owned(),
                _ => return None,
            }
        }
        SiteKind::ExceptionReturn => "return from interrupt".to_owned(),
        SiteKind::Sysret => "return to user space".to_owned(),
        SiteKind::Halt => "halt".to_owned(),
        _ => return None,
    };
    Some(format!("/* {words} */"))
}

fn render(lines: &[Line]) -> String {
    let mut text = String::from("#       time ms  CPU  task                 took us  function\n");
    for line in lines {
        let (ms, ns) = (line.ns / 1_000_000, line.ns % 1_000_000);
        let took =
            line.took_ns.map_or_else(String::new, |took_ns| format!("{:.3}", took_ns as f64 / 1e3));
        let indent = "  ".repeat(line.depth.min(40));
        let tail = match (line.is_call, line.has_children, line.took_ns) {
            (true, true, _) => " {",
            (true, false, None) => " ...",
            _ => "",
        };
        let end = if line.is_call && !line.has_children { ";" } else { "" };
        let _ = writeln!(
            text,
            "{ms:>8}.{ns:06}  {:>3}  {:<18} {took:>9}  {indent}{}{end}{tail}",
            line.cpu, line.task, line.text
        );
    }
    if lines.len() >= LINES_MAX {
        text += "# cut here: choose a smaller window\n";
    }
    text
}
