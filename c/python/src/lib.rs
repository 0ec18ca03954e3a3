//! The native module of the Python package: it gives each table of recordings as the bytes of a Parquet file,
//! which `preemptlab/__init__.py` makes a data frame of. `report::export` defines the tables.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
};

use preemptlab_analysis::{Error, histograms, meant, mixed};
use preemptlab_experiment::Recording;
use preemptlab_model::plain;
use preemptlab_recording::RecordingError as Unreadable;
use preemptlab_report::export::{Table, parquet_in_memory};
use pyo3::{create_exception, exceptions::PyValueError, prelude::*, types::PyBytes};

create_exception!(
    preemptlab,
    RecordingError,
    PyValueError,
    "Reason why recordings cannot be read: no recording, one of a newer format, a damaged one."
);

/// Recordings that were opened. Each table is read when it is asked for.
#[pyclass(frozen, module = "preemptlab._native")]
struct Recordings {
    recordings: Vec<Recording>,
    /// Possible oversights: machines that differ, cells that are in two recordings.
    #[pyo3(get)]
    warnings: Vec<String>,
}

#[pymethods]
impl Recordings {
    /// Opens recordings by the paths of their folders.
    #[new]
    fn new(py: Python<'_>, paths: Vec<PathBuf>) -> PyResult<Self> {
        in_library(py, || {
            histograms::refuse(&paths, "data frames are of cells")?;
            let (recordings, warnings) = mixed::open(&paths)?;
            let warnings = warnings.iter().map(|text| plain::line(text).into_owned()).collect();
            Ok(Self { recordings, warnings })
        })
    }

    /// Reads all cells once, and returns tables of them, by their names, each as the bytes of a Parquet file.
    fn tables<'py>(
        &self,
        py: Python<'py>,
        names: Vec<String>,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let named = |name: &String| {
            let table = Table::ALL.into_iter().find(|table| table.as_str() == name);
            table.ok_or_else(|| Error::unusable(format!("there is no table {name}")))
        };
        let files = in_library(py, || {
            let tables = names.iter().map(named).collect::<Result<Vec<_>, _>>()?;
            parquet_in_memory(&self.recordings, &tables)
        })?;
        Ok(files.iter().map(|file| PyBytes::new(py, file)).collect())
    }
}

/// Calls the library while other threads of Python go on. Its errors become Python's, and so does a panic: pyo3's own
/// `PanicException` is no `Exception`, so that the file of a stranger could end a notebook or a server.
fn in_library<T: Send>(
    py: Python<'_>,
    call: impl FnOnce() -> Result<T, Error> + Send,
) -> PyResult<T> {
    // Nothing that a panic leaves half changed is used again: the call changes nothing.
    let called = py.detach(|| catch_unwind(AssertUnwindSafe(call)));
    let said = match called {
        Ok(Ok(value)) => return Ok(value),
        Ok(Err(Error::Recording(Unreadable::Absent(path) | Unreadable::NotAFolder(path)))) => {
            meant::no_recording(&path)
        }
        Ok(Err(error)) => error.to_string(),
        Err(_) => {
            "the recordings cannot be read, by a defect of preemptlab; please report it with \
                   the message of its panic"
                .to_owned()
        }
    };
    Err(RecordingError::new_err(plain::lines(&said).into_owned()))
}

#[pymodule]
mod _native {
    #[pymodule_export]
    use super::{RecordingError, Recordings};
}
