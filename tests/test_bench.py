"""The table and the plot of bench/table.py, of made-up results."""
import argparse
import sys
import xml.etree.ElementTree as ElementTree

import pytest

from conftest import ROOT

sys.path.insert(0, str(ROOT / "bench"))
import plot  # noqa: E402
import table  # noqa: E402

RESULTS = [{"model": "a", "ms": {"tvm-nnef": 2.0, "onnxruntime": 4.0, "tract": 40.0}, "problems": {}, "ratio": 2.0, "compile_s": 1.0},
           {"model": "b<", "ms": {"tvm-nnef": 8.0, "onnxruntime": 4.0}, "problems": {"tract": "no"}, "ratio": 0.5, "compile_s": 1.0},
           {"model": "c", "ms": {"onnxruntime": 4.0}, "problems": {"tvm-nnef": "no", "tract": "no"}}]
ARGUMENTS = argparse.Namespace(engines=["onnxruntime", "tract"], threads=2, rounds=3, inner=5)


def test_table():
    lines = table.markdown(RESULTS, ARGUMENTS).splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    assert all(len(row) == 5 for row in rows)
    assert rows[2] == ["a", "2.00", "4.00", "40.00", "2.00"] and rows[3] == ["b<", "8.00", "4.00", "-", "0.50"]
    assert rows[5][0] == "geometric mean" and rows[5][4] == "1.00"
    assert "b< without tract: no" in lines


def test_plot():
    root = ElementTree.fromstring(plot.svg(RESULTS, "tvm-nnef"))
    texts = [element.text for element in root.iter() if element.text]
    assert {"a", "b<", "c", "tvm-nnef", "2.00 ms", "40.00 ms, 20 times as long"} <= set(texts)
    bars = {float(rect.get("width")) for rect in root.iter() if rect.tag.endswith("rect") and rect.get("height") == str(plot.BAR - 2)}
    # As long as the fastest of its model; twice that; cut at the limit.
    assert bars == {plot.WIDTH / plot.LIMIT, 2 * plot.WIDTH / plot.LIMIT, plot.WIDTH}


@pytest.mark.parametrize("script", ["models.py", "engines.py", "table.py", "startup.py", "compare.py"])
def test_scripts_compile(script):
    compile((ROOT / "bench" / script).read_text(), script, "exec")
