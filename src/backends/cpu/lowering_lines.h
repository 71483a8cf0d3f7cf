// Operators along lines: reductions, scans, sorts.
//
// The operand is seen as lines of the elements that one result, or one line of
// results, comes from: its dimensions are put in order, and its elements made
// float32, float64 or int64, whichever holds them all. A function of a whole
// batch of lines does the work; results are cast on the way out. Where elements
// lie and look like that already, nothing is copied.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "backends/cpu/lowering.h"

namespace tenon::cpu {

// `count` lines of `length` elements, one after the other.
struct LineArgs {
  int64_t count = 0, length = 0;
  const void* x = nullptr;
  // By line, or of as many elements per line as `kept` says. Null where nobody
  // asks.
  void* values = nullptr;  // of the elements' type, if not stated otherwise
  int64_t* indices = nullptr;
  int64_t kept = 1;
  // One line of int64, if LineOperation asks for it.
  int64_t* order = nullptr;
  double p = 0;
};
using LineFn = void (*)(const LineArgs& args);

// One function for each type that lines come in.
struct LineFunctions {
  std::string_view name;  // of the step
  LineFn float32 = nullptr;
  LineFn float64 = nullptr;
  LineFn int64 = nullptr;
};

// For reductions of what has no loops of its own (lowering_reduction.cc).
extern const LineFunctions kSumOfLines, kMeanOfLines, kMaximumOfLines,
    kMinimumOfLines;

// The type that elements of `dtype` come in.
DType LineType(DType dtype);

struct LineOperation {
  const LineFunctions* functions = nullptr;
  Tensor x;
  std::vector<bool> reduced;  // which dimensions make a line
  bool has_order = false;     // LineArgs::order
  double p = 0;
};

// Marks the dimensions that argument `arg` names; see kernels/reduction.h.
bool ReadLineDims(KernelCall& call, size_t arg, bool empty_is_all,
                  std::vector<bool>* reduced);

// How many elements a line has.
int64_t LengthOf(const LineOperation& op);

// One result per line: a tensor of `values`, if that isn't kUnknown, then one
// of indices if asked for. `written` is the type that the function writes where
// it isn't that of the lines.
bool EmitReduction(PlanBuilder& b, KernelCall& call, const LineOperation& op,
                   bool keepdim, DType values, bool has_indices,
                   DType written = DType::kUnknown);

// As many results as `kept` of each line: values of `values`, if that isn't
// kUnknown, then indices if asked for. Of `strides`, for the sizes of x with
// the only reduced dimension of size `kept`.
bool EmitScan(PlanBuilder& b, KernelCall& call, const LineOperation& op,
              int64_t kept, const Sizes& strides, DType values,
              bool has_indices);

}  // namespace tenon::cpu
