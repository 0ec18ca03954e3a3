//! A timeline for a terminal: a headline, a bar drawn to scale, its legend, and a table.

use anstyle::Style;
use preemptlab_analysis::wakeup::{
    Piece, causes, count, is_imagined, name, percent, pieces, share,
};
use preemptlab_model::counted;
use preemptlab_trace::{Cause, Timeline};
use textwrap::core::display_width;

use super::{
    bar::{bar, paint},
    cause,
    rows::{Listed, Others, Rows, Step, parts_of, rows},
    stretch::{Part, Stretch, place_of},
    text::{MET, function, headline, place, us, us_from},
    ticks::Ticks,
    turns::Turns,
};
use crate::{Cell, Column, Row, Table, Terminal, Tone};

/// The widths of bar and table, in columns.
const WIDTH_MIN: usize = 20;
const WIDTH_MAX: usize = 400;

/// Columns for a mark on the axis.
const MARK_WIDTH: usize = 10;

/// Columns for a cause in the legend.
const LEGEND_GAP: &str = "   ";

/// Draws the time of a late wakeup by cause, for a terminal.
///
/// Lengths are microseconds of virtual time with every nanosecond; those in the table add up to the
/// latency. Short segments are summed in one row. A section or a call in the kernel that holds
/// pieces together is one row, with the sums of its parts below. Where these are too many rows to
/// be read, equal pieces share a row: turns of tasks where others ran for most of the time, else
/// causes and functions. Names, which come from a guest, cannot steer the terminal.
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
        let mut table = table(timeline, &pieces);
        table.notes.extend(thinned(&pieces));
        parts.push(table.terminal(terminal));
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

/// Returns the marks below the bar, each at its first column.
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

/// Returns each cause with its glyph and the sum of its segments, the longest first.
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

/// Describes the times of the wakeup's steps.
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
        Rows::Steps(listed) => steps_in_order(&listed, timeline.wakeup.due_ns, latency_ns),
        Rows::Turns(listed) => turns(&listed, count(pieces), latency_ns),
        Rows::Parts(listed) => parts(&listed, count(pieces), latency_ns),
    }
}

/// Returns the table with a row per piece or stretch, under the task that had the CPU and its
/// context.
fn steps_in_order(listed: &Listed<Step>, due_ns: u64, latency_ns: u64) -> Table {
    let has_several = listed.rows.iter().any(|step| match step {
        Step::Stretch(_) => true,
        Step::Piece(piece) => piece.count() > 1,
    });
    let since_ns = |step: &Step| reason(step).segment.and_then(|segment| segment.since_ns);
    let has_since = listed.rows.iter().any(|step| since_ns(step).is_some());
    let words = [Column::left("cause"), Column::left("function < its callers")];
    let columns = (numbers(latency_ns).into_iter())
        .chain(has_several.then(several).into_iter().flatten())
        .chain(words)
        .chain(has_since.then(|| Column::right("since").with_unit("us")));
    let mut table = Table::new("", columns);
    let width = table.columns.len();
    let mut last = None;
    for step in &listed.rows {
        let piece = reason(step);
        let place = match step {
            Step::Piece(piece) => piece.segment.map_or_else(|| "not known".to_owned(), place),
            Step::Stretch(stretch) => place_of(stretch),
        };
        if last.as_ref() != Some(&place) {
            table.span(Cell::new(place.clone(), Tone::Strong));
            last = Some(place);
        }
        let what = match step {
            Step::Piece(piece) => piece.segment.map(function).unwrap_or_default(),
            Step::Stretch(stretch) => in_one_stretch(stretch),
        };
        let since = since_ns(step).map(|ns| us_from(due_ns, ns)).unwrap_or_default();
        let cells = measures(Some(step.start_ns()), step.len_ns(), latency_ns).into_iter();
        let several = match step {
            Step::Stretch(_) => Default::default(),
            Step::Piece(piece) => {
                [times(piece.count()), each(piece.count(), piece.min_ns(), piece.max_ns())]
            }
        };
        let several = has_several.then_some(several).into_iter().flatten();
        let cells = cells.chain(several).chain([label(piece.cause()), what, since]);
        table.row(cells.take(width));
        if let Step::Stretch(stretch) = step {
            table.rows.extend(within(stretch, width, latency_ns));
        }
    }
    sums(&mut table, listed.others, latency_ns, has_several);
    let is_met = |piece: &Piece| piece.cause() == Some(Cause::NotPreemptible);
    let mut pieces = listed.rows.iter().flat_map(|step| match step {
        Step::Piece(piece) => std::slice::from_ref(piece),
        Step::Stretch(stretch) => stretch.pieces,
    });
    if pieces.any(is_met) {
        table.notes.push(MET.to_owned());
    }
    table
}

