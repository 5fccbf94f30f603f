"""nnefc tune, compile --tune and --tuning: how the database is made, found and used."""
import json
import os
import re
import signal
import subprocess

import numpy as np
import pytest

from conftest import NNEFC

POOL = "max_pool(x, size = [1,1,{0},{0}], border = 'constant')"


def model(folder, sizes):
    """Writes a model with one kernel for each size; returns its path."""
    results = [f"y{size}" for size in sizes]
    lines = [f"    y{size} = {POOL.format(size)};" for size in sizes]
    (folder / "graph.nnef").write_text("version 1.0;\ngraph pools(x) -> (" + ", ".join(results) + ")\n{\n"
                                       "    x = external(shape = [1,32,20,20]);\n" + "\n".join(lines) + "\n}\n")
    return folder


@pytest.fixture(scope="module")
def tuned(nnefc, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tuned")
    database = folder / "cache" / "tuning.jsonl"
    result = nnefc("tune", model(folder, [3, 5]), "--seconds", 100, "--tuning", database)
    assert result.returncode == 0, result.stderr
    return folder, database, result


def summary(folder, database, kernels, measured):
    return f"{kernels - measured} of {kernels} kernels from {database}, {measured} measured"


def test_measures_each_kernel(tuned):
    folder, database, result = tuned
    records = [json.loads(line) for line in database.read_text().splitlines()]
    kernels = len(records)
    assert kernels >= 2
    assert result.stdout.startswith(f"{folder}: tuning: " + summary(folder, database, kernels, kernels))
    assert len(re.findall(r"^tuning \d+/\d+ \w+: [\d.]+ ms, by rule [\d.]+ ms; best gain [\d.]+; \d+ s left$",
                          result.stderr, re.MULTILINE)) == kernels
    assert all(0 < record["microseconds"] <= record["by_rule"] for record in records)


def test_measures_nothing_twice(nnefc, tuned):
    folder, database, _ = tuned
    before = database.read_text()
    kernels = len(before.splitlines())
    result = nnefc("tune", folder, "--tuning", database)
    assert result.stdout == f"{folder}: tuning: " + summary(folder, database, kernels, 0) + "\n"
    assert result.stderr == ""
    assert database.read_text() == before


def test_is_used_without_being_asked(nnefc, tuned, tmp_path):
    folder, database, _ = tuned
    kernels = len(database.read_text().splitlines())
    line = f"tuning: {kernels} of {kernels} kernels from {database}"
    assert line in nnefc("compile", folder, "-o", tmp_path / "a.so", "--tuning", database).stdout.splitlines()
    by_place = {"NNEF_TVM_TUNING": {"NNEF_TVM_TUNING": str(database)},
                "XDG_CACHE_HOME": {"NNEF_TVM_TUNING": "", "XDG_CACHE_HOME": str(tmp_path / "xdg")},
                "HOME": {"NNEF_TVM_TUNING": "", "XDG_CACHE_HOME": "", "HOME": str(tmp_path / "home")}}
    for place in ("xdg", "home/.cache"):
        (tmp_path / place / "tvm-nnef").mkdir(parents=True)
        (tmp_path / place / "tvm-nnef" / "tuning.jsonl").write_text(database.read_text())
    for name, environment in by_place.items():
        result = subprocess.run([NNEFC, "compile", folder, "-o", tmp_path / "b.so"], capture_output=True, text=True,
                                env={**os.environ, **environment})
        assert f"tuning: {kernels} of {kernels} kernels from " in result.stdout, name
        ignored = subprocess.run([NNEFC, "compile", folder, "-o", tmp_path / "b.so", "--tuning", "none"],
                                 capture_output=True, text=True, env={**os.environ, **environment})
        assert "tuning" not in ignored.stdout, name


def test_gives_the_same_numbers(nnefc, tuned, tmp_path):
    folder, database, _ = tuned
    x = np.random.default_rng(1).standard_normal((1, 32, 20, 20), dtype="float32")
    np.save(tmp_path / "x.npy", x)
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    np.save(tmp_path / "y3.npy", windows.max(axis=(4, 5)))
    result = nnefc("run", folder, "--tuning", database, "--input", f"x={tmp_path / 'x.npy'}",
                   "--expect", f"y3={tmp_path / 'y3.npy'}")
    assert result.returncode == 0, result.stderr


def test_interrupted_run_keeps_what_it_found(tmp_path):
    database, artefact = tmp_path / "tuning.jsonl", tmp_path / "model.so"
    process = subprocess.Popen([NNEFC, "compile", model(tmp_path, range(2, 14)), "-o", artefact, "--tune", "1000",
                                "--tuning", database], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    first = process.stderr.readline()
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=200)
    assert first.startswith("tuning 1/"), first
    assert process.returncode == 0
    assert stderr.endswith("interrupted: what was measured so far is used\n")
    assert artefact.stat().st_size > 0 and stdout.startswith(f"{artefact}: ")
    records = [json.loads(line) for line in database.read_text().splitlines()]
    assert 0 < len(records) < 12
