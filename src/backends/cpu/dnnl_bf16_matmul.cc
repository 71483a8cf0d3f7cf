#include "backends/cpu/dnnl_bf16_matmul.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenon::cpu {
namespace {

using dnnl::memory;

// With fewer rows, weights that are read where they lie are as fast, and need
// no packed copy.
constexpr int64_t kFewRows = 4;
// Below this many multiplications a call costs more than a loop.
constexpr double kSmallProduct = 64 << 10;

struct Prepared {
  PrimitiveCall product;
  Ref a, b, c, bias;
  bool has_bias = false;
  std::shared_ptr<PackedWeight> packed;
  size_t scratch_bytes = 0;
};

class DnnlBf16Step : public Step {
 public:
  DnnlBf16Step(Prepared prepared, Ref scratch)
      : p_(std::move(prepared)), scratch_(scratch), stream_(DnnlEngine()) {
    pointers_.reserve(5);
  }

  bool Run(Frame& frame) override {
    void* b = p_.packed == nullptr ? frame.at<void>(p_.b)
                                   : p_.packed->Get(frame, stream_, &held_);
    std::vector<void*>& p = pointers_;
    p.assign({frame.at<void>(p_.a), b, frame.at<void>(p_.c),
              frame.at<void>(scratch_)});
    if (p_.has_bias) p.push_back(frame.at<void>(p_.bias));
    return (b != nullptr && p_.product.Run(stream_, p)) ||
           frame.Fail("oneDNN could not run a matrix product");
  }
  std::string_view name() const override { return "matmul_dnnl_bf16"; }

 private:
  Prepared p_;
  const Ref scratch_;
  dnnl::stream stream_;
  std::shared_ptr<PackedWeight::Copy> held_;
  std::vector<void*> pointers_;  // of a run's arguments
};

class PreparedMatmul : public DnnlMatmul {
 public:
  explicit PreparedMatmul(Prepared prepared) : prepared_(std::move(prepared)) {}
  size_t scratch_bytes() const override { return prepared_.scratch_bytes; }
  std::unique_ptr<Step> MakeStep(Ref scratch) override {
    return std::make_unique<DnnlBf16Step>(std::move(prepared_), scratch);
  }

 private:
  Prepared prepared_;
};

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
  Prepared p;
  p.a = s.a;
  p.b = s.b;
  p.c = s.c;
  p.bias = s.bias;
  p.has_bias = s.has_bias;
  if (desc.weights_desc() != plain_b) {
    p.packed = weights.Find(plain_b, desc.weights_desc(), p.b, source);
    if (p.packed == nullptr) return nullptr;
  }
  p.scratch_bytes = desc.scratchpad_desc().get_size() + 64;
  std::vector<std::pair<int, memory::desc>> arguments = {
      {DNNL_ARG_SRC, desc.src_desc()},
      {DNNL_ARG_WEIGHTS, desc.weights_desc()},
      {DNNL_ARG_DST, desc.dst_desc()},
      {DNNL_ARG_SCRATCHPAD, desc.scratchpad_desc()}};
  if (s.has_bias) arguments.push_back({DNNL_ARG_BIAS, desc.bias_desc()});
  p.product = PrimitiveCall(dnnl::matmul(desc), arguments);
  return std::make_unique<PreparedMatmul>(std::move(p));
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
