#!/usr/bin/env bash
# Builds the fuzz targets (needs clang and its libFuzzer) and runs each for SECONDS, from the cases as corpus.
#
# usage: run.sh [SECONDS]      default: 20
set -euo pipefail
cd "$(dirname "$0")/../.."
command -v clang++ >/dev/null || { echo "fuzz: clang++ is missing: apt-get install clang"; exit 1; }
cmake --preset fuzz >/dev/null
cmake --build build/fuzz --target fuzz_graph fuzz_quant fuzz_dat
python=.venv/bin/python
$python tests/fuzz/make_corpus.py build/fuzz/corpus
for name in graph quant dat; do
  mkdir -p "build/fuzz/found/$name"
  # The longest graphs run into the limits of expansion, which takes seconds under sanitizers.
  build/fuzz/fuzz_$name -dict=tests/fuzz/nnef.dict -max_total_time="${1:-20}" -timeout=100 -print_final_stats=1 \
    -artifact_prefix="build/fuzz/found/$name-" "build/fuzz/found/$name" "build/fuzz/corpus/$name"
done
