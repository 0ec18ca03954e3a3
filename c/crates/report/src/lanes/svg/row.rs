//! One lane: its name, its stretches, and the strips over them.

use super::{
    geometry::{CELL, CELLS, LEFT, NAMES, x},
    legend::{Entry, Shown},
    marks::marks,
    style::{fill, ink},
};
use crate::{
    lanes::{
        axis::duration,
        cells::{Cell, cell_of, cells, covered, runs},
        look::Look,
        rows::{Of, Row},
        span::Span,
    },
    svg::{CODE_CHAR, coordinate, fitting, width_of},
    timeline::seconds,
    xml::escape,
};

/// Heights of a thread's bar and of the other bars, of the strips of sections, and of the room
/// below.
const BAR: f64 = 24.0;
const LOW_BAR: f64 = 14.0;
const STRIP: f64 = 5.0;
const GAP: f64 = 9.0;

/// Number of cells per wakeup or request below which a lane does not show them.
const DENSE: usize = 10;

/// A name that does not fit is shortened, but to no less.
const NAME_CHARS_MIN: f64 = 5.0;

/// A lane that is drawn.
pub struct Drawn {
    pub svg: String,
    /// Top and bottom of its bar, and the end of the lane.
    pub bar: (f64, f64),
    pub bottom: f64,
}

/// Draws a lane that begins at `top`.
pub fn row(row: &Row<'_>, end_ns: u64, top: f64, shown: &mut Shown) -> Drawn {
    let is_thread = matches!(row.of, Of::Thread(_));
    let height = if is_thread { BAR } else { LOW_BAR };
    let woken = few(row.woken.iter().map(|(ns, _)| *ns), end_ns);
    let (labels, above) = marks(row, &woken, end_ns, top);
    let y = top + above;
    let mut svg = format!(
        "<text class=\"{}\" x=\"{NAMES}\" y=\"{}\">{}</text>\n<g>\n",
        if is_thread { "plain" } else { "small faint" },
        coordinate(y + height / 2.0 + 4.0),
        escape(&fitting(&row.name, 7.0, LEFT - NAMES - 8.0))
    );
    let cells = cells(&row.spans, end_ns, CELLS);
    for (place, run) in runs(&cells, &row.spans) {
        svg += &stretch(row, &cells, place, run.len(), [y, height]);
        shown.look(run[0].look);
    }
    svg += &strips(row, &cells, end_ns, y + height);
    for span in &row.off {
        shown.look(span.look);
    }
    svg += "</g>\n";
    svg += &labels;
    if !woken.is_empty() {
        shown.entries.insert(Entry::Woken);
    }
    let kinds = [(false, Entry::Asked), (true, Entry::AskedLazily)];
    for (is_lazy, entry) in kinds {
        let asked = row.asked.iter().filter(|(_, lazy)| *lazy == is_lazy).map(|(ns, _)| *ns);
        for ns in few(asked, end_ns) {
            svg += &entry.symbol(x(ns, end_ns), y + height + 4.5);
            shown.entries.insert(entry);
        }
    }
    Drawn { svg: svg + "\n", bar: (y, y + height), bottom: y + height + GAP }
}

/// Instants that can be told apart, or none where they are too many.
fn few(instants: impl Iterator<Item = u64>, end_ns: u64) -> Vec<u64> {
    let mut instants: Vec<u64> = instants.collect();
    if instants.len() > CELLS / DENSE {
        return Vec::new();
    }
    instants.sort_unstable();
    instants.dedup_by_key(|ns| cell_of(*ns, end_ns, CELLS));
    instants
}

/// Cells that show the same.
fn stretch(
    row: &Row<'_>,
    cells: &[Cell],
    place: usize,
    count: usize,
    [y, height]: [f64; 2],
) -> String {
    let run = &cells[place..place + count];
    let look = run[0].look;
    let mut left = LEFT + place as f64 * CELL;
    let mut width = count as f64 * CELL;
    if is_lonely(cells, place, count) {
        (left, width) = (left - CELL / 4.0, width + CELL / 2.0);
    }
    let middle = y + height / 2.0;
    let shape = match look {
        Look::Nothing => return String::new(),
        Look::Sleeping => rect(&fill(look), [left, middle - 1.0], [width, 2.0]),
        Look::Blocked => rect(&fill(look), [left, middle - 4.0], [width, 8.0]),
        // A hatch needs room.
        Look::Waiting if width <= 3.0 * CELL => rect("class=\"wait\"", [left, y], [width, height]),
        Look::Waiting => {
            let edge = rect("class=\"edge\"", [left + 0.75, y + 0.75], [width - 1.5, height - 1.5]);
            rect(&fill(look), [left, y], [width, height]) + &edge
        }
        _ => rect(&fill(look), [left, y], [width, height]),
    };
    let mut spans: Vec<&Span> = run.iter().filter_map(|cell| row.spans.get(cell.span?)).collect();
    spans.dedup();
    let title = tooltip(&spans);
    let text = text(look, &spans, width - 8.0).map(|text| {
        format!(
            "<text class=\"code middle {}\" x=\"{}\" y=\"{}\">{}</text>",
            ink(look),
            coordinate(left + width / 2.0),
            coordinate(middle + 4.0),
            escape(&text)
        )
    });
    format!("<g><title>{}</title>{shape}{}</g>\n", escape(&title), text.unwrap_or_default())
}

