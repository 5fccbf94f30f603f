"""from_nnef as TVM's users know frontends, and what it says of faulty models."""
import pathlib

import nnef
import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.ir import assert_structural_equal
from tvm.script import tirx as T

from conftest import ROOT
from models import archive, graph, normal
from package import nnef_tvm

pytestmark = pytest.mark.filterwarnings("error::nnef_tvm.NNEFWarning")
RELU = graph("x = external(shape = [2,3]); y = relu(x);")
WEIGHTED = graph("x = external(shape = [2,3]); w = variable(shape = [2,3], label = 'w'); y = mul(x, w);")


def run(module, *inputs):
    machine = relax.VirtualMachine(tvm.compile(module, tvm.target.Target({"kind": "llvm", "opt-level": 0})), tvm.cpu())
    return machine["main"](*map(tvm.runtime.tensor, inputs)).numpy()


def test_ways_to_give_a_model(tmp_path):
    module = nnef_tvm.from_nnef(RELU)
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "graph.nnef").write_bytes(RELU)
    (tmp_path / "model.tar").write_bytes(archive(RELU))
    for path in (folder, folder / "graph.nnef", tmp_path / "model.tar"):
        for model in (path, str(path)):
            assert_structural_equal(nnef_tvm.from_nnef(model), module)
    assert_structural_equal(nnef_tvm.from_nnef(archive(RELU)), module)
    with pytest.raises(TypeError, match="a model is a path, bytes or an nnef.Graph, not list"):
        nnef_tvm.from_nnef([])


def test_graphs_of_khronos_package(tmp_path):
    weights = normal(2, 3)
    (tmp_path / "model.tar").write_bytes(archive(WEIGHTED, w=weights))
    (tmp_path / "model").mkdir()
    (tmp_path / "model/graph.nnef").write_bytes(WEIGHTED)
    with open(tmp_path / "model/w.dat", "wb") as file:
        nnef.write_tensor(file, weights)
    parsed = nnef.load_graph(str(tmp_path / "model"))
    assert_structural_equal(nnef_tvm.from_nnef(parsed), nnef_tvm.from_nnef(tmp_path / "model.tar"))


def test_quantisation_of_khronos_graphs(tmp_path):
    (tmp_path / "graph.nnef").write_bytes(RELU)
    (tmp_path / "graph.quant").write_text('"y": linear_quantize(min = 0.0, max = 1.0, bits = 8);\n')
    parsed = nnef.load_graph(str(tmp_path))
    expected = nnef_tvm.from_nnef(tmp_path)
    assert_structural_equal(nnef_tvm.from_nnef(parsed), expected)
    x = normal(2, 3)
    np.testing.assert_allclose(run(expected, x), np.round(np.clip(x, 0, 1) * 255) / 255, rtol=1e-6)
    np.testing.assert_array_equal(run(nnef_tvm.from_nnef(parsed, quant="ignore"), x), np.maximum(x, 0))


def test_parameters_are_kept_and_detached():
    weights = normal(2, 3)
    module = nnef_tvm.from_nnef(archive(WEIGHTED, w=weights), keep_params_in_input=True)
    main = module["main"]
    assert int(main.attrs["num_input"]) == 1 and [param.name for param in main.params] == ["x", "w"]
    bare, params = relax.frontend.detach_params(module)
    assert "params" not in bare["main"].attrs
    x = normal(2, 3, seed=1)
    np.testing.assert_array_equal(run(bare, x, params["main"][0].numpy()), x * weights)
    assert "params" not in nnef_tvm.from_nnef(archive(WEIGHTED, w=weights))["main"].attrs


def test_weights_outlive_the_model(tmp_path):
    weights = normal(64, 64)
    text = WEIGHTED.replace(b"[2,3]", b"[64,64]")
    module = nnef_tvm.from_nnef(archive(text, w=weights))
    np.testing.assert_array_equal(run(module, np.ones((64, 64), "float32")), weights)


def test_updated_variables_are_inputs_and_outputs():
    text = graph("""x = external(shape = [3]); s = variable(shape = [3], label = 's');
        y = add(x, s); t = update(s, y);""")
    main = nnef_tvm.from_nnef(archive(text, s=np.zeros(3, "float32")))["main"]
    assert int(main.attrs["num_input"]) == 2 and int(main.attrs["num_state"]) == 1


def test_names_of_inputs():
    text = graph("class = external(shape = [2,3]); y = relu(class);", inputs="class")
    with pytest.warns(nnef_tvm.NNEFWarning, match=r"\[import/renamed-input\] the input 'class' is called 'class_1'"):
        module = nnef_tvm.from_nnef(text)
    assert module["main"].params[0].name == "class_1"
    assert nnef_tvm.from_nnef(text, sanitize_input_names=False)["main"].params[0].name == "class"


