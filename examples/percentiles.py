#!/usr/bin/env python3
"""Wakeup percentiles per configuration, from the tables of `preemptlab export`.

    preemptlab export runs/quick
    python3 examples/percentiles.py quick-export

Needs pandas, and pyarrow for Parquet. docs/export.md describes the columns.
"""

import sys
from pathlib import Path

import pandas as pd

# A configuration of a recording; cells that agree in these are replicates of each other.
CONFIGURATION = ["run", "workload", "cpus", "kernel", "preempt", "settings"]
QUANTILES = {"p50": 500, "p99": 990, "p99.9": 999}


def load(folder: Path, table: str) -> pd.DataFrame:
    parquet = folder / f"{table}.parquet"
    if parquet.exists():
        return pd.read_parquet(parquet)
    # Python reads every digit; pandas' own way, before version 4, may be off in the last one. A
    # column that is empty throughout, as that of the settings often is, would become NaN.
    rows = pd.read_csv(folder / f"{table}.csv", converters={"value": float})
    return rows.assign(settings=rows["settings"].astype(object).where(rows["settings"].notna(), ""))


def nearest_rank(samples: pd.DataFrame, permille: int) -> int:
    """The quantile as preemptlab has it: of n samples the one at rank ceil(n * permille / 1000).

    One in the overflow is given as the largest sample there, which bounds it from above.
    """
    samples = samples.sort_values("latency")
    rank = -(-int(samples["count"].sum()) * permille // 1000)
    return int(samples["latency"][samples["count"].cumsum() >= max(rank, 1)].iloc[0])


def main(folder: Path) -> None:
    cells, metrics, histograms = (load(folder, t) for t in ("cells", "metrics", "histograms"))

    # Over replicates: each cell has one p99, and a configuration the median of them.
    p99 = metrics[metrics["metric"].str.fullmatch(r"(wakeup\.(fifo|other)|response)\.p99")]
    p99 = p99.assign(probe=p99["metric"].str.removesuffix(".p99"))
    over_replicates = p99.groupby([*CONFIGURATION, "probe"], sort=False)["value"].agg(
        n="count", median="median", least="min", largest="max"
    )
    # Pooled: every sample of all replicates together.
    pooled = pd.DataFrame(
        {
            key: {name: nearest_rank(samples, q) for name, q in QUANTILES.items()}
            for key, samples in histograms.groupby([*CONFIGURATION, "probe"], sort=False)
        }
    ).T.rename_axis([*CONFIGURATION, "probe"])
    both = over_replicates.join(pooled.add_prefix("pooled "))
    print("latency, us: p99 over replicates (median, least, largest), and pooled quantiles\n")
    print(both.droplevel("run").to_string(float_format="{:.0f}".format))

    lost = cells[cells["status"] != "completed"]
    if not lost.empty:
        print("\nconfigurations with cells that were not measured\n")
        print(lost.groupby([*CONFIGURATION[1:], "status"], sort=False).size().to_string())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
