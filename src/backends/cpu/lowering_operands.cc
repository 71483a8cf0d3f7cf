#include "backends/cpu/lowering_operands.h"

#include <algorithm>
#include <string>

#include "backends/cpu/narrow_types.h"
#include "kernels/views.h"

namespace tenon::cpu {

bool NeedFloat32(KernelCall& call, std::initializer_list<Tensor> tensors) {
  for (const Tensor& t : tensors) {
    if (t.defined() && t.dtype() != DType::kFloat32) {
      return call.Fail("expected float32, found " + t.ToString());
    }
  }
  return true;
}

bool IsIndex(const Tensor& t) {
  return t.dtype() == DType::kInt64 || t.dtype() == DType::kInt32;
}

bool NeedListable(KernelCall& call, const Sizes& batch) {
  constexpr int64_t kLimit = int64_t{1} << 22;
  if (NumElements(batch) <= kLimit) return true;
  return call.Fail("a batch of more than " + std::to_string(kLimit) +
                   " matrices");
}

std::vector<int64_t> OffsetsOf(const Sizes& sizes, const Sizes& strides,
                               size_t num_leading) {
  std::vector<int64_t> offsets = {0};
  for (size_t d = 0; d < num_leading; ++d) {
    std::vector<int64_t> finer;
    finer.reserve(offsets.size() * static_cast<size_t>(sizes[d]));
    for (const int64_t offset : offsets) {
      for (int64_t i = 0; i < sizes[d]; ++i) {
        finer.push_back(offset + i * strides[d]);
      }
    }
    offsets = std::move(finer);
  }
  return offsets;
}

Tensor WithUnitStep(PlanBuilder& builder, const Tensor& tensor,
                    bool allow_columns) {
  const int64_t rank = tensor.dim();
  const int64_t rows = tensor.size(rank - 2), columns = tensor.size(rank - 1);
  const int64_t row = tensor.stride(rank - 2), column = tensor.stride(rank - 1);
  const bool unit_rows = (column == 1 || columns <= 1) &&
                         (rows <= 1 || row >= columns || row == 0);
  const bool unit_columns = (row == 1 || rows <= 1) &&
                            (columns <= 1 || column >= rows || column == 0);
  if (unit_rows || (allow_columns && unit_columns)) return tensor;
  return builder.Contiguous(tensor);
}

void SetMatrixSteps(const Tensor& matrix, int64_t* row, int64_t* column) {
  const int64_t rank = matrix.dim();
  const int64_t rows = matrix.size(rank - 2), columns = matrix.size(rank - 1);
  *row = matrix.stride(rank - 2);
  *column = matrix.stride(rank - 1);
  if (*column == 1 || columns <= 1) {
    *column = 1;
    if (rows <= 1) *row = columns;
  } else {
    *row = 1;
  }
}

Tensor InFormat(PlanBuilder& builder, const Tensor& value,
                MemoryFormat format) {
  if (format == MemoryFormat::kContiguous) return value;
  Tensor out = builder.NewTensor(value.dtype(), value.sizes(),
                                 StridesFor(value.sizes(), format));
  if (out.defined() && !builder.EmitCopy(value, out)) return Tensor();
  return out;
}

std::optional<Refusal> RefuseOtherResult(const Program& program, NodeId node,
                                         std::initializer_list<DType> others) {
  const Arg* arg = program.FindArg(node, "dtype");
  if (arg == nullptr || arg->kind != ArgKind::kDtype) return std::nullopt;
  const DType dtype = arg->dtype();
  if (dtype == DType::kFloat32 ||
      std::find(others.begin(), others.end(), dtype) != others.end()) {
    return std::nullopt;
  }
  for (const char* name : {"self", "input"}) {
    const Arg* self = program.FindArg(node, name);
    if (IsHalf(dtype) && self != nullptr && self->is_value() &&
        program.type(self->value()).is_tensor() &&
        program.type(self->value()).dtype == dtype) {
      return std::nullopt;
    }
  }
  return Refusal{RefusalReason::kDtype, std::string(Name(dtype))};
}

Tensor NewScratch(PlanBuilder& builder, int64_t size_bytes) {
  return builder.NewTensor(DType::kBool, {size_bytes});
}

}  // namespace tenon::cpu
