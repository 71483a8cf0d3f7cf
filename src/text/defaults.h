// What the text form leaves out because it can be worked out: hints of sizes,
// contiguous strides, list tags, names of positional arguments. The printer
// asks what it may leave out, the parser fills it in; both ask here.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/program.h"

namespace tenon {

// The hint of an expression, from the hints of its symbols.
class HintTable {
 public:
  explicit HintTable(Context* context) : context_(context) {}

  void Set(ExprId symbol, int64_t hint);
  // nullopt when a symbol has none.
  std::optional<int64_t> Get(ExprId expr);
  SymInt WithHint(ExprId expr) { return SymInt::Symbolic(expr, Get(expr)); }

 private:
  Context* context_;
  std::unordered_map<ExprId, int64_t> symbols_;
  std::unordered_map<ExprId, std::optional<int64_t>> known_;
};

// Row-major strides as torch.export writes them: literal factor first, then
// the symbols by name, a repeated one as a power. nullopt on overflow.
std::optional<std::vector<SymInt>> ContiguousStrides(
    Context* context, HintTable* hints, const std::vector<SymInt>& sizes);

// The tag that a list has unless the text names another one. Values without a
// type count as tensors.
ListTag DefaultListTag(const Program& program, std::span<const Arg> items);

// The parameter names of operators, by position. Those of Python functions
// (_operator.mul, torch.sym_max) are a and b.
class ParameterNames {
 public:
  explicit ParameterNames(Context* context) : context_(context) {}
  // Invalid where the operator has no schema or fewer arguments.
  StringId Get(OpId op, size_t position);

 private:
  struct Entry {
    bool known = false;
    std::vector<StringId> names;
  };
  Context* context_;
  std::vector<Entry> by_op_;
};

}  // namespace tenon
