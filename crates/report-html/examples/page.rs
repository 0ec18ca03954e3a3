//! Makes a page of data in JSON: `cargo run -p preemptlab-report-html --example page < DATA > PAGE`.

use std::{
    error::Error,
    io::{self, Write},
};

fn main() -> Result<(), Box<dyn Error>> {
    let data = serde_json::from_reader(io::stdin().lock())?;
    Ok(io::stdout().write_all(preemptlab_report_html::html(&data).as_bytes())?)
}
