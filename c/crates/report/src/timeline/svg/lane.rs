//! One timeline: its heading, its bar, its steps, and the tasks that had the CPU.

use preemptlab_analysis::wakeup::{
    Piece, causes, count, duration, is_imagined, name, one_sentence, percent, pieces,
};
use preemptlab_trace::Timeline;

use super::{
    geometry::{LEFT, PLOT, Scale},
    shares::blocks,
    style::{fill, ink},
};
use crate::{
    svg::{
        CODE_CHAR, LANES_WIDTH as WIDTH, LINE, SMALL_CHAR, TEXT_CHAR, coordinate, fitting, grid,
        width_of,
    },
    timeline::{
        cause::{glyph, words},
        text::{function, place, subject, us, us_from},
        turns::{Turn, turns},
    },
    xml::escape,
};

const MARKS: f64 = 18.0;
const BAR: f64 = 32.0;
const TASKS: f64 = 16.0;
const GAP: f64 = 26.0;

const SEAM: f64 = 0.6;

/// Fewest characters of a shortened name.
const NAME_CHARS_MIN: f64 = 6.0;

/// Timeline with its caption.
#[derive(Clone, Copy, Debug)]
pub struct Lane<'a> {
    /// Caption that tells it from its neighbours: `debian:6.12 none #1`.
    pub caption: &'a str,
    /// Timeline of the wakeup.
    pub timeline: &'a Timeline,
}

/// Draws a lane that begins at `top`; returns its height too.
pub fn lane(lane: &Lane, scale: Scale, top: f64) -> (String, f64) {
    let pieces = pieces(lane.timeline);
    let (mut svg, mut y) = heading(lane, top);
    y += MARKS;
    let bottom = y + BAR + TASKS;
    svg += &grid(scale.marks().map(|(x, _)| x), y - 4.0, bottom + 4.0);
    if !is_imagined(lane.timeline) {
        svg += &format!("<g>{}</g>\n", marks(lane, scale, y));
    }
    svg += "<g>\n";
    for block in blocks(&pieces, scale) {
        svg += &match block {
            [piece] => single(piece, lane, scale, y),
            block => several(block, lane, scale, y),
        };
    }
    for (index, turn) in turns(&pieces).enumerate() {
        svg += &task(&turn, index, scale, y + BAR);
    }
    svg += "</g>\n";
    svg += &latency(lane, scale, y);
    let (note, height) = thinned(&pieces, bottom);
    (svg + &note, bottom + height + GAP - top)
}

/// Says below a lane that its pieces are fewer than the segments that they stand for; returns the height too.
fn thinned(pieces: &[Piece], bottom: f64) -> (String, f64) {
    let segments = count(pieces);
    if segments == pieces.len() as u64 {
        return (String::new(), 0.0);
    }
    let note = format!(
        "<text class=\"small faint\" x=\"{LEFT}\" y=\"{}\">thinned: {} pieces stand for {segments} \
         segments; alike ones near each other are drawn one after the other</text>\n",
        coordinate(bottom + LINE - 2.0),
        pieces.len()
    );
    (note, LINE)
}

/// Draws the caption, and the cause of the latency.
fn heading(lane: &Lane, top: f64) -> (String, f64) {
    let mut y = top + LINE;
    let width = WIDTH - 2.0 * LEFT;
    let caption = fitting(lane.caption, 8.0, width / 2.0);
    let subject =
        fitting(&subject(lane.timeline), TEXT_CHAR, width - width_of(&caption, 8.0) - 12.0);
    let mut svg = format!(
        "<text x=\"{LEFT}\" y=\"{}\"><tspan class=\"strong\">{}</tspan><tspan class=\"faint\" \
         dx=\"12\">{}</tspan></text>\n",
        coordinate(y),
        escape(&caption),
        escape(&subject)
    );
    let options = textwrap::Options::new((width / TEXT_CHAR) as usize)
        .word_separator(textwrap::WordSeparator::AsciiSpace);
    for line in textwrap::wrap(&one_sentence(lane.timeline), options) {
        y += LINE;
        svg += &format!("<text x=\"{LEFT}\" y=\"{}\">{}</text>\n", coordinate(y), escape(&line));
    }
    (svg, y + 6.0)
}

