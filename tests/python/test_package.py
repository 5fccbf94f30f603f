"""The package as a whole: versions, types, documentation, and the wheel."""
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import tomllib
import zipfile

import pytest

from conftest import ROOT
from package import nnef_tvm

PAGES = [ROOT / "README.md", *sorted(path for path in (ROOT / "docs").glob("*.md") if "```" in path.read_text())]


def python(*arguments, **options):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "TVM_NUM_THREADS": "1", **options.pop("env", {})}
    return subprocess.run([sys.executable, *map(str, arguments)], env=environment, capture_output=True, text=True, **options)


def needs(module):
    """For tools that tools/setup.sh installs, in environments that it did not make."""
    return pytest.mark.skipif(importlib.util.find_spec(module) is None, reason=f"{module} is not installed: run tools/setup.sh")


def test_the_pair_of_versions_is_the_same_everywhere():
    from nnef_tvm._versions import REQUIRED

    pins = {f"{package}=={version}" for package, version in REQUIRED.items()}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert pins <= set(project["project"]["dependencies"])
    assert pins <= set(project["build-system"]["requires"])
    assert pins <= set((ROOT / "tools/requirements.txt").read_text().split())


@pytest.mark.parametrize("package, version", [("apache_tvm_ffi", "0.1.15.post2"), ("apache_tvm", "0.26.0")])
def test_other_versions_are_refused(tmp_path, package, version):
    folder = tmp_path / f"{package}-{version}.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package.replace('_', '-')}\nVersion: {version}\n")
    result = python("-c", "import nnef_tvm", env={"PYTHONPATH": f"{tmp_path}:{ROOT / 'python'}"})
    assert result.returncode == 1
    assert "installed: " in result.stderr and f"{package.replace('_', '-')} {version}" in result.stderr
    assert 'python -m pip install "apache-tvm==0.27.0.post1" "apache-tvm-ffi==0.1.14.post1"' in result.stderr


def test_import_is_quick():
    code = "import time, tvm; start = time.process_time(); import nnef_tvm; print(time.process_time() - start)"
    assert float(python("-c", code).stdout) < 0.1


def test_everything_public_is_documented():
    for name in nnef_tvm.__all__:
        documented = getattr(nnef_tvm, name)
        assert documented.__doc__, name
        for member, value in vars(documented).items() if isinstance(documented, type) else ():
            assert member.startswith("_") or not callable(value) or value.__doc__, f"{name}.{member}"


@needs("mypy")
def test_types():
    result = python("-m", "mypy", "--config-file", "pyproject.toml", cwd=ROOT)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_do_what_they_show(page, tmp_path):
    """The blocks of a page one after the other, as a reader would enter them."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    tools = os.pathsep.join([str(ROOT / "build/release"), str(pathlib.Path(sys.executable).parent), os.environ["PATH"]])
    result = python(pathlib.Path(__file__).with_name("run_page.py"), page, cwd=tmp_path, env={"PATH": tools})
    assert result.returncode == 0, result.stdout + result.stderr


@needs("mkdocs")
def test_site_is_built_without_warnings(tmp_path):
    result = python("-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", tmp_path, cwd=ROOT)
    assert result.returncode == 0 and not result.stderr, result.stderr
    assert (tmp_path / "tuning" / "index.html").exists()


@needs("scikit_build_core")
def test_wheel(tmp_path):
    """One test, since two at a time would configure build/release twice."""
    made = subprocess.run([ROOT / "tools/wheel.sh", tmp_path], env={**os.environ, "PYTHON": sys.executable}, capture_output=True, text=True)
    assert made.returncode == 0, made.stdout + made.stderr
    (wheel,) = tmp_path.glob("*.whl")
    check_contents(wheel)
    check_away_from_the_tree(wheel, tmp_path)


def check_contents(wheel):
    assert re.fullmatch(r"nnef_tvm-[0-9.]+-py3-none-manylinux_\d+_\d+_\w+\.whl", wheel.name)
    assert wheel.stat().st_size < 20 << 20
    names = zipfile.ZipFile(wheel).namelist()
    for name in ("libnnef_tvm.so", "nnefc", "libtvm_runtime_opencl.so", "libtvm_runtime_vulkan.so"):
        assert f"nnef_tvm/native/{name}" in names
    assert "nnef_tvm/py.typed" in names and "nnef_tvm/include/nnef_runtime/session.h" in names


def check_away_from_the_tree(wheel, folder):
    """Installed beside TVM's packages, as in any environment; only these are taken from the one of the tests."""
    site = folder / "site"
    install = python("-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-compile", "--target", site, wheel)
    assert install.returncode == 0, install.stderr
    for package in ("tvm", "tvm_ffi"):
        (site / package).symlink_to(pathlib.Path(importlib.util.find_spec(package).origin).parent)
    code = "import nnef_tvm, sys; print(nnef_tvm.__file__); s = nnef_tvm.Session(nnef_tvm.compile(sys.argv[1])); print(s.outputs[0].name)"
    result = python("-c", code, ROOT / "examples/digits/model", cwd=folder, env={"PYTHONPATH": str(site)})
    assert result.stdout.splitlines() == [str(site / "nnef_tvm/__init__.py"), "probabilities"], result.stderr
    compile_it = ["compile", ROOT / "examples/digits/model", "-o", folder / "digits.so"]
    result = python(site / "bin/nnefc", *compile_it, env={"PYTHONPATH": str(site)})
    assert result.returncode == 0 and (folder / "digits.so").exists(), result.stderr
