#include "model.h"

#include <cstring>
#include <fstream>
#include <stdexcept>

namespace vulkan_host {

using nlohmann::json;

namespace {

std::vector<uint32_t> read_words(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  std::vector<uint32_t> words(static_cast<size_t>(in.tellg()) / sizeof(uint32_t));
  in.seekg(0);
  in.read(reinterpret_cast<char*>(words.data()),
          static_cast<std::streamsize>(words.size() * sizeof(uint32_t)));
  if (!in) throw std::runtime_error("cannot read " + path.string());
  return words;
}

/// A number as the kernel's push constants hold it, in a place of 8 bytes.
uint64_t push_constant(double number, const std::string& type) {
  uint64_t bits = 0;
  if (type == "float32") {
    const auto value = static_cast<float>(number);
    std::memcpy(&bits, &value, sizeof(value));
  } else if (type == "float64") {
    std::memcpy(&bits, &number, sizeof(number));
  } else {
    const auto value = static_cast<int64_t>(number);
    std::memcpy(&bits, &value, sizeof(value));
  }
  return bits;
}

}  // namespace

Model::Model(Gpu& gpu, const std::filesystem::path& folder) : gpu_(gpu), folder_(folder) {
  std::ifstream file(folder / "manifest.json");
  if (!file) throw std::runtime_error("no manifest.json in " + folder.string());
  const json manifest = json::parse(file);
  if (manifest.at("format") != 1) throw std::runtime_error("a manifest of another format");
  manifest.at("inputs").get_to(inputs_);
  manifest.at("outputs").get_to(outputs_);
  make_buffers(manifest.at("buffers"));
  load_weights(manifest.at("weights"));
  make_kernels(manifest.at("kernels"));
  make_descriptors(manifest.at("steps"));
  record(manifest.at("steps"));
}

Model::~Model() { vkDestroyDescriptorPool(gpu_.device(), descriptors_, nullptr); }

void Model::make_buffers(const json& list) {
  for (const json& buffer : list) {
    bytes_.push_back(buffer.at("bytes").get<uint64_t>());
    const auto shares = buffer.find("shares");
    buffers_.push_back(shares == buffer.end() ? gpu_.make_buffer(bytes_.back())
                                              : buffers_.at(shares->get<size_t>()));
  }
}

void Model::load_weights(const json& weights) {
  std::ifstream file(folder_ / weights.at("file").get<std::string>(), std::ios::binary);
  for (const json& value : weights.at("values")) {
    file.seekg(value.at("offset").get<std::streamoff>());
    file.read(static_cast<char*>(buffers_.at(value.at("buffer").get<size_t>()).data),
              value.at("bytes").get<std::streamsize>());
    if (!file) throw std::runtime_error("the weights are cut short");
  }
}

void Model::make_kernels(const json& list) {
  for (const json& kernel : list) {
    Program program;
    uint32_t buffers = 0;
    for (const json& argument : kernel.at("arguments")) {
      if (argument.contains("binding")) {
        ++buffers;
      } else {
        program.numbers.push_back(argument.at("number"));
      }
    }
    const std::string name = kernel.at("name");
    const std::string file = kernel.at("files").at("vulkan");
    program.kernel =
        gpu_.make_kernel(read_words(folder_ / file), name, buffers,
                         static_cast<uint32_t>(program.numbers.size() * sizeof(uint64_t)));
    programs_.emplace(name, std::move(program));
  }
}

void Model::make_descriptors(const json& steps) {
  uint32_t buffers = 0;
  for (const json& step : steps) buffers += static_cast<uint32_t>(step.at("arguments").size());
  const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, buffers + 1};
  const VkDescriptorPoolCreateInfo info{.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                        .maxSets = static_cast<uint32_t>(steps.size()) + 1,
                                        .poolSizeCount = 1,
                                        .pPoolSizes = &size};
  check(vkCreateDescriptorPool(gpu_.device(), &info, nullptr, &descriptors_),
        "vkCreateDescriptorPool");
}

void Model::record(const json& steps) {
  commands_ = gpu_.make_commands();
  const VkCommandBufferBeginInfo begin{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  check(vkBeginCommandBuffer(commands_, &begin), "vkBeginCommandBuffer");
  for (const json& step : steps) record_step(step);
  check(vkEndCommandBuffer(commands_), "vkEndCommandBuffer");
}

void Model::record_step(const json& step) {
  const Program& program = programs_.at(step.at("kernel").get<std::string>());
  const VkDescriptorSetAllocateInfo set_info{
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
      .descriptorPool = descriptors_,
      .descriptorSetCount = 1,
      .pSetLayouts = &program.kernel.bindings};
  VkDescriptorSet set = VK_NULL_HANDLE;
  check(vkAllocateDescriptorSets(gpu_.device(), &set_info, &set), "vkAllocateDescriptorSets");
  std::vector<uint64_t> push;
  uint32_t binding = 0;
  for (const json& argument : step.at("arguments")) {
    if (argument.contains("number")) {
      push.push_back(push_constant(argument.at("number"), program.numbers.at(push.size())));
      continue;
    }
    const VkDescriptorBufferInfo buffer{buffers_.at(argument.at("buffer").get<size_t>()).buffer, 0,
                                        VK_WHOLE_SIZE};
    const VkWriteDescriptorSet write{.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                     .dstSet = set,
                                     .dstBinding = binding++,
                                     .descriptorCount = 1,
                                     .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                     .pBufferInfo = &buffer};
    vkUpdateDescriptorSets(gpu_.device(), 1, &write, 0, nullptr);
  }
  vkCmdBindPipeline(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, program.kernel.pipeline);
  vkCmdBindDescriptorSets(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, program.kernel.layout, 0, 1,
                          &set, 0, nullptr);
  if (!push.empty()) {
    vkCmdPushConstants(commands_, program.kernel.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                       static_cast<uint32_t>(push.size() * sizeof(uint64_t)), push.data());
  }
  const auto groups = step.at("dispatch").get<std::vector<uint32_t>>();
  vkCmdDispatch(commands_, groups.at(0), groups.at(1), groups.at(2));
  // The next step may read what this one writes, the host what the last one does.
  const VkMemoryBarrier barrier{.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
                                .dstAccessMask = VK_ACCESS_SHADER_READ_BIT |
                                                 VK_ACCESS_SHADER_WRITE_BIT |
                                                 VK_ACCESS_HOST_READ_BIT};
  vkCmdPipelineBarrier(commands_, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                       VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_HOST_BIT, 0, 1,
                       &barrier, 0, nullptr, 0, nullptr);
}

std::span<float> Model::floats(size_t buffer) const {
  return {static_cast<float*>(buffers_.at(buffer).data), bytes_.at(buffer) / sizeof(float)};
}

std::span<float> Model::input(size_t index) { return floats(inputs_.at(index)); }
std::span<const float> Model::output(size_t index) const { return floats(outputs_.at(index)); }

}  // namespace vulkan_host