/// Draws the latency behind the bar.
fn latency(lane: &Lane, scale: Scale, y: f64) -> String {
    let ns = lane.timeline.wakeup.latency_ns();
    let exact = format!("{} us", us(ns));
    let x = scale.x(ns) + 8.0;
    let is_short = width_of(&exact, 8.0) <= WIDTH - LEFT - PLOT - 16.0;
    let text = if is_short { exact } else { duration(ns) };
    format!(
        "<text class=\"strong over\" x=\"{}\" y=\"{}\">{text}</text>\n",
        coordinate(x),
        coordinate(y + BAR / 2.0 + 4.0)
    )
}

/// Draws a piece, with a name where there is room.
fn single(piece: &Piece, lane: &Lane, scale: Scale, y: f64) -> String {
    let x = scale.x(piece.start_ns);
    let width = scale.width(piece.len_ns());
    let cause = piece.cause();
    let mut svg = format!(
        "<g><title>{}</title>{}",
        escape(&tooltip(piece, lane)),
        rect(&fill(cause), [x, y], [width + seam(piece, lane, scale), BAR])
    );
    let function = piece.segment.and_then(|segment| segment.function.as_deref()).map(name);
    let text = function.unwrap_or_else(|| words(cause).to_owned());
    let room = width - 6.0;
    let text = if room >= width_of(&text, CODE_CHAR) || room >= NAME_CHARS_MIN * CODE_CHAR {
        fitting(&text, CODE_CHAR, room)
    } else if room >= CODE_CHAR - 4.0 {
        glyph(cause).to_string()
    } else {
        String::new()
    };
    if !text.is_empty() {
        svg += &format!(
            "<text class=\"code middle {}\" x=\"{}\" y=\"{}\">{}</text>",
            ink(cause),
            coordinate(x + width / 2.0),
            coordinate(y + BAR / 2.0 + 4.0),
            escape(&text)
        );
    }
    svg + "</g>\n"
}

/// Neighbours that are too narrow to be drawn one by one: each cause has the share of the height
/// that it has of their time.
fn several(block: &[Piece], lane: &Lane, scale: Scale, y: f64) -> String {
    let (Some(first), Some(last)) = (block.first(), block.last()) else { return String::new() };
    let whole_ns = last.end_ns - first.start_ns;
    let x = scale.x(first.start_ns);
    let mut causes = causes(block);
    let mut title =
        format!("{} segments from {} us, {} us", count(block), us(first.start_ns), us(whole_ns));
    for (cause, ns) in &causes {
        title += &format!("\n{}: {} us ({})", words(*cause), us(*ns), percent(*ns, whole_ns));
    }
    if let Some(segment) = first.segment {
        title += &format!("\n{}", place(segment));
    }
    causes.sort();
    let mut svg = format!("<g><title>{}</title>", escape(&title));
    let mut reached = y;
    for (cause, ns) in causes {
        let height = BAR * ns as f64 / whole_ns as f64;
        let below = SEAM.min(y + BAR - reached - height).max(0.0);
        let size = [scale.width(whole_ns) + seam(last, lane, scale), height + below];
        svg += &rect(&fill(cause), [x, reached], size);
        reached += height;
    }
    svg + "</g>\n"
}

/// Returns how far a piece reaches below its right neighbour, which covers it, so that the
/// background does not show between them.
fn seam(piece: &Piece, lane: &Lane, scale: Scale) -> f64 {
    scale.width(lane.timeline.wakeup.latency_ns() - piece.end_ns).min(SEAM)
}

fn tooltip(piece: &Piece, lane: &Lane) -> String {
    let latency_ns = lane.timeline.wakeup.latency_ns();
    let mut lines = vec![format!(
        "{}: {} us ({}), from {} us",
        words(piece.cause()),
        us(piece.len_ns()),
        percent(piece.len_ns(), latency_ns),
        us(piece.start_ns)
    )];
    if piece.count() > 1 {
        lines.push(format!("{} segments, drawn one after the other", piece.count()));
    }
    if let Some(segment) = piece.segment {
        lines.extend(Some(function(segment)).filter(|function| !function.is_empty()));
        lines.push(place(segment));
        let due_ns = lane.timeline.wakeup.due_ns;
        lines.extend(segment.since_ns.map(|ns| format!("off since {} us", us_from(due_ns, ns))));
    }
    lines.join("\n")
}

