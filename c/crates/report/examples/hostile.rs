//! Writes a page of hostile texts, for `npm run test:harmless`:
//! `cargo run -p preemptlab-report --example hostile > PAGE`.

use std::{
    error::Error,
    io::{self, Write},
};

#[path = "../tests/hostile/mod.rs"]
mod hostile;

fn main() -> Result<(), Box<dyn Error>> {
    Ok(io::stdout().write_all(preemptlab_report::page::html(&hostile::data()).as_bytes())?)
}
