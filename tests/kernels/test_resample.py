import numpy as np

from battery import Family, normal, relax, symbol

family = Family()
case = family.case
resize2d = relax.op.image.resize2d
image = normal(1, 2, 5, 6)


def position(o, extent, result, mode):
    scale = extent / result
    return {"half_pixel": (o + 0.5) * scale - 0.5,
            "align_corners": o * (extent - 1) / max(result - 1, 1),
            "asymmetric": o * scale,
            "pytorch_half_pixel": (o + 0.5) * scale - 0.5 if result > 1 else 0,
            "tf_half_pixel_for_nn": (o + 0.5) * scale}[mode]


ROUNDINGS = {"round": lambda v: np.round(v), "floor": lambda v: np.floor(v + 1e-5), "ceil": lambda v: np.ceil(v - 1e-5),
             "round_prefer_floor": lambda v: np.ceil(v - 0.5), "round_prefer_ceil": lambda v: np.floor(v + 0.5)}


def weights(method, mode, rounding, extent, result, alpha=-0.75):
    """[result, extent]: what each output takes of each pixel along one axis."""
    matrix = np.zeros((result, extent))
    for o in range(result):
        at = position(o, extent, result, mode)
        if method == "nearest_neighbor":
            taps = {0: 1.0}
            first = int(ROUNDINGS[rounding](np.float32(at)))
        else:
            first, t = int(np.floor(at)), at - np.floor(at)
            taps = {0: 1 - t, 1: t}
            if method == "cubic":
                inner = lambda d: (alpha + 2) * d**3 - (alpha + 3) * d**2 + 1  # noqa: E731
                outer = lambda d: alpha * (d**3 - 5 * d**2 + 8 * d - 4)  # noqa: E731
                taps = {-1: outer(1 + t), 0: inner(t), 1: inner(1 - t), 2: outer(2 - t)}
        for offset, weight in taps.items():
            matrix[o, min(max(first + offset, 0), extent - 1)] += weight
    return matrix


def resize(size, method, mode, rounding="", layout="NCHW", shapes=None):
    rows = weights(method, mode, rounding, 5, size[0])
    columns = weights(method, mode, rounding, 6, size[1])
    want = np.einsum("yh,xw,nchw->ncyx", rows, columns, image)
    channels_last = layout == "NHWC"
    case(f"resize2d {size} {method} {mode} {rounding} {layout}" + (" symbolic" if shapes else ""),
         lambda v: resize2d(v, size, layout=layout, method=method, coordinate_transformation_mode=mode,
                            rounding_method=rounding),
         [np.ascontiguousarray(image.transpose(0, 2, 3, 1)) if channels_last else image],
         want.transpose(0, 2, 3, 1) if channels_last else want, shapes=shapes, rtol=1e-4, atol=1e-4)


MODES = ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "tf_half_pixel_for_nn")
for mode in MODES:
    for rounding in ROUNDINGS:
        resize((7, 11), "nearest_neighbor", mode, rounding)
    for method in ("linear", "cubic"):
        for size in ((7, 11), (10, 12), (3, 4)):
            resize(size, method, mode)
resize((10, 12), "nearest_neighbor", "asymmetric", "floor", "NHWC")
resize((1, 1), "linear", "pytorch_half_pixel")
resize((7, 9), "linear", "half_pixel", layout="NHWC")
resize((7, 9), "linear", "half_pixel", shapes=[(1, 2, symbol("h"), symbol("w"))])

# Of the region from row 0.5 to 3.5 and column 1 to 6: the last column is outside of the image.
rows, columns = np.array([0.5, 2, 3.5]), np.array([1, 3.5])
top, left = np.floor(rows).astype(int), np.floor(columns).astype(int)
down, right = (rows - top)[:, None], columns - left
pixels = image[0]
inside = ((pixels[:, top][:, :, left] * (1 - right) + pixels[:, top][:, :, left + 1] * right) * (1 - down)
          + (pixels[:, top + 1][:, :, left] * (1 - right) + pixels[:, top + 1][:, :, left + 1] * right) * down)
case("resize2d of a region",
     lambda v: resize2d(v, (3, 3), roi=(0.125, 0.2, 0.875, 1.2), layout="NCHW", method="linear",
                        coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=7.0),
     [image], np.concatenate([inside, np.full((2, 3, 1), 7)], 2)[None], rtol=1e-4, atol=1e-4)

test_resample = family.test()
