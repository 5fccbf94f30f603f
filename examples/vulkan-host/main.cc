// Runs a model of this project with nothing but Vulkan: no TVM, no library of this project. The
// kernels, the weights and the order of everything are the files of 'nnefc compile --emit DIR'.
//
// usage: vulkan_host DIR IMAGES.npy LABELS.npy
//
// IMAGES is float32, one input of the model after the other, LABELS int64. Prints the device, how
// many images get their label the highest score, and the median time per image.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "gpu.h"
#include "model.h"

namespace {

/// The items of a .npy file of this type of items ("<f4"), little endian and in C's order.
template <typename Item>
std::vector<Item> read_npy(const std::string& path, const std::string& type) {
  constexpr size_t kPrefix = 10;
  std::ifstream in(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (bytes.size() < kPrefix || bytes.compare(1, 5, "NUMPY") != 0) {
    throw std::runtime_error(path + " is no .npy file");
  }
  const auto low = static_cast<unsigned char>(bytes[8]);
  const auto high = static_cast<unsigned char>(bytes[9]);
  const size_t start = kPrefix + low + size_t{256} * high;
  if (bytes.size() < start || bytes.substr(0, start).find("'" + type + "'") == std::string::npos) {
    throw std::runtime_error(path + " has no items of type " + type);
  }
  std::vector<Item> items((bytes.size() - start) / sizeof(Item));
  std::copy_n(bytes.data() + start, items.size() * sizeof(Item),
              reinterpret_cast<char*>(items.data()));
  return items;
}

void classify(const char* folder, const char* images_path, const char* labels_path) {
  using Clock = std::chrono::steady_clock;
  vulkan_host::Gpu gpu;
  std::printf("device: %s\n", gpu.name().c_str());
  vulkan_host::Model model(gpu, folder);
  const auto images = read_npy<float>(images_path, "<f4");
  const auto labels = read_npy<int64_t>(labels_path, "<i8");
  const auto input = model.input(0);
  if (labels.empty() || images.size() != labels.size() * input.size()) {
    throw std::runtime_error("there must be one image for each label");
  }
  size_t right = 0;
  std::vector<double> times;
  for (size_t i = 0; i < labels.size(); ++i) {
    std::copy_n(images.begin() + static_cast<std::ptrdiff_t>(i * input.size()), input.size(),
                input.begin());
    const auto start = Clock::now();
    model.run();
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    const auto scores = model.output(0);
    const auto best = std::max_element(scores.begin(), scores.end()) - scores.begin();
    right += best == labels[i] ? 1 : 0;
  }
  std::sort(times.begin(), times.end());
  std::printf("%zu of %zu held-out digits are right\n", right, labels.size());
  std::printf("%.4f ms per image (median)\n", times[times.size() / 2]);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: vulkan_host DIR IMAGES.npy LABELS.npy\n");
    return 2;
  }
  try {
    classify(argv[1], argv[2], argv[3]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "vulkan_host: %s\n", error.what());
    return 1;
  }
  return 0;
}
