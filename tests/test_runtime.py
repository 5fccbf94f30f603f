"""What running an artefact costs beside time: memory, and requests for it."""
import json
import os
import pathlib
import subprocess

import numpy as np
import pytest

from conftest import NNEFC, ROOT

WIDE = """version 1.0;
graph g(x) -> (y, z)
{
    x = external<scalar>(shape = [1,16,48,48]);
    f1 = variable<scalar>(shape = [64,16,3,3], label = 'f1');
    f2 = variable<scalar>(shape = [64,64,3,3], label = 'f2');
    w = variable<scalar>(shape = [1000,64], label = 'w');
    c1 = relu(conv(x, f1, padding = [(1,1),(1,1)], stride = [2,2]));
    c2 = relu(conv(c1, f2, padding = [(1,1),(1,1)]));
    z = c1 + c2;
    y = linear(squeeze(mean_reduce(z, axes = [2,3]), axes = [2,3]), w, 0.0);
}
"""


@pytest.fixture(scope="module")
def artefact(nnefc, tmp_path_factory):
    import nnef
    folder = tmp_path_factory.mktemp("wide")
    (folder / "graph.nnef").write_text(WIDE.replace("graph g", "extension KHR_enable_operator_expressions;\ngraph g"))
    for name, shape in (("f1", (64, 16, 3, 3)), ("f2", (64, 64, 3, 3)), ("w", (1000, 64))):
        with open(folder / f"{name}.dat", "wb") as file:
            nnef.write_tensor(file, np.ones(shape, dtype=np.float32))
    result = nnefc("compile", "graph.nnef", "-o", "model.so", cwd=folder)
    assert result.returncode == 0, result.stderr
    return folder / "model.so"


@pytest.fixture(scope="module")
def counter(tmp_path_factory):
    library = tmp_path_factory.mktemp("counter") / "count.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, ROOT / "tests/count_allocations.c", "-ldl"], check=True)
    return library


@pytest.mark.parametrize("threads", [1, 2])
def test_no_allocation_after_the_first_inference(artefact, counter, tmp_path, threads):
    """Whatever the number of inferences, the process asks for memory as often. The times of runs are kept in one array."""
    counts = []
    for repeat in (10, 14, 60):
        environment = {**os.environ, "LD_PRELOAD": str(counter), "ALLOCATIONS": str(tmp_path / "count")}
        subprocess.run([NNEFC, "bench", artefact, "--threads", str(threads), "--repeat", str(repeat)], env=environment, check=True,
                       capture_output=True)
        counts.append(int((tmp_path / "count").read_text()))
    assert counts[0] > 10 and len(set(counts)) == 1


def test_weights_stay_in_the_file(artefact, nnefc):
    """Pages of the weights are the file's: none became the process's own by being written to. (Private_Dirty of smaps also
    counts pages of the file that the system has not written to the disk yet.)"""
    described = json.loads(nnefc("info", artefact, "--json").stdout)
    first = min(parameter["offset"] for parameter in described["parameters"])
    process = subprocess.Popen([NNEFC, "bench", artefact, "--threads", "1", "--repeat", "1000000"], stdout=subprocess.DEVNULL)
    try:
        mapped = wait_for_weights(process.pid, artefact, first)
    finally:
        process.kill()
        process.wait()
    assert mapped["Rss"] > 100 and mapped["Anonymous"] == 0


def wait_for_weights(pid, artefact, offset):
    """The figures, in KB, of the mapping of a file's part from `offset` on, once most of it is in use."""
    import time
    for _ in range(200):
        time.sleep(0.05)
        figures = mapping_figures(pathlib.Path(f"/proc/{pid}/smaps").read_text(), str(artefact), offset)
        if figures and figures["Rss"] > 100:
            return figures
    return figures


def mapping_figures(smaps, path, offset):
    figures, here = {}, False
    for line in smaps.splitlines():
        words = line.split()
        if "-" in words[0] and not words[0].endswith(":"):
            here = words[-1] == path and int(words[2], 16) >= offset - 4096 and "r--" in words[1]
        elif here and words[-1] == "kB":
            figures[words[0][:-1]] = figures.get(words[0][:-1], 0) + int(words[1])
    return figures
