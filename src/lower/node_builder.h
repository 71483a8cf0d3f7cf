// Builds the nodes that a rewrite puts in the place of others.
//
// A rewrite says which operator it calls, on what, and the type of the result;
// the builder finds the parameters' names, lays out lists, copies where the
// node came from (stack trace, region) and states contiguous strides. All new
// nodes stand before one anchor, in the order in which they are made.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/program.h"

namespace tenon::lower {

// What a new node gets for one parameter. `Operand()` is None.
struct Operand {
  Arg literal;  // of no kind that has items
  ValueId value;
  bool is_list = false;
  ListTag tag = ListTag::kTensors;
  std::vector<Operand> items;

  Operand() = default;
  Operand(ValueId v) : value(v) {}      // NOLINT: implicit on purpose
  Operand(const Arg& a) : literal(a) {  // NOLINT: the same
    if (a.is_value()) {
      value = a.value();
      literal = Arg();
    }
  }
  static Operand Int(int64_t v) { return Arg::Int(v); }
  static Operand Float(double v) { return Arg::Float(v); }
  static Operand Bool(bool v) { return Arg::Bool(v); }
  static Operand Dtype(DType v) { return Arg::Dtype(v); }
  static Operand List(ListTag tag, std::vector<Operand> items);
  static Operand Ints(std::span<const int64_t> values);
  // Of ints, literal or not.
  static Operand Sizes(std::vector<Operand> items);
  static Operand Tensors(std::span<const ValueId> values);

  bool is_none() const {
    return !is_list && !value.valid() && literal.kind == ArgKind::kNone;
  }
  std::optional<int64_t> literal_int() const {
    if (is_list || value.valid() || literal.kind != ArgKind::kInt) return {};
    return literal.i;
  }
};

using Shape = std::vector<SymInt>;

class NodeBuilder {
 public:
  // Nodes are made for `source`, before it, in its graph.
  NodeBuilder(Program* program, GraphId graph, NodeId source);

  const Program& program() const { return program_; }
  NodeId source() const { return source_; }
  GraphId graph() const { return graph_; }

  // A contiguous tensor on the source's device.
  TypeId TensorType(DType dtype, const Shape& sizes);
  // The type of `v` with contiguous strides, and another dtype if given.
  TypeId TypeLike(ValueId v, DType dtype = DType::kUnknown);
  const Type& TypeOf(ValueId v) const { return program_.type(v); }

  // `operands` are the schema's leading parameters; the rest take their
  // defaults. The operator must have a schema.
  ValueId Call(std::string_view op, std::vector<Operand> operands, TypeId type);
  std::vector<ValueId> CallMany(std::string_view op,
                                std::vector<Operand> operands,
                                std::span<const TypeId> types);
  // The same with further parameters by name.
  using Named = std::pair<std::string_view, Operand>;
  ValueId Call(std::string_view op, std::vector<Operand> operands,
               std::initializer_list<Named> named, TypeId type);
  // One of Python's functions on scalars, "_operator.mul".
  ValueId CallPython(std::string_view op, std::vector<Operand> operands,
                     TypeId type);

  // The number of elements of a tensor of these sizes.
  SymInt ProductOf(const Shape& sizes);

  SymInt SumOf(const SymInt& a, const SymInt& b);

  // The sum of two integers, literal where both are.
  Operand AddInts(const Operand& a, const Operand& b);

  // The size of `v` in dimension `d`: a literal, or what aten.sym_size gives.
  Operand Size(ValueId v, int64_t d);
  // `sizes` as an operand: symbolic ones are looked up among the dimensions of
  // `from`; one that isn't there becomes -1. Nothing when two are missing.
  std::optional<Operand> Sizes(const Shape& sizes,
                               std::span<const ValueId> from);

  // `v` with other sizes, the elements in the same order.
  std::optional<ValueId> Reshape(ValueId v, const Shape& sizes);
  // `v` in another dtype; `v` itself when it has that.
  ValueId Cast(ValueId v, DType dtype);
  // A 0-d tensor of the number.
  ValueId Scalar(const Arg& number, DType dtype);
  ValueId Permute(ValueId v, std::span<const int64_t> dims);

 private:
  NodeId NewNode(std::string_view op);
  void SetOperand(ArgId at, NodeId user, const Operand& operand);
  std::vector<ValueId> Finish(NodeId n, std::span<const TypeId> types);

  Program& program_;
  GraphId graph_;
  NodeId source_;
};

// A dimension counted from the end when negative; nullopt out of range.
inline std::optional<size_t> FindDim(int64_t dim, int64_t rank) {
  const int64_t at = dim < 0 ? dim + rank : dim;
  if (at < 0 || at >= rank) return std::nullopt;
  return static_cast<size_t>(at);
}

// `type` laid out without gaps, in the order of its dimensions.
Type Contiguous(const Type& type, Context* context);
bool IsContiguous(const Type& type, Context* context);

}  // namespace tenon::lower
