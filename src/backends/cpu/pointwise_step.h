// Elementwise work: any number of operations in one pass over memory.
//
// The step walks its output in memory order, a tile of 256 elements at a time.
// Operands that lie in the same order are read in place; broadcast and permuted
// ones are gathered into a tile first. Each operation then runs on whole tiles
// that stay in the first-level cache, so a chain of operations touches memory
// only for its operands and its result:
//
//   out = x * rsqrt(m + eps) * w      3 instructions, 3 inputs, 1 pass
//
// Since every operand is seen as a function of the linear output index, a
// producer can be merged into its consumer by joining their programs, however
// their operands are strided.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backends/cpu/loops/loops.h"
#include "backends/cpu/plan.h"

namespace tenon::cpu {

constexpr int64_t kTileElements = 256;

struct StridedDim {
  int64_t size = 1;
  int64_t stride_bytes = 0;
};

// One operand or result in terms of the linear index.
struct TileAccess {
  enum class Kind : uint8_t {
    kLinear,   // element i lies at i * item_bytes
    kBlock,    // a tile of equal elements, prepared while planning
    kSplat,    // one element for all, known when the step runs
    kStrided,  // by `dims`, outermost first
  };
  Kind kind = Kind::kLinear;
  uint8_t item_bytes = 4;
  Ref ref;
  std::vector<StridedDim> dims;

  friend bool operator==(const TileAccess& a, const TileAccess& b);
};

// An input (i >= 0) or the result of instruction ~i.
using TileRegister = int32_t;

struct TileInstruction {
  TileFn run = nullptr;
  // What `run` does with operands of `dtype`; kUnknown for a cast.
  TileOp op = TileOp::kCopy;
  DType dtype = DType::kUnknown;
  // Of a cast.
  DType cast_from = DType::kUnknown, cast_to = DType::kUnknown;
  uint8_t num_inputs = 1;
  TileRegister inputs[3] = {0, 0, 0};
  double params[2] = {0, 0};
};

struct TileProgram {
  int64_t count = 0;
  std::vector<TileAccess> inputs;
  std::vector<TileInstruction> code;
  TileRegister result = 0;
  TileAccess output;
};

// Computes nothing twice or in vain: half precision is full of casts there and
// back. What is computed stays the same bit for bit.
void Simplify(TileProgram* program);

class PointwiseStep : public Step {
 public:
  static constexpr size_t kMaxInputs = 8;
  static constexpr size_t kMaxInstructions = 14;

  explicit PointwiseStep(TileProgram program) : program_(std::move(program)) {}

  bool Run(Frame& frame) override;
  std::string_view name() const override { return "pointwise"; }

  const TileProgram& program() const { return program_; }
  // Replaces the inputs that read `producer`'s output by its program. False,
  // with nothing changed, when the result would be too large or `producer`
  // isn't read element by element.
  bool Absorb(const PointwiseStep& producer);

 private:
  TileProgram program_;
};

}  // namespace tenon::cpu
