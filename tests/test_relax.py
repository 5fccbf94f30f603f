"""Relax modules that did not come from NNEF: of TVM's ONNX frontend and of TVMScript, compiled from TVM's JSON.

Values are those of ONNX's reference evaluator, or of the formula in NumPy.
"""
import json
import random

import numpy as np
import onnx
import pytest
import tvm
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

GENERATOR = np.random.default_rng(0)


def normal(*shape):
    return GENERATOR.standard_normal(shape, dtype=np.float32)


def onnx_model(nodes, shape, weights, opset=13):
    """A model from x to y."""
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(value, name) for name, value in weights.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def convolutions():
    nodes = [helper.make_node("Conv", ["x", "w1", "b1"], ["c1"], pads=[1, 1, 1, 1]),
             helper.make_node("BatchNormalization", ["c1", "s", "o", "m", "v"], ["n1"]),
             helper.make_node("Clip", ["n1", "low", "high"], ["r1"]),
             helper.make_node("Conv", ["r1", "w2"], ["c2"], group=8, pads=[1, 1, 1, 1], strides=[2, 2]),
             helper.make_node("HardSwish", ["c2"], ["h2"]),
             helper.make_node("GlobalAveragePool", ["h2"], ["p"]),
             helper.make_node("Flatten", ["p"], ["f"]),
             helper.make_node("Gemm", ["f", "w3", "b3"], ["y"], transB=1)]
    weights = {"w1": normal(8, 3, 3, 3), "b1": normal(8), "s": normal(8), "o": normal(8), "m": normal(8), "v": normal(8) ** 2,
               "low": np.float32(0), "high": np.float32(1.5), "w2": normal(8, 1, 3, 3), "w3": normal(5, 8), "b3": normal(5)}
    return onnx_model(nodes, [1, 3, 12, 12], weights, opset=14)


def attention():
    """One head over six positions, as PyTorch's exporter writes it."""
    nodes = [helper.make_node("LayerNormalization", ["x", "ls", "lo"], ["n"], axis=-1),
             helper.make_node("MatMul", ["n", "wqkv"], ["m"]),
             helper.make_node("Reshape", ["m", "split"], ["r"]),
             helper.make_node("Transpose", ["r"], ["t"], perm=[2, 0, 1, 3]),
             *(helper.make_node("Gather", ["t", f"i{k}"], [f"p{k}"], axis=0) for k in range(3)),
             helper.make_node("Transpose", ["p1"], ["kt"], perm=[0, 2, 1]),
             helper.make_node("Sqrt", ["width"], ["root"]),
             helper.make_node("MatMul", ["p0", "kt"], ["qk"]),
             helper.make_node("Div", ["qk", "root"], ["scores"]),
             helper.make_node("Softmax", ["scores"], ["a"], axis=-1),
             helper.make_node("MatMul", ["a", "p2"], ["v"]),
             helper.make_node("Div", ["v", "root2"], ["d"]),
             helper.make_node("Erf", ["d"], ["e"]),
             helper.make_node("Add", ["e", "one"], ["e1"]),
             helper.make_node("Mul", ["v", "e1"], ["g"]),
             helper.make_node("Mul", ["g", "half"], ["y"])]
    weights = {"ls": normal(8), "lo": normal(8), "wqkv": normal(8, 24) / 3, "split": np.array([6, 1, 3, 8]),
               **{f"i{k}": np.array(k) for k in range(3)}, "width": np.float32(8), "root2": np.float32(2 ** 0.5), "one": np.float32(1), "half": np.float32(0.5)}
    return onnx_model(nodes, [6, 1, 8], weights, opset=17)


@pytest.mark.parametrize("keep_params", [False, True])
@pytest.mark.parametrize("make", [convolutions, attention])
def test_onnx_frontend(nnefc, tmp_path, make, keep_params):
    model = make()
    x = normal(*[d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim])
    (expected,) = ReferenceEvaluator(model).run(None, {"x": x})
    module = from_onnx(model, keep_params_in_input=keep_params)
    (tmp_path / "m.json").write_text(tvm.ir.save_json(module))
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", expected)
    output = json.loads(nnefc("info", compiled(nnefc, tmp_path), "--json").stdout)["outputs"][0]["name"]
    for model in ("m.json", "m.so"):
        run = nnefc("run", model, "--input", "x=x.npy", "--expect", f"{output}=y.npy", "--atol", "1e-4", cwd=tmp_path)
        assert run.returncode == 0, run.stdout + run.stderr


def compiled(nnefc, folder):
    result = nnefc("compile", "m.json", "-o", "m.so", cwd=folder)
    assert result.returncode == 0, result.stderr
    return folder / "m.so"


