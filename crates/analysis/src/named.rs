//! Names in the options of `run`, checked before anything is brought here or executed for them.

use preemptlab_experiment::{Experiment, Factors, Recording};
use preemptlab_model::{Distribution, KernelRef, MetricName, Planned, nearest};
use preemptlab_stats::Baseline;

use crate::{Error, Result};

/// Number of configurations that are listed.
const SHOWN: usize = 12;

/// Refuses metrics that no workload has. In virtual time there are those of every instant, too.
///
/// # Errors
///
/// [`Error::Unusable`] with the nearest name.
pub fn check_metrics(metrics: &[String], experiment: &Experiment, is_virtual: bool) -> Result<()> {
    let workloads = experiment.workload.values().map(|workload| workload.metric_names());
    let workloads: Vec<_> = workloads.collect();
    let has_bound = workloads.iter().any(|names| names.has_realtime_wakeups());
    let known: Vec<String> =
        workloads.iter().flat_map(|names| names.iter()).map(ToString::to_string).collect();
    for metric in metrics {
        let name = MetricName::from(metric.as_str());
        let is_of_trace = match name.statistic() {
            Some((Distribution::Delay, statistic)) => MetricName::DELAYS.contains(&statistic),
            // Which programs there are is seen when they run.
            Some((Distribution::Own(of), _)) => of.starts_with("delay."),
            Some((Distribution::Part(_), statistic)) => {
                has_bound && MetricName::DELAYS.contains(&statistic)
            }
            _ => has_bound && MetricName::BOUNDS.contains(&name),
        };
        if is_of_trace && is_virtual || workloads.iter().any(|names| names.contains(&name)) {
            continue;
        }
        let hint = match nearest(metric, known.iter().map(String::as_str)) {
            _ if is_of_trace => "; only virtual time has it: leave --backend out".to_owned(),
            Some(nearest) => format!("; did you mean `{nearest}`?"),
            None => "; `preemptlab compare RUN --all` shows those of a recording".to_owned(),
        };
        return Err(no_metric(metric, &hint));
    }
    Ok(())
}

/// Returns the error of a metric that no workload has.
pub(crate) fn no_metric(metric: &str, hint: &str) -> Error {
    Error::Unusable(format!("no workload has the metric `{}`{hint}", metric.escape_debug()))
}

/// Puts the kernel's name in the place of its label, in the name of a configuration: `base/full` is
/// `debian:6.12/full`.
pub fn unlabelled<'a>(name: &str, factors: impl IntoIterator<Item = &'a Factors>) -> String {
    let kernel = name.split_once('/').and_then(|(label, rest)| {
        let mut factors = factors.into_iter();
        Some((factors.find_map(|factors| factors.labelled(label.trim()))?, rest))
    });
    match kernel {
        Some((kernel, rest)) => format!("{kernel}/{rest}"),
        None => name.to_owned(),
    }
}

/// Refuses a baseline that is not a configuration of the experiment.
///
/// # Errors
///
/// [`Error::Unusable`] with the nearest configuration, or with those that there are.
pub fn check_baseline(baseline: &Baseline, experiment: &Experiment) -> Result<()> {
    let factors = &experiment.factors;
    let is_kernel = |kernel: &KernelRef| {
        // Without a release it is the one that runs.
        *kernel == baseline.kernel || kernel.is_running() && baseline.kernel.is_host()
    };
    if factors
        .kernel
        .iter()
        .any(|level| is_kernel(&level.kernel) && factors.modes(level).contains(&baseline.preempt))
        && factors.settings.contains(&baseline.settings)
    {
        return Ok(());
    }
    let mut offered = Vec::new();
    for level in &factors.kernel {
        for settings in &factors.settings {
            offered.extend(factors.modes(level).iter().map(|preempt| {
                let (kernel, settings) = (level.kernel.clone(), settings.clone());
                Baseline { kernel, preempt: *preempt, settings }.to_string()
            }));
        }
    }
    let wanted = baseline.to_string();
    let hint = match nearest(&wanted, offered.iter().map(String::as_str)) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => {
            let more = if offered.len() > SHOWN { ", ..." } else { "" };
            offered.truncate(SHOWN);
            format!("it has {}{more}", offered.join(", "))
        }
    };
    let message = format!("the experiment has no configuration `{wanted}`; {hint}");
    Err(Error::Unusable(message))
}

/// Refuses a baseline none of whose cells can be executed: there would be nothing to compare with.
///
/// # Errors
///
/// [`Error::Unusable`] with the reason why they cannot.
pub fn check_planned(baseline: &Baseline, recording: &Recording) -> Result<()> {
    let mut reason = None;
    for (_, planned) in recording.planned() {
        let of = &planned.factors;
        let is_it = (&of.kernel, of.preempt, &of.settings)
            == (&baseline.kernel, baseline.preempt, &baseline.settings);
        match &planned.planned {
            Planned::Execute(_) if is_it => return Ok(()),
            Planned::Unavailable { reason: why } if is_it => reason = Some(why.as_str()),
            _ => {}
        }
    }
    let reason = reason.unwrap_or("it is not in the plan");
    let message = format!("the baseline `{baseline}` cannot be measured: {reason}");
    Err(Error::Unusable(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn experiment() -> Experiment {
        let text = "format = 1\nname = \"x\"\n[factors]\nkernel = [\"debian:6.12\", \"host\"]\n\
            preempt = [\"none\", \"full\"]\nsettings = [\"\", \"threadirqs\"]\n\
            [workload.a]\nkind = \"pgbench\"\n[workload.b]\nkind = \"cyclictest\"\n";
        Experiment::parse(text).unwrap()
    }

    fn metric(name: &str, is_virtual: bool) -> Result<(), String> {
        let checked = check_metrics(&[name.to_owned()], &experiment(), is_virtual);
        checked.map_err(|error| error.to_string())
    }

    fn baseline(name: &str) -> Result<(), String> {
        let checked = check_baseline(&name.parse().unwrap(), &experiment());
        checked.map_err(|error| error.to_string())
    }

    #[test]
    fn metrics_are_those_of_the_workloads() {
        for name in ["response.p99", "wakeup.fifo.max", "throughput", "kthread.ksoftirqd"] {
            metric(name, false).unwrap();
        }
        assert!(metric("responce.p99", false).unwrap_err().contains("did you mean `response.p99`"));
        assert!(metric("x", false).unwrap_err().contains("compare RUN --all"));
        for name in ["latency.worst", "delay.p99", "delay.worker.max", "wakeup.irq.p99.9"] {
            assert!(metric(name, false).unwrap_err().contains("only virtual time"), "{name}");
            metric(name, true).unwrap();
        }
        assert!(
            metric("latency.p99.5", true).is_err() && metric("wakeup.irq.p99.5", true).is_err()
        );
    }

    #[test]
    fn a_baseline_is_a_configuration() {
        for name in ["debian:6.12/none", "debian:6.12/full threadirqs", "host:6.1.0-37-amd64/full"]
        {
            baseline(name).unwrap();
        }
        let said = baseline("debian:6.12/lazy").unwrap_err();
        assert!(said.contains("the experiment has no configuration `debian:6.12/lazy`"), "{said}");
        assert!(baseline("debian:6.1/none").unwrap_err().contains("did you mean"), "{said}");
        assert!(baseline("debian:6.12/none nohz=off").is_err());
    }
}
