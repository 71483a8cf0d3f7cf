#include "backends/cpu/dnnl_bf16_matmul.h"

#include <string_view>

#include "backends/cpu/dnnl_matmul_step.h"

namespace tenon::cpu {
namespace {

using dnnl::memory;

// With fewer rows, weights that are read where they lie are as fast, and need
// no packed copy.
constexpr int64_t kFewRows = 4;
// Below this many multiplications a call costs more than a loop.
constexpr double kSmallProduct = 64 << 10;

std::unique_ptr<DnnlMatmul> Prepare(const MatmulShape& s,
                                    const WeightSource& source,
                                    PackedWeights& weights) {
  constexpr auto kHalf = memory::data_type::bf16;
  constexpr auto kFloat = memory::data_type::f32;
  const memory::desc a({s.m, s.k}, kHalf, memory::dims{s.a_row, 1});
  const memory::desc plain_b({s.k, s.n}, kHalf,
                             memory::dims{s.b_row, s.b_column});
  const memory::desc b({s.k, s.n}, kHalf, memory::format_tag::any);
  const memory::desc c({s.m, s.n}, kFloat, memory::dims{s.n, 1});
  const memory::desc bias({1, s.n}, kFloat, memory::dims{s.n, 1});
  const auto described = s.has_bias ? dnnl::matmul::desc(a, b, bias, c)
                                    : dnnl::matmul::desc(a, b, c);
  const dnnl::matmul::primitive_desc desc(described, ScratchInArena(),
                                          DnnlEngine());
  // Others convert to float32, or allocate a packed copy in each call.
  const std::string_view kernel = desc.impl_info_str();
  if (kernel.find("brg") == std::string_view::npos ||
      kernel.find("bf16") == std::string_view::npos) {
    return nullptr;
  }
  return MakeDnnlMatmul(desc, s, plain_b, "matmul_dnnl_bf16",
                        "matmul_dnnl_bf16", source, weights);
}

}  // namespace

std::unique_ptr<DnnlMatmul> PlanDnnlBf16Matmul(const MatmulShape& shape,
                                               const WeightSource& b,
                                               PackedWeights& weights) {
  if (!b.is_fixed || shape.m < kFewRows ||
      double(shape.m) * double(shape.n) * double(shape.k) < kSmallProduct) {
    return nullptr;
  }
  // oneDNN's C++ interface says by an exception that it has no kernel.
  try {
    return Prepare(shape, b, weights);
  } catch (const dnnl::error&) {
    return nullptr;
  }
}

}  // namespace tenon::cpu
