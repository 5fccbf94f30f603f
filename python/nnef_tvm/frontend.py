"""From NNEF to Relax, by the conventions of TVM's own frontends."""

from collections.abc import Mapping

import tvm

from ._custom import Conversion
from ._errors import value_of
from ._library import function
from ._model import Dialect, Model, Quant, Shapes, Types, as_path, options


def from_nnef(
    model: Model,
    *,
    shape_dict: Shapes | None = None,
    dtype_dict: Types | None = None,
    keep_params_in_input: bool = False,
    sanitize_input_names: bool = True,
    custom_convert_map: Mapping[str, Conversion] | None = None,
    dialect: Dialect | None = None,
    quant: Quant = "fake",
) -> tvm.IRModule:
    """Imports an NNEF model.

    Parameters
    ----------
    model
        A path (a folder with ``graph.nnef``, the file itself, a ``.tar`` or ``.tgz``), the bytes of an archive or of a
        ``graph.nnef``, or a ``Graph`` of Khronos' package ``nnef``.
    shape_dict
        Other shapes for inputs, by their names; ranks must stay. A text is a symbol: any extent will do, the same wherever
        the text is the same.
    dtype_dict
        Other item types for inputs, by their names; or one type for all inputs that can have it.
    keep_params_in_input
        Weights become parameters of ``main`` after the inputs, with their values in its attribute ``params``, which
        ``relax.frontend.detach_params`` takes off. By default they are constants.
    sanitize_input_names
        Names of inputs that are not legal in TVMScript are changed, with a warning.
    custom_convert_map
        Conversions of operations, by their names. They stand before the built-in ones.
    dialect
        ``"khronos"`` or ``"tract"``; by default the text says it.
    quant
        What becomes of the entries of ``graph.quant``: ``"fake"`` puts the operation after the tensor, ``"ignore"`` does
        nothing.

    Returns
    -------
    A module with one function ``main`` of the inputs, with the attribute ``num_input``. Variables that the graph updates
    are further inputs and outputs, counted by ``num_state``.

    Raises
    ------
    OpNotImplemented
        Operations are not known, or have no conversion: all of them are listed.
    NNEFError
        The model or an argument is at fault.
    """
    chosen = options(shape_dict, dtype_dict, custom_convert_map, dialect, quant)
    with as_path(model) as path:
        return value_of(function("from_nnef")(path, chosen, keep_params_in_input, sanitize_input_names))
