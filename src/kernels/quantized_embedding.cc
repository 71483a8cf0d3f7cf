// Look-ups in quantised tables: rows of `weight` are dequantised per group of
// columns with the scales' dtype. Tables of 4 and 2 bits are packed in bytes.
#include <vector>

#include "kernels/quantization.h"
#include "kernels/quantized_chains.h"
#include "kernels/registry.h"

namespace tenon {
namespace quantized {

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

// Rows of bytes as one integer per column.
Tensor Unpack(OperatorChain& chain, const Tensor& rows,
              const Packing& packing) {
  if (packing.bits == 8) return rows;
  const int per_byte = 8 / packing.bits;
  const int64_t mask = (int64_t{1} << packing.bits) - 1;
  std::vector<Tensor> columns;
  for (int k = 0; k < per_byte; ++k) {
    const int place = packing.is_high_first ? per_byte - 1 - k : k;
    const int64_t unit = int64_t{1} << (place * packing.bits);
    Tensor q = chain("aten.floor_divide.default", {rows, unit});
    q = chain("aten.bitwise_and.Scalar", {q, mask});
    columns.push_back(
        chain("aten.sub.Tensor", {chain.To(q, DType::kInt8), packing.offset}));
  }
  const Tensor apart =
      chain("aten.stack.default", {TensorList(columns), int64_t{-1}});
  if (!chain.ok()) return Tensor();
  Sizes sizes = rows.sizes();
  sizes.back() *= per_byte;
  return chain.Reshape(apart, sizes);
}

bool CheckTable(KernelCall& call, const Packing& packing, int64_t* groups) {
  const Tensor &weight = call.tensor(0), &scales = call.tensor(1);
  if (packing.bits != 8 &&
      (call.Int(3) != -packing.offset || call.Int(4) != packing.offset - 1)) {
    return call.Fail("quant_min and quant_max have to be the packed range");
  }
  if (weight.dim() != 2) return call.Fail("the weight has to be a matrix");
  if (packing.bits != 8 && weight.dtype() != DType::kUInt8) {
    return call.Fail("a packed weight has to be uint8");
  }
  *groups = scales.dim() == 2 ? scales.size(1) : 1;
  if (*groups == 0 || weight.size(1) * (8 / packing.bits) % *groups != 0) {
    return call.Fail("the groups of scales have to divide the columns");
  }
  const int64_t parameters = weight.size(0) * *groups;
  if (scales.numel() != parameters ||
      (!call.is_none(2) && call.tensor(2).numel() != parameters)) {
    return call.Fail(
        "there have to be scales and zero points for each row of the weight");
  }
  return true;
}

// Rows are picked before they are widened: a table has many that no index asks
// for.
bool Embed(OperatorChain& chain, KernelCall& call, const Packing& packing) {
  int64_t groups;
  if (!CheckTable(call, packing, &groups)) return false;
  const Tensor &weight = call.tensor(0), &scales = call.tensor(1);
  const Tensor& indices = call.tensor(5);
  const auto pick = [&](const Tensor& table) {
    return chain("aten.embedding.default", {table, indices});
  };
  const int64_t columns = weight.size(1) * (8 / packing.bits);
  Sizes sizes = indices.sizes(), grouped = sizes, per_group = sizes;
  sizes.push_back(columns);
  grouped.insert(grouped.end(), {groups, columns / groups});
  per_group.insert(per_group.end(), {groups, 1});
  const auto pick_parameters = [&](const Tensor& t) {
    return chain.Reshape(pick(chain.Reshape(t, {weight.size(0), groups})),
                         per_group);
  };
  RuntimeValue zeros;
  if (!call.is_none(2)) zeros = pick_parameters(call.tensor(2));
  const Tensor packed = pick(weight);
  if (!chain.ok()) return false;
  const Tensor rows = chain.Reshape(Unpack(chain, packed, packing), grouped);
  Tensor out =
      Dequantize(chain, rows, zeros, pick_parameters(scales), scales.dtype());
  out = chain.Reshape(out, sizes);
  // Overloads with a dtype cast what was multiplied in the scales' type.
  if (call.num_args() > 6 && !call.is_none(6)) {
    out = chain.To(out, call.arg(6).dtype());
  }
  return chain.Return({out});
}

}  // namespace

bool EmbeddingByte(OperatorChain& chain, KernelCall& call) {
  return Embed(chain, call, kByte);
}
bool Embedding4Bit(OperatorChain& chain, KernelCall& call) {
  return Embed(chain, call, kNibbles);
}
bool Embedding2Bit(OperatorChain& chain, KernelCall& call) {
  return Embed(chain, call, kPairs);
}

}  // namespace quantized

namespace {

using quantized::RunChain;

constexpr KernelEntry kEntries[] = {
    {"quantized_decomposed.embedding_2bit.default",
     &RunChain<quantized::Embedding2Bit>},
    {"quantized_decomposed.embedding_2bit.dtype",
     &RunChain<quantized::Embedding2Bit>},
    {"quantized_decomposed.embedding_4bit.default",
     &RunChain<quantized::Embedding4Bit>},
    {"quantized_decomposed.embedding_4bit.dtype",
     &RunChain<quantized::Embedding4Bit>},
    {"quantized_decomposed.embedding_byte.default",
     &RunChain<quantized::EmbeddingByte>},
    {"quantized_decomposed.embedding_byte.dtype",
     &RunChain<quantized::EmbeddingByte>},
};

}  // namespace

std::span<const KernelEntry> QuantizedEmbeddingKernels() { return kEntries; }

}  // namespace tenon
