//! `preemptlab gate`: is a kernel worse than another?

mod cells;
pub mod options;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use preemptlab_analysis::{
    Compared, Keep,
    gate::{Side, judged},
};
use preemptlab_model::MetricName;
use preemptlab_report::{
    Terminal, gate_github, gate_junit, gate_kcidb, gate_letter, gate_markdown, gate_terminal,
};
use preemptlab_stats::{Gate, GateRule, GateVerdict, Margins, Mechanism};

pub use self::cells::LABELS;
use self::options::{GateArgs, GateForm, GateFormat};
use crate::{
    exit::{self, Failure},
    output::Output,
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
        let gate = decide(args, None, store, output)?;
        told(&gate, &args.forms, output)?;
        Ok(ExitCode::from(code(&gate, args.bisect)))
    });
    result.map_err(|failure| match args.bisect {
        true => Failure { code: failure.code | STOP, ..failure },
        false => failure,
    })
}

/// Returns the decision on two kernels, or on two recordings of one each; where one mechanism is followed, the
/// decision on it.
pub fn decide(
    args: &GateArgs,
    followed: Option<&Mechanism>,
    store: Option<PathBuf>,
    output: &Output,
) -> exit::Result<Gate> {
    let rule = GateRule {
        metrics: args.metrics.iter().map(|name| MetricName::from(name.as_str())).collect(),
        margins: Margins::given(&args.margins),
        followed: followed.cloned(),
        ..GateRule::default()
    };
    let is_recording = |text: &str| preemptlab_recording::exists(Path::new(text));
    match (is_recording(&args.base), is_recording(&args.new)) {
        (true, true) => of_recordings(args, rule, output),
        (false, false) => cells::decide(args, &rule, store, output),
        (is_base, _) => {
            let recording = if is_base { &args.base } else { &args.new };
            Err(exit::unusable(format!(
                "{recording} is a recording and the other is none: name two kernels, or two recordings"
            )))
        }
    }
}

fn of_recordings(args: &GateArgs, rule: GateRule, output: &Output) -> exit::Result<Gate> {
    if args.experiment.is_some() || args.seed.is_some() || !args.preempt.is_empty() {
        let message = "two recordings are compared as they are: leave EXPERIMENT, --seed and --preempt \
                       out";
        return Err(exit::unusable(message));
    }
    let paths = [PathBuf::from(&args.base), PathBuf::from(&args.new)];
    let (compared, notices) = Compared::open(&paths, Keep::Sections, None, None)?;
    output.notices(notices);
    let sides = compared.parts().map(Side::only).collect::<Result<Vec<_>, _>>()?;
    Ok(judged(sides[0], sides[1], rule)?)
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
