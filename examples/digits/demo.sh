#!/usr/bin/env bash
# The main job, on real input: compiles the digits model, classifies every held-out image in a C++ process without
# Python, and compares the speed with TVM's default pipeline, measured here and now.
set -euo pipefail
cd "$(dirname "$0")/../.."
nnefc=build/release/nnefc
model=examples/digits/model
work=build/demo
mkdir -p "$work"

echo "== $model: checked, imported into Relax; its first layer:"
$nnefc check $model
$nnefc import $model --keep-params >"$work/digits.py"
awk '/def main/ { show = 1 } show { print } /nn\.relu/ { exit }' "$work/digits.py"

echo
echo "== compiled for this machine's CPU:"
$nnefc compile $model -o "$work/digits.so"

echo
echo "== every held-out digit, in C++:"
build/release/digits_classify "$work/digits.so" examples/digits/heldout/images.npy examples/digits/heldout/labels.npy |
  tee "$work/digits.txt"

echo
echo "== how much faster than the same Relax module under TVM's default pipeline (measured in Python, now):"
bench/run.sh $model
echo
grep accuracy "$work/digits.txt"
