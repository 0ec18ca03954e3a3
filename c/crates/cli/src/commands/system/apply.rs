use std::{
    fmt::Display,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Args, ValueEnum};
use preemptlab_analysis::{Keep, advice};
use preemptlab_lab::Config;
use preemptlab_model::plain::BREAK;
use preemptlab_model::{self as model, CpuList, IsolatedCpus, PreemptMode, Setting};
use preemptlab_system::{
    apply::{self, Journal, Loader, Lock, Machine},
    tune::{self, KernelFacts, Measures, Proposal, Refusal, Settings, Step, Target, Wanted},
};

use super::change::{self, Asked};
use crate::{
    args::{ChangeArgs, QuestionArgs, RuleArgs},
    compared,
    exit::{self, Failure, OrExit},
    output::Output,
};

/// Put settings into force on this machine, after showing what would change
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  sudo preemptlab system apply --preempt full --threadirqs
  sudo preemptlab system apply --nohz-full 2-7 --rcu-nocbs 2-7 --rcu-lazy on
  sudo preemptlab system apply --from runs/quick --require 'wakeup.max<=100us'
  sudo preemptlab system apply --preempt full --dry-run
  preemptlab system apply --preempt full --emit grub

An option that this kernel would ignore is refused, and so is a kernel parameter that is not known
here, unless --allow names it. What works at run time is set at once, the rest
at the next boot. `preemptlab system revert` takes it back; docs/apply.md says what is written where.")]
pub struct Apply {
    #[command(flatten)]
    pub settings: SettingArgs,
    /// The recommended configuration of a recording
    #[arg(long, value_name = "RUN", conflicts_with = "settings")]
    pub from: Option<PathBuf>,
    /// Let through a kernel parameter, or a scheduler feature as sched/features=NAME, that nobody
    /// knows here; the exact word, may be repeated
    #[arg(long = "allow", value_name = "WORD")]
    pub allowed: Vec<String>,
    #[command(flatten, next_help_heading = "With --from")]
    pub question: QuestionArgs,
    #[command(flatten, next_help_heading = "With --from")]
    pub rule: RuleArgs,
    /// Only print what a boot loader or a service is to be told
    #[arg(long, value_name = "TARGET", conflicts_with = "yes")]
    pub emit: Option<EmitTarget>,
    /// Only show what would change, and change nothing
    #[arg(long, conflicts_with_all = ["emit", "yes"])]
    pub dry_run: bool,
    /// Leave out what this kernel would ignore, and say why, instead of refusing all of it
    #[arg(long)]
    pub skip_ignored: bool,
    #[command(flatten)]
    pub change: ChangeArgs,
}

/// Settings of a machine, one by one.
#[derive(Args, Debug)]
#[group(id = "settings", multiple = true)]
pub struct SettingArgs {
    /// The preemption mode: none, voluntary, full or lazy
    #[arg(long, value_name = "MODE")]
    pub preempt: Option<PreemptMode>,
    /// CPUs without a tick while they have one task, such as 2-7
    #[arg(long, value_name = "CPUS")]
    pub nohz_full: Option<CpuList>,
    /// CPUs whose RCU callbacks are invoked elsewhere, such as 2-7 or all
    #[arg(long, value_name = "CPUS")]
    pub rcu_nocbs: Option<CpuList>,
    /// Delay RCU callbacks of those CPUs to save power
    #[arg(long, value_name = "WHETHER")]
    pub rcu_lazy: Option<Whether>,
    /// Interrupt handlers in threads
    #[arg(long)]
    pub threadirqs: bool,
    /// CPUs that the scheduler leaves alone, such as 6,7 or managed_irq,domain,6-7
    #[arg(long, value_name = "CPUS")]
    pub isolcpus: Option<IsolatedCpus>,
    /// Ticks of different CPUs at different times
    #[arg(long)]
    pub skew_tick: bool,
    /// The fair scheduler's base slice, in nanoseconds
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub base_slice_ns: Option<u32>,
    /// A scheduler feature, on or, as NO_NAME, off; may be repeated
    #[arg(long = "sched-feature", value_name = "NAME")]
    pub sched_features: Vec<String>,
    /// A sysctl; may be repeated
    #[arg(long = "sysctl", value_name = "NAME=VALUE")]
    pub sysctls: Vec<String>,
    /// Another kernel parameter; may be repeated
    #[arg(long = "parameter", value_name = "WORD")]
    pub parameters: Vec<Setting>,
}

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Whether {
    /// On
    On,
    /// Off
    Off,
}

