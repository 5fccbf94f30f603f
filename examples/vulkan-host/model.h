// A model from the files of 'nnefc compile --emit'.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "gpu.h"

namespace vulkan_host {

class Model {
 public:
  /// Reads the manifest, loads the weights, and records all steps once. Throws std::exception.
  Model(Gpu& gpu, const std::filesystem::path& folder);
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  /// The items of an input or output, to be written before a run or read after it.
  std::span<float> input(size_t index);
  std::span<const float> output(size_t index) const;
  void run() { gpu_.run(commands_); }

 private:
  void make_buffers(const nlohmann::json& list);
  void load_weights(const nlohmann::json& weights);
  void make_kernels(const nlohmann::json& list);
  void make_descriptors(const nlohmann::json& steps);
  void record(const nlohmann::json& steps);
  void record_step(const nlohmann::json& step);
  std::span<float> floats(size_t buffer) const;

  struct Program {
    Kernel kernel;
    std::vector<std::string> numbers;  ///< types of those that it takes by value
  };

  Gpu& gpu_;
  std::filesystem::path folder_;
  std::vector<Buffer> buffers_;
  std::vector<uint64_t> bytes_;
  std::vector<size_t> inputs_, outputs_;
  std::map<std::string, Program> programs_;
  VkDescriptorPool descriptors_ = VK_NULL_HANDLE;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
};

}  // namespace vulkan_host
