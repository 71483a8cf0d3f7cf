#include "executorch/kernel_limits.h"

#include <algorithm>

namespace tenon::executorch {
namespace {

// What the kernels are built for; the other dtypes only pass through programs.
bool IsCommon(DType dtype) {
  switch (dtype) {
    case DType::kUInt8:
    case DType::kInt8:
    case DType::kInt16:
    case DType::kInt32:
    case DType::kInt64:
    case DType::kFloat16:
    case DType::kBFloat16:
    case DType::kFloat32:
    case DType::kFloat64:
    case DType::kBool:
      return true;
    default:
      return false;
  }
}

// Kernels of complex numbers.
constexpr std::string_view kComplex[] = {
    "aten::view_as_real_copy.out", "aten::_fft_r2c.out", "aten::_fft_c2r.out"};

// The kernel for convolutions knows one and two dimensions of space.
constexpr int64_t kMaxConvolutionRank = 4;

}  // namespace

std::string WhyNotInKernel(const Program& program, NodeId n,
                           std::string_view name) {
  const bool takes_complex = std::find(std::begin(kComplex), std::end(kComplex),
                                       name) != std::end(kComplex);
  std::string why;
  const auto check = [&](ValueId v) {
    const Type& type = program.type(v);
    if (!type.is_tensor() || !why.empty() || IsCommon(type.dtype)) return;
    if (takes_complex && IsComplex(type.dtype)) return;
    why = "takes no tensors of " + std::string(Name(type.dtype));
  };
  program.ForEachOperand(n, check);
  const ValueRange results = program.node(n).results;
  for (uint32_t i = 0; i < results.count; ++i) check(results[i]);
  if (!why.empty()) return why;
  if (name == "aten::convolution.out") {
    const auto args = program.args(n);
    if (!args.empty() && args[0].is_value() &&
        program.type(args[0].value()).rank() > kMaxConvolutionRank) {
      return "knows at most two dimensions of space";
    }
  }
  return "";
}

}  // namespace tenon::executorch