def test_dtypes():
    text = graph("x = external(shape = [3]); i = external<integer>(shape = [3]); y = copy(x); j = copy(i);", "x, i", "y, j")

    def types(**options):
        return [str(param.ty.dtype) for param in nnef_tvm.from_nnef(text, **options)["main"].params]

    assert types() == ["float32", "int32"]
    assert types(dtype_dict="float64") == ["float64", "int32"]
    assert types(dtype_dict=np.int64) == ["float32", "int64"]
    assert types(dtype_dict={"x": "float16", "i": "uint8"}) == ["float16", "uint8"]
    with pytest.raises(nnef_tvm.NNEFError, match=r"\[python/item-type\] 'complex64' is no item type"):
        nnef_tvm.from_nnef(text, dtype_dict="complex64")


def test_symbolic_shapes():
    (x,) = nnef_tvm.from_nnef(RELU, shape_dict={"x": ("B", 3)})["main"].params
    batch, width = x.ty.shape
    assert batch.name == "B" and int(width) == 3
    session = nnef_tvm.Session(nnef_tvm.compile(RELU, shape_dict={"x": ("B", 3)}))
    assert session.inputs[0].shape == (-1, 3)
    for size in (1, 5):
        values = normal(size, 3)
        np.testing.assert_array_equal(session(values), np.maximum(values, 0))


def test_diagnostics_are_values():
    with pytest.raises(nnef_tvm.NNEFError) as caught:
        nnef_tvm.from_nnef(RELU.replace(b"relu(x)", b"softmax(x, axes = [7])"), shape_dict={"x": (4, 5)})
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.severity == "error" and diagnostic.id == "softmax/axes-range"
    assert (diagnostic.line, diagnostic.column) == (4, 52)  # of [7]
    assert "[4,5]" in str(diagnostic) and str(caught.value) == str(diagnostic)


def test_arguments_are_checked():
    for options in ({"quant": "real"}, {"dialect": "onnx"}):
        with pytest.raises(ValueError, match="expected one of"):
            nnef_tvm.from_nnef(RELU, **options)
    with pytest.raises(nnef_tvm.NNEFError, match="'z'"):
        nnef_tvm.from_nnef(RELU, shape_dict={"z": (1, 2)})


@pytest.mark.parametrize("extensions", [(), ("tract_registry tract_core",)])
def test_all_missing_operations_are_listed(extensions):
    text = graph("x = external<scalar>(shape = [2,3]); z = fancy(x); y = fancier(z);", extensions=extensions)
    with pytest.raises(tvm.error.OpNotImplemented, match="not supported for frontend NNEF") as caught:
        nnef_tvm.from_nnef(text)
    assert isinstance(caught.value, nnef_tvm.OpNotImplemented)
    assert "'fancy'" in str(caught.value) and "'fancier'" in str(caught.value)


SWISH = "fragment swish(x: tensor<scalar>, beta: scalar = 1.0) -> (y: tensor<scalar>);"
SWISH_MODEL = graph("x = external(shape = [2,3]); y = swish(x, beta = 2.0);")
X = normal(2, 3)
SWISHED = X / (1 + np.exp(-2 * X))


def same_shape(op):
    return op.inputs["x"]


def by_operators(op, builder):
    assert op.name == "swish" and op.outputs == (nnef_tvm.TensorInfo("y", "float32", (2, 3)),)
    scaled = builder.emit(relax.op.multiply(op.inputs["x"], relax.const(op.attributes["beta"], "float32")))
    return relax.op.multiply(op.inputs["x"], relax.op.sigmoid(scaled))


def by_te(op, builder):
    beta = op.attributes["beta"]
    return builder.call_te(
        lambda x: tvm.te.compute(x.shape, lambda *i: x[i] / (1 + tvm.te.exp(x[i] * tvm.tirx.const(-beta, "float32")))),
        op.inputs["x"],
    )


@T.prim_func(private=True, s_tir=True)
def swish_of_two(x: T.Buffer((2, 3), "float32"), y: T.Buffer((2, 3), "float32")):
    for i, j in T.grid(2, 3):
        with T.sblock("swish"):
            v, w = T.axis.remap("SS", [i, j])
            y[v, w] = x[v, w] / (T.float32(1) + T.exp(x[v, w] * T.float32(-2)))


def by_script(op, builder):
    kernel = builder.add_func(swish_of_two, "swish")
    return relax.call_tir(kernel, [op.inputs["x"]], relax.TensorType((2, 3), "float32"))


