"""compile, Session and pipeline: the same numbers as nnefc's, and no copies where none are needed."""
import json
import subprocess
import sys

import numpy as np
import pytest
import tvm
import tvm_ffi
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

from conftest import ROOT, device_kinds
from models import archive, graph, normal
from package import nnef_tvm

pytestmark = pytest.mark.filterwarnings("error::nnef_tvm.NNEFWarning")
DIGITS = ROOT / "examples/digits/model"
IMAGE = np.random.default_rng(0).random((1, 1, 8, 8)).astype("float32")
ADD = graph("x = external(shape = [2,3]); z = external(shape = [2,3]); y = add(x, z); d = sub(x, z);", "x, z", "y, d")
COUNTER = archive(graph("""x = external(shape = [3]); s = variable(shape = [3], label = 'count');
    y = add(x, s); t = update(s, y);"""), count=np.zeros(3, "float32"))


def aligned(*shape, offset=0):
    """Items that begin `offset` items after a multiple of 64 bytes."""
    size = int(np.prod(shape))
    memory = np.zeros(size + 32, "float32")
    begin = -memory.ctypes.data % 64 // 4 + offset
    return memory[begin:begin + size].reshape(shape)


@pytest.fixture(scope="module")
def digits():
    return nnef_tvm.compile(DIGITS)


@pytest.fixture(scope="module")
def add():
    return nnef_tvm.Session(nnef_tvm.compile(ADD))


def machine(module, target=None, **options):
    executable = tvm.compile(module, target, **options)
    return relax.VirtualMachine(executable, tvm.cpu())["main"]


def test_equal_to_nnefc_bit_for_bit(nnefc, tmp_path, digits):
    np.save(tmp_path / "image.npy", IMAGE)
    assert nnefc("run", DIGITS, "--input", "image=image.npy", "--output", "out", cwd=tmp_path).returncode == 0
    expected = np.load(tmp_path / "out/probabilities.npy")
    np.testing.assert_array_equal(nnef_tvm.Session(digits)(IMAGE), expected)
    digits.save(tmp_path / "digits.so")
    np.testing.assert_array_equal(nnef_tvm.Session(tmp_path / "digits.so")(IMAGE), expected)
    assert nnefc("run", "digits.so", "--input", "image=image.npy", "--expect", "probabilities=out/probabilities.npy",
                 "--rtol", "0", "--atol", "0", cwd=tmp_path).returncode == 0


def test_interface(digits):
    assert digits.inputs == (nnef_tvm.TensorInfo("image", "float32", (1, 1, 8, 8)),)
    assert digits.outputs == (nnef_tvm.TensorInfo("probabilities", "float32", (1, 10)),)
    assert digits.states == () and json.loads(digits.target)["kind"] == "llvm"


def test_inputs_by_name_and_in_order(add):
    x, z = normal(2, 3), normal(2, 3, seed=1)
    for outputs in (add.run({"z": z, "x": x}), add.run([x, z])):
        assert list(outputs) == ["y", "d"]
        np.testing.assert_array_equal(outputs["d"], x - z)
    y, d = add(x, z)
    np.testing.assert_array_equal(y, x + z)
    np.testing.assert_array_equal(add(z=z, x=x)[1], d)
    for faulty in ([x], {"x": x}, {"x": x, "z": z, "w": x}):
        with pytest.raises(nnef_tvm.NNEFError, match="inputs given"):
            add.run(faulty)
    with pytest.raises(nnef_tvm.NNEFError, match=r"\[run/input-dtype\] input 'x' is float64\[2,3\], expected float32\[2,3\]"):
        add(x.astype("float64"), z)


def test_arrays_of_any_kind(add):
    values = np.arange(6, dtype="float32").reshape(2, 3)
    read_only = values.copy()
    read_only.flags.writeable = False
    transposed = np.asfortranarray(values)
    for x in (values, read_only, transposed, aligned(2, 3, offset=1) + values, tvm.runtime.tensor(values)):
        np.testing.assert_array_equal(add(x, values)[0], values + values)
    with pytest.raises(nnef_tvm.NNEFError, match="input-shape"):
        add(values[0], values)


def test_outputs_are_the_callers(add):
    x = aligned(2, 3)
    y, _ = add(x, x)
    y += 1
    assert y.flags.writeable
    np.testing.assert_array_equal(add(x, x)[0], np.zeros((2, 3)))


def test_arrays_become_tensors_without_copies():
    from nnef_tvm.runtime import as_tensor

    x = aligned(4, 4)
    assert np.from_dlpack(as_tensor(x)).ctypes.data == x.ctypes.data
    tensor = tvm.runtime.tensor(x)
    assert as_tensor(tensor) is tensor


