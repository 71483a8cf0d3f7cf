#include "backends/cpu/dnnl_convolution.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tenon::cpu {
namespace {

using dnnl::memory;

size_t Aligned(size_t size_bytes) { return (size_bytes + 63) & ~size_t{63}; }

// What a step needs, built once; offsets are into the scratch memory.
struct Prepared {
  DnnlConvolutionShape shape;
  PrimitiveCall convolution, pack_x, unpack_out;
  size_t x_offset = 0, out_offset = 0, work_offset = 0, scratch_bytes = 0;
  std::shared_ptr<PackedWeight> packed_weight;
};

class DnnlConvolutionStep : public Step {
 public:
  DnnlConvolutionStep(Prepared prepared, Ref scratch)
      : p_(std::move(prepared)), scratch_(scratch), stream_(DnnlEngine()) {}

  bool Run(Frame& frame) override {
    std::byte* scratch = frame.at<std::byte>(scratch_);
    void* x = frame.at<void>(p_.shape.x);
    void* out = frame.at<void>(p_.shape.out);
    void* weight = frame.at<void>(p_.shape.weight);
    bool ok = true;
    if (p_.packed_weight != nullptr) {
      weight = p_.packed_weight->Get(frame, stream_, &held_);
      ok = weight != nullptr;
    }
    if (p_.pack_x.is_set()) {
      void* packed = scratch + p_.x_offset;
      ok = ok && p_.pack_x.Run(stream_, {x, packed});
      x = packed;
    }
    void* to = p_.unpack_out.is_set() ? scratch + p_.out_offset : out;
    void* work = scratch + p_.work_offset;
    ok = ok &&
         (p_.shape.has_bias
              ? p_.convolution.Run(stream_, {x, weight, to, work,
                                             frame.at<void>(p_.shape.bias)})
              : p_.convolution.Run(stream_, {x, weight, to, work}));
    if (p_.unpack_out.is_set()) {
      ok = ok && p_.unpack_out.Run(stream_, {to, out});
    }
    return ok || frame.Fail("oneDNN could not run a convolution");
  }
  std::string_view name() const override { return "convolution_dnnl"; }

 private:
  Prepared p_;
  const Ref scratch_;
  dnnl::stream stream_;
  std::shared_ptr<PackedWeight::Copy> held_;
};

class PreparedConvolution : public DnnlConvolution {
 public:
  explicit PreparedConvolution(Prepared prepared)
      : prepared_(std::move(prepared)) {}
  size_t scratch_bytes() const override { return prepared_.scratch_bytes; }
  std::unique_ptr<Step> MakeStep(Ref scratch) override {
    return std::make_unique<DnnlConvolutionStep>(std::move(prepared_), scratch);
  }

