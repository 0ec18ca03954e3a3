//! The fit: costs of classes with which the counts of benchmarks come nearest to their times.
//!
//! With `n` the counts of an operation, `c` the costs and `t` its time, the fit makes the sum of
//! `ln(n c / t)^2` over all benchmarks least: only the ratio of model and machine counts, wherever the
//! machine is faster or slower. Costs stay near the known ones (the priors `p`) as far as no
//! benchmark says otherwise, by the sum of `(RIDGE ln(c / p))^2`, and within a factor of them. In `ln c`
//! each step is a problem of least squares with bounds, which Clarabel solves.

use clarabel::{
    algebra::CscMatrix,
    solver::{DefaultSettings, DefaultSolver, IPSolver, NonnegativeConeT, SolverStatus},
};
use preemptlab_model::Arch;
use preemptlab_protocol::prices::Class;

use crate::{CalibrateError, arch::prior_ns, counted::PerOperation};

/// How much a class that is `e` times dearer or cheaper than its prior weighs against a benchmark that the
/// model misses by as much.
const RIDGE: f64 = 0.2;

/// Costs may differ from their priors by this factor. No processor's mean instruction of a class is slower
/// or faster than that.
const FACTOR_MAX: f64 = 10.0;

/// The largest step, in logarithms: beyond it the problem of a step says little about the real one.
const STEP_MAX: f64 = 0.5;

/// Steps; the last ones change nothing any more.
const STEPS: usize = 60;

/// A step that is shorter ends the fit.
const STEP_MIN: f64 = 1e-6;

/// The fit's input from a benchmark.
#[derive(Clone, Copy, Debug)]
pub struct Observation<'a> {
    /// The instructions of an operation.
    pub counts: &'a PerOperation,
    /// Its time on the machine, in nanoseconds.
    pub machine_ns: f64,
}

/// Costs of all classes, in nanoseconds.
pub type Costs = [f64; Class::COUNT];

/// Returns the priors of an architecture.
pub fn priors(arch: Arch) -> Costs {
    std::array::from_fn(|index| prior_ns(arch, Class::ALL[index]))
}

/// Returns the time of an operation by these costs, in nanoseconds.
pub fn model_ns(counts: &PerOperation, costs: &Costs) -> f64 {
    counts.iter().zip(costs).map(|(count, cost)| count * cost).sum()
}

/// Fits the costs of the classes that are free; the others keep their priors.
///
/// # Errors
///
/// [`CalibrateError::NoFit`]
pub fn fit(
    observations: &[Observation<'_>],
    free: &[Class],
    priors: &Costs,
) -> Result<Costs, CalibrateError> {
    let mut costs = *priors;
    for _ in 0..STEPS {
        let step = step(observations, free, priors, &costs)?;
        for (class, change) in free.iter().zip(&step) {
            costs[class.index()] *= change.exp();
        }
        if step.iter().all(|change| change.abs() < STEP_MIN) {
            break;
        }
    }
    Ok(costs)
}

/// Finds the changes of the logarithms of costs that make the linearized sum of squares least:
/// half of `x' P x` plus `q' x`, within bounds.
fn step(
    observations: &[Observation<'_>],
    free: &[Class],
    priors: &Costs,
    costs: &Costs,
) -> Result<Vec<f64>, CalibrateError> {
    let size = free.len();
    let mut squares = vec![vec![0.0; size]; size];
    let mut linear = vec![0.0; size];
    let mut bounds = vec![0.0; 2 * size];
    for observation in observations {
        let model_ns = model_ns(observation.counts, costs);
        let error = (model_ns / observation.machine_ns).ln();
        // The share of a class in the time is how the logarithm of the time follows that of its cost.
        let share =
            |class: &Class| observation.counts[class.index()] * costs[class.index()] / model_ns;
        let shares: Vec<f64> = free.iter().map(share).collect();
        for (row, share) in shares.iter().enumerate() {
            linear[row] += share * error;
            for (column, other) in shares.iter().enumerate() {
                squares[row][column] += share * other;
            }
        }
    }
    for (index, class) in free.iter().enumerate() {
        let moved = (costs[class.index()] / priors[class.index()]).ln();
        linear[index] += RIDGE * RIDGE * moved;
        squares[index][index] += RIDGE * RIDGE;
        bounds[index] = (FACTOR_MAX.ln() - moved).clamp(0.0, STEP_MAX);
        bounds[size + index] = (FACTOR_MAX.ln() + moved).clamp(0.0, STEP_MAX);
    }
    solve(&squares, &linear, &bounds)
}

/// Solves a problem of least squares in which `x <= bounds[..n]` and `-x <= bounds[n..]`.
fn solve(squares: &[Vec<f64>], linear: &[f64], bounds: &[f64]) -> Result<Vec<f64>, CalibrateError> {
    let size = linear.len();
    // Clarabel reads the upper half, column by column.
    let mut starts = vec![0];
    let (mut rows, mut values) = (Vec::new(), Vec::new());
    for column in 0..size {
        for (row, of_row) in squares.iter().enumerate().take(column + 1) {
            rows.push(row);
            values.push(of_row[column]);
        }
        starts.push(rows.len());
    }
    let squares = CscMatrix::new(size, size, starts, rows, values);
    let starts = (0..=size).map(|column| 2 * column).collect();
    let rows = (0..size).flat_map(|column| [column, size + column]).collect();
    let signs = (0..size).flat_map(|_| [1.0, -1.0]).collect();
    let within = CscMatrix::new(2 * size, size, starts, rows, signs);
    let settings = DefaultSettings { verbose: false, ..DefaultSettings::default() };
    let cones = [NonnegativeConeT(2 * size)];
    let failed = |reason: String| CalibrateError::NoFit(reason);
    let mut solver = DefaultSolver::new(&squares, linear, &within, bounds, &cones, settings)
        .map_err(|error| failed(error.to_string()))?;
    solver.solve();
    match solver.solution.status {
        SolverStatus::Solved | SolverStatus::AlmostSolved => Ok(solver.solution.x.clone()),
        status => Err(failed(format!("the solver says {status:?}"))),
    }
}
