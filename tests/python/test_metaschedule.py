"""MetaSchedule on our kernels: what its database knows is used, and the rest is scheduled as ever.

The search itself is TVM's, and takes most of a minute for one candidate: docs/tuning.md shows it."""
import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.s_tir import meta_schedule

from models import graph, normal
from package import nnef_tvm

from nnef_tvm import metaschedule  # noqa: E402
from nnef_tvm.pipeline import lower  # noqa: E402

MODEL = graph("x = external(shape = [64,64]); h = exp(x); y = max_reduce(h, axes = [1]);")
X = normal(64, 64)


def kernels(module):
    return {var.name_hint: function for var, function in module.functions_items() if isinstance(function, tvm.tirx.PrimFunc)}


def commit(database, function, target):
    """Notes a schedule that only a search would choose: the outermost loop from its end, in pieces of four."""
    module = tvm.IRModule({"main": function.with_attr("global_symbol", "main")})
    schedule = tvm.s_tir.Schedule(module)
    block = schedule.get_child_blocks(schedule.get_sblock("root"))[0]
    outer, inner = schedule.split(schedule.get_loops(block)[0], [None, 4])
    schedule.parallel(outer)
    workload = database.commit_workload(module)
    arguments = meta_schedule.arg_info.ArgInfo.from_entry_func(module, remove_preproc=False)
    database.commit_tuning_record(
        meta_schedule.database.TuningRecord(schedule.trace, workload, run_secs=[1e-6], target=target, args_info=arguments)
    )


@pytest.fixture
def module():
    return nnef_tvm.from_nnef(MODEL)


@pytest.fixture
def work_dir(module, tmp_path):
    """A database that knows the first of the kernels."""
    database = meta_schedule.database.JSONDatabase(work_dir=str(tmp_path))
    commit(database, list(kernels(lower(module)).values())[0], nnef_tvm.host_target())
    return tmp_path


def test_known_kernels_get_their_schedule(module, work_dir):
    found = kernels(metaschedule.apply(lower(module), None, work_dir))
    scheduled = [function for function in found.values() if "tirx.is_scheduled" in function.attrs]
    assert len(scheduled) == 1 and "T.parallel(" in scheduled[0].script()


def test_results_stay(module, work_dir):
    executable = tvm.compile(module, nnef_tvm.host_target(), relax_pipeline=nnef_tvm.pipeline(metaschedule=work_dir))
    found = relax.VirtualMachine(executable, tvm.cpu())["main"](tvm.runtime.tensor(X)).numpy()
    np.testing.assert_allclose(found, np.exp(X).max(axis=1, keepdims=True), rtol=1e-5)


def test_the_search_gets_the_kernels_and_the_target(module, tmp_path, monkeypatch):
    """Our part of tune(): TVM's search takes over from here."""
    given = {}

    def tune_relax(mod, params, target, work_dir, max_trials_global, **arguments):
        given.update(arguments, mod=mod, target=target, work_dir=work_dir, trials=max_trials_global)

    monkeypatch.setattr(meta_schedule.relax_integration, "tune_relax", tune_relax)
    metaschedule.tune(module, work_dir=tmp_path, max_trials_global=8, seed=1)
    assert given["work_dir"] == str(tmp_path) and given["trials"] == 8 and given["seed"] == 1
    assert str(given["target"]) == str(nnef_tvm.host_target())
    tvm.ir.assert_structural_equal(given["mod"], lower(module))
