#include "xnnpack/quantized_weight.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "analysis/node_reader.h"

namespace tenon::xnnpack {
namespace {

constexpr std::string_view kPerTensor =
    "quantized_decomposed.dequantize_per_tensor.default";
constexpr std::string_view kPerChannel =
    "quantized_decomposed.dequantize_per_channel.default";
constexpr std::string_view kPerGroup =
    "quantized_decomposed.dequantize_per_channel_group.default";
constexpr std::string_view kAffine = "torchao.dequantize_affine.default";
constexpr std::string_view kCast = "aten._to_copy.default";

bool IsScale(float s) { return std::isnormal(s) && s > 0; }

// Of one element each: int or floating dtypes.
bool AreZero(const Tensor& t) {
  const Tensor dense = t.Contiguous();
  const auto all = [&](auto zero) {
    const auto* data = dense.data<decltype(zero)>();
    return std::all_of(data, data + dense.numel(),
                       [&](auto z) { return z == zero; });
  };
  switch (t.dtype()) {
    case DType::kInt8:
      return all(int8_t{0});
    case DType::kInt32:
      return all(int32_t{0});
    case DType::kInt64:
      return all(int64_t{0});
    case DType::kFloat32:
      return all(0.0f);
    default:
      return false;
  }
}

// Scales and zero points that are tensors. False where they don't fit.
bool ReadTensors(const NodeReader& read, const FindStored& stored,
                 std::string_view scales_name, std::string_view zeros_name,
                 QuantizedWeight* out) {
  const ValueId scales = read.value(scales_name);
  const ValueId zeros = read.value(zeros_name);
  const Tensor s = scales.valid() ? stored(scales) : Tensor();
  if (!s.defined() || s.dtype() != DType::kFloat32) return false;
  if (!read.IsNone(zeros_name)) {
    const Tensor z = zeros.valid() ? stored(zeros) : Tensor();
    if (!z.defined() || !AreZero(z)) return false;
  }
  const Tensor dense = s.Contiguous();
  out->scales.assign(dense.data<float>(), dense.data<float>() + dense.numel());
  return true;
}

bool ReadPerChannel(const NodeReader& read, const FindStored& stored,
                    QuantizedWeight* out) {
  const auto axis = read.Int("axis");
  if (!axis || !ReadTensors(read, stored, "scales", "zero_points", out))
    return false;
  const int64_t rank = out->integers.dim();
  out->axis = *axis < 0 ? *axis + rank : *axis;
  return out->axis >= 0 && out->axis < rank &&
         static_cast<int64_t>(out->scales.size()) ==
             out->integers.size(out->axis);
}

// Blocks of whole slices, or of columns of a matrix.
bool ReadAffine(const NodeReader& read, const FindStored& stored,
                QuantizedWeight* out) {
  const auto block = read.Ints("block_size");
  const Sizes& sizes = out->integers.sizes();
  if (!block || block->size() != sizes.size() ||
      !ReadTensors(read, stored, "scale", "zero_point", out)) {
    return false;
  }
  std::vector<size_t> cut;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if ((*block)[d] != sizes[d]) cut.push_back(d);
  }
  const auto count = static_cast<int64_t>(out->scales.size());
  if (cut.empty()) return count == 1;
  if (cut.size() == 1 && (*block)[cut[0]] == 1) {
    out->axis = static_cast<int64_t>(cut[0]);
    return count == sizes[cut[0]];
  }
  const bool is_columns = sizes.size() == 2 && (*block)[0] == 1 &&
                          (*block)[1] > 1 && sizes[1] % (*block)[1] == 0;
  if (!is_columns) return false;
  out->group = (*block)[1];
  return count == sizes[0] * (sizes[1] / out->group);
}

bool ReadPerGroup(const NodeReader& read, const FindStored& stored,
                  QuantizedWeight* out) {
  const auto group = read.Int("group_size");
  if (!group || *group < 1 || out->integers.dim() != 2 ||
      out->integers.size(1) % *group != 0 ||
      !ReadTensors(read, stored, "scales", "zero_points", out)) {
    return false;
  }
  const int64_t groups = out->integers.size(1) / *group;
  out->group = groups == 1 ? 0 : *group;
  return static_cast<int64_t>(out->scales.size()) ==
         out->integers.size(0) * groups;
}

}  // namespace

