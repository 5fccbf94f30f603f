#include "tract_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace nnef {
namespace {

struct DatumType {
  std::string_view name;
  DType dtype;
  ItemType item;
};
constexpr std::array kDatumTypes{
    DatumType{"f16", DType::scalar, {ItemCode::float_, 0, 16}},
    DatumType{"f32", DType::scalar, {ItemCode::float_, 0, 32}},
    DatumType{"f64", DType::scalar, {ItemCode::float_, 0, 64}},
    DatumType{"i8", DType::integer, {ItemCode::int_, 0, 8}},
    DatumType{"i16", DType::integer, {ItemCode::int_, 0, 16}},
    DatumType{"i32", DType::integer, {ItemCode::int_, 0, 32}},
    DatumType{"i64", DType::integer, {ItemCode::int_, 0, 64}},
    DatumType{"u8", DType::integer, {ItemCode::uint_, 0, 8}},
    DatumType{"u16", DType::integer, {ItemCode::uint_, 0, 16}},
    DatumType{"u32", DType::integer, {ItemCode::uint_, 0, 32}},
    DatumType{"u64", DType::integer, {ItemCode::uint_, 0, 64}},
    DatumType{"tdim", DType::integer, kTractDimension},
    DatumType{"bool", DType::logical, {ItemCode::bool_, 0, 8}},
};

}  // namespace

std::optional<TractType> find_tract_type(std::string_view name) {
  const auto found = std::ranges::find(kDatumTypes, name, &DatumType::name);
  if (found == kDatumTypes.end()) return std::nullopt;
  return TractType{found->dtype, found->item};
}

std::string tract_type_names() {
  std::string names;
  for (const DatumType& type : kDatumTypes)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", type.name);
  return names;
}

DType dtype_of_item(const ItemType& item) {
  if (item.code == ItemCode::float_) return DType::scalar;
  return item.code == ItemCode::bool_ ? DType::logical : DType::integer;
}

}  // namespace nnef
