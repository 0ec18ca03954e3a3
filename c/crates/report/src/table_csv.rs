use preemptlab_model::plain;

use crate::{Column, Row, Table};

impl Table {
    /// Writes the table as CSV: a line of headers, then the rows; without title and notes.
    pub fn csv(&self) -> String {
        let rows = self.rows.iter().map(|row| match row {
            Row::Cells(cells) | Row::More(cells) => {
                cells.iter().map(|cell| cell.text().to_owned()).collect()
            }
            Row::Span(cell) => vec![cell.text().to_owned()],
        });
        write(std::iter::once(self.columns.iter().map(Column::header).collect()).chain(rows))
    }
}

/// Writes records as CSV (RFC 4180, with line feeds), in which no spreadsheet finds a formula: every field
/// that is not a number or a truth value is quoted.
pub fn write(records: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut writer = csv::WriterBuilder::new()
        .flexible(true)
        .quote_style(csv::QuoteStyle::Never)
        .from_writer(Vec::new());
    for record in records {
        let fields = record.iter().map(|field| match field.parse::<f64>() {
            Ok(_) => field.clone(),
            Err(_) if matches!(field.as_str(), "" | "true" | "false") => field.clone(),
            Err(_) => plain::csv(field),
        });
        writer.write_record(fields).expect("memory can be written to");
    }
    let bytes = writer.into_inner().expect("memory can be written to");
    String::from_utf8(bytes).expect("the records are text")
}
