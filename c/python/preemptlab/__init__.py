"""Reads recordings of preemptlab as data frames.

A recording is the folder that ``preemptlab run`` writes. Each of its tables is a `polars.DataFrame`, which
``to_pandas()`` turns into one of pandas:

>>> import preemptlab
>>> run = preemptlab.read("runs/quick")
>>> run.metrics.filter(metric="latency.worst")

The tables are those of ``preemptlab export``, and docs/export.md describes each column. A column whose unit is
always the same has it in its name (``length_ns_max``); beside the others stands a column ``unit``.
"""

from __future__ import annotations

import os
import warnings
from functools import cached_property

import polars as pl

from preemptlab._native import RecordingError, Recordings

__all__ = ["RecordingError", "Run", "read"]


def read(path: str | os.PathLike[str], *more: str | os.PathLike[str]) -> Run:
    """Opens recordings. Their cells are read when a table is asked for.

    Warns where the machines of recordings differ, and where they share cells, whose measurements would count twice.

    Parameters
    ----------
    path, *more
        The folders of the recordings. Their names tell them apart in the tables (``run``).

    Raises
    ------
    RecordingError
        When a folder holds no recording, one of a newer format or a damaged one, when two have one name, and when one
        name stands for two workloads.
    """
    recordings = Recordings([path, *more])
    for warning in recordings.warnings:
        warnings.warn(warning, stacklevel=2)
    return Run(recordings)


class Run:
    """The tables of recordings.

    A table is read when it is asked for first, and kept; ``cells`` and ``metrics`` are read together. Reading raises
    `RecordingError` where a cell cannot be read.

    Each table begins with the factors, which say whose a row is: ``run``, ``backend``, ``workload``, ``cpus``,
    ``kernel``, ``release``, ``rt``, ``preempt``, ``settings``, ``observed``, ``replicate``, ``seed``, ``prices``,
    ``id``. Cells that agree in ``run``, ``backend``, ``workload``, ``cpus``, ``kernel``, ``preempt``, ``settings`` and
    ``prices`` are replicates of each other.
    """

    def __init__(self, recordings: Recordings) -> None:
        self._recordings = recordings

    @property
    def cells(self) -> pl.DataFrame:
        """One row per cell of the plan, whatever became of it.

        Beside the factors: ``look``, ``status``, ``reason``, ``digest``. Failures are data: count them before you
        compare what is left.
        """
        return self._cells_and_metrics[0]

    @property
    def metrics(self) -> pl.DataFrame:
        """One row per completed cell and metric.

        Beside the factors: ``metric``, ``value`` in ``unit``, and ``better``, which is ``lower`` or ``higher``.
        """
        return self._cells_and_metrics[1]

    @cached_property
    def histograms(self) -> pl.DataFrame:
        """One row per completed cell, probe and bucket that is not empty: the samples of cyclictest and its like.

        Beside the factors: ``probe``, ``kind``, ``latency`` in ``unit``, ``count``. A ``kind`` of ``overflow`` stands
        for all samples above the last bucket; its ``latency`` is the largest of them.
        """
        return self._tables("histograms")[0]

    @cached_property
    def instants(self) -> pl.DataFrame:
        """One row per completed cell and latency: how much of the time a real-time task would be later.

        Beside the factors: ``latency_ns``, ``later_ns``, ``window_ns``. The share of instants that are later than
        ``latency_ns`` is ``later_ns / window_ns``. Below the first latency of a cell all instants are later, above the
        last one none. Only cells in virtual time have rows: docs/latency.md.
        """
        return self._tables("instants")[0]

    @cached_property
    def sections(self) -> pl.DataFrame:
        """One row per completed cell, function and kind of section in which a real-time task has to wait.

        Beside the factors: ``kind`` (``preemption``, ``interrupts`` or ``softirq``), ``function``, ``callers``,
        ``count``, ``length_ns_max``, ``length_ns_total``; the longest first. Only cells in virtual time have rows.
        """
        return self._tables("sections")[0]

    @cached_property
    def _cells_and_metrics(self) -> list[pl.DataFrame]:
        # Every cell has to be read for either.
        return self._tables("cells", "metrics")

    def _tables(self, *names: str) -> list[pl.DataFrame]:
        return [pl.read_parquet(table) for table in self._recordings.tables(names)]
