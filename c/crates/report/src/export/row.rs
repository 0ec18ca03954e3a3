use preemptlab_model::MeasuredCell;

use super::{Column, ExportError, Kind, Table, column::Value, fields::Field};

/// A row of a table about a cell. Its values are of the columns' types and in their order.
pub struct Row<'a> {
    table: Table,
    cell: &'a MeasuredCell,
    values: Vec<Value<'a>>,
}

impl<'a> Row<'a> {
    /// Creates a row that has no values yet.
    pub fn new(table: Table, cell: &'a MeasuredCell) -> Self {
        Self { table, cell, values: Vec::new() }
    }

    /// Adds the values of further columns to the row.
    ///
    /// # Errors
    ///
    /// [`ExportError::Value`] when a value does not fit its column.
    pub fn with<R>(
        mut self,
        fields: &'static [Field<R>],
        source: &'a R,
    ) -> Result<Self, ExportError> {
        for Field { column, value } in fields {
            let value = value(source);
            if !fits(column, &value) {
                return Err(ExportError::Value {
                    table: self.table,
                    column: column.name,
                    kind: column.kind.as_str(),
                    cell: self.cell.factors.to_string(),
                    value: text(&value),
                });
            }
            self.values.push(value);
        }
        Ok(self)
    }

    pub fn values(&self) -> &[Value<'a>] {
        &self.values
    }
}

fn fits(column: &Column, value: &Value<'_>) -> bool {
    match (column.kind, value) {
        (_, Value::Absent) => column.optional,
        (Kind::I64, Value::I64(number)) => i64::try_from(*number).is_ok(),
        (Kind::F64, Value::F64(number)) => number.is_finite(),
        (Kind::Utf8, Value::Utf8(_))
        | (Kind::U32, Value::U32(_))
        | (Kind::Bool, Value::Bool(_)) => true,
        _ => false,
    }
}

/// Returns the value in the form of CSV.
pub fn text(value: &Value<'_>) -> String {
    match value {
        Value::Absent => String::new(),
        Value::Utf8(text) => text.clone().into_owned(),
        Value::U32(number) => number.to_string(),
        Value::I64(number) => number.to_string(),
        Value::F64(number) => number.to_string(),
        Value::Bool(flag) => flag.to_string(),
    }
}
