//! Lanes for a terminal.

use std::collections::BTreeSet;

use anstyle::Style;
use preemptlab_analysis::wakeup::name;
use textwrap::core::display_width;

use super::{
    LanesPanel, axis,
    cells::{Cell, cell_of, cells, covered, runs},
    end_ns,
    look::Look,
    notes,
    place::{Gap, Label, joined, place},
    rows::{Row, rows},
};
use crate::Terminal;

/// Lines are not longer, however wide the terminal is: a picture that is too wide cannot be taken in.
const WIDTH_MAX: usize = 100;
const WIDTH_MIN: usize = 40;

/// Most columns of a lane's name.
const NAME_MAX: usize = 16;

/// Columns for a mark of the axis.
const MARK_WIDTH: usize = 8;

/// Lines of labels above a lane, at most.
const LABEL_LINES: usize = 3;

/// Fewest columns for each arrow of a wakeup. Where they have fewer, the arrows are left out.
const ARROWS: usize = 4;

/// Draws the lanes of threads, interrupts and softirqs for a terminal.
///
/// Each panel has its lanes under its title; the axis of virtual time and the legend are those of
/// all panels. States differ by characters, and by colours where they are wanted. A stretch that is
/// too short for a character has one where it hides no longer one.
pub fn lanes_terminal(panels: &[LanesPanel<'_>], terminal: Terminal) -> String {
    let width = terminal.width.clamp(WIDTH_MIN, WIDTH_MAX);
    let terminal = Terminal { width, ..terminal };
    let end_ns = end_ns(panels);
    // The names' width is known only from the rows, and those depend on the axis a little.
    let cell_ns = (end_ns / width as u64).max(1);
    let panels_rows: Vec<(&LanesPanel<'_>, Vec<Row<'_>>)> =
        panels.iter().map(|panel| (panel, rows(panel, end_ns, cell_ns))).collect();
    let names = panels_rows.iter().flat_map(|(_, rows)| rows).map(|row| display_width(&row.name));
    let gutter = names.max().unwrap_or(0).min(NAME_MAX) + 1;
    let plot = Plot { end_ns, gutter, width: width - gutter, color: terminal.color };
    let mut seen = BTreeSet::new();
    let mut text = String::new();
    for (panel, rows) in &panels_rows {
        text += &plot.paint(Style::new().bold(), &shortened(&name(panel.title), width));
        text.push('\n');
        for row in rows {
            plot.row(row, &mut text, &mut seen);
        }
        text.push('\n');
    }
    text += &plot.axis();
    text += &legend(&seen, &plot, terminal);
    for note in notes(panels) {
        text += &terminal.note(&note);
    }
    text
}

/// Entry of a legend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Seen {
    Look(Look),
    Woken,
    Dense,
}

struct Plot {
    end_ns: u64,
    /// Columns before the axis.
    gutter: usize,
    /// Columns of the axis.
    width: usize,
    color: bool,
}

impl Plot {
    fn paint(&self, style: Style, text: &str) -> String {
        let style = if self.color { style } else { Style::new() };
        format!("{style}{text}{style:#}")
    }

    /// Draws a lane, with its marks above.
    fn row(&self, row: &Row<'_>, text: &mut String, seen: &mut BTreeSet<Seen>) {
        for line in self.labels(row, seen) {
            let line = format!("{}{line}", " ".repeat(self.gutter));
            *text += line.trim_end();
            text.push('\n');
        }
        let name = shortened(&row.name, self.gutter - 1);
        let blank = " ".repeat(self.gutter - display_width(&name));
        let mut cells = cells(&row.spans, self.end_ns, self.width);
        let off = covered(&row.off, self.end_ns, self.width);
        for (cell, off) in cells.iter_mut().zip(off) {
            if let Some(look) = off
                && matches!(cell.look, Look::User | Look::Kernel)
            {
                *cell = Cell { look, ..*cell };
            }
        }
        seen.extend(cells.iter().map(|cell| Seen::Look(cell.look)));
        let mut line = format!("{name}{blank}");
        let drawn = runs(&cells, &row.spans).map(|(_, run)| {
            let look = run[0].look;
            self.paint(look.ansi(), &look.glyph().to_string().repeat(run.len()))
        });
        line.extend(drawn);
        *text += line.trim_end();
        text.push('\n');
    }

