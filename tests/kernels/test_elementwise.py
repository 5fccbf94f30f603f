import math

import numpy as np

from battery import Family, R, booleans, integers, nn, normal, positive, relax, symbol

family = Family()
case = family.case

x = 2 * normal(3, 5)
erf = np.vectorize(math.erf)
bounded = np.tanh(x) * np.float32(0.9)
special = np.array([1, np.inf, -np.inf, np.nan, 0], "float32")
flags, other_flags = booleans(9), booleans(9)


def sigmoid(v):
    return 1 / (1 + np.exp(-v))


functions = {
    "abs": (np.abs, x), "acos": (np.arccos, bounded), "acosh": (np.arccosh, 1 + positive(3, 5)),
    "asin": (np.arcsin, bounded), "asinh": (np.arcsinh, x), "atan": (np.arctan, x), "atanh": (np.arctanh, bounded),
    "ceil": (np.ceil, x), "cos": (np.cos, x), "cosh": (np.cosh, x), "erf": (erf, x), "exp": (np.exp, x),
    "floor": (np.floor, x), "log": (np.log, positive(3, 5)), "negative": (np.negative, x),
    "rsqrt": (lambda v: 1 / np.sqrt(v), positive(3, 5)), "sigmoid": (sigmoid, x),
    "sign": (np.sign, np.array([-2, 0, 3, -0.0], "float32")), "sin": (np.sin, x), "sinh": (np.sinh, x),
    "sqrt": (np.sqrt, positive(3, 5)), "square": (np.square, x), "tan": (np.tan, x), "tanh": (np.tanh, x),
    "trunc": (np.trunc, x),
    "round": (np.round, np.array([0.5, 1.5, 2.5, -0.5, -1.5, 0.49999997, 8388609, 1e10, -2.7], "float32")),
}
for name, (function, argument) in functions.items():
    case(name, getattr(R, name), [argument], function(argument))
for name in ("isnan", "isinf", "isfinite"):
    case(name, getattr(R, name), [special], getattr(np, name)(special))
for name in ("asin", "acosh", "tan", "exp", "erf", "atan", "cosh", "asinh", "atanh", "sigmoid", "tanh", "log"):
    argument = (positive(6) / 2 + (name == "acosh")).astype("float16")
    case(name + " of float16", getattr(R, name), [argument], functions[name][0](argument.astype("float32")),
         rtol=3e-3, atol=1e-3)
for name in ("abs", "negative", "sign", "floor", "ceil", "round", "square"):
    argument = integers(-5, 5, 7)
    case(name + " of int32", getattr(R, name), [argument], functions[name][0](argument))
case("logical_not", R.logical_not, [flags], ~flags)
case("bitwise_not", R.bitwise_not, [integers(5, 6, 3)], np.full(3, -6))
case("bitwise_not of bool", R.bitwise_not, [flags], ~flags)

slopes = normal(5)
wide = np.array([-100, -1, 0, 1, 30, 100], "float32")
case("relu", nn.relu, [x], np.maximum(x, 0))
case("leakyrelu", lambda v: nn.leakyrelu(v, 0.1), [x], np.where(x > 0, x, x * 0.1))
case("prelu", lambda v, a: nn.prelu(v, a, 1), [x, slopes], np.where(x > 0, x, x * slopes))
case("prelu, one slope", lambda v, a: nn.prelu(v, a, 1), [x, slopes[:1]], np.where(x > 0, x, x * slopes[0]))
case("gelu", nn.gelu, [x], x / 2 * (1 + erf(x / np.sqrt(2))))
case("gelu_tanh", nn.gelu_tanh, [x], x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))))
case("silu", nn.silu, [x], x * sigmoid(x))
case("selu", nn.selu, [x], 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * (np.exp(x) - 1)))
case("softplus", nn.softplus, [wide], np.logaddexp(0, wide.astype("float64")))
case("softplus, sharp", lambda v: nn.softplus(v, 2.0, 5.0), [x], np.where(2 * x > 5, x, np.log1p(np.exp(2 * x)) / 2))
case("dropout", lambda v: nn.dropout(v, 0.5), [x], [x, np.ones_like(x)])

y = normal(4, 1, 5)
for name, function in {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide,
                       "maximum": np.maximum, "minimum": np.minimum, "floor_divide": np.floor_divide, "mod": np.fmod,
                       "floor_mod": np.mod, "atan2": np.arctan2, "log_add_exp": np.logaddexp}.items():
    case(name, getattr(R, name), [x, y], function(x, y), rtol=1e-4, atol=1e-4)
