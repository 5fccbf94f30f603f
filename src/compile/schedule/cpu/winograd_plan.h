// Winograd's minimal filtering for 3 x 3 windows with stride 1: whether it pays, and how its work
// is cut. Arithmetic only, so that it can be tested for any CPU.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "compile/schedule/cpu/schedule.h"

namespace nnef_tvm {

/// A 3 x 3 convolution with stride 1; height and width are the result's.
struct WinogradProblem {
  int64_t batch = 1;
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;
  int64_t outputs = 0;

  auto operator<=>(const WinogradProblem&) const = default;
};

/// Each tile of tile x tile results comes from patch x patch transformed inputs. Tiles are counted
/// along rows of tiles, these through all images, and lie in blocks of whole rows.
struct WinogradPlan {
  int64_t tile = 4;
  int64_t tile_rows = 0;  ///< of one image
  int64_t tile_columns = 0;
  int64_t blocks = 1;
  int64_t block_rows = 0;   ///< rows of tiles in a block
  int64_t block_tiles = 0;  ///< with what is added to divide by `rows`
  int64_t rows = 1;         ///< tiles in the registers of the product,
  int64_t vectors = 1;      ///< for so many vectors
  int64_t lanes = 1;        ///< of results
  double cycles = 0;        ///< estimate of the time with all cores

  int64_t patch() const { return tile + 2; }
  int64_t width() const { return vectors * lanes; }  ///< results in one piece of the weights
  int64_t used_tiles() const { return block_rows * tile_columns; }
};

/// Instead of the cost rule's; nullopt for direct convolution.
using WinogradPlans = std::map<WinogradProblem, std::optional<WinogradPlan>>;

/// The plans with the given tile (2 or 4), the cheapest first, at most `limit`.
std::vector<WinogradPlan> rank_winograd(const WinogradProblem& problem, int64_t tile,
                                        const CpuTraits& traits, size_t limit);

/// The plan with this tile, and these vectors, block_rows and rows; all else follows. Nullopt when
/// there is none.
std::optional<WinogradPlan> complete_winograd(const WinogradProblem& problem,
                                              const WinogradPlan& plan, const CpuTraits& traits);

/// The best plan with the given tile (2 or 4).
WinogradPlan plan_winograd(const WinogradProblem& problem, int64_t tile, const CpuTraits& traits);

/// An estimate for the direct convolution, comparable to WinogradPlan::cycles.
double direct_cycles(const WinogradProblem& problem, const CpuTraits& traits);

/// The plan to use; nullopt when direct convolution is the better choice.
std::optional<WinogradPlan> choose_winograd(const WinogradProblem& problem, const CpuTraits& traits,
                                            WinogradUse use);

/// What decides for each convolution: a plan, or nullopt for direct convolution.
using WinogradChoice = std::function<std::optional<WinogradPlan>(const WinogradProblem&)>;

/// The plans where there are some, else the cost rule.
WinogradChoice winograd_choice(const CpuTraits& traits, WinogradUse use, WinogradPlans plans = {});

/// The greatest number of tiles that divides `tiles` and whose accumulators fit into registers.
int64_t winograd_rows(int64_t tiles, int64_t vectors, const CpuTraits& traits);

/// The greatest power of two, up to a full vector of floats, that divides the extent.
int64_t dividing_lanes(int64_t extent, const CpuTraits& traits);

/// The stages of the kernel, by which its schedule knows them.
namespace winograd_stage {
inline constexpr const char* kPatch = "winograd_patch";
inline constexpr const char* kInputRows = "winograd_input_rows";
inline constexpr const char* kInput = "winograd_input";
inline constexpr const char* kProduct = "winograd_product";
inline constexpr const char* kOutputRows = "winograd_output_rows";
inline constexpr const char* kOutput = "winograd_output";
}  // namespace winograd_stage

}  // namespace nnef_tvm
