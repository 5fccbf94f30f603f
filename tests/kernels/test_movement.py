import numpy as np

from battery import Family, R, booleans, integers, nn, normal, relax, symbol, tvm

family = Family()
case = family.case
x, y, z, w = normal(2, 3, 4), normal(2, 5, 4), normal(2, 1, 4), normal(6, 7)
n, m = symbol("n"), symbol("m")

case("broadcast_to", lambda v: R.broadcast_to(v, (5, 2, 3, 4)), [z], np.broadcast_to(z, (5, 2, 3, 4)))
case("concat", lambda a, b, c: R.concat([a, b, c], 1), [x, y, z], np.concatenate([x, y, z], 1))
case("concat of one", lambda a: R.concat([a], 1), [x], x)
case("concat, last axis", lambda a, b: R.concat([a, b], -1), [x, x], np.concatenate([x, x], -1))
case("concat, symbolic", lambda a, b: R.concat([a, b], 1), [x, y], np.concatenate([x, y], 1),
     shapes=[(2, n, 4), (2, m, 4)])
case("concat of a tuple", lambda a: R.concat(R.split(R.add(a, a), 3, 1), 1), [x], x + x)
case("stack", lambda a, b: R.stack([a, b], 1), [x, x + 1], np.stack([x, x + 1], 1))
case("stack, last axis", lambda a, b: R.stack([a, b], -1), [x, x + 1], np.stack([x, x + 1], -1))
case("split at indices", lambda a: R.split(a, [1, 3], 2), [x], np.split(x, [1, 3], 2))
case("split to sections", lambda a: R.split(a, 3, 1), [x], np.split(x, 3, 1))
case("split unevenly", lambda a: R.split(a, 3, -1), [w], [w[:, :3], w[:, 3:6], w[:, 6:]])
case("expand_dims", lambda a: R.expand_dims(a, [0, 2, -1]), [x], x[None, :, None, :, :, None])
case("squeeze", lambda a: R.squeeze(a, [1]), [z], z[:, 0])
case("squeeze all", R.squeeze, [z], z[:, 0])
case("flatten", R.flatten, [x], x.reshape(-1))
case("batch_flatten", nn.batch_flatten, [x], x.reshape(2, 12))
for shape in [(24,), (6, 4), (2, 12), (4, 3, 2), (1, 2, 3, 2, 2, 1), (3, 2, 4), (8, 3), (2, -1)]:
    case(f"reshape {shape}", lambda a, s=shape: R.reshape(a, s), [x], x.reshape(shape))
case("reshape to rank 0", lambda a: R.reshape(a, ()), [x[:1, :1, :1]], x[0, 0, 0])
case("reshape from rank 0", lambda a: R.reshape(a, (1, 1)), [np.array(3, "float32")], np.full((1, 1), 3))
case("reshape of bool", lambda a: R.reshape(a, (6,)), [booleans(2, 3) | True], np.ones(6))
case("reshape, symbolic", lambda a: R.reshape(a, (n, 12)), [x], x.reshape(2, 12), shapes=[(n, 3, 4)])
case("reshape, symbolic, merged", lambda a: R.reshape(a, (n * 3, 4)), [x], x.reshape(6, 4), shapes=[(n, 3, 4)])
case("reshape, symbolic, cut", lambda a: R.reshape(a, (-1, 2)), [x], x.reshape(-1, 2), shapes=[(n, 3, m)])
case("permute_dims", lambda a: R.permute_dims(a, [2, 0, 1]), [x], x.transpose(2, 0, 1))
case("permute_dims, all reversed", R.permute_dims, [x], x.T)
case("permute_dims, negative", lambda a: R.permute_dims(a, [-1, 0, 1]), [x], x.transpose(2, 0, 1))
case("flip", lambda a: R.flip(a, 1), [x], x[:, ::-1])
case("repeat", lambda a: R.repeat(a, 2, 1), [x], x.repeat(2, 1))
case("repeat of all items", lambda a: R.repeat(a, 3), [x], x.repeat(3))
for repeats in ((2, 1, 3), (2, 1, 3, 1), (3,)):
    case(f"tile {repeats}", lambda a, r=repeats: R.tile(a, r), [x], np.tile(x, repeats))

