#!/usr/bin/env python3
"""Writes extreme.json: samples, and what the fit of each of them is.

SciPy finds the maximum of the likelihood, mpmath polishes it with 30 digits: the parameters as the
root of the gradient, an end of an interval as the root of the profile's deviance. It shares with
the crate only the formula of the distribution. Needs numpy, scipy and mpmath.
"""

import json
import pathlib

import mpmath as mp
import numpy as np
from scipy import optimize, stats

mp.mp.dps = 30

# Coles (2001), example 1.1: annual maximum sea levels at Port Pirie, 1923 to 1987, in metres.
PORT_PIRIE = """
4.03 3.83 3.65 3.88 4.01 4.08 4.18 3.80 4.36 3.96 3.98 4.69 3.85 3.96 3.85 3.93 3.75 3.63 3.57 4.25
3.97 4.05 4.24 4.22 3.73 4.37 4.06 3.71 3.96 4.06 4.55 3.79 3.89 4.11 3.85 3.86 3.86 4.21 4.01 4.11
4.24 3.96 4.21 3.74 3.85 3.88 3.66 4.11 3.71 4.18 3.90 3.78 3.91 3.72 4.00 3.66 3.62 4.33 4.55 3.75
4.08 3.90 3.88 3.94 4.33
"""


def samples():
    yield "port pirie", [float(text) for text in PORT_PIRIE.split()]
    for name, n, shape, location, scale, digits in [
        ("bounded", 100, -0.25, 900.0, 60.0, 3),
        ("gumbel, few", 20, 0.0, 41.0, 6.0, 3),
        ("heavy", 50, 0.25, 9000.0, 2500.0, 0),
        ("heavy, few", 25, 0.4, 120.0, 15.0, 3),
        ("whole microseconds", 60, 0.0, 60.0, 5.0, 0),
    ]:
        rng = np.random.default_rng(7)
        values = stats.genextreme.rvs(-shape, location, scale, size=n, random_state=rng)
        yield name, [round(float(value), digits) for value in values]


def log_density(value, location, scale, shape):
    y = (value - location) / scale
    w = mp.log1p(shape * y) / shape if shape else y
    return -mp.log(scale) - (1 + shape) * w - mp.exp(-w)


