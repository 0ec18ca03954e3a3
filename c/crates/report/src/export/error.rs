use std::io;

use parquet::errors::ParquetError;

use super::Table;

/// Reason why a table cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The table's file cannot be written to.
    #[error("cannot write the table of {table}: {error}")]
    Io {
        /// Table of the file.
        table: Table,
        /// Error of the system.
        error: io::Error,
    },
    /// The recording holds a value that no sound one has.
    #[error("`{column}` of {cell} is {value} in the table of {table}, which is no {kind}")]
    Value {
        /// Table of the value.
        table: Table,
        /// Column of the value.
        column: &'static str,
        /// Type of the column.
        kind: &'static str,
        /// Cell of the value.
        cell: String,
        /// Value, as text.
        value: String,
    },
    /// The table is larger than the format can be.
    #[error("cannot write the table of {table} as Parquet: {error}")]
    Parquet {
        /// Table of the file.
        table: Table,
        /// Error of the writer.
        error: ParquetError,
    },
}

impl ExportError {
    pub(crate) fn csv(table: Table) -> impl Fn(csv::Error) -> Self {
        move |error| {
            let error = match error.into_kind() {
                csv::ErrorKind::Io(error) => error,
                other => io::Error::other(format!("{other:?}")),
            };
            Self::Io { table, error }
        }
    }

    pub(crate) fn parquet(table: Table) -> impl Fn(ParquetError) -> Self {
        move |error| match error {
            ParquetError::External(error) => match error.downcast::<io::Error>() {
                Ok(error) => Self::Io { table, error: *error },
                Err(error) => Self::Parquet { table, error: ParquetError::External(error) },
            },
            error => Self::Parquet { table, error },
        }
    }
}
