/// Detail in which a comparison is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// One table per workload and number of CPUs, with the metrics that tell configurations apart.
    #[default]
    Overview,
    /// One table per metric, with every statistic.
    Details,
}
