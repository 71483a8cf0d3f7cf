#include "formats/onnx/onnx_model.h"

namespace tenon::onnx {

bool operator==(const Attribute& a, const Attribute& b) {
  using GraphPointer = std::shared_ptr<const Graph>;
  const auto* graph = std::get_if<GraphPointer>(&a.value);
  const auto* other = std::get_if<GraphPointer>(&b.value);
  if (graph != nullptr && other != nullptr) {
    return a.name == b.name && **graph == **other;
  }
  return a.name == b.name && a.value == b.value;
}

uint64_t ElementBytes(ElementType type) {
  switch (type) {
    case ElementType::kUInt8:
    case ElementType::kInt8:
    case ElementType::kBool:
    case ElementType::kFloat8E4M3FN:
    case ElementType::kFloat8E4M3FNUZ:
    case ElementType::kFloat8E5M2:
    case ElementType::kFloat8E5M2FNUZ:
    case ElementType::kFloat8E8M0:
      return 1;
    case ElementType::kUInt16:
    case ElementType::kInt16:
    case ElementType::kFloat16:
    case ElementType::kBFloat16:
      return 2;
    case ElementType::kFloat:
    case ElementType::kInt32:
    case ElementType::kUInt32:
      return 4;
    case ElementType::kInt64:
    case ElementType::kUInt64:
    case ElementType::kDouble:
    case ElementType::kComplex64:
      return 8;
    case ElementType::kComplex128:
      return 16;
    case ElementType::kUndefined:
    case ElementType::kString:
    case ElementType::kUInt4:
    case ElementType::kInt4:
    case ElementType::kFloat4E2M1:
      return 0;
  }
  return 0;
}

}  // namespace tenon::onnx
