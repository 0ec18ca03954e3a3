"""Tests of the package as it was installed, on the committed recording and on those of crates/testkit."""

from __future__ import annotations

import os
import shutil
import threading
from importlib import resources
from pathlib import Path

import nbclient
import nbformat
import polars as pl
import pytest

import preemptlab

SOURCES = Path(os.environ["PREEMPTLAB_SOURCES"])
RECORDINGS = Path(os.environ["PREEMPTLAB_RECORDINGS"])
CHECK = SOURCES / "studies/check"

TABLES = ["cells", "metrics", "histograms", "instants", "sections"]
FACTORS = preemptlab.read(CHECK).cells.columns[:14]


def table(run: preemptlab.Run, name: str) -> pl.DataFrame:
    found = getattr(run, name)
    assert isinstance(found, pl.DataFrame)
    return found


def copy(name: str, folder: Path) -> Path:
    path = folder / name
    shutil.copytree(RECORDINGS / name, path)
    return path


def test_the_committed_recording() -> None:
    run = preemptlab.read(CHECK)
    cell = run.cells.row(0, named=True)
    assert run.cells.height == 1
    assert (cell["run"], cell["kernel"], cell["status"]) == ("check", "debian:6.12.107+deb13", "completed")
    assert cell["digest"] in (SOURCES / "README.md").read_text()
    assert run.metrics.height == 15
    throughput = run.metrics.row(by_predicate=pl.col("metric") == "throughput", named=True)
    assert (throughput["unit"], throughput["better"]) == ("messages/s", "higher")
    # The job's number of loops.
    assert run.histograms.filter(probe="wakeup.fifo")["count"].sum() == 1100
    for name in TABLES:
        rows = table(run, name)
        assert rows.height == 0 or rows["id"].unique().to_list() == [cell["id"]]


def test_every_column_is_described_and_has_a_unit() -> None:
    run = preemptlab.read(RECORDINGS / "traced")
    assert preemptlab.Run.__doc__
    assert all(f"``{factor}``" in preemptlab.Run.__doc__ for factor in FACTORS)
    for name in TABLES:
        rows = table(run, name)
        assert rows.columns[:14] == FACTORS
        described = getattr(preemptlab.Run, name).__doc__
        for column in rows.columns[14:]:
            assert f"``{column}``" in described, f"{column} of {name}"
            is_time = column.startswith(("latency", "later", "window", "length"))
            assert not is_time or "_ns" in column or "unit" in rows.columns
    types = run.instants.select("cpus", "rt", "seed", "latency_ns").schema
    assert types.dtypes() == [pl.UInt32, pl.Boolean, pl.Int64, pl.Int64]


def test_instants_are_the_curve_whose_end_is_the_worst() -> None:
    run = preemptlab.read(RECORDINGS / "traced")
    traced = run.instants["id"].unique(maintain_order=True).to_list()
    assert traced
    for cell in traced:
        curve = run.instants.filter(id=cell)
        assert curve["latency_ns"].is_sorted() and curve["later_ns"].is_sorted(descending=True)
        assert curve["window_ns"].n_unique() == 1
        assert (curve["later_ns"] <= curve["window_ns"]).all() and curve["later_ns"][-1] == 0
        worst_us = run.metrics.filter(id=cell, metric="latency.worst")["value"].item()
        later = curve.filter(pl.col("later_ns") > 0)["latency_ns"].max()
        assert isinstance(later, int) and later <= worst_us * 1000


def test_sections_are_the_longest_of_each_function() -> None:
    run = preemptlab.read(RECORDINGS / "traced")
    assert run.sections.height > 2
    for _, sections in run.sections.group_by("id"):
        assert sections["length_ns_max"].is_sorted(descending=True)
        assert sections.select("kind", "function").is_unique().all()
        assert (sections["length_ns_total"] >= sections["length_ns_max"]).all()
        at_most = sections["length_ns_max"] * sections["count"]
        assert (sections["length_ns_total"] <= at_most).all()
    assert set(run.sections["kind"]) <= {"preemption", "interrupts", "softirq"}
    assert "do_nanosleep" in run.sections["function"].to_list()


def test_what_was_not_measured_is_a_cell_with_a_reason() -> None:
    run = preemptlab.read(RECORDINGS / "troubled")
    counts = dict(run.cells.group_by("status").len().iter_rows())
    assert counts == {"completed": 8, "failed": 1, "missing": 1}
    assert run.cells.filter(status="failed")["reason"].to_list() == ["the guest used up its virtual time"]
    assert run.metrics["id"].n_unique() == 8
    assert run.instants.height == run.sections.height == 0
    assert run.instants.schema["latency_ns"] == pl.Int64


