"""Compilation, and sessions that run what was compiled."""

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Union

import numpy as np
import numpy.typing as npt
import tvm
import tvm_ffi

from ._custom import Conversion, TensorInfo, tensor_info
from ._errors import NNEFError, NNEFWarning, value_of
from ._library import function
from ._model import Dialect, Model, Quant, Shapes, Types, as_path, options

Target = Union[str, "tvm.target.Target"]
"""``"llvm"`` (this machine's CPU), a device (``"opencl"``, ``"vulkan:1"``), TVM's JSON, or a ``tvm.target.Target``."""
Array = Any
"""What NumPy takes as an array, or whatever has ``__dlpack__`` and is in the CPU's memory."""


@tvm_ffi.register_object("nnef_tvm.Compiled", init=False)
class _Compiled(tvm_ffi.Object):
    """What the library knows of a compiled model."""


@tvm_ffi.register_object("nnef_tvm.NativeSession", init=False)
class _NativeSession(tvm_ffi.Object):
    """What the library knows of a session."""


@dataclass(frozen=True)
class Device:
    """A device of this machine that models can be compiled for."""

    target: str
    """``"opencl:0"``, as :func:`compile` takes it."""
    name: str
    driver: str


def devices() -> list[Device]:
    """The devices besides the CPU."""
    found = value_of(function("devices")())
    return [Device(str(entry["target"]), str(entry["name"]), str(entry["driver"])) for entry in found]


def host_target() -> "tvm.target.Target":
    """This machine's CPU with its features, which is what ``"llvm"`` stands for here (and not in TVM)."""
    return function("host_target")()


def target_argument(target: Target) -> Any:
    """A target as the library takes it."""
    if not isinstance(target, (str, tvm.target.Target)):
        raise TypeError(f"a target is a str or a tvm.target.Target, not {type(target).__name__}")
    if not isinstance(target, str) and target.kind.name == "llvm" and not {"mcpu", "mattr"} & set(target.attrs):
        warnings.warn(
            f"the target {target} names no CPU: its code is for the architecture's first generation, and slow; "
            "nnef_tvm.host_target() is this machine's",
            NNEFWarning,
            stacklevel=3,
        )
    return target


class Interface:
    """The tensors of a model, in order."""

    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    states: tuple[TensorInfo, ...]
    """Variables that the model updates."""

    def __init__(self, description: Mapping[str, Any]) -> None:
        self.inputs = tuple(map(tensor_info, description["inputs"]))
        self.outputs = tuple(map(tensor_info, description["outputs"]))
        self.states = tuple(map(tensor_info, description["states"]))


