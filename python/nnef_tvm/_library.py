"""The native library: it registers its functions with tvm-ffi, which Python shares with it."""

import os
import pathlib
from collections.abc import Callable
from typing import Any

import tvm  # noqa: F401  the library takes the compiler that is in the process
import tvm_ffi

PACKAGE = pathlib.Path(__file__).resolve().parent
NATIVE = PACKAGE / "native"
SOURCE_BUILD = PACKAGE.parents[1] / "build" / "release"
NAME = "libnnef_tvm.so"


def find() -> pathlib.Path:
    """$NNEF_TVM_LIBRARY, the file in an installed package, or what `make build` leaves in a source tree."""
    named = os.environ.get("NNEF_TVM_LIBRARY")
    candidates = [pathlib.Path(named)] if named else [NATIVE / NAME, SOURCE_BUILD / NAME]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    places = " nor ".join(map(str, candidates))
    raise ImportError(f"{NAME} is neither at {places}: run 'make build' in the source tree, or install the wheel")


LIBRARY = tvm_ffi.load_module(find(), keep_module_alive=True)


def function(name: str) -> Callable[..., Any]:
    """A function of the library."""
    found: Callable[..., Any] = tvm_ffi.get_global_func(f"nnef_tvm.{name}")
    return found