class Fit:
    """The fit of standardised values, with a quantile in the location's place."""

    def __init__(self, values, blocks=None):
        exact = [mp.mpf(repr(value)) for value in values]
        self.centre = mp.fsum(exact) / len(exact)
        self.unit = mp.sqrt(mp.fsum((value - self.centre) ** 2 for value in exact) / len(exact))
        self.values = [(value - self.centre) / self.unit for value in exact]
        self.floats = np.array([float(value) for value in self.values])
        self.blocks = blocks
        options = {"xatol": 1e-6, "fatol": 1e-9, "maxiter": 10000, "maxfev": 10000}
        start = [2.0 if blocks else -0.4, -0.2, 0.05]
        rough = optimize.minimize(
            lambda p: self.rough(*p), start, method="Nelder-Mead", options=options)
        self.top = list(mp.findroot(self.gradient, list(rough.x), tol=1e-40))
        self.maximum = self.log_likelihood(*self.top)

    def location(self, at, log_scale, shape):
        """The location of the distribution that has this quantile."""
        if self.blocks is None:
            return at
        variate = -mp.log(-mp.log1p(-1 / mp.mpf(self.blocks)))
        return at - mp.exp(log_scale) * mp.expm1(shape * variate) / shape

    def rough_location(self, at, log_scale, shape):
        if self.blocks is None:
            return at
        return at - np.exp(log_scale) * stats.genextreme.ppf(1 - 1 / self.blocks, -shape)

    def rough(self, at, log_scale, shape):
        """The negative log-likelihood according to SciPy, whose shape has the other sign."""
        if shape <= -0.99 or shape == 0:
            return 1e10
        location = self.rough_location(at, log_scale, shape)
        value = stats.genextreme.nnlf([-shape, location, np.exp(log_scale)], self.floats)
        return value if np.isfinite(value) else 1e10

    def log_likelihood(self, at, log_scale, shape):
        location, scale = self.location(at, log_scale, shape), mp.exp(log_scale)
        return mp.fsum(log_density(value, location, scale, shape) for value in self.values)

    def gradient(self, *p):
        """By central differences, whose error is far below what is compared."""
        return [
            mp.diff(lambda x: self.log_likelihood(*p[:i], x, *p[i + 1 :]), p[i]) for i in range(3)
        ]

    def interval(self, coordinate):
        """Where the profile's deviance is at most the chi-squared distribution's 95 % quantile."""
        chi = 2 * mp.erfinv(mp.mpf("0.95")) ** 2
        return [self.end(coordinate, sign, chi) for sign in (-1, 1)]

    def end(self, coordinate, sign, chi):
        """Follows the profile in small steps to beyond the end, and solves for it there."""
        others = [i for i in range(3) if i != coordinate]

        def deviance(p):
            return 2 * (self.maximum - self.log_likelihood(*p))

        def profile(distance, start):
            def equations(*nuisance):
                p = place(nuisance)
                gradient = self.gradient(*p)
                return [gradient[i] for i in others]

            def place(nuisance):
                p = [None] * 3
                p[coordinate] = self.top[coordinate] + sign * distance
                p[others[0]], p[others[1]] = nuisance
                return p

            return place(mp.findroot(equations, [start[i] for i in others], tol=1e-20))

        step = mp.mpf("0.05")
        before, last, distance = self.top, self.top, mp.mpf(0)
        root = mp.mpf(0)
        while root**2 < chi:
            ratio = step / (abs(last[coordinate] - before[coordinate]) or 1)
            start = [x + (x - y) * ratio for x, y in zip(last, before)]
            try:
                found = profile(distance + step, start)
                found_root = mp.sqrt(deviance(found))
                assert found_root.imag == 0 and 0 < found_root - root < 1
            except (ValueError, ZeroDivisionError, AssertionError):
                step /= 2
                continue
            before, last, distance = last, found, distance + step
            step *= min(2, 0.3 / (found_root - root))
            root = found_root

        def excess(at):
            part = (at - previous) / (distance - previous)
            start = [x + (y - x) * part for x, y in zip(before, last)]
            return mp.sqrt(deviance(profile(at, start))) - mp.sqrt(chi)

        previous = abs(before[coordinate] - self.top[coordinate])
        at = mp.findroot(excess, (previous, distance), solver="illinois", tol=1e-32)
        return self.top[coordinate] + sign * at

    def estimate(self, coordinate, convert):
        low, high = self.interval(coordinate)
        value = self.top[coordinate]
        assert low < value < high
        ends = {"value": value, "low": low, "high": high}
        return {name: float(convert(end)) for name, end in ends.items()}

    def position(self):
        return self.estimate(0, lambda x: self.centre + self.unit * x)

    def scale(self):
        return self.estimate(1, lambda x: self.unit * mp.exp(x))

    def shape(self):
        return self.estimate(2, lambda x: x)

    def anderson_darling(self):
        """With the probability of what is rounded to a value shared between those that have it."""
        location, scale, shape = self.top[0], mp.exp(self.top[1]), self.top[2]

        def below(value):
            u = 1 + shape * (value - location) / scale
            return mp.exp(-(u ** (-1 / shape))) if u > 0 else mp.mpf(shape < 0)

        ordered = sorted(self.values)
        step = min(b - a for a, b in zip(ordered, ordered[1:]) if b > a)
        p = []
        for value in sorted(set(ordered)):
            m = ordered.count(value)
            low, high = below(value - step / 2), below(value + step / 2)
            shared = [low + (high - low) * (i + 0.5) / m for i in range(m)]
            p += [below(value)] if m == 1 else shared
        n = len(p)
        return float(-n - mp.fsum((2 * i + 1) * (mp.log(p[i]) + mp.log(1 - p[n - 1 - i]))
                                  for i in range(n)) / n)


def case(name, values):
    fit = Fit(values)
    return {
        "name": name,
        "maxima": values,
        "location": fit.position(),
        "scale": fit.scale(),
        "shape": fit.shape(),
        "levels": [
            {"blocks": blocks, **Fit(values, blocks).position()} for blocks in (10, 100, 1000)
        ],
        "anderson_darling": fit.anderson_darling(),
    }


if __name__ == "__main__":
    cases = [json.dumps(case(name, values)) for name, values in samples()]
    path = pathlib.Path(__file__).with_suffix(".json")
    path.write_text("[\n" + ",\n".join(cases) + "\n]\n")
