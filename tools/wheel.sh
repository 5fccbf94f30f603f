#!/usr/bin/env bash
# Builds the wheel into dist/ (or the folder that is given) from what `make build` left: nothing is fetched or compiled twice.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-.venv/bin/python}
glibc=$(getconf GNU_LIBC_VERSION)
tag=py3-none-manylinux_$(echo "${glibc#* }" | tr . _)_$(uname -m)
"$python" -m pip wheel . --quiet --disable-pip-version-check --no-deps --no-index --no-build-isolation --wheel-dir "${1:-dist}" \
  -C build-dir=build/release -C cmake.define.NNEF_TESTS=ON -C wheel.tags="$tag"
