//! Writes the page of a made-up atlas, for `npm run test:atlas` and to look at:
//! `cargo run -p preemptlab-report --features bundle --example atlas_page made-up 30 16 8 > PAGE`. `filled 250 40 24`
//! is the largest that it has to be quick with: 10,000 cells with two sections of 24 parts each.

use std::{
    env,
    error::Error,
    io::{self, Write},
};

use preemptlab_report::page::{atlas_data, atlas_html};

#[path = "../tests/atlas/mod.rs"]
mod atlas;

const USAGE: &str = "usage: atlas_page hostile | made-up LOADS CONFIGURATIONS PARTS | filled LOADS CONFIGURATIONS PARTS";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let (form, numbers) = arguments.split_first().ok_or(USAGE)?;
    let numbers: Vec<usize> = numbers.iter().map(|word| word.parse()).collect::<Result<_, _>>()?;
    let (atlas, recording) = match (&**form, &*numbers) {
        ("hostile", []) => (atlas::hostile(), atlas::HOSTILE),
        ("made-up", &[loads, configurations, parts]) => {
            (atlas::made_up(loads, configurations, parts), "runs/atlas")
        }
        ("filled", &[loads, configurations, parts]) => {
            (atlas::filled(loads, configurations, parts), "runs/atlas")
        }
        _ => return Err(USAGE.into()),
    };
    let (data, details) = atlas_data(&atlas, recording, &[], "preemptlab");
    Ok(io::stdout().write_all(atlas_html(&data, &details).as_bytes())?)
}
