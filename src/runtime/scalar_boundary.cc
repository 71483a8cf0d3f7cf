#include "runtime/scalar_boundary.h"

#include <algorithm>

#include "kernels/elements.h"

namespace tenon {

std::vector<RuntimeValue> ScalarsAsTensors(
    std::span<const RuntimeValue> values) {
  std::vector<RuntimeValue> out(values.begin(), values.end());
  for (RuntimeValue& v : out) {
    if (v.is_int()) {
      v = ScalarTensor(v, DType::kInt64);
    } else if (v.is_float()) {
      v = ScalarTensor(v, DType::kFloat64);
    } else if (v.is_bool()) {
      v = ScalarTensor(v, DType::kBool);
    }
  }
  return out;
}

void TensorsAsScalars(const Program& program, std::span<const TypeId> types,
                      std::vector<RuntimeValue>* results) {
  for (size_t i = 0; i < std::min(types.size(), results->size()); ++i) {
    RuntimeValue& v = (*results)[i];
    if (program.type(types[i]).is_symbolic_scalar() && v.is_tensor() &&
        v.tensor().defined() && v.tensor().numel() == 1) {
      v = ItemOf(v.tensor());
    }
  }
}

}  // namespace tenon