/// Returns the piece that names a step.
fn reason<'a>(step: &Step<'a>) -> Piece<'a> {
    match step {
        Step::Piece(piece) => *piece,
        Step::Stretch(stretch) => stretch.reason,
    }
}

/// Returns words such as `one stretch of 23 pieces`, after the function with which a section
/// begins.
fn in_one_stretch(stretch: &Stretch) -> String {
    let whole = format!("one stretch of {} pieces:", stretch.count());
    let is_section = matches!(stretch.reason.cause(), Some(Cause::IrqsOff | Cause::PreemptOff));
    match stretch.reason.segment.map(function) {
        Some(function) if is_section && !function.is_empty() => {
            format!("{function}; {whole}")
        }
        _ => whole,
    }
}

/// Returns the parts of a stretch: a row for each cause and function.
fn within(stretch: &Stretch, width: usize, latency_ns: u64) -> Vec<Row> {
    let Listed { rows, others } = parts_of(stretch, latency_ns);
    let of_part = |part: Part| {
        let what = what(&part);
        let cause = format!("  {}", label(part.longest.cause()));
        (
            part.sum_ns,
            [times(part.count), each(part.count, part.min_ns, part.longest.max_ns())],
            [cause, what],
        )
    };
    let rest = (others.count > 0).then(|| {
        let each = format!("≤{}", us(others.max_ns));
        (others.sum_ns, [times(others.count), each], ["  others".to_owned(), String::new()])
    });
    let rows = rows.into_iter().map(of_part).chain(rest).map(|(ns, several, words)| {
        let cells = measures(None, ns, latency_ns).into_iter().chain(several).chain(words);
        let cells = cells.chain(std::iter::repeat(String::new())).take(width);
        Row::Cells(cells.map(|text| Cell::new(text, Tone::Faint)).collect())
    });
    rows.collect()
}

/// Returns the function of a part and its callers.
fn what(part: &Part) -> String {
    match part.longest.is_rest() {
        true => format!("other ({})", counted(part.count, "segment")),
        false => part.longest.segment.map(function).unwrap_or_default(),
    }
}

/// Says that the pieces are fewer than the segments that they stand for.
fn thinned(pieces: &[Piece]) -> Option<String> {
    let segments = count(pieces);
    (segments > pieces.len() as u64).then(|| {
        format!(
            "The bar is thinned: {} stand for {segments} segments; alike ones near each other are drawn \
             one after the other. Lengths and counts are exact.",
            counted(pieces.len(), "piece")
        )
    })
}

/// Returns the columns of the number of pieces in a row, and of their lengths.
fn several() -> [Column; 2] {
    [Column::right("count"), Column::right("each").with_unit("us")]
}

fn times(count: u64) -> String {
    if count == 1 { String::new() } else { count.to_string() }
}

/// Returns the shortest and the longest: `0.304–8.682`.
fn each(count: u64, min_ns: u64, max_ns: u64) -> String {
    match count {
        1 => String::new(),
        _ if min_ns == max_ns => us(max_ns),
        _ => format!("{}–{}", us(min_ns), us(max_ns)),
    }
}

