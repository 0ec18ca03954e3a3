//! `preemptlab compare`: configurations of recordings beside each other, or kernels one after the other.

mod fidelity;
mod history;
pub mod options;
mod page;

use std::{path::Path, process::ExitCode};

use preemptlab_analysis::{Compared, Keep, results};
use preemptlab_lab::Config;
use preemptlab_report::{
    LatencyCurves, View, curves_svg, curves_terminal, file_names, page::latency_curves,
};
use preemptlab_stats::Comparison;

use self::options::{By, Compare, Ending, too_many};
use crate::{
    args::refuse,
    compared::open,
    exit::{self, OrExit},
    output::Output,
    writable,
};

/// Compares recordings.
pub fn execute(args: &Compare, config: &Config, output: &Output) -> exit::Result<ExitCode> {
    if let Some(results) = results::open(&args.recordings)? {
        return fidelity::execute(args, &results, output);
    }
    match (args.by, &args.out) {
        (By::Kernel, _) => history::execute(args, config, output),
        (By::Configuration, Some(out)) if args.template.is_none() => match Ending::of(out)? {
            Ending::Html => page::execute(args, Some(page::Form::Page), config, output),
            Ending::Markdown => page::execute(args, Some(page::Form::Letter), config, output),
            Ending::Svg => draw_one(args, out, config, output),
            Ending::Toml => fidelity::write(args, out, output),
        },
        (By::Configuration, _) if args.template.is_some() => {
            page::execute(args, None, config, output)
        }
        (By::Configuration, _) if args.question.is_asked() => Err(exit::unusable(
            "a page or a letter answers --require, --maximize, --minimize and --among: add -o report.html or \
             -o letter.md, or ask `preemptlab recommend`",
        )),
        (By::Configuration, _) => show(args, config, output),
    }
}

/// Shows the tables.
fn show(args: &Compare, config: &Config, output: &Output) -> exit::Result<ExitCode> {
    refuse(&[(args.picture && args.format.is_some(), "--format")], "--picture is for a terminal")?;
    let is_pictured = args.picture || args.svg.is_some();
    let keep = if is_pictured { Keep::Distributions } else { Keep::Metrics };
    let compared = open(&args.recordings, keep, &args.rule, config, output)?;
    let (mut comparison, pictures) = match is_pictured {
        true => pictured(&compared)?,
        false => (compared.comparison()?, Vec::new()),
    };
    if let Some(folder) = &args.svg {
        let names = file_names(pictures.iter().map(|(workload, _)| &**workload));
        let drawn = pictures.iter().map(|(_, curves)| curves_svg(curves));
        let files = names.into_iter().map(|name| format!("{name}.svg"));
        writable::write_pictures(folder, files.zip(drawn), output)?;
    }
    if !args.metrics.is_empty() {
        comparison = comparison.only(&args.metrics).or_exit(exit::UNUSABLE)?;
    }
    let view = if args.all { View::Details } else { View::Overview };
    let code = output.comparison(&comparison, args.format(), view)?;
    if args.picture {
        let drawn =
            pictures.iter().map(|(_, curves)| curves_terminal(curves, output.terminal().width));
        return output.data(&format!("\n{}", drawn.collect::<Vec<_>>().join("\n")));
    }
    Ok(code)
}

/// Draws the latencies of the only workload at every instant into a file.
fn draw_one(
    args: &Compare,
    out: &Path,
    config: &Config,
    output: &Output,
) -> exit::Result<ExitCode> {
    args.check_file("a picture is drawn alone")?;
    refuse(
        &[(args.question.is_asked(), "--require and the like")],
        "a picture answers no question",
    )?;
    writable::check(out)?;
    let compared = open(&args.recordings, Keep::Distributions, &args.rule, config, output)?;
    match &*pictured(&compared)?.1 {
        [(_, curves)] => writable::write(out, curves_svg(curves).as_bytes(), output)?,
        several => return Err(too_many(several.len())),
    }
    Ok(ExitCode::from(exit::OK))
}

/// Returns the comparison, and the latencies of each workload at every instant.
fn pictured(compared: &Compared) -> exit::Result<(Comparison, Vec<(String, LatencyCurves)>)> {
    compared.check_recordings("a picture of every instant")?;
    let comparison = compared.comparison()?;
    let curves = latency_curves(compared.cells(), &comparison).into_iter();
    let pictures: Vec<(String, LatencyCurves)> =
        curves.map(|(at, curves)| (comparison.groups[at].workload.clone(), curves)).collect();
    match pictures.is_empty() {
        false => Ok((comparison, pictures)),
        true => Err(exit::unusable(
            "no cell was measured at every instant: that takes virtual time, and a kernel with type \
             information (BTF)",
        )),
    }
}
