//! A timeline for a terminal: a headline, a bar drawn to scale, its legend, and a table.

use anstyle::Style;
use preemptlab_trace::{Cause, Timeline};
use textwrap::core::display_width;

use super::{
    bar::{bar, paint},
    cause,
    pieces::{Piece, causes, pieces},
    rows::{Listed, Others, Rows, rows},
    text::{MET, function, headline, is_imagined, percent, place, share, us, us_from},
    ticks::Ticks,
    turns::Turn,
};
use crate::{Cell, Column, Table, Terminal, Tone};

/// The widths of bar and table, in columns.
const WIDTH_MIN: usize = 20;
const WIDTH_MAX: usize = 400;

/// Columns for a mark on the axis.
const MARK_WIDTH: usize = 10;

/// Columns for a cause in the legend.
const LEGEND_GAP: &str = "   ";

/// Where the time of a late wakeup went, for a terminal.
///
/// Lengths are microseconds of virtual time with every nanosecond; those in the table add up to the
/// latency. Short segments are summed in one row. Where another task ran for most of the time, in
/// too many segments to be read, rows are turns of tasks. Names, which come from a guest, cannot
/// steer the terminal.
pub fn timeline_terminal(timeline: &Timeline, terminal: Terminal) -> String {
    let terminal = Terminal { width: terminal.width.clamp(WIDTH_MIN, WIDTH_MAX), ..terminal };
    let pieces = pieces(timeline);
    let latency_ns = timeline.wakeup.latency_ns();
    let mut parts = vec![paragraph(&headline(timeline), terminal, Tone::Strong)];
    if latency_ns > 0 {
        parts.push(format!(
            "{}\n{}{}",
            bar(&pieces, terminal.width, terminal.color),
            axis(latency_ns, terminal.width),
            legend(&pieces, latency_ns, terminal),
        ));
        parts.push(table(timeline, &pieces).terminal(terminal));
    }
    if !is_imagined(timeline) {
        parts.push(paragraph(&steps(timeline), terminal, Tone::Faint));
    }
    parts.join("\n")
}

fn paragraph(text: &str, terminal: Terminal, tone: Tone) -> String {
    let style = match tone {
        _ if !terminal.color => Style::new(),
        Tone::Strong => Style::new().bold(),
        _ => Style::new().dimmed(),
    };
    let options =
        textwrap::Options::new(terminal.width).word_separator(textwrap::WordSeparator::AsciiSpace);
    let lines = textwrap::wrap(text, options);
    lines.iter().map(|line| format!("{style}{line}{style:#}\n")).collect()
}

/// The marks below the bar, each at its first column.
fn axis(latency_ns: u64, width: usize) -> String {
    let mut line = String::new();
    for (ns, label) in Ticks::new(latency_ns, (width / MARK_WIDTH) as u64).marks() {
        let column = (u128::from(ns) * width as u128 / u128::from(latency_ns)) as usize;
        let unit = if ns == 0 { " us" } else { "" };
        let mark = format!("|{label}{unit}");
        let is_free = line.is_empty() || column > line.len();
        if is_free && column + mark.len() <= width {
            line += &" ".repeat(column - line.len());
            line += &mark;
        }
    }
    line + "\n"
}

/// Each cause with its glyph and the sum of its segments, the longest first.
fn legend(pieces: &[Piece], latency_ns: u64, terminal: Terminal) -> String {
    let mut text = String::new();
    let mut column = 0;
    for (cause, ns) in causes(pieces) {
        let glyph = cause::glyph(cause).to_string();
        let words = format!("{} {} us {}", cause::words(cause), us(ns), percent(ns, latency_ns));
        let width = display_width(&glyph) + 1 + display_width(&words);
        if column > 0 && column + LEGEND_GAP.len() + width > terminal.width {
            text.push('\n');
            column = 0;
        }
        if column > 0 {
            text += LEGEND_GAP;
            column += LEGEND_GAP.len();
        }
        text += &format!("{} {words}", paint(cause, &glyph, terminal.color));
        column += width;
    }
    text + "\n"
}

/// When what had to happen did.
fn steps(timeline: &Timeline) -> String {
    let wakeup = &timeline.wakeup;
    let at = |ns| us_from(wakeup.due_ns, ns);
    format!(
        "The timer's function ran at {} us, the CPU was given to the task at {} us, and its first \
         instruction in user space came at {} us.",
        at(wakeup.expire_ns),
        at(wakeup.switch_ns),
        at(wakeup.user_ns),
    )
}