/// The forms in which settings can be printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EmitTarget {
    /// A drop-in for GRUB
    Grub,
    /// The words for systemd-boot's entries
    SystemdBoot,
    /// A profile of tuned
    Tuned,
    /// A file of sysctl.d, for those that are sysctls
    Sysctl,
    /// A shell script that does all of it without preemptlab
    Script,
}

/// Puts settings into force.
pub fn execute(args: &Apply, config: &Config, output: &Output) -> exit::Result<ExitCode> {
    let Proposal { mut settings, refused: not_given } = match &args.from {
        Some(run) => recommended(run, args, config, output)?,
        None if args.question.is_asked() || args.rule.is_given() => {
            let message = "--require, --maximize, --minimize, --baseline and --margin are about a \
                           recording: add --from RUN";
            return Err(exit::unusable(message));
        }
        None => given(args)?,
    };
    if !not_given.is_empty() {
        return Err(refusal("no machine is given this unasked", &not_given));
    }
    if settings.is_empty() {
        let message = "nothing is asked for; `preemptlab system apply --help` lists the settings";
        return Err(exit::unusable(message));
    }
    if let Some(target) = args.emit {
        return emit(&settings, target, &args.allowed, output);
    }
    let machine = Machine::at(&args.change.root);
    machine.may_be_changed("apply")?;
    let loader = Loader::find(&machine)?;
    let _lock = Lock::take(&machine)?;
    let journal = Journal::load(&machine)?;
    if args.dry_run && journal.pending.is_some() {
        let message = "an interrupted change of this machine has to be put back first: \
                       `preemptlab system revert` does it";
        return Err(exit::unusable(message));
    }
    let Some(journal) = change::completed(&machine, journal, &args.change, output)? else {
        return Ok(ExitCode::from(exit::UNUSABLE));
    };
    let refused =
        |settings: &Settings| refused(&machine, &loader, &journal, settings, &args.allowed, output);
    while let Some(refusals) = refused(&settings)? {
        if !args.skip_ignored {
            return Err(refusal("this would not do what it says", &refusals));
        }
        let mut is_left_out = false;
        for refusal in &refusals {
            let before = settings.clone();
            settings.leave_out(&refusal.setting);
            if settings != before {
                output.note(format!("Left out: {refusal}."));
                is_left_out = true;
            }
        }
        // Nothing says which settings of a too long line to leave out.
        if !is_left_out {
            return Err(refusal("this would not do what it says", &refusals));
        }
    }
    if settings.is_empty() {
        return Err(exit::unusable("this kernel would ignore all of it"));
    }
    let plan = apply::apply(&machine, &loader, &journal, &settings)?;
    if plan.is_empty() {
        output.note("There is nothing to do: these settings are applied already.");
        return Ok(ExitCode::from(exit::OK));
    }
    change::show(&plan, output)?;
    if args.dry_run {
        output.note("Nothing was changed: --dry-run only shows what would be.");
        return Ok(ExitCode::from(exit::OK));
    }
    match change::ask("Apply this?", &args.change, output) {
        Asked::No => return Ok(ExitCode::from(exit::UNUSABLE)),
        Asked::Yes => {}
    }
    apply::commit(&machine, &journal, &plan.transaction)?;
    output.note(match plan.needs_boot() {
        true => {
            "Applied. The kernel takes its parameters at the next boot; `sudo preemptlab system show` \
             then says whether each took effect, and `sudo preemptlab system revert` takes all of it back."
        }
        false => "Applied. `sudo preemptlab system revert` takes it back.",
    });
    Ok(ExitCode::from(exit::OK))
}

/// Returns the failure of settings of which some are refused.
fn refusal(why: &str, refusals: &[Refusal]) -> Failure {
    let lines: String = refusals
        .iter()
        .map(|refusal| {
            // Each is a line, whatever words are in it.
            format!("{BREAK}{refusal}")
        })
        .collect();
    exit::unusable(format!("nothing was changed, since {why}:{lines}"))
}

/// Names the settings that the kernel would ignore; `None` if it ignores nothing.
fn refused(
    machine: &Machine,
    loader: &Loader,
    journal: &Journal,
    settings: &Settings,
    allowed: &[String],
    output: &Output,
) -> exit::Result<Option<Vec<Refusal>>> {
    let facts = apply::facts(machine, loader, journal, settings)?;
    let findings = tune::check(settings, &facts, allowed);
    if findings.refusals.is_empty() {
        for note in findings.notes {
            output.note(note);
        }
        return Ok(None);
    }
    Ok(Some(findings.refusals))
}