@I.ir_module
class TwoOutputs:
    @R.function(private=True)
    def scaled(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        with R.dataflow():
            y = R.multiply(x, R.const(3.0, "float32"))
            R.output(y)
        return y

    @R.function
    def main(a: R.Tensor((2, 3), "float32"), b: R.Tensor((3,), "float32")):
        cls = TwoOutputs
        with R.dataflow():
            first: R.Tensor((2, 3), "float32") = cls.scaled(a)
            second = R.add(first, b)
            R.output(first, second)
        return (first, second)


def test_script(nnefc, tmp_path):
    a, b = normal(2, 3), normal(3)
    (tmp_path / "m.json").write_text(tvm.ir.save_json(TwoOutputs))
    for name, value in {"a": a, "b": b, "first": 3 * a, "second": 3 * a + b}.items():
        np.save(tmp_path / f"{name}.npy", value)
    run = nnefc("run", "m.json", "--input", "a=a.npy", "--input", "b=b.npy", "--expect", "first=first.npy", "--expect",
                "second=second.npy", cwd=tmp_path)
    assert run.returncode == 0, run.stderr


@I.ir_module
class ShiftedQuotients:
    """Quotients and remainders of a sum with a constant, beside others of the same loop; TVM's FlattenBuffer alone makes (t + 3) % 8 // 8 of the first."""
    @T.prim_func(private=True, s_tir=True)
    def kernel(x: T.Buffer((2,), "float32"), w: T.Buffer((2, 2), "float32"), y: T.Buffer((24,), "float32")):
        for t in range(24):
            with T.sblock("y"):
                i = T.axis.spatial(24, t)
                y[i] = x[(i % 8 + 3) // 8] * 10.0 + w[i // 2 % 2, (i + 1) % 2]

    @R.function
    def main(x: R.Tensor((2,), "float32"), w: R.Tensor((2, 2), "float32")):
        cls = ShiftedQuotients
        with R.dataflow():
            y = R.call_tir(cls.kernel, (x, w), out_ty=R.Tensor((24,), "float32"))
            R.output(y)
        return y


def test_shifted_quotients(nnefc, tmp_path):
    (tmp_path / "m.json").write_text(tvm.ir.save_json(ShiftedQuotients))
    x, w, i = normal(2), normal(2, 2), np.arange(24)
    for name, value in {"x": x, "w": w, "y": x[(i % 8 + 3) // 8] * 10 + w[i // 2 % 2, (i + 1) % 2]}.items():
        np.save(tmp_path / f"{name}.npy", value)
    output = json.loads(nnefc("info", compiled(nnefc, tmp_path), "--json").stdout)["outputs"][0]["name"]
    run = nnefc("run", "m.so", "--input", "x=x.npy", "--input", "w=w.npy", "--expect", f"{output}=y.npy", cwd=tmp_path)
    assert run.returncode == 0, run.stdout + run.stderr


def script_with(parameter="R.Tensor((2, 3), 'float32')", body="R.nn.relu(x)", name="main", attributes="{'num_input': 1}"):
    return tvm.script.from_source(f"""
@I.ir_module
class Module:
    @R.function
    def {name}(x: {parameter}):
        R.func_attr({attributes})
        with R.dataflow():
            y = {body}
            R.output(y)
        return y
""")


REFUSED = {
    "relax/no-main": (lambda: script_with(name="forward"), "its Relax functions are: forward"),
    "relax/not-a-tensor": (lambda: script_with("R.Tuple(R.Tensor((2, 3), 'float32'))", "R.nn.relu(x[0])"), "'x' of 'main' is a tuple"),
    "relax/symbolic-shape": (lambda: script_with("R.Tensor(('n', 3), 'float32')"), "'x' of 'main' has the symbolic shape R.shape([n, 3])"),
    "relax/unknown-type": (lambda: script_with("R.Tensor(dtype='float32', ndim=2)"), "'x' of 'main' has no known shape"),
    "relax/num-input": (lambda: script_with(attributes="{'num_input': 2}"), "'num_input' of 'main' is 2, but it has 1 parameters"),
    "relax/parameter-values": (lambda: script_with(attributes="{'num_input': 0}"), "1 parameters after its 0 inputs"),
    "relax/params": (lambda: script_with(attributes="{'params': 7}"), "is not a list of tensors"),
    "relax/parameter-type": (lambda: with_wrong_value(), "parameter 'x' is float32[2,3], but its value is float32[4]"),
    "relax/ill-formed": (lambda: with_free_variable(), "the module is not well-formed"),
    "relax/function": (lambda: with_public_function(), "'main' needs another Relax function, 'other'"),
    "compile/unsupported": (lambda: script_with("R.Tensor((1, 4, 2, 8), 'float32')", "R.nn.attention(x, x, x)"), "'relax.nn.attention' (1 call)"),
}


def with_wrong_value():
    module = script_with(attributes="{'num_input': 0}")
    module["main"] = module["main"].with_attr("params", [tvm.runtime.tensor(normal(4))])
    return module


def with_free_variable():
    x, z = (relax.Var(name, relax.TensorType((2, 3), "float32")) for name in "xz")
    function = relax.Function([x], relax.SeqExpr([], z), ret_ty=z.ty).with_attr("global_symbol", "main")
    return tvm.IRModule({"main": function})


def with_public_function():
    @I.ir_module
    class Module:
        @R.function
        def other(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
            return R.nn.relu(x)

        @R.function
        def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
            cls = Module
            y: R.Tensor((2, 3), "float32") = cls.other(x)
            return y
    return Module


OTHER_JSON = {
    "relax/json": ["{", "{}", '{"root_index": 1, "nodes": [{"type": "None"}]}', '{"root_index": 0, "nodes": [{"type": "x.Y", "data": {}}]}'],
    "relax/not-a-module": ['{"root_index": 0, "nodes": [{"type": "ffi.Array", "data": []}]}'],
}


@pytest.mark.parametrize("identifier, text", [(i, text) for i, texts in OTHER_JSON.items() for text in texts])
def test_other_json_is_refused(nnefc, tmp_path, identifier, text):
    (tmp_path / "m.json").write_text(text)
    result = nnefc("compile", "m.json", "-o", "m.so", cwd=tmp_path)
    assert result.returncode == 1 and f"[{identifier}]" in result.stderr, result.stderr


def test_what_is_for_nnef_models_alone(nnefc, tmp_path):
    (tmp_path / "m.json").write_text(tvm.ir.save_json(TwoOutputs))
    for command in (["check", "m.json"], ["info", "m.json"], ["run", "m.json", "--reference"]):
        result = nnefc(*command, cwd=tmp_path)
        assert result.returncode == 1 and "[nnefc/relax-module]" in result.stderr, result.stderr
    result = nnefc("compile", "m.json", "-o", "m.so", "--shape", "a=1,2", cwd=tmp_path)
    assert result.returncode == 1 and "--shape has no effect on a Relax module" in result.stderr


def test_import_keeps_or_binds_weights(nnefc, tmp_path):
    (tmp_path / "m.json").write_text(tvm.ir.save_json(from_onnx(convolutions())))
    for flags, parameters in (([], 1), (["--keep-params"], 10)):
        result = nnefc("import", "m.json", "--format", "json", "-o", "again.json", *flags, cwd=tmp_path)
        assert result.returncode == 0, result.stderr
        main = tvm.ir.load_json((tmp_path / "again.json").read_text())["main"]
        assert int(main.attrs["num_input"]) == 1 and len(main.params) == parameters
        assert not flags or len(main.attrs["params"]) == parameters - 1


@pytest.mark.parametrize("identifier", REFUSED)
def test_refused(nnefc, tmp_path, identifier):
    make, message = REFUSED[identifier]
    (tmp_path / "m.json").write_text(tvm.ir.save_json(make()))
    result = nnefc("compile", "m.json", "-o", "m.so", cwd=tmp_path)
    assert result.returncode == 1 and f"[{identifier}]" in result.stderr and message in result.stderr, result.stderr


def damaged(nodes, draw):
    """The nodes with one fault: a reference, a type, a number or a piece of text replaced, or a node lost."""
    nodes = json.loads(json.dumps(nodes))
    index = draw.randrange(len(nodes))
    data = nodes[index].get("data")
    choice = draw.choice(["type", "data", "field", "field", "field", "lost"])
    if choice == "type":
        nodes[index]["type"] = draw.choice(nodes)["type"]
    elif choice == "lost":
        del nodes[index]
    elif choice == "data" or not data or not isinstance(data, (list, dict)):
        nodes[index]["data"] = draw.choice([None, -1, [], {}, "", "R.nn", draw.randrange(len(nodes)), draw.choice(nodes).get("data")])
    else:
        key = draw.randrange(len(data)) if isinstance(data, list) else draw.choice(list(data))
        data[key] = draw.choice([0, 0, -1, len(nodes), index, draw.randrange(len(nodes)), draw.randrange(len(nodes)), "x", None, 1 << 40])
    return nodes


def test_damaged_files_are_refused(nnefc, tmp_path):
    draw = random.Random(0)
    for module in (from_onnx(convolutions()), TwoOutputs):
        graph = json.loads(tvm.ir.save_json(module))
        for _ in range(20):
            (tmp_path / "m.json").write_text(json.dumps({**graph, "nodes": damaged(graph["nodes"], draw)}))
            result = nnefc("import", "m.json", "--format", "json", "-o", "again.json", cwd=tmp_path)
            assert result.returncode in (0, 1), (tmp_path / "m.json").read_text()
