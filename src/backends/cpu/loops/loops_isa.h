// What the files of one instruction set define for each other.
#pragma once

#include "backends/cpu/loops/loops.h"

namespace tenon::cpu {
namespace TENON_CPU_ISA {

TileFn FindTile(TileOp op, DType dtype);
TileFn FindCast(DType from, DType to);
TileFn FindNarrowTile(TileOp op, DType dtype);
TileFn FindNarrowCast(DType from, DType to);
void Softmax(const float* x, float* out, const RowArgs& args);
void LogSoftmax(const float* x, float* out, const RowArgs& args);
void LayerNorm(const float* x, float* out, const NormArgs& args);
void RmsNorm(const float* x, float* out, const NormArgs& args);
void GroupMoments(const float* x, const MomentArgs& args);
void GroupMomentsLast(const float* x, const MomentArgs& args, double* scratch);
void ReduceRows(Reduction reduction, const float* x, float* out,
                const RowArgs& args);
void MaxPool(const float* x, float* out, int64_t* indices,
             const PoolArgs& args);
void SumPool(const float* x, float* out, const PoolArgs& args);
void MaxPoolLast(const float* x, float* out, int64_t channels,
                 const PoolArgs& args);
void SumPoolLast(const float* x, float* out, int64_t channels,
                 const PoolArgs& args);
void Multiply(const GemmArgs& g, float* scratch);
int64_t GemmScratchBytes(const GemmArgs& g);
void MultiplyBlocked(const GemmArgs& g, float* scratch);
int64_t BlockedScratchBytes(const GemmArgs& g);
void Convolve(const ConvolutionArgs& g);
void ConvolveDepthwise(const ConvolutionArgs& g);
int64_t ConvolutionBlock(int64_t out_channels);
void MultiplyNarrow(const NarrowGemmArgs& g);
void WidenBlock(const WidenArgs& w);
void AttentionRow(float* scores, const float* mask, float scale, int64_t size);
extern const Loops kLoops;

}  // namespace TENON_CPU_ISA
}  // namespace tenon::cpu
