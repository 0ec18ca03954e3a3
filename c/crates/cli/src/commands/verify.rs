use std::{path::PathBuf, process::ExitCode};

use clap::Args;
use preemptlab_analysis::{
    available::only_virtual,
    verification::{OfCapsule, Verification, VerifiedCell},
};
use preemptlab_experiment::Recording;
use preemptlab_lab::{Capsule, Config, Lab};
use preemptlab_model::Digest;
use preemptlab_provision::capsule;
use preemptlab_report::{Cell, Column, Table, Tone, View};
use preemptlab_runner::Verdict;

use crate::{
    args::{Format, Machines, formats},
    exit, lab,
    output::Output,
    progress::Shown,
};

/// Check that a recording says the same again, here and now or in another recording
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  preemptlab verify runs/quick --cells 3
  preemptlab verify runs/quick --against /tmp/a
  preemptlab verify quick.capsule
  preemptlab verify runs/smp --sensitivity")]
pub struct Verify {
    /// The recording, or a capsule that `preemptlab util pack` made, which needs no network
    #[arg(value_name = "RUN|CAPSULE")]
    pub recording: PathBuf,
    /// Execute only this number of cells, spread evenly
    #[arg(long, value_name = "N", conflicts_with = "against")]
    pub cells: Option<usize>,
    /// Compare with another recording instead of executing anything
    #[arg(long, value_name = "RUN")]
    pub against: Option<PathBuf>,
    /// Execute the cells of several CPUs with a half and a quarter of their lookahead, and compare what
    /// they measure
    #[arg(long, conflicts_with_all = ["cells", "against"])]
    pub sensitivity: bool,
    /// Execute the QEMU of a capsule although nothing shows that Debian made it
    #[arg(long, conflicts_with = "against")]
    pub trust_qemu: bool,
    /// How to print it
    #[arg(long, default_value = "table", value_parser = formats(Format::TABLES))]
    pub format: Format,
    #[command(flatten)]
    pub machines: Machines,
}

/// End of the refusal of a recording in a machine's own time.
pub const NOT_AGAIN: &str = "can say the same again; compare such recordings instead";

/// Checks that a recording says the same again.
pub fn execute(args: &Verify, config: &Config, output: &Output) -> exit::Result<ExitCode> {
    let shown = Shown::new(output);
    let lab = lab::here(config, Some(&args.machines), &shown);
    if !capsule::may_be_one(&args.recording) {
        if args.trust_qemu {
            return Err(exit::unusable("--trust-qemu is for a capsule, and this is none"));
        }
        return verify(args, &Recording::open(&args.recording)?, &lab, None, output);
    }
    let capsule = Capsule::open(&lab, &args.recording)?;
    if args.against.is_some() {
        return verify(args, capsule.recording(), &lab, None, output);
    }
    let (lab, of) = capsule.lab(&lab, args.trust_qemu)?;
    verify(args, capsule.recording(), &lab, Some(of), output)
}

fn verify(
    args: &Verify,
    recording: &Recording,
    lab: &Lab<'_>,
    of: Option<OfCapsule>,
    output: &Output,
) -> exit::Result<ExitCode> {
    only_virtual(recording, NOT_AGAIN)?;
    if args.sensitivity {
        let comparison = preemptlab_lab::sensitivity(lab, recording)?;
        return output.comparison(&comparison, args.format, View::Overview);
    }
    let verdicts = match &args.against {
        Some(other) => preemptlab_runner::against(recording, &Recording::open(other)?)?,
        None => preemptlab_lab::verify(lab, recording, args.cells)?,
    };
    tell(&verdicts, of, args.format, output)
}

/// Prints the verdicts; the exit code says whether all of it is the same.
pub fn tell(
    verdicts: &[Verdict],
    of: Option<OfCapsule>,
    format: Format,
    output: &Output,
) -> exit::Result<ExitCode> {
    let document = document(verdicts, of);
    output.print(&table(verdicts, &document), format, &document)?;
    if verdicts.is_empty() {
        return Err(exit::unusable("the recording has no finished cell to verify"));
    }
    Ok(ExitCode::from(if document.different > 0 { exit::NO } else { exit::OK }))
}

fn document(verdicts: &[Verdict], of: Option<OfCapsule>) -> Verification {
    let text = |digest: &Result<Digest, String>| match digest {
        Ok(digest) => digest.to_string(),
        Err(reason) => reason.clone(),
    };
    let cell = |verdict: &Verdict| VerifiedCell {
        cell: verdict.factors.to_string(),
        id: verdict.id.to_string(),
        same: verdict.is_same(),
        recorded: text(&verdict.recorded),
        other: text(&verdict.other),
    };
    Verification::new(verdicts.iter().map(cell).collect(), of)
}

fn table(verdicts: &[Verdict], document: &Verification) -> Table {
    let columns = ["cell", "recorded", "other", "verdict"].map(Column::left);
    let mut table = Table::new("Digests", columns);
    let short = |digest: &Result<Digest, String>| match digest {
        Ok(digest) => digest.short(),
        Err(reason) => reason.clone(),
    };
    for verdict in verdicts {
        let (word, tone) =
            if verdict.is_same() { ("same", Tone::Better) } else { ("DIFFERENT", Tone::Worse) };
        table.row([
            Cell::from(verdict.factors.to_string()),
            Cell::from(short(&verdict.recorded)),
            Cell::from(short(&verdict.other)),
            Cell::new(word, tone),
        ]);
    }
    table.notes.push(format!("{} same, {} different.", document.same, document.different));
    if let Some(OfCapsule { packed_by, qemu_signed_in, .. }) = &document.capsule {
        let qemu = match qemu_signed_in.is_empty() {
            true => "nothing shows whose its QEMU is".to_owned(),
            false => {
                format!("Debian's signed lists of {} name its QEMU", qemu_signed_in.join(", "))
            }
        };
        table.notes.push(format!(
            "Everything came out of the capsule, packed by preemptlab {packed_by}; no network was used; {qemu}."
        ));
    }
    table
}
