"""Operations that a plug-in registers: examples/custom-op, compiled and by the reference evaluator."""

import numpy as np

from conftest import NNEFC, ROOT

MODEL = ROOT / "examples/custom-op/model"
PLUGIN = NNEFC.parent / "examples/custom-op/custom_op.so"


def arrays(folder):
    x = np.array([[0, 1, -2, 3], [0.5, -0.5, 4, -4]], np.float32)
    y = np.roll(x / (1 + np.exp(-2 * x)) + 1, 1, axis=-1).astype(np.float32)
    np.save(folder / "x.npy", x)
    np.save(folder / "y.npy", y)


def test_operations_of_a_plugin(nnefc, tmp_path):
    arrays(tmp_path)
    for more in ([], ["--reference"]):
        result = nnefc("run", MODEL, "--plugin", PLUGIN, "--input", "x=x.npy", "--expect", "y=y.npy", *more, cwd=tmp_path)
        assert result.returncode == 0, result.stdout + result.stderr


def test_an_artefact_needs_no_plugin(nnefc, tmp_path):
    arrays(tmp_path)
    assert nnefc("compile", MODEL, "--plugin", PLUGIN, "-o", tmp_path / "net.so").returncode == 0
    result = nnefc("run", tmp_path / "net.so", "--input", "x=x.npy", "--expect", "y=y.npy", cwd=tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr


def test_without_the_plugin_all_are_named(nnefc):
    result = nnefc("check", MODEL)
    assert result.returncode == 1
    assert "[check/unresolved-operations] 2 operations are not known: 'my_swish', 'my_roll'" in result.stderr
    assert "--plugin" in result.stderr


def test_faults_of_arguments_are_reported_with_positions(nnefc, tmp_path):
    (tmp_path / "graph.nnef").write_text(
        "version 1.0;\nextension tract_registry tract_core;\n"
        "graph g(x) -> (y)\n{\n    x = external<scalar>(shape = []);\n    y = my_roll(x, shift = 1);\n}\n")
    result = nnefc("check", tmp_path, "--plugin", PLUGIN)
    assert result.returncode == 1
    assert "graph.nnef:6:17: error: [my_roll/rank]" in result.stderr


def test_files_that_are_no_plugins(nnefc, tmp_path):
    (tmp_path / "text.so").write_text("no library")
    assert "[plugin/load]" in nnefc("check", MODEL, "--plugin", tmp_path / "text.so").stderr
    assert "[plugin/entry]" in nnefc("check", MODEL, "--plugin", NNEFC.parent / "libkernel_door.so").stderr
