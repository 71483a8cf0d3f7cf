// torchao's affine quantisation: scales and zero points for blocks of any
// shape. `block_size` has an entry per dimension; elements of one block share
// their parameters.
//
// As in quantized_decomposed.cc, each is the chain of plain operators by which
// the library defines it; here half precision isn't widened.
#include <string>
#include <vector>

#include "kernels/elements.h"
#include "kernels/quantization.h"
#include "kernels/quantized_chains.h"
#include "kernels/registry.h"

namespace tenon {
namespace quantized {

namespace {

// The input cut into blocks: a dimension that holds several blocks becomes two,
// of blocks and of elements in each.
struct Blocks {
  std::vector<int64_t> sizes;            // of the cut input
  std::vector<int64_t> parameter_sizes;  // 1 in place of elements of a block
  std::vector<int64_t> block_dims;       // those that run within blocks
  std::vector<int64_t> num_blocks;       // along each dimension of the input
};

bool CutBlocks(KernelCall& call, const Tensor& input,
               const std::vector<int64_t>& block_size, Blocks* out) {
  if (static_cast<int64_t>(block_size.size()) != input.dim()) {
    return call.Fail("block_size needs an entry for each dimension");
  }
  for (size_t d = 0; d < block_size.size(); ++d) {
    const int64_t size = input.sizes()[d], block = block_size[d];
    if (block < 1 || size % block != 0) {
      return call.Fail("block_size has to divide dimension " +
                       std::to_string(d));
    }
    out->num_blocks.push_back(size / block);
    if (block != size && block > 1) {
      out->sizes.push_back(size / block);
      out->parameter_sizes.push_back(size / block);
    }
    if (block != 1)
      out->block_dims.push_back(static_cast<int64_t>(out->sizes.size()));
    out->sizes.push_back(block == 1 ? size : block);
    out->parameter_sizes.push_back(block == 1 ? size : 1);
  }
  return true;
}

// A number, or where none is given what the dtype's range ends with.
RuntimeValue Bound(KernelCall& call, size_t i, int64_t limit) {
  if (call.is_none(i)) return limit;
  return call.Scalar(i);
}

}  // namespace

bool QuantizeAffine(OperatorChain& chain, KernelCall& call) {
  const Tensor& x = call.tensor(0);
  Blocks blocks;
  if (!CutBlocks(call, x, call.Ints(1), &blocks)) return false;
  const DType dtype = call.arg(4).dtype();
  const IntegerRange limits = RangeOf(dtype);
  const Tensor scale = chain.Reshape(call.tensor(2), blocks.parameter_sizes);
  RuntimeValue zero;
  if (!call.is_none(3) && call.tensor(3).numel() > 0) {
    zero = chain.Reshape(call.tensor(3), blocks.parameter_sizes);
  }
  const Tensor q =
      Quantize(chain, chain.Reshape(x, blocks.sizes),
               chain("aten.reciprocal.default", {scale}), zero,
               {Bound(call, 5, limits.min), Bound(call, 6, limits.max), dtype});
  return chain.Return({chain.Reshape(q, x.sizes())});
}

bool DequantizeAffine(OperatorChain& chain, KernelCall& call) {
  const Tensor& q = call.tensor(0);
  Blocks blocks;
  if (!CutBlocks(call, q, call.Ints(1), &blocks)) return false;
  if (q.dtype() != call.arg(4).dtype()) {
    return call.Fail("the input's dtype isn't 'input_dtype'");
  }
  const DType dtype = call.arg(7).dtype();
  const Tensor scale = chain.Reshape(call.tensor(2), blocks.parameter_sizes);
  RuntimeValue zero;
  if (!call.is_none(3)) {
    zero =
        chain.To(chain.Reshape(call.tensor(3), blocks.parameter_sizes), dtype);
  }
  const Tensor wide = chain.To(chain.Reshape(q, blocks.sizes), dtype);
  const Tensor x = Dequantize(chain, wide, zero, scale, dtype);
  return chain.Return({chain.Reshape(x, q.sizes())});
}

namespace {

// The smallest normal number, PyTorch's default of eps.
double SmallestNormal(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return 6.103515625e-05;
    case DType::kFloat64:
      return 2.2250738585072014e-308;
    default:
      return 1.1754943508222875e-38;
  }
}

// Scales before eps, by the mapping's name.
bool RawScale(KernelCall& call, OperatorChain& chain,
              const std::string& mapping, const ZeroExtrema& x, double low,
              double high, Tensor* out) {
  if (mapping == "ASYMMETRIC") {
    *out = chain("aten.div.Tensor",
                 {chain("aten.sub.Tensor", {x.high, x.low}), high - low});
  } else if (mapping == "SYMMETRIC") {
    const Tensor largest = chain("aten.maximum.default",
                                 {chain("aten.neg.default", {x.low}), x.high});
    *out = chain("aten.div.Tensor", {largest, (high - low) / 2});
  } else if (mapping == "SYMMETRIC_NO_CLIPPING_ERR") {
    // Not the maximum: a range that starts at 0 makes `down` NaN.
    const Tensor down = chain("aten.div.Tensor", {x.low, low});
    const Tensor up = chain("aten.div.Tensor", {x.high, high});
    *out = chain("aten.where.self",
                 {chain("aten.gt.Tensor", {down, up}), down, up});
  } else {
    return call.Fail("unknown mapping type '" + mapping + "'");
  }
  return chain.ok();
}

}  // namespace

bool ChooseQparamsAffine(OperatorChain& chain, KernelCall& call) {
  if (call.is_none(0)) return call.Fail("the input is None");
  const Tensor& input = call.tensor(0);
  const std::string mapping = call.arg(1).string();
  const IntegerRange limits = RangeOf(call.arg(3).dtype());
  const RuntimeValue least = Bound(call, 4, limits.min);
  const RuntimeValue most = Bound(call, 5, limits.max);
  const double low = ScalarAs<double>(least), high = ScalarAs<double>(most);
  const bool keep_dims = call.Bool(9);
  Blocks blocks;
  if (!CutBlocks(call, input, call.Ints(2), &blocks)) return false;
  // Blocks of one element leave no dimension to reduce, which reduces all.
  const ZeroExtrema x = FindZeroExtrema(
      chain, chain.Reshape(input, blocks.sizes), blocks.block_dims, keep_dims);
  Tensor scale;
  if (!RawScale(call, chain, mapping, x, low, high, &scale)) return false;
  const double eps =
      call.is_none(6) ? SmallestNormal(input.dtype()) : call.Float(6);
  scale = chain("aten.clamp.default", {scale, eps});
  Tensor zero;
  const bool is_asymmetric = mapping == "ASYMMETRIC";
  if (is_asymmetric) {
    const Tensor down =
        chain("aten.round.default", {chain("aten.div.Tensor", {x.low, scale})});
    zero = chain("aten.rsub.Scalar", {down, least});
    zero = chain("aten.clamp.default", {zero, least, most});
  } else {
    const auto middle = static_cast<int64_t>((high + low + 1) / 2);
    zero = chain("aten.full_like.default", {scale, middle});
  }
  if (keep_dims) {
    scale = chain.Reshape(scale, blocks.num_blocks);
    zero = chain.Reshape(zero, blocks.num_blocks);
  }
  if (!call.is_none(7)) scale = chain.To(scale, call.arg(7).dtype());
  if (!call.is_none(8)) {
    zero = chain.To(zero, call.arg(8).dtype());
  } else if (is_asymmetric) {
    zero = chain.To(zero, DType::kInt32);
  }
  return chain.Return({scale, zero});
}

}  // namespace quantized

namespace {

using quantized::RunChain;

constexpr KernelEntry kEntries[] = {
    {"torchao.choose_qparams_affine.default",
     &RunChain<quantized::ChooseQparamsAffine>},
    {"torchao.dequantize_affine.default",
     &RunChain<quantized::DequantizeAffine>},
    {"torchao.quantize_affine.default", &RunChain<quantized::QuantizeAffine>},
};

}  // namespace

std::span<const KernelEntry> QuantizedAffineKernels() { return kEntries; }

}  // namespace tenon
