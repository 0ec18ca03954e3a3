use std::fmt;

use super::{
    Column,
    fields::{BUCKET, CELL, FACTORS, Field, INSTANTS, METRIC, SECTION},
};

/// A table of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// Table with one row per cell of the plan.
    Cells,
    /// Table with one row per completed cell and metric.
    Metrics,
    /// Table with one row per completed cell, probe and bucket.
    Histograms,
    /// Table with one row per completed cell and latency of the curve of its instants.
    Instants,
    /// Table with one row per completed cell, function and kind of section.
    Sections,
}

impl Table {
    /// Every table.
    pub const ALL: [Self; 5] =
        [Self::Cells, Self::Metrics, Self::Histograms, Self::Instants, Self::Sections];

    /// Returns the name of the table and of its file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cells => "cells",
            Self::Metrics => "metrics",
            Self::Histograms => "histograms",
            Self::Instants => "instants",
            Self::Sections => "sections",
        }
    }

    /// Returns a sentence that describes the rows.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Cells => "One row per cell of the plan, whatever became of it.",
            Self::Metrics => "One row per completed cell and metric.",
            Self::Histograms => {
                "One row per completed cell, probe and bucket of its histogram that is not empty."
            }
            Self::Instants => {
                "One row per completed cell and latency: how much of the time a real-time task that \
                 becomes due would be later."
            }
            Self::Sections => {
                "One row per completed cell, function and kind of section in which a real-time task \
                 has to wait, the longest first."
            }
        }
    }

    /// Returns the columns, in their order.
    pub fn columns(self) -> Vec<Column> {
        fn columns<R>(fields: &[Field<R>]) -> impl Iterator<Item = Column> {
            fields.iter().map(|field| field.column)
        }
        let factors = columns(&FACTORS);
        match self {
            Self::Cells => factors.chain(columns(&CELL)).collect(),
            Self::Metrics => factors.chain(columns(&METRIC)).collect(),
            Self::Histograms => factors.chain(columns(&BUCKET)).collect(),
            Self::Instants => factors.chain(columns(&INSTANTS)).collect(),
            Self::Sections => factors.chain(columns(&SECTION)).collect(),
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The form of a table's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// RFC 4180 with line feeds, the names of the columns in the first line.
    Csv,
    /// Apache Parquet.
    Parquet,
}

impl Format {
    /// Returns the extension of the files' names.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Parquet => "parquet",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_table_has_two_columns_of_one_name() {
        for table in Table::ALL {
            let columns = table.columns();
            let names: BTreeSet<_> = columns.iter().map(|column| column.name).collect();
            assert_eq!(names.len(), columns.len(), "{table}");
        }
    }

    #[test]
    fn every_table_says_whose_its_rows_are_in_the_same_columns() {
        let factors = &Table::Cells.columns()[..FACTORS.len()];
        for table in Table::ALL {
            assert_eq!(&table.columns()[..FACTORS.len()], factors);
        }
    }
}