class Executable(Interface):
    """A compiled model: made by :func:`compile`, run by :class:`Session`, saved as a file that C++ runs too."""

    target: str
    """As TVM's JSON."""

    def __init__(self, native: _Compiled) -> None:
        description = function("compiled_describe")(native)
        super().__init__(description)
        self.target = str(description["target"])
        self._native = native

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the artefact that ``nnefc``, :class:`Session` and ``nnef_runtime::Session`` of C++ open."""
        value_of(function("compiled_save")(self._native, os.fspath(path)))


def compile(  # noqa: A001  as tvm.compile is called
    model: Model,
    target: Target = "llvm",
    *,
    params: Sequence[Array] = (),
    shape_dict: Shapes | None = None,
    dtype_dict: Types | None = None,
    custom_convert_map: Mapping[str, Conversion] | None = None,
    dialect: Dialect | None = None,
    quant: Quant = "fake",
    tuning: Union[str, "os.PathLike[str]"] = "",
    tune_seconds: float = 0,
) -> Executable:
    """Compiles an NNEF model, or a Relax module of any frontend.

    Parameters
    ----------
    model
        As :func:`from_nnef` takes it, or a ``tvm.IRModule``. The inputs of a module are the first ``num_input`` (an
        attribute of ``main``) parameters of ``main``; the others have values: ``params``, or its attribute of that name.
    target
        ``"llvm"`` is this machine's CPU; ``"opencl"``, ``"vulkan:1"`` are devices of :func:`devices`.
    shape_dict, dtype_dict, custom_convert_map, dialect, quant
        For NNEF models, as :func:`from_nnef` takes them.
    tuning
        The file of measured plans, ``"none"`` for none; by default where ``nnefc`` has it.
    tune_seconds
        To measure plans that the file lacks.
    """
    choice = (target_argument(target), os.fspath(tuning), float(tune_seconds))
    if isinstance(model, tvm.IRModule):
        if shape_dict or dtype_dict or custom_convert_map or dialect:
            raise TypeError("shape_dict, dtype_dict, custom_convert_map and dialect are for NNEF models")
        values = [value if isinstance(value, tvm.runtime.Tensor) else as_tensor(np.asarray(value)) for value in params]
        return Executable(value_of(function("compile_relax")(model, values, *choice)))
    chosen = options(shape_dict, dtype_dict, custom_convert_map, dialect, quant)
    with as_path(model) as path:
        return Executable(value_of(function("compile_nnef")(path, chosen, *choice)))


def as_tensor(value: Array) -> "tvm.runtime.Tensor":
    """The array as a tensor of TVM, over the same memory where that may be written to and is contiguous."""
    if isinstance(value, tvm.runtime.Tensor):
        return value
    if not isinstance(value, np.ndarray) and hasattr(value, "__dlpack__"):
        return tvm_ffi.from_dlpack(value)
    array = np.asarray(value, order="C")
    return tvm_ffi.from_dlpack(array if array.flags.writeable and array.flags.c_contiguous else array.copy())


class Session(Interface):
    """A compiled model that is ready to run, one run at a time.

    Parameters
    ----------
    model
        An :class:`Executable`, or the path of an artefact that :meth:`Executable.save` or ``nnefc compile`` wrote.
    threads
        0 stands for one for each physical core.
    pin
        Each thread stays on a processor of its own.
    device
        Where an artefact for devices runs, as ``"opencl:1"``; by default on the first device of its kind.
    """

    def __init__(
        self,
        model: Union[Executable, str, "os.PathLike[str]"],
        *,
        threads: int = 0,
        pin: bool = False,
        device: str = "",
    ) -> None:
        if isinstance(model, Executable):
            if device:
                raise ValueError("device is for artefacts: name the device as target of compile()")
            outcome = function("session_start")(model._native, threads, pin)
        else:
            outcome = function("session_open")(os.fspath(model), threads, pin, device)
        self._native: _NativeSession = value_of(outcome)
        super().__init__(function("session_describe")(self._native))

    def run(self, inputs: Union[Mapping[str, Array], Sequence[Array]]) -> dict[str, npt.NDArray[Any]]:
        """Runs the model once.

        ``inputs`` are by name, or in order. NumPy arrays and whatever has ``__dlpack__`` (tensors of PyTorch) are read
        where they are when they begin at a multiple of 64 bytes, as PyTorch's do. The outputs are arrays over the
        memory that the run filled: ``torch.from_dlpack(output)`` copies nothing.
        """
        tensors = [as_tensor(value) for value in self._in_order(inputs)]
        outputs = value_of(function("session_run")(self._native, tensors))
        return {info.name: np.from_dlpack(output) for info, output in zip(self.outputs, outputs, strict=True)}

    def __call__(self, *inputs: Array, **named: Array) -> Any:
        """Runs the model; the output, or a tuple of them."""
        if inputs and named:
            raise TypeError("inputs are given in order or by name, not both")
        outputs = tuple(self.run(named or inputs).values())
        return outputs[0] if len(outputs) == 1 else outputs

    def state(self, name: str) -> npt.NDArray[Any]:
        """A copy of what the next run reads from a variable that the model updates."""
        return np.from_dlpack(function("session_state")(self._native, self._state(name))).copy()

    def set_state(self, name: str, value: Array) -> None:
        """Replaces the value of such a variable."""
        value_of(function("session_set_state")(self._native, self._state(name), as_tensor(value)))

    def reset_states(self) -> None:
        """All of them have their initial values again."""
        function("session_reset_states")(self._native)

    def _state(self, name: str) -> int:
        names = [info.name for info in self.states]
        if name not in names:
            raise KeyError(f"the model has no state {name!r}; its states are: {', '.join(names) or 'none'}")
        return names.index(name)

    def _in_order(self, inputs: Union[Mapping[str, Array], Sequence[Array]]) -> list[Array]:
        names = [info.name for info in self.inputs]
        if not isinstance(inputs, Mapping):
            if len(inputs) != len(names):
                raise NNEFError(f"{len(inputs)} inputs given, the model has {len(names)}: {', '.join(names)}")
            return list(inputs)
        if set(inputs) != set(names):
            raise NNEFError(f"inputs given: {', '.join(inputs) or 'none'}; the model has: {', '.join(names)}")
        return [inputs[name] for name in names]
