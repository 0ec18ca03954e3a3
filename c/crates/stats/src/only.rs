use preemptlab_model::{MetricName, nearest};

use crate::{
    Comparison, UnknownMetric,
    recommend::{find, known},
};

impl Comparison {
    /// Keeps only these metrics, each by its name, or all of a class by the beginning of their
    /// names: `wakeup`, `wakeup.fifo`, `interrupts`. The verdicts stay those of the whole
    /// comparison.
    ///
    /// # Errors
    ///
    /// [`UnknownMetric`] for a name that no workload has.
    pub fn only(mut self, wanted: &[String]) -> Result<Self, UnknownMetric> {
        let mut kept: Vec<MetricName> = Vec::new();
        for name in wanted {
            kept.extend(self.named(name)?);
        }
        for group in &mut self.groups {
            group.metrics.retain(|info| kept.contains(&info.name));
            // A metric that the user names is shown.
            group.metrics.iter_mut().for_each(|info| info.headline = true);
            for configuration in &mut group.configurations {
                configuration.summaries.retain(|summary| kept.contains(&summary.name));
            }
        }
        for agreement in &mut self.agreements {
            agreement.shared.retain(|shared| kept.contains(&shared.metric));
        }
        self.agreements.retain(|agreement| !agreement.shared.is_empty());
        Ok(self)
    }

    fn named(&self, name: &str) -> Result<Vec<MetricName>, UnknownMetric> {
        let known = known(self);
        let unknown = match find(&known, name) {
            Ok(kinds) => return Ok(kinds.into_iter().map(|kind| kind.name.clone()).collect()),
            Err(unknown) => unknown,
        };
        let names = || unknown.known.iter().map(String::as_str);
        let is_of_class =
            |metric: &&str| metric.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
        let of_class: Vec<MetricName> = names().filter(is_of_class).map(Into::into).collect();
        if !of_class.is_empty() {
            return Ok(of_class);
        }
        let classes =
            names().flat_map(|name| name.match_indices('.').map(move |(dot, _)| &name[..dot]));
        let meant = nearest(name, names().chain(classes)).map(str::to_owned);
        Err(UnknownMetric { nearest: meant, ..unknown })
    }
}
