/// What may be called a difference where there is none: 5 %.
const ALPHA: f64 = 0.05;

/// How often the results are looked at before it is decided whether to go on. Who looks often, and
/// stops as soon as something stands out, finds a difference in the end even where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Looks {
    /// Once: the number of replicates was fixed in advance.
    #[default]
    One,
    /// As often as it takes. The level is spent on all looks to come: a half of it on the first, a
    /// sixth on the second, a twelfth on the third and so on, which together is the whole (the
    /// union bound; Lan and DeMets, Biometrika 70, 1983, for spending in general). Nothing is
    /// assumed about how the looks depend on each other, nor how many there will be.
    Any,
}

impl Looks {
    /// How many replicates a configuration that is undecided with so many has at the next look: half
    /// as many more. Few looks spend little of the level, and none comes much too late.
    pub fn next(replicates: u32) -> u32 {
        replicates.saturating_add((replicates / 2).max(2))
    }

    /// The level of a look, which counts from 0.
    pub(crate) fn alpha(self, look: u32) -> f64 {
        match self {
            Self::One => ALPHA,
            Self::Any => ALPHA / ((f64::from(look) + 1.0) * (f64::from(look) + 2.0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_looks_together_spend_no_more_than_the_level() {
        let spent: f64 = (0..100_000).map(|look| Looks::Any.alpha(look)).sum();
        assert!(spent < ALPHA && spent > 0.999 * ALPHA);
    }
}
