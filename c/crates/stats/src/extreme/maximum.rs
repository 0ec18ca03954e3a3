//! Newton's method, kept uphill.

use super::likelihood::{Likelihood, Local, Point};

/// A maximum of the likelihood over some of its coordinates.
#[derive(Clone, Debug)]
pub struct Maximum {
    pub point: Point,
    pub local: Local,
    /// Whether the gradient vanishes there; otherwise it is the border of the parameter space.
    pub interior: bool,
}

/// Returns the maximum that uphill steps from a point lead to, where the coordinate `fixed` stays
/// as it is; `None` when the point is outside the parameter space.
pub fn maximise(likelihood: &Likelihood, start: Point, fixed: Option<usize>) -> Option<Maximum> {
    const STEPS: usize = 200;
    // Newton's method squares the error at each step: after one so short nothing is left of it.
    const SHORT: f64 = 1e-9;
    let mut point = start;
    let mut local = likelihood.at(&point)?;
    for _ in 0..STEPS {
        let step = uphill(&local, fixed);
        let longest = step.iter().fold(0.0, |longest: f64, part| longest.max(part.abs()));
        let mut length = f64::min(1.0, 1.0 / longest);
        let next = loop {
            let next = std::array::from_fn(|i| point[i] + length * step[i]);
            match likelihood.at(&next) {
                Some(found) if found.value > local.value || longest < SHORT => {
                    break Some((next, found));
                }
                _ if length * longest < SHORT * 1e-3 => break None,
                _ => length *= 0.5,
            }
        };
        let Some(next) = next else {
            return Some(Maximum { point, local, interior: longest < 1e-6 });
        };
        (point, local) = next;
        if longest < SHORT {
            return Some(Maximum { point, local, interior: true });
        }
    }
    Some(Maximum { point, local, interior: false })
}

/// Returns Newton's step; where the likelihood is not concave, one that is bent towards the
/// gradient. No step if even that fails.
fn uphill(local: &Local, fixed: Option<usize>) -> [f64; 3] {
    const DAMPINGS: i32 = 20;
    let mut matrix = information(local);
    let mut gradient = local.gradient;
    let size = (0..3).fold(0.0, |size: f64, i| size.max(matrix[i][i].abs()));
    if let Some(fixed) = fixed {
        gradient[fixed] = 0.0;
        hold(&mut matrix, fixed, size);
    }
    let dampings = (0..DAMPINGS).map(|i| size * 1e-3 * f64::powi(4.0, i));
    std::iter::once(0.0)
        .chain(dampings)
        .find_map(|damping| {
            let mut damped = matrix;
            damped.iter_mut().enumerate().for_each(|(i, row)| row[i] += damping);
            solve(&damped, gradient)
        })
        .unwrap_or_default()
}

/// Returns the observed information.
pub fn information(local: &Local) -> [[f64; 3]; 3] {
    local.hessian.map(|row| row.map(|entry| -entry))
}

/// Makes a coordinate's solution its right side divided by `diagonal`, whatever the others are.
pub fn hold(matrix: &mut [[f64; 3]; 3], coordinate: usize, diagonal: f64) {
    matrix[coordinate] = [0.0; 3];
    matrix.iter_mut().for_each(|row| row[coordinate] = 0.0);
    matrix[coordinate][coordinate] = diagonal;
}

/// Returns the solution of a symmetric system by Cholesky's method; `None` unless it is positive
/// definite.
pub fn solve(matrix: &[[f64; 3]; 3], right: [f64; 3]) -> Option<[f64; 3]> {
    let mut root = [[0.0; 3]; 3];
    for i in 0..3 {
        for j in 0..=i {
            let rest = (0..j).fold(matrix[i][j], |rest, k| rest - root[i][k] * root[j][k]);
            root[i][j] = match i == j {
                true if rest > 1e-12 * matrix[i][i].abs() => rest.sqrt(),
                true => return None,
                false => rest / root[j][j],
            };
        }
    }
    let mut x = right;
    for i in 0..3 {
        x[i] = (0..i).fold(x[i], |rest, k| rest - root[i][k] * x[k]) / root[i][i];
    }
    for i in (0..3).rev() {
        x[i] = (i + 1..3).fold(x[i], |rest, k| rest - root[k][i] * x[k]) / root[i][i];
    }
    x.iter().all(|part| part.is_finite()).then_some(x)
}