def test_torch_tensors_share_memory(add):
    torch = pytest.importorskip("torch", reason="PyTorch is no dependency of the tests")
    from nnef_tvm.runtime import as_tensor

    x = torch.randn(2, 3)
    assert np.from_dlpack(as_tensor(x)).ctypes.data == x.data_ptr()
    y, _ = add(x, x)
    result = torch.from_dlpack(y)
    assert result.data_ptr() == y.ctypes.data and torch.equal(result, x + x)


def test_states():
    session = nnef_tvm.Session(nnef_tvm.compile(COUNTER))
    assert [state.name for state in session.states] == ["s"]
    one = np.ones(3, "float32")
    assert [session(one)[0] for _ in range(3)] == [1, 2, 3]
    np.testing.assert_array_equal(session.state("s"), 3 * one)
    session.set_state("s", 10 * one)
    assert session(one)[0] == 11
    session.reset_states()
    assert session(one)[0] == 1
    with pytest.raises(KeyError, match="its states are: s"):
        session.state("count")


def test_faults_of_compilation():
    with pytest.raises(nnef_tvm.NNEFError, match=r"\[compile/target\]"):
        nnef_tvm.compile(ADD, "rocm")
    with pytest.raises(TypeError, match="a target is a str or a tvm.target.Target, not dict"):
        nnef_tvm.compile(ADD, {"kind": "llvm"})
    with pytest.raises(nnef_tvm.NNEFError, match="nowhere.so"):
        nnef_tvm.Session("nowhere.so")
    with pytest.raises(TypeError, match="are for NNEF models"):
        nnef_tvm.compile(nnef_tvm.from_nnef(ADD), shape_dict={"x": (1, 2)})


def test_several_threads_may_share_a_session(add):
    from concurrent.futures import ThreadPoolExecutor

    inputs = [np.full((2, 3), i, "float32") for i in range(16)]
    with ThreadPoolExecutor(4) as pool:
        for x, (y, _) in zip(inputs, pool.map(lambda x: add(x, x), inputs)):
            np.testing.assert_array_equal(y, 2 * x)


