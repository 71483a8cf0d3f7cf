// What the rules of infer_*.cc see of a call, and how they state results.
//
// Each infer_*.cc covers one family of operators: rules, and a table that says
// which operator follows which rule with which parameter.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "analysis/infer.h"
#include "analysis/promote.h"

namespace tenon {

class InferCall {
 public:
  InferCall(const Program& program, NodeId node, const BoundArgs& args,
            InferredTypes* results)
      : program_(program), node_(node), args_(args), results_(*results) {}

  const Program& program() const { return program_; }
  NodeId node() const { return node_; }
  size_t num_parameters() const { return args_.schema->args.size(); }
  const OpSchema& schema() const { return *args_.schema; }

  const Arg* Get(size_t i) const {
    return i < num_parameters() ? args_[i] : nullptr;
  }
  // Whether something other than None is passed.
  bool Has(size_t i) const {
    const Arg* a = Get(i);
    return a != nullptr && a->kind != ArgKind::kNone;
  }
  // The type of a tensor argument; null for anything else.
  const Type* Tensor(size_t i) const { return TensorOf(Get(i)); }
  const Type* TensorOf(const Arg* a) const {
    if (a == nullptr || !a->is_value()) return nullptr;
    const Type& t = program_.type(a->v.value);
    return t.is_tensor() ? &t : nullptr;
  }
  // The items of a list argument; empty when there is none.
  std::span<const Arg> Items(size_t i) const {
    const Arg* a = Get(i);
    if (a == nullptr || a->kind != ArgKind::kList) return {};
    return program_.args(a->list);
  }
  // A literal, else the schema's default; nullopt for what varies and None.
  std::optional<int64_t> Int(size_t i) const;
  std::optional<bool> Bool(size_t i) const;
  // A dtype argument; nullopt when absent or None.
  std::optional<DType> Dtype(size_t i) const;
  // An integer argument as a size: literal, or the value's expression.
  InferredSize Size(const Arg& a) const;
  // Adds an argument that takes part in promotion; false when it can't be told
  // what it is. None and absent arguments add nothing.
  bool AddTo(Promotion* promotion, const Arg* a) const;

  InferredType& AddTensor(DType dtype, int rank);
  // Same dtype and sizes as `type`.
  InferredType& AddLike(const Type& type);
  InferredType& AddLike(const Type& type, DType dtype);
  InferredType& AddKind(TypeKind kind);
  // A result of which nothing is known.
  InferredType& AddUnknown();

 private:
  const Program& program_;
  NodeId node_;
  const BoundArgs& args_;
  InferredTypes& results_;
};

// A dimension counted from the end when negative; nullopt out of range.
std::optional<int> WrapDim(int64_t dim, int64_t rank);

// The sizes of two operands that are broadcast: unknown where it depends.
inline InferredSize BroadcastSize(const InferredSize& a,
                                  const InferredSize& b) {
  if (a.is_literal(1)) return b;
  if (b.is_literal(1) || a == b) return a;
  // A size that may be 1 gives way to the other; two that differ, and aren't 1,
  // are equal at run time or an error: either way, not known from here.
  return InferredSize::Unknown();
}
// Broadcasts `type` into the sizes that `out` has so far.
void BroadcastInto(const Type& type, InferredType* out);

struct InferRow {
  std::string_view op;
  void (*rule)(InferCall& call, uint32_t parameter);
  uint32_t parameter = 0;
};

std::span<const InferRow> PointwiseRows();
std::span<const InferRow> ReductionRows();
std::span<const InferRow> MatmulRows();
std::span<const InferRow> ViewRows();
std::span<const InferRow> FactoryRows();
std::span<const InferRow> NeuralRows();
std::span<const InferRow> IndexRows();

// Python's functions on scalars; they have no schema.
bool InferScalarFunction(const Program& program, NodeId n,
                         InferredTypes* results);

}  // namespace tenon
