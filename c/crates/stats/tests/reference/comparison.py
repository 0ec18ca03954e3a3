"""Makes comparison.json: what NumPy and SciPy say, from every bootstrap sample there is.

    python3 comparison.py > comparison.json

Needs numpy and scipy (made with 2.4.6 and 1.17.1). Nothing here is random.
"""

import itertools
import json

import numpy
import scipy.stats

SAMPLES = {
    "two": [12.0, 15.0],
    "odd": [26.0, 23.0, 26.0, 24.5, 31.25],
    "ties": [13.0, 13.0, 14.0, 13.0, 12.0, 14.0],
    "wide": [7002.0, 9965.0, 7162.0, 22100.0, 8455.0, 15590.0],
    "constant": [8.0, 8.0, 8.0, 8.0, 8.0],
    "small": [0.0123, 0.0119, 0.0131, 0.0127],
}


def medians(values):
    """The distribution of the median over every sample with replacement."""
    samples = numpy.array(list(itertools.product(values, repeat=len(values))))
    found, counts = numpy.unique(numpy.median(samples, axis=1), return_counts=True)
    return found, counts / counts.sum()


def interval(values):
    found, weights = medians(values)
    middles = numpy.cumsum(weights) - weights / 2
    return [float(numpy.interp(level, middles, found)) for level in (0.025, 0.975)]


def pair(one, other):
    (left, left_weights), (right, right_weights) = medians(one), medians(other)
    ratios = (left[:, None] / right[None, :]).ravel()
    weights = (left_weights[:, None] * right_weights[None, :]).ravel()
    order = numpy.argsort(ratios, kind="stable")
    ratios, sums = ratios[order], numpy.cumsum(weights[order])
    ends = [float(ratios[numpy.argmax(sums >= level - 1e-12)]) for level in (0.032, 0.968)]
    below = float(weights[(left[:, None] < right[None, :]).ravel()].sum())
    equal = float(weights[(left[:, None] == right[None, :]).ravel()].sum())
    return {"ratio_interval": ends, "probability_below": below + equal / 2}


P_VALUES = [0.0079, 0.2, 0.0079, 0.9, 0.04, 1.0, 0.011, 0.04, 0.5]
RANKS = [1, 100, 500, 900, 990, 999, 1000]

print(
    json.dumps(
        {
            "samples": {
                name: {
                    "values": values,
                    "median": float(numpy.median(values)),
                    "interval": interval(values),
                    "quantiles": [
                        float(numpy.quantile(values, rank / 1000, method="inverted_cdf"))
                        for rank in RANKS
                    ],
                }
                for name, values in SAMPLES.items()
            },
            "pairs": {
                f"{one}/{other}": pair(SAMPLES[one], SAMPLES[other])
                for one, other in itertools.permutations(SAMPLES, 2)
            },
            "ranks": RANKS,
            "p_values": P_VALUES,
            "adjusted": scipy.stats.false_discovery_control(P_VALUES, method="bh").tolist(),
        },
        indent=1,
    )
)
