// The table of one instruction set.
#include "backends/cpu/loops/loops_isa.h"

#define TENON_TEXT_(x) #x
#define TENON_TEXT(x) TENON_TEXT_(x)

namespace tenon::cpu {
namespace TENON_CPU_ISA {

extern const Loops kLoops = {TENON_TEXT(TENON_CPU_ISA),
                             FindTile,
                             FindCast,
                             Softmax,
                             LogSoftmax,
                             LayerNorm,
                             RmsNorm,
                             GroupMoments,
                             GroupMomentsLast,
                             ReduceRows,
                             MaxPool,
                             SumPool,
                             MaxPoolLast,
                             SumPoolLast,
                             Multiply,
                             GemmScratchBytes,
                             Convolve,
                             ConvolveDepthwise,
                             ConvolutionBlock,
                             MultiplyNarrow,
                             WidenBlock,
                             AttentionRow};

}  // namespace TENON_CPU_ISA
}  // namespace tenon::cpu
