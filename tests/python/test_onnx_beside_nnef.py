"""One network by way of TVM's ONNX frontend and by way of NNEF: the same operators, and the same numbers after the same passes."""
import collections
import contextlib
import io

import numpy as np
import onnx
import pytest
import tvm
from nnef_tools import convert
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx

from models import normal
from package import nnef_tvm

# Frontends bring operands into shape in ways of their own; what is computed is to be the same.
SHAPING = {"relax.reshape", "relax.expand_dims", "relax.permute_dims", "relax.squeeze", "relax.flatten"}


class Options(dict):
    """The converter's command line; what is not given is None there too."""
    __getattr__ = dict.get


def network():
    nodes = [helper.make_node("Conv", ["x", "w1", "b1"], ["c1"], pads=[1, 1, 1, 1]),
             helper.make_node("Relu", ["c1"], ["r1"]),
             helper.make_node("MaxPool", ["r1"], ["m1"], kernel_shape=[2, 2], strides=[2, 2]),
             helper.make_node("Conv", ["m1", "w2"], ["c2"], group=8, pads=[1, 1, 1, 1], kernel_shape=[3, 3]),
             helper.make_node("Sigmoid", ["c2"], ["s2"]),
             helper.make_node("Mul", ["c2", "s2"], ["u2"]),
             helper.make_node("Add", ["u2", "m1"], ["a2"]),
             helper.make_node("GlobalAveragePool", ["a2"], ["p"]),
             helper.make_node("Flatten", ["p"], ["f"]),
             helper.make_node("MatMul", ["f", "w3"], ["g"]),
             helper.make_node("Softmax", ["g"], ["y"], axis=1)]
    weights = {"w1": normal(8, 3, 3, 3), "b1": normal(8, seed=1), "w2": normal(8, 1, 3, 3, seed=2), "w3": normal(8, 5, seed=3)}
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 12, 12])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 5])],
                              [numpy_helper.from_array(value, name) for name, value in weights.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    folder = tmp_path_factory.mktemp("network")
    model = network()
    onnx.save(model, folder / "network.onnx")
    with contextlib.redirect_stdout(io.StringIO()) as said:
        status = convert.main(Options(input_format="onnx", output_format="nnef", input_model=str(folder / "network.onnx"),
                                      output_model=str(folder / "network"), keep_io_names=True))
    assert status == 0, said.getvalue()
    return model, from_onnx(model), nnef_tvm.from_nnef(folder / "network")


def computed(module):
    counts = collections.Counter()

    def visit(expr):
        if isinstance(expr, tvm.ir.Call) and isinstance(expr.op, tvm.ir.Op) and expr.op.name not in SHAPING:
            counts[expr.op.name] += 1

    relax.analysis.post_order_visit(module["main"], visit)
    return counts


def test_structure(modules):
    _, by_onnx, by_nnef = modules
    assert computed(by_onnx) == computed(by_nnef)
    for module in (by_onnx, by_nnef):
        (x,) = module["main"].params
        assert x.name == "x" and tuple(map(int, x.ty.shape)) == (1, 3, 12, 12)
        assert int(module["main"].attrs["num_input"]) == 1
        assert tuple(map(int, module["main"].ret_ty.shape)) == (1, 5)


def test_numbers(modules):
    model, *imported = modules
    x = normal(1, 3, 12, 12, seed=4)
    (expected,) = ReferenceEvaluator(model).run(None, {"x": x})
    for module in imported:
        found = nnef_tvm.Session(nnef_tvm.compile(module))(x)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
