use preemptlab_model::counted;

/// Reason why maxima have no fit.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NoFit {
    /// A value is negative, infinite or not a number.
    #[error("{value} is not a latency: expected a finite number that is not negative")]
    NotALatency {
        /// Value that is refused.
        value: f64,
    },
    /// There are fewer replicates than a fit needs.
    #[error(
        "{} {} too few for an extreme-value fit: record at least {needed}",
        counted(*n, "replicate"),
        if *n == 1 { "is" } else { "are" }
    )]
    TooFew {
        /// Number of replicates.
        n: usize,
        /// Least number of a fit.
        needed: usize,
    },
    /// All values are the same, or differ by no more than the last bits of the largest.
    #[error("all {n} maxima are {value}, which is no distribution to fit: record in finer units")]
    AllEqual {
        /// Number of replicates.
        n: usize,
        /// Value that all have.
        value: f64,
    },
    /// The values are rounded too coarsely for how little they vary.
    #[error(
        "the scale of the maxima is less than two of their steps, which are {step} apart: \
         record in finer units"
    )]
    TooCoarse {
        /// The least difference of two distinct values.
        step: f64,
        /// The scale that the fit has regardless.
        scale: f64,
    },
    /// The likelihood has no maximum inside the parameter space.
    #[error(
        "no extreme-value distribution is the likeliest: the maxima crowd on a few values or at \
         their upper end; more replicates or longer ones may help"
    )]
    NoMaximum,
    /// The end of the tail is so sharp that likelihood theory does not hold.
    #[error(
        "the maxima crowd at their upper end (shape {shape:.2}, at most -0.5): no interval is sound, \
         the largest is close to the bound; more replicates or longer ones may help"
    )]
    TailTooShort {
        /// The estimate of the shape.
        shape: f64,
    },
    /// The tail is so heavy that not even a mean exists.
    #[error(
        "the tail of the maxima is too heavy (shape {shape:.2}, at least 1): they have no mean; \
         longer replicates or separating what makes the outliers may help"
    )]
    TailTooHeavy {
        /// The estimate of the shape.
        shape: f64,
    },
    /// The likeliest distribution does not describe the values.
    #[error(
        "the maxima do not follow an extreme-value distribution (Anderson-Darling {statistic:.3}, \
         5 % critical value {critical:.3}): they may mix several causes; longer replicates may help"
    )]
    Misfit {
        /// Anderson-Darling statistic of the fit.
        statistic: f64,
        /// The value that one fit of twenty exceeds by chance.
        critical: f64,
    },
    /// An interval has an end that was not found or cannot be represented.
    #[error("an interval of the extreme-value fit has no finite end: record more replicates")]
    NoInterval,
}

/// Reason why a fit has no return level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoLevel {
    /// A level needs at least two blocks.
    #[error("a return level needs at least 2 cells")]
    TooFewBlocks,
    /// The interval has an end that was not found or cannot be represented.
    #[error("the interval of the return level has no finite end: record more replicates")]
    OutOfReach,
}
