"""Models for the tests, as text and arrays."""
import io
import tarfile

import nnef
import numpy as np


def graph(body, inputs="x", outputs="y", extensions=()):
    """The bytes of a graph.nnef."""
    lines = ["version 1.0;", *(f"extension {name};" for name in extensions), f"graph G({inputs}) -> ({outputs})", "{", body, "}"]
    return "\n".join(lines).encode()


def archive(text, **weights):
    """The bytes of a .tar of the model, with a .dat for each weight."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        for name, content in [("graph.nnef", text), *((f"{name}.dat", tensor_file(value)) for name, value in weights.items())]:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return stream.getvalue()


def tensor_file(array):
    import tempfile

    with tempfile.TemporaryFile() as file:
        nnef.write_tensor(file, array)
        file.seek(0)
        return file.read()


def normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")
