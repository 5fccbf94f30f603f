"""The formulas of transcendental.cc over all magnitudes of float32, against NumPy in float64 (erf: Python's math)."""
import math

import numpy as np
import pytest

from battery import R, legalisations, relax, tvm

TINY = float(np.finfo("float32").tiny)
SUBNORMAL = 2.0**-149
RELATIVE = 5e-7  # four units in the last place


def sweep():
    """All exponents and signs with pseudo-random mantissas, a dense stretch around 0, and the special values."""
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 2**32, 200_000, dtype=np.uint64).astype(np.uint32).view(np.float32)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, SUBNORMAL, -SUBNORMAL, TINY, -TINY, 1, -1,
                        np.nextafter(np.float32(1), np.float32(0)), np.nextafter(np.float32(1), np.float32(2)),
                        3.4028235e38, -3.4028235e38], "float32")
    dense = np.concatenate([np.linspace(-110, 110, 100_001), np.linspace(-6, 6, 100_001), np.linspace(0, 3, 100_001)])
    return np.concatenate([bits, special, dense.astype("float32")])


def run(operator, *inputs):
    """The inputs (cut to whole vectors) and the operator's results; those of vectors and those of single items must agree."""
    count = len(inputs[0]) // 16 * 16
    builder = relax.BlockBuilder()
    params = [relax.Var(f"x{i}", relax.TensorType((count,), "float32")) for i in range(len(inputs))]
    with builder.function("main", params):
        with builder.dataflow():
            output = builder.emit_output(builder.emit(operator(*params)))
        builder.emit_func_output(output)
    module = relax.transform.LegalizeOps(legalisations())(builder.get())
    machines = [relax.VirtualMachine(tvm.compile(form, target="llvm"), tvm.cpu()) for form in (module, vectorised(module))]
    tensors = [tvm.runtime.tensor(x[:count]) for x in inputs]
    scalar, vector = (machine["main"](*tensors).numpy() for machine in machines)
    np.testing.assert_array_equal(scalar, vector)
    return [x[:count] for x in inputs], vector


def vectorised(module):
    schedule = tvm.s_tir.Schedule(module)
    kernel, = (v.name_hint for v, f in module.functions_items() if isinstance(f, tvm.tirx.PrimFunc))
    schedule.work_on(kernel)
    block, = schedule.get_child_blocks(schedule.get_sblock("root"))
    _, inner = schedule.split(schedule.get_loops(block)[-1], [None, 16])
    schedule.vectorize(inner)
    return schedule.mod


def check(got, want, relative=RELATIVE):
    with np.errstate(all="ignore"):
        rounded = want.astype("float32")
        np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
        finite = np.isfinite(want) & np.isfinite(rounded)
        error = np.abs(got.astype("float64") - want)[finite]
        bound = np.maximum(np.abs(want[finite]) * relative, 2 * SUBNORMAL)
        worst = np.argmax(error / bound)
        assert np.all(error <= bound), (got[finite][worst], want[finite][worst])
        infinite = np.isinf(rounded)
        # Just below the greatest number, the result may be rounded to infinity or not.
        edge = infinite & (np.abs(want) < 3.4028235e38 * (1 + 1e-6))
        np.testing.assert_array_equal(got[infinite & ~edge], rounded[infinite & ~edge])


def sigmoid(x):
    return np.where(x < 0, np.exp(-np.abs(x)), 1) / (1 + np.exp(-np.abs(x)))


FUNCTIONS = {"exp": np.exp, "log": np.log, "tanh": np.tanh, "erf": np.vectorize(math.erf), "sigmoid": sigmoid}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_unary(name):
    (x,), got = run(getattr(R, name), sweep())
    with np.errstate(all="ignore"):
        check(got, FUNCTIONS[name](x.astype("float64")))


@pytest.mark.parametrize("name", ["tanh", "erf"])
def test_odd(name):
    (x,), got = run(getattr(R, name), sweep())
    _, mirrored = run(getattr(R, name), -x)
    np.testing.assert_array_equal(got, -mirrored)
    assert np.array_equal(np.signbit(got[x == 0]), np.signbit(x[x == 0]))
    assert np.all(np.abs(got[~np.isnan(got)]) <= 1)


def test_pow():
    bases, exponents = sweep(), np.random.default_rng(2).permutation(np.clip(sweep(), -40, 40))
    special = np.array([0.0, -0.0, 1, -1, 2, -2, 3, -3, 0.5, -0.5, 1e-40, -1e-40, 1e38, np.inf, -np.inf, np.nan, 2**24 + 2,
                        -(2**24 - 1)], "float32")
    pairs = np.array(np.meshgrid(special, special), "float32").reshape(2, -1)
    both = [np.concatenate([bases, np.abs(bases), pairs[0]]),
            np.concatenate([exponents, np.clip(exponents, -3e38, 3e38) / 8, pairs[1]])]
    padding = -len(both[0]) % 16
    (x, y), got = run(R.power, *(np.concatenate([v, np.ones(padding, "float32")]) for v in both))
    with np.errstate(all="ignore"):
        want = np.power(x.astype("float64"), y.astype("float64"))
        check(got, want)
        zero = want == 0
        assert np.array_equal(np.signbit(got[zero]), np.signbit(want[zero]))
