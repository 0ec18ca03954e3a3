//! The names of metrics, which are known before anything is measured.

use crate::{activity, measurements};

/// The names of the metrics that the cells of a workload can have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetricNames {
    names: Vec<String>,
    families: Vec<&'static str>,
}

impl MetricNames {
    /// Returns whether a cell can have a metric of this name.
    pub fn contains(&self, name: &str) -> bool {
        let is_of = |family: &&str| name.len() > family.len() && name.starts_with(*family);
        self.names.iter().any(|known| known == name) || self.families.iter().any(is_of)
    }

    /// Returns the names, without those that only a guest can tell, such as of kernel threads.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// Returns whether cyclictest's real-time probe measures.
    pub fn has_realtime_wakeups(&self) -> bool {
        self.contains("wakeup.fifo.max")
    }

    /// Returns whether cyclictest's fair probe measures.
    pub fn has_fair_wakeups(&self) -> bool {
        self.contains("wakeup.other.max")
    }

    /// Adds single numbers.
    pub(crate) fn numbers<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.names.extend(names.into_iter().map(Into::into));
        self
    }

    /// Adds a distribution of latencies.
    pub(crate) fn latency(self, name: &str, is_periodic: bool) -> Self {
        self.numbers(measurements::latency_names(name, is_periodic))
    }

    /// Adds what the whole system did.
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
        let names = MetricNames::default().latency("response", false).activity();
        for name in ["response.p99", "context_switches", "interrupts.LOC", "kthread.rcu_preempt"] {
            assert!(names.contains(name), "{name}");
        }
        for name in ["responce.p99", "response.omitted", "kthread.", "kthreads", "interrupts.XYZ"] {
            assert!(!names.contains(name), "{name}");
        }
        assert!(!names.has_realtime_wakeups() && !names.has_fair_wakeups());
    }
}
