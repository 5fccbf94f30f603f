// NNEF models, as Python asks for them.
#pragma once

#include <optional>
#include <string>

#include "nnef/model.h"
#include "python/custom.h"

namespace nnef_tvm::python {

/// A model that was loaded, and the conversions that Python brings along for its operations.
struct Model {
  nnef::Graph graph;
  CustomLowerings lowerings;
  Raised raised;
};

/// `options`: "shapes" {input: extents}, "types" {input: type}, "type" (of all inputs that can have
/// it), "dialect", "quant" ("fake", "ignore"), "lowerings" {operation: conversion}; all but the
/// first may be absent.
std::optional<Model> load(const std::string& path, const Map<String, Any>& options,
                          nnef::Diagnostics& diagnostics);

}  // namespace nnef_tvm::python
