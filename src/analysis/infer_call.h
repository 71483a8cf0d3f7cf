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
  // The first argument: a tensor whose sizes can all be told.
  const Type* Self() const {
    const Type* self = Tensor(0);
    return self != nullptr && self->rank() <= InferredType::kMaxRank ? self
                                                                     : nullptr;
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
  // A literal number, else the schema's default.
  std::optional<double> Number(size_t i) const;
  // A string, else the schema's default; nullopt for None.
  std::optional<std::string_view> Text(size_t i) const;
  // A list of literals, else the schema's default; a bare one is a list of one.
  // nullopt for what varies and None.
  std::optional<std::vector<int64_t>> Ints(size_t i) const;
  // A list of sizes; a bare one is a list of one. nullopt: None, or no list.
  std::optional<std::vector<InferredSize>> Sizes(size_t i) const;
  // How many results the program gives the call.
  uint32_t num_results() const { return program_.node(node_).results.count; }
  // Whether the tensor is on the CPU; some operators differ by device.
  bool IsOnCpu(const Type& t) const {
    return t.device.type.valid() &&
           program_.view(t.device.type) == std::string_view("cpu");
  }
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
  // Without dimension `dim`; at most kMaxRank are left.
  InferredType& AddWithout(const Type& type, int dim);
  // A copy; `type` may be another result of the call.
  InferredType& Add(InferredType type);
  size_t num_added() const { return results_.all().size(); }
  // The one that was added last.
  InferredType& last() { return results_.last(); }
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

// The dimensions before the last two are broadcast; the last two, of two
// operands of at least as many, are unknown.
InferredType& AddBatch(InferCall& call, DType dtype, const Type& a,
                       const Type& b);

// What is known of a value of the type.
InferredType KnownType(const Type& type);

struct InferRow {
  std::string_view op;
  void (*rule)(InferCall& call, uint32_t parameter);
  uint32_t parameter = 0;
};

// Result i has the type of the argument at the i-th position; kOpen: its type
// isn't known. `mask` is the position of bools that say which results aren't
// None, kOpen where all are there.
constexpr uint32_t kOpen = 31;
constexpr uint32_t LikeArgs(uint32_t mask, uint32_t first, uint32_t second,
                            uint32_t third = kOpen) {
  return first | second << 5 | third << 10 | mask << 15 |
         (third == kOpen ? 2u : 3u) << 20;
}
constexpr uint32_t LikeArg(uint32_t first) {
  return first | kOpen << 15 | 1u << 20;
}
// Whether a list of bools says that result i is there; nullopt when unsaid.
std::optional<bool> HasResult(const InferCall& call, uint32_t mask, uint32_t i);
void LikeArguments(InferCall& call, uint32_t parameter);

// The tables, one per file.
std::span<const InferRow> AttentionRows();
std::span<const InferRow> ConvertRows();
std::span<const InferRow> DiagonalRows();
std::span<const InferRow> DifferenceRows();
std::span<const InferRow> DistanceRows();
std::span<const InferRow> EinsumRows();
std::span<const InferRow> EmbeddingBagRows();
std::span<const InferRow> FactoryRows();
std::span<const InferRow> FourierRows();
std::span<const InferRow> GradientRows();
std::span<const InferRow> IndexRows();
std::span<const InferRow> JoinRows();
std::span<const InferRow> LinalgRows();
std::span<const InferRow> SolveRows();
std::span<const InferRow> SearchRows();
std::span<const InferRow> LossRows();
std::span<const InferRow> MatmulRows();
std::span<const InferRow> NeuralRows();
std::span<const InferRow> NormRows();
std::span<const InferRow> PadRows();
std::span<const InferRow> PointwiseRows();
std::span<const InferRow> QuantizedRows();
std::span<const InferRow> RecurrentRows();
std::span<const InferRow> ReductionRows();
std::span<const InferRow> ResizeRows();
std::span<const InferRow> SliceRows();
std::span<const InferRow> SpecialRows();
std::span<const InferRow> SplitRows();
std::span<const InferRow> StatisticsRows();
std::span<const InferRow> ViewRows();

// Python's functions on scalars; they have no schema.
bool InferScalarFunction(const Program& program, NodeId n,
                         InferredTypes* results);

}  // namespace tenon
