//! Intervals by the profile likelihood.

use crate::Interval;

use super::{
    likelihood::{Likelihood, Point, SHAPE},
    maximum::{Maximum, hold, information, maximise, solve},
};

/// The root of the deviance that ends a 95 % interval: the normal distribution's 97.5 % quantile.
const ROOT: f64 = 1.959_963_984_540_054;

/// Maxima at shapes below are those at the border of the parameter space.
const BORDER: f64 = -0.99;

/// Returns the 95 % interval of a coordinate: the range in which twice the log-likelihood, maximal
/// over the other two coordinates, is less than the chi-squared quantile below its maximum (Coles
/// 2001, section 2.6). An interval of the shape ends at the border of the parameter space when it
/// gets there; `None` if an end is out of reach.
pub fn interval(likelihood: &Likelihood, top: &Maximum, coordinate: usize) -> Option<Interval> {
    let mut unit = [0.0; 3];
    unit[coordinate] = 1.0;
    let error = solve(&information(&top.local), unit)?[coordinate].sqrt();
    let end = |direction| {
        let nearest = (0.0, top.clone());
        let mut profile = Profile { likelihood, top, nearest, coordinate, direction };
        Some(top.point[coordinate] + direction * profile.end(error * ROOT)?)
    };
    Some(Interval { low: end(-1.0)?, high: end(1.0)? })
}

/// One side of a profile.
struct Profile<'a> {
    likelihood: &'a Likelihood<'a>,
    top: &'a Maximum,
    /// The farthest maximum known within the interval, and its distance: searches start there.
    nearest: (f64, Maximum),
    coordinate: usize,
    direction: f64,
}

impl Profile<'_> {
    /// Returns the distance of the interval's end; `first` is a guess.
    fn end(&mut self, first: f64) -> Option<f64> {
        const STEPS: usize = 100;
        let (mut near, mut far) = ((0.0, -ROOT), first);
        let mut border = None;
        for _ in 0..STEPS {
            match self.excess(far) {
                Some(excess) if excess >= 0.0 => return self.root(near, (far, excess)),
                Some(excess) => near = (far, excess),
                None => border = Some(far),
            }
            far = border.map_or(far * 2.0, |border| f64::midpoint(near.0, border));
        }
        // Any other failure to get on would pass for an end that is too near.
        let at = self.top.point[SHAPE] + self.direction * near.0;
        (self.coordinate == SHAPE && at < BORDER).then_some(near.0)
    }

    /// Returns the root between two distances, by the Illinois form of the false position.
    fn root(&mut self, mut near: (f64, f64), mut far: (f64, f64)) -> Option<f64> {
        const STEPS: usize = 200;
        let mut last_within = None;
        for _ in 0..STEPS {
            let distance = (near.0 * far.1 - far.0 * near.1) / (far.1 - near.1);
            let excess = self.excess(distance)?;
            if excess.abs() < 1e-11 || far.0 - near.0 < 1e-13 * far.0 {
                return Some(distance);
            }
            let within = excess < 0.0;
            let factor = if last_within == Some(within) { 0.5 } else { 1.0 };
            last_within = Some(within);
            if within {
                (near, far.1) = ((distance, excess), far.1 * factor);
            } else {
                (near.1, far) = (near.1 * factor, (distance, excess));
            }
        }
        None
    }

    /// Returns by how much the root of the deviance exceeds the interval's, which grows about
    /// evenly with the distance; `None` outside the parameter space.
    fn excess(&mut self, distance: f64) -> Option<f64> {
        const STEPS: usize = 60;
        let mut next = distance;
        for _ in 0..STEPS {
            let Some(found) = self.follow(next) else {
                next = f64::midpoint(self.nearest.0, next);
                continue;
            };
            let deviance = f64::max(2.0 * (self.top.local.value - found.local.value), 0.0);
            let excess = deviance.sqrt() - ROOT;
            if next == distance || excess > 0.0 {
                if excess < 0.0 {
                    self.nearest = (next, found);
                }
                // How far outside is of no interest, and would spoil the false position.
                return Some(excess.min(ROOT));
            }
            self.nearest = (next, found);
            next = distance;
        }
        None
    }

    /// Returns the maximum at a distance, along the line of the nearest one; `None` if it does not
    /// lead there.
    fn follow(&self, distance: f64) -> Option<Maximum> {
        let (from, nearest) = &self.nearest;
        let by = self.direction * (distance - from);
        let mut matrix = information(&nearest.local);
        let mut right = nearest.local.hessian[self.coordinate].map(|entry| entry * by);
        hold(&mut matrix, self.coordinate, 1.0);
        right[self.coordinate] = by;
        let along = solve(&matrix, right)?;
        let mut start: Point = std::array::from_fn(|i| nearest.point[i] + along[i]);
        start[self.coordinate] = self.top.point[self.coordinate] + self.direction * distance;
        let found = maximise(self.likelihood, start, Some(self.coordinate))?;
        (found.interior || found.point[SHAPE] < BORDER).then_some(found)
    }
}