fn table(timeline: &Timeline, pieces: &[Piece]) -> Table {
    let latency_ns = timeline.wakeup.latency_ns();
    match rows(pieces) {
        Rows::Segments(listed) => segments(&listed, timeline.wakeup.due_ns, latency_ns),
        Rows::Turns(listed) => turns(&listed, pieces.len(), latency_ns),
    }
}

/// A row per segment, under the task that had the CPU and what it was in.
fn segments(listed: &Listed<Piece>, due_ns: u64, latency_ns: u64) -> Table {
    let columns = [Column::left("cause"), Column::left("function < its callers")];
    let since = Column::right("since").with_unit("us");
    let rows = || listed.rows.iter().map(|piece| (piece, piece.segment));
    let has_since = rows().any(|(_, segment)| segment.is_some_and(|it| it.since_ns.is_some()));
    let columns = columns.into_iter().chain(has_since.then_some(since));
    let mut table = Table::new("", numbers(latency_ns).into_iter().chain(columns));
    let width = table.columns.len();
    let mut last = None;
    for (piece, segment) in rows() {
        let place = segment.map_or_else(|| "not known".to_owned(), place);
        if last.as_ref() != Some(&place) {
            table.span(Cell::new(place.clone(), Tone::Strong));
            last = Some(place);
        }
        let since = segment.and_then(|segment| segment.since_ns);
        let words = [
            label(piece.cause()),
            segment.map(function).unwrap_or_default(),
            since.map(|ns| us_from(due_ns, ns)).unwrap_or_default(),
        ];
        let cells = measures(Some(piece.start_ns), piece.len_ns(), latency_ns);
        table.row(cells.into_iter().chain(words).take(width));
    }
    sums(&mut table, listed.others, latency_ns);
    if rows().any(|(piece, _)| piece.cause() == Some(Cause::NotPreemptible)) {
        table.notes.push(MET.to_owned());
    }
    table
}

/// A row per turn of a task.
fn turns(listed: &Listed<Turn>, segments: usize, latency_ns: u64) -> Table {
    let words = [Column::left("mostly"), Column::left("task"), Column::left("mostly in")];
    let mut table = Table::new("", numbers(latency_ns).into_iter().chain(words));
    for turn in &listed.rows {
        let (cause, ns) = turn.cause();
        let words = [
            format!("{} {}", label(cause), percent(ns, turn.len_ns())),
            turn.task().unwrap_or_default(),
            turn.context().map(|(context, _)| context).unwrap_or_default(),
        ];
        table.row(
            measures(Some(turn.start_ns()), turn.len_ns(), latency_ns).into_iter().chain(words),
        );
    }
    sums(&mut table, listed.others, latency_ns);
    table.notes.push(format!(
        "A row is a turn of a task on the CPU: the wakeup has {segments} segments, too many for a \
         list."
    ));
    table
}

/// The columns that every table of a timeline begins with. The first one is set to the left, as the
/// rows across all columns are, so its numbers are padded.
fn numbers(latency_ns: u64) -> [Column; 3] {
    let header = format!("{:>1$}", "at, us", start_width(latency_ns));
    [Column::left(header), Column::right("length").with_unit("us"), Column::right("%")]
}

fn measures(start_ns: Option<u64>, ns: u64, latency_ns: u64) -> [String; 3] {
    let start = start_ns.map(|ns| format!("{:>1$}", us(ns), start_width(latency_ns)));
    [start.unwrap_or_default(), us(ns), format!("{:.1}", share(ns, latency_ns))]
}

fn start_width(latency_ns: u64) -> usize {
    us(latency_ns).len().max("at, us".len())
}

fn label(cause: Option<Cause>) -> String {
    format!("{} {}", cause::glyph(cause), cause::words(cause))
}

/// What is not listed, and the sum of everything.
fn sums(table: &mut Table, others: Others, latency_ns: u64) {
    let columns = table.columns.len();
    let mut row = |ns, words: [String; 2], tone| {
        let cells = measures(None, ns, latency_ns).into_iter().chain(words);
        let cells = cells.chain(std::iter::repeat(String::new())).take(columns);
        table.row(cells.map(|text| Cell::new(text, tone)));
    };
    if others.count > 0 {
        let words =
            [format!("{} others", others.count), format!("at most {} us each", us(others.max_ns))];
        row(others.sum_ns, words, Tone::Faint);
    }
    row(latency_ns, ["in all".to_owned(), String::new()], Tone::Plain);
}
