"""The compiler as a pass for ``tvm.compile``."""

import os
from typing import Any, Union

import tvm
from tvm import relax

from ._errors import value_of
from ._library import function
from .runtime import Target, target_argument

NAME = "nnef_tvm"
Path = Union[str, "os.PathLike[str]"]


def _chosen(target: Target | None) -> Any:
    """The target of the argument, of the scope, or this machine's CPU."""
    return target_argument(target or tvm.target.Target.current(allow_none=True) or "llvm")


def target_object(target: Target | None) -> "tvm.target.Target":
    """The same as TVM has it."""
    chosen = _chosen(target)
    return value_of(function("target")(chosen)) if isinstance(chosen, str) else chosen


def lower(module: tvm.IRModule, target: Target | None = None, tuning: Path = "") -> tvm.IRModule:
    """The kernels of a module before they are scheduled: operators lowered, laid out and fused, weights computed ahead."""
    return value_of(function("lower_within")(module, _chosen(target), os.fspath(tuning)))


def pipeline(
    target: Target | None = None, *, tuning: Path = "", metaschedule: Path | None = None
) -> "tvm.transform.Pass":
    """A pass for ``tvm.compile(module, target, relax_pipeline=...)``, for modules of any frontend.

    Everything up to machine code is done by this compiler, so that what ``tvm.compile`` does after it (bytecode and
    linking) changes nothing of the kernels. Weights that are constants are laid out for the kernels now; parameters of
    ``main`` stay parameters, and are laid out in every run: import with weights as constants, as frontends do by default.

    Parameters
    ----------
    target
        By default the target of the scope (``with target:``, which ``tvm.compile(module, target)`` opens too), else this
        machine's CPU. A target of kind ``llvm`` without ``mcpu`` is a CPU of the architecture's first generation:
        :func:`host_target` is the one at hand.
    tuning
        The file of measured plans, ``"none"`` for none; by default where ``nnefc`` has it.
    metaschedule
        The folder of :func:`nnef_tvm.metaschedule.tune`.

    ``relax.get_pipeline("nnef_tvm")`` is the same pass by name: ``tvm.compile(module, target, relax_pipeline="nnef_tvm")``.
    """

    def compiled(module: tvm.IRModule, _context: "tvm.transform.PassContext") -> tvm.IRModule:
        kernels = lower(module, target, tuning)
        if metaschedule is not None:
            from .metaschedule import apply

            kernels = apply(kernels, target, metaschedule)
        return value_of(function("build_within")(kernels, _chosen(target), os.fspath(tuning)))

    return tvm.transform.module_pass(compiled, opt_level=0, name=NAME)


if NAME not in relax.pipeline.PIPELINE_MAP:
    relax.register_pipeline(NAME)(pipeline)
