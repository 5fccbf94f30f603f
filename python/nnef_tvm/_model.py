"""Models as the library takes them: at a path, with options."""

import contextlib
import os
import pathlib
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Union

import numpy as np

from ._custom import Conversion, conversions, extents

Model = Union[str, "os.PathLike[str]", bytes, Any]
"""A path (folder, graph.nnef, .tar, .tgz), the bytes of an archive or of a graph.nnef, or Khronos' ``nnef.Graph``."""
Shapes = Mapping[str, Sequence[Union[int, str]]]
"""Extents, or names of extents that are known when the model runs: ``{"x": ("B", 3, 224, 224)}``."""
Types = Union[str, Mapping[str, str]]
Dialect = Literal["khronos", "tract"]
Quant = Literal["fake", "ignore"]


def _save_graph(graph: Any, folder: pathlib.Path) -> None:
    import nnef

    nnef.save_graph(graph, os.fspath(folder))
    lines = []
    for tensor in graph.tensors.values():
        # Values of attributes are arrays of NumPy.
        attributes = {
            name: value.tolist() if hasattr(value, "tolist") else value
            for name, value in (tensor.quantization or {}).items()
        }
        if operation := attributes.pop("op-name", None):
            lines.append(f'"{tensor.name}": {nnef.format_invocation(operation, attributes, [])};\n')
    if lines:
        (folder / "graph.quant").write_text("".join(lines))


@contextlib.contextmanager
def as_path(model: Model) -> Iterator[str]:
    """The model as a file or a folder, for as long as it is read."""
    if isinstance(model, (str, os.PathLike)):
        yield os.fspath(model)
        return
    with tempfile.TemporaryDirectory(prefix="nnef_tvm-") as folder:
        path = pathlib.Path(folder) / "model"
        if isinstance(model, (bytes, bytearray, memoryview)):
            path.write_bytes(model)
        elif hasattr(model, "operations") and hasattr(model, "tensors"):
            _save_graph(model, path)
        else:
            raise TypeError(f"a model is a path, bytes or an nnef.Graph, not {type(model).__name__}")
        yield os.fspath(path)


def _check(value: str, values: Sequence[str], name: str) -> str:
    if value not in values:
        raise ValueError(f"{name} is {value!r}, expected one of {', '.join(map(repr, values))}")
    return value


def options(
    shape_dict: Shapes | None,
    dtype_dict: Types | None,
    custom_convert_map: Mapping[str, Conversion] | None,
    dialect: Dialect | None,
    quant: Quant,
) -> dict[str, Any]:
    """What the library calls these arguments."""
    chosen: dict[str, Any] = {
        "quant": _check(quant, ("fake", "ignore"), "quant"),
        "lowerings": conversions(custom_convert_map or {}),
        "shapes": {name: extents(shape) for name, shape in (shape_dict or {}).items()},
    }
    if dialect is not None:
        chosen["dialect"] = _check(dialect, ("khronos", "tract"), "dialect")
    if isinstance(dtype_dict, Mapping):
        chosen["types"] = {name: str(np.dtype(dtype)) for name, dtype in dtype_dict.items()}
    elif dtype_dict is not None:
        chosen["type"] = str(np.dtype(dtype_dict))
    return chosen