/// Returns whether a single cell stands between thin lines or nothing: then it may be a bit wider.
fn is_lonely(cells: &[Cell], place: usize, count: usize) -> bool {
    let is_thin = |place: Option<usize>| {
        let look = place.and_then(|place| cells.get(place)).map_or(Look::Nothing, |it| it.look);
        matches!(look, Look::Nothing | Look::Sleeping | Look::Blocked)
    };
    count == 1 && !is_thin(Some(place)) && is_thin(place.checked_sub(1)) && is_thin(Some(place + 1))
}

/// Returns the text on a stretch, if there is room.
fn text(look: Look, spans: &[&Span], room: f64) -> Option<String> {
    let [first, .., last] = spans else { return spans.first().and_then(|it| one(look, it, room)) };
    // Many spans share the text of the first.
    let whole =
        Span { start_ns: first.start_ns, end_ns: last.end_ns, look, what: first.what.clone() };
    if look == Look::Waiting { None } else { one(look, &whole, room) }
}

fn one(look: Look, span: &Span, room: f64) -> Option<String> {
    let fits = |text: &String| width_of(text, CODE_CHAR) <= room;
    match look {
        Look::Waiting => {
            let length = duration(span.len_ns());
            [format!("waits {length}"), length].into_iter().find(fits)
        }
        Look::User
        | Look::Kernel
        | Look::Interrupted
        | Look::Other
        | Look::Hardirq
        | Look::Softirq => {
            let is_room = room >= NAME_CHARS_MIN * CODE_CHAR || fits(&span.what);
            let text = is_room.then(|| fitting(&span.what, CODE_CHAR, room));
            text.filter(|text| !text.is_empty())
        }
        _ => None,
    }
}

fn tooltip(spans: &[&Span]) -> String {
    let (Some(first), Some(last)) = (spans.first(), spans.last()) else { return String::new() };
    let what = |span: &Span| match span.what.as_str() {
        "" => span.look.words().to_owned(),
        what => format!("{} ({what})", span.look.words()),
    };
    let from = format!("from {}", seconds(first.start_ns));
    match spans {
        [span] => format!("{}: {}, {from}", what(span), duration(span.len_ns())),
        _ => {
            let sum_ns = spans.iter().map(|span| span.len_ns()).sum();
            let (count, sum) = (spans.len(), duration(sum_ns));
            format!("{}: {count} times, {sum}, {from} to {}", what(first), seconds(last.end_ns))
        }
    }
}

/// Draws the strips of sections with preemption or interrupts off while the thread ran: at the
/// bar's lower edge.
fn strips(row: &Row<'_>, cells: &[Cell], end_ns: u64, bottom: f64) -> String {
    let mut svg = String::new();
    for look in [Look::PreemptOff, Look::IrqsOff] {
        let spans: Vec<Span> = row.off.iter().filter(|span| span.look == look).cloned().collect();
        let off = covered(&spans, end_ns, CELLS);
        let is_shown: Vec<bool> = off
            .iter()
            .zip(cells)
            .map(|(off, cell)| off.is_some() && matches!(cell.look, Look::User | Look::Kernel))
            .collect();
        let mut place = 0;
        for run in is_shown.chunk_by(|left, right| left == right) {
            if run[0] {
                // Both fit over each other.
                let (top, height) = match look {
                    Look::PreemptOff => (bottom - STRIP, STRIP),
                    _ => (bottom - STRIP, STRIP / 2.0),
                };
                let left = LEFT + place as f64 * CELL;
                let shape = rect(&fill(look), [left, top], [run.len() as f64 * CELL, height]);
                svg += &format!("<g><title>{}</title>{shape}</g>\n", look.words());
            }
            place += run.len();
        }
    }
    svg
}

/// Draws the lines from each waking thread to the woken one, from lane to lane.
pub fn links(rows: &[Row<'_>], drawn: &[Drawn], end_ns: u64) -> String {
    let mut svg = String::new();
    for (row, lane) in rows.iter().zip(drawn) {
        for ns in few(row.woken.iter().map(|(ns, _)| *ns), end_ns) {
            let Some((_, by)) = row.woken.iter().find(|(at, _)| *at == ns) else { continue };
            let waker = rows.iter().position(|other| match by {
                Some(pid) => other.of == Of::Thread(*pid),
                // The interrupt or softirq that is shown there.
                None => {
                    let is_at = |span: &Span| span.start_ns <= ns && ns <= span.end_ns;
                    other.of == Of::Interrupts && other.spans.iter().any(is_at)
                }
            });
            let Some((from, to)) = waker.map(|place| (drawn[place].bar, lane.bar)) else {
                continue;
            };
            let (from, to) = if from.0 < to.0 { (from.1, to.0) } else { (from.0, to.1) };
            svg += &format!(
                "<path class=\"link\" d=\"M{} {}V{}\"/>",
                coordinate(x(ns, end_ns)),
                coordinate(from),
                coordinate(to)
            );
        }
    }
    format!("<g>{svg}</g>\n")
}

fn rect(fill: &str, at: [f64; 2], size: [f64; 2]) -> String {
    let [x, y] = at.map(coordinate);
    let [width, height] = size.map(coordinate);
    format!("<rect {fill} x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>")
}
