use std::io;

use parquet::errors::ParquetError;

use crate::Table;

/// Why a table cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// Its file cannot be written to.
    #[error("cannot write the table of {table}: {error}")]
    Io {
        /// The table.
        table: Table,
        /// What the system said.
        error: io::Error,
    },
    /// The recording holds what no sound one does.
    #[error("`{column}` of {cell} is {value} in the table of {table}, which is no {kind}")]
    Value {
        /// The table.
        table: Table,
        /// The column.
        column: &'static str,
        /// The column's type.
        kind: &'static str,
        /// The cell.
        cell: String,
        /// What it holds.
        value: String,
    },
    /// The table is larger than the format can be.
    #[error("cannot write the table of {table} as Parquet: {error}")]
    Parquet {
        /// The table.
        table: Table,
        /// What the writer said.
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
