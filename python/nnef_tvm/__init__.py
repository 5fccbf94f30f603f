"""NNEF models in TVM: import into Relax, compilation for CPUs and devices, and sessions that run the result."""

from . import _versions

_versions.check()

from ._custom import Operation, TensorInfo, register_operation  # noqa: E402
from ._errors import Diagnostic, NNEFError, NNEFWarning, OpNotImplemented  # noqa: E402
from ._library import function as _function  # noqa: E402
from .frontend import from_nnef  # noqa: E402
from .pipeline import pipeline  # noqa: E402
from .runtime import Device, Executable, Session, compile, devices, host_target  # noqa: E402

__version__: str = str(_function("version")())

__all__ = [
    "Device",
    "Diagnostic",
    "Executable",
    "NNEFError",
    "NNEFWarning",
    "OpNotImplemented",
    "Operation",
    "Session",
    "TensorInfo",
    "compile",
    "devices",
    "from_nnef",
    "host_target",
    "pipeline",
    "register_operation",
]