/// Draws the task of a turn.
fn task(turn: &Turn, index: usize, scale: Scale, y: f64) -> String {
    let x = scale.x(turn.start_ns());
    let width = scale.width(turn.len_ns());
    let Some(task) = turn.task() else { return String::new() };
    let class = if index.is_multiple_of(2) { "task" } else { "task-other" };
    let whole = match turn.context() {
        Some((context, ns)) if ns == turn.len_ns() && !context.is_empty() => {
            format!("{task} in {context}")
        }
        _ => task.clone(),
    };
    let title =
        format!("{task} had the CPU for {} us, from {} us", us(turn.len_ns()), us(turn.start_ns()));
    let room = width - 6.0;
    let text = [whole, task].into_iter().find(|text| width_of(text, SMALL_CHAR) <= room);
    let text = text.map(|text| {
        format!(
            "<text class=\"small middle\" x=\"{}\" y=\"{}\">{}</text>",
            coordinate(x + width / 2.0),
            coordinate(y + TASKS - 4.5),
            escape(&text)
        )
    });
    format!(
        "<g><title>{}</title>{}{}</g>\n",
        escape(&title),
        rect(&format!("class=\"{class}\""), [x, y], [width, TASKS]),
        text.unwrap_or_default()
    )
}

fn rect(fill: &str, at: [f64; 2], size: [f64; 2]) -> String {
    let [x, y] = at.map(coordinate);
    let [width, height] = size.map(coordinate);
    format!("<rect {fill} x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>")
}

/// A step on the way of a wakeup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// The timer's function ran.
    Expire,
    /// The CPU was given to the task.
    Switch,
    /// First instruction in user space.
    User,
}

impl Mark {
    pub const ALL: [Self; 3] = [Self::Expire, Self::Switch, Self::User];

    pub fn words(self) -> &'static str {
        match self {
            Self::Expire => "timer's function ran",
            Self::Switch => "switch to the task",
            Self::User => "first user instruction",
        }
    }
}

/// Draws a mark's symbol around a point.
pub fn mark(kind: Mark, x: f64, y: f64) -> String {
    let path = match kind {
        Mark::Expire => "m-4.5-4h9l-4.5 8z",
        Mark::Switch => "m0-5l4.5 5l-4.5 5l-4.5-5z",
        Mark::User => "m-4 0a4 4 0 1 1 8 0a4 4 0 1 1-8 0z",
    };
    format!("<path class=\"mark\" d=\"M{} {}{path}\"/>", coordinate(x), coordinate(y))
}

/// Draws the steps above the bar, with their times where there is room.
fn marks(lane: &Lane, scale: Scale, y: f64) -> String {
    let wakeup = &lane.timeline.wakeup;
    let latency_ns = wakeup.latency_ns();
    let offset = |ns: u64| ns.saturating_sub(wakeup.due_ns).min(latency_ns);
    let at = [wakeup.expire_ns, wakeup.switch_ns, wakeup.user_ns].map(offset);
    let mut svg = String::new();
    for (kind, ns) in Mark::ALL.into_iter().zip(at) {
        let x = coordinate(scale.x(ns));
        let (from, to) = (coordinate(y - 10.0), coordinate(y));
        svg += &format!("<path class=\"mark\" d=\"M{x} {from}V{to}\"/>");
        svg += &mark(kind, scale.x(ns), y - 10.0);
    }
    let [expire, switch, _] = at.map(|ns| scale.x(ns));
    let words = [format!("timer {}", us(at[0])), format!("switch {}", us(at[1]))];
    let widths = [0, 1].map(|index| width_of(&words[index], SMALL_CHAR));
    let mut taken = expire + 8.0;
    let mut label = |text: &str, class: &str, x: f64| {
        svg += &format!(
            "<text class=\"small faint{class}\" x=\"{}\" y=\"{}\">{text}</text>",
            coordinate(x),
            coordinate(y - 6.0)
        );
    };
    if expire + 8.0 + widths[0] <= switch - 8.0 {
        label(&words[0], "", expire + 8.0);
        taken = expire + 8.0 + widths[0] + 8.0;
    }
    if switch - 8.0 - widths[1] >= taken {
        label(&words[1], " end", switch - 8.0);
    }
    svg
}
