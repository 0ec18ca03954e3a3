use std::io::Write;

use parquet::{
    basic::{LogicalType, Repetition, Type as Physical},
    data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type},
    errors::Result,
    file::writer::SerializedRowGroupWriter,
    schema::types::Type,
};

use super::{Column, Kind, column::Value};

/// The values of a column that are not written yet.
pub struct Buffer {
    values: Values,
    /// For every row 1, or 0 where it has no value; unused in columns that are not optional.
    levels: Option<Vec<i16>>,
}

enum Values {
    Utf8(Vec<ByteArray>),
    U32(Vec<i32>),
    I64(Vec<i64>),
    F64(Vec<f64>),
    Bool(Vec<bool>),
}

impl Buffer {
    pub fn new(column: &Column) -> Self {
        let values = match column.kind {
            Kind::Utf8 => Values::Utf8(Vec::new()),
            Kind::U32 => Values::U32(Vec::new()),
            Kind::I64 => Values::I64(Vec::new()),
            Kind::F64 => Values::F64(Vec::new()),
            Kind::Bool => Values::Bool(Vec::new()),
        };
        Self { values, levels: column.optional.then(Vec::new) }
    }

    /// Takes a value that fits the column.
    pub fn push(&mut self, value: &Value<'_>) {
        if let Some(levels) = &mut self.levels {
            levels.push(i16::from(*value != Value::Absent));
        }
        match (&mut self.values, value) {
            (_, Value::Absent) => {}
            (Values::Utf8(texts), Value::Utf8(text)) => {
                // Most rows repeat the text of the one before and share its bytes.
                let last = texts.last().filter(|last| last.data() == text.as_bytes()).cloned();
                texts.push(last.unwrap_or_else(|| ByteArray::from(text.as_ref())));
            }
            // Parquet has unsigned numbers in the bits of signed ones.
            (Values::U32(numbers), Value::U32(number)) => numbers.push(number.cast_signed()),
            (Values::I64(numbers), Value::I64(number)) => numbers.push(number.cast_signed()),
            (Values::F64(numbers), Value::F64(number)) => numbers.push(*number),
            (Values::Bool(flags), Value::Bool(flag)) => flags.push(*flag),
            (_, value) => unreachable!("a row holds {value:?} where its column has another type"),
        }
    }

    /// Writes the values as the next column of a row group, and empties the buffer.
    ///
    /// # Errors
    ///
    /// The error of the writer.
    pub fn write<W: Write + Send>(
        &mut self,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<()> {
        let levels = self.levels.as_deref();
        match &mut self.values {
            Values::Utf8(values) => write::<ByteArrayType, W>(group, values, levels),
            Values::U32(values) => write::<Int32Type, W>(group, values, levels),
            Values::I64(values) => write::<Int64Type, W>(group, values, levels),
            Values::F64(values) => write::<DoubleType, W>(group, values, levels),
            Values::Bool(values) => write::<BoolType, W>(group, values, levels),
        }?;
        if let Some(levels) = &mut self.levels {
            levels.clear();
        }
        Ok(())
    }
}

fn write<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &mut Vec<T::T>,
    levels: Option<&[i16]>,
) -> Result<()> {
    if let Some(mut column) = group.next_column()? {
        column.typed::<T>().write_batch(values, levels, None)?;
        column.close()?;
    }
    values.clear();
    Ok(())
}

/// Returns the column's type in the schema of a file.
///
/// # Errors
///
/// When Parquet refuses the column.
pub fn schema(column: &Column) -> Result<Type> {
    let (physical, logical) = match column.kind {
        Kind::Utf8 => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::U32 => (Physical::INT32, Some(LogicalType::integer(32, false))),
        Kind::I64 => (Physical::INT64, None),
        Kind::F64 => (Physical::DOUBLE, None),
        Kind::Bool => (Physical::BOOLEAN, None),
    };
    let repetition = if column.optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    Type::primitive_type_builder(column.name, physical)
        .with_repetition(repetition)
        .with_logical_type(logical)
        .build()
}
