#include "backends/cpu/dnnl_matmul_step.h"

#include <utility>
#include <vector>

#include "backends/cpu/dnnl_primitive.h"

namespace tenon::cpu {
namespace {

using dnnl::memory;

struct Prepared {
  PrimitiveCall product;
  Ref a, b, c, bias;
  bool has_bias = false;
  std::shared_ptr<PackedWeight> packed;
  size_t scratch_bytes = 0;
  std::string_view name;
};

class DnnlMatmulStep : public Step {
 public:
  DnnlMatmulStep(Prepared prepared, Ref scratch)
      : p_(std::move(prepared)), scratch_(scratch), stream_(DnnlEngine()) {}

  bool Run(Frame& frame) override {
    void* b = p_.packed == nullptr ? frame.at<void>(p_.b)
                                   : p_.packed->Get(frame, stream_, &held_);
    if (b == nullptr) return Fail(frame);
    void* a = frame.at<void>(p_.a);
    void* c = frame.at<void>(p_.c);
    void* scratch = frame.at<void>(scratch_);
    const bool ok =
        p_.has_bias ? p_.product.Run(
                          stream_, {a, b, c, scratch, frame.at<void>(p_.bias)})
                    : p_.product.Run(stream_, {a, b, c, scratch});
    return ok || Fail(frame);
  }
  std::string_view name() const override { return p_.name; }

 private:
  static bool Fail(Frame& frame) {
    return frame.Fail("oneDNN could not run a matrix product");
  }

  Prepared p_;
  const Ref scratch_;
  dnnl::stream stream_;
  std::shared_ptr<PackedWeight::Copy> held_;
};

class PreparedMatmul : public DnnlMatmul {
 public:
  explicit PreparedMatmul(Prepared prepared) : prepared_(std::move(prepared)) {}
  size_t scratch_bytes() const override { return prepared_.scratch_bytes; }
  std::unique_ptr<Step> MakeStep(Ref scratch) override {
    return std::make_unique<DnnlMatmulStep>(std::move(prepared_), scratch);
  }

 private:
  Prepared prepared_;
};

// Where the first matrix begins.
Ref FirstOf(Ref ref, const std::vector<int64_t>& offsets,
            const memory::desc& desc) {
  const auto item =
      static_cast<int64_t>(memory::data_type_size(desc.data_type()));
  ref.offset_bytes += offsets[0] * item;
  return ref;
}

}  // namespace

std::unique_ptr<DnnlMatmul> MakeDnnlMatmul(
    const dnnl::matmul::primitive_desc& desc, const MatmulShape& shape,
    const memory::desc& plain_b, std::string_view name,
    std::string_view packed_name, const WeightSource& source,
    PackedWeights& weights) {
  Prepared p;
  p.a = FirstOf(shape.a, shape.a_offsets, desc.src_desc());
  p.b = FirstOf(shape.b, shape.b_offsets, plain_b);
  p.c = FirstOf(shape.c, shape.c_offsets, desc.dst_desc());
  p.bias = shape.bias;
  p.has_bias = shape.has_bias;
  p.name = name;
  if (desc.weights_desc() != plain_b) {
    p.packed = weights.Find(plain_b, desc.weights_desc(), p.b, source);
    if (p.packed == nullptr) return nullptr;
    p.name = packed_name;
  }
  p.scratch_bytes = desc.scratchpad_desc().get_size() + 64;
  std::vector<std::pair<int, memory::desc>> arguments = {
      {DNNL_ARG_SRC, desc.src_desc()},
      {DNNL_ARG_WEIGHTS, desc.weights_desc()},
      {DNNL_ARG_DST, desc.dst_desc()},
      {DNNL_ARG_SCRATCHPAD, desc.scratchpad_desc()}};
  if (shape.has_bias) arguments.push_back({DNNL_ARG_BIAS, desc.bias_desc()});
  p.product = PrimitiveCall(dnnl::matmul(desc), arguments);
  return std::make_unique<PreparedMatmul>(std::move(p));
}

}  // namespace tenon::cpu
