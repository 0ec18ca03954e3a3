//! From times and counts to a profile.

use std::collections::{BTreeMap, BTreeSet};

use preemptlab_model::Arch;
use preemptlab_protocol::prices::{Class, Price, Prices};

use crate::{
    CalibrateError, Counted, Times,
    fit::{Costs, Observation, fit, model_ns, priors},
    held_out::{TIMED_ALONE, is_held_out},
    price::price,
};

/// A class that takes less than this share of every fitted benchmark is determined by none.
const SHARE_MIN: f64 = 0.01;

/// Result of a calibration.
#[derive(Clone, Debug)]
pub struct Calibration {
    /// The architecture of the machine.
    pub arch: Arch,
    /// The prices.
    pub prices: Prices,
    /// The price of each class, and how it came about.
    pub classes: Vec<PricedClass>,
    /// How well the prices tell the time of each benchmark.
    pub residuals: Vec<Residual>,
    /// Benchmarks whose instructions cannot be counted, and the time of an operation on the machine,
    /// in nanoseconds.
    pub timed_alone: Vec<(String, f64)>,
}

/// Price of a class.
#[derive(Clone, Copy, Debug)]
pub struct PricedClass {
    /// The class.
    pub class: Class,
    /// Time of an instruction of it on the machine, in nanoseconds.
    pub cost_ns: f64,
    /// Its price in a profile.
    pub price: Price,
    /// The largest share of the time of a fitted benchmark that it has.
    pub share: f64,
    /// Where it comes from.
    pub found: Found,
}

/// Source of a price.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// It is fitted to the benchmarks.
    Fitted,
    /// It follows from what two CPUs do for each other.
    Solved,
    /// No benchmark determines it.
    Assumed,
}

/// Time of a benchmark on the machine and by the prices.
#[derive(Clone, Debug)]
pub struct Residual {
    /// Name of the benchmark.
    pub name: String,
    /// An operation on the machine, in nanoseconds.
    pub machine_ns: f64,
    /// The same by the prices.
    pub model_ns: f64,
    /// Whether the benchmark was held out of the fit.
    pub held_out: bool,
}

impl Residual {
    /// Returns the ratio of model and machine.
    pub fn ratio(&self) -> f64 {
        self.model_ns / self.machine_ns
    }
}

/// How far a model is from the machine. An error is the larger of both over the smaller, in percent above
/// 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errors {
    /// Number of benchmarks.
    pub benchmarks: u32,
    /// The geometric mean.
    pub mean_percent: u32,
    /// The largest.
    pub max_percent: u32,
}

impl Calibration {
    /// Returns the errors of the benchmarks that were held out, or of those that were not.
    pub fn errors(&self, held_out: bool) -> Errors {
        let those = self.residuals.iter().filter(|residual| residual.held_out == held_out);
        let logarithms: Vec<f64> = those.map(|residual| residual.ratio().ln().abs()).collect();
        let percent = |logarithm: f64| (logarithm.exp_m1() * 100.0).ceil() as u32;
        let mean = logarithms.iter().sum::<f64>() / logarithms.len().max(1) as f64;
        Errors {
            benchmarks: logarithms.len() as u32,
            mean_percent: percent(mean),
            max_percent: percent(logarithms.iter().copied().fold(0.0, f64::max)),
        }
    }

    /// Returns the classes that no benchmark determined.
    pub fn undetermined(&self) -> Vec<Class> {
        let undetermined = self.classes.iter().filter(|class| class.found == Found::Assumed);
        undetermined.map(|class| class.class).collect()
    }

    /// Returns the time of an instruction of a class, in nanoseconds.
    pub fn cost_ns(&self, class: Class) -> f64 {
        let priced = self.classes.iter().find(|priced| priced.class == class);
        priced.map_or_else(|| priors(self.arch)[class.index()], |priced| priced.cost_ns)
    }

    /// Takes the costs that two CPUs told, in nanoseconds.
    #[must_use]
    pub fn with_solved(mut self, costs_ns: &[(Class, f64)]) -> Self {
        for (class, cost_ns) in costs_ns {
            for priced in self.classes.iter_mut().filter(|priced| priced.class == *class) {
                priced.cost_ns = *cost_ns;
                priced.price = price(*cost_ns);
                priced.found = Found::Solved;
            }
        }
        let solved = |class: Class| self.classes.iter().find(|priced| priced.class == class);
        self.prices = Prices::new(self.prices.classes(), |class| match solved(class) {
            Some(priced) => priced.price,
            None => self.prices.of(class),
        });
        self
    }
}

/// Fits prices to the times of a machine and the counts of a guest.
///
/// # Errors
///
/// When they are of different benchmarks, or no prices fit.
pub fn calibrate(
    arch: Arch,
    times: &Times,
    counted: &Counted,
) -> Result<Calibration, CalibrateError> {
    let (alone, times): (BTreeMap<_, _>, BTreeMap<_, _>) =
        times.of_operations().into_iter().partition(|(name, _)| TIMED_ALONE.contains(name));
    let counts = counted.of_operations();
    let timed: BTreeSet<&str> = times.keys().copied().collect();
    let counted: BTreeSet<&str> = counts.keys().map(String::as_str).collect();
    let differing: Vec<&str> = timed.symmetric_difference(&counted).copied().collect();
    if !differing.is_empty() {
        return Err(CalibrateError::Different(differing.join(", ")));
    }
    let fitted: Vec<Observation<'_>> = times
        .iter()
        .filter(|(name, _)| !is_held_out(name))
        .map(|(name, machine_ns)| Observation { counts: &counts[*name], machine_ns: *machine_ns })
        .collect();
    let priors = priors(arch);
    let assumed = shares(&fitted, &priors);
    let classes = arch.platform().price_classes;
    let free: Vec<Class> =
        classes.iter().copied().filter(|class| assumed[class.index()] >= SHARE_MIN).collect();
    let costs = fit(&fitted, &free, &priors)?;
    let shares = shares(&fitted, &costs);
    let price_of = |class: Class| price(costs[class.index()]);
    let priced = classes.iter().map(|class| PricedClass {
        class: *class,
        cost_ns: costs[class.index()],
        price: price_of(*class),
        share: shares[class.index()],
        found: if free.contains(class) { Found::Fitted } else { Found::Assumed },
    });
    let residuals = times.iter().map(|(name, machine_ns)| Residual {
        name: (*name).to_owned(),
        machine_ns: *machine_ns,
        model_ns: model_ns(&counts[*name], &costs),
        held_out: is_held_out(name),
    });
    Ok(Calibration {
        arch,
        prices: Prices::new(classes, price_of),
        classes: priced.collect(),
        residuals: residuals.collect(),
        timed_alone: alone.into_iter().map(|(name, ns)| (name.to_owned(), ns)).collect(),
    })
}

/// Returns the largest share that each class has of the time of a benchmark.
fn shares(observations: &[Observation<'_>], costs: &Costs) -> Costs {
    let share = |observation: &Observation<'_>, index: usize| {
        observation.counts[index] * costs[index] / model_ns(observation.counts, costs)
    };
    std::array::from_fn(|index| {
        let all = observations.iter().map(|observation| share(observation, index));
        all.fold(0.0, f64::max)
    })
}
