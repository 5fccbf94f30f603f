"""The pair of TVM's packages that this package works with."""

from importlib import metadata

REQUIRED = {"apache-tvm": "0.27.0.post1", "apache-tvm-ffi": "0.1.14.post1"}


def installed(package: str) -> str:
    """The version of a package; empty when there is none."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def check() -> None:
    """Raises ImportError unless exactly the required versions are installed."""
    found = {package: installed(package) for package in REQUIRED}
    if found == REQUIRED:
        return
    wanted = " with ".join(f"{package}=={version}" for package, version in REQUIRED.items())
    there = ", ".join(f"{package} {version or 'not at all'}" for package, version in found.items())
    pins = " ".join(f'"{package}=={version}"' for package, version in REQUIRED.items())
    raise ImportError(
        f"nnef_tvm works with {wanted} alone; installed: {there}. Run this line, then import it again:\n"
        f"    python -m pip install {pins}"
    )