    /// Returns the lines above a lane: labels, and arrows where the thread was woken.
    fn labels(&self, row: &Row<'_>, seen: &mut BTreeSet<Seen>) -> Vec<String> {
        let column = |ns: u64| cell_of(ns, self.end_ns, self.width);
        let mut canvas = vec![vec![' '; self.width]; LABEL_LINES];
        let woken: BTreeSet<usize> = row.woken.iter().map(|(ns, _)| column(*ns)).collect();
        let is_dense = row.woken.len() > self.width / ARROWS;
        let woken = if is_dense { BTreeSet::new() } else { woken };

        let instants = row.marks.iter().filter(|mark| mark.end_ns.is_none());
        let instants =
            joined(instants.map(|mark| (column(mark.start_ns) as i64, name(mark.label))));
        let label = |(x, text): &(i64, String)| Label { x: *x, width: display_width(text) as i64 };
        let labels: Vec<Label> = instants.iter().map(label).collect();
        let gap = Gap { to_mark: 1, to_text: 1 };
        let arrows: Vec<i64> = woken.iter().map(|column| *column as i64).collect();
        let placed = place(&labels, &arrows, self.width as i64, gap, LABEL_LINES);
        for ((at, text), placed) in instants.iter().zip(&placed) {
            let x = *at as usize;
            let Some(placed) = placed else {
                canvas[0][x] = '╷';
                continue;
            };
            for line in &mut canvas[..placed.line] {
                line[x] = '│';
            }
            let is_left = placed.start < *at;
            canvas[placed.line][x] = if is_left { '┐' } else { '┌' };
            write(&mut canvas[placed.line], placed.start as usize, text);
        }
        for column in &woken {
            canvas[0][*column] = '↓';
        }
        if is_dense {
            seen.insert(Seen::Dense);
        } else if !woken.is_empty() {
            seen.insert(Seen::Woken);
        }
        // Stretches stand above instants, and each on the first line where it has room.
        let used = 1 + placed.iter().flatten().map(|it| it.line).max().unwrap_or(0);
        let has_instants = !instants.is_empty() || !woken.is_empty();
        let mut lines: Vec<Vec<char>> = canvas.into_iter().take(used).collect();
        if !has_instants {
            lines.clear();
        }
        let first = lines.len();
        for mark in row.marks {
            let Some(mark_end_ns) = mark.end_ns else { continue };
            // The column of its end is the next one's.
            let from = column(mark.start_ns);
            let to = column(mark_end_ns).saturating_sub(1).max(from);
            let drawn = bracket(&name(mark.label), to - from + 1);
            let free = |line: &[char]| line[from..=to].iter().all(|char| *char == ' ');
            let line = (first..lines.len()).find(|line| free(&lines[*line]));
            let line = line.or_else(|| {
                let is_room = lines.len() < first + LABEL_LINES;
                is_room.then(|| {
                    lines.push(vec![' '; self.width]);
                    lines.len() - 1
                })
            });
            if let Some(line) = line {
                write(&mut lines[line], from, &drawn);
            }
        }
        lines
            .into_iter()
            .rev()
            .map(|line| line.into_iter().filter(|c| *c != '\0').collect())
            .collect()
    }

    /// Returns the marks below all lanes, each at its first column.
    fn axis(&self) -> String {
        let mut line = " ".repeat(self.gutter);
        let mut reached = self.gutter;
        for (ns, label) in axis::marks(self.end_ns, (self.width / MARK_WIDTH) as u64) {
            let column = self.gutter + cell_of(ns, self.end_ns, self.width);
            let mark = format!("|{label}");
            let is_free = reached == self.gutter || column > reached;
            if is_free && column + mark.len() <= self.gutter + self.width {
                line += &" ".repeat(column - reached);
                line += &mark;
                reached = column + mark.len();
            }
        }
        line + "\n"
    }
}

/// Returns a stretch with its label, in `width` columns.
fn bracket(label: &str, width: usize) -> String {
    let room = width.saturating_sub(2);
    let text = if display_width(label) <= room { label } else { "" };
    let line = room - display_width(text);
    match width {
        0 | 1 => "╷".to_owned(),
        _ => format!("├{}{text}{}┤", "─".repeat(line / 2), "─".repeat(line - line / 2)),
    }
}

/// Puts a text into a line of columns. The blank that follows a wide character is taken out again.
fn write(line: &mut [char], start: usize, text: &str) {
    let mut column = start;
    for char in text.chars() {
        let width = display_width(char.encode_utf8(&mut [0; 4]));
        if width == 0 || column + width > line.len() {
            continue;
        }
        line[column] = char;
        for rest in &mut line[column + 1..column + width] {
            *rest = '\0';
        }
        column += width;
    }
}

fn shortened(text: &str, width: usize) -> String {
    if display_width(text) <= width {
        return text.to_owned();
    }
    let mut shortened = String::new();
    for char in text.chars() {
        if display_width(&shortened) + display_width(char.encode_utf8(&mut [0; 4])) + 1 > width {
            break;
        }
        shortened.push(char);
    }
    shortened + "…"
}

fn legend(seen: &BTreeSet<Seen>, plot: &Plot, terminal: Terminal) -> String {
    const GAP: &str = "   ";
    let looks = Look::ALL.into_iter().filter(|look| seen.contains(&Seen::Look(*look)));
    let mut entries: Vec<(Style, char, &str)> =
        looks.map(|look| (look.ansi(), look.glyph(), look.words())).collect();
    if seen.contains(&Seen::Woken) {
        entries.push((Style::new(), '↓', "woken"));
    }
    let mut text = String::new();
    let mut column = 0;
    for (style, glyph, words) in entries {
        let width = 2 + display_width(words);
        if column > 0 && column + GAP.len() + width > terminal.width {
            text.push('\n');
            column = 0;
        }
        if column > 0 {
            text += GAP;
            column += GAP.len();
        }
        text += &format!("{} {words}", plot.paint(style, &glyph.to_string()));
        column += width;
    }
    if column > 0 {
        text.push('\n');
    }
    if seen.contains(&Seen::Dense) {
        text += &terminal.note("Where a thread was woken too often for arrows there are none.");
    }
    text
}
