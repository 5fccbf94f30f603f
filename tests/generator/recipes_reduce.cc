#include <array>

#include "recipes.h"

namespace generator {
namespace {

void reduce_of(Draft& d, const std::string& operation, DType dtype,
               std::vector<std::string> attributes, size_t results = 1) {
  const Operand x = d.tensor(dtype, 1);
  attributes.insert(attributes.begin(), attribute("axes", draw_axes(d, x.shape.size())));
  d.call(operation, {x}, attributes, results);
}

void number(Draft& d, const std::string& operation) { reduce_of(d, operation, d.number(), {}); }
void logical(Draft& d, const std::string& operation) {
  reduce_of(d, operation, DType::logical, {});
}
void moments(Draft& d, const std::string& operation) {
  reduce_of(d, operation, DType::scalar, {}, 2);
}

void sum(Draft& d, const std::string& operation) {
  std::vector<std::string> attributes;
  if (d.choices.flip()) attributes.push_back(attribute("normalize", d.choices.flip()));
  reduce_of(d, operation, d.number(), attributes);
}

constexpr std::array kRecipes{
    Recipe{"sum_reduce", sum},
    Recipe{"max_reduce", number, Precision::exact},
    Recipe{"min_reduce", number, Precision::exact},
    Recipe{"argmax_reduce", number, Precision::exact},
    Recipe{"argmin_reduce", number, Precision::exact},
    Recipe{"any_reduce", logical, Precision::exact},
    Recipe{"all_reduce", logical, Precision::exact},
    Recipe{"mean_reduce", number},
    Recipe{"moments", moments},
};

}  // namespace

std::span<const Recipe> reduce_recipes() { return kRecipes; }

}  // namespace generator
