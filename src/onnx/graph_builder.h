// An ONNX graph under construction.
//
// Nodes are added in the order in which they run; each gets new names for its
// results, so a name says nothing but how many came before it, and the same
// program gives the same model whatever its values are called. The builder
// knows the dtype of every name.
//
// Constants are initializers of the outermost graph, which all graphs inside it
// can read; equal ones are one.
//
// ONNX allows operators more dtypes than engines have: bytes and short integers
// are computed as int32 or int64 and cut off again, which gives the same bits
// (op_dtypes.h).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "formats/onnx/onnx_model.h"
#include "ir/program.h"

namespace tenon::onnx {

// kUndefined for dtypes that ONNX lacks.
ElementType ElementTypeOf(DType dtype);

class GraphBuilder {
 public:
  // The lowest opset that has all that is used; never below it.
  static constexpr int kMinOpset = 18, kMaxOpset = 25;

  // `widen_bfloat16`: arithmetic in bfloat16 is done in float32, for engines
  // that lack it, and rounded after each operator as PyTorch does.
  GraphBuilder(const Program& program, bool widen_bfloat16)
      : program_(program), widen_bfloat16_(widen_bfloat16) {
    graphs_.emplace_back();
  }

  const Program& program() const { return program_; }
  int opset() const { return opset_; }
  void NeedOpset(int opset) { opset_ = std::max(opset_, opset); }

  // --- values of the program ---
  bool Has(ValueId v) const { return names_.contains(v.index); }
  const std::string& Get(ValueId v) const;
  void Set(ValueId v, std::string name) { names_[v.index] = std::move(name); }

  // --- nodes ---
  // Returns the name of the result. Its dtype is what the operator says of its
  // operands.
  std::string Add(std::string_view op, std::vector<std::string> inputs,
                  std::vector<Attribute> attributes = {});
  // Results of the given dtypes.
  std::vector<std::string> AddMany(std::string_view op,
                                   std::vector<std::string> inputs,
                                   std::vector<Attribute> attributes,
                                   std::span<const DType> dtypes);
  DType dtype(const std::string& name) const;

  // --- constants ---
  std::string Ints(std::vector<int64_t> values);  // 1-d, int64
  std::string Int(int64_t value) { return Number(DType::kInt64, value); }
  // 0-d. An integer or a truth value may be given for any dtype; a float for
  // floating ones. Half precision is rounded from what float32 holds.
  std::string Number(DType dtype, int64_t value);
  std::string Number(DType dtype, double value);
  // An initializer with the bytes; equal small ones are one.
  std::string Constant(TensorValue tensor, DType dtype);

  // --- what is often needed ---
  std::string Cast(const std::string& x, DType dtype);
  std::string Shape(const std::string& x) { return Add("Shape", {x}); }
  // A size as a 0-d int64.
  std::string Size(const std::string& x, int64_t dim);
  std::string Unsqueeze(const std::string& x, std::vector<int64_t> axes) {
    return Add("Unsqueeze", {x, Ints(std::move(axes))});
  }
  std::string Squeeze(const std::string& x, std::vector<int64_t> axes) {
    return Add("Squeeze", {x, Ints(std::move(axes))});
  }
  std::string Reshape(const std::string& x, std::vector<int64_t> sizes);
  std::string Transpose(const std::string& x, std::vector<int64_t> order);
  // Elements [begin, end) of a dimension, or of a 1-d tensor.
  std::string Slice(const std::string& x, int64_t axis, int64_t begin,
                    int64_t end);
  std::string Not(const std::string& x) { return Add("Not", {x}); }
  std::string Where(const std::string& c, const std::string& a,
                    const std::string& b) {
    return Add("Where", {c, a, b});
  }

  // --- graphs in attributes ---
  void BeginGraph() { graphs_.emplace_back(); }
  // The nodes since BeginGraph, as a graph with these inputs and outputs, which
  // are names inside it.
  Graph EndGraph(std::vector<ValueInfo> inputs, std::vector<ValueInfo> outputs);
  std::string NewName() { return "t" + std::to_string(num_names_++); }
  // Says what a name that isn't a node's result holds.
  void Declare(const std::string& name, DType dtype) { dtypes_[name] = dtype; }
  // A name of its own for what `x` is: a graph can't give one value twice, nor
  // its input.
  std::string Identity(const std::string& x) { return Add("Identity", {x}); }

  const Graph& main() const { return graphs_.front(); }
  Graph& main() { return graphs_.front(); }

 private:
  DType ResultDtype(std::string_view op, const std::vector<std::string>& inputs,
                    const std::vector<Attribute>& attributes) const;
  std::vector<std::string> Emit(std::string_view op,
                                std::vector<std::string> inputs,
                                std::vector<Attribute> attributes,
                                std::span<const DType> dtypes);

  const Program& program_;
  const bool widen_bfloat16_;
  int opset_ = kMinOpset;
  std::vector<Graph> graphs_;  // the last one is being added to
  std::unordered_map<uint32_t, std::string> names_;  // by value
  std::unordered_map<std::string, DType> dtypes_;    // by name
  std::map<std::string, std::string> constants_;     // by what they are
  uint32_t num_names_ = 0;
};

inline Attribute IntAttribute(std::string name, int64_t value) {
  return {std::move(name), value};
}
inline Attribute IntsAttribute(std::string name, std::vector<int64_t> value) {
  return {std::move(name), std::move(value)};
}
inline Attribute FloatAttribute(std::string name, double value) {
  return {std::move(name), static_cast<float>(value)};
}
inline Attribute TextAttribute(std::string name, std::string value) {
  return {std::move(name), std::move(value)};
}

}  // namespace tenon::onnx
