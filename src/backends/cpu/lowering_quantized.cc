// Quantised operators, by the chains that define them
// (kernels/quantized_chains.h). Products read dequantised weights as they are
// stored (PlanBuilder::SetStored).
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/cpu/constants.h"
#include "backends/cpu/lowering.h"
#include "backends/cpu/narrow_types.h"
#include "backends/cpu/plan_chain.h"
#include "kernels/quantized_chains.h"

namespace tenon::cpu {
namespace {

template <quantized::ChainFn kChain>
bool ByChain(PlanBuilder& b, KernelCall& call, const Lowering&) {
  PlanChain chain(b, call);
  return kChain(chain, call);
}

// --- what products may read instead of the result ---

// A number or a tensor as a float32 tensor; undefined for a number of 0.
Tensor ParameterOf(const RuntimeValue& value) {
  if (value.is_tensor()) return value.tensor();
  const Tensor number = ConstantOf(value, DType::kFloat32);
  return ElementOf(number).float_value() == 0 ? Tensor() : number;
}

bool DequantizePerTensor(PlanBuilder& b, KernelCall& call, const Lowering&) {
  PlanChain chain(b, call);
  if (!quantized::DequantizePerTensor(chain, call)) return false;
  const Tensor factor = ParameterOf(chain.Number(call.arg(1)));
  const Tensor zero = ParameterOf(chain.Number(call.arg(2)));
  if (factor.defined() && chain.ok()) {
    b.SetStored(call.results()[0].tensor(), {call.tensor(0), factor, zero});
  }
  return chain.ok();
}

// Zero points as narrow as the elements wrap with them.
bool Wraps(const Tensor& zeros) {
  return zeros.defined() && IsNarrow(zeros.dtype());
}

// The result was computed from call.tensor(0) with these parameters, where
// float32 says so exactly. `zeros` may be undefined.
bool SetStoredBy(PlanBuilder& b, PlanChain& chain, KernelCall& call,
                 const Tensor& scales, const Tensor& zeros, int64_t axis,
                 int64_t group = 0) {
  if (scales.dtype() != DType::kFloat32) return true;
  StoredTensor from{call.tensor(0), scales, Tensor(), axis, group};
  if (zeros.defined()) from.zero = chain.To(zeros, DType::kFloat32);
  if (chain.ok()) b.SetStored(call.results()[0].tensor(), std::move(from));
  return chain.ok();
}

bool DequantizePerChannel(PlanBuilder& b, KernelCall& call, const Lowering&) {
  PlanChain chain(b, call);
  int64_t axis;
  if (!quantized::DequantizePerChannel(chain, call) ||
      !quantized::AxisAt(call, 3, &axis)) {
    return false;
  }
  const Tensor zeros = call.OptionalTensor(2);
  return Wraps(zeros) ||
         SetStoredBy(b, chain, call, call.tensor(1), zeros, axis);
}

bool DequantizePerChannelGroup(PlanBuilder& b, KernelCall& call,
                               const Lowering&) {
  PlanChain chain(b, call);
  int64_t group;
  if (!quantized::DequantizePerChannelGroup(chain, call) ||
      !quantized::GroupOf(call, call.Int(6), &group)) {
    return false;
  }
  const Tensor &q = call.tensor(0), &scales = call.tensor(1);
  const Tensor zeros = call.OptionalTensor(2);
  if (Wraps(zeros) || scales.sizes() != Sizes{q.size(0), q.size(1) / group} ||
      (zeros.defined() && zeros.sizes() != scales.sizes())) {
    return true;
  }
  return SetStoredBy(b, chain, call, scales, zeros, 0, group);
}

// Which of a tensor's dimensions blocks cut, if it is one in each position; of
// a matrix, also rows in groups of columns.
struct CutAxis {
  int64_t axis = 0, group = 0;
};
std::optional<CutAxis> FindCutAxis(const Tensor& q,
                                   const std::vector<int64_t>& block) {
  std::vector<int64_t> cut;
  for (int64_t d = 0; d < q.dim(); ++d) {
    if (q.size(d) != block[static_cast<size_t>(d)]) cut.push_back(d);
  }
  if (cut.empty()) return CutAxis{};
  if (cut.size() == 1 && block[static_cast<size_t>(cut[0])] == 1) {
    return CutAxis{cut[0], 0};
  }
  const bool is_grouped = q.dim() == 2 && cut.back() == 1 && block[0] == 1;
  if (is_grouped) return CutAxis{0, block[1]};
  return std::nullopt;
}

bool DequantizeAffine(PlanBuilder& b, KernelCall& call, const Lowering&) {
  PlanChain chain(b, call);
  if (!quantized::DequantizeAffine(chain, call)) return false;
  const auto cut = FindCutAxis(call.tensor(0), call.Ints(1));
  if (!cut) return true;
  // As many as blocks, in the order of these.
  const auto as_line = [&](const Tensor& t) {
    Sizes sizes = {t.numel()};
    if (cut->group > 0) {
      sizes = {call.tensor(0).size(0), call.tensor(0).size(1) / cut->group};
    }
    return chain.Reshape(t, sizes);
  };
  const Tensor zeros = call.OptionalTensor(3);
  return SetStoredBy(b, chain, call, as_line(call.tensor(2)),
                     zeros.defined() ? as_line(zeros) : Tensor(), cut->axis,
                     cut->group);
}

// --- what is left to others ---

// Scales and zero points that are tensors count as Python numbers, which half
// precision tells from tensors.
std::optional<Refusal> RefuseHalfOutput(const Program& program, NodeId node) {
  const Arg* dtype = program.FindArg(node, "out_dtype");
  if (dtype == nullptr || dtype->kind != ArgKind::kDtype ||
      dtype->dtype() == DType::kFloat32) {
    return std::nullopt;
  }
  return Refusal{RefusalReason::kDtype, std::string(Name(dtype->dtype()))};
}

std::optional<Refusal> RefuseWideInput(const Program& program, NodeId node) {
  const Arg* input = program.FindArg(node, "input");
  if (input == nullptr || !input->is_value()) return std::nullopt;
  const DType dtype = program.type(input->value()).dtype;
  if (dtype == DType::kFloat32 || IsHalf(dtype)) return std::nullopt;
  return Refusal{RefusalReason::kDtype, std::string(Name(dtype))};
}

constexpr Lowering Op(std::string_view name, LowerFn lower,
                      RefuseFn refuses = nullptr) {
  return {name,   LoweringKind::kPure, lower, DTypeRule::kHeld, TileOp::kCopy,
          refuses};
}

constexpr Lowering kLowerings[] = {
    Op("quantized_decomposed._choose_qparams_per_token_asymmetric_impl.default",
       ByChain<quantized::ChooseQparamsPerTokenAsymmetric>, RefuseWideInput),
    Op("quantized_decomposed.choose_qparams.tensor",
       ByChain<quantized::ChooseQparams>, RefuseWideInput),
    Op("quantized_decomposed.choose_qparams_per_token.default",
       ByChain<quantized::ChooseQparamsPerToken>, RefuseWideInput),
    Op("quantized_decomposed.choose_qparams_per_token_asymmetric.default",
       ByChain<quantized::ChooseQparamsPerTokenAsymmetric>, RefuseWideInput),
    Op("quantized_decomposed.choose_qparams_symmetric.tensor",
       ByChain<quantized::ChooseQparamsSymmetric>, RefuseWideInput),
    Op("quantized_decomposed.convert_element_type.no_fuse",
       ByChain<quantized::ConvertElementType>),
    Op("quantized_decomposed.dequantize_per_channel.default",
       DequantizePerChannel),
    Op("quantized_decomposed.dequantize_per_channel_group.default",
       DequantizePerChannelGroup),
    Op("quantized_decomposed.dequantize_per_tensor.default",
       DequantizePerTensor),
    Op("quantized_decomposed.dequantize_per_tensor.tensor", DequantizePerTensor,
       RefuseHalfOutput),
    Op("quantized_decomposed.dequantize_per_tensor.tensor2",
       DequantizePerTensor, RefuseHalfOutput),
    Op("quantized_decomposed.dequantize_per_token.default",
       ByChain<quantized::DequantizePerToken>),
    Op("quantized_decomposed.embedding_2bit.default",
       ByChain<quantized::Embedding2Bit>),
    Op("quantized_decomposed.embedding_2bit.dtype",
       ByChain<quantized::Embedding2Bit>),
    Op("quantized_decomposed.embedding_4bit.default",
       ByChain<quantized::Embedding4Bit>),
    Op("quantized_decomposed.embedding_4bit.dtype",
       ByChain<quantized::Embedding4Bit>),
    Op("quantized_decomposed.embedding_byte.default",
       ByChain<quantized::EmbeddingByte>),
    Op("quantized_decomposed.embedding_byte.dtype",
       ByChain<quantized::EmbeddingByte>),
    Op("quantized_decomposed.fake_quant_per_channel.default",
       ByChain<quantized::FakeQuantPerChannel>, RefuseWideInput),
    Op("quantized_decomposed.quantize_per_channel.default",
       ByChain<quantized::QuantizePerChannel>, RefuseWideInput),
    Op("quantized_decomposed.quantize_per_channel_group.default",
       ByChain<quantized::QuantizePerChannelGroup>, RefuseWideInput),
    Op("quantized_decomposed.quantize_per_tensor.default",
       ByChain<quantized::QuantizePerTensor>, RefuseWideInput),
    Op("quantized_decomposed.quantize_per_tensor.tensor",
       ByChain<quantized::QuantizePerTensor>, RefuseWideInput),
    Op("quantized_decomposed.quantize_per_tensor.tensor2",
       ByChain<quantized::QuantizePerTensor>, RefuseWideInput),
    Op("quantized_decomposed.quantize_per_token.default",
       ByChain<quantized::QuantizePerToken>, RefuseWideInput),
    Op("torchao.choose_qparams_affine.default",
       ByChain<quantized::ChooseQparamsAffine>, RefuseWideInput),
    Op("torchao.dequantize_affine.default", DequantizeAffine),
    Op("torchao.quantize_affine.default", ByChain<quantized::QuantizeAffine>,
       RefuseWideInput),
};

}  // namespace

std::span<const Lowering> QuantizedLowerings() { return kLowerings; }

}  // namespace tenon::cpu
