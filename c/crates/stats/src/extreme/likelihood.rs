//! The log-likelihood of the generalised extreme value distribution, with both derivatives.

/// The coordinates: a quantile, the logarithm of the scale, the shape.
pub const QUANTILE: usize = 0;
/// See [`QUANTILE`].
pub const LOG_SCALE: usize = 1;
/// See [`QUANTILE`].
pub const SHAPE: usize = 2;

/// A point of the parameter space: quantile, logarithm of the scale, shape.
pub type Point = [f64; 3];

/// The log-likelihood at a point, and how it changes there.
#[derive(Clone, Debug)]
pub struct Local {
    pub value: f64,
    pub gradient: [f64; 3],
    pub hessian: [[f64; 3]; 3],
}

/// Log-likelihood of independent values. One of the quantiles of their distribution gives its
/// location, so that an interval of a quantile is an interval of a coordinate.
#[derive(Clone, Copy, Debug)]
pub struct Likelihood<'a> {
    pub values: &'a [f64],
    /// Quantile of the location: `-ln(-ln(p))` of its probability `p`. The location itself is that
    /// of zero.
    pub variate: f64,
}

impl Likelihood<'_> {
    /// Returns the likelihood at a point; `None` outside the parameter space: where a value is
    /// beyond the end of the distribution, or so near that a slope is infinite, and at shapes up to
    /// -1, at which the likelihood has no bound (Smith 1985).
    pub fn at(&self, point: &Point) -> Option<Local> {
        let [quantile, log_scale, shape] = *point;
        if shape <= -1.0 {
            return None;
        }
        let inverse_scale = libm::exp(-log_scale);
        let [offset, offset_1, offset_2] = reduced(self.variate, shape);
        let count = self.values.len() as f64;
        let mut local = Local {
            value: -count * log_scale,
            gradient: [0.0, -count, 0.0],
            hessian: [[0.0; 3]; 3],
        };
        for value in self.values {
            // `w` would be the standard Gumbel variate in the value's place. Its derivatives by `y`
            // and by the shape alone come first, those by the coordinates next.
            let scaled = (value - quantile) * inverse_scale;
            let y = scaled + offset;
            let u = shape * y;
            if u <= -1.0 {
                return None;
            }
            let [log, log_1, log_2] = log_ratio(u);
            let (w, w_y) = (y * log, 1.0 / (1.0 + u));
            let (w_yy, w_yk, w_kk) = (-shape * w_y * w_y, -y * w_y * w_y, y * y * y * log_2);
            let t = libm::exp(-w);
            let y_by = [-inverse_scale, -scaled, offset_1];
            let by = [w_y * y_by[0], w_y * y_by[1], w_y * offset_1 + y * y * log_1];
            let y_by_2 =
                [[0.0, inverse_scale, 0.0], [inverse_scale, scaled, 0.0], [0.0, 0.0, offset_2]];
            let slope = t - (1.0 + shape);
            local.value -= (1.0 + shape) * w + t;
            local.gradient[SHAPE] -= w;
            for i in 0..3 {
                local.gradient[i] += slope * by[i];
                for j in 0..3 {
                    let (k_i, k_j) = (f64::from(i == SHAPE), f64::from(j == SHAPE));
                    let by_2 = w_yy * y_by[i] * y_by[j]
                        + w_y * y_by_2[i][j]
                        + w_yk * (y_by[i] * k_j + y_by[j] * k_i)
                        + w_kk * k_i * k_j;
                    local.hessian[i][j] +=
                        slope * by_2 - t * by[i] * by[j] - by[i] * k_j - by[j] * k_i;
                }
            }
        }
        let mut slopes = local.hessian.iter().flatten().chain(&local.gradient);
        (local.value.is_finite() && slopes.all(|slope| slope.is_finite())).then_some(local)
    }
}

/// Returns the standard distribution's quantile `(exp(k r) - 1) / k`, and its derivatives by the
/// shape `k`.
pub fn reduced(variate: f64, shape: f64) -> [f64; 3] {
    let v = variate * shape;
    let ratios = if v.abs() < 0.5 {
        let mut term = 1.0;
        series(
            |k| {
                term /= (k + 1) as f64;
                term
            },
            v,
        )
    } else {
        let exp = libm::exp(v);
        let ratio = libm::expm1(v) / v;
        let ratio_1 = (exp - ratio) / v;
        [ratio, ratio_1, (exp - 2.0 * ratio_1) / v]
    };
    [variate * ratios[0], variate * variate * ratios[1], variate * variate * variate * ratios[2]]
}

/// Returns `ln(1 + u) / u` and its derivatives, for `u > -1`.
pub fn log_ratio(u: f64) -> [f64; 3] {
    if u.abs() < 0.1 {
        return series(|k| if k % 2 == 0 { 1.0 } else { -1.0 } / (k + 1) as f64, u);
    }
    let inverse = 1.0 / (1.0 + u);
    let ratio = libm::log1p(u) / u;
    let ratio_1 = (inverse - ratio) / u;
    [ratio, ratio_1, -(inverse * inverse + 2.0 * ratio_1) / u]
}

/// Returns a power series and its derivatives: near zero the closed forms are differences of
/// equals.
fn series(mut coefficient: impl FnMut(usize) -> f64, x: f64) -> [f64; 3] {
    const TERMS: usize = 20;
    let coefficients: [f64; TERMS] = std::array::from_fn(&mut coefficient);
    let mut sums = [0.0; 3];
    for c in coefficients.into_iter().rev() {
        sums = [sums[0] * x + c, sums[1] * x + sums[0], sums[2] * x + 2.0 * sums[1]];
    }
    sums
}
