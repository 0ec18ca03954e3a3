//! Names of groups and configurations in tables.

use preemptlab_model::{
    BackendKind, Distribution, Flavour, MetricName, Probe, Statistic, counted, number,
};
use preemptlab_stats::{Configuration, Group, Interval, Summary, Worst};

/// Returns words such as `processes on 2 CPUs`, with the backend unless time is virtual, and with the
/// profile that prices are from.
pub fn group(group: &Group) -> String {
    let place = place(&group.workload, group.cpus);
    match (group.backend, &group.profile) {
        (BackendKind::Vm, None) => place,
        (BackendKind::Vm, Some(profile)) => format!("{place}, prices of {profile}"),
        (backend, _) => format!("{place}, {backend}"),
    }
}

/// Returns words such as `processes on 2 CPUs`.
pub fn place(workload: &str, cpus: u32) -> String {
    format!("{workload} on {}", counted(cpus, "CPU"))
}

/// Returns the kernel with its settings, with the recording where there are several, and with `rt`
/// where its name does not tell.
pub fn kernel(configuration: &Configuration) -> String {
    let Configuration { run, kernel, rt, settings, label, .. } = configuration;
    let run = run.as_ref().map(|run| format!("{run}: ")).unwrap_or_default();
    let named = kernel.flavour() == Some(Flavour::Rt);
    let rt = if *rt == Some(true) && !named { ", PREEMPT_RT" } else { "" };
    let settings = if settings.is_empty() { String::new() } else { format!(" {settings}") };
    let kernel = match label {
        Some(label) => format!("{label} ({kernel})"),
        None => kernel.to_string(),
    };
    format!("{run}{kernel}{settings}{rt}")
}

/// Returns the configurations of each kernel of each recording with the same settings.
pub fn by_kernel(group: &Group) -> impl Iterator<Item = &[Configuration]> {
    group.configurations.chunk_by(|left, right| {
        (&left.run, &left.kernel, &left.settings) == (&right.run, &right.kernel, &right.settings)
    })
}

/// Returns the mode, with the modes that the kernel ran in if they differ.
pub fn mode(configuration: &Configuration) -> String {
    let Configuration { preempt, observed, .. } = configuration;
    let mut label = preempt.to_string();
    for other in observed.iter().filter(|observed| *observed != preempt) {
        label += &format!(" (ran {other})");
    }
    label
}

/// Returns the missing measurements of one kernel with their reasons, modes with the same reason
/// together: `none, voluntary: unavailable: ...`.
pub fn troubles(of_kernel: &[Configuration]) -> Vec<String> {
    let mut troubles: Vec<(String, Vec<&str>)> = Vec::new();
    for configuration in of_kernel {
        let said = [trouble(configuration), no_events(configuration)];
        let Some(trouble) = said.into_iter().flatten().reduce(|a, b| format!("{a}; {b}")) else {
            continue;
        };
        let mode = configuration.preempt.as_str();
        match troubles.iter_mut().find(|(known, _)| *known == trouble) {
            Some((_, modes)) => modes.push(mode),
            None => troubles.push((trouble, vec![mode])),
        }
    }
    troubles.iter().map(|(trouble, modes)| format!("{}: {trouble}", modes.join(", "))).collect()
}

/// Returns the reason why a configuration has no measurements, or fewer than replicates; `None`
/// when it has all.
pub fn trouble(configuration: &Configuration) -> Option<String> {
    if let Some(reason) = &configuration.unavailable {
        return Some(format!("unavailable: {reason}"));
    }
    let Configuration { missing, replicates, .. } = configuration;
    let missing = (*missing > 0).then(|| format!("{missing} of {replicates} not executed yet"));
    let troubles: Vec<String> = missing.into_iter().chain(failed(configuration)).collect();
    (!troubles.is_empty()).then(|| troubles.join("; "))
}

fn failed(Configuration { failures, replicates, .. }: &Configuration) -> Option<String> {
    let first = failures.first()?;
    let reasons = if failures.iter().all(|failure| failure.reason == first.reason) {
        first.reason.clone()
    } else {
        let each = failures.iter();
        let each = each.map(|failure| format!("#{} {}", failure.replicate, failure.reason));
        each.collect::<Vec<_>>().join("; ")
    };
    Some(format!("{} of {replicates} failed: {reasons}", failures.len()))
}

/// Returns the distributions in which nothing happened: `no events of response in 6 cells`; `None`
/// where something happened in each.
pub fn no_events(configuration: &Configuration) -> Option<String> {
    let none = configuration.samples.iter().filter(|samples| samples.empty > 0);
    let none = none.map(|samples| {
        let of = match samples.are_none() {
            true => counted(samples.cells, "cell"),
            false => format!("{} of {}", samples.empty, counted(samples.cells, "cell")),
        };
        format!("no events of {} in {of}", samples.of)
    });
    let none: Vec<String> = none.collect();
    (!none.is_empty()).then(|| none.join(", "))
}

/// Returns the interval of a median; nothing where there is none.
pub fn interval(interval: Option<Interval>) -> String {
    interval.map(|Interval { low, high }| number::range(low, high)).unwrap_or_default()
}

/// Returns the interval of a ratio; nothing where there is none.
pub fn ratio_interval(summary: &Summary) -> String {
    let interval = summary.effect.and_then(|effect| effect.interval);
    interval.map(|Interval { low, high }| number::ratio_range(low, high)).unwrap_or_default()
}

/// Returns the number of replicates behind the medians of a group: `medians of 3 replicates`.
pub fn replicates(group: &Group) -> String {
    let measured = group.configurations.iter().map(Configuration::measured);
    match measured.max().unwrap_or(0) {
        0 => "no measurements".to_owned(),
        1 => "1 replicate (n=1: no spread)".to_owned(),
        replicates => format!("medians of {replicates} replicates"),
    }
}

/// Returns `× is the ratio to KERNEL/MODE SETTINGS`; `None` without a baseline.
pub fn baseline(group: &Group) -> Option<String> {
    let baseline = group.baseline()?;
    let run = baseline.run.as_ref().map(|run| format!("{run}: ")).unwrap_or_default();
    let name = baseline.name().to_string();
    let name = match &baseline.label {
        Some(label) => name.replacen(&baseline.kernel.to_string(), label, 1),
        None => name,
    };
    Some(format!("× is the ratio to {run}{name}"))
}

/// Says the cause of the worst instant, and the number of sampled wakeups beside it.
pub fn worst(configuration: &Configuration, worst: &Worst) -> String {
    let worst = format!("worst {} us: {}", number::number(worst.us), worst.of);
    let woken = Probe::of_policy(true).filter(|probe| probe.is_woken());
    let mut longest = woken.map(|probe| MetricName::Of(Distribution::Probe(probe), Statistic::Max));
    match longest.find_map(|metric| configuration.samples(&metric)) {
        Some(samples) => format!("{worst}; max of {}", counted(samples.count, "sampled wakeup")),
        None => worst,
    }
}
