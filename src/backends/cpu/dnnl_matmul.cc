#include "backends/cpu/dnnl_matmul.h"

#include <algorithm>
#include <optional>
#include <string>

#include "backends/cpu/dnnl_matmul_step.h"

namespace tenon::cpu {
namespace {

using dnnl::memory;

// Below this many multiplications a call costs more than a loop.
constexpr int64_t kSmallProduct = int64_t{24} << 10;
// With fewer rows than this, matrices whose columns lie contiguous are best
// read where they lie: a packed copy isn't read any faster, and takes memory.
constexpr int64_t kFewRows = 4;
// From this many rows on, own loops, which copy a matrix block by block each
// time, take 2 % longer than oneDNN with a packed copy of all of it. A large
// one isn't worth the memory then, and the time of the first run.
constexpr int64_t kManyRows = 64;
constexpr int64_t kLargeMatrix = int64_t{1} << 18;

// The step between matrices of a batch; none when there are several.
std::optional<int64_t> StepOf(const std::vector<int64_t>& offsets) {
  if (offsets.size() < 2) return 0;
  const int64_t step = offsets[1] - offsets[0];
  for (size_t i = 1; i < offsets.size(); ++i) {
    if (offsets[i] - offsets[i - 1] != step) return std::nullopt;
  }
  return step;
}

// A batch of `count` matrices, or one matrix.
memory::desc Matrices(int64_t count, int64_t rows, int64_t columns,
                      const std::optional<memory::dims>& strides) {
  memory::dims sizes = {rows, columns};
  if (count > 1) sizes.insert(sizes.begin(), count);
  constexpr auto kFloat = memory::data_type::f32;
  if (strides) {
    memory::dims steps = *strides;
    if (count <= 1) steps.erase(steps.begin());
    return memory::desc(sizes, kFloat, steps);
  }
  return memory::desc(sizes, kFloat, memory::format_tag::any);
}

std::unique_ptr<DnnlMatmul> Prepare(const MatmulShape& s,
                                    const WeightSource& source,
                                    PackedWeights& weights) {
  const auto count = static_cast<int64_t>(s.c_offsets.size());
  const auto a_step = StepOf(s.a_offsets), b_step = StepOf(s.b_offsets);
  const auto c_step = StepOf(s.c_offsets);
  if (!a_step || !b_step || !c_step) return nullptr;
  // One matrix for a whole batch isn't a layout that oneDNN takes.
  if (count > 1 && (*a_step == 0 || *b_step == 0)) return nullptr;
  const bool is_packed = source.is_fixed && count == 1;
  // Few rows don't pay for packing, unless the matrix is read across.
  if (s.m < kFewRows && (!is_packed || s.b_row == 1)) return nullptr;
  if (is_packed && s.m >= kManyRows && s.n * s.k >= kLargeMatrix) {
    return nullptr;
  }

  const memory::desc a =
      Matrices(count, s.m, s.k, memory::dims{*a_step, s.a_row, 1});
  const memory::desc plain_b =
      Matrices(count, s.k, s.n, memory::dims{*b_step, s.b_row, s.b_column});
  const memory::desc b =
      is_packed ? Matrices(count, s.k, s.n, std::nullopt) : plain_b;
  const memory::desc c =
      Matrices(count, s.m, s.n, memory::dims{*c_step, s.n, 1});
  const memory::desc bias = Matrices(count, 1, s.n, memory::dims{s.n, s.n, 1});
  const auto described = s.has_bias ? dnnl::matmul::desc(a, b, bias, c)
                                    : dnnl::matmul::desc(a, b, c);
  const dnnl::matmul::primitive_desc desc(described, ScratchInArena(),
                                          DnnlEngine());
  // Kernels other than these allocate a packed copy in each call.
  if (std::string(desc.impl_info_str()).find("brg") == std::string::npos) {
    return nullptr;
  }
  return MakeDnnlMatmul(desc, s, plain_b, "matmul_dnnl", "matmul_dnnl_packed",
                        source, weights);
}

}  // namespace

std::unique_ptr<DnnlMatmul> PlanDnnlMatmul(const MatmulShape& shape,
                                           const WeightSource& b,
                                           PackedWeights& weights) {
  if (shape.c_offsets.empty() || shape.k == 0) return nullptr;
  // As doubles: a product of sizes may be large.
  if (double(shape.m) * double(shape.n) * double(shape.k) < kSmallProduct) {
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
