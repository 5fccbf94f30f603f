// Two operations that no standard has, for models that use them:
//   nnefc run examples/custom-op/model --plugin build/release/examples/custom-op/custom_op.so ...
#include <cmath>

#include "custom.h"
#include "relax/lowering.h"
#include "tvm/emit_te.h"

namespace {

using nnef::RuleContext;
using nnef::reference::Evaluation;
using nnef::reference::Index;
using nnef_tvm::Expr;
using nnef_tvm::LoweringContext;

bool same_shape(RuleContext& c) {
  c.set("y", c.shape("x"));
  return true;
}

// As an expression of Relax operators, which fuse with their neighbours.

void evaluate_swish(Evaluation& e) {
  std::vector<double> y;
  for (const double x : e.numbers<double>("x").values)
    y.push_back(x / (1 + std::exp(-e.scalar("beta") * x)));
  e.set("y", y);
}

Expr lower_swish(const LoweringContext& op) {
  using namespace nnef_tvm::relax;
  const Expr x = op.input("x");
  return multiply(x, sigmoid(multiply(x, op.number(op.scalar("beta")))));
}

// As a kernel: items of the last axis move on by `shift` places, and around its end.

bool roll_rule(RuleContext& c) {
  if (c.shape("x").empty())
    return c.fail("rank", "x", "'x' has rank 0, expected 1 or more", "there is no axis to roll");
  return same_shape(c);
}

void evaluate_roll(Evaluation& e) {
  const auto x = e.numbers<double>("x");
  const int64_t extent = x.shape.back();
  std::vector<double> y;
  nnef::reference::each_index(x.shape, [&](Index i) {
    i.back() = ((i.back() - e.integer("shift")) % extent + extent) % extent;
    y.push_back(x.values[nnef::reference::place(x.shape, i)]);
  });
  e.set("y", y);
}

Expr lower_roll(const LoweringContext& op) {
  namespace te = nnef_tvm::te;
  const int64_t shift = op.integer("shift");
  return emit_te(op.builder(), "roll", {op.input("x")},
                 [shift](const std::vector<te::Tensor>& args) {
                   const te::Tensor& x = args[0];
                   return te::compute(x.shape(), "roll", [&](te::Indices i) {
                     i.back() = floormod(i.back() - shift, x.extent(x.rank() - 1));
                     return x(i);
                   });
                 });
}

}  // namespace

/// What nnefc calls when it has loaded the plug-in.
extern "C" bool nnef_register(nnef::Diagnostics& diagnostics) {
  const bool declared =
      nnef::register_operation(
          {"fragment my_swish(x: tensor<scalar>, beta: scalar = 1.0) -> (y: tensor<scalar>);",
           same_shape, evaluate_swish},
          diagnostics) &&
      nnef::register_operation(
          {"fragment my_roll(x: tensor<scalar>, shift: integer) -> (y: tensor<scalar>);", roll_rule,
           evaluate_roll},
          diagnostics);
  return declared && nnef_tvm::register_lowering("my_swish", lower_swish) &&
         nnef_tvm::register_lowering("my_roll", lower_roll);
}
