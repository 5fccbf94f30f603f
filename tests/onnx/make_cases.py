#!/usr/bin/env python3
"""Converts node tests of ONNX to NNEF: make_cases.py OUT NAMES_FILE

For each name in the file writes OUT/<name>/model, a model folder, with the arrays of the test as OUT/<name>/in/<tensor>.npy
and OUT/<name>/out/<tensor>.npy in ONNX's item types. A test that cannot be converted leaves OUT/<name>/error.txt instead.
"""
import argparse
import contextlib
import io
import pathlib
import sys
import warnings

warnings.filterwarnings("ignore")

import nnef
import numpy as np
import onnx
from nnef_tools import convert
from onnx.backend.test.case.node import collect_testcases


class Options(argparse.Namespace):
    """The converter's command line; what is not given is None there too."""

    def __getattr__(self, name):
        return None


def convert_model(model, folder):
    """Writes folder/model; returns what went wrong, or an empty text."""
    source = folder / "model.onnx"
    onnx.save(model, source)
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            status = convert.main(Options(input_format="onnx", output_format="nnef", input_model=str(source),
                                          output_model=str(folder / "model"), keep_io_names=True))
    except Exception as error:  # conversion rules raise whatever they come across
        return f"{type(error).__name__}: {error}"
    return said.getvalue() or "unknown error" if status else ""


def save_arrays(folder, names, wanted, arrays):
    folder.mkdir()
    for name in wanted:
        np.save(folder / f"{name}.npy", np.asarray(arrays[names.index(name)]))


def make_case(case, folder):
    folder.mkdir(parents=True)
    error = convert_model(case.model, folder)
    if error:
        (folder / "error.txt").write_text(error)
        return
    graph = nnef.parse_file(str(folder / "model" / "graph.nnef"))
    inputs, outputs = case.data_sets[0]
    save_arrays(folder / "in", [value.name for value in case.model.graph.input], graph.inputs, inputs)
    save_arrays(folder / "out", [value.name for value in case.model.graph.output], graph.outputs, outputs)


def main(out, names_file):
    cases = {case.name: case for case in collect_testcases(None)}
    for name in pathlib.Path(names_file).read_text().splitlines():
        if name and not name.startswith("#"):
            make_case(cases[name], pathlib.Path(out) / name)


if __name__ == "__main__":
    main(*sys.argv[1:])
