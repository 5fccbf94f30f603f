#!/usr/bin/env bash
# Times the digits model, or the models given: our code, and TVM's default
# pipeline on the same Relax module, in one run.
#
# usage: run.sh [MODEL...]       default: examples/digits/model
set -euo pipefail
cd "$(dirname "$0")/.."
work=build/bench
mkdir -p "$work"
for model in "${@:-examples/digits/model}"; do
  build/release/nnefc compile "$model" -o "$work/model.so" >/dev/null
  build/release/nnefc import "$model" --format json -o "$work/model.json"
  .venv/bin/python bench/compare.py "$model" "$work/model.so" "$work/model.json"
done