/// Returns the table with a row for turns of tasks that are alike.
fn turns(listed: &Listed<Turns>, segments: u64, latency_ns: u64) -> Table {
    let words = [Column::left("mostly"), Column::left("task"), Column::left("mostly in")];
    let [_, length, share] = numbers(latency_ns);
    let mut table = Table::new("", [length, share].into_iter().chain(several()).chain(words));
    for turns in &listed.rows {
        let cause = turns.longest.cause().0;
        let several = [times(turns.count), each(turns.count, turns.min_ns, turns.longest.len_ns())];
        let words = [
            format!("{} {}", label(cause), percent(turns.cause_ns, turns.sum_ns)),
            turns.who(),
            turns.longest.context().map(|(context, _)| context).unwrap_or_default(),
        ];
        let [_, length, share] = measures(None, turns.sum_ns, latency_ns);
        table.row([length, share].into_iter().chain(several).chain(words));
    }
    sums_alike(&mut table, listed.others, latency_ns);
    table.notes.push(format!(
        "A row is for turns of tasks on the CPU that are alike: the wakeup has {segments} segments, \
         too many for a list."
    ));
    table
}

/// Returns the table with a row for each cause, function and program.
fn parts(listed: &Listed<Part>, segments: u64, latency_ns: u64) -> Table {
    let words =
        [Column::left("cause"), Column::left("program"), Column::left("function < its callers")];
    let [_, length, share] = numbers(latency_ns);
    let mut table = Table::new("", [length, share].into_iter().chain(several()).chain(words));
    for part in &listed.rows {
        let segment = part.longest.segment;
        let several = [times(part.count), each(part.count, part.min_ns, part.longest.max_ns())];
        let words = [
            label(part.longest.cause()),
            segment.map(|segment| name(&segment.comm)).unwrap_or_default(),
            what(part),
        ];
        let [_, length, share] = measures(None, part.sum_ns, latency_ns);
        table.row([length, share].into_iter().chain(several).chain(words));
    }
    sums_alike(&mut table, listed.others, latency_ns);
    table.notes.push(format!(
        "A row is for segments that are alike: the wakeup has {segments}, too many for a list."
    ));
    if listed.rows.iter().any(|part| part.longest.cause() == Some(Cause::NotPreemptible)) {
        table.notes.push(MET.to_owned());
    }
    table
}

/// Returns the first columns of every table of a timeline. The very first one is aligned to the
/// left, as the rows across all columns are, so its numbers are padded.
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

/// Adds the pieces that are not listed, and the sum of everything.
fn sums(table: &mut Table, others: Others, latency_ns: u64, has_several: bool) {
    let columns = table.columns.len();
    let mut row = |ns, words: [String; 2], tone| {
        let blank = has_several.then(<[String; 2]>::default).into_iter().flatten();
        let cells = measures(None, ns, latency_ns).into_iter().chain(blank).chain(words);
        let cells = cells.chain(std::iter::repeat(String::new())).take(columns);
        table.row(cells.map(|text| Cell::new(text, tone)));
    };
    if others.count > 0 {
        let words =
            [counted(others.count, "other"), format!("at most {} us each", us(others.max_ns))];
        row(others.sum_ns, words, Tone::Faint);
    }
    row(latency_ns, ["in all".to_owned(), String::new()], Tone::Plain);
}

/// Adds the same sums below rows of equal pieces.
fn sums_alike(table: &mut Table, others: Others, latency_ns: u64) {
    let columns = table.columns.len();
    let mut row = |ns, several: [String; 2], words: &str, tone| {
        let [_, length, share] = measures(None, ns, latency_ns);
        let cells = [length, share].into_iter().chain(several).chain([words.to_owned()]);
        let cells = cells.chain(std::iter::repeat(String::new())).take(columns);
        table.row(cells.map(|text| Cell::new(text, tone)));
    };
    if others.count > 0 {
        let words = format!("{} other kinds", others.count);
        let most = format!("≤{}", us(others.max_ns));
        row(others.sum_ns, [String::new(), most], &words, Tone::Faint);
    }
    row(latency_ns, Default::default(), "in all", Tone::Plain);
}
