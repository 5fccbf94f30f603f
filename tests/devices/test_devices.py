"""Devices on the command line: the list, how one is chosen, what is refused, artefacts for them."""
import os
import re
import subprocess

import numpy as np
import pytest

from conftest import NNEFC, ROOT, device_kinds

MODEL = ROOT / "examples/digits/model"
HELDOUT = ROOT / "examples/digits/heldout"


def run(*arguments, **environment):
    return subprocess.run([NNEFC, *map(str, arguments)], capture_output=True, text=True, timeout=300,
                          env={**os.environ, **environment})


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    path = tmp_path_factory.mktemp("image") / "image.npy"
    np.save(path, np.load(HELDOUT / "images.npy")[:1])
    return path


@pytest.fixture(scope="module")
def expected(image):
    folder = image.parent / "expected"
    assert run("run", MODEL, "--reference", "--input", f"image={image}", "--output", folder).returncode == 0
    return f"probabilities={folder / 'probabilities.npy'}"


def names(kind):
    return re.findall(rf"^{kind}:\d+ +usable: ([^,\n]*)", run("devices").stdout, re.MULTILINE)


def test_list_without_drivers():
    text = run("devices", OCL_ICD_VENDORS="/nonexistent", OCL_ICD_FILENAMES="").stdout
    assert re.search(r"^opencl +not usable: .*\n +install a driver", text, re.MULTILINE), text


def test_missing_device_is_refused_before_compiling():
    result = run("compile", MODEL, "--target", "opencl", "-o", "/nonexistent/x", OCL_ICD_VENDORS="/nonexistent")
    assert result.returncode == 1
    assert "error: [device/none] no device for 'opencl'" in result.stderr
    assert "apt install" in result.stderr


@pytest.mark.parametrize("kind", device_kinds())
@pytest.mark.parametrize("choice", ["99", "no such device"])
def test_choice_that_is_not_there(kind, choice, image):
    result = run("run", MODEL, "--target", f"{kind}:{choice}", "--input", f"image={image}")
    assert result.returncode == 1
    assert f"error: [device/choice] no device '{choice}'" in result.stderr
    assert f"{kind}:0 is {names(kind)[0]}" in result.stderr


@pytest.mark.parametrize("kind", device_kinds())
def test_choice_by_name(kind, image, expected):
    name = names(kind)[0].upper()
    result = run("run", MODEL, "--target", f"{kind}:{name}", "--input", f"image={image}", "--expect", expected)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("kind", device_kinds())
def test_artefact(kind, image, expected, tmp_path):
    path = tmp_path / "digits.so"
    given = ["--input", f"image={image}", "--expect", expected]
    assert run("compile", MODEL, "--target", kind, "-o", path).returncode == 0
    result = run("run", path, *given)
    assert result.returncode == 0, result.stderr
    assert run("run", path, "--target", f"{kind}:0", *given).returncode == 0
    assert run("bench", path, "--repeat", "2").returncode == 0


@pytest.mark.parametrize("kind", device_kinds())
def test_artefact_needs_no_compiler(kind, image, tmp_path):
    path = tmp_path / "digits.so"
    assert run("compile", MODEL, "--target", kind, "-o", path).returncode == 0
    result = run("run", path, "--input", f"image={image}", LD_DEBUG="libs")
    assert result.returncode == 0
    assert f"libtvm_runtime_{kind}" in result.stderr and "libtvm_compiler" not in result.stderr


def test_artefact_for_the_cpu_runs_on_no_device(image, tmp_path):
    path = tmp_path / "digits.so"
    assert run("compile", MODEL, "-o", path).returncode == 0
    result = run("run", path, "--target", "opencl", "--input", f"image={image}")
    assert result.returncode == 1
    assert "error: [artefact/target] compiled for 'llvm', which cannot run on 'opencl'" in result.stderr


@pytest.mark.parametrize("kind", device_kinds())
def test_target_as_json(kind, image, expected):
    target = f'{{"kind": "{kind}", "max_num_threads": 64}}'
    result = run("run", MODEL, "--target", target, "--input", f"image={image}", "--expect", expected)
    assert result.returncode == 0, result.stderr
