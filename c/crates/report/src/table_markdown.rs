use preemptlab_model::plain::markdown as escape;
use textwrap::core::display_width;

use crate::{Align, Cell, Row, Table, Tone};

/// The least width of a column: room for the rule `--:`.
const WIDTH_MIN: usize = 3;

impl Table {
    /// Writes the table in GitHub's Markdown, padded so that it can be read as it stands.
    pub fn markdown(&self) -> String {
        let mut lines = vec![self.columns.iter().map(|column| escape(&column.header())).collect()];
        lines.extend(self.rows.iter().map(|row| match row {
            Row::Cells(cells) | Row::More(cells) => cells.iter().map(cell).collect(),
            Row::Span(text) => vec![cell(text)],
        }));
        let widths = self.widths(&lines);
        let rules = self.columns.iter().zip(&widths).map(|(column, width)| match column.align {
            Align::Left => "-".repeat(*width),
            Align::Right => format!("{}:", "-".repeat(width - 1)),
        });
        lines.insert(1, rules.collect());
        let table: String = lines.iter().map(|cells| self.line(cells, &widths)).collect();
        let title = Some(&self.title).filter(|title| !title.is_empty());
        let title = title.map(|title| format!("**{}**\n\n", escape(title))).unwrap_or_default();
        let notes = self.notes.iter().map(|note| format!("\n{}\n", escape(note)));
        format!("{title}{table}{}", notes.collect::<String>())
    }

    /// Returns the columns' widths, to which a cell across all columns does not count.
    fn widths(&self, lines: &[Vec<String>]) -> Vec<usize> {
        let whole = || lines.iter().filter(|cells| cells.len() == self.columns.len());
        (0..self.columns.len())
            .map(|column| whole().map(|cells| display_width(&cells[column])).max().unwrap_or(0))
            .map(|width| width.max(WIDTH_MIN))
            .collect()
    }

    fn line(&self, cells: &[String], widths: &[usize]) -> String {
        let mut line = String::from("|");
        for ((column, width), text) in self.columns.iter().zip(widths).zip(cells) {
            let padding = " ".repeat(width.saturating_sub(display_width(text)));
            line += &match column.align {
                Align::Left => format!(" {text}{padding} |"),
                Align::Right => format!(" {padding}{text} |"),
            };
        }
        line + "\n"
    }
}

fn cell(cell: &Cell) -> String {
    match cell.tone() {
        Tone::Strong => format!("**{}**", escape(cell.text())),
        _ => escape(cell.text()),
    }
}

#[cfg(test)]
mod tests {
    use crate::{Column, Table};

    #[test]
    fn nothing_in_a_cell_can_end_it() {
        let mut table = Table::new("", [Column::left("command"), Column::right("n")]);
        table.row(["a | b <br>", "1"]);
        assert_eq!(
            table.markdown(),
            "| command           |   n |\n| ----------------- | --: |\n| a \\| b &lt;br&gt; |   1 |\n"
        );
    }
}