@I.ir_module
class Convolution:
    @R.function
    def main(
        x: R.Tensor((1, 16, 14, 14), "float32"), w: R.Tensor((32, 16, 3, 3), "float32"), b: R.Tensor((1, 32, 1, 1), "float32")
    ) -> R.Tensor((1, 32, 14, 14), "float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            c: R.Tensor((1, 32, 14, 14), "float32") = R.nn.conv2d(x, w, padding=[1, 1, 1, 1])
            y: R.Tensor((1, 32, 14, 14), "float32") = R.nn.relu(R.add(c, b))
            R.output(y)
        return y


ARRAYS = (normal(1, 16, 14, 14), normal(32, 16, 3, 3, seed=1), normal(1, 32, 1, 1, seed=2))


def convolved():
    x, w, b = (array.astype("float64") for array in ARRAYS)
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    return np.maximum(np.einsum("nchwij,ocij->nohw", windows, w) + b, 0)


def close(found):
    np.testing.assert_allclose(found, convolved(), rtol=1e-4, atol=1e-4)


def with_constants():
    return relax.transform.BindParams("main", {"w": ARRAYS[1], "b": ARRAYS[2]})(Convolution)


def test_compile_takes_modules_of_any_frontend():
    close(nnef_tvm.Session(nnef_tvm.compile(with_constants()))(ARRAYS[0]))
    close(nnef_tvm.Session(nnef_tvm.compile(Convolution, params=ARRAYS[1:]))(ARRAYS[0]))
    with pytest.raises(nnef_tvm.NNEFError, match=r"\[relax/parameter-values\]"):
        nnef_tvm.compile(Convolution)


@pytest.mark.parametrize("how", ["params", "attribute", "constants"])
def test_weights_anywhere_in_memory(how):
    """Kernels load whole vectors; where an array begins is up to whoever made it."""
    def view(array):
        place = aligned(*array.shape, offset=1)
        place[...] = array
        tensor = tvm_ffi.from_dlpack(place)
        assert tensor.data_ptr() % 64 == 4
        return tensor

    weights = [view(array) for array in ARRAYS[1:]]
    module, params = Convolution.clone(), ()
    if how == "params":
        params = weights
    elif how == "attribute":
        module["main"] = module["main"].with_attr("params", weights)
    else:
        module = relax.transform.BindParams("main", {"w": weights[0], "b": weights[1]})(module)
    close(nnef_tvm.Session(nnef_tvm.compile(module, params=params))(ARRAYS[0]))
    if how == "constants":
        close(machine(module, relax_pipeline="nnef_tvm")(tvm.runtime.tensor(ARRAYS[0])).numpy())


@pytest.mark.parametrize("how", ["pass", "name", "scope"])
def test_pipeline_within_tvm_compile(how):
    target = nnef_tvm.host_target()
    x = tvm.runtime.tensor(ARRAYS[0])
    if how == "pass":
        main = machine(with_constants(), relax_pipeline=nnef_tvm.pipeline("llvm"))
    elif how == "name":
        main = machine(with_constants(), target, relax_pipeline="nnef_tvm")
    else:
        with target:
            main = machine(with_constants(), relax_pipeline=nnef_tvm.pipeline())
    close(main(x).numpy())


def test_pipeline_keeps_parameters():
    tensors = [tvm.runtime.tensor(array) for array in ARRAYS]
    close(machine(Convolution, relax_pipeline="nnef_tvm")(*tensors).numpy())
    kept = Convolution.clone()
    kept["main"] = kept["main"].with_attr("params", tensors[1:])
    close(machine(kept, relax_pipeline="nnef_tvm")(*tensors).numpy())


def test_pipeline_leaves_no_kernels_to_tvm():
    """What tvm.compile does after the pass can change nothing: machine code is made already."""
    module = nnef_tvm.pipeline("llvm")(with_constants())
    assert not any(isinstance(function, tvm.tirx.PrimFunc) for function in module.functions.values())
    assert {library.kind for library in module.attrs["external_mods"]} == {"llvm"}


def test_library_of_the_pipeline_runs_elsewhere(tmp_path):
    tvm.compile(with_constants(), nnef_tvm.host_target(), relax_pipeline="nnef_tvm").export_library(str(tmp_path / "m.so"))
    np.save(tmp_path / "x.npy", ARRAYS[0])
    script = """import numpy, sys, tvm
x = tvm.runtime.tensor(numpy.load(sys.argv[2]))
main = tvm.relax.VirtualMachine(tvm.runtime.load_module(sys.argv[1]), tvm.cpu())["main"]
numpy.save(sys.argv[2], main(x).numpy())"""
    subprocess.run([sys.executable, "-c", script, tmp_path / "m.so", tmp_path / "x.npy"], check=True)
    close(np.load(tmp_path / "x.npy"))


def test_pipeline_says_what_it_cannot_do():
    @I.ir_module
    class Symbolic:
        @R.function
        def main(x: R.Tensor(("n", 3), "float32")) -> R.Tensor(("n", 3), "float32"):
            return R.nn.relu(x)

    with pytest.raises(nnef_tvm.NNEFError, match=r"\[relax/symbolic-shape\]"):
        tvm.compile(Symbolic, relax_pipeline="nnef_tvm")


def test_targets_without_a_cpu_are_warned_of():
    with pytest.warns(nnef_tvm.NNEFWarning, match="names no CPU"):
        main = machine(with_constants(), tvm.target.Target("llvm"), relax_pipeline="nnef_tvm")
    close(main(tvm.runtime.tensor(ARRAYS[0])).numpy())


@pytest.mark.parametrize("kind", ["opencl", "vulkan"])
def test_devices(kind):
    if kind not in device_kinds():
        pytest.skip(f"no device of kind {kind} here")
    listed = [device.target for device in nnef_tvm.devices()]
    assert f"{kind}:0" in listed
    close(nnef_tvm.Session(nnef_tvm.compile(with_constants(), kind))(ARRAYS[0]))
    executable = tvm.compile(with_constants(), relax_pipeline=nnef_tvm.pipeline(kind))
    device = tvm.device(kind, 0)
    close(relax.VirtualMachine(executable, device)["main"](tvm.runtime.tensor(ARRAYS[0], device)).numpy())


def test_beside_another_copy_of_the_compiler():
    """Plug-ins and libraries bring copies of its code, and TVM's registry is one for all of them."""
    script = """import ctypes, sys, tvm
ctypes.CDLL(sys.argv[1]).nnef_register_kernels()
sys.path.insert(0, sys.argv[2])
import nnef_tvm, numpy as np
graph = b"version 1.0; graph G(x) -> (y) { x = external(shape = [4]); y = exp(x); }"
print(nnef_tvm.Session(nnef_tvm.compile(graph))(np.zeros(4, "float32")))"""
    door = ROOT / "build/release/libkernel_door.so"
    result = subprocess.run([sys.executable, "-c", script, door, ROOT / "python"], capture_output=True, text=True)
    assert result.stdout.strip() == "[1. 1. 1. 1.]", result.stderr