for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
    a, b = integers(0, 3, 4, 5), integers(0, 3, 5)
    case(name, getattr(R, name), [x, y], getattr(np, name)(x, y))
    case(name + " of int32", getattr(R, name), [a, b], getattr(np, name)(a, b))
    case(name + " of bool", getattr(R, name), [flags, other_flags],
         getattr(np, name)(flags.astype(int), other_flags.astype(int)))
for name in ("logical_and", "logical_or", "logical_xor", "maximum", "minimum", "bitwise_and", "bitwise_or",
             "bitwise_xor"):
    case(name + " of bool", getattr(R, name), [flags, other_flags], getattr(np, name)(flags, other_flags))
for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "add", "maximum"):
    a, b = integers(0, 100, 8), integers(0, 5, 8)
    case(name + " of int32", getattr(R, name), [a, b], getattr(np, name)(a, b))

# Integers: no division traps; by zero gives zero.
a, b = integers(-20, 20, 40), integers(-4, 5, 40)
safe = np.where(b == 0, 1, b)
case("divide of int32", R.divide, [a, b], np.where(b == 0, 0, np.trunc(a / safe)))
case("floor_divide of int32", R.floor_divide, [a, b], np.where(b == 0, 0, a // safe))
case("mod of int32", R.mod, [a, b], np.where(b == 0, 0, np.fmod(a, safe)))
case("floor_mod of int32", R.floor_mod, [a, b], np.where(b == 0, 0, np.mod(a, safe)))
case("divide of the lowest", R.divide, [np.array([-2**31, 7, 5], "int32"), np.array([-1, 0, -1], "int32")],
     np.array([-2**31, 0, -5]))
case("divide by a constant", lambda v: R.divide(v, relax.const(np.int32(3))), [a], np.trunc(a / 3))

base, exponent = positive(3, 5), normal(5)
case("power", R.power, [base, exponent], base**exponent)
case("power, square", lambda v: R.power(v, relax.const(2.0)), [x], x**2)
case("power, constant", lambda v: R.power(v, relax.const(-0.75)), [base], base**-0.75)
a, b = integers(-5, 6, 30), integers(0, 8, 30)
case("power of int32", R.power, [a, b], a**b)
case("power of int64", R.power, [a.astype("int64"), b.astype("int64")], a.astype("int64") ** b)
case("power of int32, negative", R.power, [np.array([1, -1, -1, 2, 0], "int32"), np.array([-3, -3, -2, -1, -1], "int32")],
     np.array([1, -1, 1, 0, 0]))
for constant in (0, 1, 2, 7, 10):
    case(f"power of int32, {constant}", lambda v, n=constant: R.power(v, relax.const(np.int32(n))), [a], a**constant)

condition = booleans(3, 1)
case("where", R.where, [condition, x, y], np.where(condition, x, y))
case("where of bool", R.where, [flags, other_flags, ~other_flags], np.where(flags, other_flags, ~other_flags))
case("clip", lambda v: R.clip(v, -1, 0.5), [x], np.clip(x, -1, 0.5))
case("clip of int32", lambda v: R.clip(v, -1, 3), [a], np.clip(a, -1, 3))
for source in ("float32", "int32", "bool", "int64", "int8"):
    for target in ("float32", "int32", "bool", "int64", "int8", "float16"):
        v = booleans(6) if source == "bool" else (3 * normal(6)).astype(source)
        case(f"astype {source} {target}", lambda v, t=target: R.astype(v, t), [v], v.astype(target), rtol=1e-2)
case("ewise_fma", R.ewise_fma, [x, x, x], x * x + x)
case("add a constant", lambda v: R.add(v, relax.const(np.full((1, 1), 2.5, "float32"))), [x], x + 2.5)
case("add of rank 0", R.add, [x, np.array(2, "float32")], x + 2)
case("exp of rank 0", R.exp, [np.array(2, "float32")], np.exp(np.float32(2)))
n = symbol("n")
case("add, symbolic", R.add, [x, x], x + x, shapes=[(n, 5), (n, 5)])
case("add, symbolic, broadcast", R.add, [x, x[:1]], x + x[:1], shapes=[(n, 5), (1, 5)])

test_elementwise = family.test()
