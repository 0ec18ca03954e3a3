use std::io::Write;

use preemptlab_model::MeasuredCell;

use super::{
    ExportError, Format, Probe, Table,
    csv_table::CsvTable,
    fields::{BUCKET, CELL, FACTORS, METRIC},
    parquet_table::ParquetTable,
    row::Row,
};

/// Tables that are being written, cell by cell.
pub struct Export<W: Write + Send> {
    cells: Writer<W>,
    metrics: Writer<W>,
    histograms: Writer<W>,
}

enum Writer<W: Write + Send> {
    Csv(CsvTable<W>),
    Parquet(ParquetTable<W>),
}

impl<W: Write + Send> Export<W> {
    /// Begins the tables, in the order of [`Table::ALL`].
    ///
    /// # Errors
    ///
    /// When a file cannot be written to.
    pub fn new(format: Format, files: [W; 3]) -> Result<Self, ExportError> {
        let [cells, metrics, histograms] = files;
        Ok(Self {
            cells: Writer::new(format, Table::Cells, cells)?,
            metrics: Writer::new(format, Table::Metrics, metrics)?,
            histograms: Writer::new(format, Table::Histograms, histograms)?,
        })
    }

    /// Adds a cell of the recording that its `run` names, and its measurements.
    ///
    /// # Errors
    ///
    /// When a file cannot be written to, or a value does not fit its column.
    pub fn write(&mut self, cell: &MeasuredCell, probes: &[Probe]) -> Result<(), ExportError> {
        let row = |table| Row::new(table, cell).with(&FACTORS, cell);
        self.cells.write(&row(Table::Cells)?.with(&CELL, cell)?)?;
        for metric in cell.result.iter().flatten() {
            self.metrics.write(&row(Table::Metrics)?.with(&METRIC, metric)?)?;
        }
        for bucket in probes.iter().flat_map(Probe::buckets) {
            self.histograms.write(&row(Table::Histograms)?.with(&BUCKET, &bucket)?)?;
        }
        Ok(())
    }

    /// Ends the tables.
    ///
    /// # Errors
    ///
    /// When a file cannot be written to.
    pub fn finish(self) -> Result<(), ExportError> {
        self.cells.finish()?;
        self.metrics.finish()?;
        self.histograms.finish()
    }
}

impl<W: Write + Send> Writer<W> {
    fn new(format: Format, table: Table, file: W) -> Result<Self, ExportError> {
        Ok(match format {
            Format::Csv => Self::Csv(CsvTable::new(table, file)?),
            Format::Parquet => Self::Parquet(ParquetTable::new(table, file)?),
        })
    }

    fn write(&mut self, row: &Row<'_>) -> Result<(), ExportError> {
        match self {
            Self::Csv(table) => table.write(row),
            Self::Parquet(table) => table.write(row),
        }
    }

    fn finish(self) -> Result<(), ExportError> {
        match self {
            Self::Csv(table) => table.finish(),
            Self::Parquet(table) => table.finish(),
        }
    }
}
