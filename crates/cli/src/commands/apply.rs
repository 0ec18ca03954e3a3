use std::{fmt::Display, path::Path, process::ExitCode};

use preemptlab_apply::{self as apply, Journal, Loader, Lock, Machine};
use preemptlab_model::{self as model, Setting};
use preemptlab_stats::Certainty;
use preemptlab_tune::{
    self as tune, KernelFacts, Measures, Proposal, Refusal, Settings, Step, Target, Wanted,
};

use crate::{
    args::{Apply, EmitTarget, Whether},
    commands::{
        change::{self, Asked},
        compare::Compared,
        recommend,
    },
    exit::{self, Failure, OrExit},
    measured,
    output::Output,
    session::recording_failure,
};

/// Puts settings into force.
pub fn execute(args: &Apply, output: &Output) -> exit::Result<ExitCode> {
    let Proposal { mut settings, refused: not_given } = match &args.from {
        Some(run) => recommended(run, args, output)?,
        None if asks(args) => {
            let message = "--require, --maximize, --minimize, --baseline and --margin are about a \
                           recording: add --from RUN";
            return Err(exit::failure(exit::UNUSABLE, message));
        }
        None => given(args)?,
    };
    if !not_given.is_empty() {
        return Err(refusal("no machine is given this unasked", &not_given));
    }
    if settings.is_empty() {
        let message = "nothing is asked for; `preemptlab apply --help` lists the settings";
        return Err(exit::failure(exit::UNUSABLE, message));
    }
    if let Some(target) = args.emit {
        return emit(&settings, target, &args.allowed, output);
    }
    let machine = Machine::at(&args.change.root);
    machine.may_be_changed("apply").map_err(change::failure)?;
    let loader = Loader::find(&machine).map_err(change::failure)?;
    let _lock = Lock::take(&machine).map_err(change::failure)?;
    let journal = Journal::load(&machine).map_err(change::failure)?;
    let Some(journal) = change::completed(&machine, journal, &args.change, output)? else {
        return Ok(ExitCode::from(exit::UNUSABLE));
    };
    let refused =
        |settings: &Settings| refused(&machine, &loader, &journal, settings, &args.allowed, output);
    while let Some(refusals) = refused(&settings)? {
        if !args.skip_ignored {
            return Err(refusal("this would not do what it says", &refusals));
        }
        for refusal in &refusals {
            output.note(format!("Left out: {refusal}."));
            settings.leave_out(&refusal.setting);
        }
    }
    if settings.is_empty() {
        return Err(exit::failure(exit::UNUSABLE, "this kernel would ignore all of it"));
    }
    let plan = apply::apply(&machine, &loader, &journal, &settings).map_err(change::failure)?;
    if plan.is_empty() {
        output.note("There is nothing to do: these settings are applied already.");
        return Ok(ExitCode::from(exit::OK));
    }
    change::show(&plan, output)?;
    match change::ask("Apply this?", &args.change, output) {
        Asked::No => return Ok(ExitCode::from(exit::UNUSABLE)),
        Asked::Yes => {}
    }
    apply::commit(&machine, &journal, &plan.transaction).map_err(change::failure)?;
    output.note(match plan.needs_boot() {
        true => {
            "Applied. The kernel takes its parameters at the next boot; `sudo preemptlab doctor` \
             then says whether each took effect, and `sudo preemptlab revert` takes all of it back."
        }
        false => "Applied. `sudo preemptlab revert` takes it back.",
    });
    Ok(ExitCode::from(exit::OK))
}

/// Whether something is asked of a recording.
fn asks(args: &Apply) -> bool {
    let Apply { question, rule, .. } = args;
    !question.requirements.is_empty()
        || question.maximize.is_some()
        || question.minimize.is_some()
        || rule.baseline.is_some()
        || rule.margin.is_some()
}

/// The failure of settings of which some are refused.
fn refusal(why: &str, refusals: &[Refusal]) -> Failure {
    let lines: String = refusals.iter().map(|refusal| format!("\n{refusal}")).collect();
    exit::failure(exit::UNUSABLE, format!("nothing was changed, since {why}:{lines}"))
}

/// What the kernel would ignore; `None` if that is nothing.
fn refused(
    machine: &Machine,
    loader: &Loader,
    journal: &Journal,
    settings: &Settings,
    allowed: &[String],
    output: &Output,
) -> exit::Result<Option<Vec<Refusal>>> {
    let facts = apply::facts(machine, loader, journal, settings).map_err(change::failure)?;
    let findings = tune::check(settings, &facts, allowed);
    if findings.refusals.is_empty() {
        for note in findings.notes {
            output.note(note);
        }
        return Ok(None);
    }
    Ok(Some(findings.refusals))
}

/// The settings of the options.
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
        return Err(allows_nothing(word));
    }
    Ok(Settings::new(&Wanted {
        kernel: None,
        preempt: args.preempt,
        cmdline: &[],
        settings: &settings,
        allowed: &apply.allowed,
    }))
}

/// The settings of what a recording recommends, if it is decided.
fn recommended(run: &Path, args: &Apply, output: &Output) -> exit::Result<Proposal> {
    let compared = Compared::open(&[run.to_owned()], &args.rule, output)?;
    let cells = measured::cells(&compared.recordings()).map_err(recording_failure)?;
    let question = recommend::question(&args.question);
    let recommendation =
        preemptlab_stats::recommend(&cells, compared.rule(), &question).or_exit(exit::UNUSABLE)?;
    let run = run.display();
    let Some(choice) = &recommendation.choice else {
        let message = format!(
            "no configuration of {run} satisfies every requirement; `preemptlab recommend {run}` \
             with the same options says what comes closest"
        );
        return Err(exit::failure(exit::NO, message));
    };
    let recordings = compared.recordings();
    let advice = recommend::advice(&recommendation, &recordings, compared.rule(), &args.allowed);
    if let Certainty::Undecided { .. } = choice.certainty() {
        let next = match advice.next {
            Some(next) => format!("; this decides it: {next}"),
            None => String::new(),
        };
        let message = format!(
            "{run} does not decide between its best configurations{next}; or choose one of those \
             that `preemptlab recommend {run}` lists, with --preempt and the other options"
        );
        return Err(exit::failure(exit::NO, message));
    }
    match advice.settings {
        Some(Ok(proposal)) => {
            let settings = &proposal.settings;
            let run_time: Vec<String> =
                settings.run_time().iter().map(ToString::to_string).collect();
            let unused =
                |word: &&String| !settings.parameters().contains(word) && !run_time.contains(word);
            match args.allowed.iter().find(unused) {
                Some(word) if proposal.refused.is_empty() => Err(allows_nothing(word)),
                _ => Ok(proposal),
            }
        }
        Some(Err(reason)) => Err(exit::failure(exit::UNUSABLE, reason)),
        None => Err(exit::failure(exit::UNUSABLE, format!("{run} does not say what it ran"))),
    }
}

/// The failure of an `--allow` that no word needs: it may be misspelt.
fn allows_nothing(word: &str) -> Failure {
    let message = format!("--allow {}: nothing of what is asked for is that", word.escape_debug());
    exit::failure(exit::UNUSABLE, message)
}

/// Prints what something else is to be told. Nothing of this machine is looked at. What is printed
/// is a file, for a shell or a parser: whatever is not of the file is a comment in it.
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
        return Err(exit::failure(exit::UNUSABLE, message));
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
