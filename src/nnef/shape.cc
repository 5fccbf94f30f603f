#include "nnef/shape.h"

#include <algorithm>

namespace nnef {
namespace {

Dim replaced(const DimAtom& atom, const DimValues& values) {
  if (atom.kind == DimAtom::Kind::symbol) {
    const auto found = values.find(atom.text);
    return found != values.end() ? found->second : Dim::symbol(atom.text, atom.least, atom.most);
  }
  const Dim a = substitute(atom.operands[0], values);
  const Dim b = substitute(atom.operands[1], values);
  if (atom.kind == DimAtom::Kind::max) return max(a, b);
  return atom.kind == DimAtom::Kind::min ? min(a, b) : floor_div(a, b);
}

}  // namespace

Dim volume(const Shape& shape) {
  Dim product = 1;
  for (const Dim& extent : shape) product = product * extent;
  return product;
}

std::string to_string(const Dim& dim) {
  if (dim.expression() != nullptr) return dim.expression()->text;
  return dim.valid() ? std::to_string(dim.value()) : "?";
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (const Dim& extent : shape) {
    if (text.size() > 1) text += ',';
    text += to_string(extent);
  }
  return text + "]";
}

bool valid(const Shape& shape) {
  return std::ranges::all_of(shape, [](const Dim& extent) { return extent.valid(); });
}

bool known(const Shape& shape) {
  return std::ranges::all_of(shape, [](const Dim& extent) { return extent.known(); });
}

Dim substitute(const Dim& dim, const DimValues& values) {
  if (dim.expression() == nullptr) return dim;
  Dim sum = dim.expression()->constant;
  for (const DimTerm& term : dim.expression()->terms) {
    Dim product = term.factor;
    for (const auto& atom : term.atoms) product = product * replaced(*atom, values);
    sum = sum + product;
  }
  return sum;
}

void each_symbol(const Dim& dim, const std::function<void(const DimAtom&)>& visit) {
  if (dim.expression() == nullptr) return;
  for (const DimTerm& term : dim.expression()->terms) {
    for (const auto& atom : term.atoms) {
      if (atom->kind == DimAtom::Kind::symbol) visit(*atom);
      for (const Dim& operand : atom->operands) each_symbol(operand, visit);
    }
  }
}

}  // namespace nnef
