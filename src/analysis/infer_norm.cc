// Normalisations and the statistics that they give besides.
#include <initializer_list>

#include "analysis/infer_call.h"
#include "analysis/infer_sizes.h"

namespace tenon {
namespace {

void First(InferCall& call, uint32_t) {
  const Type* input = call.Tensor(0);
  if (input != nullptr) call.AddLike(*input);
}

// Whether statistics have the parameters' dtype, if that is wider; on the CPU
// they do.
enum class IfMixed { kParameter, kUnknown };

// The dtype of statistics. Of half precisions it depends on the device.
DType StatisticDType(const InferCall& call, const Type& input,
                     std::initializer_list<size_t> parameters,
                     IfMixed if_mixed) {
  if (!IsFloating(input.dtype)) return DType::kUnknown;
  const Type* first = nullptr;
  for (const size_t i : parameters) {
    if (first == nullptr) first = call.Tensor(i);
  }
  const bool is_mixed = first != nullptr && first->dtype != input.dtype;
  if (is_mixed && if_mixed == IfMixed::kUnknown) return DType::kUnknown;
  const bool is_full = SizeBytes(input.dtype) >= 4;
  if (!is_full && !call.IsOnCpu(input)) return DType::kUnknown;
  // Parameters may be wider than the input, and are float32 then.
  if (is_mixed && (is_full || first->dtype != DType::kFloat32)) {
    return DType::kUnknown;
  }
  return first != nullptr ? first->dtype : input.dtype;
}

// Mean and inverse deviation per channel; without training there are none on
// the CPU, and elsewhere it depends.
void AddChannelStatistics(InferCall& call, const Type& input,
                          std::optional<bool> training,
                          std::initializer_list<size_t> parameters) {
  // Without training kernels keep the parameters' dtype, meta functions don't.
  const DType dtype = StatisticDType(
      call, input, parameters,
      training == true ? IfMixed::kParameter : IfMixed::kUnknown);
  for (int i = 0; i < 2; ++i) {
    InferredType& out = call.AddTensor(dtype, 1);
    if (training == true && input.rank() >= 2) {
      out.sizes[0] = SizeAt(input, 1);
    } else if (training == false && call.IsOnCpu(input)) {
      out.sizes[0] = InferredSize::Literal(0);
    }
  }
}

// `training_at`: where the flag stands; kNever and kAlways: there is none.
constexpr uint32_t kNever = 30, kAlways = 31;

void BatchNorm(InferCall& call, uint32_t training_at) {
  const Type* input = call.Tensor(0);
  if (input == nullptr) return;
  call.AddLike(*input);
  const auto training = training_at == kNever    ? std::optional<bool>(false)
                        : training_at == kAlways ? std::optional<bool>(true)
                                                 : call.Bool(training_at);
  // Weight, bias and, where there are any, running statistics.
  if (call.schema().FindArg("running_mean") >= 0) {
    AddChannelStatistics(call, *input, training, {1, 3});
  } else {
    AddChannelStatistics(call, *input, training, {1});
  }
}

// Running statistics come back as results 3 and 4.
void BatchNormFunctional(InferCall& call, uint32_t training_at) {
  const Type* input = call.Tensor(0);
  if (input == nullptr) return;
  BatchNorm(call, training_at);
  for (const size_t at : {size_t{3}, size_t{4}}) {
    const Type* running = call.Tensor(at);
    if (running == nullptr) {
      call.AddUnknown();
      continue;
    }
    const bool is_same =
        running->dtype == input->dtype && SizeBytes(input->dtype) >= 4;
    call.AddLike(*running, is_same ? running->dtype : DType::kUnknown);
  }
}

// What only the backend's own gradient reads comes last.
void BatchNormWithUpdate(InferCall& call, uint32_t) {
  const Type* input = call.Tensor(0);
  if (input == nullptr) return;
  BatchNorm(call, kAlways);
  InferredType& reserve = call.AddTensor(DType::kUInt8, 1);
  if (call.IsOnCpu(*input)) reserve.sizes[0] = InferredSize::Literal(0);
}

// Mean and rstd keep the leading sizes; normalised ones become 1.
void LayerNorm(InferCall& call, uint32_t) {
  const Type* input = call.Self();
  const auto shape = call.Sizes(1);
  if (input == nullptr || !shape || shape->size() > input->sizes.size()) return;
  const DType dtype = StatisticDType(call, *input, {2, 3}, IfMixed::kUnknown);
  call.AddLike(*input);
  for (int i = 0; i < 2; ++i) {
    InferredType& out = call.AddLike(*input, dtype);
    for (int d = out.rank - static_cast<int>(shape->size()); d < out.rank;
         ++d) {
      out.sizes[d] = InferredSize::Literal(1);
    }
  }
}

// Mean and rstd per item and group.
void GroupNorm(InferCall& call, uint32_t) {
  constexpr size_t kBatch = 3, kGroups = 6;
  const Type* input = call.Tensor(0);
  if (input == nullptr || call.Get(kBatch) == nullptr) return;
  call.AddLike(*input);
  const DType dtype = StatisticDType(call, *input, {1, 2}, IfMixed::kUnknown);
  for (int i = 0; i < 2; ++i) {
    InferredType& out = call.AddTensor(dtype, 2);
    out.sizes[0] = call.Size(*call.Get(kBatch));
    if (const auto groups = call.Int(kGroups)) {
      out.sizes[1] = InferredSize::Literal(*groups);
    }
  }
}

constexpr InferRow kRows[] = {
    {"aten.layer_norm.default", First},
    {"aten.rms_norm.default", First},
    {"aten.batch_norm.default", First},
    {"aten.group_norm.default", First},
    {"aten.instance_norm.default", First},
    {"aten._weight_norm.default", First},
    {"aten.native_group_norm.default", GroupNorm},
    {"aten.native_layer_norm.default", LayerNorm},
    {"aten.native_batch_norm.default", BatchNorm, 5},
    {"aten._native_batch_norm_legit.default", BatchNorm, 5},
    {"aten._native_batch_norm_legit.no_stats", BatchNorm, kAlways},
    {"aten._native_batch_norm_legit_no_training.default", BatchNorm, kNever},
    {"aten._native_batch_norm_legit_functional.default", BatchNormFunctional,
     5},
    {"aten._batch_norm_with_update.default", BatchNormWithUpdate},
};

}  // namespace

std::span<const InferRow> NormRows() { return kRows; }

}  // namespace tenon
