use std::io::Write;

use super::{
    ExportError, ExportedCell, Format, Probe, Table,
    csv_table::CsvTable,
    fields::{BUCKET, CELL, FACTORS, INSTANTS, METRIC, SECTION},
    parquet_table::ParquetTable,
    row::Row,
};

/// Tables that are being written, cell by cell.
pub struct Export<W: Write + Send> {
    tables: Vec<(Table, Writer<W>)>,
}

enum Writer<W: Write + Send> {
    Csv(CsvTable<W>),
    Parquet(ParquetTable<W>),
}

impl<W: Write + Send> Export<W> {
    /// Begins tables, each with its file.
    ///
    /// # Errors
    ///
    /// When a file cannot be written to.
    pub fn new(
        format: Format,
        files: impl IntoIterator<Item = (Table, W)>,
    ) -> Result<Self, ExportError> {
        let begun = |(table, file)| Ok((table, Writer::new(format, table, file)?));
        Ok(Self { tables: files.into_iter().map(begun).collect::<Result<_, _>>()? })
    }

    /// Adds the rows of a cell to each table.
    ///
    /// # Errors
    ///
    /// When a file cannot be written to, or a value does not fit its column.
    pub fn write(&mut self, exported: &ExportedCell) -> Result<(), ExportError> {
        self.tables.iter_mut().try_for_each(|(table, writer)| writer.rows(*table, exported))
    }

    /// Ends the tables.
    ///
    /// # Errors
    ///
    /// When a file cannot be written to.
    pub fn finish(self) -> Result<(), ExportError> {
        self.tables.into_iter().try_for_each(|(_, writer)| writer.finish())
    }
}

impl<W: Write + Send> Writer<W> {
    fn new(format: Format, table: Table, file: W) -> Result<Self, ExportError> {
        Ok(match format {
            Format::Csv => Self::Csv(CsvTable::new(table, file)?),
            Format::Parquet => Self::Parquet(ParquetTable::new(table, file)?),
        })
    }

    /// Writes the rows that a cell has in the table.
    fn rows(&mut self, table: Table, exported: &ExportedCell) -> Result<(), ExportError> {
        let cell = &exported.cell;
        let row = || Row::new(table, cell).with(&FACTORS, cell);
        match table {
            Table::Cells => self.write(&row()?.with(&CELL, cell)?),
            Table::Metrics => {
                let mut metrics = cell.result.iter().flatten();
                metrics.try_for_each(|metric| self.write(&row()?.with(&METRIC, metric)?))
            }
            Table::Histograms => {
                let mut buckets = exported.probes.iter().flat_map(Probe::buckets);
                buckets.try_for_each(|bucket| self.write(&row()?.with(&BUCKET, &bucket)?))
            }
            Table::Instants => exported
                .instants()
                .try_for_each(|later| self.write(&row()?.with(&INSTANTS, &later)?)),
            Table::Sections => exported
                .sections()
                .try_for_each(|section| self.write(&row()?.with(&SECTION, section)?)),
        }
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
