"""Kernels as files (nnefc compile --emit), the Vulkan program that runs them, and code for CUDA."""
import json
import os
import re
import shutil
import subprocess

import numpy as np
import pytest

from conftest import NNEFC, ROOT, device_kinds

MODEL = ROOT / "examples/digits/model"
HELDOUT = ROOT / "examples/digits/heldout"
HOST = ROOT / "build/release/vulkan_host"
NVCC = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")


def run(*arguments, **environment):
    return subprocess.run(list(map(str, arguments)), capture_output=True, text=True, timeout=300,
                          env={**os.environ, **environment})


@pytest.fixture(scope="module")
def emitted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("emitted") / "kernels"
    result = run(NNEFC, "compile", MODEL, "--emit", folder)
    assert result.returncode == 0, result.stderr
    return folder


def test_manifest(emitted):
    manifest = json.loads((emitted / "manifest.json").read_text())
    buffers = manifest["buffers"]
    assert [buffers[i]["name"] for i in manifest["inputs"]] == ["image"]
    assert [buffers[i]["name"] for i in manifest["outputs"]] == ["probabilities"]
    kernels = {kernel["name"]: kernel for kernel in manifest["kernels"]}
    written = set(manifest["inputs"]) | {value["buffer"] for value in manifest["weights"]["values"]}
    size = (emitted / manifest["weights"]["file"]).stat().st_size
    for value in manifest["weights"]["values"]:
        assert buffers[value["buffer"]]["bytes"] == value["bytes"] and value["offset"] + value["bytes"] <= size
    for step in manifest["steps"]:
        arguments = kernels[step["kernel"]]["arguments"]
        assert len(arguments) == len(step["arguments"])
        assert np.prod(step["threads"]) <= 256
        used = {argument["buffer"] for argument in step["arguments"] if "buffer" in argument}
        written |= used
    assert set(manifest["outputs"]) <= written


def test_languages(emitted):
    for kernel in json.loads((emitted / "manifest.json").read_text())["kernels"]:
        assert "missing" not in kernel
        name, files = kernel["name"], kernel["files"]
        parameters = len(kernel["arguments"])
        for language, pattern in (("opencl", rf"__kernel void {name}\(([^)]*)\) {{"),
                                  ("cuda", rf'extern "C" __global__ void .*\b{name}\(([^)]*)\) {{')):
            found = re.search(pattern, (emitted / files[language]).read_text())
            assert found and found.group(1).count(",") + 1 == parameters, (name, language)
        words = np.fromfile(emitted / files["vulkan"], "<u4")
        assert words[0] == 0x07230203 and words[1] == 0x10300


@pytest.mark.skipif(not shutil.which("spirv-val"), reason="spirv-tools are not installed")
def test_spirv_is_valid(emitted):
    for path in emitted.glob("*.spv"):
        result = run("spirv-val", "--target-env", "vulkan1.1", path)
        assert result.returncode == 0, (path, result.stdout, result.stderr)
        assert "OpEntryPoint GLCompute" in path.with_suffix(".spvasm").read_text()


@pytest.mark.skipif("vulkan" not in device_kinds() or not HOST.exists(), reason="no Vulkan device, or no loader to link with")
def test_vulkan_host(emitted, tmp_path):
    artefact = tmp_path / "digits.so"
    assert run(NNEFC, "compile", MODEL, "-o", artefact).returncode == 0
    data = (HELDOUT / "images.npy", HELDOUT / "labels.npy")
    by_cpu = run(ROOT / "build/release/digits_classify", artefact, *data)
    by_vulkan = run(HOST, emitted, *data)
    assert by_vulkan.returncode == 0, by_vulkan.stderr
    right = re.search(r"\d+ of \d+ held-out digits are right", by_cpu.stdout).group()
    assert right in by_vulkan.stdout


def test_folder_that_cannot_be(tmp_path):
    (tmp_path / "file").write_text("")
    result = run(NNEFC, "compile", MODEL, "--emit", tmp_path / "file/kernels")
    assert result.returncode == 1
    assert "error: [emit/write] cannot make the folder" in result.stderr


def test_emit_wants_a_graph(tmp_path):
    module = tmp_path / "module.json"
    assert run(NNEFC, "import", MODEL, "--format", "json", "-o", module).returncode == 0
    result = run(NNEFC, "compile", module, "--emit", tmp_path / "kernels")
    assert result.returncode == 1
    assert "error: [nnefc/argument] --emit is for NNEF models alone" in result.stderr


def test_cuda_without_toolkit(tmp_path):
    result = run(NNEFC, "compile", MODEL, "--target", "cuda:sm_80", "-o", tmp_path / "x", CUDA_HOME="/nonexistent")
    assert result.returncode == 1
    assert "error: [compile/cuda-toolkit] kernels for CUDA need nvcc" in result.stderr
    assert "apt install nvidia-cuda-toolkit" in result.stderr
    text = run(NNEFC, "compile", MODEL, "--target", "cuda:sm_80", "--emit", tmp_path / "k", CUDA_HOME="/nonexistent")
    assert text.returncode == 0 and list((tmp_path / "k").glob("*.cu"))


@pytest.mark.skipif(not NVCC, reason="no nvcc")
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
def test_cuda_machine_code(architecture, tmp_path):
    artefact = tmp_path / "digits.so"
    result = run(NNEFC, "compile", MODEL, "--target", f"cuda:{architecture}", "-o", artefact)
    assert result.returncode == 0 and result.stderr == ""
    data = artefact.read_bytes()
    # TVM's form of a CUDA module: the format of its code, then the kernels, then the code, an ELF file for GPUs.
    assert b"cubin" in data and data.count(b"\x7fELF") >= 2 and architecture.encode() in data


@pytest.mark.skipif(not NVCC, reason="no nvcc")
def test_cuda_architecture_that_is_not(tmp_path):
    result = run(NNEFC, "compile", MODEL, "--target", "cuda:sm_10", "-o", tmp_path / "x")
    assert result.returncode == 1
    assert "error: [compile/device-code] no kernels for 'cuda:sm_10'" in result.stderr and "nvcc" in result.stderr
