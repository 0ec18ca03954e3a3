use std::borrow::Cow;

use preemptlab_model::plain;

/// A table that can be rendered for a terminal, as Markdown and as CSV.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// Title of the table; empty for none.
    pub title: String,
    /// Columns of the table.
    pub columns: Vec<Column>,
    /// Rows of the table.
    pub rows: Vec<Row>,
    /// Notes below the table.
    pub notes: Vec<String>,
}

/// Header of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// A header above those of neighbours with the same one; empty for none.
    pub group: String,
    /// Header of the column itself.
    pub name: String,
    /// The unit of its numbers; empty for none. Neighbours in a group share it.
    pub unit: String,
    /// Alignment of its cells.
    pub align: Align,
}

/// Alignment of text in its cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// To the left, for words.
    Left,
    /// To the right, for numbers.
    Right,
}

/// Row of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Row {
    /// A cell per column.
    Cells(Vec<Cell>),
    /// More lines of the cells of the row above.
    More(Vec<Cell>),
    /// One cell across all columns.
    Span(Cell),
}

/// A text without line breaks and control characters, and its tone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    text: String,
    tone: Tone,
}

/// Meaning of a cell's colour, where there are colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// No meaning.
    #[default]
    Plain,
    /// A heading, in bold.
    Strong,
    /// A less important cell.
    Faint,
    /// Better than the baseline, beyond the spread of both.
    Better,
    /// Worse than the baseline, beyond the spread of both.
    Worse,
}

impl Table {
    /// Creates a table without rows.
    pub fn new(title: impl Into<String>, columns: impl IntoIterator<Item = Column>) -> Self {
        let columns = columns.into_iter().collect();
        Self { title: title.into(), columns, rows: Vec::new(), notes: Vec::new() }
    }

    /// Adds a row with a cell per column.
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl Into<Cell>>) {
        self.rows.push(Row::Cells(cells.into_iter().map(Into::into).collect()));
    }

    /// Adds a row with one cell across all columns.
    pub fn span(&mut self, cell: impl Into<Cell>) {
        self.rows.push(Row::Span(cell.into()));
    }
}

impl Column {
    /// Creates a column of words.
    pub fn left(name: impl Into<String>) -> Self {
        let (group, unit) = (String::new(), String::new());
        Self { group, name: name.into(), unit, align: Align::Left }
    }

    /// Creates a column of numbers.
    pub fn right(name: impl Into<String>) -> Self {
        Self { align: Align::Right, ..Self::left(name) }
    }

    /// Sets the unit of the column's numbers.
    #[must_use]
    pub fn with_unit(self, unit: impl Into<String>) -> Self {
        Self { unit: unit.into(), ..self }
    }

    /// Returns the header in one line: `FIFO wakeup p99, us`.
    pub(crate) fn header(&self) -> String {
        let Self { group, name, unit, .. } = self;
        let gap = if group.is_empty() { "" } else { " " };
        let comma = if unit.is_empty() { "" } else { ", " };
        format!("{group}{gap}{name}{comma}{unit}")
    }

    /// Returns the header in two lines, the first of which is that of its group, if it has one.
    pub(crate) fn headers(&self) -> [String; 2] {
        let Self { group, name, unit, .. } = self;
        match (group.as_str(), unit.as_str()) {
            ("", "") => [String::new(), name.clone()],
            ("", unit) => [name.clone(), unit.to_owned()],
            (group, "") => [group.to_owned(), name.clone()],
            (group, unit) => [format!("{group}, {unit}"), name.clone()],
        }
    }

    /// Puts the column under a header that it shares with its neighbours.
    #[must_use]
    pub fn under(self, group: impl Into<String>) -> Self {
        Self { group: group.into(), ..self }
    }
}

impl Cell {
    /// Creates a cell. Control characters become blanks: some texts come from a guest, and none of
    /// them may steer a terminal.
    pub fn new(text: impl Into<String>, tone: Tone) -> Self {
        let text = text.into();
        let text = match plain::line(&text) {
            Cow::Owned(shown) => shown,
            Cow::Borrowed(_) => text,
        };
        Self { text, tone }
    }

    /// Returns the text of the cell.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the tone of the cell.
    pub fn tone(&self) -> Tone {
        self.tone
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::new(text, Tone::Plain)
    }
}
