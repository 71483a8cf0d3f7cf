// The inner loops of the CPU backend, compiled once per instruction set.
//
// Every file of this folder with a namespace TENON_CPU_ISA is compiled several
// times with different flags; BestLoops picks the fastest set that the machine
// has. So these files use raw pointers and nothing from the standard library
// that could be emitted out of line: the linker would keep one of the copies
// for all of the program.
#pragma once

#include <cstdint>

#include "ir/kinds.h"

namespace tenon::cpu {

// Elementwise operations on tiles. The compute type is that of the inputs
// unless the comment says otherwise.
enum class TileOp : uint8_t {
  kCopy,
  // Binary arithmetic.
  kAdd,
  kSub,
  kMul,
  kDiv,        // floating
  kAddScaled,  // a + p[0] * b
  kMax,        // NaN wins
  kMin,
  kPow,        // floating
  kRemainder,  // floating; the divisor's sign
  kAtan2,      // floating
  // Bits, on bool and integers.
  kAnd,
  kOr,
  kXor,
  // Comparisons; the result is bool.
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  // Logic on bool.
  kNot,
  // Unary.
  kNeg,
  kAbs,
  kSquare,
  kRelu,
  kBitNot,  // integers
  kSign,
  // Unary, floating.
  kExp,
  kExp2,
  kExpm1,
  kLog,
  kLog1p,
  kLog2,
  kSqrt,
  kRsqrt,
  kReciprocal,
  kTanh,
  kSigmoid,
  kSilu,
  kGelu,
  kGeluTanh,
  kErf,
  kSin,
  kCos,
  kFloor,
  kCeil,
  kTrunc,
  kRound,  // half to even
  kHardSigmoid,
  kHardSwish,
  kLeakyRelu,  // p[0] = slope
  kElu,        // p[0] = alpha
  kSoftplus,   // p[0] = beta, p[1] = threshold
  kPowScalar,  // a ** p[0]
  kIsNan,      // the result is bool
  kIsInf,      // the result is bool
  // float32 rounded as bfloat16 or float16 stores it. The dtype is the narrow
  // one; operand and result are float32.
  kRounded,
  // Ternary.
  kWhere,    // bool, T, T
  kAddcmul,  // a + p[0] * b * c

  // --- what library_tiles.h has loops for ---
  // Binary, of numbers. Nobody may divide an integer by 0.
  kFmod,      // the dividend's sign
  kDivFloor,  // Python's //
  kDivTrunc,
  kHeaviside,
  kShiftLeft,   // integers
  kShiftRight,  // integers
  // Unary, floating.
  kAcos,
  kAcosh,
  kAsin,
  kAsinh,
  kAtan,
  kAtanh,
  kCosh,
  kSinh,
  kTan,
  kLog10,
  kErfc,
  kFrac,
  kSinc,
  kMish,
  kLogSigmoid,
  kSoftShrink,  // p[0] = lambda
  kLgamma,
  kDigamma,
  kErfinv,
  kErfcx,
  kNdtr,
  kNdtri,
  kLogNdtr,
  kBesselI0,
  kBesselI0e,
  kBesselI1,
  kBesselI1e,
  kEntr,
  kLogit,          // p[0] = eps, or less than 0
  kRoundDecimals,  // p[0] = decimals
  kIsFinite,       // the result is bool
  kSignBit,        // the result is bool
  // Binary, floating.
  kHypot,
  kCopySign,
  kNextAfter,  // not of half precision
  kXlogy,
  kXlog1py,
  kFmax,  // the other operand wins over NaN
  kFmin,
  kLogAddExp,
  kLogAddExp2,
  kGammaP,
  kGammaQ,
  kZeta,
  // Ternary, floating.
  kLerp,
};
constexpr int kNumTileOps = static_cast<int>(TileOp::kLerp) + 1;

// `count` elements; inputs and output are contiguous and don't overlap unless
// they are equal.
using TileFn = void (*)(void* out, const void* const* in, const double* params,
                        int64_t count);

// Row loops work on float rows of `size` elements, `rows` of them; row i of x
// starts at x + i * x_step.
struct RowArgs {
  int64_t rows = 0;
  int64_t size = 0;
  int64_t x_step = 0;
};

struct NormArgs : RowArgs {
  double eps = 0;
  // Null, or `size` elements.
  const float* weight = nullptr;
  const float* bias = nullptr;
  // Null, or `rows` elements.
  float* mean = nullptr;
  float* inverse_deviation = nullptr;
};

// Statistics of [batch, channels, pixels], over groups of adjoining channels.
struct MomentArgs {
  int64_t batch = 0, channels = 0, groups = 0, pixels = 0;
  double eps = 0;
  // batch * groups elements each.
  float* mean = nullptr;
  float* inverse_deviation = nullptr;
};

// C = alpha * op(A) op(B) [+ bias]: row-major C with unit column stride.
// One of B's strides is 1.
struct GemmArgs {
  int64_t m = 0, n = 0, k = 0;
  const float* a = nullptr;
  int64_t a_row = 0;  // A's columns have step 1
  const float* b = nullptr;
  int64_t b_row = 0, b_column = 0;
  float* c = nullptr;
  int64_t c_row = 0;
  float alpha = 1;
  const float* bias = nullptr;  // n elements
};

// A convolution between tensors with their channels last. The weights lie in
// blocks of output channels, the last one filled up: [block, tap, input
// channel, channel of the block], or without the input channel where each
// channel has a filter of its own.
struct ConvolutionArgs {
  int64_t pixels = 0;  // of all results
  int64_t taps = 0;
  int64_t in_channels = 0, out_channels = 0;
  int64_t block = 0;  // convolution_block
  const float* x = nullptr;
  // [pixel, tap]: where the first of the input channels lies in x, or -1.
  const int32_t* offsets = nullptr;
  const float* zeros = nullptr;  // in_channels of them
  const float* weight = nullptr;
  const float* bias = nullptr;    // or null
  const float* addend = nullptr;  // null, or added to what lies in its place
  bool has_bounds = false;        // NaN isn't bounded
  float low = 0, high = 0;
  float* out = nullptr;
};

// C = A B [+ bias] with float32 A and C, and with B stored as a narrow type:
// its element is (stored - zero) * scale, both per column. The elements of a
// column adjoin.
struct NarrowGemmArgs {
  int64_t m = 0, n = 0, k = 0;
  const float* a = nullptr;
  int64_t a_row = 0;
  DType type = DType::kUnknown;  // bfloat16, float16, int8 or uint8
  const void* b = nullptr;
  int64_t b_column = 0;  // in elements
  // Null, or n elements.
  const float* scale = nullptr;
  const float* zero = nullptr;
  const float* bias = nullptr;
  float* c = nullptr;
  int64_t c_row = 0;
};

// Rows of a narrow type to contiguous float32, in the same way.
struct WidenArgs {
  DType type = DType::kUnknown;
  const void* from = nullptr;
  int64_t rows = 0, size = 0;
  int64_t from_step = 0;  // between rows, in elements
  float* out = nullptr;
  // Null, or one element per row and group of so many positions, or per
  // position in a row.
  const float* scale = nullptr;
  const float* zero = nullptr;
  bool is_per_row = false;
  int64_t group = 0;
};

// Windows over a plane of fewer than 2^31 elements. Taps outside of it don't
// count.
struct PoolArgs {
  int64_t in_size[2], out_size[2], kernel[2], stride[2], padding[2],
      dilation[2] = {1, 1};

