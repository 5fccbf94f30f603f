#!/usr/bin/env python3
"""Times nnefc and its peers on whole models, round by round, and writes a table and a plot. See table.sh."""
import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import time

import models
import plot
from engines import ENGINES

HERE = pathlib.Path(__file__).resolve().parent
NNEFC = HERE.parent / "build/release/nnefc"
OURS = "tvm-nnef"


class Peer:
    """An engine in a process of its own."""

    def __init__(self, engine, folder, threads):
        self.process = subprocess.Popen([sys.executable, HERE / "engines.py", engine, folder, str(threads)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        answer = self.process.stdout.readline()
        self.state = json.loads(answer) if answer else {"problem": f"its process ended with status {self.process.wait()}"}

    def times(self, count):
        print(count, file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Ours:
    """nnefc, once for each round."""

    def __init__(self, folder, arguments):
        self.artefact, self.threads = folder / "model.so", arguments.threads
        tune = ["--tune", str(arguments.tune)] if arguments.tune else []
        begin = time.perf_counter()
        subprocess.run([NNEFC, "compile", models.ours(folder), "-o", self.artefact, *tune], check=True, capture_output=True, text=True)
        self.compile_seconds = time.perf_counter() - begin
        self.check(folder)

    def check(self, folder):
        described = json.loads(subprocess.run([NNEFC, "info", self.artefact, "--json"], check=True, capture_output=True).stdout)
        source, wanted = described["inputs"][0]["name"], described["outputs"][0]["name"]
        subprocess.run([NNEFC, "run", self.artefact, "--input", f"{source}={folder / 'input.npy'}", "--expect",
                        f"{wanted}={folder / 'output.npy'}", "--rtol", "1e-3", "--atol", "1e-4"], check=True, capture_output=True)

    def times(self, count):
        command = [NNEFC, "bench", self.artefact, "--threads", str(self.threads), "--repeat", str(count), "--json"]
        return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["times_ms"]

    def close(self):
        pass


def contenders(folder, arguments):
    """Those that can run the model, by name, and why the others cannot."""
    ready, problems = {}, {}
    for engine in arguments.engines:
        peer = Peer(engine, folder, arguments.threads)
        if "problem" in peer.state:
            problems[engine] = peer.state["problem"]
        elif not peer.state["error"] < 1e-2:
            problems[engine] = f"its results differ by {peer.state['error']:.1g} of the largest"
            peer.close()
        else:
            ready[engine] = peer
    try:
        ready[OURS] = Ours(folder, arguments)
    except subprocess.CalledProcessError as error:
        problems[OURS] = str(error.stderr or error)[-300:]
    return ready, problems


def measure(name, arguments):
    """The result of one model. Every round runs each engine, in another order, so that a slow moment meets all of them."""
    folder = models.make(arguments.work / "models", name)
    ready, problems = contenders(folder, arguments)
    names, fastest = list(ready), {name: [] for name in ready}
    for turn in range(arguments.rounds):
        for engine in names[turn % len(names):] + names[:turn % len(names)]:
            fastest[engine].append(min(ready[engine].times(arguments.inner)))
    for peer in ready.values():
        peer.close()
    result = {"model": name, "ms": {engine: statistics.median(times) for engine, times in fastest.items()}, "problems": problems}
    peers = [engine for engine in names if engine != OURS]
    if OURS in ready and peers:
        result["ratio"] = statistics.median(min(fastest[peer][turn] for peer in peers) / fastest[OURS][turn]
                                            for turn in range(arguments.rounds))
        result["compile_s"] = ready[OURS].compile_seconds
    return result


def markdown(results, arguments):
    engines = [OURS, *arguments.engines]
    lines = ["| model | " + " | ".join(engines) + " | against the best peer |", "| --- |" + " ---: |" * (len(engines) + 1)]
    for result in results:
        cells = [f"{result['ms'][engine]:.2f}" if engine in result["ms"] else "-" for engine in engines]
        lines.append(f"| {result['model']} | " + " | ".join(cells) + f" | {result.get('ratio', math.nan):.2f} |")
    ratios = [result["ratio"] for result in results if "ratio" in result]
    if ratios:
        lines.append(f"| geometric mean {'| ' * len(engines)}| {math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f} |")
    lines += ["", f"Milliseconds for batch 1 on {arguments.threads} threads: medians over {arguments.rounds} rounds of the fastest of "
              f"{arguments.inner} inferences; the last column is the median of the rounds' ratios, above 1 where tvm-nnef is faster."]
    lines += [f"{result['model']} without {engine}: {problem}" for result in results for engine, problem in result["problems"].items()]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    names = lambda text: [name for name in text.split(",") if name]
    parser.add_argument("--models", type=names, default=models.NAMES)
    parser.add_argument("--engines", type=names, default=list(ENGINES))
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--inner", type=int, default=5)
    parser.add_argument("--tune", type=int, default=0, metavar="SECONDS")
    parser.add_argument("--work", type=pathlib.Path, default=HERE.parent / "build/bench")
    arguments = parser.parse_args()
    results = []
    for name in arguments.models:
        results.append(measure(name, arguments))
        print(results[-1], flush=True)
        # After each model, so that a run that is stopped leaves what it measured.
        (arguments.work / "results.json").write_text(json.dumps(results, indent=1))
        (arguments.work / "table.md").write_text(markdown(results, arguments))
        (arguments.work / "table.svg").write_text(plot.svg(results, OURS))
    print(markdown(results, arguments), end="")


if __name__ == "__main__":
    main()
