// The artefact: one file. An ordinary shared library (so that the system's loader maps the code
// straight from it), followed by the weights, the metadata and a footer:
//
//   [ELF shared library][padding to 4096][weights, each 64-byte aligned][metadata: JSON][Footer]
//
// The metadata is an object:
//   {"format": 2, "producer": "tvm-nnef 0.1.0", "tvm": "0.27.0.post1", "target": {...TVM's JSON
//   target...},
//    "cpu_features": ["avx2", ...], "functions": ["main"],
//    "inputs":  [{"name", "dtype", "shape"}...], "outputs": [...],
//    "states": [{"name", "dtype", "shape", "offset", "bytes", "label"}...],   initial values
//    "parameters": [{"name", "dtype", "shape", "offset", "bytes"}...],        offsets from the
//    beginning of the file
//    "operations": [{"name", "tensor", "source"}...],                         may be absent, and
//    "kernels": [{"name", "flops", "bytes", "operations": [...]}...]}         so may this: see
//    nnef_runtime::Program
// "main" takes the inputs, the states and the parameters; it returns the outputs and the new
// states.
#pragma once

#include <cstdint>

namespace nnef_runtime {

inline constexpr char kArtefactMagic[8] = {'N', 'N', 'E', 'F', 'T', 'V', 'M', '\n'};
inline constexpr uint32_t kArtefactFormat = 2;
inline constexpr const char* kProducer = "tvm-nnef 0.1.0";
inline constexpr const char* kTvmVersion = "0.27.0.post1";
inline constexpr uint64_t kWeightAlignment = 64;
inline constexpr uint64_t kWeightsPageAlignment = 4096;

/// The last bytes of the file; little endian. All sizes and offsets are checked against the file's
/// size before use.
struct ArtefactFooter {
  uint64_t library_bytes;  ///< of the ELF part, from offset 0
  uint64_t metadata_offset;
  uint64_t metadata_bytes;
  uint64_t file_bytes;  ///< of the whole file, this footer included
  uint32_t format;
  uint32_t metadata_crc32;  ///< of the metadata (zlib's CRC-32)
  char magic[8];
};
static_assert(sizeof(ArtefactFooter) == 48);

}  // namespace nnef_runtime
