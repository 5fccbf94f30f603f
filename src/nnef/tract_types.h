// tract's names of item types.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "nnef/graph.h"

namespace nnef {

/// Items of shapes ("tdim").
inline constexpr ItemType kTractDimension{ItemCode::int_, 0, 64};

struct TractType {
  DType dtype;
  ItemType item;
};
/// What a name such as "f32" means; nothing for types that tensors here lack.
std::optional<TractType> find_tract_type(std::string_view name);
/// All names, for messages.
std::string tract_type_names();
/// The primitive type of items that stand for themselves.
DType dtype_of_item(const ItemType& item);

}  // namespace nnef
