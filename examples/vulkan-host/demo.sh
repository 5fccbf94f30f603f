#!/usr/bin/env bash
# The digits model on Vulkan, in a process without TVM: kernels as SPIR-V from 'nnefc compile --emit', run by a program
# that knows Vulkan and a manifest.
set -euo pipefail
cd "$(dirname "$0")/../.."
host=build/release/vulkan_host
if [ ! -x $host ]; then
  echo "Vulkan's loader is missing: on Debian, apt install libvulkan-dev, then make build" >&2
  exit 1
fi
build/release/nnefc compile examples/digits/model --emit build/demo/vulkan
$host build/demo/vulkan examples/digits/heldout/images.npy examples/digits/heldout/labels.npy
