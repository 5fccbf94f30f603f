#!/usr/bin/env python3
"""Time an artefact against TVM's default pipeline on the same Relax module, round by round in one run.

usage: compare.py NAME ARTEFACT MODULE.json [--rounds R] [--inner K] [--threads N]

Each round runs both K times; the figure of each is the median over rounds of its fastest time in the round, the ratio
the median over rounds of the rounds' ratios.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import time

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("name")
parser.add_argument("artefact", type=pathlib.Path)
parser.add_argument("module", type=pathlib.Path)
parser.add_argument("--rounds", type=int, default=5)
parser.add_argument("--inner", type=int, default=3)
parser.add_argument("--threads", type=int, default=os.cpu_count())
arguments = parser.parse_args()
os.environ["TVM_NUM_THREADS"] = str(arguments.threads)

import numpy as np
import tvm
from tvm import relax

NNEFC = pathlib.Path(__file__).resolve().parent.parent / "build/release/nnefc"


def ours():
    command = [NNEFC, "bench", arguments.artefact, "--threads", str(arguments.threads), "--repeat", str(arguments.inner), "--json"]
    return min(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["times_ms"])


def default_pipeline():
    module = tvm.ir.load_json(arguments.module.read_text())
    cpu = tvm.get_global_func("tvm.codegen.llvm.GetHostCPUName")()
    machine = relax.VirtualMachine(tvm.compile(module, target=tvm.target.Target({"kind": "llvm", "mcpu": cpu})), tvm.cpu())
    generator = np.random.default_rng(0)
    inputs = [tvm.runtime.tensor(generator.standard_normal([int(extent) for extent in parameter.ty.shape], dtype=np.float32))
              for parameter in module["main"].params]

    def run():
        times = []
        for _ in range(arguments.inner):
            start = time.perf_counter()
            machine["main"](*inputs)
            times.append((time.perf_counter() - start) * 1e3)
        return min(times)

    return run


default = default_pipeline()
rounds = [(default(), ours()) for _ in range(arguments.rounds)]
print(f"{arguments.name}: tvm-nnef {statistics.median(o for _, o in rounds):.3f} ms, "
      f"TVM default {statistics.median(d for d, _ in rounds):.3f} ms, "
      f"ratio {statistics.median(d / o for d, o in rounds):.1f}")