 private:
  Prepared prepared_;
};

dnnl::convolution_forward::primitive_desc Describe(
    const DnnlConvolutionShape& s) {
  using Tag = memory::format_tag;
  constexpr auto kFloat = memory::data_type::f32;
  const memory::desc x({s.batch, s.in_channels, s.in_size[0], s.in_size[1]},
                       kFloat, Tag::any);
  const memory::desc out(
      {s.batch, s.out_channels, s.out_size[0], s.out_size[1]}, kFloat,
      Tag::any);
  const memory::dims plain = {s.out_channels, s.in_channels / s.groups,
                              s.kernel[0], s.kernel[1]};
  const memory::dims grouped = {s.groups, s.out_channels / s.groups,
                                s.in_channels / s.groups, s.kernel[0],
                                s.kernel[1]};
  const memory::desc weight(s.groups > 1 ? grouped : plain, kFloat, Tag::any);
  const memory::desc bias({s.out_channels}, kFloat, Tag::a);
  const memory::dims strides = {s.stride[0], s.stride[1]};
  const memory::dims dilates = {s.dilation[0] - 1, s.dilation[1] - 1};
  const memory::dims before = {s.padding[0], s.padding[1]};
  memory::dims after;
  for (int d = 0; d < 2; ++d) {
    after.push_back((s.out_size[d] - 1) * s.stride[d] +
                    (s.kernel[d] - 1) * s.dilation[d] + 1 - s.in_size[d] -
                    s.padding[d]);
  }
  constexpr auto kKind = dnnl::prop_kind::forward_inference;
  constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;
  const auto desc =
      s.has_bias
          ? dnnl::convolution_forward::desc(kKind, kAlgorithm, x, weight, bias,
                                            out, strides, dilates, before,
                                            after)
          : dnnl::convolution_forward::desc(kKind, kAlgorithm, x, weight, out,
                                            strides, dilates, before, after);
  return dnnl::convolution_forward::primitive_desc(desc, ScratchInArena(),
                                                   DnnlEngine());
}

// None when there is no memory for packed weights.
std::optional<Prepared> Prepare(
    const DnnlConvolutionShape& s, PackedWeights& weights,
    const dnnl::convolution_forward::primitive_desc& desc) {
  using Tag = memory::format_tag;
  constexpr auto kFloat = memory::data_type::f32;
  Prepared p;
  p.shape = s;
  const memory::desc x({s.batch, s.in_channels, s.in_size[0], s.in_size[1]},
                       kFloat, Tag::nchw);
  const memory::desc out(
      {s.batch, s.out_channels, s.out_size[0], s.out_size[1]}, kFloat,
      Tag::nchw);
  const memory::desc weight =
      s.groups > 1
          ? memory::desc({s.groups, s.out_channels / s.groups,
                          s.in_channels / s.groups, s.kernel[0], s.kernel[1]},
                         kFloat, Tag::goihw)
          : memory::desc(
                {s.out_channels, s.in_channels, s.kernel[0], s.kernel[1]},
                kFloat, Tag::oihw);
  if (desc.src_desc() != x) p.pack_x = Reorder(x, desc.src_desc());
  if (desc.dst_desc() != out) p.unpack_out = Reorder(desc.dst_desc(), out);
  if (desc.weights_desc() != weight) {
    p.packed_weight =
        weights.Find(weight, desc.weights_desc(), s.weight, s.weight_source);
    if (p.packed_weight == nullptr) return std::nullopt;
  }
  p.x_offset = 0;
  p.out_offset = p.pack_x.is_set() ? Aligned(desc.src_desc().get_size()) : 0;
  p.work_offset =
      p.out_offset +
      (p.unpack_out.is_set() ? Aligned(desc.dst_desc().get_size()) : 0);
  p.scratch_bytes =
      p.work_offset + Aligned(desc.scratchpad_desc().get_size()) + 64;
  std::vector<std::pair<int, memory::desc>> arguments = {
      {DNNL_ARG_SRC, desc.src_desc()},
      {DNNL_ARG_WEIGHTS, desc.weights_desc()},
      {DNNL_ARG_DST, desc.dst_desc()},
      {DNNL_ARG_SCRATCHPAD, desc.scratchpad_desc()}};
  if (s.has_bias) {
    arguments.push_back({DNNL_ARG_BIAS, desc.bias_desc()});
  }
  p.convolution = PrimitiveCall(dnnl::convolution_forward(desc), arguments);
  return p;
}

}  // namespace

std::unique_ptr<DnnlConvolution> PlanDnnlConvolution(
    const DnnlConvolutionShape& shape, PackedWeights& weights) {
  // oneDNN's C++ interface says by an exception that it has no kernel.
  try {
    const auto desc = Describe(shape);
    const std::string kernel = desc.impl_info_str();
    if (kernel.find("ref") != std::string::npos ||
        kernel.find("gemm") != std::string::npos) {
      return nullptr;
    }
    auto prepared = Prepare(shape, weights, desc);
    if (!prepared) return nullptr;
    return std::make_unique<PreparedConvolution>(*std::move(prepared));
  } catch (const dnnl::error&) {
    return nullptr;
  }
}

}  // namespace tenon::cpu
