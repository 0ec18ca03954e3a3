//! The names of metrics, which are known before anything is measured.

use preemptlab_model::{Distribution, MetricName};

use crate::{activity, measurements};

/// The names of the metrics that the cells of a workload can have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetricNames {
    names: Vec<MetricName>,
    families: Vec<&'static str>,
    /// Whether traces follow a probe of a user's own.
    has_traced_wakeups: bool,
}

impl MetricNames {
    /// Returns whether a cell can have a metric of this name.
    pub fn contains(&self, name: &MetricName) -> bool {
        let is_of_family = match name {
            MetricName::Part { of, part } => {
                !part.is_empty() && self.families.contains(&of.as_str())
            }
            _ => false,
        };
        is_of_family || self.names.contains(name)
    }

    /// Returns the names, without those that only a guest can tell, such as of kernel threads.
    pub fn iter(&self) -> impl Iterator<Item = &MetricName> {
        self.names.iter()
    }

    /// Returns whether traces explain the wakeups of a real-time probe: a declared one, or one of a folder.
    pub fn has_realtime_wakeups(&self) -> bool {
        self.has_traced_wakeups || self.names.iter().any(|name| name.bound().is_some())
    }

    /// Returns whether traces explain the wakeups of a fair probe.
    pub fn has_fair_wakeups(&self) -> bool {
        self.names.iter().any(|name| name.stands_for(&MetricName::OTHER_MAX))
    }

    /// Adds single numbers.
    pub(crate) fn numbers<N: Into<MetricName>>(
        mut self,
        names: impl IntoIterator<Item = N>,
    ) -> Self {
        self.names.extend(names.into_iter().map(Into::into));
        self
    }

    /// Adds a distribution of latencies.
    pub(crate) fn latency(self, of: &Distribution, is_periodic: bool) -> Self {
        self.numbers(measurements::latency_names(of, is_periodic))
    }

    /// Adds the metrics of traces about the wakeups of a probe of a user's own.
    pub(crate) fn traced_wakeups(self) -> Self {
        Self { has_traced_wakeups: true, ..self }
    }

    /// Adds the metrics of the whole system's activity.
    pub(crate) fn activity(mut self) -> Self {
        self.families.push(activity::KERNEL_THREADS);
        self.numbers(activity::names())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_kernel_threads_are_a_family() {
        let names = MetricNames::default().latency(&Distribution::Response, false).activity();
        for name in ["response.p99", "context_switches", "interrupts.LOC", "kthread.rcu_preempt"] {
            assert!(names.contains(&name.into()), "{name}");
        }
        for name in ["responce.p99", "response.omitted", "kthread.", "kthreads", "interrupts.XYZ"] {
            assert!(!names.contains(&name.into()), "{name}");
        }
        assert!(!names.has_realtime_wakeups() && !names.has_fair_wakeups());
    }
}
