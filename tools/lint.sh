#!/usr/bin/env bash
# The project's mechanical rules: formatting, file length, diagnostic ids with a case each, and clang-tidy (not with --quick).
set -euo pipefail
cd "$(dirname "$0")/.."
status=0
fail() { echo "lint: $*"; status=1; }

mapfile -t sources < <(git ls-files --cached --others --exclude-standard '*.cc' '*.h')
command -v clang-format >/dev/null || { echo "lint: clang-format is missing: apt-get install clang-format clang-tidy"; exit 1; }
clang-format --dry-run --Werror "${sources[@]}" >/dev/null 2>&1 || fail "run 'make format'"
for file in "${sources[@]}"; do
  lines=$(wc -l <"$file")
  [ "$lines" -le 500 ] || fail "$file has $lines lines; the limit is 500"
done
python3 tools/check_ids.py || status=1
if [ "${1:-}" != --quick ]; then
  command -v clang-tidy >/dev/null || { echo "lint: clang-tidy is missing: apt-get install clang-tidy"; exit 1; }
  [ -f build/release/compile_commands.json ] || { echo "lint: run 'make build' first"; exit 1; }
  git ls-files 'src/*.cc' 'tools/*.cc' | xargs -P "$(nproc)" -n 4 clang-tidy --quiet --extra-arg=-Wno-unknown-warning-option -p build/release || status=1
fi
exit $status
