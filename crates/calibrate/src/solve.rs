//! Prices that two CPUs tell: the guest executes the benchmarks of two CPUs in virtual time, and a price is moved
//! until the guest's time is that of the machine.
//!
//! The interrupt of another CPU follows from a call of it, and then the halt from a wakeup by futex. The round trip
//! by pipes takes no part, and shows how well both predict it.

use preemptlab_protocol::prices::{Class, Prices};

use crate::{Calibration, Exchange, PairPass, PairTimes, Stolen, price::price};

/// Executions that a price may take.
const TRIES: usize = 5;

/// A time that is so near to the machine's, by its logarithm, needs no further execution.
const NEAR: f64 = 0.03;

/// A price whose time remains farther from the machine's stays assumed.
const FACTOR_MAX: f64 = 1.25;

/// The least and the largest cost of a class that is solved for, in nanoseconds. Prices end at 65 us.
const COSTS_NS: (f64, f64) = (1.0, 65_000.0);

/// A class that is solved for.
struct Unknown {
    class: Class,
    exchange: Exchange,
    /// Time that one nanosecond of it is assumed to add to the exchange.
    slope: f64,
}

/// The classes that are solved for, each given those before it.
const UNKNOWN: [Unknown; 2] = [
    Unknown { class: Class::EntryIpi, exchange: Exchange::CallOther, slope: 1.0 },
    Unknown { class: Class::Halt, exchange: Exchange::Futex, slope: 1.0 },
];

/// The exchanges that are compared, in the order of the table.
const COMPARED: [Exchange; 3] = [Exchange::CallOther, Exchange::Futex, Exchange::Pipe];

/// Times of the exchanges that are compared, in nanoseconds; `None` where a time is not known or does not come
/// again.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures([Option<f64>; COMPARED.len()]);

impl Figures {
    /// Returns those of a machine, by the quartiles of its times.
    pub fn of_machine(times: &PairTimes) -> Self {
        let steady = |exchange| times.of(exchange).ok().filter(|times| times.is_steady());
        Self::new(|exchange| steady(exchange).map(|times| times.spread.quartile_ns))
    }

    /// Returns those of a guest.
    pub fn of_guest(pass: &PairPass) -> Self {
        Self::new(|exchange| pass.of(exchange).ok().map(|spread| spread.quartile_ns))
    }

    /// A call of another CPU counts beyond one without another CPU.
    fn new(of: impl Fn(Exchange) -> Option<f64>) -> Self {
        Self(COMPARED.map(|exchange| {
            match exchange {
                Exchange::CallOther => of(exchange)
                    .zip(of(Exchange::CallAlone))
                    .map(|(other, alone)| other - alone)
                    .filter(|ns| *ns > 0.0),
                exchange => of(exchange),
            }
        }))
    }

    fn of(&self, exchange: Exchange) -> Option<f64> {
        let place = COMPARED.iter().position(|compared| *compared == exchange)?;
        self.0[place]
    }
}

/// An exchange on the machine and in virtual time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compared {
    /// The exchange.
    pub exchange: Exchange,
    /// Its time on the machine, in nanoseconds; `None` where it is not known or does not come again.
    pub machine_ns: Option<f64>,
    /// Its time in virtual time with the assumed prices, in nanoseconds.
    pub assumed_ns: Option<f64>,
    /// Its time in virtual time with the prices of the profile, in nanoseconds.
    pub model_ns: Option<f64>,
    /// The class that was solved for by it; `None` where it took no part.
    pub fitted: Option<Class>,
}

/// The prices that two CPUs tell, and how near virtual time comes to the machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// Costs of the classes that were found, in nanoseconds.
    pub costs_ns: Vec<(Class, f64)>,
    /// Each exchange.
    pub compared: Vec<Compared>,
}

/// Reason why the times of two CPUs tell no prices.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Unsolved {
    /// Something takes too much of their time.
    #[error("something takes {0}% of the time of a CPU")]
    Stolen(u32),
    /// The guest did not execute them.
    #[error("the guest did not measure: {0}")]
    Guest(String),
}

impl Stolen {
    /// Refuses a machine on which too much time is stolen.
    ///
    /// # Errors
    ///
    /// [`Unsolved::Stolen`]
    pub fn check(&self) -> Result<(), Unsolved> {
        match self.is_too_much() {
            true => Err(Unsolved::Stolen((self.share * 100.0).round() as u32)),
            false => Ok(()),
        }
    }
}

