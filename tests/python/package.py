"""The Python package from the source tree, for the tests of it. They are skipped where the library was not built as `make build`
does it: Python cannot load one with sanitizers."""
import sys

import pytest

from conftest import ROOT

if not (ROOT / "build/release/libnnef_tvm.so").exists():
    pytest.skip("build/release/libnnef_tvm.so was not built", allow_module_level=True)
sys.path.insert(0, str(ROOT / "python"))

import nnef_tvm  # noqa: E402, F401