for begin, end, stride in [([1, 2], [5, 6], [1, 2]), ([-3, 0], [2**31 - 1, -1], [1, 1]),
                           ([5, 6], [0, -100], [-1, -2]), ([-1, -1], [-100, 1], [-1, -1]), ([10, 0], [20, 3], [1, 1])]:
    case(f"strided_slice {begin} {end} {stride}",
         lambda a, b=begin, e=end, s=stride: R.strided_slice(a, [0, 1], b, e, s), [w],
         w[begin[0]:end[0]:stride[0], begin[1]:end[1]:stride[1]])
case("strided_slice, negative axis", lambda a: R.strided_slice(a, [-1], [1], [3]), [w], w[:, 1:3])
case("strided_slice, symbolic", lambda a: R.strided_slice(a, [0], [1], [2**31 - 1], [1]), [w], w[1:], shapes=[(n, 7)])
case("strided_slice, computed", lambda a: R.strided_slice(a, [0], [n - 1], [n]), [w], w[5:], shapes=[(n, 7)])

for mode, name in {"reflect": "reflect", "replicate": "edge", "edge": "edge", "symmetric": "symmetric",
                   "circular": "wrap", "wrap": "wrap"}.items():
    case(f"pad {mode}", lambda a, k=mode: nn.pad(a, [1, 2, 0, 3], k), [w], np.pad(w, [(1, 2), (0, 3)], name))
line = np.arange(3, dtype="float32")
case("pad", lambda a: nn.pad(a, [1, 2, 0, 3], "constant", 1.5), [w],
     np.pad(w, [(1, 2), (0, 3)], constant_values=1.5))
case("pad by nothing", lambda a: nn.pad(a, [0, 0, 0, 0]), [w], w)
case("pad of int32", lambda a: nn.pad(a, [1, 0], "constant", 7), [np.array([2, 3], "int32")], np.array([7, 2, 3]))
case("pad, reflected many times", lambda a: nn.pad(a, [7, 9], "reflect"), [line], np.pad(line, (7, 9), "reflect"))
pixels = normal(1, 8, 3, 4)
case("pixel_shuffle", lambda a: nn.pixel_shuffle(a, 2), [pixels],
     pixels.reshape(1, 2, 2, 2, 3, 4).transpose(0, 1, 4, 2, 5, 3).reshape(1, 2, 6, 8))