def test_several_recordings_are_told_apart(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="the machines of .* differ: cost is"):
        both = preemptlab.read(RECORDINGS / "traced", str(RECORDINGS / "troubled"))
    assert both.cells["run"].unique(maintain_order=True).to_list() == ["traced", "troubled"]
    with pytest.raises(preemptlab.RecordingError, match="named twice"):
        preemptlab.read(CHECK, CHECK)
    other = copy("traced", tmp_path)
    with pytest.warns(UserWarning, match="share 4 cells"):
        twins = preemptlab.read(RECORDINGS / "traced", other)
    with pytest.raises(preemptlab.RecordingError, match="two recordings are called `traced`"):
        _ = twins.cells


def test_a_table_is_read_when_it_is_asked_for_and_once(tmp_path: Path) -> None:
    path = copy("traced", tmp_path)
    run = preemptlab.read(path)
    cells = run.cells
    assert run.cells is cells
    for cell in (path / "cells").iterdir():
        cell.write_bytes(cell.read_bytes()[:100])
    assert run.cells is cells
    with pytest.raises(preemptlab.RecordingError, match="cannot be read"):
        _ = run.instants


def test_no_recording_is_refused_by_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("a text")
    os.mkfifo(tmp_path / "pipe")
    before = [sorted(folder.rglob("*")) for folder in (tmp_path, RECORDINGS)]
    for path, words in [
        (tmp_path / "nowhere", "there is no folder"),
        (tmp_path / "empty", "is not a recording: it has no recording.json"),
        (tmp_path / "file", "is not a recording"),
        (tmp_path / "pipe", "is not a recording"),
        (RECORDINGS / "newer", "has format 99, and this preemptlab reads 3; use the newer one that wrote it"),
        ("a\0b", "a"),
        ("\x1b[2J", "there is no folder"),
        (b"bytes", None),
        (7, None),
    ]:
        expected = TypeError if words is None else preemptlab.RecordingError
        with pytest.raises(expected) as refused:
            preemptlab.read(path)  # type: ignore[arg-type]
        assert words is None or words in str(refused.value), refused.value
        assert "\x1b" not in str(refused.value)
    assert [sorted(folder.rglob("*")) for folder in (tmp_path, RECORDINGS)] == before
    assert issubclass(preemptlab.RecordingError, ValueError)
    with pytest.raises(TypeError):
        preemptlab.read()  # type: ignore[call-arg]


def test_damaged_files_are_refused_or_read_and_never_a_panic(tmp_path: Path) -> None:
    path = copy("traced", tmp_path)
    refused = 0
    for file in sorted(file for file in path.rglob("*") if file.is_file()):
        sound = file.read_bytes()
        size = len(sound)
        damaged = [b"", b"{}", b"[]", b"null", b"\xff" * 64, sound[: size // 2], sound[:-1], sound + sound]
        for at in range(0, size, max(1, size // 12)):
            damaged.append(sound[:at] + bytes([sound[at] ^ 0x15]) + sound[at + 1 :])
        for wrong in damaged:
            file.write_bytes(wrong)
            try:
                run = preemptlab.read(path)
                for name in TABLES:
                    table(run, name)
            except preemptlab.RecordingError as error:
                refused += 1
                assert str(error) and "defect" not in str(error), error
        file.write_bytes(sound)
    assert refused > 50


def test_threads_read_at_the_same_time() -> None:
    run = preemptlab.read(RECORDINGS / "traced")
    seen: list[int] = []

    def read() -> None:
        seen.append(preemptlab.read(RECORDINGS / "traced").sections.height + run.instants.height)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 4 and len(set(seen)) == 1


def test_the_package_is_typed() -> None:
    assert resources.files("preemptlab").joinpath("py.typed").is_file()


def test_the_notebook_draws_its_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = nbformat.read(SOURCES / "examples/quick.ipynb", as_version=4)  # type: ignore[no-untyped-call]
    # It is committed without what it shows.
    assert all(not cell.outputs for cell in notebook.cells if cell.cell_type == "code")
    monkeypatch.setenv("PREEMPTLAB_RUN", str(RECORDINGS / "traced"))
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    shown = [set(output.get("data", ())) for cell in code for output in cell.outputs]
    assert all(data for data in shown), notebook.cells
    assert any("image/png" in data for data in shown)
