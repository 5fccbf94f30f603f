// Classifies images with a compiled model. No Python and no compiler in this process:
// libtvm_runtime and libtvm_ffi.
//
// usage: classify ARTEFACT IMAGES.npy LABELS.npy
//
// IMAGES is float32 [N,1,8,8] with values in 0..1, LABELS integer [N]. The model takes one image
// and gives one score for each class. Prints the accuracy and, as the last line, the median time
// per image in milliseconds.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "nnef_runtime/session.h"
#include "npy.h"

namespace {

struct Outcome {
  size_t right = 0;
  std::vector<double> times_ms;
};

/// Runs the session on each image of `images`, which holds one input of the session after the
/// other.
Outcome classify(nnef_runtime::Session& session, const nnef::TensorData& images,
                 const std::vector<double>& labels, nnef::Diagnostics& diagnostics) {
  using Clock = std::chrono::steady_clock;
  const nnef_runtime::TensorSpec& spec = session.inputs().front();
  const tvm::ffi::Tensor input = nnef_runtime::allocate(spec.dtype, spec.shape);
  const size_t image_bytes = images.bytes.size() / labels.size();
  Outcome outcome;
  for (size_t i = 0; i < labels.size(); ++i) {
    std::memcpy(input.data_ptr(), images.bytes.data() + i * image_bytes, image_bytes);
    const auto start = Clock::now();
    const auto outputs = session.run({input}, diagnostics);
    const std::chrono::duration<double, std::milli> gone = Clock::now() - start;
    if (diagnostics.has_errors()) break;
    const auto* scores = static_cast<const float*>(outputs[0].data_ptr());
    const auto classes = session.outputs().front().shape.back();
    const auto best = std::max_element(scores, scores + classes) - scores;
    outcome.right += static_cast<double>(best) == labels[i] ? 1 : 0;
    outcome.times_ms.push_back(gone.count());
  }
  return outcome;
}

int run(const char* artefact, const char* images_path, const char* labels_path,
        nnef::Diagnostics& diagnostics) {
  const auto session = nnef_runtime::Session::open(artefact, {}, diagnostics);
  const auto images = nnefc::read_npy(images_path, diagnostics);
  const auto label_data = nnefc::read_npy(labels_path, diagnostics);
  if (!session || !images || !label_data) return 1;
  const auto labels = nnef::to_doubles(*label_data);
  const nnef::ItemType float32{nnef::ItemCode::float_, 0, 32};
  int64_t image_items = 1;
  for (const int64_t extent : session->inputs().front().shape) image_items *= extent;
  if (!labels || labels->empty() || images->type != float32 ||
      images->bytes.size() != labels->size() * static_cast<size_t>(image_items) * sizeof(float)) {
    diagnostics.file_error(
        "digits/images", images_path, std::nullopt,
        fmt::format("expected one float32 image of {} items for each label", image_items));
    return 1;
  }
  Outcome outcome = classify(*session, *images, *labels, diagnostics);
  if (diagnostics.has_errors()) return 1;
  std::ranges::sort(outcome.times_ms);
  fmt::print("{} of {} held-out digits are right: accuracy {:.2f} %\n", outcome.right,
             labels->size(),
             100.0 * static_cast<double>(outcome.right) / static_cast<double>(labels->size()));
  fmt::print("{:.4f} ms per image (median)\n", outcome.times_ms[outcome.times_ms.size() / 2]);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "usage: classify ARTEFACT IMAGES.npy LABELS.npy\n");
    return 2;
  }
  nnef::Diagnostics diagnostics;
  const int status = run(argv[1], argv[2], argv[3], diagnostics);
  fmt::print(stderr, "{}", nnef::format(diagnostics));
  return status;
}