  int64_t in_plane() const { return in_size[0] * in_size[1]; }
  int64_t out_plane() const { return out_size[0] * out_size[1]; }
};

enum class Reduction : uint8_t { kSum, kMax, kMin };

struct Loops {
  const char* name;
  // Null when the operation has no loop for the type.
  TileFn (*find_tile)(TileOp op, DType dtype);
  // Null for kinds that the backend doesn't hold, and for some pairs with a
  // narrow one (narrow_types.h).
  TileFn (*find_cast)(DType from, DType to);
  // out rows are contiguous.
  void (*softmax)(const float* x, float* out, const RowArgs& args);
  void (*log_softmax)(const float* x, float* out, const RowArgs& args);
  void (*layer_norm)(const float* x, float* out, const NormArgs& args);
  // Divides by the root of the mean square; weight only.
  void (*rms_norm)(const float* x, float* out, const NormArgs& args);
  void (*group_moments)(const float* x, const MomentArgs& args);
  // The same of [batch, pixels, channels]. `scratch` has a double and two
  // floats per channel.
  void (*group_moments_last)(const float* x, const MomentArgs& args,
                             double* scratch);
  // out has one element per row.
  void (*reduce_rows)(Reduction reduction, const float* x, float* out,
                      const RowArgs& args);
  // The first maximum of each window, or the last element that isn't a number;
  // also its index in the plane, unless `indices` is null.
  void (*max_pool)(const float* x, float* out, int64_t* indices,
                   const PoolArgs& args);
  void (*sum_pool)(const float* x, float* out, const PoolArgs& args);
  // The same over a plane whose elements are `channels` numbers side by side.
  void (*max_pool_last)(const float* x, float* out, int64_t channels,
                        const PoolArgs& args);
  void (*sum_pool_last)(const float* x, float* out, int64_t channels,
                        const PoolArgs& args);
  // k > 0. `scratch` has gemm_scratch_bytes, 64-byte aligned.
  void (*gemm)(const GemmArgs& args, float* scratch);
  // Looks at sizes and steps only. Fewer rows never need more; nor does a
  // smaller k where b_column is 1, nor do fewer columns where b_row is 1.
  int64_t (*gemm_scratch_bytes)(const GemmArgs& args);
  void (*convolve)(const ConvolutionArgs& args);
  void (*convolve_depthwise)(const ConvolutionArgs& args);
  // The output channels of a block of weights that suits so many.
  int64_t (*convolution_block)(int64_t out_channels);
  // For few rows: a column is read once per four of them.
  void (*multiply_narrow)(const NarrowGemmArgs& args);
  void (*widen_block)(const WidenArgs& args);
  // scores[j] = scale * scores[j] + mask[j]; then softmax with rows of only
  // -inf giving 0.
  void (*attention_row)(float* scores, const float* mask, float scale,
                        int64_t size);
};

// The sets that this machine can run, slowest first; null after the last.
const Loops* const* SupportedLoops();

// The last of them.
const Loops& BestLoops();

}  // namespace tenon::cpu
