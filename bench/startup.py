#!/usr/bin/env python3
"""How soon the first result is there, and how much memory it takes: nnefc's artefacts against onnxruntime.

usage: startup.py [--models a,b,...] [--threads N] [--rounds R]      after table.sh, with the Python of build/bench/venv

For each model: milliseconds from an artefact (a model file) to the first result, in a process that has loaded the engine's
libraries, and megabytes that the process then has at most, less those that it had before. Medians over rounds.
"""
import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import time

import models
from table import NNEFC

FIGURES = ("load_ms", "first_ms", "peak_mb")


def peak_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def onnxruntime_once(folder, threads):
    """In a process of its own: prints the figures."""
    import numpy as np
    import onnxruntime
    image = np.load(folder / "input.npy")
    before = peak_mb()
    begin = time.perf_counter()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(folder / "model.onnx", options, providers=["CPUExecutionProvider"])
    loaded = time.perf_counter()
    session.run(None, {"input": image})
    done = time.perf_counter()
    for _ in range(4):
        session.run(None, {"input": image})
    print(json.dumps({"load_ms": 1e3 * (loaded - begin), "first_ms": 1e3 * (done - loaded), "peak_mb": peak_mb() - before}))


def json_of(command):
    return json.loads(subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=lambda text: text.split(","), default=models.NAMES)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent / "build/bench")
    parser.add_argument("--once", type=pathlib.Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.once:
        return onnxruntime_once(arguments.once, arguments.threads)
    print("| model | nnefc: load + first, ms | onnxruntime: load + first, ms | nnefc: peak, MB | onnxruntime: peak, MB |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name in arguments.models:
        folder = models.make(arguments.work / "models", name)
        artefact = folder / "model.so"
        if not artefact.exists():
            subprocess.run([NNEFC, "compile", models.ours(folder), "-o", artefact], check=True, capture_output=True)
        ours = [NNEFC, "bench", artefact, "--threads", arguments.threads, "--repeat", 3, "--json"]
        theirs = [sys.executable, __file__, "--once", folder, "--threads", arguments.threads]
        rounds = [(json_of(ours), json_of(theirs)) for _ in range(arguments.rounds)]
        (our, their) = ({figure: statistics.median(one[side][figure] for one in rounds) for figure in FIGURES} for side in (0, 1))
        print(f"| {name} | {our['load_ms']:.1f} + {our['first_ms']:.1f} | {their['load_ms']:.1f} + {their['first_ms']:.1f} "
              f"| {our['peak_mb']:.0f} | {their['peak_mb']:.0f} |", flush=True)


if __name__ == "__main__":
    main()
