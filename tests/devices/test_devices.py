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


def model_of(folder, expression, item_type):
    folder.mkdir()
    (folder / "graph.nnef").write_text(
        "version 1.0;\ngraph G(x) -> (y)\n{\n    x = external<scalar>(shape = [4]);\n    y = " + expression + ";\n}\n")
    return ["run", folder, "--type", f"x={item_type}"]


def test_item_type_that_the_device_lacks(tmp_path):
    """PoCL on CPUs has no float16."""
    first = re.search(r"^opencl:0 .*\n.*; (.*)$", run("devices").stdout, re.MULTILINE)
    if first is None or "float16" in first.group(1):
        pytest.skip("opencl:0 has float16, or is not there")
    np.save(tmp_path / "x.npy", np.ones(4, "float16"))
    result = run(*model_of(tmp_path / "model", "neg(x)", "float16"), "--target", "opencl",
                 "--input", f"x={tmp_path / 'x.npy'}")
    assert result.returncode == 1
    assert "error: [compile/device-type] the model computes with float16, which opencl:0" in result.stderr


@pytest.mark.skipif("vulkan" not in device_kinds(), reason="no Vulkan")
def test_function_that_shaders_lack(tmp_path):
    np.save(tmp_path / "x.npy", np.ones(4, "float64"))
    result = run(*model_of(tmp_path / "model", "exp(x)", "float64"), "--target", "vulkan",
                 "--input", f"x={tmp_path / 'x.npy'}")
    assert result.returncode == 1
    assert "error: [compile/device-code]" in result.stderr and "no function exp of float64" in result.stderr


@pytest.mark.skipif("vulkan" not in device_kinds(), reason="no Vulkan")
def test_staged_copies(image, expected):
    result = run("run", MODEL, "--target", "vulkan", "--input", f"image={image}", "--expect", expected,
                 NNEF_VULKAN_STAGING="1", NNEF_VULKAN_VALIDATION="1")
    assert result.returncode == 0, result.stderr
    assert "Validation" not in result.stdout, result.stdout


@pytest.mark.skipif("vulkan" not in device_kinds(), reason="no Vulkan")
def test_grid_beyond_what_devices_take(tmp_path):
    """65535 groups of 128 threads and a few more, of items that no vector holds."""
    count = 65535 * 128 + 77
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "graph.nnef").write_text(
        f"version 1.0;\ngraph G(x) -> (y)\n{{\n    x = external<scalar>(shape = [{count}]);\n    y = neg(x);\n}}\n")
    x = np.arange(count, dtype="float32")
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", -x)
    result = run("run", folder, "--target", "vulkan", "--input", f"x={tmp_path / 'x.npy'}",
                 "--expect", f"y={tmp_path / 'y.npy'}")
    assert result.returncode == 0, result.stderr


TILES = """version 1.0;
extension KHR_enable_operator_expressions;
graph G(x, w, a, b) -> (y, z, p, s, t)
{
    x = external<scalar>(shape = [1,24,40,44]);
    w = external<scalar>(shape = [48,24,3,3]);
    a = external<scalar>(shape = [130,96]);
    b = external<scalar>(shape = [96,520]);
    c = conv(x, w, 0.0, padding = [(1,1),(1,1)]);
    y = relu(c);
    z = matmul(a, b);
    m = max_pool(y, size = [1,1,3,3], padding = [(0,0),(0,0),(1,1),(1,1)], stride = [1,1,2,2], border = 'ignore');
    p = select(m > 2.0, sigmoid(m), m * 0.5);
    s = softmax(a, axes = [1]);
    t = mean_reduce(y, axes = [2,3]);
}
"""


# A device whose threads run in step and share a memory, whatever it is on.
IN_STEP = '{{"kind": "{}", "max_num_threads": 256, "thread_warp_size": 32, "max_shared_memory_per_block": 16384}}'


@pytest.mark.parametrize("in_step", [False, True])
@pytest.mark.parametrize("kind", device_kinds())
def test_tiles(kind, in_step, tmp_path):
    """Results large enough that threads take several of them, as vectors, against the evaluator."""
    (tmp_path / "model").mkdir()
    (tmp_path / "model/graph.nnef").write_text(TILES)
    random = np.random.default_rng(7)
    inputs = []
    for name, shape in (("x", (1, 24, 40, 44)), ("w", (48, 24, 3, 3)), ("a", (130, 96)), ("b", (96, 520))):
        np.save(tmp_path / f"{name}.npy", random.standard_normal(shape).astype(np.float32))
        inputs += ["--input", f"{name}={tmp_path / name}.npy"]
    reference = run("run", tmp_path / "model", "--reference", *inputs, "--output", tmp_path / "expected")
    assert reference.returncode == 0, reference.stderr
    expects = [part for name in "yzpst" for part in ("--expect", f"{name}={tmp_path / 'expected' / name}.npy")]
    target = IN_STEP.format(kind) if in_step else kind
    result = run("run", tmp_path / "model", "--target", target, *inputs, *expects, "--atol", "1e-4")
    assert result.returncode == 0, result.stderr


DYNAMIC = """version 1.0;
extension tract_symbol S;
extension tract_registry tract_core;
fragment step(x: tensor<scalar>, sum: tensor<scalar>) -> (next: tensor<scalar>) { next = sum + x; }
graph G(x) -> (y)
{
    x = tract_core_external(shape = [S, 4], datum_type = 'f32');
    y = %s;
}
"""


@pytest.mark.parametrize("kind", device_kinds())
def test_one_artefact_for_all_sizes(kind, tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model/graph.nnef").write_text(
        DYNAMIC % "softmax(matmul(x, x, transposeB = true), axes = [1])")
    path = tmp_path / "model.nnefc"
    assert run("compile", tmp_path / "model", "-o", path, "--target", kind).returncode == 0
    for size in (1, 3, 16, 37):
        x = np.random.default_rng(size).normal(size=(size, 4)).astype("float32")
        e = np.exp(x @ x.T - (x @ x.T).max(1, keepdims=True))
        np.save(tmp_path / "x.npy", x)
        np.save(tmp_path / "y.npy", e / e.sum(1, keepdims=True))
        result = run("run", path, "--input", f"x={tmp_path / 'x.npy'}", "--expect", f"y={tmp_path / 'y.npy'}",
                     "--rtol", "1e-4", "--atol", "1e-5")
        assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("kind", device_kinds())
def test_loops_run_on_cpus(kind, tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model/graph.nnef").write_text(
        DYNAMIC % "tract_core_scan(body = 'step', scan = [('x', x, 0, 1)], state = [('sum', [[0.0,0.0,0.0,0.0]], 'next')], "
        "output = [('next', 'last', 0, 1)])")
    result = run("compile", tmp_path / "model", "-o", tmp_path / "model.nnefc", "--target", kind)
    assert result.returncode == 1
    assert f"error: [compile/device-loop] a scan over an extent with symbols does not run on '{kind}'" in result.stderr