bool MayDequantizeWeight(const Program& program, NodeId node) {
  if (program.node(node).kind != tenon::NodeKind::kOp ||
      program.node(node).results.count != 1) {
    return false;
  }
  const std::string_view op = program.op_name(node);
  const bool is_one = op == kPerTensor || op == kPerChannel ||
                      op == kPerGroup || op == kAffine || op == kCast;
  const ValueId q =
      is_one ? NodeReader(program, node).value(op == kCast ? "self" : "input")
             : ValueId();
  const Type& to = program.type(program.node(node).results[0]);
  return q.valid() && program.type(q).is_tensor() && to.is_tensor() &&
         program.type(q).dtype == DType::kInt8 && to.dtype == DType::kFloat32;
}

std::optional<QuantizedWeight> FindQuantizedWeight(const Program& program,
                                                   ValueId v,
                                                   const FindStored& stored) {
  const NodeId n = program.value(v).def;
  if (!n.valid() || !MayDequantizeWeight(program, n)) return std::nullopt;
  const std::string_view op = program.op_name(n);
  const NodeReader read(program, n);
  QuantizedWeight out;
  out.integers = stored(read.value(op == kCast ? "self" : "input"));
  if (!out.integers.defined() || out.integers.dim() == 0) return std::nullopt;
  bool is_read = true;
  if (op == kCast) {
    out.scales = {1};
  } else if (op == kPerTensor) {
    const auto scale = read.Number("scale");
    if (!scale || read.Int("zero_point") != 0) return std::nullopt;
    out.scales = {static_cast<float>(*scale)};
  } else if (op == kPerChannel) {
    is_read = ReadPerChannel(read, stored, &out);
  } else if (op == kAffine) {
    is_read = ReadAffine(read, stored, &out);
  } else {
    is_read = ReadPerGroup(read, stored, &out);
  }
  if (!is_read || !std::all_of(out.scales.begin(), out.scales.end(), IsScale)) {
    return std::nullopt;
  }
  const auto low = read.Int("quant_min"), high = read.Int("quant_max");
  // What a program says of the range doesn't bind the integers.
  out.is_int4 =
      low && high && *low >= -8 && *high <= 7 && FitsInt4(out.integers);
  return out;
}

Tensor Dequantized(const QuantizedWeight& weight) {
  const Tensor q = weight.integers.Contiguous();
  Tensor out = Tensor::Empty(DType::kFloat32, q.sizes());
  // The elements behind one index of the axis, and the axis' length.
  int64_t inner = 1;
  for (int64_t d = weight.axis + 1; d < q.dim(); ++d) inner *= q.size(d);
  if (weight.group > 0) inner = weight.group;
  const auto count = static_cast<int64_t>(weight.scales.size());
  for (int64_t i = 0; i < q.numel(); ++i) {
    const auto at = static_cast<size_t>(count == 1 ? 0 : i / inner % count);
    out.mutable_data<float>()[i] =
        static_cast<float>(q.data<int8_t>()[i]) * weight.scales[at];
  }
  return out;
}

bool FitsInt4(const Tensor& integers) {
  const Tensor dense = integers.Contiguous();
  // Without a branch, as many bytes at a time as the CPU can.
  uint8_t bits = 0;
  const uint8_t* data = dense.data<uint8_t>();
  for (int64_t i = 0; i < dense.numel(); ++i) {
    bits = static_cast<uint8_t>(bits | static_cast<uint8_t>(data[i] + 8));
  }
  return bits < 16;
}

}  // namespace tenon::xnnpack
