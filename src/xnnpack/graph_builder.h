// A region's values in an XNNPACK graph.
//
// An image has two forms: with PyTorch's order of dimensions, and with its
// channels last. Convolutions and pools give the second one, and elementwise
// nodes go on with it; the other form is made, by a transpose, when somebody
// asks for it. A row [batch, channels, width] is an image of height 1 in the
// second form, [batch, 1, width, channels], since XNNPACK convolves only those.
//
// Integers with a scale and a zero point (quantize_per_tensor) are values of
// their own. Numbers that are made of them (dequantize_per_tensor) come into
// being when somebody reads them; a node between the two that XNNPACK computes
// on integers reads and gives those instead (`BeginIntegers`).
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
#include "xnnpack/quantized_weight.h"
#include "xnnpack/xnn_graph.h"

namespace tenon::xnnpack {

enum class Order : uint8_t { kPlain, kChannelsLast };

// Whether a value has both forms: an image, or a row of which at most one size
// varies, as XNNPACK's reshapes infer one.
bool IsImage(const Program& program, ValueId v);

// Where dimension `dim` of an image or a row of that rank lies in the form with
// channels last.
uint32_t PlaceWithChannelsLast(size_t rank, size_t dim);

class GraphBuilder {
 public:
  // `constants` are inputs of the region whose values are known. The others
  // become the call's inputs; all outputs are its outputs.
  // `rounds`: what XNNPACK has in fewer bits than a program is rounded, as by
  // ExecuTorch's own exporter: scales of groups, biases on integers
  // (translate_integers.h).
  GraphBuilder(const Program& region,
               const std::vector<RegionConstant>& constants, bool rounds);

  const Program& region() const { return region_; }
  bool rounds() const { return rounds_; }
  // Null when the value isn't known. Numbers of stored integers are made when
  // they are first asked for.
  const Tensor* FindConstant(ValueId v);
  // Undefined, or the tensor of a constant input.
  Tensor Stored(ValueId v) const;
  // A value that is the numbers of these integers.
  void DefineWeight(ValueId v, QuantizedWeight weight) {
    weights_.emplace(v.index, std::move(weight));
  }
  // Null when the value isn't the numbers of stored integers.
  const QuantizedWeight* FindWeight(ValueId v) const;

  // `v` are integers that stand for numbers. Before any of its forms is made.
  void DefineIntegers(ValueId v, PerTensorQuant quant);
  // `v` are the numbers of `integers`.
  void DefineNumbers(ValueId v, ValueId integers) {
    numbers_[v.index] = integers;
  }
  // Null for values that aren't integers.
  const PerTensorQuant* FindIntegers(ValueId v) const;
  // The integers that `v` is the numbers of; invalid for other values.
  ValueId IntegersOf(ValueId v) const;
  // From now on who asks for numbers of integers gets the integers.
  void BeginIntegers() { gives_integers_ = true; }
  void EndIntegers() { gives_integers_ = false; }

  // `v` is what is left of `numbers` when their rows are quantised at run time.
  void DefineDynamic(ValueId v, ValueId numbers) { rows_[v.index] = numbers; }
  // Those numbers; invalid for other values.
  ValueId FindDynamic(ValueId v) const;
  // `v`, quantised by rows.
  uint32_t GetDynamic(ValueId v);

  // The value in an order, for reading. Only images have channels last.
  uint32_t Get(ValueId v, Order order);
  // A constant as filter or bias. The delegate gives the bytes of these values
  // back when they are packed, so that no node may read one as an operand.
  uint32_t GetPacked(ValueId v);
  // The order in which a node should go on with these values: channels last
  // when one of them has only that, and the others can have it.
  Order OrderFor(const std::vector<ValueId>& values) const;
  // A value that a node is about to give, in an order.
  uint32_t Define(ValueId v, Order order);
  // A value of the same sizes that only the next node reads.
  uint32_t Temporary(ValueId like, Order order) {
    return NewValueFor(like, order);
  }
  // Numbers that the file names. `dims` are those of the tensor.
  uint32_t AddConstant(const Tensor& tensor, std::vector<uint32_t> dims,
                       Datatype datatype = Datatype::kFp32,
                       std::optional<QuantParams> quant = std::nullopt);
  // Bytes that the file names: an index in Graph::constants.
  uint32_t AddData(const Tensor& tensor);
  uint32_t AddScalar(float value);

  // The sizes of a value's form for a reshape: 0 is the one that varies.
  std::vector<uint32_t> ShapeOf(ValueId v, Order order) const;
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

  uint32_t NewValue(std::vector<uint32_t> dims,
                    Datatype datatype = Datatype::kFp32,
                    std::optional<QuantParams> quant = std::nullopt);
  uint32_t NewValueFor(ValueId v, Order order);
  // The value whose forms a reader gets: `v`, or the integers that it shows.
  ValueId Shown(ValueId v) const;
  // Numbers of integers that nobody has asked for so far.
  void MakeNumbers(ValueId v);
  bool IsUnmade(ValueId v) const;
  std::vector<uint32_t> DimsOf(ValueId v, Order order) const;
  // One form from the other.
  void TransposeInto(ValueId v, const Forms& forms, Order order, uint32_t to);

  const Program& region_;
  const bool rounds_;
  std::unordered_map<uint32_t, Tensor> constants_;  // by value
  std::unordered_map<uint32_t, QuantizedWeight> weights_;
  std::unordered_map<uint32_t, PerTensorQuant> integers_;
  std::unordered_map<uint32_t, ValueId> numbers_;   // -> their integers
  std::unordered_map<uint32_t, ValueId> rows_;      // -> before quantisation
  std::unordered_map<uint32_t, uint32_t> dynamic_;  // quantised, by value
  bool gives_integers_ = false;
  std::unordered_map<uint32_t, Forms> forms_;  // by value
  std::vector<ValueId> outputs_;
  std::unordered_map<uint32_t, uint32_t> packed_;  // filters and biases
  std::map<std::string, uint32_t> entries_;        // of constant data, by key
  Graph graph_;
  std::vector<NamedBytes> data_;
};

// NCHW -> NHWC; NCW -> N1WC.
Tensor WithChannelsLast(const Tensor& image);

}  // namespace tenon::xnnpack
