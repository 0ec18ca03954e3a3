use anstyle::{AnsiColor, Style};
use preemptlab_model::plain;
use tabled::{
    Table as Grid,
    builder::Builder,
    settings::{
        Alignment, Padding, Span, Style as Lines, Width, object::Columns, peaker::PriorityMax,
        style::HorizontalLine,
    },
};

use crate::{Align, Cell, Row, Table, Tone};

/// The terminal that text is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terminal {
    /// Number of columns. Lines are not longer, wherever that is possible.
    pub width: usize,
    /// Whether the terminal shows colours.
    pub color: bool,
}

/// Blanks between columns.
const GAP: usize = 2;

impl Table {
    /// Renders the table for a terminal.
    pub fn terminal(&self, terminal: Terminal) -> String {
        let title = Some(&self.title).filter(|title| !title.is_empty()).map(|title| {
            let style = terminal.style(Tone::Strong);
            wrap(title, terminal.width).map(|line| format!("{style}{line}{style:#}\n")).collect()
        });
        let grid = self.grid(terminal);
        let notes = self.notes.iter().map(|note| terminal.note(note));
        let gap = (!self.notes.is_empty()).then(|| "\n".to_owned());
        title.into_iter().chain([grid]).chain(gap).chain(notes).collect()
    }

    /// Renders the grid, with less room between columns when it would be too wide, and with wrapped
    /// cells when it still is.
    fn grid(&self, terminal: Terminal) -> String {
        let mut grid = self.unspaced(terminal);
        grid.with(Padding::zero());
        grid.modify(Columns::new(1..), Padding::new(GAP, 0, 0, 0));
        if grid.total_width() > terminal.width {
            grid.modify(Columns::new(1..), Padding::new(1, 0, 0, 0));
            let wrap = Width::wrap(terminal.width).keep_words(true);
            grid.with(wrap.priority(PriorityMax::right()));
        }
        grid.to_string().lines().map(|line| format!("{}\n", line.trim_end())).collect()
    }

    fn unspaced(&self, terminal: Terminal) -> Grid {
        let headers = self.headers(terminal);
        let mut builder = Builder::default();
        for header in &headers {
            builder.push_record(header);
        }
        for row in &self.rows {
            match row {
                Row::Cells(cells) => {
                    builder.push_record(cells.iter().map(|cell| terminal.paint(cell)))
                }
                Row::Span(cell) => builder.push_record([terminal.paint_wrapped(cell)]),
            }
        }
        let mut grid = builder.build();
        grid.with(Lines::empty().horizontals([(headers.len(), HorizontalLine::new('─'))]));
        for (index, column) in self.columns.iter().enumerate() {
            if column.align == Align::Right {
                grid.modify(Columns::one(index), Alignment::right());
            }
        }
        for (index, row) in self.rows.iter().enumerate() {
            if matches!(row, Row::Span(_)) {
                let across = Span::column(self.columns.len() as isize);
                grid.modify((headers.len() + index, 0), across);
            }
        }
        for (start, length) in self.groups() {
            grid.modify((0, start), Span::column(length as isize));
            grid.modify((0, start), Alignment::center());
        }
        grid
    }

    /// Returns the headers: in one line, or in two when columns are grouped.
    fn headers(&self, terminal: Terminal) -> Vec<Vec<String>> {
        let paint = |text: String| terminal.paint(&Cell::new(text, Tone::Faint));
        if self.columns.iter().all(|column| column.group.is_empty()) {
            return vec![self.columns.iter().map(|column| paint(column.header())).collect()];
        }
        let line = |line: usize| {
            self.columns.iter().map(|column| paint(column.headers()[line].clone())).collect()
        };
        vec![line(0), line(1)]
    }

    /// Returns the first column and the number of columns of each group.
    fn groups(&self) -> Vec<(usize, usize)> {
        let mut groups = Vec::new();
        let mut start = 0;
        for of_group in self.columns.chunk_by(|left, right| left.group == right.group) {
            if !of_group[0].group.is_empty() {
                groups.push((start, of_group.len()));
            }
            start += of_group.len();
        }
        groups
    }
}

impl Terminal {
    /// Wraps a paragraph.
    pub fn note(self, text: &str) -> String {
        wrap(text, self.width).map(|line| format!("{line}\n")).collect()
    }

    fn paint(self, cell: &Cell) -> String {
        let style = if cell.text().is_empty() { Style::new() } else { self.style(cell.tone()) };
        format!("{style}{}{style:#}", cell.text())
    }

    /// Wraps a cell. Continued lines are indented as far as the first one, and a bit further.
    fn paint_wrapped(self, cell: &Cell) -> String {
        let indent = cell.text().len() - cell.text().trim_start().len();
        let further = " ".repeat(indent + 2);
        let options = options(self.width).subsequent_indent(&further);
        let style = self.style(cell.tone());
        let lines = textwrap::wrap(cell.text(), options);
        lines.iter().map(|line| format!("{style}{line}{style:#}")).collect::<Vec<_>>().join("\n")
    }

    fn style(self, tone: Tone) -> Style {
        let style = Style::new();
        match tone {
            _ if !self.color => style,
            Tone::Plain => style,
            Tone::Strong => style.bold(),
            Tone::Faint => style.dimmed(),
            Tone::Better => style.fg_color(Some(AnsiColor::Green.into())),
            Tone::Worse => style.fg_color(Some(AnsiColor::Red.into())),
        }
    }
}

fn wrap(text: &str, width: usize) -> impl Iterator<Item = String> {
    // Some texts come from a guest or from another one's recording, and none may steer a terminal.
    let text = plain::lines(text).replace('\t', " ");
    let lines = textwrap::wrap(&text, options(width.max(20)));
    lines.into_iter().map(String::from).collect::<Vec<_>>().into_iter()
}

/// Lines break at blanks only, whatever features other crates switch on in textwrap: the names of
/// configurations hold slashes and hyphens.
fn options(width: usize) -> textwrap::Options<'static> {
    textwrap::Options::new(width)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
}
