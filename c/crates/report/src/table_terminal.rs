use anstyle::{AnsiColor, Style};
use preemptlab_model::plain;
use tabled::{
    Table as Grid,
    builder::Builder,
    settings::{Alignment, Padding, Span, Style as Lines, object::Columns, style::HorizontalLine},
};

use crate::{Align, Cell, Column, Row, Table, Tone, table_layout as layout, table_split};

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

/// Before the continued lines of a record.
const RECORD_INDENT: usize = 4;

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

    /// Renders the grid: with less room between columns when it would be too wide, with wrapped words
    /// when it still is, as several tables when no column of words can give way any more, and at last as a record per row.
    fn grid(&self, terminal: Terminal) -> String {
        let spaced = |gap| Some(self.unspaced(terminal, None)).map(|grid| spaced(grid, gap));
        let wrapped = || {
            let room = terminal.width.checked_sub(self.columns.len().saturating_sub(1))?;
            let widths = layout::widths(self, &self.headers(), room)?;
            Some(self::spaced(self.unspaced(terminal, Some(&widths)), 1))
        };
        let is_fit = |grid: &Grid| grid.total_width() <= terminal.width;
        let grid = spaced(GAP).filter(is_fit).or_else(|| spaced(1).filter(is_fit));
        match grid.or_else(|| wrapped().filter(is_fit)) {
            Some(grid) => {
                grid.to_string().lines().map(|line| format!("{}\n", line.trim_end())).collect()
            }
            None => self.parts(terminal).unwrap_or_else(|| self.records(terminal)),
        }
    }

    /// Renders a table of numbers that is too wide as several below each other; `None` where that would be
    /// too many, and for words.
    fn parts(&self, terminal: Terminal) -> Option<String> {
        let fits =
            |part: &Self| spaced(part.unspaced(terminal, None), 1).total_width() <= terminal.width;
        let parts = table_split::split(self, fits)?;
        let parts: Vec<String> = parts.iter().map(|part| part.grid(terminal)).collect();
        Some(parts.join("\n"))
    }

    /// Returns the cells, with their words wrapped to these widths.
    fn unspaced(&self, terminal: Terminal, widths: Option<&[usize]>) -> Grid {
        let headers = self.headers();
        let text = |(column, cell): (usize, &Cell)| match widths.map(|widths| widths[column]) {
            Some(width) if self.columns[column].align == Align::Left => {
                terminal.paint_lines(&layout::wrap(cell.text(), width), cell.tone())
            }
            _ => terminal.paint(cell),
        };
        let mut builder = Builder::default();
        for header in &headers {
            let cells = header.iter().map(|text| Cell::new(text.clone(), Tone::Faint));
            builder.push_record(cells.enumerate().map(|(column, cell)| text((column, &cell))));
        }
        for row in &self.rows {
            match row {
                Row::Cells(cells) | Row::More(cells) => {
                    builder.push_record(cells.iter().enumerate().map(text))
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

    /// Renders a record per row: a line `column: value` for each of its cells.
    fn records(&self, terminal: Terminal) -> String {
        let mut text = String::new();
        let mut rows = self.rows.iter().peekable();
        while let Some(row) = rows.next() {
            let cells = match row {
                Row::Span(cell) => {
                    text += &terminal.paint_wrapped(cell);
                    text.push('\n');
                    continue;
                }
                Row::Cells(cells) | Row::More(cells) => cells,
            };
            let mut lines = vec![cells];
            while let Some(Row::More(cells)) = rows.peek() {
                lines.push(cells);
                rows.next();
            }
            for (index, column) in self.columns.iter().enumerate() {
                let said = lines.iter().filter_map(|cells| cells.get(index));
                let said = said.filter(|cell| !cell.text().trim().is_empty());
                text += &terminal.field(&column.header(), &said.collect::<Vec<_>>());
            }
            if matches!(rows.peek(), Some(Row::Cells(_) | Row::More(_))) {
                text.push('\n');
            }
        }
        text
    }

    /// Returns the headers: in one line, or in two when columns are grouped.
    fn headers(&self) -> Vec<Vec<String>> {
        if self.columns.iter().all(|column| column.group.is_empty()) {
            return vec![self.columns.iter().map(Column::header).collect()];
        }
        let line = |line: usize| {
            self.columns.iter().map(|column| column.headers()[line].clone()).collect()
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

    /// Lines of one cell, each with its style.
    fn paint_lines(self, lines: &[String], tone: Tone) -> String {
        let line = |line: &String| self.paint(&Cell::new(line.clone(), tone));
        lines.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    /// Returns a line of a record, wrapped: a column's header, and the lines of its cell.
    fn field(self, header: &str, cells: &[&Cell]) -> String {
        let Some(last) = cells.last() else { return String::new() };
        let values: Vec<&str> = cells.iter().map(|cell| cell.text().trim()).collect();
        let field = format!("{}: {}", header.trim(), values.join(", "));
        let lines = layout::wrap(&field, self.width.saturating_sub(RECORD_INDENT).max(1));
        let painted = self.paint_lines(&lines, last.tone());
        let indents = std::iter::once("  ").chain(std::iter::repeat("    "));
        painted.lines().zip(indents).map(|(line, indent)| format!("{indent}{line}\n")).collect()
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

fn spaced(mut grid: Grid, gap: usize) -> Grid {
    grid.with(Padding::zero());
    grid.modify(Columns::new(1..), Padding::new(gap, 0, 0, 0));
    grid
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
