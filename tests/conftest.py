"""Collects every *.case file below tests/ as tests; --rebase rewrites their expected output instead of comparing.

A case that passed is not run again while nnefc, the case and this runner stay the same, byte by byte; the summary says how
many there were. CI, and --run-unchanged, run all of them.

Cases with expected values are run more than once: compiled, as "NAME[reference]" by the reference evaluator, and as
"NAME[opencl]" and the like on the devices that $NNEF_TEST_DEVICES names (default: all kinds that `nnefc devices` finds).
tests/devices/KIND.txt lists the cases that fail there, "FOLDER/NAME: reason" each: one that passes is an error.
"""
import difflib
import functools
import hashlib
import os
import pathlib
import re
import subprocess
import tempfile

import numpy as np
import pytest

import case_file

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Whoever runs the tests may have a database of measured kernels.
os.environ["NNEF_TVM_TUNING"] = "none"
NNEFC = ROOT / os.environ.get("NNEFC", "build/release/nnefc")
DEVICE_FOLDERS = ("ops", "models", "reports")
# The validation layer checks every call of Vulkan and every SPIR-V module; what it has to say, it prints.
VALIDATED = {**os.environ, "NNEF_VULKAN_VALIDATION": "1"}
# Of a device that lacks an item type of the model, or a function of items of that type.
REFUSED = "error: [compile/device-"


def pytest_addoption(parser):
    parser.addoption("--rebase", action="store_true", help="rewrite the expected output of case files")
    parser.addoption("--run-unchanged", action="store_true", default=bool(os.environ.get("CI")),
                     help="run cases that passed and did not change since")


def pytest_collect_file(parent, file_path):
    if file_path.suffix == ".case":
        return CaseFile.from_parent(parent, path=file_path)
    return None


@pytest.fixture(scope="session")
def nnefc():
    """Runs nnefc; returns the completed process, with text streams."""
    def run(*arguments, cwd=None):
        return subprocess.run([NNEFC, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, timeout=300)
    return run


@functools.cache
def device_kinds():
    """Those that models can run on here."""
    if "NNEF_TEST_DEVICES" in os.environ:
        return tuple(os.environ["NNEF_TEST_DEVICES"].split())
    listed = subprocess.run([NNEFC, "devices"], capture_output=True, text=True).stdout
    return tuple(dict.fromkeys(re.findall(r"^(\w+):\d+ +usable", listed, re.MULTILINE)))


@functools.cache
def known_failures(kind):
    path = ROOT / f"tests/devices/{kind}.txt"
    lines = path.read_text().splitlines() if path.exists() else []
    return dict(line.split(": ", 1) for line in lines if line and not line.startswith("#"))


class CaseFile(pytest.File):
    def collect(self):
        yield Case.from_parent(self, name=self.path.stem)
        if not case_file.other_runs(case_file.parse(self.path.read_text())[1]):
            return
        yield Case.from_parent(self, name=f"{self.path.stem}[reference]", options=("--reference",))
        if self.path.parent.name in DEVICE_FOLDERS:
            for kind in device_kinds():
                yield Case.from_parent(self, name=f"{self.path.stem}[{kind}]", options=("--target", kind))


class CaseFailure(Exception):
    pass


@functools.cache
def runner_digest():
    digest = hashlib.sha256()
    here = pathlib.Path(__file__).parent
    for path in (NNEFC, here / "conftest.py", here / "case_file.py", ROOT / "tools/requirements.txt"):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def pytest_terminal_summary(terminalreporter):
    unchanged = sum(("unchanged", True) in report.user_properties for report in terminalreporter.getreports("passed"))
    refused = sum(("refused", True) in report.user_properties for report in terminalreporter.getreports("passed"))
    if refused:
        terminalreporter.write_line(f"{refused} cases were refused by devices that lack their item types")
    if unchanged:
        terminalreporter.write_line(f"{unchanged} cases passed before and did not change; --run-unchanged runs them again")


class Case(pytest.Item):
    def __init__(self, *, options=(), **arguments):
        super().__init__(**arguments)
        self.options = options
        self.device = options[1] if len(options) > 1 else None

    def runtest(self):
        digest = hashlib.sha256((runner_digest() + self.name + self.path.read_text()).encode()).hexdigest()
        passed = self.config.cache.mkdir("passed-cases") / digest
        rebase = self.config.getoption("--rebase")
        if rebase and self.options:
            return
        if passed.exists() and not rebase and not self.config.getoption("--run-unchanged"):
            self.user_properties.append(("unchanged", True))
            return
        reason = known_failures(self.device).get(f"{self.path.parent.name}/{self.path.stem}") if self.device else None
        try:
            self.run_case(rebase)
        except CaseFailure:
            if reason:
                pytest.xfail(reason)
            raise
        if reason:
            raise CaseFailure(f"passes, but tests/devices/{self.device}.txt says that it fails: {reason}")
        if not rebase:
            passed.touch()

    def run_case(self, rebase):
        head, sections = case_file.parse(self.path.read_text())
        with tempfile.TemporaryDirectory() as folder:
            write_files(pathlib.Path(folder), sections)
            wanted = case_file.other_runs(sections, *self.options) if self.options else case_file.runs(sections)
            got = []
            for run in wanted:
                result = subprocess.run([NNEFC, *run.arguments], cwd=folder, capture_output=True, text=True, timeout=300,
                                        errors="backslashreplace", env=VALIDATED)
                got.append((result.returncode, result.stdout, result.stderr))
        if rebase:
            self.path.write_text(case_file.rebased(head, sections, got))
            return
        for run, (status, stdout, stderr) in zip(wanted, got):
            if self.device and status == 1 and stderr.startswith(REFUSED):
                self.user_properties.append(("refused", True))
                continue
            where = "nnefc " + " ".join(run.arguments)
            compare(where + ": stderr", run.stderr, stderr)
            if run.stdout is not None:
                compare(where + ": stdout", run.stdout, stdout)
            if status != run.status:
                raise CaseFailure(f"{where}: exit {status}, expected {run.status}")
            if self.device == "vulkan" and "Validation" in stdout:
                raise CaseFailure(f"{where}: the validation layer says\n{stdout}")

    def repr_failure(self, excinfo):
        if isinstance(excinfo.value, CaseFailure):
            return f"{self.path}\n{excinfo.value}"
        return super().repr_failure(excinfo)

    def reportinfo(self):
        return self.path, 0, f"case {self.name}"


def write_files(folder, sections):
    model = folder / "model"
    model.mkdir()
    for section in sections:
        if section.kind in ("file", "dat", "bytes"):
            path = model / section.arguments[0]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(case_file.content(section))
        elif section.kind == "npy":
            np.save(folder / section.arguments[0], case_file.array(section))


def compare(what, expected, got):
    if expected != got:
        diff = "".join(difflib.unified_diff(expected.splitlines(keepends=True), got.splitlines(keepends=True),
                                            "expected", "got"))
        raise CaseFailure(f"{what} differs\n{diff}")
