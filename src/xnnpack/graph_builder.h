// A region's values in an XNNPACK graph.
//
// An image has two forms: with PyTorch's order of dimensions, and with its
// channels last. Convolutions and pools give the second one, and elementwise
// nodes go on with it; the other form is made, by a transpose, when somebody
// asks for it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backends/backend.h"
#include "ir/program.h"
#include "tensor/tensor.h"
#include "xnnpack/xnn_graph.h"

namespace tenon::xnnpack {

enum class Order : uint8_t { kPlain, kChannelsLast };

class GraphBuilder {
 public:
  // `constants` are inputs of the region whose values are known. The others
  // become the call's inputs; all outputs are its outputs.
  GraphBuilder(const Program& region,
               const std::vector<RegionConstant>& constants);

  const Program& region() const { return region_; }
  // Null when the value isn't known.
  const Tensor* FindConstant(ValueId v) const;

  // The value in an order, for reading. Only images have channels last.
  uint32_t Get(ValueId v, Order order);
  // The order in which a node should go on with these values: channels last
  // when one of them has only that.
  Order OrderFor(const std::vector<ValueId>& values) const;
  // A value that a node is about to give, in an order.
  uint32_t Define(ValueId v, Order order);
  // A value of the same sizes that only the next node reads.
  uint32_t Temporary(ValueId like, Order order) {
    return NewValue(DimsOf(like, order));
  }
  // Numbers that the file names. `dims` are those of the tensor.
  uint32_t AddConstant(const Tensor& tensor, std::vector<uint32_t> dims);
  uint32_t AddScalar(float value);

  void Add(NodeKind kind, decltype(Node::op) op,
           std::optional<OutputRange> range = std::nullopt);

  // Gives outputs that have their channels last PyTorch's order.
  void Finish();
  Graph TakeGraph() { return std::move(graph_); }
  std::vector<NamedBytes> TakeData() { return std::move(data_); }

 private:
  struct Forms {
    uint32_t plain = kNoId, last = kNoId;
    uint32_t external = kNoId;  // of an output, until it is defined
  };

  uint32_t NewValue(std::vector<uint32_t> dims);
  std::vector<uint32_t> DimsOf(ValueId v, Order order) const;
  // One form from the other.
  void TransposeInto(const Forms& forms, Order order, uint32_t to);

  const Program& region_;
  std::unordered_map<uint32_t, Tensor> constants_;  // by value
  std::unordered_map<uint32_t, Forms> forms_;       // by value
  std::vector<ValueId> outputs_;
  std::map<std::string, uint32_t> entries_;  // of constant data, by key
  Graph graph_;
  std::vector<NamedBytes> data_;
};

// NCHW -> NHWC, of sizes or of filters.
Tensor WithChannelsLast(const Tensor& image);

}  // namespace tenon::xnnpack
