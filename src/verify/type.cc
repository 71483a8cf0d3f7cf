// V-TYPE: types of values.
//
// Every type in use is well formed: a tensor has a dtype and as many strides
// as sizes, literal sizes aren't negative, expressions exist and aren't
// circular. Results have the kind, dtype, rank and sizes that their operator
// gives for its arguments, as far as inference knows them (analysis/infer.h);
// what an operator writes in place and returns keeps the type of the argument.
// Sizes are compared where both sides are literals: two different expressions
// may still be equal.
#include <algorithm>
#include <string>

#include "verify/verification.h"

namespace tenon {
namespace {

// Sums of sums of ...: a file's expressions are parsed with a smaller bound.
constexpr int kMaxExprDepth = 1000;

// Expressions name only expressions made before them, so that walking ends.
class ExprChecker {
 public:
  explicit ExprChecker(const ExprPool& pool) : pool_(pool) {}

  bool IsSound(ExprId id) {
    if (id.index >= pool_.size()) return false;
    return Depth(id, 0) < kMaxExprDepth;
  }

 private:
  int Depth(ExprId id, int above) {
    if (above >= kMaxExprDepth) return kMaxExprDepth;
    if (id.index >= depth_.size()) depth_.resize(pool_.size(), 0);
    if (depth_[id.index] != 0) return depth_[id.index];
    int depth = 1;
    for (const ExprId arg : pool_.get(id).args) {
      if (arg.index >= id.index) return kMaxExprDepth;
      depth = std::max(depth, Depth(arg, above + 1) + 1);
    }
    return depth_[id.index] = std::min(depth, kMaxExprDepth);
  }

  const ExprPool& pool_;
  std::vector<int> depth_;  // by expression; 0 = not known yet
};

class TypePoolChecker {
 public:
  explicit TypePoolChecker(const Verification& v)
      : v_(v),
        exprs_(v.program.context().exprs),
        stage_(v.program.context().types.size(), false) {}

  bool Run() {
    const Program& p = v_.program;
    for (uint32_t i = 0; i < p.num_graphs(); ++i) {
      const GraphId g(i);
      if (p.graph(g).is_erased) continue;
      for (const ValueId input : p.graph(g).inputs) {
        Check(p.value(input).type, [&] { return v_.At(g); });
      }
      for (const NodeId n : p.nodes(g)) {
        const ValueRange results = p.node(n).results;
        for (uint32_t r = 0; r < results.count; ++r) {
          Check(p.value(results[r]).type,
                [&] { return Place::Node(p.Describe(g, n)); });
        }
      }
    }
    const auto at_program = [&] { return Place::Node(p.name); };
    for (const StateEntry& e : p.state.entries) Check(e.type, at_program);
    for (const Delegate& d : p.delegates) {
      for (const TypeId t : d.inputs) Check(t, at_program);
      for (const TypeId t : d.outputs) Check(t, at_program);
    }
    for (const SymbolRange& r : p.ranges) {
      if (r.expr.valid() && !exprs_.IsSound(r.expr)) {
        Report(at_program(), "a range's expression is circular or too deep");
      }
    }
    return is_sound_;
  }

 private:
  template <typename MakePlace>
  void Check(TypeId id, MakePlace&& place) {
    if (stage_[id.index]) return;
    stage_[id.index] = true;
    const Program& p = v_.program;
    const Type& t = p.type(id);
    const auto is_sound = [&](const SymInt& s) {
      return !s.expr.valid() || exprs_.IsSound(s.expr);
    };
    const auto is_negative = [](const SymInt& s) {
      return s.is_literal() && s.value < 0;
    };
    const size_t num_strings = p.context().strings.size();
    if (!is_sound(t.sym) || !is_sound(t.storage_offset) ||
        !std::all_of(t.sizes.begin(), t.sizes.end(), is_sound) ||
        !std::all_of(t.strides.begin(), t.strides.end(), is_sound)) {
      Report(place(), "an expression doesn't exist, is circular or too deep");
    } else if ((t.text.valid() && t.text.index >= num_strings) ||
               (t.device.type.valid() && t.device.type.index >= num_strings)) {
      Report(place(), "a type names a string that doesn't exist");
    } else if (t.kind > TypeKind::kString || t.dtype > DType::kUInt64 ||
               t.layout > Layout::kStrided) {
      Report(place(), "a type's kind, dtype or layout doesn't exist");
    } else if (!t.is_tensor()) {
      return;
    } else if (t.dtype == DType::kUnknown) {
      Report(place(), "a tensor has no dtype");
    } else if (t.strides.size() != t.sizes.size()) {
      Report(place(), "a tensor has " + std::to_string(t.strides.size()) +
                          " strides, expected one for each of " +
                          std::to_string(t.sizes.size()) + " sizes");
    } else if (std::any_of(t.sizes.begin(), t.sizes.end(), is_negative) ||
               is_negative(t.storage_offset)) {
      Report(place(), "a tensor has a negative size or offset");
    }
  }

