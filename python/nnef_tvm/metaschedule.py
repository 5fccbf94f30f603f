"""TVM's MetaSchedule on the kernels of this compiler: fused, laid out, and with weights computed ahead.

Its local builder and runner need ``psutil`` and ``cloudpickle``, its default cost model ``xgboost``:
``pip install "apache-tvm[meta-schedule,popen-pool]==0.27.0.post1"``.
"""

import os
from typing import Any, Union

import tvm
from tvm import relax

from .pipeline import lower, target_object
from .runtime import Target


def tune(
    module: tvm.IRModule,
    target: Target | None = None,
    *,
    work_dir: Union[str, "os.PathLike[str]"],
    max_trials_global: int,
    **arguments: Any,
) -> Any:
    """Has MetaSchedule look for schedules of a module's kernels, and keeps the best in ``work_dir``.

    ``tvm.compile(module, target, relax_pipeline=nnef_tvm.pipeline(metaschedule=work_dir))`` uses them: for this module,
    and for all that have the same kernels. Kernels without a record are scheduled as ever.

    Parameters
    ----------
    module
        Of any frontend, as :func:`nnef_tvm.pipeline` takes it.
    target
        As for :func:`nnef_tvm.pipeline`.
    work_dir
        A folder for the database and the logs; a second call goes on from there.
    max_trials_global
        How many candidates are measured.
    arguments
        Whatever else ``meta_schedule.relax_integration.tune_relax`` takes, as ``runner`` (for boards behind an RPC tracker),
        ``max_trials_per_task``, ``num_trials_per_iter``, ``cost_model``, ``seed``.

    Returns
    -------
    The database, ``tvm.s_tir.meta_schedule.Database``.
    """
    from tvm.s_tir.meta_schedule import relax_integration

    chosen = target_object(target)
    return relax_integration.tune_relax(
        lower(module, chosen), {}, chosen, os.fspath(work_dir), max_trials_global, **arguments
    )


def apply(kernels: tvm.IRModule, target: Target | None, work_dir: Union[str, "os.PathLike[str]"]) -> tvm.IRModule:
    """The kernels that the database of ``work_dir`` knows, with their schedules."""
    with target_object(target):
        return relax.transform.MetaScheduleApplyDatabase(os.fspath(work_dir))(kernels)
