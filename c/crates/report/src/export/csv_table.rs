use std::io::Write;

use preemptlab_model::plain;

use super::{
    ExportError, Table,
    column::Value,
    row::{Row, text},
};

/// A table as CSV.
pub struct CsvTable<W: Write> {
    table: Table,
    writer: csv::Writer<W>,
}

impl<W: Write> CsvTable<W> {
    pub fn new(table: Table, file: W) -> Result<Self, ExportError> {
        // Text is quoted as strangers' text must be, and numbers need no quotes.
        let mut writer =
            csv::WriterBuilder::new().quote_style(csv::QuoteStyle::Never).from_writer(file);
        let names = table.columns().into_iter().map(|column| plain::csv(column.name));
        writer.write_record(names).map_err(ExportError::csv(table))?;
        Ok(Self { table, writer })
    }

    pub fn write(&mut self, row: &Row<'_>) -> Result<(), ExportError> {
        let texts = row.values().iter().map(|value| match value {
            Value::Utf8(_) => plain::csv(&text(value)),
            _ => text(value),
        });
        self.writer.write_record(texts).map_err(ExportError::csv(self.table))
    }

    pub fn finish(mut self) -> Result<(), ExportError> {
        self.writer.flush().map_err(|error| ExportError::Io { table: self.table, error })
    }
}
