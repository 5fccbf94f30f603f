#include "relax/ops/loop.h"

#include <fmt/format.h>

#include <functional>
#include <set>

#include "nnef/model.h"
#include "relax/import.h"
#include "tvm/te.h"

namespace nnef_tvm {
namespace {

/// The body as a function of the module: of a position with the values of all symbols, of the whole
/// scanned tensors, of others and of states; it returns the new states and what outputs are made
/// of.
class LoopBody {
 public:
  LoopBody(const LoweringContext& op, const nnef::Graph& graph)
      : op_(op), graph_(graph), values_(graph.tensors.size()) {
    for (const char* list : {"scanned", "full", "state"}) {
      for (const nnef::Value& item : op.items(list)) {
        for (const nnef::Dim& extent : op.shape_of(item)) {
          nnef::each_symbol(extent,
                            [&](const nnef::DimAtom& symbol) { names_.insert(symbol.text); });
        }
      }
    }
  }

  /// The values of the symbols, in the caller.
  Extents symbol_values() const {
    Extents values;
    for (const std::string& name : names_) values.push_back(op_.dim(nnef::Dim::symbol(name)));
    return values;
  }

  GlobalVar add() {
    position_ = var("position", prim_type(int64));
    Extents extents{position_};
    for (const std::string& name : names_)
      extents.push_back(symbols_.expr(nnef::Dim::symbol(name)));
    Array<Var> params{var("place", relax::shape_type(extents))};
    for (const char* list : {"scanned", "full", "state"}) {
      for (const nnef::Value& item : op_.items(list)) {
        const std::string name = list + std::to_string(params.size());
        params.push_back(var(name, tensor_type(symbols_.exprs(op_.shape_of(item)), float32)));
      }
    }
    const size_t key = std::hash<std::string>()(op_.string("body"));
    return op_.builder().add_function(fmt::format("loop_{:016x}", key), params,
                                      [&] { return make(params); });
  }

 private:
  Expr slice(const Var& whole, size_t index) {
    const auto axis = op_.integers("scanned_axes")[index];
    const nnef::Shape& shape = op_.shape_of(op_.items("scanned")[index]);
    const bool forwards = op_.integers("scanned_steps")[index] > 0;
    const PrimExpr last = symbols_.expr(shape[static_cast<size_t>(axis)]) - 1;
    const PrimExpr at = position_;
    const PrimExpr begin = forwards ? at : last - at;
    return op_.builder().emit(
        relax::slice_inside(whole, {axis}, Extents{begin}, Extents{begin + 1}, {1}));
  }

  Expr make(const Array<Var>& params) {
    const size_t scanned = op_.items("scanned").size();
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      const Var& param = params[static_cast<int64_t>(i) + 1];
      values_[graph_.inputs[i].index] = i < scanned ? slice(param, i) : Expr(param);
    }
    for (const nnef::Operation& operation : graph_.operations) {
      if (operation.name == "external") continue;
      const LoweringContext context(graph_, operation, values_, symbols_, op_.builder(),
                                    op_.diagnostics());
      const LoweringRow* row = find_lowering(operation.name);
      if (row == nullptr) {
        context.fail("loop", "", "it cannot be lowered to Relax inside of a loop");
        continue;
      }
      const std::vector<Expr> results = lower(*row, context);
      size_t index = 0;
      nnef::each_tensor(operation.outputs, [&](nnef::TensorRef ref) {
        if (index < results.size()) values_[ref.index] = op_.builder().emit(results[index++]);
      });
    }
    Array<Expr> results;
    for (const nnef::TensorRef output : graph_.outputs) results.push_back(values_[output.index]);
    return op_.builder().emit_output(tuple(results));
  }

  const LoweringContext& op_;
  const nnef::Graph& graph_;
  std::set<std::string> names_;
  SymbolTable symbols_;
  std::vector<Expr> values_;
  Var position_;
};

}  // namespace

std::vector<Expr> lower_loop(const LoweringContext& op) {
  const auto text = std::make_shared<nnef::Source>("body", op.string("body"));
  nnef::LoadOptions options;
  options.dialect = nnef::Dialect::tract;
  options.keep_compound = has_lowering;
  const auto graph = nnef::load_text(text, nullptr, options, op.diagnostics());
  if (!graph) return {};
  LoopBody body(op, *graph);
  const GlobalVar function = body.add();
  if (op.diagnostics().has_errors()) return {};
  const auto& first = op.shape_of(op.items("scanned")[0]);
  Extents about{op.dim(first[static_cast<size_t>(op.integers("scanned_axes")[0])]),
                int_imm(static_cast<int64_t>(op.items("state").size()))};
  const Ints axes = op.integers("output_axes");
  const Ints steps = op.integers("output_steps");
  Array<Type> types;
  for (size_t i = 0; i < axes.size(); ++i) {
    about.push_back(int_imm(axes[i]));
    about.push_back(int_imm(steps[i]));
    const nnef::TensorRef ref = op.results("outputs")[i];
    types.push_back(tensor_type(op.dims(*op.graph()[ref].shape), float32));
  }
  Array<Expr> args{function, shape_expr(about), shape_expr(body.symbol_values())};
  for (const char* list : {"scanned", "full", "state"}) {
    for (const nnef::Value& item : op.items(list)) args.push_back(op.item(item));
  }
  const Expr made = op.let(relax::call_runtime("nnef.loop", args, types));
  std::vector<Expr> results;
  for (size_t i = 0; i < axes.size(); ++i)
    results.push_back(tuple_get_item(made, static_cast<int64_t>(i)));
  return results;
}

}  // namespace nnef_tvm
