//! `preemptlab gate`: is a kernel worse than another?

pub mod options;

use std::{path::PathBuf, process::ExitCode};

use preemptlab_lab::GateRequest;
use preemptlab_model::MetricName;
use preemptlab_report::{
    Terminal, gate_github, gate_junit, gate_kcidb, gate_letter, gate_markdown, gate_terminal,
};
use preemptlab_stats::{Gate, GateRule, GateVerdict, Margins};

use self::options::{GateArgs, GateForm, GateFormat};
use crate::{
    exit::{self, Failure, OrExit},
    lab,
    output::Output,
    progress::Shown,
    writable,
};

/// What `git bisect run` takes for "this commit cannot be tested".
const SKIP: u8 = 125;

/// Added to the code of an error with `--bisect`: `git bisect run` stops there, and does not take an
/// error for a bad commit.
const STOP: u8 = 128;

/// Decides whether a kernel is worse.
pub fn execute(args: &GateArgs, store: Option<PathBuf>, output: &Output) -> exit::Result<ExitCode> {
    let result = check_forms(&args.forms).and_then(|()| {
        let gate = decide(args, store, output)?;
        told(&gate, &args.forms, output)?;
        Ok(ExitCode::from(code(&gate, args.bisect)))
    });
    result.map_err(|failure| match args.bisect {
        true => Failure { code: failure.code | STOP, ..failure },
        false => failure,
    })
}

fn decide(args: &GateArgs, store: Option<PathBuf>, output: &Output) -> exit::Result<Gate> {
    let request = GateRequest {
        base: &args.base,
        new: &args.new,
        experiment: args.experiment.as_deref(),
        rule: GateRule {
            metrics: args.metrics.iter().map(|name| MetricName::from(name.as_str())).collect(),
            margins: Margins::gate().with(&args.margins).or_exit(exit::UNUSABLE)?,
            ..GateRule::default()
        },
        budget: args.budget,
        preempt: &args.preempt,
        seed: args.seed,
        trace: !args.no_trace,
        out: args.out.clone(),
    };
    let shown = Shown::new(output);
    let lab = lab::here(store, Some(&args.machines), &args.packages, &shown);
    Ok(preemptlab_lab::gate(&lab, &request)?)
}

/// Refuses forms that cannot all be written, before anything is executed.
fn check_forms(forms: &[GateForm]) -> exit::Result<()> {
    if forms.iter().filter(|form| form.file.is_none()).count() > 1 {
        return Err(exit::unusable(
            "two formats go to standard output: give one of them a file, as in --format junit=gate.xml",
        ));
    }
    for (at, file) in
        forms.iter().enumerate().filter_map(|(at, form)| Some((at, form.file.as_ref()?)))
    {
        if forms[..at].iter().any(|other| other.file.as_ref() == Some(file)) {
            let message = format!("two formats go to {}: give each a file", file.display());
            return Err(exit::unusable(message));
        }
        writable::check(file)?;
    }
    Ok(())
}

/// Writes each form to its file, and then prints the one that has none.
fn told(gate: &Gate, forms: &[GateForm], output: &Output) -> exit::Result<()> {
    let plain = Terminal { color: false, ..output.terminal() };
    for GateForm { format, file } in forms {
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
                GateFormat::Github => output.commands(&text),
                _ => output.data(&text),
            }
            .map(|_| ())
        }
        None => Ok(()),
    }
}

fn rendered(gate: &Gate, format: GateFormat, terminal: Terminal) -> exit::Result<String> {
    Ok(match format {
        GateFormat::Table => gate_terminal(gate, terminal),
        GateFormat::Json => {
            let json = serde_json::to_string_pretty(gate);
            let json = json.map_err(exit::host)?;
            preemptlab_model::plain::json(&json).into_owned()
        }
        GateFormat::Markdown => gate_markdown(gate),
        GateFormat::Junit => gate_junit(gate),
        GateFormat::Github => gate_github(gate),
        GateFormat::Kcidb => gate_kcidb(gate),
        GateFormat::Lkp => gate_letter(gate),
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
