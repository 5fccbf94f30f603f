import numpy as np

from battery import Family, R, booleans, integers, nn, normal, symbol

family = Family()
case = family.case
x = normal(2, 3, 4)

for name, function in {"sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min, "prod": np.prod,
                       "variance": np.var, "std": np.std}.items():
    for axes in (None, [0], [-1], [2, 0]):
        for keep in (False, True):
            case(f"{name} {axes} {keep}", lambda v, f=getattr(R, name), a=axes, k=keep: f(v, a, k), [x],
                 function(x, axis=None if axes is None else tuple(axes), keepdims=keep))
for name, function in {"max": np.max, "min": np.min}.items():
    flags, numbers = booleans(3, 4), integers(-9, 9, 3, 4)
    case(name + " of bool", lambda v, f=getattr(R, name): f(v, [1], True), [flags],
         function(flags, axis=1, keepdims=True))
    case(name + " of int32", lambda v, f=getattr(R, name): f(v, [1]), [numbers], function(numbers, axis=1))
case("sum of int32", lambda v: R.sum(v, [0]), [numbers], numbers.sum(0))
case("sum of float16", lambda v: R.sum(v, [0]), [np.ones(5000, "float16")], np.float16(5000))
case("sum over no axes", lambda v: R.sum(v, []), [x], x)
case("sum of nothing", lambda v: R.sum(v, [0]), [np.zeros((0, 3), "float32")], np.zeros(3))
case("prod of nothing", lambda v: R.prod(v, [0]), [np.zeros((0, 3), "float32")], np.ones(3))

for name, function in {"argmax": np.argmax, "argmin": np.argmin}.items():
    operator = getattr(R, name)
    for axis in (0, -1, None):
        case(f"{name} {axis}", lambda v, f=operator, a=axis: f(v, a), [x], function(x, axis=axis))
    ties, flags = integers(0, 2, 5, 6), booleans(5, 6)
    infinite = np.full((2, 3), -np.inf if name == "argmax" else np.inf, "float32")
    case(name + ", axis kept", lambda v, f=operator: f(v, 1, True), [x], np.expand_dims(function(x, axis=1), 1))
    case(name + ", ties", lambda v, f=operator: f(v, 1), [ties], function(ties, axis=1))
    case(name + " of bool", lambda v, f=operator: f(v, 1), [flags], function(flags, axis=1))
    case(name + " of infinities", lambda v, f=operator: f(v, 1), [infinite], np.zeros(2))


def softmax(v, axis):
    e = np.exp(v - v.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


for axis in (0, 1, -1):
    case(f"softmax {axis}", lambda v, a=axis: nn.softmax(v, a), [x], softmax(x, axis))
    case(f"log_softmax {axis}", lambda v, a=axis: nn.log_softmax(v, a), [x], np.log(softmax(x, axis)))
case("softmax of large", lambda v: nn.softmax(v, -1), [100 * x], softmax(100 * x, -1))

case("cumsum", lambda v: R.cumsum(v, 1), [x], x.cumsum(1))
case("cumsum, exclusive", lambda v: R.cumsum(v, 1, None, True), [x], x.cumsum(1) - x)
case("cumsum of int32", lambda v: R.cumsum(v, 0), [numbers], numbers.cumsum(0))
case("cumprod", lambda v: R.cumprod(v, 2), [x], x.cumprod(2))
for descending in (False, True):
    order = np.argsort(-x if descending else x, 1, kind="stable")
    case(f"sort {descending}", lambda v, d=descending: R.sort(v, 1, d), [x], np.take_along_axis(x, order, 1))
    case(f"argsort {descending}", lambda v, d=descending: R.argsort(v, 1, d, "int64"), [x], order)
for largest in (True, False):
    order = np.argsort(-x if largest else x, -1, kind="stable")[..., :2]
    values = np.take_along_axis(x, order, -1)
    for wanted, results in {"both": [values, order], "values": [values], "indices": [order]}.items():
        case(f"topk {largest} {wanted}", lambda v, w=wanted, m=largest: R.topk(v, 2, -1, w, m, "int64"), [x], results)

n, m = symbol("n"), symbol("m")
case("softmax, symbolic", lambda v: nn.softmax(v, 1), [x], softmax(x, 1), shapes=[(n, 3, m)])
case("mean, symbolic", lambda v: R.mean(v, [0, 2]), [x], x.mean((0, 2)), shapes=[(n, 3, m)])
case("sum, computed extent", lambda v: R.sum(v, [1]), [x], x.sum(1), shapes=[(n, 3, n * 2)])

test_reduce = family.test()
