// Products with weights of 8 and 4 bits that stay packed.
#include <omp.h>

#include <memory>
#include <string>
#include <utility>

#include "backends/cpu/int4_matmul.h"
#include "backends/cpu/int_matmul.h"
#include "backends/cpu/lowering.h"
#include "backends/cpu/lowering_operands.h"
#include "backends/cpu/plan_chain.h"
#include "kernels/quantized_matmul.h"
#include "kernels/views.h"

namespace tenon::cpu {
namespace {

bool IntMm(PlanBuilder& builder, KernelCall& call, const Lowering&) {
  if (!CheckIntMm(call)) return false;
  const Tensor a =
      WithUnitStep(builder, call.tensor(0), /*allow_columns=*/false);
  const Tensor b =
      WithUnitStep(builder, call.tensor(1), /*allow_columns=*/true);
  if (!a.defined() || !b.defined()) return call.Fail("cannot copy an operand");
  IntMatmulShape s;
  s.m = a.size(0);
  s.k = a.size(1);
  s.n = b.size(1);
  const Tensor out = builder.NewTensor(DType::kInt32, {s.m, s.n});
  if (!out.defined()) return call.Fail("the result is too large");
  call.Return(out);
  if (out.numel() == 0) return true;
  s.a_type = a.dtype();
  s.a_row = s.m <= 1 ? s.k : a.stride(0);
  SetMatrixSteps(b, &s.b_row, &s.b_column);
  s.a = builder.RefOf(a);
  s.b = builder.RefOf(b);
  s.c = builder.RefOf(out);
  s.num_threads = omp_get_max_threads();
  const Tensor reads[] = {a, b};
  const Tensor writes[] = {out};
  builder.Emit(std::make_unique<IntMatmulStep>(s), reads, writes);
  return true;
}

// A scale per row of the weight: as the product with a dequantised weight, in
// place of which the stored one is read.
bool WeightInt8PackMm(PlanBuilder& builder, KernelCall& call, const Lowering&) {
  if (!CheckInt8PackMm(call)) return false;
  PlanChain chain(builder, call);
  const Tensor x = chain.To(call.tensor(0), DType::kFloat32);
  const Tensor weight = call.tensor(1);
  const Tensor scales = chain.Reshape(chain.To(call.tensor(2), DType::kFloat32),
                                      {weight.size(0)});
  const Tensor wide =
      chain("aten.mul.Tensor", {chain.To(weight, DType::kFloat32),
                                chain.Reshape(scales, {weight.size(0), 1})});
  if (!chain.ok()) return false;
  builder.SetStored(wide, {weight, scales, Tensor(), 0});
  const Tensor out = chain("aten.linear.default", {x, wide});
  return chain.Return({chain.To(out, call.tensor(0).dtype())});
}

bool WeightInt4PackMm(PlanBuilder& builder, KernelCall& call, const Lowering&) {
  if (!CheckInt4PackMm(call)) return false;
  PlanChain chain(builder, call);
  const Tensor wide = chain.To(call.tensor(0), DType::kFloat32);
  const Tensor given = chain.To(call.tensor(3), DType::kFloat32);
  if (!chain.ok()) return false;
  const Tensor x = WithUnitStep(builder, wide, /*allow_columns=*/false);
  const Tensor weight = builder.Contiguous(call.tensor(1));
  const Tensor parameters = builder.Contiguous(given);
  if (!x.defined() || !weight.defined() || !parameters.defined()) {
    return call.Fail("cannot copy an operand");
  }
  Int4MatmulShape s;
  s.m = x.size(0);
  s.k = x.size(1);
  s.n = weight.size(0);
  const Tensor out = builder.NewTensor(DType::kFloat32, {s.m, s.n});
  if (!out.defined()) return call.Fail("the result is too large");
  if (s.k == 0) {
    return chain.Return({chain("aten.zeros_like.default",
                               {chain.To(out, call.tensor(0).dtype())})});
  }
  if (out.numel() > 0) {
    s.group = call.Int(2);
    s.a_row = s.m <= 1 ? s.k : x.stride(0);
    s.a = builder.RefOf(x);
    s.b = builder.RefOf(weight);
    s.c = builder.RefOf(out);
    s.parameters = builder.RefOf(parameters);
    s.num_threads = omp_get_max_threads();
    const Tensor scratch = NewScratch(builder, Int4MatmulStep::ScratchBytes(s));
    const Tensor reads[] = {x, weight, parameters};
    const Tensor writes[] = {out, scratch};
    builder.Emit(std::make_unique<Int4MatmulStep>(s, builder.RefOf(scratch)),
                 reads, writes);
  }
  return chain.Return({chain.To(out, call.tensor(0).dtype())});
}

// The other factors compute in float32.
std::optional<Refusal> RefuseWideInput(const Program& program, NodeId node) {
  const Arg* input = program.FindArg(node, "self");
  if (input == nullptr || !input->is_value() ||
      program.type(input->value()).dtype != DType::kFloat64) {
    return std::nullopt;
  }
  return Refusal{RefusalReason::kDtype, "float64"};
}

constexpr LoweringKind kPure = LoweringKind::kPure;
constexpr DTypeRule kHeld = DTypeRule::kHeld;

constexpr Lowering kLowerings[] = {
    {"aten._int_mm.default", kPure, IntMm},
    {"aten._weight_int4pack_mm_for_cpu.default", kPure, WeightInt4PackMm, kHeld,
     TileOp::kCopy, RefuseWideInput},
    {"aten._weight_int8pack_mm.default", kPure, WeightInt8PackMm, kHeld,
     TileOp::kCopy, RefuseWideInput},
};

}  // namespace

std::span<const Lowering> PackedMatmulLowerings() { return kLowerings; }

}  // namespace tenon::cpu
