#!python
"""The program of an installed package, found without importing it: that would take TVM's two seconds."""
import importlib.util
import os
import pathlib
import sys

package = importlib.util.find_spec("nnef_tvm")
assert package is not None and package.origin is not None
program = pathlib.Path(package.origin).parent / "native" / "nnefc"
os.execv(program, ["nnefc", *sys.argv[1:]])
