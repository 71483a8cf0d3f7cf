#include "onnx/graph_builder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "onnx/op_dtypes.h"
#include "support/assert.h"

namespace tenon::onnx {
namespace {

template <typename T>
std::string BytesOf(const T& value) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

// Equal constants are one when they are small.
constexpr size_t kMaxSharedBytes = 1024;

bool Is(std::string_view op, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), op) != list.end();
}

}  // namespace

ElementType ElementTypeOf(DType dtype) {
  switch (dtype) {
    case DType::kUInt8:
      return ElementType::kUInt8;
    case DType::kInt8:
      return ElementType::kInt8;
    case DType::kInt16:
      return ElementType::kInt16;
    case DType::kInt32:
      return ElementType::kInt32;
    case DType::kInt64:
      return ElementType::kInt64;
    case DType::kFloat16:
      return ElementType::kFloat16;
    case DType::kFloat32:
      return ElementType::kFloat;
    case DType::kFloat64:
      return ElementType::kDouble;
    case DType::kBool:
      return ElementType::kBool;
    case DType::kBFloat16:
      return ElementType::kBFloat16;
    case DType::kUInt16:
      return ElementType::kUInt16;
    case DType::kUInt32:
      return ElementType::kUInt32;
    case DType::kUInt64:
      return ElementType::kUInt64;
    case DType::kFloat8E4M3FN:
      return ElementType::kFloat8E4M3FN;
    case DType::kFloat8E5M2:
      return ElementType::kFloat8E5M2;
    case DType::kFloat8E4M3FNUZ:
      return ElementType::kFloat8E4M3FNUZ;
    case DType::kFloat8E5M2FNUZ:
      return ElementType::kFloat8E5M2FNUZ;
    case DType::kFloat8E8M0FNU:
      return ElementType::kFloat8E8M0;
    // PyTorch's complex operators have no counterparts.
    case DType::kComplex32:
    case DType::kComplex64:
    case DType::kComplex128:
    case DType::kUnknown:
      return ElementType::kUndefined;
  }
  return ElementType::kUndefined;
}

const std::string& GraphBuilder::Get(ValueId v) const {
  const auto at = names_.find(v.index);
  TENON_ASSERT(at != names_.end(), "a value is translated before it is used");
  return at->second;
}

DType GraphBuilder::dtype(const std::string& name) const {
  const auto at = dtypes_.find(name);
  TENON_ASSERT(at != dtypes_.end(), "a name is made before it is used");
  return at->second;
}

DType GraphBuilder::ResultDtype(
    std::string_view op, const std::vector<std::string>& inputs,
    const std::vector<Attribute>& attributes) const {
  if (Is(op, {"Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual",
              "And", "Or", "Xor", "Not", "IsNaN", "IsInf"})) {
    return DType::kBool;
  }
  if (Is(op, {"Shape", "Size", "NonZero", "ArgMax", "ArgMin"})) {
    return DType::kInt64;
  }
  if (Is(op, {"Where", "DequantizeLinear"})) return dtype(inputs[1]);
  if (op == "QuantizeLinear") return dtype(inputs[2]);
  TENON_ASSERT(op != "Cast" && op != "ConstantOfShape",
               "an operator that says its dtype is added with it");
  (void)attributes;
  return dtype(inputs[0]);
}

std::vector<std::string> GraphBuilder::Emit(std::string_view op,
                                            std::vector<std::string> inputs,
                                            std::vector<Attribute> attributes,
                                            std::span<const DType> dtypes) {
  NeedOpset(FirstOpsetOf(op));
  Node node;
  node.op = op;
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  for (const DType d : dtypes) {
    NeedOpset(FirstOpsetOf(d));
    node.outputs.push_back(NewName());
    Declare(node.outputs.back(), d);
  }
  std::vector<std::string> names = node.outputs;
  graphs_.back().nodes.push_back(std::move(node));
  return names;
}

std::vector<std::string> GraphBuilder::AddMany(
    std::string_view op, std::vector<std::string> inputs,
    std::vector<Attribute> attributes, std::span<const DType> dtypes) {
  DType was = DType::kUnknown, computed = DType::kUnknown;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].empty() || !IsComputedOperand(op, i)) continue;
    const DType d = dtype(inputs[i]);
    const DType wide = ComputeDtype(op, d, widen_bfloat16_);
    if (wide == d) continue;
    was = d;
    computed = wide;
    inputs[i] = Cast(inputs[i], wide);
  }
  std::vector<DType> given(dtypes.begin(), dtypes.end());
  if (computed != DType::kUnknown && ResultFollowsOperands(op)) {
    for (DType& d : given) {
      if (d == was) d = computed;
    }
  }
  std::vector<std::string> names =
      Emit(op, std::move(inputs), std::move(attributes), given);
  for (size_t i = 0; i < names.size(); ++i) {
    names[i] = Cast(names[i], dtypes[i]);
  }
  return names;
}

