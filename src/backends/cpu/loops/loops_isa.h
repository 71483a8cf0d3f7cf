// What the files of one instruction set define for each other.
#pragma once

#include "backends/cpu/loops/loops.h"

namespace tenon::cpu {
namespace TENON_CPU_ISA {

TileFn FindTile(TileOp op, DType dtype);
TileFn FindCast(DType from, DType to);
void Softmax(const float* x, float* out, const RowArgs& args);
void LogSoftmax(const float* x, float* out, const RowArgs& args);
void LayerNorm(const float* x, float* out, const NormArgs& args);
void RmsNorm(const float* x, float* out, const NormArgs& args);
void ReduceRows(Reduction reduction, const float* x, float* out,
                const RowArgs& args);
void MultiplySmall(const SmallGemm& args);
void AttentionRow(float* scores, const float* mask, float scale, int64_t size);
extern const Loops kLoops;

}  // namespace TENON_CPU_ISA
}  // namespace tenon::cpu