/// Finds the prices of the classes that a calibration had to assume. `execute` has a guest execute the benchmarks with
/// prices.
///
/// # Errors
///
/// Those of `execute`.
pub fn solve<E>(
    calibration: &Calibration,
    machine: &Figures,
    mut execute: impl FnMut(&Prices) -> Result<Figures, E>,
) -> Result<Solution, E> {
    let mut prices = calibration.prices.clone();
    let assumed = execute(&prices)?;
    let mut model = assumed;
    let mut costs_ns = Vec::new();
    for Unknown { class, exchange, slope } in &UNKNOWN {
        if !calibration.undetermined().contains(class) {
            continue;
        }
        let (Some(machine_ns), Some(model_ns)) = (machine.of(*exchange), model.of(*exchange))
        else {
            // Those after it are found given this one.
            break;
        };
        let mut search = Search::new(machine_ns, *slope, (calibration.cost_ns(*class), model_ns));
        while let Some(cost_ns) = search.next() {
            let tried = execute(&with(&prices, *class, cost_ns))?;
            let Some(model_ns) = tried.of(*exchange) else { break };
            search.take(cost_ns, model_ns, tried, &mut model);
        }
        let (cost_ns, model_ns) = search.best();
        if distance(machine_ns, model_ns) > FACTOR_MAX.ln() || !search.is_decided() {
            // The table shows the times by the prices of the profile.
            model = execute(&prices)?;
            break;
        }
        prices = with(&prices, *class, cost_ns);
        costs_ns.push((*class, cost_ns));
    }
    let fitted = |exchange| {
        let by = UNKNOWN.iter().find(|unknown| unknown.exchange == exchange)?;
        costs_ns.iter().any(|(class, _)| *class == by.class).then_some(by.class)
    };
    let compared = COMPARED.map(|exchange| Compared {
        exchange,
        machine_ns: machine.of(exchange),
        assumed_ns: assumed.of(exchange),
        model_ns: model.of(exchange),
        fitted: fitted(exchange),
    });
    Ok(Solution { compared: compared.into(), costs_ns })
}

/// Returns prices in which a class has another cost.
fn with(prices: &Prices, class: Class, cost_ns: f64) -> Prices {
    Prices::new(
        prices.classes(),
        |other| if other == class { price(cost_ns) } else { prices.of(other) },
    )
}

/// Returns how far a time is from another one, as the absolute logarithm of their ratio.
fn distance(machine_ns: f64, model_ns: f64) -> f64 {
    (model_ns / machine_ns).ln().abs()
}

/// A search for the cost of a class with which an exchange takes the time that it takes on the machine. More
/// cost takes no less time.
struct Search {
    machine_ns: f64,
    /// Time that one nanosecond of cost is assumed to add.
    slope: f64,
    /// Costs and their times.
    tried: Vec<(f64, f64)>,
}

impl Search {
    fn new(machine_ns: f64, slope: f64, first: (f64, f64)) -> Self {
        Self { machine_ns, slope, tried: vec![first] }
    }

    /// Returns the next cost to try; `None` at the end of the search.
    fn next(&self) -> Option<f64> {
        let (cost_ns, model_ns) = self.best();
        if self.tried.len() > TRIES {
            return None;
        }
        if distance(self.machine_ns, model_ns) <= NEAR {
            // Another cost tells whether the time depends on it at all.
            return (self.tried.len() == 1).then_some(2.0 * cost_ns);
        }
        let is_below = |(_, model_ns): &&(f64, f64)| *model_ns < self.machine_ns;
        let below = self.tried.iter().filter(is_below).max_by(|a, b| a.0.total_cmp(&b.0));
        let above = self.tried.iter().filter(|it| !is_below(it)).min_by(|a, b| a.0.total_cmp(&b.0));
        let next_ns = match (below, above) {
            // The straight line between both, but never a step of next to nothing.
            (Some(below), Some(above)) => {
                let share = (self.machine_ns - below.1) / (above.1 - below.1);
                below.0 + (above.0 - below.0) * share.clamp(0.1, 0.9)
            }
            // The dearest of those that take too little: up to there it may have changed nothing.
            (Some((cost_ns, model_ns)), None) | (None, Some((cost_ns, model_ns))) => {
                cost_ns + (self.machine_ns - model_ns) / self.slope
            }
            (None, None) => return None,
        };
        let next_ns = next_ns.clamp(COSTS_NS.0, COSTS_NS.1);
        // At a bound there is nothing more to try.
        let is_new = self.tried.iter().all(|(tried_ns, _)| (tried_ns - next_ns).abs() >= 1.0);
        is_new.then_some(next_ns)
    }

    /// Takes the time of a cost, and keeps all figures of the best cost in `model`.
    fn take(&mut self, cost_ns: f64, model_ns: f64, figures: Figures, model: &mut Figures) {
        let (_, best_ns) = self.best();
        if distance(self.machine_ns, model_ns) < distance(self.machine_ns, best_ns) {
            *model = figures;
        }
        self.tried.push((cost_ns, model_ns));
    }

    /// Returns whether the time depends on the cost: another cost has another time.
    fn is_decided(&self) -> bool {
        let (_, best_ns) = self.best();
        self.tried.iter().any(|(_, model_ns)| distance(*model_ns, best_ns) > NEAR)
    }

    /// Returns the cost whose time is the nearest, and the time; the earliest of several.
    fn best(&self) -> (f64, f64) {
        let far = |(_, model_ns): &(f64, f64)| distance(self.machine_ns, *model_ns);
        let best = self.tried.iter().min_by(|a, b| far(a).total_cmp(&far(b)));
        *best.expect("the first one is there from the beginning")
    }
}