std::string GraphBuilder::Add(std::string_view op,
                              std::vector<std::string> inputs,
                              std::vector<Attribute> attributes) {
  const DType result = ResultDtype(op, inputs, attributes);
  return AddMany(op, std::move(inputs), std::move(attributes), {&result, 1})[0];
}

std::string GraphBuilder::Ints(std::vector<int64_t> values) {
  TensorValue tensor;
  tensor.dims = {static_cast<int64_t>(values.size())};
  for (const int64_t v : values) tensor.bytes += BytesOf(v);
  return Constant(std::move(tensor), DType::kInt64);
}

std::string GraphBuilder::Number(DType dtype, int64_t value) {
  TensorValue tensor;
  switch (dtype) {
    case DType::kBool:
      tensor.bytes = BytesOf<uint8_t>(value != 0);
      break;
    case DType::kInt8:
    case DType::kUInt8:
    case DType::kInt16:
    case DType::kUInt16:
    case DType::kInt32:
    case DType::kUInt32:
    case DType::kInt64:
    case DType::kUInt64:
      tensor.bytes = BytesOf(value).substr(0, SizeBytes(dtype));
      break;
    default:
      return Number(dtype, static_cast<double>(value));
  }
  return Constant(std::move(tensor), dtype);
}

std::string GraphBuilder::Number(DType dtype, double value) {
  TensorValue tensor;
  switch (dtype) {
    case DType::kFloat32:
      tensor.bytes = BytesOf(static_cast<float>(value));
      break;
    case DType::kFloat64:
      tensor.bytes = BytesOf(value);
      break;
    default:
      TENON_ASSERT(IsFloating(dtype),
                   "a fraction is a number of a floating dtype");
      return Cast(Number(DType::kFloat32, value), dtype);
  }
  return Constant(std::move(tensor), dtype);
}

std::string GraphBuilder::Constant(TensorValue tensor, DType dtype) {
  tensor.type = ElementTypeOf(dtype);
  const bool is_shared = tensor.bytes.size() <= kMaxSharedBytes;
  std::string key;
  if (is_shared) {
    key = std::to_string(static_cast<int>(tensor.type));
    for (const int64_t d : tensor.dims) key += "," + std::to_string(d);
    key += ":" + tensor.bytes;
    const auto known = constants_.find(key);
    if (known != constants_.end()) return known->second;
  }
  tensor.name = "c" + std::to_string(main().initializers.size());
  Declare(tensor.name, dtype);
  if (is_shared) constants_.emplace(std::move(key), tensor.name);
  main().initializers.push_back(std::move(tensor));
  return main().initializers.back().name;
}

std::string GraphBuilder::Cast(const std::string& x, DType dtype) {
  if (this->dtype(x) == dtype) return x;
  const auto to = static_cast<int64_t>(ElementTypeOf(dtype));
  std::vector<Attribute> attributes = {IntAttribute("to", to)};
  // What is too large for the one kind that has infinity becomes that.
  if (dtype == DType::kFloat8E5M2) {
    attributes.push_back(IntAttribute("saturate", 0));
  }
  return Emit("Cast", {x}, std::move(attributes), {&dtype, 1})[0];
}

std::string GraphBuilder::Size(const std::string& x, int64_t dim) {
  return Add("Gather", {Shape(x), Int(dim)}, {IntAttribute("axis", 0)});
}

std::string GraphBuilder::Reshape(const std::string& x,
                                  std::vector<int64_t> sizes) {
  const bool has_rest =
      std::find(sizes.begin(), sizes.end(), -1) != sizes.end();
  std::vector<Attribute> attributes;
  // A size of 0 means 0, not "as it was".
  if (!has_rest) attributes.push_back(IntAttribute("allowzero", 1));
  return Add("Reshape", {x, Ints(std::move(sizes))}, std::move(attributes));
}

std::string GraphBuilder::Transpose(const std::string& x,
                                    std::vector<int64_t> order) {
  bool moves = false;
  for (size_t i = 0; i < order.size(); ++i) {
    moves |= order[i] != static_cast<int64_t>(i);
  }
  if (!moves) return x;
  return Add("Transpose", {x}, {IntsAttribute("perm", std::move(order))});
}

std::string GraphBuilder::Slice(const std::string& x, int64_t axis,
                                int64_t begin, int64_t end) {
  return Add("Slice", {x, Ints({begin}), Ints({end}), Ints({axis})});
}

Graph GraphBuilder::EndGraph(std::vector<ValueInfo> inputs,
                             std::vector<ValueInfo> outputs) {
  TENON_ASSERT(graphs_.size() > 1, "a graph that ends has begun");
  Graph graph = std::move(graphs_.back());
  graphs_.pop_back();
  graph.name = "g" + std::to_string(num_names_++);
  graph.inputs = std::move(inputs);
  graph.outputs = std::move(outputs);
  return graph;
}

}  // namespace tenon::onnx
