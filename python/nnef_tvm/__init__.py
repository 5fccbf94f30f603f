"""NNEF models in TVM: import into Relax, compilation for CPUs and devices, and sessions that run the result."""

from . import _versions

_versions.check()

from ._custom import Operation, TensorInfo, register_operation  # noqa: E402
from ._errors import Diagnostic, NNEFError, NNEFWarning, OpNotImplemented  # noqa: E402
from .frontend import from_nnef  # noqa: E402

__all__ = [
    "Diagnostic",
    "NNEFError",
    "NNEFWarning",
    "OpNotImplemented",
    "Operation",
    "TensorInfo",
    "from_nnef",
    "register_operation",
]