  // V-TYPE-01: a type is well formed.
  void Report(Place place, const std::string& what) {
    is_sound_ = false;
    v_.diags.Error(Rule::kType01, std::move(place)) << what;
  }

  const Verification& v_;
  ExprChecker exprs_;
  std::vector<bool> stage_;  // by type: looked at
  bool is_sound_ = true;
};

}  // namespace

bool VerifyTypePool(const Verification& v) { return TypePoolChecker(v).Run(); }

void TypeChapter::Check(GraphId g, NodeId n, const BoundArgs* bound) {
  const auto inferred =
      bound != nullptr ? inference_.Infer(n, *bound) : inference_.Infer(n);
  const Node& node = v_.program.node(n);
  // With None or lists among the results, positions are those of the flat
  // values only where the schema returns one list.
  if (node.form.valid() &&
      (bound == nullptr || bound->schema->returns.size() != 1)) {
    return;
  }
  const bool is_written = bound != nullptr && bound->schema->is_mutating();
  for (uint32_t i = 0; i < inferred.size() && i < node.results.count; ++i) {
    Compare(g, n, i, inferred[i], is_written);
  }
}

void TypeChapter::Compare(GraphId g, NodeId n, uint32_t i,
                          const InferredType& inferred, bool is_written) {
  if (!inferred.has_kind) return;
  const Program& p = v_.program;
  const ValueId result = p.node(n).results[i];
  const Type& stated = p.type(result);
  const auto error = [&](Rule rule) {
    return v_.Error(rule, g, n)
           << "result " << i << " is " << v_.TypeText(p.value(result).type)
           << ", but " << p.op_name(n) << " gives ";
  };
  // V-TYPE-06: scalars and tensors aren't mixed up.
  if (stated.kind != inferred.kind) {
    const bool is_fixed =
        stated.is_literal() || inferred.kind == TypeKind::kNone;
    if (is_fixed && inferred.kind != TypeKind::kTensor) return;
    error(Rule::kType06) << "another kind of value";
    return;
  }
  if (stated.kind != TypeKind::kTensor) return;
  // V-TYPE-02: the dtype is the operator's. V-TYPE-05: or, written in place,
  // the argument's.
  const bool is_other_default =
      inferred.is_default_dtype &&
      (IsComplex(inferred.dtype) ? IsComplex(stated.dtype)
                                 : IsFloating(stated.dtype));
  if (inferred.dtype != DType::kUnknown && inferred.dtype != stated.dtype &&
      !is_other_default) {
    error(is_written ? Rule::kType05 : Rule::kType02) << Name(inferred.dtype);
    return;
  }
  if (inferred.rank < 0) return;
  // V-TYPE-03: as many dimensions as the operator gives.
  if (inferred.rank != stated.rank()) {
    error(is_written ? Rule::kType05 : Rule::kType03)
        << inferred.rank << " dimensions";
    return;
  }
  // V-TYPE-04: sizes, where they are numbers at both sides.
  for (int d = 0; d < inferred.rank; ++d) {
    const SymInt& size = stated.sizes[d];
    if (!inferred.sizes[d].is_literal() || !size.is_literal()) continue;
    if (inferred.sizes[d].value == size.value) continue;
    error(is_written ? Rule::kType05 : Rule::kType04)
        << inferred.sizes[d].value << " at dimension " << d;
    return;
  }
}

}  // namespace tenon
