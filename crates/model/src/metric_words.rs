use crate::{Distribution, MetricName, Statistic, WakeupPart, metric::percent};

impl MetricName {
    /// Returns the distribution in words and the statistic of a metric such as `wakeup.fifo.p99.9`
    /// or `response.max`; `None` for a metric whose name tells them.
    pub fn of_what(&self) -> Option<(&str, String)> {
        let (of, statistic) = self.statistic()?;
        let statistic = match (of, statistic) {
            (Distribution::Own(_), _) => return None,
            (Distribution::Bound, Statistic::Max) => "worst".to_owned(),
            (_, statistic) => statistic.to_string(),
        };
        Some((of.title(), statistic))
    }

    /// Writes it for people: `FIFO wakeup p99`, `throughput`.
    pub fn title(&self) -> String {
        match self.of_what() {
            Some((of, statistic)) => format!("{of} {statistic}"),
            None => self.to_string(),
        }
    }

    /// Explains the metric in a sentence; empty for a number of a workload's own.
    pub fn meaning(&self) -> String {
        if let Self::Throughput = self {
            return "Work that the load did beside the probes, in the same cells.".to_owned();
        }
        let Some((of, statistic)) = self.statistic() else { return String::new() };
        let (what, samples) = match of {
            Distribution::Bound => return bound(statistic),
            Distribution::Probe(probe) => (probe.declared().meaning, probe.declared().samples),
            Distribution::Delay => (
                "how long a fair task that was woken waited for the CPU, of every task but the probes",
                "wakeups",
            ),
            Distribution::Part(part) => (part.meaning(), "wakeups"),
            Distribution::Response => ("how long a client waited for its answer", "requests"),
            Distribution::Own(name) => (&**name, "samples"),
        };
        match statistic {
            Statistic::Min => format!("The least of all {samples}: {what}."),
            Statistic::Avg => format!("The mean of all {samples}: {what}."),
            Statistic::Quantile(parts) => {
                format!("{} % of {samples} were at most this: {what}.", percent(parts))
            }
            Statistic::Max => format!(
                "The largest that was observed: {what}. It grows with the number of {samples}."
            ),
            Statistic::Omitted => "Periods in which the probe was still late from an earlier one, \
                                   and took no sample."
                .to_owned(),
        }
    }
}

impl Distribution {
    /// Writes it for people: `FIFO wakeup`.
    pub fn title(&self) -> &str {
        match self {
            Self::Probe(probe) => probe.declared().title,
            // That of the most urgent task, whose policy may be SCHED_DEADLINE.
            Self::Bound => "latency",
            Self::Delay => "scheduling delay",
            Self::Part(WakeupPart::Irq) => "IRQ latency",
            Self::Part(WakeupPart::Thread) => "thread latency",
            Self::Part(WakeupPart::User) => "user latency",
            Self::Response => "response",
            Self::Own(name) => name,
        }
    }
}

impl WakeupPart {
    /// Returns the part in words, as the end of a sentence.
    const fn meaning(self) -> &'static str {
        match self {
            Self::Irq => {
                "from the due time of the real-time probe's timer to the timer's function in its interrupt"
            }
            Self::Thread => "from the timer's function to the switch to the real-time probe",
            Self::User => {
                "from the switch to the real-time probe to its first instruction in user space"
            }
        }
    }
}

fn bound(statistic: Statistic) -> String {
    let at_most = match statistic {
        Statistic::Quantile(parts) => format!("At {} % of all instants", percent(parts)),
        _ => "At the worst of all instants".to_owned(),
    };
    format!(
        "{at_most} of the window, a real-time task that became due would have been late by at most this. \
         Computed from what the kernel did at every instant, and executed by `explain RUN search`; not a promise about \
         code that did not run."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_named_for_people() {
        for (name, title) in [
            ("wakeup.fifo.p99.9", "FIFO wakeup p99.9"),
            ("latency.worst", "latency worst"),
            ("wakeup.irq.p99.9", "IRQ latency p99.9"),
            ("latency.p99.999", "latency p99.999"),
            ("response.max", "response max"),
            ("request.time.p50", "request.time.p50"),
            ("interrupts.LOC", "interrupts.LOC"),
        ] {
            assert_eq!(MetricName::from(name).title(), title);
        }
    }

    #[test]
    fn a_sentence_says_what_a_metric_is() {
        let meaning = |name: &str| MetricName::from(name).meaning();
        assert!(meaning("wakeup.fifo.p99.9").starts_with("99.9 % of wakeups were at most this"));
        assert!(meaning("latency.p99.9").starts_with("At 99.9 % of all instants"));
        assert!(meaning("latency.worst").starts_with("At the worst of all instants"));
        assert!(meaning("wakeup.user.p50").contains("to its first instruction in user space"));
        assert!(meaning("response.max").contains("the number of requests"));
        assert_eq!(meaning("real"), "");
    }
}
