#include "partition/boundary_bytes.h"

#include <algorithm>

namespace tenon {
namespace {

// Upper bounds beyond this are stand-ins for "unbounded".
constexpr int64_t kMaxBound = int64_t{1} << 24;
constexpr int64_t kScalarBytes = 8;
// So that sums over all values of a program stay in range.
constexpr int64_t kMaxBytes = int64_t{1} << 40;

}  // namespace

int64_t BoundaryBytes::Of(ValueId v) {
  const Value& value = program_.value(v);
  if (value.is_input()) {
    const auto& inputs = program_.signature.inputs;
    if (value.index < inputs.size() && inputs[value.index].state.valid()) {
      return 0;
    }
  } else if (program_.node(value.def).kind == NodeKind::kGetState) {
    return 0;
  }
  return OfType(value.type);
}

int64_t BoundaryBytes::OfType(TypeId id) {
  if (!id.valid()) return 0;
  if (id.index >= by_type_.size()) by_type_.resize(id.index + 1, -1);
  int64_t& bytes = by_type_[id.index];
  if (bytes >= 0) return bytes;
  const Type& type = program_.type(id);
  bytes = kScalarBytes;
  if (!type.is_tensor()) return bytes;
  bytes = static_cast<int64_t>(SizeBytes(type.dtype));
  for (const SymInt& size : type.sizes) {
    if (__builtin_mul_overflow(bytes, SizeOf(size), &bytes)) bytes = kMaxBytes;
    bytes = std::min(bytes, kMaxBytes);
  }
  return bytes;
}

int64_t BoundaryBytes::SizeOf(const SymInt& size) const {
  if (size.is_literal() || size.has_hint) {
    return std::max<int64_t>(size.value, 0);
  }
  const auto bound = program_.context().exprs.EvaluateInt(
      size.expr, [this](ExprId symbol) -> std::optional<int64_t> {
        for (const SymbolRange& range : program_.ranges) {
          if (range.expr == symbol) return range.max;
        }
        return std::nullopt;
      });
  if (!bound || *bound < 0 || *bound > kMaxBound) return kUnknownSize;
  return *bound;
}

}  // namespace tenon
