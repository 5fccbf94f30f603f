import numpy as np

from battery import Family, R, integers, nn, normal, positive, relax, symbol

family = Family()
case = family.case

for a_shape, b_shape in [((3, 4), (4, 5)), ((4,), (4,)), ((4,), (4, 5)), ((3, 4), (4,)), ((2, 3, 4), (4, 5)),
                         ((2, 3, 4), (2, 4, 5)), ((1, 3, 4), (2, 4, 5)), ((7, 1, 3, 4), (2, 4, 5)),
                         ((2, 3, 4), (4,)), ((4,), (2, 4, 5)), ((3, 0), (0, 5))]:
    a, b = normal(*a_shape), normal(*b_shape)
    case(f"matmul {a_shape} {b_shape}", R.matmul, [a, b], np.matmul(a, b))
a, b = integers(-9, 9, 3, 4), integers(-9, 9, 4, 5)
case("matmul of int32", R.matmul, [a, b], a @ b)
case("matmul of int8 to int32", lambda a, b: R.matmul(a, b, "int32"), [a.astype("int8"), b.astype("int8")], a @ b)
a, b = normal(3, 2000).astype("float16"), normal(2000, 5).astype("float16")
case("matmul of float16", R.matmul, [a, b], a.astype("float32") @ b.astype("float32"), rtol=1e-2, atol=1e-1)
a, b = normal(3, 4), normal(4, 5)
case("einsum", lambda a, b: R.einsum([a, b], "ij,jk->ki"), [a, b], np.einsum("ij,jk->ki", a, b))
case("outer", R.outer, [a[0], b[0]], np.outer(a[0], b[0]))
n, m = symbol("n"), symbol("m")
case("matmul, symbolic rows", R.matmul, [a, b], a @ b, shapes=[(n, 4), (4, 5)])
case("matmul, symbolic inner", R.matmul, [a, b], a @ b, shapes=[(3, n), (n, m)])

x = normal(2, 6, 5, 4)


def normalised(v, axes):
    return (v - v.mean(axes, keepdims=True)) / np.sqrt(v.var(axes, keepdims=True) + 1e-5)


def per_channel(v):
    return v.reshape(1, 6, 1, 1)


gamma, beta = normal(4), normal(4)
planes = normal(5, 4), normal(5, 4)
case("layer_norm", lambda v, g, b: nn.layer_norm(v, g, b, [-1]), [x, gamma, beta], normalised(x, -1) * gamma + beta)
case("layer_norm, large mean", lambda v, g, b: nn.layer_norm(v, g, b, [-1]), [x + 1000, gamma, beta],
     normalised(x, -1) * gamma + beta, rtol=1e-2, atol=2e-3)
case("layer_norm of planes", lambda v, g, b: nn.layer_norm(v, g, b, [-2, -1]), [x, *planes],
     normalised(x, (2, 3)) * planes[0] + planes[1])
case("layer_norm, neither scaled nor shifted", lambda v, g, b: nn.layer_norm(v, g, b, [-2, -1], 1e-5, False, False),
     [x, *planes], normalised(x, (2, 3)))
case("rms_norm", lambda v, g: nn.rms_norm(v, g, [-1]), [x, gamma],
     x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5) * gamma)
gamma, beta, mean, variance = normal(6), normal(6), normal(6), positive(6)
case("instance_norm", lambda v, g, b: nn.instance_norm(v, g, b, 1, [2, 3]), [x, gamma, beta],
     normalised(x, (2, 3)) * per_channel(gamma) + per_channel(beta))
groups = normalised(x.reshape(2, 3, 2, 5, 4), (2, 3, 4)).reshape(x.shape)
case("group_norm", lambda v, g, b: nn.group_norm(v, g, b, 3, 1, [2, 3]), [x, gamma, beta],
     groups * per_channel(gamma) + per_channel(beta))
y = (x - per_channel(mean)) / np.sqrt(per_channel(variance) + 1e-5) * per_channel(gamma) + per_channel(beta)
statistics = [gamma, beta, mean, variance]
case("batch_norm", lambda *a: nn.batch_norm(*a, axis=1, training=False), [x, *statistics], [y, mean, variance])
case("batch_norm, first result", lambda *a: relax.TupleGetItem(nn.batch_norm(*a, axis=1, training=False), 0),
     [x, *statistics], y)

test_linear = family.test()
