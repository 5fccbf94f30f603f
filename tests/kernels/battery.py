"""Cases for kernels: a Relax expression of one operator, inputs, and the expected outputs. The cases of one file are legalised by
this project's kernels and compiled as one module."""
import ctypes
import functools
import os
import pathlib

import numpy as np
import pytest

tvm = pytest.importorskip("tvm")
from tvm import relax  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOOR = ROOT / os.environ.get("NNEF_KERNEL_DOOR", "build/release/libkernel_door.so")
R = relax.op
nn = relax.op.nn
rng = np.random.default_rng(0)


def normal(*shape):
    return rng.standard_normal(shape).astype("float32")


def positive(*shape):
    return (rng.random(shape) + 0.1).astype("float32")


def integers(low, high, *shape, dtype="int32"):
    return rng.integers(low, high, shape).astype(dtype)


def booleans(*shape):
    return rng.integers(0, 2, shape).astype(bool)


def symbol(name):
    return tvm.tirx.Var(name, "int64")


@functools.cache
def legalisations():
    if not DOOR.exists():
        pytest.skip(f"{DOOR} was not built")
    ctypes.CDLL(str(DOOR)).nnef_register_kernels()
    return dict(tvm.get_global_func("nnef_tvm.testing.legalisations")().items())


def operators(function):
    """The names of Relax's operators in a function."""
    names = set()

    def visit(expr):
        if isinstance(expr, tvm.ir.Call) and isinstance(expr.op, tvm.ir.Op) and expr.op.name.startswith("relax."):
            names.add(expr.op.name)

    relax.analysis.post_order_visit(function, visit)
    return names


class Family:
    """The cases of one file."""

    def __init__(self):
        self.cases = {}

    def case(self, name, expression, inputs, expected, shapes=None, rtol=1e-5, atol=1e-5):
        """`shapes` replaces the inputs' shapes where they are symbolic."""
        assert name not in self.cases, name
        self.cases[name] = (expression, inputs, expected, shapes or [x.shape for x in inputs], rtol, atol)

    def module(self, names):
        builder = relax.BlockBuilder()
        for index, name in enumerate(names):
            expression, inputs, _, shapes, _, _ = self.cases[name]
            params = [relax.Var(f"x{i}", relax.TensorType(shape, str(x.dtype)))
                      for i, (shape, x) in enumerate(zip(shapes, inputs))]
            with builder.function(f"case{index}", params):
                with builder.dataflow():
                    output = builder.emit_output(builder.emit(expression(*params)))
                builder.emit_func_output(output)
        return builder.get()

    @functools.cached_property
    def machine(self):
        """The compiled module, or why there is none."""
        try:
            return self.build()
        except Exception as error:
            return error

    def build(self):
        module = self.module(list(self.cases))
        legalised = relax.transform.LegalizeOps(legalisations())(module)
        for index, name in enumerate(self.cases):
            left = operators(legalised[f"case{index}"]) - {"relax.call_tir"}
            assert not left, f"{name}: no kernel for {left}"
        target = tvm.target.Target({"kind": "llvm", "opt-level": 0})
        return relax.VirtualMachine(tvm.compile(legalised, target=target), tvm.cpu())

    def covered(self):
        module = self.module(list(self.cases))
        return set().union(*(operators(module[f"case{i}"]) for i in range(len(self.cases))))

    def run(self, name):
        _, inputs, expected, _, rtol, atol = self.cases[name]
        if isinstance(self.machine, Exception):
            pytest.fail(f"the module of all cases was not built: {self.machine}", pytrace=False)
        got = self.machine[f"case{list(self.cases).index(name)}"](*[tvm.runtime.tensor(x) for x in inputs])
        got = [got] if hasattr(got, "numpy") else list(got)
        expected = expected if isinstance(expected, (list, tuple)) else [expected]
        assert len(got) == len(expected)
        for result, want in zip(got, expected):
            result, want = result.numpy(), np.asarray(want)
            assert result.shape == want.shape
            if result.dtype.kind in "biu":
                np.testing.assert_array_equal(result, want.astype(result.dtype))
            else:
                np.testing.assert_allclose(result, want, rtol=rtol, atol=atol)

    def test(self):
        @pytest.mark.parametrize("name", self.cases)
        def run_case(name):
            self.run(name)

        return run_case
