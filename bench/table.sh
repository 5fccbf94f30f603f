#!/usr/bin/env bash
# Times nnefc against other engines on whole models and writes build/bench/table.md, table.svg and results.json.
#
# usage: table.sh [--models a,b,...] [--engines a,b,...] [--threads N] [--rounds R] [--tune SECONDS]
#
# The first run makes a virtual environment of its own in build/bench/venv (some gigabytes) and the models. An engine that
# cannot be installed, or cannot take a model, is left out and named. Machine idle, please: only ratios within one run mean
# anything.
set -euo pipefail
cd "$(dirname "$0")/.."
work=build/bench
mkdir -p "$work"
python=$work/venv/bin/python
if [ ! -f "$work/venv/complete" ]; then
  python3 -m venv "$work/venv"
  sed 's/#.*//' bench/requirements.txt | while read -r packages; do
    # shellcheck disable=SC2086 (a line is a list)
    [ -z "$packages" ] || "$python" -m pip install -q $packages || echo "left out: $packages"
  done
  touch "$work/venv/complete"
fi
exec "$python" bench/table.py --work "$work" "$@"
