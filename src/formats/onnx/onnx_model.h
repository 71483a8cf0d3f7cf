// An ONNX model as its file holds it (docs/formats/onnx.md): the part of
// onnx.proto that a model of tensors needs. Functions, training information,
// sequences, sparse and optional values aren't in it.
//
// Names are the file's: a node's operands are names of inputs, initializers or
// results of earlier nodes, of the graph or of one around it; "" is an operand
// that is left out.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "support/byte_cursor.h"

namespace tenon::onnx {

// TensorProto.DataType, by its numbers.
enum class ElementType : int32_t {
  kUndefined = 0,
  kFloat = 1,
  kUInt8 = 2,
  kInt8 = 3,
  kUInt16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUInt32 = 12,
  kUInt64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBFloat16 = 16,
  kFloat8E4M3FN = 17,
  kFloat8E4M3FNUZ = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2FNUZ = 20,
  kUInt4 = 21,
  kInt4 = 22,
  kFloat4E2M1 = 23,
  kFloat8E8M0 = 24,
};

// Where the bytes of a tensor lie that aren't in the model's file.
struct ExternalData {
  std::string location;  // a file beside the model's
  uint64_t offset = 0, size = 0;

  friend bool operator==(const ExternalData&, const ExternalData&) = default;
};

// Elements are little endian, in the order of the dimensions, as raw_data.
struct TensorValue {
  std::string name;
  ElementType type = ElementType::kUndefined;
  std::vector<int64_t> dims;
  std::string bytes;  // unless they lie outside
  std::optional<ExternalData> external;

  friend bool operator==(const TensorValue&, const TensorValue&) = default;
};

struct Graph;

// The alternatives are AttributeProto's kinds.
struct Attribute {
  using Value = std::variant<float, int64_t, std::string, TensorValue,
                             std::shared_ptr<const Graph>, std::vector<float>,
                             std::vector<int64_t>, std::vector<std::string>>;
  std::string name;
  Value value;
};
// Nested graphs are compared by what is in them.
bool operator==(const Attribute& a, const Attribute& b);

struct Node {
  std::string op;  // of the domain "" (ai.onnx)
  std::vector<std::string> inputs, outputs;
  std::vector<Attribute> attributes;

  friend bool operator==(const Node&, const Node&) = default;
};

// A size: a number, a name ("s0", "2*s0"), or neither.
struct Dimension {
  std::optional<int64_t> value;
  std::string name;

  friend bool operator==(const Dimension&, const Dimension&) = default;
};

// The tensor type of a graph's input or output.
struct ValueInfo {
  std::string name;
  ElementType type = ElementType::kUndefined;
  std::vector<Dimension> dims;

  friend bool operator==(const ValueInfo&, const ValueInfo&) = default;
};

struct Graph {
  std::string name;
  std::vector<Node> nodes;
  std::vector<TensorValue> initializers;
  std::vector<ValueInfo> inputs, outputs;

  friend bool operator==(const Graph&, const Graph&) = default;
};

struct Model {
  int64_t ir_version = 8;
  int64_t opset = 18;
  std::string producer;
  Graph graph;
  std::vector<std::pair<std::string, std::string>> metadata;

  friend bool operator==(const Model&, const Model&) = default;
};

// Bytes of one element; 0 for those that have no whole number of them.
uint64_t ElementBytes(ElementType type);

}  // namespace tenon::onnx
