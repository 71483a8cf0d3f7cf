// Look-ups in quantised tables: rows of `weight` are dequantised per group of
// columns with the scales' dtype. Tables of 4 and 2 bits are packed in bytes.
#include <vector>

#include "kernels/elements.h"
#include "kernels/quantization.h"
#include "kernels/registry.h"

namespace tenon {
namespace {

// How the columns of a table lie in a byte.
struct Packing {
  int bits;            // per column
  bool is_high_first;  // the first column has the highest bits
  int64_t offset;      // what is taken from each stored value
};
constexpr Packing kByte = {8, false, 0};
constexpr Packing kNibbles = {4, true, 8};
constexpr Packing kPairs = {2, false, 2};

// One int8 per column.
bool Unpack(KernelCall& call, const Tensor& weight, const Packing& packing,
            Tensor* out) {
  if (weight.dim() != 2) return call.Fail("the weight has to be a matrix");
  if (packing.bits == 8) {
    *out = weight;
    return true;
  }
  if (weight.dtype() != DType::kUInt8) {
    return call.Fail("a packed weight has to be uint8");
  }
  const int per_byte = 8 / packing.bits;
  const int64_t mask = (int64_t{1} << packing.bits) - 1;
  std::vector<int64_t> values;
  for (const int64_t byte : ReadAll<int64_t>(weight)) {
    for (int k = 0; k < per_byte; ++k) {
      const int place = packing.is_high_first ? per_byte - 1 - k : k;
      values.push_back(((byte >> (place * packing.bits)) & mask) -
                       packing.offset);
    }
  }
  *out =
      Tensor::Empty(DType::kInt8, {weight.size(0), weight.size(1) * per_byte});
  if (!out->defined()) return call.Fail("out of memory");
  WriteAll(out, values);
  return true;
}

bool Embed(KernelCall& call, const Packing& packing) {
  const Tensor& scales = call.tensor(1);
  if (packing.bits != 8 &&
      (call.Int(3) != -packing.offset || call.Int(4) != packing.offset - 1)) {
    return call.Fail("quant_min and quant_max have to be the packed range");
  }
  Tensor weight;
  if (!Unpack(call, call.tensor(0), packing, &weight)) return false;
  const int64_t groups = scales.dim() == 2 ? scales.size(1) : 1;
  if (groups == 0 || weight.size(1) % groups != 0) {
    return call.Fail("the groups of scales have to divide the columns");
  }
  KernelChain chain(call);
  const auto as_rows = [&](const Tensor& t) {
    return chain.Reshape(t, {-1, 1});
  };
  RuntimeValue zeros;
  if (!call.is_none(2)) zeros = as_rows(call.tensor(2));
  Tensor table = chain.Reshape(weight, {-1, weight.size(1) / groups});
  table = Dequantize(chain, table, zeros, as_rows(scales), scales.dtype());
  table = chain.Reshape(table, weight.sizes());
  // Overloads with a dtype cast what was multiplied in the scales' type.
  if (call.num_args() > 6 && !call.is_none(6)) {
    table = chain.To(table, call.arg(6).dtype());
  }
  return chain.Return(
      {chain("aten.embedding.default", {table, call.tensor(5)})});
}

bool EmbeddingByte(KernelCall& call) { return Embed(call, kByte); }
bool Embedding4Bit(KernelCall& call) { return Embed(call, kNibbles); }
bool Embedding2Bit(KernelCall& call) { return Embed(call, kPairs); }

constexpr KernelEntry kEntries[] = {
    {"quantized_decomposed.embedding_2bit.default", &Embedding2Bit},
    {"quantized_decomposed.embedding_2bit.dtype", &Embedding2Bit},
    {"quantized_decomposed.embedding_4bit.default", &Embedding4Bit},
    {"quantized_decomposed.embedding_4bit.dtype", &Embedding4Bit},
    {"quantized_decomposed.embedding_byte.default", &EmbeddingByte},
    {"quantized_decomposed.embedding_byte.dtype", &EmbeddingByte},
};

}  // namespace

std::span<const KernelEntry> QuantizedEmbeddingKernels() { return kEntries; }

}  // namespace tenon
