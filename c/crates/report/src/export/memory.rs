//! Tables in memory, for programs that read them at once.

use preemptlab_analysis::{Error, Keep};
use preemptlab_experiment::Recording;

use super::{
    ExportError,
    recorded::{for_each_exported, names},
    table::{Format, Table},
    writer::Export,
};

/// Reads every cell of recordings once, and returns tables of them, each as the bytes of a Parquet file.
///
/// # Errors
///
/// Where a recording cannot be read, two have one name, or a value does not fit its column.
pub fn parquet_in_memory(
    recordings: &[Recording],
    tables: &[Table],
) -> Result<Vec<Vec<u8>>, Error> {
    let unwritten = |error: ExportError| Error::Unusable(error.to_string());
    let names = names(recordings)?;
    let keep = match tables.contains(&Table::Sections) {
        true => Keep::Sections,
        false => Keep::Metrics,
    };
    let mut files = vec![Vec::new(); tables.len()];
    let begun = tables.iter().copied().zip(files.iter_mut());
    let mut export = Export::new(Format::Parquet, begun).map_err(unwritten)?;
    for_each_exported(recordings, &names, keep, |cell| export.write(&cell).map_err(unwritten))?;
    export.finish().map_err(unwritten)?;
    Ok(files)
}
