#include "backends/cpu/lowering_widened.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "backends/cpu/narrow_types.h"
#include "kernels/views.h"

namespace tenon::cpu {
namespace {

bool HasHalf(const KernelCall& call) {
  for (size_t i = 0; i < call.num_args(); ++i) {
    if (call.arg(i).is_tensor() && call.arg(i).tensor().defined() &&
        IsHalf(call.arg(i).tensor().dtype())) {
      return true;
    }
  }
  return false;
}

// The dtype of float32 results: that of the first tensor, or what the caller
// asks for, which is no argument of the widened call then.
DType ResultType(const KernelCall& call, std::vector<RuntimeValue>* args) {
  DType dtype = call.tensor(0).dtype();
  const int at = call.schema().FindArg("dtype");
  if (at < 0 || !(*args)[static_cast<size_t>(at)].is_dtype()) return dtype;
  RuntimeValue& asked = (*args)[static_cast<size_t>(at)];
  dtype = asked.dtype();
  if (IsHalf(dtype)) asked = RuntimeValue();
  return dtype;
}

// The statistics of a norm are as exact as the parameters that come with the
// input.
bool IsWideStatistic(const KernelCall& call, size_t result) {
  const std::string_view name = call.schema().name;
  const bool is_norm =
      name == "aten.native_layer_norm.default" ||
      name == "aten.native_group_norm.default" ||
      name == "aten._native_batch_norm_legit_no_training.default";
  if (result == 0 || !is_norm) return false;
  for (size_t i = 1; i < call.num_args(); ++i) {
    if (call.arg(i).is_tensor() && call.arg(i).tensor().defined() &&
        call.arg(i).tensor().dtype() == DType::kFloat32) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool LowerWidened(PlanBuilder& builder, KernelCall& call,
                  const Lowering& lowering) {
  if (!IsWidened(lowering.dtypes) || !HasHalf(call)) {
    return lowering.lower(builder, call, lowering);
  }
  std::vector<RuntimeValue> args;
  for (size_t i = 0; i < call.num_args(); ++i) {
    args.push_back(call.arg(i));
    if (!args[i].is_tensor() || !args[i].tensor().defined() ||
        !IsHalf(args[i].tensor().dtype())) {
      continue;
    }
    // What isn't dense is no tensor of another memory format, though a dense
    // one with its dimensions in that order would be.
    const Tensor& narrow = args[i].tensor();
    const bool has_order = narrow.is_dense() ||
                           SuggestedFormat(narrow) != MemoryFormat::kContiguous;
    const Tensor ordered = has_order ? narrow : builder.Contiguous(narrow);
    args[i] = ordered.defined() ? builder.Widened(ordered) : Tensor();
    if (!args[i].tensor().defined()) {
      return call.Fail("an operand is too large to be widened");
    }
  }
  const DType dtype = ResultType(call, &args);
  KernelCall inner(call.schema(), std::move(args));
  if (!lowering.lower(builder, inner, lowering)) {
    return call.Fail(inner.error());
  }
  for (size_t i = 0; i < inner.results().size(); ++i) {
    RuntimeValue& result = inner.results()[i];
    if (result.is_tensor() && result.tensor().dtype() == DType::kFloat32 &&
        dtype != DType::kFloat32 && !IsWideStatistic(call, i)) {
      result = builder.Converted(result.tensor(), dtype);
      if (!result.tensor().defined()) {
        return call.Fail("the result is too large");
      }
    }
    call.Return(std::move(result));
  }
  return true;
}

}  // namespace tenon::cpu
