#include "formats/onnx/onnx.h"
#include "formats/onnx/onnx_fields.h"
#include "formats/onnx/protobuf.h"

namespace tenon::onnx {
namespace {

ProtoWriter Entry(std::string_view key, std::string_view value) {
  ProtoWriter out;
  out.Text(field::kEntryKey, key);
  out.Text(field::kEntryValue, value);
  return out;
}

ProtoWriter Encode(const TensorValue& tensor) {
  ProtoWriter out;
  for (const int64_t d : tensor.dims) out.Int(field::kTensorDims, d);
  out.Int(field::kTensorType, static_cast<int64_t>(tensor.type));
  if (!tensor.name.empty()) out.Text(field::kTensorName, tensor.name);
  if (!tensor.external) {
    out.Text(field::kTensorRawData, tensor.bytes);
    return out;
  }
  const ExternalData& external = *tensor.external;
  out.Message(field::kTensorExternalData,
              Entry(kExternalLocation, external.location));
  out.Message(field::kTensorExternalData,
              Entry(kExternalOffset, std::to_string(external.offset)));
  out.Message(field::kTensorExternalData,
              Entry(kExternalLength, std::to_string(external.size)));
  out.Int(field::kTensorLocation, kLocationExternal);
  return out;
}

ProtoWriter Encode(const Graph& graph);

class AttributeEncoder {
 public:
  explicit AttributeEncoder(const Attribute& attribute) {
    out_.Text(field::kAttributeName, attribute.name);
    std::visit(*this, attribute.value);
    out_.Int(field::kAttributeType, kAttributeTypes[attribute.value.index()]);
  }
  const ProtoWriter& out() const { return out_; }

  void operator()(float v) { out_.Float(field::kAttributeFloat, v); }
  void operator()(int64_t v) { out_.Int(field::kAttributeInt, v); }
  void operator()(const std::string& v) {
    out_.Text(field::kAttributeString, v);
  }
  void operator()(const TensorValue& v) {
    out_.Message(field::kAttributeTensor, Encode(v));
  }
  void operator()(const std::shared_ptr<const Graph>& v) {
    out_.Message(field::kAttributeGraph, Encode(*v));
  }
  void operator()(const std::vector<float>& items) {
    for (const float v : items) out_.Float(field::kAttributeFloats, v);
  }
  void operator()(const std::vector<int64_t>& items) {
    for (const int64_t v : items) out_.Int(field::kAttributeInts, v);
  }
  void operator()(const std::vector<std::string>& items) {
    for (const auto& v : items) out_.Text(field::kAttributeStrings, v);
  }

 private:
  ProtoWriter out_;
};

ProtoWriter Encode(const Node& node) {
  ProtoWriter out;
  for (const auto& name : node.inputs) out.Text(field::kNodeInput, name);
  for (const auto& name : node.outputs) out.Text(field::kNodeOutput, name);
  out.Text(field::kNodeOp, node.op);
  for (const Attribute& a : node.attributes) {
    out.Message(field::kNodeAttribute, AttributeEncoder(a).out());
  }
  return out;
}

ProtoWriter Encode(const ValueInfo& value) {
  ProtoWriter shape;
  for (const Dimension& d : value.dims) {
    ProtoWriter dim;
    if (d.value) {
      dim.Int(field::kDimValue, *d.value);
    } else if (!d.name.empty()) {
      dim.Text(field::kDimName, d.name);
    }
    shape.Message(field::kShapeDim, dim);
  }
  ProtoWriter tensor;
  tensor.Int(field::kTensorTypeElement, static_cast<int64_t>(value.type));
  tensor.Message(field::kTensorTypeShape, shape);
  ProtoWriter type;
  type.Message(field::kTypeTensor, tensor);
  ProtoWriter out;
  out.Text(field::kValueName, value.name);
  out.Message(field::kValueType, type);
  return out;
}

ProtoWriter Encode(const Graph& graph) {
  ProtoWriter out;
  for (const Node& n : graph.nodes) out.Message(field::kGraphNode, Encode(n));
  out.Text(field::kGraphName, graph.name);
  for (const TensorValue& t : graph.initializers) {
    out.Message(field::kGraphInitializer, Encode(t));
  }
  for (const ValueInfo& v : graph.inputs) {
    out.Message(field::kGraphInput, Encode(v));
  }
  for (const ValueInfo& v : graph.outputs) {
    out.Message(field::kGraphOutput, Encode(v));
  }
  return out;
}

}  // namespace

std::string WriteModel(const Model& model) {
  ProtoWriter out;
  out.Int(field::kModelIrVersion, model.ir_version);
  out.Text(field::kModelProducer, model.producer);
  out.Message(field::kModelGraph, Encode(model.graph));
  ProtoWriter opset;
  opset.Text(field::kOpsetDomain, "");
  opset.Int(field::kOpsetVersion, model.opset);
  out.Message(field::kModelOpset, opset);
  for (const auto& [key, value] : model.metadata) {
    out.Message(field::kModelMetadata, Entry(key, value));
  }
  return out.Take();
}

}  // namespace tenon::onnx
