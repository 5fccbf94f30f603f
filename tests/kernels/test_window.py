import itertools

import numpy as np

from battery import Family, integers, nn, normal, symbol

family = Family()
case = family.case
AXES = {1: "W", 2: "HW", 3: "DHW"}


def relaid(v, source, target):
    return np.ascontiguousarray(v.transpose([source.index(c) for c in target]))


def conv_reference(x, w, stride, padding, dilation, groups):
    rank = len(stride)
    x = np.pad(x, [(0, 0), (0, 0)] + [(padding[i], padding[i + rank]) for i in range(rank)])
    size = w.shape[2:]
    out = [(x.shape[2 + i] - (size[i] - 1) * dilation[i] - 1) // stride[i] + 1 for i in range(rank)]
    y = np.zeros((x.shape[0], groups, w.shape[0] // groups, *out), "float32")
    w = w.reshape(groups, w.shape[0] // groups, *w.shape[1:])
    for k in np.ndindex(*size):
        part = tuple(slice(k[i] * dilation[i], k[i] * dilation[i] + (out[i] - 1) * stride[i] + 1, stride[i])
                     for i in range(rank))
        items = x[(slice(None), slice(None), *part)].reshape(x.shape[0], groups, -1, *out)
        y += np.einsum("ngc...,goc->ngo...", items, w[(Ellipsis, *k)])
    return y.reshape(x.shape[0], -1, *out)


def conv(size, channels, outputs, extents, stride, padding, dilation, groups, data, weight):
    rank = len(size)
    x, w = normal(2, channels, *extents), normal(outputs, channels // groups, *size) / 3
    case(f"conv{rank}d {data} {weight} {size} stride {stride} padding {padding} dilation {dilation} groups {groups} "
         f"to {outputs}",
         lambda a, b: getattr(nn, f"conv{rank}d")(a, b, strides=stride, padding=list(padding), dilation=dilation,
                                                  groups=groups, data_layout=data, kernel_layout=weight),
         [relaid(x, "NC" + AXES[rank], data), relaid(w, "OI" + AXES[rank], weight)],
         relaid(conv_reference(x, w, stride, padding, dilation, groups), "NC" + AXES[rank], data), rtol=1e-4, atol=1e-4)


for data, weight in [("NCHW", "OIHW"), ("NHWC", "HWIO"), ("NHWC", "OHWI")]:
    conv((3, 3), 4, 6, (7, 9), (1, 1), (1, 1, 1, 1), (1, 1), 1, data, weight)
    conv((3, 2), 4, 6, (7, 9), (2, 1), (0, 1, 2, 0), (1, 2), 1, data, weight)
    conv((1, 1), 4, 8, (7, 7), (1, 1), (0, 0, 0, 0), (1, 1), 1, data, weight)
    conv((3, 3), 4, 6, (7, 9), (1, 2), (1, 1, 1, 1), (1, 1), 2, data, weight)
    conv((3, 3), 4, 4, (7, 9), (2, 2), (1, 1, 1, 1), (1, 1), 4, data, weight)
    conv((3, 3), 4, 8, (7, 9), (1, 1), (1, 1, 1, 1), (2, 1), 4, data, weight)
for data, weight in [("NCW", "OIW"), ("NWC", "WIO")]:
    conv((3,), 4, 6, (9,), (2,), (1, 2), (1,), 1, data, weight)
    conv((3,), 4, 6, (9,), (1,), (1, 2), (2,), 2, data, weight)
for data, weight in [("NCDHW", "OIDHW"), ("NDHWC", "ODHWI")]:
    conv((2, 3, 3), 2, 4, (4, 5, 6), (1, 2, 1), (0, 1, 1, 1, 1, 1), (1, 1, 1), 1, data, weight)


def conv_transpose_reference(x, w, stride, padding, output_padding, dilation, groups):
    rank = len(stride)
    size, extents = w.shape[2:], x.shape[2:]
    full = [(extents[i] - 1) * stride[i] + (size[i] - 1) * dilation[i] + 1 + output_padding[i] for i in range(rank)]
    y = np.zeros((x.shape[0], groups, w.shape[1], *full), "float32")
    x = x.reshape(x.shape[0], groups, -1, *extents)
    w = w.reshape(groups, -1, *w.shape[1:])
    for k in np.ndindex(*size):
        part = tuple(slice(k[i] * dilation[i], k[i] * dilation[i] + (extents[i] - 1) * stride[i] + 1, stride[i])
                     for i in range(rank))
        y[(slice(None), slice(None), slice(None), *part)] += np.einsum("ngc...,gco->ngo...", x, w[(Ellipsis, *k)])
    y = y.reshape(x.shape[0], -1, *full)
    inside = tuple(slice(padding[i], full[i] - padding[i + rank]) for i in range(rank))
    return y[(slice(None), slice(None), *inside)]


def conv_transpose(size, channels, outputs, extents, stride, padding, output_padding, dilation, groups, data, weight):
    rank = len(size)
    x, w = normal(2, channels, *extents), normal(channels, outputs // groups, *size) / 3
    want = conv_transpose_reference(x, w, stride, padding, output_padding, dilation, groups)
    case(f"conv{rank}d_transpose {data} {weight} {size} stride {stride} padding {padding} {output_padding} "
         f"dilation {dilation} groups {groups}",
         lambda a, b: getattr(nn, f"conv{rank}d_transpose")(
             a, b, strides=stride, padding=list(padding), output_padding=output_padding, dilation=dilation,
             groups=groups, data_layout=data, kernel_layout=weight),
         [relaid(x, "NC" + AXES[rank], data), relaid(w, "IO" + AXES[rank], weight)],
         relaid(want, "NC" + AXES[rank], data), rtol=1e-4, atol=1e-4)


for data, weight in [("NCHW", "IOHW"), ("NHWC", "IHWO")]:
    for size, stride in itertools.product([(3, 3), (2, 2), (1, 3)], [(1, 1), (2, 2), (3, 2)]):
        conv_transpose(size, 4, 6, (4, 5), stride, (0, 0, 0, 0), (0, 0), (1, 1), 1, data, weight)
    conv_transpose((3, 3), 4, 6, (4, 5), (2, 2), (1, 1, 1, 1), (1, 1), (1, 1), 1, data, weight)
    conv_transpose((3, 3), 4, 6, (4, 5), (2, 2), (1, 0, 0, 2), (0, 1), (1, 1), 2, data, weight)
    conv_transpose((3, 3), 4, 4, (4, 5), (2, 2), (1, 1, 1, 1), (0, 0), (1, 1), 4, data, weight)
    conv_transpose((3, 3), 4, 6, (4, 5), (2, 3), (1, 1, 1, 1), (0, 0), (2, 2), 1, data, weight)
    conv_transpose((4, 4), 4, 6, (4, 5), (1, 1), (3, 3, 3, 3), (0, 0), (1, 1), 1, data, weight)
conv_transpose((3,), 4, 6, (5,), (2,), (1, 1), (1,), (1,), 1, "NCW", "IOW")
conv_transpose((3, 2, 3), 2, 3, (3, 4, 5), (2, 1, 2), (1, 0, 1, 1, 0, 1), (0, 0, 0), (1, 1, 1), 1, "NCDHW", "IODHW")


def pool_reference(x, kind, size, stride, padding, dilation, ceil, count_padding):
    rank, extents, out = len(size), x.shape[2:], []
    for i in range(rank):
        room = extents[i] + padding[i] + padding[i + rank] - (size[i] - 1) * dilation[i] - 1
        out.append((-(-room // stride[i]) if ceil else room // stride[i]) + 1)
        if ceil and (out[i] - 1) * stride[i] >= extents[i] + padding[i]:
            out[i] -= 1  # no window starts in the padding behind
    y = np.zeros((*x.shape[:2], *out), "float32")
    for o in np.ndindex(*out):
        places = [[o[i] * stride[i] - padding[i] + k[i] * dilation[i] for i in range(rank)] for k in np.ndindex(*size)]
        items = [x[(slice(None), slice(None), *p)] for p in places
                 if all(0 <= p[i] < extents[i] for i in range(rank))]
        if kind == "max":
            value = np.max(items, 0) if items else -np.inf
        else:
            value = np.sum(items, 0) / (np.prod(size) if count_padding else max(len(items), 1))
        y[(slice(None), slice(None), *o)] = value
    return y


for rank, data in [(1, "NCW"), (1, "NWC"), (2, "NCHW"), (2, "NHWC"), (3, "NCDHW"), (3, "NDHWC")]:
    x = normal(1, 3, *(7, 8, 6)[:rank])
    for size, stride, padding, dilation in [(3, 2, (1, 1), 1), (2, 2, (0, 0), 1), (3, 1, (0, 1), 2), (2, 3, (1, 0), 1)]:
        window = ([size] * rank, [stride] * rank, [padding[0]] * rank + [padding[1]] * rank, [dilation] * rank)
        for kind, ceil, count in [("max", False, False), ("max", True, False), ("avg", False, True),
                                  ("avg", True, False)]:
            case(f"{kind}_pool{rank}d {data} {window} {ceil} {count}",
                 lambda v, w=window, o=f"{kind}_pool{rank}d", c=ceil, p=count, d=data: getattr(nn, o)(v, *w, c, p, d),
                 [relaid(x, "NC" + AXES[rank], data)],
                 relaid(pool_reference(x, kind, *window, ceil, count), "NC" + AXES[rank], data))
    for out in (1, 2, 5):
        want = np.zeros((1, 3, *[out] * rank), "float32")
        for o in np.ndindex(*want.shape[2:]):
            part = tuple(slice(o[i] * x.shape[2 + i] // out, -(-(o[i] + 1) * x.shape[2 + i] // out))
                         for i in range(rank))
            want[(slice(None), slice(None), *o)] = x[(slice(None), slice(None), *part)].mean(
                axis=tuple(range(2, 2 + rank)))
        case(f"adaptive_avg_pool{rank}d {data} {out}",
             lambda v, f=getattr(nn, f"adaptive_avg_pool{rank}d"), o=[out] * rank, d=data: f(v, o, d),
             [relaid(x, "NC" + AXES[rank], data)], relaid(want, "NC" + AXES[rank], data))

x, w = integers(-9, 9, 1, 4, 6, 6), integers(-9, 9, 3, 4, 3, 3)
case("conv2d of int8 to int32", lambda a, b: nn.conv2d(a, b, out_dtype="int32"), [x.astype("int8"), w.astype("int8")],
     conv_reference(x, w, (1, 1), (0, 0, 0, 0), (1, 1), 1))
x, w = normal(1, 64, 6, 6).astype("float16"), normal(3, 64, 3, 3).astype("float16")
case("conv2d of float16", nn.conv2d, [x, w],
     conv_reference(x.astype("float32"), w.astype("float32"), (1, 1), (0, 0, 0, 0), (1, 1), 1), rtol=1e-2, atol=5e-2)
n, h, wide = symbol("n"), symbol("h"), symbol("w")
x, w = normal(2, 3, 9, 10), normal(4, 3, 3, 3)
symbolic = (n, 3, h, wide)
case("conv2d, symbolic", lambda a, b: nn.conv2d(a, b, strides=2, padding=1), [x, w],
     conv_reference(x, w, (2, 2), (1, 1, 1, 1), (1, 1), 1), shapes=[symbolic, w.shape], rtol=1e-4, atol=1e-4)
window = ([3, 3], [2, 2], [1, 1, 1, 1], [1, 1])
case("max_pool2d, symbolic", lambda v: nn.max_pool2d(v, *window, True), [x],
     pool_reference(x, "max", *window, True, False), shapes=[symbolic])
case("avg_pool2d, symbolic", lambda v: nn.avg_pool2d(v, *window, True), [x],
     pool_reference(x, "avg", *window, True, False), shapes=[symbolic])
case("adaptive_avg_pool2d, symbolic", lambda v: nn.adaptive_avg_pool2d(v, [1, 1]), [x], x.mean((2, 3), keepdims=True),
     shapes=[symbolic])
w = normal(3, 4, 3, 3)
case("conv2d_transpose, symbolic",
     lambda a, b: nn.conv2d_transpose(a, b, strides=(2, 2), padding=(1, 1, 1, 1)), [x, w],
     conv_transpose_reference(x, w, (2, 2), (1, 1, 1, 1), (0, 0), (1, 1), 1), shapes=[symbolic, w.shape],
     rtol=1e-4, atol=1e-4)

test_window = family.test()