@pytest.mark.parametrize("convert", [by_operators, by_te, by_script])
def test_operations_of_python(convert):
    assert nnef_tvm.register_operation(SWISH, same_shape) == "swish"
    module = nnef_tvm.from_nnef(SWISH_MODEL, custom_convert_map={"swish": convert})
    np.testing.assert_allclose(run(module, X), SWISHED, rtol=1e-5)
    session = nnef_tvm.Session(nnef_tvm.compile(SWISH_MODEL, custom_convert_map={"swish": convert}))
    np.testing.assert_allclose(session(X), SWISHED, rtol=1e-5)


def test_operations_are_registered_with_a_conversion_or_without():
    nnef_tvm.register_operation(SWISH, same_shape, by_operators)
    np.testing.assert_allclose(run(nnef_tvm.from_nnef(SWISH_MODEL), X), SWISHED, rtol=1e-5)
    nnef_tvm.register_operation(SWISH, same_shape)
    with pytest.raises(nnef_tvm.OpNotImplemented, match=r"\[import/unsupported\] operation 'swish'"):
        nnef_tvm.from_nnef(SWISH_MODEL)
    with pytest.raises(nnef_tvm.NNEFError, match="there is an operation 'relu' already"):
        nnef_tvm.register_operation("fragment relu(x: tensor<scalar>) -> (y: tensor<scalar>);", same_shape)


def test_conversions_of_symbolic_shapes():
    def convert(op, builder):
        assert op.outputs[0].shape == ("B", 3)
        return by_operators_of(op)

    def by_operators_of(op):
        return relax.op.multiply(op.inputs["x"], relax.op.sigmoid(relax.op.multiply(op.inputs["x"], relax.const(2.0, "float32"))))

    nnef_tvm.register_operation(SWISH, lambda op: op.inputs["x"], convert)
    session = nnef_tvm.Session(nnef_tvm.compile(SWISH_MODEL, shape_dict={"x": ("B", 3)}))
    np.testing.assert_allclose(session(X), SWISHED, rtol=1e-5)


def test_several_results():
    nnef_tvm.register_operation(
        "fragment halves(x: tensor<scalar>) -> (a: tensor<scalar>, b: tensor<scalar>);",
        lambda op: {"a": [1, 3], "b": [1, 3]},
        lambda op, builder: [relax.op.strided_slice(op.inputs["x"], [0], [i], [i + 1]) for i in range(2)],
    )
    text = graph("x = external(shape = [2,3]); (a, b) = halves(x); y = sub(b, a);")
    np.testing.assert_array_equal(run(nnef_tvm.from_nnef(text), X), X[1:] - X[:1])


def test_a_conversion_stands_before_the_built_in_one():
    module = nnef_tvm.from_nnef(RELU, custom_convert_map={"relu": lambda op, builder: relax.op.negative(op.inputs["x"])})
    np.testing.assert_array_equal(run(module, X), -X)


def test_faults_of_conversions():
    def broken(op, builder):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        nnef_tvm.from_nnef(RELU, custom_convert_map={"relu": broken})
    with pytest.raises(ValueError, match="the conversion of 'relu' gave 2 expressions, expected 1"):
        nnef_tvm.from_nnef(RELU, custom_convert_map={"relu": lambda op, builder: [op.inputs["x"]] * 2})
    with pytest.raises(nnef_tvm.NNEFError, match="this is a fault of that conversion"):
        nnef_tvm.from_nnef(RELU, custom_convert_map={"relu": lambda op, builder: relax.op.sum(op.inputs["x"])})


def test_faults_of_shape_functions():
    def broken(op):
        raise KeyError("mine")

    for shape, message in ((broken, "mine"), (lambda op: {"z": [1]}, "says nothing of 'y'")):
        nnef_tvm.register_operation(SWISH, shape, by_operators)
        with pytest.raises(nnef_tvm.NNEFError, match=message) as caught:
            nnef_tvm.from_nnef(SWISH_MODEL)
        assert caught.value.diagnostics[0].id == "swish/shape" and caught.value.diagnostics[0].line == 4


def test_digits_by_tvm_itself():
    """The module is ordinary Relax: TVM's own pipeline compiles it, and gets what our compiler gets."""
    folder = ROOT / "examples/digits/model"
    image = np.random.default_rng(0).random((1, 1, 8, 8)).astype("float32")
    session = nnef_tvm.Session(nnef_tvm.compile(pathlib.Path(folder)))
    np.testing.assert_allclose(run(nnef_tvm.from_nnef(folder), image), session(image), rtol=1e-5, atol=1e-6)
