use std::io::Write;

use preemptlab_model::plain;

use crate::{
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
        let mut writer = csv::Writer::from_writer(file);
        let names = table.columns().into_iter().map(|column| column.name);
        writer.write_record(names).map_err(ExportError::csv(table))?;
        Ok(Self { table, writer })
    }

    pub fn write(&mut self, row: &Row<'_>) -> Result<(), ExportError> {
        let texts = row.values().iter().map(|value| match value {
            Value::Utf8(_) => plain::spreadsheet(&text(value)).into_owned(),
            _ => text(value),
        });
        self.writer.write_record(texts).map_err(ExportError::csv(self.table))
    }

    pub fn finish(mut self) -> Result<(), ExportError> {
        self.writer.flush().map_err(|error| ExportError::Io { table: self.table, error })
    }
}