/// Returns the settings of the options.
fn given(apply: &Apply) -> exit::Result<Proposal> {
    let args = &apply.settings;
    let parameter =
        |name: &str, value: Option<&dyn Display>| value.map(|value| format!("{name}={value}"));
    let nohz_full = args.nohz_full.as_ref().map(|list| list as &dyn Display);
    let rcu_nocbs = args.rcu_nocbs.as_ref().map(|list| list as &dyn Display);
    let isolcpus = args.isolcpus.as_ref().map(|list| list as &dyn Display);
    let lazy = args.rcu_lazy.map(|whether| u8::from(whether == Whether::On));
    let words = [
        parameter("nohz_full", nohz_full),
        parameter("rcu_nocbs", rcu_nocbs),
        lazy.map(|value| format!("rcutree.enable_rcu_lazy={value}")),
        args.threadirqs.then(|| "threadirqs".to_owned()),
        parameter("isolcpus", isolcpus),
        args.skew_tick.then(|| "skew_tick=1".to_owned()),
        args.base_slice_ns.map(|ns| format!("sched/base_slice_ns={ns}")),
    ];
    let words = words.into_iter().flatten();
    let words =
        words.chain(args.sched_features.iter().map(|name| format!("sched/features={name}")));
    let words = words.chain(args.sysctls.iter().map(|sysctl| format!("sysctl.{sysctl}")));
    let mut settings = words
        .map(|word| word.parse::<Setting>())
        .collect::<Result<Vec<_>, _>>()
        .or_exit(exit::UNUSABLE)?;
    settings.extend(args.parameters.iter().cloned());
    // Read again together, so that no switch is there twice.
    let texts: Vec<String> = settings.iter().map(ToString::to_string).collect();
    let settings: model::Settings = texts.join(" ").parse().or_exit(exit::UNUSABLE)?;
    let unused = apply.allowed.iter().find(|word| !texts.contains(word));
    if let Some(word) = unused {
        return Err(advice::allows_nothing(word).into());
    }
    Ok(Settings::new(&Wanted {
        kernel: None,
        preempt: args.preempt,
        cmdline: &[],
        settings: &settings,
        allowed: &apply.allowed,
    }))
}

/// Returns the settings that a recording recommends, if the recommendation is decided.
fn recommended(
    run: &Path,
    args: &Apply,
    config: &Config,
    output: &Output,
) -> exit::Result<Proposal> {
    let compared = compared::open(&[run.to_owned()], Keep::Metrics, &args.rule, config, output)?;
    Ok(advice::proposal(&compared, &args.question.question(), &args.allowed)?)
}

/// Prints the settings for another program. The command reads nothing of this machine. The output
/// is a file, for a shell or a parser: everything else is a comment in it.
fn emit(
    settings: &Settings,
    target: EmitTarget,
    allowed: &[String],
    output: &Output,
) -> exit::Result<ExitCode> {
    let target = match target {
        EmitTarget::Grub => Target::Grub,
        EmitTarget::SystemdBoot => Target::SystemdBoot,
        EmitTarget::Tuned => Target::Tuned,
        EmitTarget::Sysctl => Target::Sysctl,
        EmitTarget::Script => Target::Script,
    };
    let release = settings.release().unwrap_or_default().to_owned();
    let facts = KernelFacts { release, ..KernelFacts::default() };
    let findings = tune::check(settings, &facts, allowed);
    if !findings.refusals.is_empty() {
        return Err(refusal("this would not do what it says", &findings.refusals));
    }
    let Measures { steps, notes, elsewhere } = tune::emit(settings, target);
    if steps.is_empty() {
        let lines: String = elsewhere.iter().map(|line| format!("\n{line}")).collect();
        let message = format!("none of it is for {target}:{lines}");
        return Err(exit::unusable(message));
    }
    let elsewhere = elsewhere.iter().map(|line| format!("# {line}\n"));
    let steps = steps.iter().map(|step| match step {
        Step::Write { content, .. } if target == Target::Script => content.clone(),
        Step::Write { path, content, .. } => format!("# {path}\n{content}"),
        Step::Add { path, words } => {
            format!("# At the end of the line of {path}\n{}\n", words.join(" "))
        }
        Step::Run(command) => format!("# Then, as root: {command}\n"),
    });
    let text: String = elsewhere.chain(steps).collect();
    for note in notes {
        output.note(note);
    }
    output.data(&text)
}
