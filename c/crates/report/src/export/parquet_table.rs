use std::{io::Write, sync::Arc};

use parquet::{
    basic::{Compression, ZstdLevel},
    errors::Result,
    file::{metadata::KeyValue, properties::WriterProperties, writer::SerializedFileWriter},
    schema::types::Type,
};

use super::{
    ExportError, Table,
    parquet_buffer::{self, Buffer},
    row::Row,
};

/// The version of the tables, in their metadata. Columns may be added within a version.
const FORMAT: &str = "1";

/// Number of rows of a group, which are in memory at a time: some 20 MB of the widest table.
const GROUP_ROWS: usize = 1 << 16;

/// A table as Parquet: strings with dictionaries, compressed, columns described in the metadata.
pub struct ParquetTable<W: Write + Send> {
    table: Table,
    writer: SerializedFileWriter<W>,
    columns: Vec<Buffer>,
    rows: usize,
}

impl<W: Write + Send> ParquetTable<W> {
    pub fn new(table: Table, file: W) -> std::result::Result<Self, ExportError> {
        let writer = writer(table, file).map_err(ExportError::parquet(table))?;
        let columns = table.columns().iter().map(Buffer::new).collect();
        Ok(Self { table, writer, columns, rows: 0 })
    }

    pub fn write(&mut self, row: &Row<'_>) -> std::result::Result<(), ExportError> {
        for (column, value) in self.columns.iter_mut().zip(row.values()) {
            column.push(value);
        }
        self.rows += 1;
        if self.rows < GROUP_ROWS {
            return Ok(());
        }
        self.flush().map_err(ExportError::parquet(self.table))
    }

    pub fn finish(mut self) -> std::result::Result<(), ExportError> {
        let finished = self.flush().and_then(|()| self.writer.close());
        finished.map(drop).map_err(ExportError::parquet(self.table))
    }

    /// Writes the buffered rows as a group.
    fn flush(&mut self) -> Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut group = self.writer.next_row_group()?;
        for column in &mut self.columns {
            column.write(&mut group)?;
        }
        group.close()?;
        self.rows = 0;
        Ok(())
    }
}

fn writer<W: Write + Send>(table: Table, file: W) -> Result<SerializedFileWriter<W>> {
    let columns = table.columns();
    let fields = columns.iter().map(|column| parquet_buffer::schema(column).map(Arc::new));
    let schema = Type::group_type_builder(table.as_str())
        .with_fields(fields.collect::<Result<_>>()?)
        .build()?;
    let described = columns.iter().map(|column| {
        let unit = column.unit.map(|unit| format!(" Unit: {unit}.")).unwrap_or_default();
        metadata(&format!("column.{}", column.name), format!("{}{unit}", column.about))
    });
    let format = metadata("format", FORMAT.to_owned());
    let about = metadata("table", table.about().to_owned());
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_key_value_metadata(Some([format, about].into_iter().chain(described).collect()));
    SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties.build()))
}

fn metadata(key: &str, value: String) -> KeyValue {
    KeyValue::new(format!("preemptlab.{key}"), value)
}
