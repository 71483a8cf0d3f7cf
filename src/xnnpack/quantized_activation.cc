#include "xnnpack/quantized_activation.h"

#include <cmath>
#include <string_view>
#include <vector>

#include "analysis/node_reader.h"

namespace tenon::xnnpack {
namespace {

constexpr std::string_view kPrefix = "quantized_decomposed.";

bool Is(const Program& program, NodeId node, std::string_view name) {
  if (!node.valid() || program.node(node).kind != tenon::NodeKind::kOp) {
    return false;
  }
  const std::string_view op = program.op_name(node);
  return op.starts_with(kPrefix) && op.substr(kPrefix.size()) == name;
}

bool HasDtype(const Program& program, ValueId v, DType dtype) {
  return v.valid() && program.type(v).is_tensor() &&
         program.type(v).dtype == dtype;
}

// Left out, it is that of int8.
bool HasInt8Range(const NodeReader& read) {
  const auto is = [&](std::string_view name, double number) {
    return read.IsNone(name) || read.Number(name) == number;
  };
  return is("quant_min", -128) && is("quant_max", 127);
}

ValueId Result(const Program& program, NodeId node, uint32_t i) {
  const ValueRange results = program.node(node).results;
  return i < results.count ? results[i] : ValueId();
}

}  // namespace

bool IsQuantize(const Program& program, NodeId node) {
  return Is(program, node, "quantize_per_tensor.default");
}

bool IsDequantize(const Program& program, NodeId node) {
  return Is(program, node, "dequantize_per_tensor.default");
}

std::optional<PerTensorQuant> FindStaticQuant(const Program& program,
                                              NodeId node) {
  const bool quantizes = IsQuantize(program, node);
  if (!quantizes && !IsDequantize(program, node)) return std::nullopt;
  const NodeReader read(program, node);
  const ValueId in = read.value("input"), out = Result(program, node, 0);
  const bool has_dtypes =
      HasDtype(program, in, quantizes ? DType::kFloat32 : DType::kInt8) &&
      HasDtype(program, out, quantizes ? DType::kInt8 : DType::kFloat32);
  const auto scale = read.Number("scale");
  const auto zero = read.Int("zero_point");
  if (!has_dtypes || !scale || !zero || *zero < -128 || *zero > 127) {
    return std::nullopt;
  }
  const auto s = static_cast<float>(*scale);
  // The range of what was quantised doesn't matter to what it stands for.
  if (!std::isnormal(s) || s <= 0 || (quantizes && !HasInt8Range(read))) {
    return std::nullopt;
  }
  return PerTensorQuant{s, static_cast<int32_t>(*zero)};
}

namespace {

// torchao's operators do it by blocks: whole rows of the last dimension. Their
// bound of scales is a parameter.
bool ChoosesAffineRows(const Program& program, NodeId choose) {
  // Below, float32 numbers have other errors that are larger.
  constexpr double kMaxEps = 1.1920928955078125e-07;  // 2^-23
  const NodeReader read(program, choose);
  const Arg* mapping = program.FindArg(choose, "mapping_type");
  const Arg* target = program.FindArg(choose, "target_dtype");
  const bool is_int8 = target != nullptr && target->kind == ArgKind::kDtype &&
                       target->dtype() == DType::kInt8;
  const bool is_asymmetric = mapping != nullptr &&
                             mapping->kind == ArgKind::kString &&
                             program.view(mapping->text) == "ASYMMETRIC";
  const auto eps = read.Number("eps");
  return is_int8 && is_asymmetric && HasInt8Range(read) &&
         (read.IsNone("eps") || (eps && *eps <= kMaxEps));
}

bool HasRowBlocks(const Program& program, NodeId node, ValueId numbers) {
  const auto block = NodeReader(program, node).Ints("block_size");
  const std::vector<SymInt>& sizes = program.type(numbers).sizes;
  if (!block || block->size() != sizes.size() || block->empty()) return false;
  for (size_t d = 0; d + 1 < block->size(); ++d) {
    if ((*block)[d] != 1) return false;
  }
  return sizes.back().is_literal() && sizes.back().value == block->back();
}

struct Names {
  std::string_view choose, quantize, dequantize, scales, zeros;
};
constexpr Names kPerToken = {
    "quantized_decomposed.choose_qparams_per_token_asymmetric.default",
    "quantized_decomposed.quantize_per_token.default",
    "quantized_decomposed.dequantize_per_token.default", "scales",
    "zero_points"};
constexpr Names kAffine = {
    "torchao.choose_qparams_affine.default", "torchao.quantize_affine.default",
    "torchao.dequantize_affine.default", "scale", "zero_point"};

bool IsOp(const Program& program, NodeId node, std::string_view op) {
  return node.valid() && program.node(node).kind == tenon::NodeKind::kOp &&
         program.op_name(node) == op;
}

std::optional<DynamicQuant> FindDynamic(const Program& program,
                                        NodeId dequantize, const Names& names) {
  if (!IsOp(program, dequantize, names.dequantize)) return std::nullopt;
  DynamicQuant out;
  out.dequantize = dequantize;
  const NodeReader last(program, dequantize);
  const ValueId integers = last.value("input");
  if (!HasDtype(program, integers, DType::kInt8)) return std::nullopt;
  out.quantize = program.value(integers).def;
  if (!IsOp(program, out.quantize, names.quantize)) return std::nullopt;
  const NodeReader middle(program, out.quantize);
  out.numbers = middle.value("input");
  const ValueId scales = middle.value(names.scales);
  const ValueId zeros = middle.value(names.zeros);
  if (!HasInt8Range(middle) || !scales.valid() || !zeros.valid() ||
      last.value(names.scales) != scales || last.value(names.zeros) != zeros) {
    return std::nullopt;
  }
  out.choose = program.value(scales).def;
  const bool is_whole =
      IsOp(program, out.choose, names.choose) &&
      Result(program, out.choose, 0) == scales &&
      Result(program, out.choose, 1) == zeros &&
      NodeReader(program, out.choose).value("input") == out.numbers &&
      HasDtype(program, out.numbers, DType::kFloat32) &&
      HasDtype(program, Result(program, dequantize, 0), DType::kFloat32);
  return is_whole ? std::optional(out) : std::nullopt;
}

}  // namespace

std::optional<DynamicQuant> FindDynamicQuant(const Program& program,
                                             NodeId dequantize) {
  if (auto found = FindDynamic(program, dequantize, kPerToken)) return found;
  const auto found = FindDynamic(program, dequantize, kAffine);
  const bool has_rows =
      found && ChoosesAffineRows(program, found->choose) &&
      HasRowBlocks(program, found->choose, found->numbers) &&
      HasRowBlocks(program, found->quantize, found->numbers) &&
      HasRowBlocks(program, found->dequantize, found->numbers);
  return has_rows ? found : std::nullopt;
}

bool IsDynamicQuantize(const Program& program, NodeId node) {
  return IsOp(program, node, kPerToken.quantize) ||
         IsOp(program, node, kAffine.quantize);
}

NodeId ChooserOf(const Program& program, NodeId node) {
  for (const Names& names : {kPerToken, kAffine}) {
    if (IsOp(program, node, names.choose)) return node;
    if (!IsOp(program, node, names.quantize) &&
        !IsOp(program, node, names.dequantize)) {
      continue;
    }
    const ValueId scales = NodeReader(program, node).value(names.scales);
    return scales.valid() ? program.value(scales).def : NodeId();
  }
  return NodeId();
}

}  // namespace tenon::xnnpack
