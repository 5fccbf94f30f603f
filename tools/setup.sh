#!/usr/bin/env bash
# Sets up what building and testing need: Debian packages, and .venv with the pinned TVM. Idempotent; a second run does
# nothing. Uses apt-get only as root and only when a package is missing; otherwise prints the line to run.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(g++ cmake make ninja-build git python3 python3-venv libfmt-dev libcli11-dev nlohmann-json3-dev
          libarchive-dev zlib1g-dev libgtest-dev opencl-headers ocl-icd-libopencl1 pocl-opencl-icd
          libvulkan-dev spirv-headers mesa-vulkan-drivers vulkan-validationlayers)

if command -v dpkg-query >/dev/null; then
  missing=()
  for package in "${packages[@]}"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  if [ ${#missing[@]} -gt 0 ]; then
    install="apt-get install -y --no-install-recommends ${missing[*]}"
    if [ "$(id -u)" = 0 ]; then
      echo "setup: installing ${missing[*]}"
      export DEBIAN_FRONTEND=noninteractive
      log=$(mktemp)
      { apt-get update -q && $install -q; } >"$log" 2>&1 || { cat "$log"; rm -f "$log"; exit 1; }
      rm -f "$log"
    else
      echo "setup: these packages are missing; run this line, then try again:"
      echo "  sudo apt-get update && sudo $install"
      exit 1
    fi
  fi
fi

stamp=.venv/requirements.installed
if ! cmp -s tools/requirements.txt "$stamp"; then
  echo "setup: making .venv (TVM 0.27.0.post1 and the test tools)"
  [ -x .venv/bin/python ] || python3 -m venv .venv
  .venv/bin/python -m pip install -q --disable-pip-version-check -r tools/requirements.txt
  cp tools/requirements.txt "$stamp"
fi
