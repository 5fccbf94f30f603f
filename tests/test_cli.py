"""What case files cannot say of nnefc: help texts, exit statuses of faulty command lines, which libraries are loaded."""
import json
import os
import pathlib
import subprocess

import numpy as np
import pytest

from conftest import NNEFC, ROOT

MODEL = ROOT / "examples/digits/model"
HELDOUT = ROOT / "examples/digits/heldout"
COMMANDS = ["check", "info", "import", "compile", "run", "bench", "convert", "ops", "devices"]


@pytest.fixture(scope="module")
def artefact(nnefc, tmp_path_factory):
    path = tmp_path_factory.mktemp("artefact") / "digits.so"
    result = nnefc("compile", MODEL, "-o", path)
    assert result.returncode == 0, result.stderr
    return path


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    path = tmp_path_factory.mktemp("image") / "image.npy"
    np.save(path, np.load(HELDOUT / "images.npy")[:1])
    return path


def input_name(nnefc):
    return json.loads(nnefc("info", MODEL, "--json").stdout)["inputs"][0]["name"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help(nnefc, command):
    result = nnefc(command, "--help")
    assert result.returncode == 0
    assert "Usage:" in result.stdout


def test_help_names_every_command(nnefc):
    text = nnefc("--help").stdout
    assert all(f"\n  {command} " in text for command in COMMANDS)


@pytest.mark.parametrize("line", [[], ["no-such-command"], ["check"], ["check", "--no-such-option", "x"],
                                  ["bench", "x", "--repeat", "0"], ["import", "x", "--format", "yaml"], ["compile", "x"]])
def test_faulty_command_line(nnefc, line):
    result = nnefc(*line)
    assert result.returncode == 2
    assert result.stderr and not result.stdout


def test_no_python_in_the_process():
    libraries = subprocess.run(["ldd", NNEFC], capture_output=True, text=True, check=True).stdout
    assert "libpython" not in libraries
    assert "libtvm_compiler" not in libraries


def test_artefact_needs_no_compiler(nnefc, artefact, image):
    result = subprocess.run([NNEFC, "run", artefact, "--input", f"{input_name(nnefc)}={image}"],
                            env={**os.environ, "LD_DEBUG": "libs"}, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr[-500:]
    assert "libtvm_runtime" in result.stderr
    assert "libtvm_compiler" not in result.stderr
    assert "libpython" not in result.stderr


def test_artefact_equals_model(nnefc, artefact, image, tmp_path):
    given = ["--input", f"{input_name(nnefc)}={image}"]
    assert nnefc("run", MODEL, *given, "--output", tmp_path / "a").returncode == 0
    assert nnefc("run", artefact, *given, "--output", tmp_path / "b").returncode == 0
    (name,) = os.listdir(tmp_path / "a")
    assert np.array_equal(np.load(tmp_path / "a" / name), np.load(tmp_path / "b" / name))


def test_reference_needs_no_tvm(nnefc, image):
    result = subprocess.run([NNEFC, "run", MODEL, "--reference", "--input", f"{input_name(nnefc)}={image}"],
                            env={**os.environ, "LD_DEBUG": "libs"}, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr[-500:]
    assert "libtvm_runtime" not in result.stderr
    assert "libtvm_compiler" not in result.stderr


def test_reference_dumps_every_tensor(nnefc, artefact, image, tmp_path):
    given = ["--input", f"{input_name(nnefc)}={image}"]
    result = nnefc("run", MODEL, "--reference", *given, "--dump-all", tmp_path / "all", "--output", tmp_path / "reference")
    assert result.returncode == 0, result.stderr
    assert nnefc("run", artefact, *given, "--output", tmp_path / "compiled").returncode == 0
    (output,) = os.listdir(tmp_path / "compiled")
    compiled, reference, dumped = (np.load(tmp_path / folder / output) for folder in ("compiled", "reference", "all"))
    assert np.allclose(compiled, reference, rtol=1e-5, atol=1e-6)
    assert np.array_equal(reference, dumped)
    text = nnefc("info", MODEL, "--graph").stdout
    named = {line.split("=")[0].strip() for line in text.splitlines() if line.startswith("    ")}
    assert named <= {name.removesuffix(".npy") for name in os.listdir(tmp_path / "all")}
    assert np.array_equal(np.load(tmp_path / "all" / f"{input_name(nnefc)}.npy"), np.load(image))


def test_dump_all_compiled(nnefc, image, tmp_path):
    result = nnefc("run", MODEL, "--input", f"{input_name(nnefc)}={image}", "--dump-all", tmp_path / "all")
    assert result.returncode == 0, result.stderr
    reference = nnefc("run", MODEL, "--input", f"{input_name(nnefc)}={image}", "--dump-all", tmp_path / "exact", "--reference")
    assert reference.returncode == 0, reference.stderr
    names = {path.name for path in (tmp_path / "all").iterdir()}
    assert len(names) > 20 and names <= {path.name for path in (tmp_path / "exact").iterdir()}
    for name in names:
        assert np.allclose(np.load(tmp_path / "all" / name), np.load(tmp_path / "exact" / name), 1e-3, 1e-4), name


def test_dump_all_of_an_artefact(nnefc, artefact, image):
    result = nnefc("run", artefact, "--input", f"{input_name(nnefc)}={image}", "--dump-all", "x")
    assert result.returncode == 1 and "run the model itself" in result.stderr


def test_artefact_info(nnefc, artefact):
    metadata = json.loads(nnefc("info", artefact, "--json").stdout)
    assert metadata["inputs"][0]["shape"] == [1, 1, 8, 8]
    assert metadata["tvm"] == "0.27.0.post1"


@pytest.mark.parametrize("keep", [0, 1, 100, 5000, -1, -48, -100])
def test_artefact_cut_short(nnefc, artefact, image, tmp_path, keep):
    cut = tmp_path / "cut.so"
    cut.write_bytes(artefact.read_bytes()[:keep])
    result = nnefc("run", cut, "--input", f"{input_name(nnefc)}={image}")
    assert result.returncode == 1
    assert "error: [" in result.stderr and str(cut) in result.stderr
    assert "Check failed" not in result.stderr and "Traceback" not in result.stderr


def test_failed_compile_leaves_nothing(nnefc, tmp_path):
    model = tmp_path / "model"
    model.mkdir()
    (model / "graph.nnef").write_text("version 1.0;\ngraph G(x) -> (y) { x = external(shape = [2]); y = rely(x); }\n")
    assert nnefc("compile", model, "-o", tmp_path / "out.so").returncode == 1
    assert sorted(os.listdir(tmp_path)) == ["model"]


def test_bench_json(nnefc, artefact):
    last = nnefc("bench", artefact, "--repeat", "3", "--json").stdout.strip().splitlines()[-1]
    assert len(json.loads(last)["times_ms"]) == 3


def test_digits_accuracy(artefact):
    result = subprocess.run([NNEFC.parent / "digits_classify", artefact, HELDOUT / "images.npy", HELDOUT / "labels.npy"],
                            capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    accuracy = float(result.stdout.split("accuracy")[1].split("%")[0])
    assert accuracy >= 97


def test_unwritable_output(nnefc, artefact, image, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    given = ["--input", f"{input_name(nnefc)}={image}"]
    for line in (["import", MODEL, "-o", blocked / "x.py"], ["run", artefact, *given, "--output", blocked / "x"]):
        result = nnefc(*line)
        assert result.returncode == 1
        assert "error: [nnefc/write]" in result.stderr
    assert os.listdir(tmp_path) == ["file"]


def test_expected_values_of_a_type_without_numbers(nnefc, artefact, image, tmp_path):
    """Quantised items (code 2) have no value without their parameters."""
    shape = [1, 10]
    header = bytes([0x4E, 0xEF, 1, 0]) + np.array([10, 2, *shape, *[0] * 6, 8, 2], "<u4").tobytes()
    (tmp_path / "y.dat").write_bytes(header.ljust(128, b"\0") + bytes(10))
    result = nnefc("run", artefact, "--input", f"{input_name(nnefc)}={image}", "--expect", f"probabilities={tmp_path / 'y.dat'}")
    assert result.returncode == 1
    assert "error: [run/expect-dtype]" in result.stderr


def test_convert_round_trip(nnefc, tmp_path):
    """Read, write, read, write: the second text and data equal the first, through every container."""
    assert nnefc("convert", MODEL, tmp_path / "a").returncode == 0
    assert nnefc("convert", tmp_path / "a", tmp_path / "b.tgz").returncode == 0
    assert nnefc("convert", tmp_path / "b.tgz", tmp_path / "c.tar").returncode == 0
    assert nnefc("convert", tmp_path / "c.tar", tmp_path / "d").returncode == 0
    files = sorted(path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*") if path.is_file())
    assert len(files) > 10
    assert files == sorted(path.relative_to(tmp_path / "d") for path in (tmp_path / "d").rglob("*") if path.is_file())
    for name in files:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "d" / name).read_bytes()


def test_ops_matrix(nnefc):
    rows = {row["operation"]: row for row in json.loads(nnefc("ops", "--json").stdout)}
    assert len(rows) == 119 and sum(row["kind"] == "compound" for row in rows.values()) == 46
    absent = {name for name, row in rows.items() if row["lowering"] == "none"}
    # Compounds count as lowered only where all of their body is.
    assert not absent
    assert all(bool(row["targets"]) == (name not in absent) for name, row in rows.items())


PROFILED = """version 1.0;
graph g(x) -> (y, z)
{
    x = external<scalar>(shape = [1,3,16,16]);
    f = variable<scalar>(shape = [8,3,3,3], label = 'f');
    s = variable<scalar>(shape = [1,8], label = 's');
    c = conv(x, f, padding = [(1,1),(1,1)]);
    n = batch_normalization(c, s, s, s, s, epsilon = 1e-3);
    r = relu(n);
    p = max_pool(r, size = [1,1,2,2], stride = [1,1,2,2], padding = [(0,0),(0,0),(0,0),(0,0)], border = 'ignore');
    y = mean_reduce(p, axes = [2,3]);
    z = softmax(p, axes = [1]);
}
"""


@pytest.fixture
def profiled(tmp_path):
    import nnef
    (tmp_path / "graph.nnef").write_text(PROFILED)
    for name, shape in (("f", (8, 3, 3, 3)), ("s", (1, 8))):
        with open(tmp_path / f"{name}.dat", "wb") as file:
            nnef.write_tensor(file, np.full(shape, 0.5, dtype=np.float32))
    return tmp_path


def test_profile_knows_work_and_lines(nnefc, profiled):
    run = nnefc("bench", "graph.nnef", "--repeat", "3", "--json", "--profile", "page.html", cwd=profiled)
    assert run.returncode == 0, run.stderr
    profile = json.loads(run.stdout)["profile"]
    lines = {line: call for call in profile["calls"] for line in call["sources"] if call["operations"][0] != "conv c" or call["flops"]}
    conv = lines["graph.nnef:7"]
    assert conv["sources"] == ["graph.nnef:7", "graph.nnef:8", "graph.nnef:9"]
    assert conv["operations"] == ["conv c", "batch_normalization n", "relu r"]
    # 27 multiplications and additions, then one of the folded normalisation and one of relu, for each item.
    assert conv["flops"] == 8 * 16 * 16 * (2 * 27 + 2)
    # The packed weights may be padded to whole vectors.
    assert 0 <= conv["bytes"] - 4 * (3 * 16 * 16 + 8 * 27 + 8 + 8 * 16 * 16) < 4 * 27 * 64
    assert lines["graph.nnef:10"]["operations"] == ["max_pool p"] and lines["graph.nnef:11"]["operations"] == ["mean_reduce y"]
    assert "graph.nnef:12" in lines
    assert sum(kernel["calls"] for kernel in profile["kernels"]) == len(profile["calls"])
    assert profile["kernels"] == sorted(profile["kernels"], key=lambda kernel: -kernel["ms"])
    assert all(call["ms"] > 0 for call in profile["calls"]) and profile["peak_gflops"] > 1
    assert all(0 <= call["share_of_peak"] < 4 for call in profile["calls"])
    page = (profiled / "page.html").read_text()
    assert "graph.nnef:7" in page and "http" not in page and "src=" not in page and "<script" not in page


def test_profile_of_an_artefact(nnefc, profiled):
    assert nnefc("compile", "graph.nnef", "-o", "model.so", cwd=profiled).returncode == 0
    run = nnefc("bench", "model.so", "--repeat", "2", "--profile", cwd=profiled)
    assert run.returncode == 0, run.stderr
    assert "conv c, batch_normalization n, relu r (graph.nnef:7,8,9)" in run.stdout and "of the peak" not in run.stdout
