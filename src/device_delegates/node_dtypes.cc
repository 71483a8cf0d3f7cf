#include "device_delegates/node_dtypes.h"

#include <string>

namespace tenon {
namespace {

std::optional<Refusal> RefusesType(const Type& type, size_t max_rank) {
  if (!type.is_tensor()) return std::nullopt;
  if (!IsDeviceDtype(type.dtype)) {
    return Refusal{RefusalReason::kDtype, std::string(Name(type.dtype))};
  }
  if (type.sizes.size() > max_rank) {
    return Refusal{RefusalReason::kRank,
                   std::to_string(type.sizes.size()) + " dimensions"};
  }
  return std::nullopt;
}

}  // namespace

bool IsDeviceDtype(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
    case DType::kFloat16:
    case DType::kBFloat16:
    case DType::kInt64:
    case DType::kInt32:
    case DType::kInt16:
    case DType::kInt8:
    case DType::kUInt8:
    case DType::kBool:
      return true;
    default:
      return false;
  }
}

std::optional<Refusal> RefusesTypes(const Program& program, NodeId node,
                                    size_t max_rank) {
  std::optional<Refusal> out;
  program.ForEachOperand(node, [&](ValueId v) {
    if (!out) out = RefusesType(program.type(v), max_rank);
  });
  const ValueRange results = program.node(node).results;
  for (uint32_t i = 0; i < results.count && !out; ++i) {
    const Type& type = program.type(results[i]);
    if (!type.is_tensor()) {
      return Refusal{RefusalReason::kScalarBoundary, "a number as result"};
    }
    out = RefusesType(type, max_rank);
  }
  return out;
}

}  // namespace tenon
