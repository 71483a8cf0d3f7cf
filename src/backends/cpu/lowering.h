// The operators of the CPU backend, and how each becomes steps of a plan.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "backends/backend.h"
#include "backends/cpu/loops/loops.h"
#include "backends/cpu/plan_builder.h"
#include "kernels/kernel.h"

namespace tenon::cpu {

struct Lowering;

// Emits steps, and returns tensors that stand for their results. False after
// call.Fail.
using LowerFn = bool (*)(PlanBuilder& builder, KernelCall& call,
                         const Lowering& self);

enum class LoweringKind : uint8_t {
  // Looks at sizes, strides and scalars only: the reference kernel is run while
  // planning.
  kGeometry,
  // Computes; with constants only, the reference kernel is run while planning.
  kPure,
  // Writes an operand.
  kInPlace,
};

// Which dtypes an operator's tensors may have.
enum class DTypeRule : uint8_t {
  kHeld,      // float32, float64, bfloat16, float16, integers from 8 to 64 bits
              // without uint16 and wider ones, int16; bool
  kNumbers,   // without bool
  kFloating,  // the first four
  kBits,      // the others
  // What computes in float32 alone, half precision by way of it
  // (lowering_widened.h): the dtypes without float64, and the floating ones of
  // those. Of the latter only the first tensor counts: others may be indices.
  kFloat32,
  kOnlyFloat32,
  // All of them; half precision by way of float32.
  kWidened,
};

// Whether a lowering gets float32 where its operands are half precision.
constexpr bool IsWidened(DTypeRule rule) {
  return rule == DTypeRule::kFloat32 || rule == DTypeRule::kOnlyFloat32 ||
         rule == DTypeRule::kWidened;
}

// A reason beyond dtype to leave a node to others.
using RefuseFn = std::optional<Refusal> (*)(const Program& program,
                                            NodeId node);

struct Lowering {
  std::string_view name;
  LoweringKind kind = LoweringKind::kPure;
  LowerFn lower = nullptr;  // null for kGeometry
  DTypeRule dtypes = DTypeRule::kHeld;
  TileOp op = TileOp::kCopy;  // for operators that differ just in that
  RefuseFn refuses = nullptr;
};

// Null when the backend doesn't know the operator.
const Lowering* FindLowering(std::string_view name);
std::span<const Lowering> AllLowerings();  // sorted by name

// --- the families ---
std::span<const Lowering> GeometryLowerings();
std::span<const Lowering> CopyLowerings();
std::span<const Lowering> JoinLowerings();
std::span<const Lowering> FillLowerings();
std::span<const Lowering> OverwriteLowerings();
std::span<const Lowering> PointwiseLowerings();
std::span<const Lowering> ActivationLowerings();
std::span<const Lowering> ChoiceLowerings();
std::span<const Lowering> DivisionLowerings();
std::span<const Lowering> InPlaceLowerings();
std::span<const Lowering> MatmulLowerings();
std::span<const Lowering> AttentionLowerings();
std::span<const Lowering> NormLowerings();
std::span<const Lowering> GroupNormLowerings();
std::span<const Lowering> UpsampleLowerings();
std::span<const Lowering> RearrangeLowerings();
std::span<const Lowering> PadLowerings();
std::span<const Lowering> ScatterLowerings();
std::span<const Lowering> TransposedConvolutionLowerings();
std::span<const Lowering> RecurrentLowerings();
std::span<const Lowering> EmbeddingBagLowerings();
std::span<const Lowering> SoftmaxLowerings();
std::span<const Lowering> ReductionLowerings();
std::span<const Lowering> StatisticsLowerings();
std::span<const Lowering> ExtremaLowerings();
std::span<const Lowering> ScanLowerings();
std::span<const Lowering> IndexLowerings();
std::span<const Lowering> GatherLowerings();
std::span<const Lowering> ConvolutionLowerings();
std::span<const Lowering> PoolLowerings();
std::span<const Lowering> QuantizedLowerings();
std::span<const Lowering> PackedMatmulLowerings();

}  // namespace tenon::cpu
