"""Node tests of ONNX, converted to NNEF, against the compiled code and the reference evaluator.

The values are ONNX's own: floating point within rtol 1e-3 and atol 1e-5, everything else exactly.
"""
import contextlib
import fcntl
import hashlib
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import pytest

from conftest import ROOT

HERE = pathlib.Path(__file__).parent
NAMES = [name for name in (HERE / "cases.txt").read_text().splitlines() if name and not name.startswith("#")]
RUNNERS = {"cpu": [], "reference": ["--reference"]}


def nnef_round(inputs):
    """NNEF rounds halves up, ONNX to even."""
    return {"y": np.floor(inputs["x"] + 0.5)}


# Where the same graph means something else in NNEF: what it gives there.
NNEF_VALUES = {"test_round": nnef_round}


@pytest.fixture(scope="session")
def cases():
    """The folder of all converted cases. Made once for the versions of the converter, by whichever worker comes first."""
    digest = hashlib.sha256()
    for path in (HERE / "make_cases.py", HERE / "cases.txt", ROOT / "tools/requirements.txt"):
        digest.update(path.read_bytes())
    store = ROOT / "build/onnx-cases"
    folder = store / digest.hexdigest()[:16]
    store.mkdir(parents=True, exist_ok=True)
    with open(store / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            make_cases(folder)
    return folder


def make_cases(folder):
    """A run that is cut short leaves no `folder` behind."""
    with contextlib.ExitStack() as stack:
        fresh = tempfile.mkdtemp(dir=folder.parent)
        stack.callback(shutil.rmtree, fresh, ignore_errors=True)
        subprocess.run([sys.executable, HERE / "make_cases.py", fresh, HERE / "cases.txt"], check=True)
        pathlib.Path(fresh).rename(folder)


def arrays(folder):
    return {path.stem: np.load(path) for path in sorted(folder.iterdir())}


@pytest.mark.parametrize("runner", RUNNERS)
@pytest.mark.parametrize("name", NAMES)
def test_onnx(cases, nnefc, tmp_path, name, runner):
    case = cases / name
    assert not (case / "error.txt").exists(), (case / "error.txt").read_text()
    given = [part for path in sorted((case / "in").iterdir()) for part in ("--input", f"{path.stem}={path}")]
    result = nnefc("run", case / "model", *given, "--output", tmp_path, *RUNNERS[runner])
    assert result.returncode == 0, result.stderr
    expected = arrays(case / "out")
    if name in NNEF_VALUES:
        expected = NNEF_VALUES[name](arrays(case / "in"))
    for output, wanted in expected.items():
        got = np.load(tmp_path / f"{output}.npy")
        assert got.shape == wanted.shape
        assert (got.dtype.kind == "f") == (wanted.dtype.kind == "f")
        if wanted.dtype.kind == "f":
            np.testing.assert_allclose(got, wanted, rtol=1e-3, atol=1e-5)
        else:
            np.testing.assert_array_equal(got, wanted)
