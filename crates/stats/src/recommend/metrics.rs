use preemptlab_model::{
    Direction, Distribution, MetricName, Probe, Statistic, WakeupPart, nearest,
};

use crate::Comparison;

/// A metric of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricKind {
    /// Full name of the metric.
    pub name: MetricName,
    /// Unit of the metric.
    pub unit: String,
    /// Direction in which it is better.
    pub direction: Direction,
}

/// No recording has the metric.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no metric `{name}`{} metrics are {}{}",
    match nearest {
        Some(nearest) => format!("; did you mean `{nearest}`? The"),
        None => "; the".to_owned(),
    },
    known.join(", "),
    where_found(name),
)]
pub struct UnknownMetric {
    /// Name that was asked for.
    pub name: String,
    /// Name that was probably meant.
    pub nearest: Option<String>,
    /// Known names.
    pub known: Vec<String>,
}

/// Says which cells have a metric that not all have, to follow the list of those that there are.
fn where_found(name: &str) -> &'static str {
    if WakeupPart::ALL.iter().any(|part| name.starts_with(part.as_str())) {
        " (only cells with a real-time probe have it, in virtual time, in recordings by this preemptlab; `explain` \
          computes it anew of one cell)"
    } else if matches!(MetricName::from(name), MetricName::Of(Distribution::Bound, _)) {
        " (only cells that were measured at every instant have it: in virtual time, by this preemptlab)"
    } else {
        ""
    }
}

/// Returns every metric of a comparison in every unit that it has, in the order in which the
/// workloads give them.
pub fn known(comparison: &Comparison) -> Vec<MetricKind> {
    let groups = comparison.groups.iter();
    let mut known: Vec<MetricKind> = Vec::new();
    for summary in groups.flat_map(|group| &group.configurations).flat_map(|each| &each.summaries) {
        if known.iter().all(|kind| (&kind.name, &kind.unit) != (&summary.name, &summary.unit)) {
            let (unit, direction) = (summary.unit.clone(), summary.direction);
            known.push(MetricKind { name: summary.name.clone(), unit, direction });
        }
    }
    let configurations = comparison.groups.iter().flat_map(|group| &group.configurations);
    let samples =
        configurations.flat_map(|each| &each.samples).filter(|samples| samples.are_none());
    for name in samples.flat_map(|samples| of_latency(&samples.of)) {
        if known.iter().all(|kind| kind.name != name) {
            // Latencies are in microseconds.
            known.push(MetricKind { name, unit: "us".to_owned(), direction: Direction::Lower });
        }
    }
    known
}

/// Returns the statistics of a latency that had no sample, and so no value that would name them.
fn of_latency(of: &Distribution) -> impl Iterator<Item = MetricName> + use<'_> {
    let quantiles = Statistic::QUANTILES.map(Statistic::Quantile).into_iter();
    quantiles.chain([Statistic::Max]).map(|statistic| MetricName::Of(of.clone(), statistic))
}

/// Finds the metric of a name, which may lack the probe: `wakeup.max` is `wakeup.fifo.max`. There
/// is at least one, and one for each unit.
pub fn find<'a>(known: &'a [MetricKind], name: &str) -> Result<Vec<&'a MetricKind>, UnknownMetric> {
    let find = |name: MetricName| {
        let kinds: Vec<&MetricKind> = known.iter().filter(|kind| kind.name == name).collect();
        (!kinds.is_empty()).then_some(kinds)
    };
    let of_probe = || match name.into() {
        MetricName::Of(Distribution::Own(of), statistic) if of == "wakeup" => {
            let mut realtime = Probe::of_policy(true).filter(|probe| probe.is_woken());
            realtime.find_map(|probe| find(MetricName::Of(Distribution::Probe(probe), statistic)))
        }
        _ => None,
    };
    find(name.into()).or_else(of_probe).ok_or_else(|| {
        let mut names: Vec<String> = Vec::new();
        for kind in known {
            let name = kind.name.to_string();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let known = names;
        let nearest = nearest(name, known.iter().map(String::as_str)).map(str::to_owned);
        UnknownMetric { name: name.to_owned(), nearest, known }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(names: &[&str]) -> Vec<MetricKind> {
        let kind = |name: &&str| MetricKind {
            name: (*name).into(),
            unit: "us".to_owned(),
            direction: Direction::Lower,
        };
        names.iter().map(kind).collect()
    }

    #[test]
    fn the_real_time_probe_is_meant_where_none_is_named() {
        let known = kinds(&["wakeup.fifo.max", "wakeup.other.max", "latency.p99.9", "throughput"]);
        let found = |name: &str| find(&known, name).map(|kinds| kinds[0].name.to_string());
        assert_eq!(found("wakeup.max").unwrap(), "wakeup.fifo.max");
        for part in ["wakeup.irq.p99", "wakeup.user"] {
            let error = found(part).unwrap_err().to_string();
            assert!(error.contains("only cells with a real-time probe have it"), "{error}");
        }
        assert_eq!(found("wakeup.other.max").unwrap(), "wakeup.other.max");
        assert_eq!(found("latency.p99.9").unwrap(), "latency.p99.9");
        let error = found("wakeup.maxx").unwrap_err();
        assert_eq!(error.nearest.as_deref(), Some("wakeup.fifo.max"));
        assert_eq!(error.known.len(), 4);
        assert!(found("latency.worst").unwrap_err().to_string().contains("every instant"));
        assert_eq!(found("x").unwrap_err().nearest, None);
    }
}
