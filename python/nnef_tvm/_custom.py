"""Operations and conversions that are written in Python."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Union

from tvm import relax

from ._errors import value_of
from ._library import function


@dataclass(frozen=True)
class TensorInfo:
    """The type of a tensor."""

    name: str
    dtype: str
    shape: tuple[Union[int, str], ...]
    """Extents with symbols are texts, or -1 in the interface of what is compiled."""


@dataclass(frozen=True)
class Operation:
    """An operation of the graph, by the names of its declaration."""

    name: str
    inputs: Mapping[str, Any]
    """Tensor parameters: ``relax.Expr`` for a conversion, extents for a shape function; lists of them for arrays."""
    attributes: Mapping[str, Any]
    """The other parameters: numbers, strings, bools, lists; None for what is not given."""
    outputs: tuple[TensorInfo, ...]
    """What the results have to be; empty for a shape function."""


Conversion = Callable[[Operation, relax.BlockBuilder], Any]
"""Gives the ``relax.Expr`` of the result, or a list of them: built by ``relax.op``, ``builder.call_te`` or TVMScript."""
ShapeFunction = Callable[[Operation], Union[Sequence[Any], Mapping[str, Sequence[Any]]]]
"""Gives the extents of the result; by name when there are several."""

_registered: dict[str, Conversion] = {}


def extents(shape: Iterable[Union[int, str]]) -> list[Union[int, str]]:
    """Numbers and texts of Python's own."""
    return [str(extent) if isinstance(extent, str) else int(extent) for extent in shape]


def tensor_info(entry: Mapping[str, Any]) -> TensorInfo:
    """As the library describes a tensor."""
    return TensorInfo(str(entry["name"]), str(entry["dtype"]), tuple(extents(entry["shape"])))


def _plain(value: Any) -> Any:
    """Lists and texts of Python's own, instead of those of tvm-ffi."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Sequence):
        return [_plain(item) for item in value]
    return value


def _operation(entry: Mapping[str, Any]) -> Operation:
    def values(name: str) -> dict[str, Any]:
        return {str(key): _plain(value) for key, value in entry[name].items()}

    outputs = entry["outputs"] if "outputs" in entry else ()
    return Operation(str(entry["name"]), values("inputs"), values("attributes"), tuple(map(tensor_info, outputs)))


def conversions(given: Mapping[str, Conversion]) -> dict[str, Callable[..., Any]]:
    """Those that were registered and those that are given, as the library calls them."""

    def wrapped(convert: Conversion) -> Callable[..., Any]:
        return lambda entry, builder: convert(_operation(entry), builder)

    return {name: wrapped(convert) for name, convert in {**_registered, **given}.items()}


def register_operation(declaration: str, shape: ShapeFunction, convert: Conversion | None = None) -> str:
    """Adds an operation for all models that are loaded later.

    Parameters
    ----------
    declaration
        In NNEF: ``"fragment swish(x: tensor<scalar>, beta: scalar = 1.0) -> (y: tensor<scalar>);"``
    shape
        The extents of the result, from an :class:`Operation` whose inputs are extents.
    convert
        The expression of the result, from an :class:`Operation` whose inputs are expressions and the block builder.
        It may also be given to :func:`from_nnef`, as ``custom_convert_map``.

    Returns
    -------
    The name of the operation. One that was registered before under the name is replaced.
    """

    def shapes(entry: Mapping[str, Any]) -> Any:
        found = shape(_operation(entry))
        return dict(found) if isinstance(found, Mapping) else list(found)

    name = str(value_of(function("register_operation")(declaration, shapes)))
    _registered.pop(name, None)
    if convert is not None:
        _registered[name] = convert
    return name
