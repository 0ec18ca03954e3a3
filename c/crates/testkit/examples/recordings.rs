//! Writes recordings for tests in other languages into a folder: `traced`, `troubled`, `newer`.

use std::{env, error::Error, fs, path::PathBuf};

use preemptlab_testkit::{
    recorded::{Cell, TWO_MODES, record},
    traced::Traced,
};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(env::args_os().nth(1).ok_or("name a folder")?);
    fs::create_dir_all(&folder)?;
    // Four cells, some of which have findings.
    Traced::new(&folder.join("traced"));
    // Ten cells: one failed, one was not executed.
    record(&folder.join("troubled"), TWO_MODES, |mode, replicate| match (mode, replicate) {
        ("none", 1) => Cell::Failed,
        ("full", 2) => Cell::Missing,
        _ => Cell::Later(replicate.into()),
    });
    fs::create_dir(folder.join("newer"))?;
    fs::write(folder.join("newer/recording.json"), r#"{"format": 99, "future": true}"#)?;
    Ok(())
}
