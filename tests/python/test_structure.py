"""The imported modules, as TVM's tests of frontends have them: assert_structural_equal with what is written in TVMScript."""
import ast
import re
import warnings

import numpy as np
import pytest
import tvm
from tvm.ir import assert_structural_equal
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

import case_file
from conftest import ROOT, write_files
from models import archive, graph, normal
from package import nnef_tvm

# ruff: noqa: F821  names of TVMScript
pytestmark = pytest.mark.filterwarnings("error::nnef_tvm.NNEFWarning")


def verify(model, expected, **options):
    assert_structural_equal(nnef_tvm.from_nnef(model, **options), expected)


def test_unary():
    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
            R.func_attr({"num_input": 1})
            with R.dataflow():
                y: R.Tensor((2, 3), "float32") = R.exp(x)
                R.output(y)
            return y

    verify(graph("x = external(shape = [2,3]); y = exp(x);"), Expected)


def test_broadcast_is_aligned_on_the_left():
    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((2, 3), "float32"), z: R.Tensor((2,), "float32")) -> R.Tensor((2, 3), "float32"):
            R.func_attr({"num_input": 2})
            with R.dataflow():
                lv: R.Tensor((2, 1), "float32") = R.expand_dims(z, axis=[1])
                y: R.Tensor((2, 3), "float32") = R.add(x, lv)
                R.output(y)
            return y

    verify(graph("x = external(shape = [2,3]); z = external(shape = [2]); y = add(x, z);", inputs="x, z"), Expected)


def test_convolution_with_weights_as_parameters():
    @I.ir_module
    class Expected:
        @R.function
        def main(
            x: R.Tensor((1, 3, 8, 8), "float32"), w: R.Tensor((4, 3, 3, 3), "float32"), b: R.Tensor((1, 4), "float32")
        ) -> R.Tensor((1, 4, 8, 8), "float32"):
            R.func_attr({"num_input": 1})
            with R.dataflow():
                lv: R.Tensor((1, 4, 8, 8), "float32") = R.nn.conv2d(x, w, padding=[1, 1, 1, 1])
                lv1: R.Tensor((1, 4, 1, 1), "float32") = R.expand_dims(b, axis=[2, 3])
                y: R.Tensor((1, 4, 8, 8), "float32") = R.add(lv, lv1)
                R.output(y)
            return y

    weight, bias = normal(4, 3, 3, 3), normal(1, 4)
    text = graph("""x = external(shape = [1,3,8,8]); w = variable(shape = [4,3,3,3], label = 'w');
        b = variable(shape = [1,4], label = 'b'); y = conv(x, w, b);""")
    module = nnef_tvm.from_nnef(archive(text, w=weight, b=bias), keep_params_in_input=True)
    module, params = tvm.relax.frontend.detach_params(module)
    assert_structural_equal(module, Expected)
    for found, value in zip(params["main"], (weight, bias), strict=True):
        np.testing.assert_array_equal(found.numpy(), value)


def test_weights_as_constants():
    values = normal(2, 3)
    text = graph("x = external(shape = [2,3]); w = variable(shape = [2,3], label = 'w'); y = mul(x, w);")
    builder = tvm.relax.BlockBuilder()
    x = tvm.relax.Var("x", tvm.relax.TensorType((2, 3), "float32"))
    with builder.function("main", [x], attrs={"num_input": 1}):
        with builder.dataflow():
            y = builder.emit_output(tvm.relax.op.multiply(x, tvm.relax.const(values)))
        builder.emit_func_output(y)
    verify(archive(text, w=values), builder.get())


def test_several_outputs():
    @I.ir_module
    class Expected:
        @R.function
        def main(
            x: R.Tensor((2, 4), "float32"),
        ) -> R.Tuple(R.Tensor((2, 1), "float32"), R.Tensor((4, 2), "float32")):
            R.func_attr({"num_input": 1})
            with R.dataflow():
                y: R.Tensor((2, 1), "float32") = R.max(x, axis=[1], keepdims=True)
                z: R.Tensor((4, 2), "float32") = R.permute_dims(x, axes=[1, 0])
                R.output(y, z)
            return (y, z)

    body = "x = external(shape = [2,4]); y = max_reduce(x, axes = [1]); z = transpose(x, axes = [1,0]);"
    verify(graph(body, outputs="y, z"), Expected)


def test_shapes_and_types_of_inputs():
    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((5, 7), "float64")) -> R.Tensor((5, 7), "float64"):
            R.func_attr({"num_input": 1})
            with R.dataflow():
                y: R.Tensor((5, 7), "float64") = R.nn.relu(x)
                R.output(y)
            return y

    model = graph("x = external(shape = [2,3]); y = relu(x);")
    verify(model, Expected, shape_dict={"x": (5, 7)}, dtype_dict={"x": "float64"})
    verify(model, Expected, shape_dict={"x": (5, 7)}, dtype_dict="float64")


CASES = {}
for path in sorted((ROOT / "tests/ops").glob("*.case")):
    _, sections = case_file.parse(path.read_text())
    for run in case_file.runs(sections):
        if run.arguments in (["import", "model"], ["import", "model", "--keep-params"]) and not run.status and run.stdout:
            CASES[path.stem] = (sections, "--keep-params" in run.arguments, run.stdout)


def constants(module):
    """What TVMScript leaves out of its text, where it says metadata[...]: values, which other tests compare."""
    found = re.search(r'^metadata = tvm\.ir\.load_json\((""".*?""")\)', module.script(show_meta=True), re.MULTILINE | re.DOTALL)
    return tvm.ir.load_json(ast.literal_eval(found[1])) if found else {}


@pytest.mark.parametrize("name", CASES)
def test_operation(name, tmp_path):
    """The text that the operation's case file has."""
    sections, keep_params, text = CASES[name]
    write_files(tmp_path, sections)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the case has them
        module = nnef_tvm.from_nnef(tmp_path / "model", keep_params_in_input=keep_params)
    expected = tvm.script.from_source(text, {"I": I, "R": R, "T": T, "metadata": constants(module)})
    assert_structural_equal(module, expected)
