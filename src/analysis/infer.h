// Types of an operator's results, from the types of its arguments.
//
// What is said is true; what isn't known is left open, part by part: dtype,
// rank, each size. So a verifier can compare what it is told with what a
// program states, and a pass that creates a node can fill in its types. Sizes
// are literals, or the very expressions that the inputs have; no new
// expressions are made.
//
// Where a dtype is PyTorch's default, it is given as float32 and marked: a
// program may have been exported under another default. Inside autocast nothing
// is said: there an operator computes in another dtype than its arguments'.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/bound_args.h"
#include "ir/program.h"

namespace tenon {

// A size: a literal, an expression of the inputs, or unknown.
struct InferredSize {
  enum class Kind : uint8_t { kUnknown, kLiteral, kExpr };
  int64_t value;
  ExprId expr;
  Kind kind;

  static InferredSize Unknown() { return {0, ExprId(), Kind::kUnknown}; }
  static InferredSize Literal(int64_t v) {
    return {v, ExprId(), Kind::kLiteral};
  }
  static InferredSize Of(const SymInt& s) {
    return s.is_literal() ? Literal(s.value)
                          : InferredSize{0, s.expr, Kind::kExpr};
  }
  bool is_literal() const { return kind == Kind::kLiteral; }
  bool is_literal(int64_t v) const { return is_literal() && value == v; }
  friend bool operator==(const InferredSize&, const InferredSize&) = default;
};

// Of a tensor of more dimensions than kMaxRank no sizes are known.
struct InferredType {
  static constexpr int kMaxRank = 8;

  bool has_kind = false;
  TypeKind kind = TypeKind::kNone;
  DType dtype = DType::kUnknown;  // kUnknown = not known
  bool is_default_dtype = false;  // float32 stands for the default dtype
  int rank = -1;                  // -1 = not known
  // The first `rank`.
  std::array<InferredSize, kMaxRank> sizes;

  // All sizes are literals or expressions.
  bool is_complete() const;
};

// Results under construction; keeps its memory from call to call.
class InferredTypes {
 public:
  void Clear() { size_ = 0; }
  // Nothing is known of the new one; references to others may become invalid.
  InferredType& Add() {
    if (size_ == items_.size()) items_.emplace_back();
    InferredType& t = items_[size_++];
    t.has_kind = false;
    t.dtype = DType::kUnknown;
    t.is_default_dtype = false;
    t.rank = -1;
    return t;
  }
  InferredType& last() { return items_[size_ - 1]; }
  std::span<const InferredType> all() const { return {items_.data(), size_}; }

 private:
  std::vector<InferredType> items_;
  size_t size_ = 0;
};

class InferCall;

class TypeInference {
 public:
  explicit TypeInference(const Program& program);

  // One entry per result, in order; fewer, or none, when nothing is known of
  // the others. Valid until the next call.
  std::span<const InferredType> Infer(NodeId n);
  // The same for a call that is bound already.
  std::span<const InferredType> Infer(NodeId n, const BoundArgs& bound);
  // Whether the node stands in a graph that an autocast region holds.
  bool IsInAutocast(NodeId n) const {
    return !in_autocast_.empty() && in_autocast_[n.index];
  }

 private:
  using Rule = void (*)(InferCall& call, uint32_t parameter);
  struct OpRule {
    bool is_known = false;
    Rule rule = nullptr;
    uint32_t parameter = 0;
  };
  const OpRule& RuleOf(OpId op);
  void FindAutocast();

  const Program& program_;
  ArgBinder binder_;
  std::vector<OpRule> by_op_;
  InferredTypes results_;
  std::vector<bool> in_autocast_;  // by node; empty: none is
};

inline std::vector<InferredType> InferTypes(const Program& program, NodeId n) {
  TypeInference inference(program);
  const auto types = inference.Infer(n);
  return {types.begin(), types.end()};
}

}  // namespace tenon
