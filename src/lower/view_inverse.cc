#include "lower/view_inverse.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "analysis/bound_args.h"
#include "lower/rewrite_rules.h"

namespace tenon::lower {
namespace {

// The same elements in the same order: undone by taking the base's sizes.
constexpr std::string_view kReshapes[] = {
    "aten.view.default",    "aten._unsafe_view.default",
    "aten.reshape.default", "aten.unsqueeze.default",
    "aten.squeeze.default", "aten.squeeze.dim",
    "aten.squeeze.dims",    "aten.flatten.using_ints",
    "aten.unflatten.int",   "aten.view_as.default",
};
// Return their argument where nothing needs to change.
constexpr std::string_view kMaybeSame[] = {
    "aten.to.dtype",           "aten.to.dtype_layout", "aten.to.device",
    "aten.contiguous.default", "aten.type_as.default",
};
constexpr std::string_view kSame[] = {
    "aten.alias.default",
    "aten.detach.default",
    "aten.detach_.default",
    "aten.lift_fresh.default",
};

template <size_t N>
bool Has(const std::string_view (&list)[N], std::string_view op) {
  return std::find(std::begin(list), std::end(list), op) != std::end(list);
}

bool ReturnsAlias(const OpSchema& schema) {
  return !schema.returns.empty() && !schema.returns[0].alias_set.empty();
}

}  // namespace

ViewKind ViewKindOf(const Program& program, NodeId n) {
  const OpSchema* schema = program.schema(n);
  if (schema == nullptr || !ReturnsAlias(*schema)) return ViewKind::kNone;
  const std::string_view op = program.op_name(n);
  if (Has(kSame, op)) return ViewKind::kIdentity;
  const auto args = program.args(n);
  if (args.empty() || !args[0].is_value()) return ViewKind::kUnknown;
  const Type& from = program.type(args[0].value());
  const Type& to = program.type(program.node(n).results[0]);
  if (Has(kMaybeSame, op)) {
    // A copy was asked for.
    const Arg* copy = program.FindArg(n, "copy");
    const bool is_same = from.dtype == to.dtype && from.strides == to.strides &&
                         from.device == to.device &&
                         (copy == nullptr || copy->i == 0);
    return is_same ? ViewKind::kIdentity : ViewKind::kNone;
  }
  if (op == "aten.reshape.default" || op == "aten.flatten.using_ints") {
    return IsContiguous(from, &program.context()) ? ViewKind::kView
                                                  : ViewKind::kUnknown;
  }
  return ViewKind::kView;
}

std::optional<ValueId> PutBack(NodeBuilder& build, NodeId n, uint32_t result,
                               ValueId base, ValueId written) {
  const Program& program = build.program();
  ArgBinder binder(program);
  BoundArgs bound;
  if (!binder.Bind(n, &bound)) return std::nullopt;
  const std::string_view op = program.op_name(n);
  if (Has(kReshapes, op)) {
    return build.Reshape(written, program.type(base).sizes);
  }
  const TypeId type = build.TypeLike(base);
  const int64_t rank = program.type(base).rank();
  const auto operand = [&](size_t i) {
    return bound[i] == nullptr ? Operand() : Operand(*bound[i]);
  };
  const auto literal = [&](size_t i, int64_t otherwise) {
    return bound[i] != nullptr && bound[i]->kind == ArgKind::kInt ? bound[i]->i
                                                                  : otherwise;
  };
  if (op == "aten.t.default") {
    return build.Call("aten.t.default", {written}, type);
  }
  if (op == "aten.transpose.int") {
    return build.Call("aten.transpose.int", {written, operand(1), operand(2)},
                      type);
  }
  if (op == "aten.permute.default" && bound[1] != nullptr &&
      bound[1]->kind == ArgKind::kList) {
    std::vector<int64_t> inverse(static_cast<size_t>(rank), 0);
    int64_t at = 0;
    for (const Arg& item : program.args(bound[1]->list)) {
      const auto to =
          item.kind == ArgKind::kInt ? FindDim(item.i, rank) : std::nullopt;
      if (!to || at >= rank) return std::nullopt;
      inverse[*to] = at++;
    }
    return build.Permute(written, inverse);
  }
  if (op == "aten.slice.Tensor") {
    Operand step = bound[4] == nullptr ? Operand::Int(1) : operand(4);
    Operand dim = bound[1] == nullptr ? Operand::Int(0) : operand(1);
    return build.Call("aten.slice_scatter.default",
                      {base, written, dim, operand(2), operand(3), step}, type);
  }
  if (op == "aten.narrow.default") {
    const auto start = operand(2), length = operand(3);
    if (!start.literal_int() || !length.literal_int()) return std::nullopt;
    return build.Call("aten.slice_scatter.default",
                      {base, written, operand(1), start,
                       build.AddInts(start, length), Operand::Int(1)},
                      type);
  }
  if (op == "aten.select.int") {
    return build.Call("aten.select_scatter.default",
                      {base, written, operand(1), operand(2)}, type);
  }
  if (op == "aten.unbind.int") {
    return build.Call(
        "aten.select_scatter.default",
        {base, written, Operand::Int(literal(1, 0)), Operand::Int(result)},
        type);
  }
  if (op == "aten.split.Tensor" || op == "aten.chunk.default" ||
      op == "aten.split_with_sizes.default") {
    const auto found = FindDim(literal(2, 0), rank);
    if (!found) return std::nullopt;
    const auto dim = static_cast<int64_t>(*found);
    int64_t start = 0;
    for (uint32_t i = 0; i <= result; ++i) {
      const Type& part = program.type(program.node(n).results[i]);
      if (part.rank() != rank) return std::nullopt;
      const SymInt size = part.sizes[static_cast<size_t>(dim)];
      if (!size.is_literal()) return std::nullopt;
      if (i < result) start += size.value;
      if (i == result) {
        return build.Call(
            "aten.slice_scatter.default",
            {base, written, Operand::Int(dim), Operand::Int(start),
             Operand::Int(start + size.value), Operand::Int(1)},
            type);
      }
    }
  }
  return std::nullopt;
}

}  // namespace tenon::lower
