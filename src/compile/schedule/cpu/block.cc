#include "compile/schedule/cpu/block.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <optional>
#include <string_view>

#include "tvm/te.h"

namespace nnef_tvm {
namespace {

/// The operands of one kind of expression or statement, by the names of its fields.
struct NodeFields {
  std::string_view key;
  std::array<const char*, 3> single;
  const char* list;
};

constexpr std::array<NodeFields, 26> kNodes = {{
    {"prim.Add", {"a", "b"}, nullptr},
    {"prim.Sub", {"a", "b"}, nullptr},
    {"prim.Mul", {"a", "b"}, nullptr},
    {"prim.Div", {"a", "b"}, nullptr},
    {"prim.Mod", {"a", "b"}, nullptr},
    {"prim.FloorDiv", {"a", "b"}, nullptr},
    {"prim.FloorMod", {"a", "b"}, nullptr},
    {"prim.Min", {"a", "b"}, nullptr},
    {"prim.Max", {"a", "b"}, nullptr},
    {"prim.EQ", {"a", "b"}, nullptr},
    {"prim.NE", {"a", "b"}, nullptr},
    {"prim.LT", {"a", "b"}, nullptr},
    {"prim.LE", {"a", "b"}, nullptr},
    {"prim.GT", {"a", "b"}, nullptr},
    {"prim.GE", {"a", "b"}, nullptr},
    {"prim.And", {"a", "b"}, nullptr},
    {"prim.Or", {"a", "b"}, nullptr},
    {"prim.Not", {"a"}, nullptr},
    {"prim.Cast", {"value"}, nullptr},
    {"prim.Select", {"condition", "true_value", "false_value"}, nullptr},
    {"prim.Let", {"value", "body"}, nullptr},
    {"ir.Call", {}, "args"},
    {"ir.TensorLoad", {}, "indices"},
    {"tirx.BufferStore", {"value"}, "indices"},
    {"tirx.SeqStmt", {}, "seq"},
    {"tirx.IfThenElse", {"condition", "then_case"}, nullptr},
}};

std::vector<ObjectRef> operands(const ObjectRef& node) {
  std::vector<ObjectRef> found;
  const std::string key = type_key(node);
  const auto row = std::find_if(kNodes.begin(), kNodes.end(),
                                [&](const NodeFields& item) { return item.key == key; });
  if (row == kNodes.end()) return found;
  for (const char* name : row->single) {
    if (name) found.push_back(field<ObjectRef>(node, name));
  }
  if (row->list) {
    for (const ObjectRef& item : field<Array<ObjectRef>>(node, row->list)) found.push_back(item);
  }
  return found;
}

void walk(const ObjectRef& node, const std::function<void(const ObjectRef&)>& visit) {
  visit(node);
  for (const ObjectRef& operand : operands(node)) walk(operand, visit);
}

std::string called(const ObjectRef& node) {
  if (type_key(node) != "ir.Call") return "";
  auto callee = field<ObjectRef>(node, "op");
  return type_key(callee) == "ir.Op" ? std::string(field<String>(callee, "name")) : "?";
}

bool depends(const ObjectRef& expr, const Var& var) {
  bool found = false;
  walk(expr, [&](const ObjectRef& node) { found = found || node.same_as(var); });
  return found;
}

/// The factor of `var` in `expr`; nullopt when it is not linear in it.
std::optional<int64_t> coefficient(const ObjectRef& expr, const Var& var) {
  if (expr.same_as(var)) return 1;
  if (!depends(expr, var)) return 0;
  const std::string key = type_key(expr);
  if (key == "prim.Cast") return coefficient(field<ObjectRef>(expr, "value"), var);
  if (key != "prim.Add" && key != "prim.Sub" && key != "prim.Mul") return std::nullopt;
  auto a = field<ObjectRef>(expr, "a");
  auto b = field<ObjectRef>(expr, "b");
  const auto in_a = coefficient(a, var);
  const auto in_b = coefficient(b, var);
  if (!in_a || !in_b) return std::nullopt;
  if (key == "prim.Add") return *in_a + *in_b;
  if (key == "prim.Sub") return *in_a - *in_b;
  if (const auto factor = known_int(as<PrimExpr>(b))) return *in_a * *factor;
  if (const auto factor = known_int(as<PrimExpr>(a))) return *in_b * *factor;
  return std::nullopt;
}

/// How many aligned steps of `var` leave `expr` unchanged; 0 for any number.
int64_t run_length(const ObjectRef& expr, const Var& var) {
  if (expr.same_as(var)) return 1;
  if (type_key(expr) == "prim.FloorDiv" && field<ObjectRef>(expr, "a").same_as(var)) {
    return known_int(field<PrimExpr>(expr, "b")).value_or(1);
  }
  int64_t run = 0;
  for (const ObjectRef& operand : operands(expr)) run = std::gcd(run, run_length(operand, var));
  return run;
}

Step complex_step(const Access& access, const Var& var) {
  Step step{Step::Kind::kComplex};
  step.run = 0;
  for (const PrimExpr& index : access.indices)
    step.run = std::gcd(step.run, run_length(index, var));
  return step;
}

Step step_of(const Access& access, const Var& var) {
  Step step;
  int64_t stride = 1;
  for (size_t axis = access.indices.size(); axis-- > 0; stride *= access.shape[axis]) {
    const auto factor = coefficient(access.indices[axis], var);
    if (factor && *factor == 0) continue;
    if (!factor || stride == 0) return complex_step(access, var);
    step.kind = Step::Kind::kLinear;
    step.stride += *factor * stride;
  }
  return step;
}

Access access_of(const ObjectRef& region, const std::vector<Iteration>& iterations) {
  Access access;
  access.buffer = field<Var>(region, "source");
  auto type = field<ObjectRef>(access.buffer, "ty");
  access.dtype = field<DLDataType>(field<ObjectRef>(type, "dtype"), "dtype");
  for (const PrimExpr& extent : field<Array<PrimExpr>>(type, "shape")) {
    access.shape.push_back(known_int(extent).value_or(kOpenExtent));
  }
  for (const ObjectRef& range : field<Array<ObjectRef>>(region, "region")) {
    access.indices.push_back(field<PrimExpr>(range, "min"));
    access.single = access.single && is_known(field<PrimExpr>(range, "extent"), 1);
  }
  for (const Iteration& iteration : iterations) {
    access.steps.push_back(access.single ? step_of(access, iteration.var)
                                         : Step{Step::Kind::kComplex});
  }
  return access;
}

bool reads_memory(const ObjectRef& expr) {
  bool found = false;
  walk(expr, [&](const ObjectRef& node) { found = found || type_key(node) == "ir.TensorLoad"; });
  return found;
}

bool is_cheap_call(const std::string& op) {
  constexpr std::array<std::string_view, 8> kCheap = {"if_then_else", "likely",      "bitwise_and",
                                                      "bitwise_or",   "bitwise_not", "fabs",
                                                      "shift_left",   "shift_right"};
  return std::any_of(kCheap.begin(), kCheap.end(),
                     [&](std::string_view name) { return op.ends_with(name); });
}

/// How far beyond a constant a comparison of a variable with it changes: v < c at c, v <= c at
/// c + 1.
struct Comparison {
  std::string_view key;
  int64_t offset;
};
constexpr std::array<Comparison, 4> kComparisons = {
    {{"prim.LT", 0}, {"prim.GE", 0}, {"prim.LE", 1}, {"prim.GT", 1}}};

/// Adds where a condition changes with `var`; false when it is not made of comparisons with
/// constants.
bool add_changes(const ObjectRef& condition, const Var& var, std::vector<int64_t>& changes) {
  if (!depends(condition, var)) return true;
  const std::string key = type_key(condition);
  if (key == "prim.And" || key == "prim.Or") {
    return add_changes(field<ObjectRef>(condition, "a"), var, changes) &&
           add_changes(field<ObjectRef>(condition, "b"), var, changes);
  }
  const auto row = std::find_if(kComparisons.begin(), kComparisons.end(),
                                [&](const Comparison& item) { return item.key == key; });
  if (row == kComparisons.end() || !field<ObjectRef>(condition, "a").same_as(var)) return false;
  const auto bound = known_int(field<PrimExpr>(condition, "b"));
  if (bound) changes.push_back(*bound + row->offset);
  return bound.has_value();
}

/// Those of a condition, in addition to others.
void note_changes(const ObjectRef& condition, const Var& var,
                  std::optional<std::vector<int64_t>>& changes) {
  if (!changes) return;
  if (!add_changes(condition, var, *changes)) {
    changes.reset();
    return;
  }
  std::sort(changes->begin(), changes->end());
  changes->erase(std::unique(changes->begin(), changes->end()), changes->end());
}

Work work_of(const ObjectRef& body, const std::vector<Iteration>& iterations) {
  Work work;
  work.condition_depends.resize(iterations.size());
  work.condition_changes.assign(iterations.size(), std::vector<int64_t>{});
  auto condition = [&](const ObjectRef& expr) {
    work.conditional = true;
    for (size_t i = 0; i < iterations.size(); ++i) {
      if (depends(expr, iterations[i].var)) work.condition_depends[i] = true;
      note_changes(expr, iterations[i].var, work.condition_changes[i]);
    }
  };
  walk(body, [&](const ObjectRef& node) {
    const std::string op = called(node);
    if (op.ends_with("if_then_else")) condition(field<Array<ObjectRef>>(node, "args")[0]);
    if (type_key(node) == "prim.Select") {
      // A choice by indices may guard accesses; one of numbers by values is arithmetic, lane by
      // lane (TVM cannot compile vectors of choices among constant truth values).
      const auto choice = field<ObjectRef>(node, "condition");
      const bool of_numbers = !is_boolean(item_type(as<PrimExpr>(node)));
      if (!of_numbers || !reads_memory(choice)) condition(choice);
    }
    if (!op.empty() && !is_cheap_call(op)) ++work.function_calls;
  });
  work.plain_copy = type_key(body) == "tirx.BufferStore" &&
                    type_key(field<ObjectRef>(body, "value")) == "ir.TensorLoad";
  return work;
}

/// Whether each spatial iteration is, by itself, one axis of the result, and reductions are in
/// none.
bool writes_by_axis(const BlockInfo& info) {
  if (info.writes.size() != 1 || !info.writes[0].single) return false;
  std::vector<bool> used(info.iterations.size(), false);
  for (const PrimExpr& index : info.writes[0].indices) {
    if (known_int(index)) continue;
    const auto found =
        std::find_if(info.iterations.begin(), info.iterations.end(),
                     [&](const Iteration& iteration) { return index.same_as(iteration.var); });
    if (found == info.iterations.end() || found->reduces) return false;
    used[found - info.iterations.begin()] = true;
  }
  for (size_t i = 0; i < used.size(); ++i) {
    const Iteration& iteration = info.iterations[i];
    if (!iteration.reduces && !used[i] && iteration.extent != 1) return false;
  }
  return true;
}

}  // namespace

int64_t Access::item_count() const {
  int64_t count = 1;
  for (int64_t extent : shape) count *= extent;
  return count;
}

int64_t BlockInfo::spatial_volume() const {
  int64_t product = 1;
  for (const Iteration& i : iterations) product *= i.reduces ? 1 : i.extent;
  return product;
}

int64_t BlockInfo::reduction_volume() const {
  int64_t product = 1;
  for (const Iteration& i : iterations) product *= i.reduces ? i.extent : 1;
  return product;
}

int64_t BlockInfo::reduction_multiple() const {
  int64_t product = 1;
  for (const Iteration& i : iterations) product *= i.reduces ? i.multiple : 1;
  return product;
}

bool BlockInfo::open() const {
  return std::any_of(iterations.begin(), iterations.end(),
                     [](const Iteration& i) { return i.open; });
}

int64_t BlockInfo::volume() const { return spatial_volume() * reduction_volume(); }

std::vector<size_t> BlockInfo::result_order() const {
  std::vector<size_t> order;
  for (const PrimExpr& index : writes[0].indices) {
    for (size_t i = 0; i < iterations.size(); ++i) {
      if (index.same_as(iterations[i].var)) order.push_back(i);
    }
  }
  return order;
}

BlockInfo inspect(const TirSchedule& schedule, const Block& block) {
  constexpr int kDataParallel = 0;
  constexpr int kReduce = 2;
  BlockInfo info;
  info.block = block;
  const ObjectRef node = schedule.node(block);
  bool ordinary = true;
  for (const ObjectRef& item : field<Array<ObjectRef>>(node, "iter_vars")) {
    Iteration iteration;
    iteration.var = field<Var>(item, "var");
    auto extent = field<PrimExpr>(field<ObjectRef>(item, "dom"), "extent");
    const auto known = known_int(extent);
    iteration.extent = known.value_or(kOpenExtent);
    iteration.multiple = known ? *known : known_factor(extent);
    iteration.open = !known;
    iteration.exact = extent;
    const int kind = field<int>(item, "iter_type");
    iteration.reduces = kind == kReduce;
    info.reduction = info.reduction || iteration.reduces;
    ordinary = ordinary && iteration.extent > 0 && (kind == kReduce || kind == kDataParallel);
    info.iterations.push_back(iteration);
  }
  for (const ObjectRef& region : field<Array<ObjectRef>>(node, "writes")) {
    info.writes.push_back(access_of(region, info.iterations));
  }
  for (const ObjectRef& region : field<Array<ObjectRef>>(node, "reads")) {
    Access access = access_of(region, info.iterations);
    const bool accumulates =
        std::any_of(info.writes.begin(), info.writes.end(),
                    [&](const Access& write) { return write.buffer.same_as(access.buffer); });
    if (!accumulates) info.reads.push_back(std::move(access));
  }
  info.work = work_of(field<ObjectRef>(node, "body"), info.iterations);
  info.regular = ordinary && !info.iterations.empty() && writes_by_axis(info) &&
                 schedule.has_trivial_binding(block) &&
                 schedule.loops(block).size() == info.iterations.size();
  return info;
}

bool reads_weight(const Access& access, const std::vector<Var>& weights) {
  return std::any_of(weights.begin(), weights.end(),
                     [&](const Var& weight) { return weight.same_as(access.buffer); });
}

}  // namespace nnef_tvm