case("layout_transform", lambda a: R.layout_transform(a, lambda c, h: (c // 3, h, c % 3)), [w],
     w.reshape(2, 3, 7).transpose(0, 2, 1))
case("layout_transform, padded", lambda a: R.layout_transform(a, lambda c, h: (c // 4, h, c % 4), pad_value=0.0), [w],
     np.pad(w, [(0, 2), (0, 0)]).reshape(2, 4, 7).transpose(0, 2, 1))

# No index reads outside of its axis.
indices, outside = np.array([[0, 5], [2, 1]]), np.array([-1, 9])
for mode in ("fast", "clip", "wrap"):
    case(f"take {mode}", lambda a, i, k=mode: R.take(a, i, 1, k), [w, indices], w[:, indices])
for mode, places in {"fast": [-1, 6], "clip": [0, 6], "wrap": [6, 2]}.items():
    case(f"take {mode}, outside", lambda a, i, k=mode: R.take(a, i, 1, k), [w, outside], w[:, places])
case("take nan", lambda a, i: R.take(a, i, 1, "nan"), [w, np.array([1, 9])], np.stack([w[:, 1], np.full(6, np.nan)], 1))
case("take by int32", lambda a, i: R.take(a, i, 0), [w, indices.astype("int32")], w[indices])
case("take from rank 1", R.take, [w[0], indices], w[0][indices])
case("take by rank 0", lambda a, i: R.take(a, i, 0), [w, np.array(2)], w[2])
case("take by a number", lambda a: R.take(a, tvm.tirx.IntImm("int64", 2), 0), [w], w[2])
case("take by a constant", lambda a: R.take(a, relax.const(np.array([1, 3])), 0), [w], w[[1, 3]])
places = integers(-1, 6, 4, 7, dtype="int64")
case("gather_elements", lambda a, i: R.gather_elements(a, i, 0), [w, places], np.take_along_axis(w, places, 0))
places = np.array([[0, 1], [2, 3], [-1, 0]])
case("gather_nd", R.gather_nd, [w, places], w[places[:, 0], places[:, 1]])
case("gather_nd of rows", R.gather_nd, [x, places[:2] % 2], x[[0, 0], [1, 1]])
case("gather_nd in batches", lambda a, i: R.gather_nd(a, i, 1), [x, np.array([[2], [0]])], x[[0, 1], [2, 0]])
number = tvm.tirx.const
hot = np.eye(5)[[0, 4, 2]]
case("one_hot", lambda i: R.one_hot(i, number(2.0, "float32"), number(-1.0, "float32"), 5, -1), [np.array([0, 4, 2])],
     3 * hot - 1)
case("one_hot, first axis", lambda i: R.one_hot(i, number(1, "int32"), number(0, "int32"), 5, 0), [np.array([0, 4, 2])],
     hot.T)

COMBINE = {"update": lambda a, b: b, "add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}
data, updates = normal(5, 4), normal(3, 4)
places = np.array([[0, 1, 2, 0], [4, 1, -1, 3], [0, 0, 0, 0]])
for reduction, combine in COMBINE.items():
    for columns in (4, 2):
        want = data.copy()
        for row, column in np.ndindex(3, columns):
            place = places[row, column], column
            want[place] = combine(want[place], updates[row, column])
        case(f"scatter_elements {reduction} {columns}",
             lambda a, i, u, k=reduction: R.scatter_elements(a, i, u, 0, k),
             [data, places[:, :columns].copy(), updates[:, :columns].copy()], want)
case("scatter_elements mean", lambda a, i, u: R.scatter_elements(a, i, u, 0, "mean"),
     [data, np.array([[1, 1, 1, 1], [1, 1, 1, 0]]), updates[:2]],
     np.array([[data[r, c] if (r, c) not in ((0, 3), (1, 0), (1, 1), (1, 2), (1, 3)) else
                (data[r, c] + updates[1, 3]) / 2 if r == 0 else
                (data[r, c] + updates[0, c]) / 2 if c == 3 else
                (data[r, c] + updates[0, c] + updates[1, c]) / 3 for c in range(4)] for r in range(5)]))
for reduction, combine in COMBINE.items():
    want = data.copy()
    for i, row in enumerate((0, 3, 0)):
        want[row] = combine(want[row], updates[i])
    case(f"scatter_nd {reduction}", lambda a, i, u, k=reduction: R.scatter_nd(a, i, u, k),
         [data, np.array([[0], [3], [0]]), updates], want)

one = normal(1)
case("arange", lambda a: R.arange(1, 9, 3, "int64"), [one], np.arange(1, 9, 3))
case("arange of floats", lambda a: R.arange(0.5, 3.0, 0.5, "float32"), [one], np.arange(0.5, 3, 0.5))
case("arange, symbolic", lambda a: R.arange(0, n, 1, "int64"), [w], np.arange(6), shapes=[(n, 7)])
case("full", lambda a: R.full((2, 3), relax.const(1.5)), [one], np.full((2, 3), 1.5))
case("full of an input", lambda a: R.full((2, 3), a), [np.array(4, "float32")], np.full((2, 3), 4))
case("full, symbolic", lambda a: R.full((n, 3), relax.const(1.5)), [w], np.full((6, 3), 1.5), shapes=[(n, 7)])
case("full_like", lambda a: R.full_like(a, relax.const(2.5)), [x], np.full(x.shape, 2.5))
case("ones", lambda a: R.ones((2, 3), "float32"), [one], np.ones((2, 3)))
case("ones_like", R.ones_like, [x], np.ones_like(x))
case("ones_like, symbolic", R.ones_like, [w], np.ones((6, 7)), shapes=[(n, 7)])
case("zeros", lambda a: R.zeros((2, 3), "int32"), [one], np.zeros((2, 3)))
case("zeros of bool", lambda a: R.zeros((2,), "bool"), [one], np.zeros(2))
case("zeros_like", R.zeros_like, [x], np.zeros_like(x))
for k in (-1, 0, 2):
    case(f"tril {k}", lambda a, k=k: R.tril(a, k), [w], np.tril(w, k))
    case(f"triu {k}", lambda a, k=k: R.triu(a, k), [w], np.triu(w, k))
    case(f"eye {k}", lambda a, k=k: R.eye(4, 5, k, "float32"), [one], np.eye(4, 5, k))
    case(f"eye_like {k}", lambda a, k=k: R.eye_like(a, k), [w], np.eye(6, 7, k))

test_movement = family.test()
