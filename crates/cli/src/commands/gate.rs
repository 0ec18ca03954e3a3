//! `preemptlab gate`: is a kernel worse than another?

pub mod options;

use std::process::ExitCode;

use preemptlab_lab::{Config, GateExperiment, GateRequest};
use preemptlab_model::MetricName;
use preemptlab_report::{
    Terminal, gate_github, gate_junit, gate_kcidb, gate_letter, gate_markdown, gate_terminal,
};
use preemptlab_stats::{Gate, GateRule, GateVerdict};

use self::options::GateArgs;
use crate::{
    args::{Form, Format, check_forms, gate_margins},
    exit::{self, Failure},
    lab,
    output::{self, Output},
    progress::Shown,
    writable,
};

/// Exit code by which `git bisect run` skips a commit that cannot be tested.
const SKIP: u8 = 125;

/// Added to the code of an error with `--bisect`: `git bisect run` stops there, and does not take an
/// error for a bad commit.
const STOP: u8 = 128;

/// Decides whether a kernel is worse.
pub fn execute(args: &GateArgs, config: &Config, output: &Output) -> exit::Result<ExitCode> {
    let result = check(&args.forms).and_then(|()| {
        let gate = decide(args, config, output)?;
        told(&gate, &args.forms, output)?;
        Ok(ExitCode::from(code(&gate, args.bisect)))
    });
    result.map_err(|failure| match args.bisect {
        true => Failure { code: failure.code | STOP, ..failure },
        false => failure,
    })
}

fn decide(args: &GateArgs, config: &Config, output: &Output) -> exit::Result<Gate> {
    let request = GateRequest {
        base: &args.base,
        new: &args.new,
        experiment: match &args.experiment {
            Some(path) => GateExperiment::File(path),
            None if args.atlas => GateExperiment::Atlas,
            None => GateExperiment::Own,
        },
        rule: GateRule {
            metrics: args.metrics.iter().map(|name| MetricName::from(name.as_str())).collect(),
            margins: gate_margins(&args.margins, config)?,
            ..GateRule::default()
        },
        budget: args.budget,
        preempt: &args.preempt,
        arch: args.guests.arch,
        seed: args.seed,
        trace: !args.no_trace,
        out: args.out.clone(),
    };
    let shown = Shown::new(output);
    let lab = lab::here(config, Some(&args.machines), &shown);
    Ok(preemptlab_lab::gate(&lab, &request)?)
}

/// Refuses forms that cannot all be written, before anything is executed.
fn check(forms: &[Form]) -> exit::Result<()> {
    check_forms(forms)?;
    forms.iter().filter_map(|form| form.file.as_deref()).try_for_each(writable::check)
}

/// Writes each form to its file, and then prints the one that has none.
fn told(gate: &Gate, forms: &[Form], output: &Output) -> exit::Result<()> {
    let plain = Terminal { color: false, ..output.terminal() };
    for Form { format, file } in forms {
        if let Some(file) = file {
            let text = rendered(gate, *format, plain)?;
            let text = preemptlab_model::plain::lines(&text);
            writable::write(file, text.as_bytes(), output)?;
        }
    }
    match forms.iter().find(|form| form.file.is_none()) {
        Some(form) => {
            let text = rendered(gate, form.format, output.terminal())?;
            match form.format {
                Format::Github => output.commands(&text),
                _ => output.data(&text),
            }
            .map(|_| ())
        }
        None => Ok(()),
    }
}

fn rendered(gate: &Gate, format: Format, terminal: Terminal) -> exit::Result<String> {
    Ok(match format {
        Format::Table => gate_terminal(gate, terminal),
        Format::Json => output::json(gate)?,
        Format::Markdown => gate_markdown(gate),
        Format::Junit => gate_junit(gate),
        Format::Github => gate_github(gate),
        Format::Kcidb => gate_kcidb(gate),
        Format::Lkp => gate_letter(gate),
        other => return Err(other.is_not_written()),
    })
}

fn code(gate: &Gate, is_bisect: bool) -> u8 {
    match gate.verdict {
        GateVerdict::NoWorse => exit::OK,
        GateVerdict::Worse if is_bisect && gate.is_untestable() => SKIP,
        GateVerdict::Worse => exit::NO,
        GateVerdict::Undecided if is_bisect => SKIP,
        GateVerdict::Undecided => exit::CELLS_FAILED,
    }
}
